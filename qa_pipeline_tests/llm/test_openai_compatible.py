"""The real client of chat completions against a loopback server, which may lack what OpenAI's has."""

from typing import Any

import pytest

from qa_pipeline.errors import (
    KeyRejectedError,
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    SettingsError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import TransientModelError
from qa_pipeline.llm.openai_compatible import (
    OpenAIProvider,
    call_body,
    mode_without,
)
from qa_pipeline.llm.replies import parse_reply, sent_schema
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline_tests.fake_server.chat import ChatAbilities, fails, says
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.responses import ServerResponse, json_response
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.requests import ACCEPT, Decision, claim
from qa_pipeline_tests.llm.serving import chat_provider, error_of, send
from qa_pipeline_tests.support.replies import lacks_credit, refuses
from qa_pipeline_tests.support.servers import ChatServer

ABILITIES = {
    "schema": ChatAbilities(),
    "object": ChatAbilities(json_schema=False),
    "text": ChatAbilities(json_schema=False, json_object=False),
}


def test_the_request_arrives_as_it_was_asked() -> None:
    with ChatServer([says(ACCEPT)]) as server:
        provider = chat_provider(server, thinking_level="low", max_output_tokens=500)
        send(provider, claim("Är det 25 dagar?", temperature=0.3))
    (asked,) = server.asked
    held = {"name": "Decision", "strict": True, "schema": sent_schema(Decision)}
    assert asked.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Check."},
            {"role": "user", "content": "Är det 25 dagar?"},
        ],
        "temperature": 0.3,
        "seed": 0,
        "reasoning_effort": "low",
        "max_completion_tokens": 500,
        "response_format": {"type": "json_schema", "json_schema": held},
    }


@pytest.mark.parametrize(
    ("play", "reason", "raw"),
    [
        (says("half", finish="content_filter"), "blocked_safety", "half"),
        (refuses(f"Not for {LOOPBACK_KEY}."), "refused", "Not for [key]."),
        (says(" \n"), "empty", " \n"),
        (says(None), "empty", ""),
        (ServerResponse(200, b'"x"'), "empty", ""),
        (ServerResponse(200, b'{"choices": [3]}'), "empty", ""),
        (ServerResponse(200, b'{"choices": [{"message": {"content": 3}}]}'), "empty", ""),
    ],
)
def test_a_reply_that_cannot_be_used_is_a_typed_error(play: ServerResponse, reason: str, raw: str) -> None:
    error = error_of(ChatServer, play)
    assert isinstance(error, UnreadableReplyError)
    assert (error.reason, error.raw) == (reason, raw)


@pytest.mark.parametrize("mode", ABILITIES)
def test_the_strictest_way_that_the_server_knows_is_found_once_and_kept(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    with ChatServer(plan=ServerPlan(chat=ABILITIES[mode])) as server:
        provider = chat_provider(server)
        name = provider.name
        replies = send(provider, *(claim(f"Is it {number} days?") for number in range(5)))
    assert (mode_without(provider.left_out), provider.name) == (mode, name)
    assert [parse_reply(reply.text, Decision).decision for reply in replies] == ["reject"] * 5
    assert (server.stats.asked, server.stats.invalid) == (5, list(ABILITIES).index(mode))
    assert len(caplog.records) == server.stats.invalid
    assert all("llm.json_mode=" in record.message for record in caplog.records)


@pytest.mark.parametrize("mode", ["object", "text"])
def test_without_a_schema_the_system_message_tells_it(mode: str) -> None:
    with ChatServer([says(ACCEPT)]) as server:
        send(chat_provider(server, json_mode=mode))
    (asked,) = server.asked
    assert asked.system.startswith("Check.\n\n")
    assert '"enum": ["accept", "reject", "unsure"]' in asked.system
    assert asked.body.get("response_format") == ({"type": "json_object"} if mode == "object" else None)


@pytest.mark.parametrize("lacking", [["temperature", "seed"], ["max_completion_tokens"]])
def test_a_parameter_that_a_model_does_not_take_is_left_out_from_then_on(lacking: list[str]) -> None:
    with ChatServer(plan=ServerPlan(chat=ChatAbilities(lacking=frozenset(lacking)))) as server:
        provider = chat_provider(server, max_output_tokens=300)
        send(provider, claim("1"), claim("2"))
    assert (server.stats.asked, server.stats.invalid) == (2, len(lacking))
    for asked in server.asked:
        assert not set(lacking) & set(asked.body)
        assert 300 in asked.body.values()


@pytest.mark.parametrize("message", ["System role not supported", "role 'system' is not allowed"])
def test_a_model_without_a_system_role_gets_its_text_with_the_prompt(message: str) -> None:
    with ChatServer([fails(400, message), says(ACCEPT), says(ACCEPT)]) as server:
        send(chat_provider(server), claim(), claim())
    first, *others = [asked.body["messages"] for asked in server.asked]
    assert [turn["role"] for turn in first] == ["system", "user"]
    assert others == [[{"role": "user", "content": "Check.\n\nIs it 25 days?"}]] * 2


@pytest.mark.parametrize(
    "refusal",
    [
        json_response({"error": "json_schema is not supported"}, 400),
        json_response("response_format is not supported", 422),
        json_response({"error": {"message": "Failed to parse grammar", "code": 500}}, 500),
        ServerResponse(400, b"JSON schema conversion failed"),
        fails(400, "no", param="response_format.json_schema"),
        fails(400, "Extra inputs are not permitted: response_format"),
    ],
)
def test_a_server_that_takes_no_schema_is_asked_for_json(refusal: ServerResponse) -> None:
    with ChatServer([refusal, says(ACCEPT), says(ACCEPT)]) as server:
        send(chat_provider(server), claim(), claim())
    modes = [asked.body["response_format"]["type"] for asked in server.asked]
    assert modes == ["json_schema", "json_object", "json_object"]


def test_a_server_of_this_machine_needs_no_key_and_is_sent_a_cap_on_tokens_by_role() -> None:
    with ChatServer([says(ACCEPT)], key=None) as server:
        send(chat_provider(server, key=""))
    assert server.asked[0].body["max_completion_tokens"] == 2048
    hosted = ModelSettings(provider="openai", model="m")
    assert "max_completion_tokens" not in call_body(claim(), hosted, ())
    with pytest.raises(KeyRejectedError, match="OPENAI_API_KEY"):
        OpenAIProvider(hosted, 10, {})


@pytest.mark.parametrize("base_url", ["localhost:8000", "ftp://127.0.0.1", "/v1", "http://"])
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(SettingsError, match=r"llm\.base_url"):
        OpenAIProvider(ModelSettings(base_url=base_url), 10, {"OPENAI_API_KEY": "k"})


def test_no_environment_variable_changes_where_or_with_what_requests_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[dict[str, str]] = []

    with ChatServer([]) as elsewhere, ChatServer([says(ACCEPT)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", elsewhere.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-stray")
        monkeypatch.setenv("OPENAI_ORG_ID", "stray-org")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "stray-project")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Stray: 1\nAuthorization: Bearer sk-stray")
        monkeypatch.setenv("HTTP_PROXY", elsewhere.url)
        answer = server.service.answer

        def remember(method: str, path: str, headers: Any, content: bytes) -> ServerResponse:
            seen.append({name.lower(): value for name, value in headers.items()})
            return answer(method, path, headers, content)

        monkeypatch.setattr(server.service, "answer", remember)
        send(chat_provider(server))
    (headers,) = seen
    assert headers["authorization"] == f"Bearer {LOOPBACK_KEY}"
    assert not [name for name in headers if name.startswith(("x-", "openai-"))]
    assert elsewhere.stats.invalid == 0


@pytest.mark.parametrize(
    ("fault", "is_limited"),
    [
        (fails(503, "server busy, please try again. maximum pending requests exceeded"), True),
        (ServerResponse(503, b'{"error": "no slot available"}'), True),
        (fails(503, "Loading model"), False),
    ],
)
def test_a_refusal_of_so_many_calls_is_told_from_a_server_that_is_away(
    fault: ServerResponse, is_limited: bool
) -> None:
    error = error_of(ChatServer, fault)
    assert isinstance(error, TransientModelError)
    assert error.is_rate_limit == is_limited


def test_an_account_without_credit_ends_the_run_and_is_not_waited_for() -> None:
    assert isinstance(error_of(ChatServer, lacks_credit()), PermanentModelError)


@pytest.mark.parametrize(
    "fault",
    [
        fails(400, "Too much.", code="context_length_exceeded"),
        fails(400, "the request exceeds the available context size, try increasing it"),
        ServerResponse(400, b'{"object": "error", "message": "maximum context length is 9", "code": 400}'),
    ],
)
def test_a_request_that_is_too_long_is_known_in_the_words_of_each_server(fault: ServerResponse) -> None:
    assert isinstance(error_of(ChatServer, fault), OversizedRequestError)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error": {"code": 429, "message": "busy"}}', TransientModelError),
        (b'{"error": {"code": 401, "message": "no"}}', KeyRejectedError),
        (b'{"error": {"message": "upstream"}}', TransientModelError),
    ],
)
def test_an_error_that_comes_as_a_success_is_an_error(body: bytes, kind: type[ModelError]) -> None:
    assert isinstance(error_of(ChatServer, ServerResponse(200, body)), kind)
