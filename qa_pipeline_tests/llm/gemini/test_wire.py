"""Faults of server, network and key, played to the real client."""

import asyncio
import logging
import time
import traceback
from collections.abc import Callable

import pytest

from qa_pipeline.errors import (
    KeyRejectedError,
    ModelError,
    PermanentModelError,
    TransientModelError,
)
from qa_pipeline.llm.base import Reply
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.gemini.provider import GeminiProvider
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline_tests.fake_server.gemini import fails, limits_rate, rejects_key, says
from qa_pipeline_tests.fake_server.responses import ServerResponse, resets
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.requests import ACCEPT, claim
from qa_pipeline_tests.llm.serving import (
    complete_and_close,
    error_of,
    model_for,
    outcome_of,
    send_and_close,
)
from qa_pipeline_tests.support.replies import html_page
from qa_pipeline_tests.support.servers import GeminiServer


@pytest.mark.parametrize(
    "fault",
    [
        fails(500),
        fails(503),
        fails(408),
        limits_rate(1),
        limits_rate(1, as_header=True),
        resets(),
        html_page(200),
        html_page(502),
    ],
)
def test_a_passing_fault_is_tried_again(fault: ServerResponse) -> None:
    assert isinstance(outcome_of(fault, fault, says(ACCEPT)), Reply)


@pytest.mark.parametrize("as_header", [False, True])
def test_the_wait_is_never_shorter_than_the_server_asks_for(as_header: bool) -> None:
    with GeminiServer([limits_rate(1, as_header=as_header), says(ACCEPT)]) as server:
        started = time.monotonic()
        complete_all(model_for(server), [claim()], workers=1)
    assert time.monotonic() - started >= 1


def test_a_server_that_asks_for_an_hour_stops_the_run() -> None:
    with (
        GeminiServer(lambda _: limits_rate(3600)) as server,
        pytest.raises(PermanentModelError, match="3600 s"),
    ):
        complete_all(model_for(server), [claim(f"{number}") for number in range(9)], workers=1)
    assert len(server.asked) == 1


def test_a_server_that_does_not_reply_in_time_is_a_transient_error() -> None:
    slow = ServerResponse(200, b"{}", delay_seconds=0.6)
    error = error_of(slow, timeout_seconds=0.05, max_tries=1)
    assert isinstance(error, TransientModelError)
    assert "llm.timeout_seconds" in str(error)


@pytest.mark.parametrize("status", [400, 404, 413, 307])
def test_any_other_refusal_is_permanent_and_says_what_the_server_says(status: int) -> None:
    fault = fails(status, "models/gemini-9 is not found", name="NOT_FOUND")
    with (
        GeminiServer([fault]) as server,
        pytest.raises(PermanentModelError, match=rf"{status}: models/gemini-9 is not found"),
    ):
        complete_all(model_for(server), [claim()], workers=1)


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with GeminiServer([]) as elsewhere:
        target = f"{elsewhere.url}/v1/models/m:generateContent"
        redirect = ServerResponse(307, b"", headers=(("Location", target),))
        with GeminiServer([redirect]) as server, pytest.raises(PermanentModelError, match="307"):
            complete_all(model_for(server), [claim()], workers=1)
    assert elsewhere.asked == []


@pytest.mark.parametrize("fault", [rejects_key(), fails(401), fails(403)])
def test_a_rejected_key_ends_the_run_and_says_what_to_do(fault: ServerResponse) -> None:
    with (
        GeminiServer(lambda _: fault) as server,
        pytest.raises(KeyRejectedError, match="GEMINI_API_KEY"),
    ):
        complete_all(model_for(server), [claim(f"{number}") for number in range(20)], workers=2)
    assert len(server.asked) <= 2


@pytest.mark.parametrize("environ", [{}, {"GEMINI_API_KEY": ""}, {"GOOGLE_API_KEY": "  "}])
def test_a_missing_key_is_rejected_before_anything_is_asked(environ: dict[str, str]) -> None:
    with pytest.raises(KeyRejectedError, match="GEMINI_API_KEY"):
        GeminiProvider(ModelSettings(), 1.0, environ)


@pytest.mark.parametrize(
    "environ",
    [
        {"GEMINI_API_KEY": LOOPBACK_KEY, "GOOGLE_API_KEY": "another"},
        {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": f" {LOOPBACK_KEY}\n"},
    ],
)
def test_the_key_is_taken_from_gemini_api_key_or_else_google_api_key(environ: dict[str, str]) -> None:
    with GeminiServer([says(ACCEPT)]) as server:
        provider = GeminiProvider(ModelSettings(base_url=server.url), 5.0, environ)
        assert asyncio.run(send_and_close(provider)).text == ACCEPT.model_dump_json()


@pytest.mark.parametrize("key", ["", " ", "se cret", "se\ncret", "sécret", "se\x00cret"])
def test_a_key_no_server_would_take_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(KeyRejectedError) as caught:
        GeminiProvider(ModelSettings(), 1.0, {"GEMINI_API_KEY": key})
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    "echo",
    [
        lambda key: fails(400, f"bad key {key}"),
        lambda key: fails(403, f"key {key} is revoked"),
        lambda key: fails(503, f"{key} is busy"),
        lambda key: limits_rate(9999),
        lambda key: resets(),
        lambda key: html_page(503),
        lambda key: says("not json"),
        lambda key: rejects_key(),
    ],
)
def test_the_key_is_in_no_error_traceback_name_or_log(
    echo: Callable[[str], ServerResponse], caplog: pytest.LogCaptureFixture
) -> None:
    """Even where the server repeats the key in its message."""
    key = "AIza-very-secret-key"
    caplog.set_level(logging.DEBUG)
    with GeminiServer(lambda _: echo(key), key=key) as server:
        model = model_for(server, key=key)
        with pytest.raises(ModelError) as caught:
            asyncio.run(complete_and_close(model))
    told = "".join(traceback.format_exception(caught.value)) + caplog.text + repr(model) + str(vars(model))
    assert key not in told
    assert caught.value.__context__ is None


def test_a_long_or_unprintable_message_of_the_server_is_one_short_line() -> None:
    message = "line\n\x1b[31m" + "x" * 5000
    with GeminiServer([fails(404, message)]) as server, pytest.raises(PermanentModelError) as caught:
        complete_all(model_for(server), [claim()], workers=1)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400
