"""OpenAI's chat completions over openai: what the server takes, says and refuses."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from qa_pipeline.llm.openai_compatible.wire import strict_schema
from qa_pipeline.prompts.loading import load_prompt
from qa_pipeline.records import AnswerReply, VerifyReply
from qa_pipeline_tests.fake_server import chat as chat_dialect
from qa_pipeline_tests.fake_server.chat import ChatAbilities
from qa_pipeline_tests.fake_server.clients import prompt, with_chat
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.support import replies
from qa_pipeline_tests.support.servers import ChatServer

SYSTEM = load_prompt("en", "verify").system
STRICT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def held_to(schema: dict[str, Any], *, strict: bool = True) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "R", "strict": strict, "schema": schema}}


def chat(**changes: Any) -> Callable[[AsyncOpenAI], Awaitable[Any]]:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt()}]
    schema = strict_schema(VerifyReply)
    fields: dict[str, Any] = {"model": "m", "messages": messages, "response_format": held_to(schema)}
    return lambda client: client.chat.completions.create(**(fields | changes))


def test_a_sensible_reply_fits_the_schema_and_counts_its_tokens_honestly() -> None:
    with ChatServer() as server:
        reply = with_chat(server, chat(reasoning_effort="low", max_completion_tokens=500, seed=1))
    text = reply.choices[0].message.content
    assert VerifyReply.model_validate_json(text).verdicts[0].decision == "accept"
    assert (reply.choices[0].finish_reason, reply.model) == ("stop", "fake-m")
    assert reply.usage.prompt_tokens == -(-len(SYSTEM) // 4) - (-len(prompt()) // 4)
    assert reply.usage.completion_tokens == -(-len(text) // 4) + 16
    assert reply.usage.completion_tokens_details.reasoning_tokens == 16
    (asked,) = server.asked
    assert (asked.model, asked.system, asked.prompt) == ("m", SYSTEM, prompt())


@pytest.mark.parametrize("wanted", [{"type": "json_object"}, {"type": "text"}])
def test_without_a_schema_the_instruction_tells_what_is_wanted(wanted: dict[str, str]) -> None:
    with ChatServer() as server:
        reply = with_chat(server, chat(response_format=wanted))
    assert VerifyReply.model_validate_json(reply.choices[0].message.content).verdicts[0].decision == "accept"


def test_a_reply_of_a_script_is_played_in_order() -> None:
    plays = [chat_dialect.says("one"), replies.refuses("No."), replies.no_choices()]
    with ChatServer(plays) as server:
        first, second, third = (with_chat(server, chat()) for _ in range(3))
        with pytest.raises(openai.BadRequestError, match="3 responses"):
            with_chat(server, chat())
    assert first.choices[0].message.content == "one"
    assert (second.choices[0].message.content, second.choices[0].message.refusal) == (None, "No.")
    assert third.choices == []


def test_wrong_and_missing_keys_are_a_401() -> None:
    with ChatServer() as server, pytest.raises(openai.AuthenticationError) as caught:
        with_chat(server, chat(), key="another")
    assert caught.value.code == "invalid_api_key"
    response = server.service.answer("POST", "/v1/chat/completions", {}, b"{}")
    assert (response.status, json.loads(response.body or b"")["error"]["code"]) == (401, "invalid_api_key")
    assert server.asked == []


def test_a_server_without_keys_lets_everybody_in() -> None:
    with ChatServer(key=None) as server:
        assert with_chat(server, chat(), key="anything").choices


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"messages": []}, "empty_array", "empty array"),
        (
            {"messages": [{"role": "user", "content": "hej"}], "response_format": {"type": "json_object"}},
            None,
            "must contain the word 'json'",
        ),
        ({"response_format": held_to(STRICT)}, None, "'additionalProperties' is required"),
        (
            {"response_format": held_to(STRICT | {"additionalProperties": False, "required": []})},
            None,
            "Missing 'a'",
        ),
        ({"response_format": held_to(AnswerReply.model_json_schema())}, None, "'minLength' is not permitted"),
        ({"response_format": held_to({"type": "array"})}, None, 'must be of type "object"'),
        ({"response_format": {"type": "json_schema"}}, None, "Invalid JSON payload"),
        ({"messages": [{"role": "user", "content": 3}]}, None, "Invalid JSON payload"),
    ],
)
def test_what_openai_does_not_take_is_a_400_that_names_it(
    changes: dict[str, Any], code: str | None, message: str
) -> None:
    with ChatServer() as server, pytest.raises(openai.BadRequestError, match=message) as caught:
        with_chat(server, chat(**changes))
    assert caught.value.code == code
    assert server.asked == []


def test_a_schema_that_is_not_strict_may_be_anything() -> None:
    with ChatServer() as server:
        reply = with_chat(server, chat(response_format=held_to(STRICT, strict=False)))
    assert json.loads(reply.choices[0].message.content) == {"a": "text"}


@pytest.mark.parametrize(
    ("abilities", "changes", "message"),
    [
        (ChatAbilities(json_schema=False), {}, "'json_schema' is not supported"),
        (ChatAbilities(json_object=False), {"response_format": {"type": "json_object"}}, "must be 'text' or"),
        (ChatAbilities(json_schema=False, json_object=False), {}, "Extra inputs are not permitted"),
        (ChatAbilities(lacking=frozenset({"temperature"})), {"temperature": 0}, "Unsupported parameter"),
    ],
)
def test_a_lesser_server_refuses_what_it_lacks(
    abilities: ChatAbilities, changes: dict[str, Any], message: str
) -> None:
    with (
        ChatServer(plan=ServerPlan(chat=abilities)) as server,
        pytest.raises(openai.BadRequestError, match=message),
    ):
        with_chat(server, chat(**changes))


def test_a_conversation_longer_than_the_model_reads_is_refused() -> None:
    with (
        ChatServer(plan=ServerPlan(models={"m": 20})) as server,
        pytest.raises(openai.BadRequestError, match="maximum context length is 20 tokens") as caught,
    ):
        with_chat(server, chat())
    assert caught.value.code == "context_length_exceeded"


def test_a_cap_on_the_reply_cuts_it() -> None:
    with ChatServer() as server:
        reply = with_chat(server, chat(max_completion_tokens=3))
    assert (reply.choices[0].finish_reason, len(reply.choices[0].message.content)) == ("length", 12)


@pytest.mark.parametrize("with_usage", [True, False])
def test_a_stream_ends_with_its_reason_and_with_the_usage_that_is_asked_for(with_usage: bool) -> None:
    async def read(client: AsyncOpenAI) -> list[Any]:
        options = {"stream_options": {"include_usage": True}} if with_usage else {}
        return [one async for one in await chat(stream=True, **options)(client)]

    with ChatServer() as server:
        plain, events = with_chat(server, chat()), with_chat(server, read)
    choices = [choice for event in events for choice in event.choices]
    assert "".join(one.delta.content or "" for one in choices) == plain.choices[0].message.content
    assert (choices[-1].finish_reason, len(choices) > 3) == ("stop", True)
    assert [one.usage for one in events if one.usage] == ([plain.usage] if with_usage else [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 9),
        ("temperature", "hot"),
        ("top_p", 5),
        ("n", 200),
        ("max_tokens", 0),
        ("max_completion_tokens", -3),
        ("messages", []),
        ("messages", [{"role": "wizard", "content": "x"}]),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_parameter_that_no_server_takes_is_a_400_that_names_it(name: str, value: Any, stream: bool) -> None:
    with ChatServer() as server, pytest.raises(openai.BadRequestError) as caught:
        with_chat(server, chat(**{"stream": stream, name: value}))
    assert str(caught.value.param).startswith(name)


def test_models_are_listed_and_an_unknown_one_is_not_there() -> None:
    async def read(client: AsyncOpenAI) -> list[str]:
        return [one.id async for one in client.models.list()] + [(await client.models.retrieve("a")).id]

    with ChatServer(plan=ServerPlan(models={"a": 10, "b": 10})) as server:
        assert with_chat(server, read) == ["a", "b", "a"]
        with pytest.raises(openai.NotFoundError, match="does not exist"):
            with_chat(server, lambda client: client.models.retrieve("c"))
