"""The real client of Gemini against a loopback server: no test here fakes anything of google-genai."""

from typing import Any

import pytest
from google.auth.exceptions import DefaultCredentialsError
from google.oauth2.credentials import Credentials

from qa_pipeline.errors import KeyRejectedError, UnreadableReplyError
from qa_pipeline.llm.budget import price_by_name
from qa_pipeline.llm.gemini import GeminiProvider
from qa_pipeline.llm.replies import sent_schema
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline_tests.fake_server.gemini import says
from qa_pipeline_tests.fake_server.responses import ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.requests import ACCEPT, Decision, claim
from qa_pipeline_tests.llm.serving import error_of, provider_for, send
from qa_pipeline_tests.support.replies import blocks_prompt, no_candidates, stops
from qa_pipeline_tests.support.servers import GeminiServer


def test_the_request_arrives_as_it_was_asked() -> None:
    with GeminiServer([says(ACCEPT)]) as server:
        send(provider_for(server, model="gemini-x"), claim("Är det 25 dagar?", temperature=0.3))
    (asked,) = server.asked
    assert (asked.model, asked.system, asked.prompt) == ("gemini-x", "Check.", "Är det 25 dagar?")
    assert asked.config == {
        "temperature": 0.3,
        "seed": 0,
        "responseMimeType": "application/json",
        "responseJsonSchema": sent_schema(Decision),
    }


@pytest.mark.parametrize(
    ("play", "reason", "detail"),
    [
        (stops("RECITATION"), "blocked_recitation", "reply: RECITATION"),
        (stops("PROHIBITED_CONTENT"), "blocked_safety", "reply: PROHIBITED_CONTENT"),
        (stops("LANGUAGE"), "blocked", "reply: LANGUAGE"),
        (blocks_prompt("BLOCKLIST"), "blocked_safety", "prompt: BLOCKLIST"),
        (says(ACCEPT, finish="MAX_TOKENS"), "truncated", "reply: MAX_TOKENS"),
        (no_candidates(), "empty", "candidate"),
        (stops("STOP"), "empty", "text"),
        (says(" "), "empty", "text"),
    ],
)
def test_a_reply_that_did_not_finish_is_a_typed_error(play: ServerResponse, reason: str, detail: str) -> None:
    error = error_of(GeminiServer, play)
    assert isinstance(error, UnreadableReplyError)
    assert error.reason == reason
    assert detail in error.detail


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"thinking_level": "low"}, {"thinkingConfig": {"thinking_level": "LOW"}}),
        ({"max_output_tokens": 99}, {"maxOutputTokens": 99}),
    ],
)
def test_what_is_fixed_about_asking_is_sent_and_is_in_the_name(
    settings: dict[str, Any], sent: dict[str, Any]
) -> None:
    with GeminiServer([says(ACCEPT)]) as server:
        provider = provider_for(server, **settings)
        send(provider)
    (asked,) = server.asked
    assert {name: asked.config[name] for name in sent} == sent
    ((name, value),) = settings.items()
    assert provider.name.endswith(f"?{name}={value}")


def test_vertex_ai_is_asked_for_the_project_with_a_token_and_no_key() -> None:
    with GeminiServer([says(ACCEPT)]) as server:
        settings = ModelSettings(model="gemini-x", base_url=server.url, vertex_project="p1")
        token = Credentials(token=LOOPBACK_KEY)  # type: ignore[no-untyped-call]  # the library has no types
        provider = GeminiProvider(settings, 5.0, {}, credentials=token)
        (reply,) = send(provider)
    assert reply.text == ACCEPT.model_dump_json()
    assert [asked.model for asked in server.asked] == ["gemini-x"]
    assert provider.name.endswith("/p1")


def test_vertex_ai_without_credentials_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(scopes: list[str]) -> None:
        raise DefaultCredentialsError

    monkeypatch.setattr("google.auth.default", refuse)
    with pytest.raises(KeyRejectedError, match="gcloud auth application-default login"):
        GeminiProvider(ModelSettings(vertex_project="p1"), 5.0, {})


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "gemini/gemini-2.5-flash"),
        ({"base_url": "https://proxy.example/x/"}, "gemini/gemini-2.5-flash@proxy.example/x"),
        ({"base_url": "http://user:secret@localhost:8080"}, "gemini/gemini-2.5-flash@localhost:8080"),
        (
            {"vertex_project": "p1", "vertex_location": "europe-north1"},
            "gemini/gemini-2.5-flash@europe-north1-aiplatform.googleapis.com/p1",
        ),
    ],
)
def test_the_name_tells_models_and_servers_apart_and_holds_no_password(
    settings: dict[str, Any], name: str
) -> None:
    made = ModelSettings(model="gemini-2.5-flash", **settings)
    token = Credentials(token="t")  # type: ignore[no-untyped-call]
    provider = GeminiProvider(made, 1.0, {"GOOGLE_API_KEY": "k"}, credentials=token)
    assert provider.name == name
    assert (price_by_name(name) is None) == ("base_url" in settings)


def test_no_environment_variable_sends_requests_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with GeminiServer([]) as elsewhere, GeminiServer([says(ACCEPT)]) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", elsewhere.url)
        monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
        send(provider_for(server))
    assert len(server.asked) == 1
