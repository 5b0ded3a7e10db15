"""Gemini and Vertex AI over google-genai: what the server takes, says and refuses."""

import json
from typing import Any

import pytest
from google.genai import Client
from google.genai.errors import APIError, ClientError
from google.genai.types import (
    Content,
    GenerateContentConfig,
    GenerateContentResponse,
    SafetySetting,
    Schema,
    ThinkingConfig,
    Type,
)
from google.genai.types import Part as TextPart
from pydantic import BaseModel

from qa_pipeline.records import VerifyReply
from qa_pipeline_tests.fake_server.clients import (
    CLAIM,
    MODEL,
    config,
    generate,
    prompt,
    with_gemini,
    with_vertex,
)
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.support.servers import GeminiServer


def test_a_sensible_reply_fits_the_schema_and_counts_its_tokens_honestly() -> None:
    with GeminiServer() as server:
        reply = generate(server)
    value = VerifyReply.model_validate_json(reply.text or "")
    assert value.verdicts[0].decision == "accept"
    usage = reply.usage_metadata
    assert usage is not None
    written = -(-len(reply.text or "") // 4)
    counted = (usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count)
    system = str(config().system_instruction)
    read = -(-len(system) // 4) - (-len(prompt()) // 4)
    assert counted == (read, written, read + written)
    assert reply.model_version == f"fake-{MODEL}"


def test_tokens_of_a_prompt_are_counted_as_a_reply_counts_them() -> None:
    with GeminiServer() as server:
        counted = with_gemini(server, lambda c: c.aio.models.count_tokens(model=MODEL, contents="x" * 41))
    assert counted.total_tokens == 11


def test_vertex_ai_is_asked_at_its_own_address_with_a_token() -> None:
    async def use(client: Client) -> Any:
        return await client.aio.models.generate_content(model=MODEL, contents=prompt(), config=config())

    with GeminiServer() as server:
        reply = with_vertex(server, use)
        assert '"accept"' in reply.text
        with pytest.raises(ClientError) as caught:
            with_vertex(server, use, token="another")
    assert (caught.value.code, caught.value.status) == (401, "UNAUTHENTICATED")
    assert len(server.asked) == 1


def test_every_option_that_we_send_is_known() -> None:
    safety = SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")
    with GeminiServer() as server:
        reply = generate(
            server,
            seed=1,
            max_output_tokens=500,
            safety_settings=[safety],
            thinking_config=ThinkingConfig(thinking_budget=3, include_thoughts=False),
        )
    assert reply.usage_metadata is not None
    assert reply.usage_metadata.thoughts_token_count == 16


def test_a_cap_on_the_reply_cuts_it() -> None:
    with GeminiServer() as server:
        reply = generate(server, max_output_tokens=3)
    assert reply.candidates is not None
    assert reply.candidates[0].finish_reason is not None
    assert reply.candidates[0].finish_reason.name == "MAX_TOKENS"
    assert len(reply.text or "") == 12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temperature": 3.0}, "temperature must be in the range"),
        ({"response_mime_type": "text/plain"}, "needs response_mime_type application/json"),
        (
            {"response_json_schema": {"type": "object", "properties": {"a": {"minLength": 1}}}},
            '"minLength" is not supported',
        ),
    ],
)
def test_an_option_gemini_does_not_take_is_a_400_that_names_it(changes: dict[str, Any], message: str) -> None:
    with GeminiServer() as server, pytest.raises(ClientError, match=message) as caught:
        generate(server, **changes)
    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    assert server.asked == []
    assert server.stats.invalid == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"contents": [{"parts": [{"text": "hej"}]}], "temprature": 0}',
            'Unknown name "temprature": Cannot',
        ),
        (
            b'{"contents": [{"parts": [{"text": "hej"}]}], "generationConfig": {"x": 0}}',
            'Unknown name "x": Cannot find field.',
        ),
        (b'{"contents": []}', "contents is not specified"),
        (b"{", "Invalid JSON payload received"),
        (b"[1]", "Invalid JSON payload received"),
    ],
)
def test_a_body_google_cannot_read_is_a_400_that_says_where(body: bytes, message: str) -> None:
    server = GeminiServer()
    path = f"/v1/models/{MODEL}:generateContent"
    response = server.service.answer("POST", path, {"x-goog-api-key": str(server.key)}, body)
    error = json.loads(response.body or b"")["error"]
    assert (response.status, error["status"]) == (400, "INVALID_ARGUMENT")
    assert message in error["message"]


def test_both_spellings_of_a_field_are_read_as_google_reads_them() -> None:
    server = GeminiServer()
    path = f"/v1beta/models/{MODEL}:generateContent"
    body = {
        "contents": [{"parts": [{"text": "hej"}]}],
        "system_instruction": {"parts": [{"text": "Check."}]},
        "generation_config": {"max_output_tokens": 4},
    }
    server.service.answer("POST", path, {"x-goog-api-key": str(server.key)}, json.dumps(body).encode())
    (asked,) = server.asked
    assert (asked.system, asked.most_tokens) == ("Check.", 4)


def test_a_prompt_longer_than_the_model_reads_is_refused_with_both_numbers() -> None:
    with GeminiServer(plan=ServerPlan(models={MODEL: 20})) as server, pytest.raises(ClientError) as caught:
        generate(server, "x" * 101, system_instruction="")
    assert caught.value.message == (
        "The input token count (26) exceeds the maximum number of tokens allowed (20)."
    )


def test_a_model_nobody_knows_is_not_found() -> None:
    with GeminiServer(plan=ServerPlan(models={"other": 20})) as server, pytest.raises(ClientError) as caught:
        generate(server)
    assert (caught.value.code, caught.value.status) == (404, "NOT_FOUND")
    assert "models/gemini-x is not found" in str(caught.value.message)


def test_a_wrong_key_is_a_400_distinguished_by_its_details() -> None:
    async def use(client: Client) -> Any:
        return await client.aio.models.generate_content(model=MODEL, contents=CLAIM)

    with GeminiServer() as server, pytest.raises(ClientError) as caught:
        with_gemini(server, use, key="another")
    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    assert caught.value.details["error"]["details"][0]["reason"] == "API_KEY_INVALID"


def test_a_path_that_is_none_is_not_found() -> None:
    with GeminiServer() as server, pytest.raises(APIError) as caught:
        with_gemini(server, lambda c: c.aio.models.embed_content(model=MODEL, contents="hej"))
    assert caught.value.code == 404


class Part(BaseModel):
    """What an own program asks for."""

    name: str
    tags: list[str]
    size: int | None = None


OWN = Schema(
    type=Type.OBJECT,
    properties={
        "minimum_age": Schema(type=Type.STRING, min_length=2, nullable=True),
        "numbers": Schema(type=Type.ARRAY, min_items=2, items=Schema(type=Type.INTEGER)),
    },
    required=["minimum_age", "numbers"],
)


@pytest.mark.parametrize(
    ("schema", "parsed"),
    [
        (Part, Part(name="text", tags=[])),
        (list[Part], []),
        (OWN, {"minimum_age": "text", "numbers": [0, 0]}),
    ],
)
def test_a_response_schema_of_the_client_is_held_to(schema: Any, parsed: Any) -> None:
    asked = GenerateContentConfig(response_mime_type="application/json", response_schema=schema)
    with GeminiServer() as server:
        reply = with_gemini(
            server, lambda c: c.aio.models.generate_content(model=MODEL, contents="x", config=asked)
        )
    assert reply.parsed == parsed


def test_a_stream_holds_the_reply_in_parts() -> None:
    async def read(client: Client) -> list[GenerateContentResponse]:
        models = client.aio.models
        stream = await models.generate_content_stream(model=MODEL, contents=prompt(), config=config())
        return [one async for one in stream]

    with GeminiServer() as server:
        events = with_gemini(server, read)
        plain = generate(server)
    assert "".join(one.text or "" for one in events) == plain.text
    assert (len(events), events[-1].usage_metadata) == (2, plain.usage_metadata)


@pytest.mark.parametrize(
    ("name", "value"),
    [("top_p", 5.0), ("candidate_count", 20), ("max_output_tokens", 0), ("top_k", -1.0)],
)
def test_a_parameter_out_of_its_range_is_a_400(name: str, value: float) -> None:
    asked = config(**{name: value})
    with GeminiServer() as server, pytest.raises(ClientError, match="must be in the range") as caught:
        with_gemini(
            server,
            lambda c: c.aio.models.generate_content(model=MODEL, contents="x", config=asked),
        )
    assert caught.value.code == 400


def test_a_role_gemini_does_not_know_is_a_400() -> None:
    turn = Content(role="wizard", parts=[TextPart(text="x")])
    with GeminiServer() as server, pytest.raises(ClientError, match="valid role"):
        with_gemini(server, lambda c: c.aio.models.generate_content(model=MODEL, contents=[turn]))


def test_models_are_listed_and_an_unknown_one_is_not_there() -> None:
    async def read(client: Client) -> list[str | None]:
        listed = [one.name async for one in await client.aio.models.list()]
        return [*listed, (await client.aio.models.get(model="a")).name]

    with GeminiServer(plan=ServerPlan(models={"a": 10, "b": 10})) as server:
        assert with_gemini(server, read) == ["models/a", "models/b", "models/a"]
        with pytest.raises(ClientError, match="not found"):
            with_gemini(server, lambda client: client.aio.models.get(model="c"))
