"""Responses and errors in the wire form of OpenAI's chat completions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qa_pipeline.llm.base import FAKE
from qa_pipeline.records import ReplyModel
from qa_pipeline_tests.fake_server.replies import strict_complaint
from qa_pipeline_tests.fake_server.responses import (
    THOUGHT_TOKENS,
    Asked,
    ServerResponse,
    count_tokens,
    json_response,
    wait_text,
)

USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 9,
    "total_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
"""The usage that a scripted reply reports."""


def says(
    reply: ReplyModel | str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    model: str = "chat-loopback",
    usage: Mapping[str, Any] | None = USAGE,
) -> ServerResponse:
    """Reply with a model's value, with any text, with none, or with a refusal."""
    text = reply.model_dump_json() if isinstance(reply, ReplyModel) else reply
    message = {"role": "assistant", "content": text, "refusal": refusal}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return _completion([choice], model, usage)


def _completion(choices: list[Any], model: str, usage: Mapping[str, Any] | None) -> ServerResponse:
    body = {"id": "chatcmpl-loopback", "object": "chat.completion", "created": 0, "model": model}
    return json_response({**body, "choices": choices, **({"usage": usage} if usage else {})})


def reply(asked: Asked, text: str, *, complete: bool = True) -> ServerResponse:
    """Reply to a request with a text, which the cap on tokens may have cut."""
    thoughts = THOUGHT_TOKENS if "reasoning_effort" in asked.body else 0
    prompt, written = asked.tokens, count_tokens(text) + thoughts
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": thoughts},
    }
    return says(text, finish="stop" if complete else "length", model=FAKE + asked.model, usage=usage)


def models(names: Sequence[str]) -> ServerResponse:
    """List the models."""
    return json_response({"object": "list", "data": [_model(name) for name in names]})


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "qa-pipeline-fake"}


def fails(
    status: int,
    message: str = "scripted fault",
    *,
    code: str | None = None,
    param: str | None = None,
    kind: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> ServerResponse:
    """Reply with an error status."""
    kind = kind or ("server_error" if status >= 500 else "invalid_request_error")
    error = {"message": message, "type": kind, "param": param, "code": code}
    return json_response({"error": error}, status, headers)


def rejects_key() -> ServerResponse:
    """Reply as to a wrong key."""
    return fails(401, "Incorrect API key provided.", code="invalid_api_key")


def lacks_model(model: str) -> ServerResponse:
    """Reply as to an unknown model."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return fails(404, message, code="model_not_found")


def is_too_long(tokens: int, limit: int) -> ServerResponse:
    """Reply as to a prompt that is longer than the model reads."""
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
        f"{tokens} tokens. Please reduce the length of the messages."
    )
    return fails(400, message, code="context_length_exceeded", param="messages")


def limits_rate(seconds: float) -> ServerResponse:
    """Ask to wait, in Retry-After."""
    wait = ("Retry-After", wait_text(seconds))
    message = "Rate limit reached for requests"
    return fails(429, message, code="rate_limit_exceeded", kind="requests", headers=(wait,))


@dataclass(frozen=True, slots=True)
class ChatAbilities:
    """What the server can do of what OpenAI's newest can.

    Args:
        json_schema: whether a reply can be held to a schema.
        json_object: whether a reply can be held to JSON.
        lacking: parameters that it refuses, as reasoning models do temperature and old servers seed.
    """

    json_schema: bool = True
    json_object: bool = True
    lacking: frozenset[str] = frozenset()


def complaint(asked: Asked, abilities: ChatAbilities) -> ServerResponse | None:
    """Return the error for a request that the server does not accept; None if it accepts it."""
    lacking = [name for name in asked.body if name in abilities.lacking]
    if lacking:
        message = f"Unsupported parameter: '{lacking[0]}' is not supported with this model."
        return fails(400, message, code="unsupported_parameter", param=lacking[0])
    wanted = asked.body.get("response_format")
    return _format_complaint(asked, wanted, abilities) if wanted else None


def _format_complaint(
    asked: Asked, wanted: dict[str, Any], abilities: ChatAbilities
) -> ServerResponse | None:
    if not (abilities.json_schema or abilities.json_object):
        extra = "Extra inputs are not permitted: response_format"
        return fails(400, extra, code="400", kind="BadRequestError")
    kind = wanted["type"]
    message: str | None = None
    if kind == "json_object" and not abilities.json_object:
        message = "'response_format.type' must be 'text' or 'json_schema'"
    elif kind == "json_object" and "json" not in (asked.system + asked.prompt).lower():
        message = "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'."
    elif kind == "json_schema" and not abilities.json_schema:
        message = "'response_format' of type 'json_schema' is not supported with this model."
    elif kind == "json_schema" and wanted["json_schema"].get("strict"):
        found = strict_complaint(wanted["json_schema"]["schema"])
        message = found and f"Invalid schema for response_format '{wanted['json_schema']['name']}': {found}"
    return fails(400, message, param="response_format") if message else None
