"""Faults of server, network and key, played to the real client."""

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
    TransientModelError,
)
from qa_pipeline.llm.openai_compatible.wire import LOCAL_CAPS, Way, asked_wait, parameters
from qa_pipeline.llm.provider import MOST_REPLY_BYTES
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline_tests.fake_server.chat import fails, limits_rate, rejects_key, says
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.responses import ServerResponse, json_response, resets
from qa_pipeline_tests.llm.openai_compatible.loopback import error_of, provider_for, reply_to, send
from qa_pipeline_tests.llm.requests import ACCEPT, claim
from qa_pipeline_tests.support.replies import html_page, lacks_credit
from qa_pipeline_tests.support.servers import ChatServer


@pytest.mark.parametrize(
    ("fault", "message", "charged"),
    [
        (fails(500, "Oh no."), r"500: Oh no\.", False),
        (fails(503), "503", False),
        (fails(502), "502", True),
        (fails(504), "504", True),
        (fails(408), "408", True),
        (html_page(502), "502", True),
        (html_page(200), "JSON", True),
        (ServerResponse(200, b"[" * 100_000), "JSON", True),
        (ServerResponse(200, b"\xff\xfe"), "JSON", True),
        (resets(), "connection", True),
        (ServerResponse(200, b"x" * 5000, cut=True), "connection", True),
    ],
)
def test_a_passing_fault_says_what_it_was_and_whether_it_may_be_charged(
    fault: ServerResponse, message: str, charged: bool
) -> None:
    with pytest.raises(TransientModelError, match=message) as caught:
        reply_to(fault)
    assert (caught.value.limited, caught.value.maybe_charged) == (False, charged)


@pytest.mark.parametrize(
    ("fault", "is_away"),
    [
        (
            ServerResponse(
                503, b'{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}'
            ),
            True,
        ),
        (fails(502), True),
        (html_page(502), True),
        (resets(), True),
        (ServerResponse(200, b"x" * 5000, cut=True), True),
        (fails(500), False),
        (html_page(200), False),
    ],
)
def test_a_server_that_loads_or_restarts_is_told_from_one_that_fails(
    fault: ServerResponse, is_away: bool
) -> None:
    error = error_of(fault)
    assert isinstance(error, TransientModelError)
    assert error.is_away == is_away


@pytest.mark.parametrize(
    ("fault", "is_limited"),
    [
        (fails(503, "server busy, please try again. maximum pending requests exceeded"), True),
        (fails(429, "Maximum number of concurrent requests reached"), True),
        (ServerResponse(503, b'{"error": "no slot available"}'), True),
        (fails(429, "Rate limit reached for requests per minute"), True),
        (fails(503, "Loading model"), False),
    ],
)
def test_a_refusal_of_so_many_calls_is_told_from_a_server_that_is_away(
    fault: ServerResponse, is_limited: bool
) -> None:
    error = error_of(fault)
    assert isinstance(error, TransientModelError)
    assert error.limited == is_limited


@pytest.mark.parametrize(
    "refusal",
    [
        json_response({"error": "json_schema is not supported"}, 400),
        json_response("response_format is not supported", 422),
        json_response({"error": {"message": "Failed to parse grammar", "code": 500}}, 500),
        ServerResponse(400, b"JSON schema conversion failed"),
    ],
)
def test_a_server_that_takes_no_schema_is_asked_for_json_and_the_setting_is_named(
    refusal: ServerResponse, caplog: pytest.LogCaptureFixture
) -> None:
    with ChatServer([refusal, says(ACCEPT), says(ACCEPT)]) as server:
        send(provider_for(server), claim(), claim())
    modes = [asked.body["response_format"]["type"] for asked in server.asked]
    assert modes == ["json_schema", "json_object", "json_object"]
    assert [record.message.count("llm.json_mode=object") for record in caplog.records] == [1]


@pytest.mark.parametrize("message", ["System role not supported", "role 'system' is not allowed"])
def test_a_model_without_a_system_role_gets_its_text_with_the_prompt(message: str) -> None:
    with ChatServer([fails(400, message), says(ACCEPT), says(ACCEPT)]) as server:
        send(provider_for(server), claim(), claim())
    first, *others = [asked.body["messages"] for asked in server.asked]
    assert [turn["role"] for turn in first] == ["system", "user"]
    assert others == [[{"role": "user", "content": "Check.\n\nIs it 25 days?"}]] * 2


@pytest.mark.parametrize("status", [200, 500])
def test_a_body_larger_than_any_reply_is_not_read_to_its_end(status: int) -> None:
    bomb = gzip.compress(bytes(MOST_REPLY_BYTES * 20))
    assert len(bomb) < MOST_REPLY_BYTES // 10
    assert error_of(ServerResponse(status, bomb, (("Content-Encoding", "gzip"),))).reason == "truncated"


def test_a_server_of_this_machine_is_sent_a_cap_on_tokens_by_role_and_another_is_not() -> None:
    with ChatServer([says(ACCEPT), says(ACCEPT)]) as server:
        send(provider_for(server))
        send(provider_for(server, max_output_tokens=77))
    caps = [asked.body["max_completion_tokens"] for asked in server.asked]
    assert caps == [LOCAL_CAPS[claim().role], 77]
    hosted = ModelSettings(provider="openai", model="m")
    assert "max_completion_tokens" not in parameters(claim(), hosted, Way("schema"))


@pytest.mark.parametrize(
    "play",
    [ServerResponse(200, b"{}", delay_seconds=0.6), ServerResponse(200, b"{} " * 99, drip_seconds=5)],
)
def test_a_server_that_does_not_reply_in_time_may_have_charged_it(play: ServerResponse) -> None:
    """A drip sends a byte now and then, and is no reply in time all the same."""
    error = error_of(play, timeout=0.4)
    assert isinstance(error, TransientModelError)
    assert error.maybe_charged
    assert error.is_final  # on this machine it would take as long again
    assert "llm.timeout_seconds" in str(error)


def test_a_server_that_is_not_there_charges_nothing() -> None:
    with ChatServer([]) as server:
        provider = provider_for(server)
    with pytest.raises(TransientModelError) as caught:
        send(provider)
    assert caught.value.is_away
    assert not caught.value.maybe_charged


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "7", "retry-after-ms": "6500"}, 6.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "Wed, 21 Oct 2999 07:28:00 +0000"}, 3e10),
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "1e9"}, 0),
    ],
)
def test_waits_are_read_in_every_form_they_come_in(headers: dict[str, str], seconds: float) -> None:
    assert asked_wait(headers) == pytest.approx(seconds, rel=0.1)


def test_an_account_without_credit_ends_the_run_and_is_not_waited_for() -> None:
    assert isinstance(error_of(lacks_credit()), PermanentModelError)


@pytest.mark.parametrize("fault", [rejects_key(), fails(401), fails(403)])
def test_a_rejected_key_ends_the_run_and_says_what_to_do(fault: ServerResponse) -> None:
    error = error_of(fault)
    assert isinstance(error, KeyRejectedError)
    assert "OPENAI_API_KEY" in str(error)


def test_an_unknown_model_is_named_with_its_setting() -> None:
    with (
        ChatServer(plan=ServerPlan(models={"other": 100})) as server,
        pytest.raises(PermanentModelError, match=r"llm\.model 'gpt-9'.*llm\.base_url"),
    ):
        send(provider_for(server, model="gpt-9"))


@pytest.mark.parametrize(
    "fault",
    [
        fails(400, "Too much.", code="context_length_exceeded"),
        fails(400, "This model's maximum context length is 2048 tokens. However, you requested 4000."),
        fails(400, "the request exceeds the available context size, try increasing it"),
        fails(413, "Payload too large"),
        ServerResponse(400, b'{"object": "error", "message": "maximum context length is 9", "code": 400}'),
    ],
)
def test_a_request_that_is_too_long_is_distinguished_from_one_that_is_wrong(fault: ServerResponse) -> None:
    error = error_of(fault)
    assert isinstance(error, OversizedRequestError)
    assert error.reason == "context_too_long"


@pytest.mark.parametrize(
    "fault", [fails(400, "No tools."), fails(422, "No tools."), fails(400, "", param="reasoning_effort")]
)
def test_any_other_refusal_is_permanent(fault: ServerResponse) -> None:
    assert type(error_of(fault)) is PermanentModelError


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with ChatServer([]) as elsewhere:
        target = f"{elsewhere.url}/chat/completions"
        redirect = ServerResponse(307, b"", headers=(("Location", target),))
        assert "307" in str(error_of(redirect))
    assert elsewhere.stats.invalid == 0
    assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error": {"code": 429, "message": "busy"}}', TransientModelError),
        (b'{"error": {"code": 401, "message": "no"}}', KeyRejectedError),
        (b'{"error": {"message": "upstream"}}', TransientModelError),
    ],
)
def test_an_error_that_comes_as_a_success_is_an_error(body: bytes, kind: type[ModelError]) -> None:
    assert isinstance(error_of(ServerResponse(200, body)), kind)


@pytest.mark.parametrize(
    "echo",
    [
        lambda key: fails(400, f"bad key {key}"),
        lambda key: fails(403, f"key {key} is revoked"),
        lambda key: fails(503, f"{key} is busy"),
        lambda key: limits_rate(9),
        lambda key: resets(),
        lambda key: html_page(503),
        lambda key: rejects_key(),
        lambda key: says(""),
    ],
)
def test_the_key_is_in_no_error_traceback_name_or_log(
    echo: Callable[[str], ServerResponse], caplog: pytest.LogCaptureFixture
) -> None:
    """Even where the server repeats the key in its message."""
    key = "sk-very-secret-key"
    caplog.set_level(logging.DEBUG)
    with ChatServer(lambda _: echo(key), key=key) as server:
        provider = provider_for(server, environ={"OPENAI_API_KEY": key})
        with pytest.raises(ModelError) as caught:
            send(provider)
    told = "".join(traceback.format_exception(caught.value)) + caplog.text + repr(provider)
    assert key not in told + str(vars(provider))
    assert caught.value.__context__ is None


def test_a_long_or_unprintable_message_of_the_server_is_one_short_line() -> None:
    error: Any = error_of(fails(400, "line\n\x1b[31m" + "x" * 5000))
    assert "\n" not in str(error)
    assert "\x1b" not in str(error)
    assert len(str(error)) < 400
