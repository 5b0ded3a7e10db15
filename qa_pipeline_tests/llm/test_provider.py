"""What both providers do alike: real clients against a loopback server, whose faults become typed errors."""

import gzip
import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from qa_pipeline.errors import (
    KeyRejectedError,
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import TransientModelError
from qa_pipeline.llm.gemini import GeminiProvider
from qa_pipeline.llm.openai_compatible import OpenAIProvider
from qa_pipeline.llm.provider import MOST_REPLY_BYTES, RawReply, seconds_in
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline_tests.fake_server import chat, gemini
from qa_pipeline_tests.fake_server.responses import ServerResponse, resets
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.requests import ACCEPT, claim
from qa_pipeline_tests.llm.serving import Served, error_of, provider_for, reply_to, send
from qa_pipeline_tests.support.replies import html_page
from qa_pipeline_tests.support.servers import ChatServer, GeminiServer

Kind = tuple[type[Served], Any]
KINDS: list[Kind] = [(GeminiServer, gemini), (ChatServer, chat)]
both = pytest.mark.parametrize(("server", "speaks"), KINDS, ids=["gemini", "openai"])


@both
def test_a_reply_comes_with_its_text_model_and_tokens(server: type[Served], speaks: Any) -> None:
    reply = reply_to(server, speaks.says(ACCEPT, model="m-2026"))
    assert (reply.text, reply.model.partition("/")[2]) == (ACCEPT.model_dump_json(), "m-2026")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.thought_tokens) == (11, 9, 2)


@both
@pytest.mark.parametrize(
    ("fault", "charged", "is_away"),
    [
        (500, False, False),
        (503, False, True),
        (502, True, True),
        (html_page(200), True, False),
        (ServerResponse(200, b"\xff\xfe"), True, False),
        (resets(), True, True),
        (ServerResponse(200, b"x" * 5000, cut=True), True, True),
    ],
)
def test_a_passing_fault_says_whether_it_may_be_charged_and_who_is_at_fault(
    server: type[Served], speaks: Any, fault: int | ServerResponse, charged: bool, is_away: bool
) -> None:
    error = error_of(server, speaks.fails(fault, "Oh no.") if isinstance(fault, int) else fault)
    assert isinstance(error, TransientModelError)
    assert (error.is_rate_limit, error.maybe_charged, error.is_away) == (False, charged, is_away)


@both
def test_a_refusal_for_being_asked_too_much_says_how_long_to_wait(server: type[Served], speaks: Any) -> None:
    in_header = speaks.fails(429, headers=(("Retry-After", "7"),))
    for play in (speaks.limits_rate(7), in_header):
        error = error_of(server, play)
        assert isinstance(error, TransientModelError)
        assert (error.is_rate_limit, error.wait_seconds) == (True, 7)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        ("7", 7),
        ("6.5s", 6.5),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 21 Oct 2999 07:28:00 +0000", 3e10),
        ("soon", 0),
        ("1e9", 0),
    ],
)
def test_waits_are_read_in_every_form_they_come_in(text: str, seconds: float) -> None:
    assert seconds_in(text) == pytest.approx(seconds, rel=0.1)


@both
@pytest.mark.parametrize(
    "play",
    [ServerResponse(200, b"{}", delay_seconds=0.6), ServerResponse(200, b"{} " * 99, drip_seconds=5)],
)
def test_a_server_that_does_not_reply_in_time_may_have_charged_it(
    server: type[Served], speaks: Any, play: ServerResponse
) -> None:
    """A drip sends a byte now and then, and is no reply in time all the same."""
    error = error_of(server, play, timeout=0.4)
    assert isinstance(error, TransientModelError)
    assert error.maybe_charged
    assert error.is_final  # on this machine it would take as long again
    assert "llm.timeout_seconds" in str(error)


@both
def test_a_server_that_is_not_there_charges_nothing(server: type[Served], speaks: Any) -> None:
    with server([]) as served:
        provider = provider_for(served)
    with pytest.raises(TransientModelError) as caught:
        send(provider)
    assert caught.value.is_away
    assert not caught.value.maybe_charged


@both
@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, PermanentModelError), (404, PermanentModelError), (413, OversizedRequestError)],
)
def test_any_other_refusal_is_final_and_says_what_the_server_says_on_one_short_line(
    server: type[Served], speaks: Any, status: int, kind: type[ModelError]
) -> None:
    error = error_of(server, speaks.fails(status, "gpt-9\n\x1b[31mis not found" + "x" * 5000))
    assert type(error) is kind
    assert f"{status}: gpt-9 [31mis not found" in str(error)
    assert len(str(error)) < 600
    assert ("llm.model" in str(error)) == (status != 400)


@both
@pytest.mark.parametrize("status", [None, 401, 403])
def test_a_rejected_key_ends_the_run_and_says_what_to_do(
    server: type[Served], speaks: Any, status: int | None
) -> None:
    error = error_of(server, speaks.fails(status) if status else speaks.rejects_key())
    assert isinstance(error, KeyRejectedError)
    assert "_API_KEY" in str(error)


@both
def test_a_redirect_is_not_followed_with_the_key(server: type[Served], speaks: Any) -> None:
    with server([]) as elsewhere:
        redirect = ServerResponse(307, b"", headers=(("Location", f"{elsewhere.url}/chat/completions"),))
        assert "307" in str(error_of(server, redirect))
    assert (elsewhere.asked, elsewhere.stats.invalid) == ([], 0)


@both
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_body_larger_than_any_reply_is_not_read_to_its_end(
    server: type[Served], speaks: Any, status: int, is_packed: bool
) -> None:
    body = b" " * (MOST_REPLY_BYTES * 2)
    packed = (("Content-Encoding", "gzip"),)
    play = ServerResponse(status, gzip.compress(body), packed) if is_packed else ServerResponse(status, body)
    error = error_of(server, play)
    assert error.reason in (("truncated", "model_unavailable") if is_packed else ("truncated",))


@both
@pytest.mark.parametrize(
    "echo",
    [
        lambda speaks, key: speaks.fails(400, f"bad key {key}"),
        lambda speaks, key: speaks.fails(503, f"{key} is busy"),
        lambda speaks, key: resets(),
        lambda speaks, key: html_page(200),
        lambda speaks, key: speaks.rejects_key(),
    ],
)
def test_the_key_is_in_no_error_traceback_name_or_log(
    server: type[Served],
    speaks: Any,
    echo: Callable[[Any, str], ServerResponse],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Even where the server repeats the key in its message."""
    key = "AIza-very-secret-key"
    caplog.set_level(logging.DEBUG)
    with server(lambda _: echo(speaks, key), key=key) as served:
        provider = provider_for(served, key=key)
        with pytest.raises(ModelError) as caught:
            send(provider)
    told = "".join(traceback.format_exception(caught.value)) + caplog.text + repr(provider)
    assert key not in told + str(vars(provider))
    assert caught.value.__context__ is None


@both
def test_a_key_that_the_server_repeats_is_masked_in_text_and_model(server: type[Served], speaks: Any) -> None:
    echo = f'{{"reasoning": "{LOOPBACK_KEY}", "decision": "accept"}}'
    reply = reply_to(server, speaks.says(echo, model=f"m-{LOOPBACK_KEY}"))
    assert reply.text == echo.replace(LOOPBACK_KEY, "[key]")
    assert reply.model.endswith("/m-[key]")


@pytest.mark.parametrize("key", ["se cret", "se\ncret", "sécret", "se\x00cret", " "])
def test_a_key_that_is_missing_or_that_no_server_would_take_is_refused_without_being_shown(key: str) -> None:
    for provider, name in ((GeminiProvider, "GEMINI_API_KEY"), (OpenAIProvider, "OPENAI_API_KEY")):
        with pytest.raises(KeyRejectedError, match=name) as caught:
            provider(ModelSettings(), 1.0, {name: key})
        assert "cret" not in str(caught.value)


@both
@pytest.mark.parametrize("count", [2**63 - 1, -1, 10**30, "9223372036854775807"])
def test_a_count_of_tokens_that_cannot_be_true_is_unknown(
    server: type[Served], speaks: Any, count: Any
) -> None:
    usage = {"promptTokenCount": count, "candidatesTokenCount": 3, "prompt_tokens": count}
    assert reply_to(server, speaks.says(ACCEPT, usage=usage)).usage == Usage()


@both
def test_one_provider_serves_one_event_loop_after_another_and_leaves_no_connection_open(
    server: type[Served], speaks: Any
) -> None:
    """Unclosed sessions would be warnings, and warnings fail tests."""
    with server(lambda _: speaks.says(ACCEPT)) as served:
        provider = provider_for(served)
        replies = [send(provider, *(claim(f"{number}") for number in range(4))) for _ in range(3)]
    assert all(isinstance(reply, RawReply) for loop in replies for reply in loop)


@both
def test_a_cut_reply_is_on_the_error_with_its_model_and_tokens(server: type[Served], speaks: Any) -> None:
    error = error_of(server, speaks.says('{"rea', finish="length" if speaks is chat else "MAX_TOKENS"))
    assert isinstance(error, UnreadableReplyError)
    assert (error.reason, error.raw, error.usage.input_tokens) == ("truncated", '{"rea', 11)
    assert (error.model or "").endswith("-loopback")
