"""The real client against a loopback server."""

import asyncio
from typing import Any

import pytest

from qa_pipeline.errors import KeyRejectedError, ModelError, SettingsError, UnreadableReplyError
from qa_pipeline.llm.openai_compatible.provider import OpenAIProvider
from qa_pipeline.llm.openai_compatible.wire import strict_schema
from qa_pipeline.llm.provider import Provider, RawReply
from qa_pipeline.llm.replies import parse_reply
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline_tests.fake_server.chat import ChatAbilities, says
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.responses import ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.openai_compatible.loopback import KEY, error_of, provider_for, reply_to, send
from qa_pipeline_tests.llm.requests import ACCEPT, Decision, claim
from qa_pipeline_tests.support.replies import refuses
from qa_pipeline_tests.support.servers import ChatServer

JSON = ACCEPT.model_dump_json()


def test_a_reply_comes_with_its_text_model_and_tokens() -> None:
    provider: Provider
    with ChatServer([says(ACCEPT, model="m-2026")]) as server:
        provider = provider_for(server)
        (reply,) = send(provider)
    assert reply == RawReply(JSON, "openai/m-2026", Usage(11, 9, cached_tokens=4, thought_tokens=2))


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "many", "completion_tokens_details": 3}])
def test_tokens_that_the_server_does_not_tell_are_unknown(usage: Any) -> None:
    assert reply_to(says(ACCEPT, usage=usage)).usage == Usage()


def test_the_request_arrives_as_it_was_asked() -> None:
    with ChatServer([says(ACCEPT)]) as server:
        provider = provider_for(server, thinking_level="low", max_output_tokens=500)
        send(provider, claim("Är det 25 dagar?", temperature=0.3))
    (asked,) = server.asked
    held = {"name": "Decision", "strict": True, "schema": strict_schema(Decision)}
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
        (says(JSON[:20], finish="length"), "truncated", JSON[:20]),
        (says(None, finish="content_filter"), "blocked_safety", ""),
        (says("half", finish="content_filter"), "blocked_safety", "half"),
        (refuses("I will not."), "refused", "I will not."),
        (says(""), "empty", ""),
        (says(" \n"), "empty", " \n"),
        (says(None), "empty", ""),
    ],
)
def test_a_reply_that_cannot_be_used_is_a_typed_error_with_what_it_took(
    play: ServerResponse, reason: str, raw: str
) -> None:
    error = error_of(play)
    assert isinstance(error, UnreadableReplyError)
    assert (error.reason, error.raw, error.model) == (reason, raw, "openai/chat-loopback")
    assert error.usage == Usage(11, 9, cached_tokens=4, thought_tokens=2)


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b'"x"', b'{"choices": [3]}', b'{"choices": [{"message": {"content": 3}}]}']
)
def test_a_payload_of_no_known_shape_is_an_empty_reply(body: bytes) -> None:
    error = error_of(ServerResponse(200, body))
    assert isinstance(error, UnreadableReplyError)
    assert error.reason == "empty"


def test_text_in_parts_is_joined() -> None:
    body = b'{"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]}}]}'
    assert reply_to(ServerResponse(200, body)).text == "ab"


ABILITIES = {
    "schema": ChatAbilities(),
    "object": ChatAbilities(json_schema=False),
    "text": ChatAbilities(json_schema=False, json_object=False),
}


@pytest.mark.parametrize("mode", ABILITIES)
def test_the_strictest_way_that_the_server_knows_is_found_once_and_kept(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    with ChatServer(plan=ServerPlan(chat=ABILITIES[mode])) as server:
        provider = provider_for(server)
        name = provider.name
        replies = send(provider, *(claim(f"Is it {number} days?") for number in range(5)))
    assert (provider.way.mode, provider.name) == (mode, name)
    assert [parse_reply(reply.text, Decision).decision for reply in replies] == ["reject"] * 5
    assert server.stats.asked == 5
    assert server.stats.invalid == list(ABILITIES).index(mode)
    assert len(caplog.records) == server.stats.invalid
    assert all("llm.json_mode=" in record.message for record in caplog.records)


@pytest.mark.parametrize("mode", ["object", "text"])
def test_without_a_schema_the_system_message_tells_it(mode: Any) -> None:
    with ChatServer([says(ACCEPT)]) as server:
        send(provider_for(server, json_mode=mode))
    (asked,) = server.asked
    assert asked.system.startswith("Check.\n\n")
    assert '"enum": ["accept", "reject", "unsure"]' in asked.system
    assert asked.body.get("response_format") == ({"type": "json_object"} if mode == "object" else None)


def test_a_mode_of_the_settings_is_kept_to() -> None:
    with ChatServer(plan=ServerPlan(chat=ABILITIES["object"])) as server:
        provider = provider_for(server, json_mode="schema")
        with pytest.raises(ModelError, match="json_schema"):
            send(provider)
    assert provider.way.mode == "schema"


@pytest.mark.parametrize("lacking", [["temperature"], ["seed"], ["temperature", "seed"]])
def test_a_parameter_that_a_model_does_not_take_is_left_out_from_then_on(lacking: list[str]) -> None:
    with ChatServer(plan=ServerPlan(chat=ChatAbilities(lacking=frozenset(lacking)))) as server:
        provider = provider_for(server)
        send(provider, claim("1"), claim("2"))
    assert provider.way.left_out == frozenset(lacking)
    assert (server.stats.asked, server.stats.invalid) == (2, len(lacking))
    assert all(not set(lacking) & set(asked.body) for asked in server.asked)


def test_an_older_server_is_told_the_cap_by_its_older_name() -> None:
    abilities = ChatAbilities(lacking=frozenset({"max_completion_tokens"}))
    with ChatServer(plan=ServerPlan(chat=abilities)) as server:
        send(provider_for(server, max_output_tokens=300))
    assert server.asked[0].body["max_tokens"] == 300


def test_a_server_on_this_machine_needs_no_key() -> None:
    with ChatServer(key=None) as server:
        assert send(provider_for(server, environ={}))[0].text


@pytest.mark.parametrize("base_url", [None, "http://192.0.2.1:8000/v1", "https://proxy.example/v1"])
def test_any_other_server_needs_one(base_url: str | None) -> None:
    with pytest.raises(KeyRejectedError, match="OPENAI_API_KEY"):
        OpenAIProvider(ModelSettings(base_url=base_url), 10, {"OPENAI_API_KEY": " "})


@pytest.mark.parametrize("key", ["se cret", "se\ncret", "sécret", "se\x00cret"])
def test_a_key_no_server_would_take_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(KeyRejectedError) as caught:
        OpenAIProvider(ModelSettings(), 10, {"OPENAI_API_KEY": key})
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("base_url", ["localhost:8000", "ftp://127.0.0.1", "/v1", "http://"])
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(SettingsError, match=r"llm\.base_url"):
        OpenAIProvider(ModelSettings(base_url=base_url), 10, KEY)


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
        send(provider_for(server))
    (headers,) = seen
    assert headers["authorization"] == f"Bearer {LOOPBACK_KEY}"
    assert not [name for name in headers if name.startswith(("x-", "openai-"))]
    assert elsewhere.stats.invalid == 0


def test_one_provider_serves_one_event_loop_after_another_and_leaves_no_connection_open() -> None:
    """Unclosed sessions would be warnings, and warnings fail tests."""
    with ChatServer(lambda _: says(ACCEPT)) as server:
        provider = provider_for(server)
        for _ in range(3):
            assert len(send(provider, *(claim(f"{number}") for number in range(4)))) == 4
            assert provider._clients.values == {}
        asyncio.run(provider.aclose())
    assert len(server.asked) == 12


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "openai/m"),
        ({"base_url": "https://proxy.example/v1/"}, "openai/m@proxy.example/v1"),
        ({"base_url": "http://user:secret@localhost:8080/v1"}, "openai/m@localhost:8080/v1"),
        (
            {"thinking_level": "low", "max_output_tokens": 9, "json_mode": "text"},
            "openai/m?thinking_level=low&max_output_tokens=9&json_mode=text",
        ),
    ],
)
def test_the_name_tells_what_is_fixed_and_holds_no_password(changes: dict[str, Any], name: str) -> None:
    assert OpenAIProvider(ModelSettings(model="m", **changes), 10, KEY).name == name


@pytest.mark.parametrize("count", [2**63 - 1, -1, 1.5, 1e300, float("nan"), "7", True, [7]])
def test_a_count_of_tokens_that_cannot_be_true_is_unknown(count: Any) -> None:
    assert reply_to(says(ACCEPT, usage={"prompt_tokens": count, "completion_tokens": 3})).usage == Usage()


def test_a_key_that_the_server_repeats_is_masked_in_every_field() -> None:
    echo = f'{{"reasoning": "{LOOPBACK_KEY}", "decision": "accept"}}'
    reply = reply_to(says(echo, model=LOOPBACK_KEY))
    assert (reply.text, reply.model) == (echo.replace(LOOPBACK_KEY, "[key]"), "openai/[key]")
    error = error_of(says(None, refusal=f"Not for {LOOPBACK_KEY}."))
    assert isinstance(error, UnreadableReplyError)
    assert error.raw == "Not for [key]."
