"""The real client against a loopback server: no test here fakes anything of google-genai."""

import asyncio
from typing import Any

import pytest
from google.auth.exceptions import DefaultCredentialsError
from google.genai.types import GenerateContentResponse
from google.oauth2.credentials import Credentials

from qa_pipeline.errors import KeyRejectedError, UnreadableReplyError
from qa_pipeline.llm.base import Reply
from qa_pipeline.llm.budget.prices import load_prices
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.gemini.provider import GeminiProvider, gemini_name
from qa_pipeline.llm.gemini.wire import read_usage, response_schema
from qa_pipeline.records import AnswerReply, JudgeReply, QuestionsReply, ReplyModel, Usage
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline_tests.fake_server.gemini import says
from qa_pipeline_tests.fake_server.responses import ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.requests import ACCEPT, Decision, claim
from qa_pipeline_tests.llm.serving import model_for, outcome_of, provider_for, send_and_close
from qa_pipeline_tests.support.replies import blocks_prompt, no_candidates, stops
from qa_pipeline_tests.support.servers import GeminiServer

JSON = ACCEPT.model_dump_json()


def test_a_reply_is_parsed_and_carries_its_text_model_and_tokens_thoughts_included() -> None:
    reply = outcome_of(says(ACCEPT, model="gemini-3-flash-001"))
    assert isinstance(reply, Reply)
    assert (reply.value, reply.raw, reply.model) == (ACCEPT, JSON, "gemini/gemini-3-flash-001")
    assert reply.usage == Usage(11, 9, thought_tokens=2)


def test_the_request_arrives_as_it_was_asked() -> None:
    with GeminiServer([says(ACCEPT)]) as server:
        complete_all(
            model_for(server, model="gemini-x"), [claim("Är det 25 dagar?", temperature=0.3)], workers=1
        )
    (asked,) = server.asked
    assert (asked.model, asked.system, asked.prompt) == ("gemini-x", "Check.", "Är det 25 dagar?")
    assert {**asked.config, "responseJsonSchema": None} == {
        "temperature": 0.3,
        "seed": 0,
        "responseMimeType": "application/json",
        "responseJsonSchema": None,
    }
    assert asked.config["responseJsonSchema"] == response_schema(Decision)


@pytest.mark.parametrize("reply_model", [QuestionsReply, AnswerReply, Decision, JudgeReply])
def test_the_schema_keeps_the_order_of_fields_and_has_nothing_gemini_does_not_read(
    reply_model: type[ReplyModel],
) -> None:
    schema = response_schema(reply_model)
    asked = list(reply_model.model_json_schema()["properties"])
    assert list(schema["properties"]) == schema["required"] == asked
    assert schema["additionalProperties"] is False
    assert not {"$ref", "$defs", "minLength"} & set(_keywords(schema))


@pytest.mark.parametrize(
    ("play", "reason", "detail"),
    [
        (stops("SAFETY"), "blocked_safety", "reply: SAFETY"),
        (stops("RECITATION"), "blocked_recitation", "reply: RECITATION"),
        (stops("PROHIBITED_CONTENT"), "blocked_safety", "reply: PROHIBITED_CONTENT"),
        (blocks_prompt("SAFETY"), "blocked_safety", "prompt: SAFETY"),
        (blocks_prompt("BLOCKLIST"), "blocked_safety", "prompt: BLOCKLIST"),
        (says(JSON[:20], finish="MAX_TOKENS"), "truncated", "reply: MAX_TOKENS"),
        (says(ACCEPT, finish="MAX_TOKENS"), "truncated", "reply: MAX_TOKENS"),
        (no_candidates(), "empty", "candidate"),
        (stops("STOP"), "empty", "text"),
        (says(" "), "empty", "text"),
    ],
)
def test_a_reply_that_did_not_finish_is_a_typed_error_that_says_what_it_took(
    play: ServerResponse, reason: str, detail: str
) -> None:
    with GeminiServer([play]) as server, pytest.raises(UnreadableReplyError, match=detail) as caught:
        asyncio.run(send_and_close(provider_for(server)))
    assert caught.value.reason == reason
    assert caught.value.usage.input_tokens in (None, 11)


def test_a_cut_reply_is_on_the_error_with_its_model() -> None:
    play = says(JSON[:20], finish="MAX_TOKENS")
    with GeminiServer([play]) as server, pytest.raises(UnreadableReplyError) as caught:
        asyncio.run(send_and_close(provider_for(server)))
    assert (caught.value.raw, caught.value.model) == (JSON[:20], "gemini/gemini-loopback")


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"thinking_budget": 0}, {"thinkingConfig": {"thinking_budget": 0}}),
        ({"thinking_level": "low"}, {"thinkingConfig": {"thinking_level": "LOW"}}),
        ({"max_output_tokens": 99}, {"maxOutputTokens": 99}),
    ],
)
def test_what_is_fixed_about_asking_is_sent_and_is_in_the_name(
    settings: dict[str, Any], sent: dict[str, Any]
) -> None:
    with GeminiServer([says(ACCEPT)]) as server:
        provider = provider_for(server, **settings)
        asyncio.run(send_and_close(provider))
    (asked,) = server.asked
    assert {name: asked.config[name] for name in sent} == sent
    (name, value), *_ = settings.items()
    assert provider.name.endswith(f"?{name}={value}")


def test_one_threshold_of_safety_is_sent_for_every_kind_of_harm() -> None:
    with GeminiServer([says(ACCEPT)]) as server:
        asyncio.run(send_and_close(provider_for(server, safety="block_none")))
    (asked,) = server.asked
    assert [rule["threshold"] for rule in asked.body["safetySettings"]] == ["BLOCK_NONE"] * 4


def test_vertex_ai_is_asked_for_the_project_with_a_token_and_no_key() -> None:
    with GeminiServer([says(ACCEPT)]) as server:
        settings = ModelSettings(
            provider="gemini",
            model="gemini-x",
            base_url=server.url,
            vertex_project="p1",
            vertex_location="eu",
        )
        provider = GeminiProvider(settings, 5.0, {}, credentials=_token())
        reply = asyncio.run(send_and_close(provider))
    assert reply.text == JSON
    assert [asked.model for asked in server.asked] == ["gemini-x"]
    assert provider.name.startswith("gemini/gemini-x@127.0.0.1:")
    assert provider.name.endswith("/p1")


def test_vertex_ai_without_credentials_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("google.auth.default", _no_credentials)
    settings = ModelSettings(provider="gemini", vertex_project="p1")
    with pytest.raises(KeyRejectedError, match="gcloud auth application-default login"):
        GeminiProvider(settings, 5.0, {})


def _token() -> Credentials:
    return Credentials(token=LOOPBACK_KEY)  # type: ignore[no-untyped-call]  # the library has no types


def _no_credentials(scopes: list[str]) -> None:
    raise DefaultCredentialsError


def test_a_model_on_vertex_ai_has_the_name_of_its_region_and_project() -> None:
    settings = ModelSettings(model="gemini-x", vertex_project="p1", vertex_location="europe-north1")
    assert gemini_name(settings) == "gemini/gemini-x@europe-north1-aiplatform.googleapis.com/p1"
    assert load_prices().of_name(gemini_name(settings.model_copy(update={"model": "gemini-2.5-flash"})))


def test_tokens_that_the_provider_read_from_its_cache_are_told_apart() -> None:
    usage = {"promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 5}
    response = GenerateContentResponse.model_validate({"usageMetadata": usage})
    assert read_usage(response) == Usage(100, 5, cached_tokens=80)


def test_one_model_serves_one_event_loop_after_another_and_leaves_no_connection_open() -> None:
    """Each `complete_all` has its own loop; unclosed sessions would be warnings, and warnings fail tests."""
    with GeminiServer(lambda _: says(ACCEPT)) as server:
        model = model_for(server)
        for _ in range(3):
            outcomes = complete_all(model, [claim(f"{number}") for number in range(4)], workers=4)
            assert all(isinstance(outcome, Reply) for outcome in outcomes)
            provider = model.provider
            assert isinstance(provider, GeminiProvider)
            assert provider._lines.values == {}
    assert len(server.asked) == 12


def test_no_environment_variable_sends_requests_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://elsewhere.example")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")

    async def run(provider: GeminiProvider) -> str | None:
        try:
            return provider.client()._api_client._http_options.base_url
        finally:
            await provider.aclose()

    assert (
        asyncio.run(run(GeminiProvider(ModelSettings(), 1.0, {"GEMINI_API_KEY": "k"})))
        == "https://generativelanguage.googleapis.com/"
    )


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
    assert (
        GeminiProvider(ModelSettings(model="gemini-x", base_url=base_url), 1.0, {"GEMINI_API_KEY": "k"}).name
        == name
    )


def _keywords(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [*node, *(word for value in node.values() for word in _keywords(value))]
    return [word for item in node for word in _keywords(item)] if isinstance(node, list) else []


@pytest.mark.parametrize("count", [2**63 - 1, -1, 2**80, "9223372036854775807"])
def test_a_count_of_tokens_that_cannot_be_true_is_unknown(count: Any) -> None:
    reply = outcome_of(says(ACCEPT, usage={"promptTokenCount": count, "candidatesTokenCount": 3}))
    assert isinstance(reply, Reply)
    assert reply.usage == reply.calls[0].usage == Usage()


def test_a_key_that_the_server_repeats_is_masked_in_text_and_model() -> None:
    echo = Decision(reasoning=f"Asked with {LOOPBACK_KEY}.", decision="accept")
    reply = outcome_of(says(echo, model=f"m-{LOOPBACK_KEY}"))
    assert isinstance(reply, Reply)
    assert LOOPBACK_KEY not in repr(reply)
    assert (reply.value.reasoning, reply.model) == ("Asked with [key].", "gemini/m-[key]")
