"""The real client against a loopback server: no test here fakes anything of google-genai."""

import asyncio
from typing import Any

import pytest

from qa_pipeline.calls import Usage
from qa_pipeline.errors import (
    UnreadableReplyError,
)
from qa_pipeline.llm.asking import ask_all
from qa_pipeline.llm.base import Reply
from qa_pipeline.llm.fake_server.gemini_plays import blocks_prompt, no_candidates, says, stops
from qa_pipeline.llm.fake_server.play import Asked, ServerPlay
from qa_pipeline.llm.fake_server.server import GeminiServer
from qa_pipeline.llm.gemini import GeminiModel, response_schema
from qa_pipeline.records import AnswerReply, ClaimReply, JudgeReply, QuestionsReply, ReplyModel
from qa_pipeline.settings.models import LLMSettings
from qa_pipeline_tests.llm.asking import ACCEPT, REJECT, claim
from qa_pipeline_tests.llm.serving import error_of, model_for, outcome_of

JSON = ACCEPT.model_dump_json()


def test_a_reply_is_parsed_and_carries_its_text_model_and_tokens_thoughts_included() -> None:
    reply = outcome_of(says(ACCEPT, model="gemini-3-flash-001"))
    assert reply == Reply(ACCEPT, JSON, "gemini/gemini-3-flash-001", Usage(11, 9))


def test_the_request_arrives_as_it_was_asked() -> None:
    with GeminiServer([says(ACCEPT)]) as server:
        ask_all(model_for(server, model="gemini-x"), [claim("Är det 25 dagar?", temperature=0.3)], workers=1)
    (asked,) = server.asked
    assert (asked.model, asked.system, asked.prompt) == ("gemini-x", "Check.", "Är det 25 dagar?")
    assert {**asked.config, "responseJsonSchema": None} == {
        "temperature": 0.3,
        "seed": 0,
        "responseMimeType": "application/json",
        "responseJsonSchema": None,
    }
    assert asked.config["responseJsonSchema"] == response_schema(ClaimReply)


@pytest.mark.parametrize("reply_model", [QuestionsReply, AnswerReply, ClaimReply, JudgeReply])
def test_the_schema_keeps_the_order_of_fields_and_has_nothing_gemini_does_not_read(
    reply_model: type[ReplyModel],
) -> None:
    schema = response_schema(reply_model)
    assert list(schema["properties"]) == schema["required"] == list(reply_model.model_fields)
    assert schema["additionalProperties"] is False
    assert not {"$ref", "$defs", "minLength"} & set(_keywords(schema))


def test_a_nested_model_stands_in_the_schema_where_it_is_used() -> None:
    citation = response_schema(AnswerReply)["properties"]["citations"]["items"]
    assert citation["required"] == ["passage", "quote"]
    assert citation["properties"]["passage"]["minimum"] == 1


@pytest.mark.parametrize(
    ("play", "reason", "detail"),
    [
        (stops("SAFETY"), "blocked", "reply: SAFETY"),
        (stops("RECITATION"), "blocked", "reply: RECITATION"),
        (stops("PROHIBITED_CONTENT"), "blocked", "reply: PROHIBITED_CONTENT"),
        (blocks_prompt("SAFETY"), "blocked", "prompt: SAFETY"),
        (blocks_prompt("BLOCKLIST"), "blocked", "prompt: BLOCKLIST"),
        (says(JSON[:20], finish="MAX_TOKENS"), "truncated", "reply: MAX_TOKENS"),
        (says(ACCEPT, finish="MAX_TOKENS"), "truncated", "reply: MAX_TOKENS"),
        (no_candidates(), "empty", "no candidate"),
        (stops("STOP"), "empty", "no text"),
        (says(" "), "empty", "no text"),
        (says("I accept."), "not_json", "9 characters"),
        (says(JSON[:20]), "not_json", "20 characters"),
        (says('{"reasoning": "r", "decision": "maybe"}'), "schema_breach", "decision literal_error"),
        (says('{"reasoning": "r", "decision": "accept", "x": 1}'), "schema_breach", "unknown field"),
    ],
)
def test_a_reply_that_cannot_be_used_is_a_typed_error_and_is_not_asked_again(
    play: ServerPlay, reason: str, detail: str
) -> None:
    error = error_of(play)
    assert isinstance(error, UnreadableReplyError)
    assert error.reason == reason
    assert detail in error.detail


def test_one_model_serves_one_event_loop_after_another_and_leaves_no_connection_open() -> None:
    """Each `ask_all` has a loop of its own; unclosed sessions would be warnings, and warnings fail tests."""
    with GeminiServer(lambda _: says(ACCEPT)) as server:
        model = model_for(server)
        for _ in range(3):
            outcomes = ask_all(model, [claim(f"{number}") for number in range(4)], workers=4)
            assert all(isinstance(outcome, Reply) for outcome in outcomes)
            assert model._lines == {}
    assert len(server.asked) == 12


def test_closing_ends_the_session_of_the_running_loop() -> None:
    async def run(model: GeminiModel) -> None:
        await model.complete(claim())
        (line,) = model._lines.values()
        await model.aclose()
        assert line.session.closed

    with GeminiServer([says(ACCEPT)]) as server:
        asyncio.run(run(model_for(server)))


def test_no_environment_variable_sends_requests_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://elsewhere.example")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")

    async def run(model: GeminiModel) -> str | None:
        try:
            return model._client()._api_client._http_options.base_url
        finally:
            await model.aclose()

    assert asyncio.run(run(GeminiModel("k", LLMSettings()))) == "https://generativelanguage.googleapis.com/"


def test_closing_a_model_that_never_asked_does_nothing() -> None:
    with GeminiServer([]) as server:
        asyncio.run(model_for(server).aclose())


def test_many_requests_come_back_in_order() -> None:
    def play(asked: Asked) -> ServerPlay:
        return says(ACCEPT if asked.prompt.endswith("even") else REJECT)

    requests = [claim(f"{number} {'odd' if number % 2 else 'even'}") for number in range(40)]
    with GeminiServer(play) as server:
        outcomes = ask_all(model_for(server), requests, workers=8)
    assert [outcome.value for outcome in outcomes if isinstance(outcome, Reply)] == [ACCEPT, REJECT] * 20


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        (None, "gemini/gemini-x"),
        ("https://proxy.example/gemini/", "gemini/gemini-x@proxy.example/gemini"),
        ("http://user:secret@localhost:8080", "gemini/gemini-x@localhost:8080"),
    ],
)
def test_the_name_tells_models_and_servers_apart_and_holds_no_password(
    base_url: str | None, name: str
) -> None:
    assert GeminiModel("k", LLMSettings(model="gemini-x", base_url=base_url)).name == name


def _keywords(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [*node, *(word for value in node.values() for word in _keywords(value))]
    return [word for item in node for word in _keywords(item)] if isinstance(node, list) else []
