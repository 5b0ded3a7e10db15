"""Replies and errors in the wire form of OpenAI's chat completions."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qa_pipeline.records import ReplyModel
from qa_pipeline.testing.fake_server.replies import strict_complaint
from qa_pipeline.testing.fake_server.responses import Asked, ServerPlay

USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 9,
    "total_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
"""What a scripted reply says it took."""


def says(
    reply: ReplyModel | str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    model: str = "chat-loopback",
    usage: Mapping[str, Any] | None = USAGE,
) -> ServerPlay:
    """Reply with a model's value, with any text, with none, or with a refusal."""
    text = reply.model_dump_json() if isinstance(reply, ReplyModel) else reply
    message = {"role": "assistant", "content": text, "refusal": refusal}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return _ok([choice], model, usage)


def refuses(text: str = "I'm sorry, I can't help with that.", **changes: Any) -> ServerPlay:
    """Reply with a refusal where the answer would stand."""
    return says(None, refusal=text, **changes)


def no_choices() -> ServerPlay:
    """Reply with nothing in it."""
    return _ok([], "chat-loopback", None)


def fails(
    status: int,
    message: str = "scripted fault",
    *,
    code: str | None = None,
    param: str | None = None,
    kind: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> ServerPlay:
    """Reply with an error status."""
    kind = kind or ("server_error" if status >= 500 else "invalid_request_error")
    error = {"message": message, "type": kind, "param": param, "code": code}
    return ServerPlay(status, json.dumps({"error": error}).encode(), headers)


def lacks_key() -> ServerPlay:
    """Reply as to a request without a key."""
    return fails(401, "You didn't provide an API key.", code="invalid_api_key")


def rejects_key() -> ServerPlay:
    """Reply as to a wrong key."""
    return fails(401, "Incorrect API key provided.", code="invalid_api_key")


def lacks_model(model: str) -> ServerPlay:
    """Reply as to a model nobody knows."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return fails(404, message, code="model_not_found")


def limits_rate(seconds: float, *, as_reset: bool = False) -> ServerPlay:
    """Ask to wait, in Retry-After or in the header that says when the limit is reset."""
    wait = ("x-ratelimit-reset-requests", _span(seconds)) if as_reset else ("Retry-After", f"{seconds:g}")
    return fails(
        429, "Rate limit reached for requests", code="rate_limit_exceeded", kind="requests", headers=(wait,)
    )


def exceeds_quota(seconds: float) -> ServerPlay:
    """Refuse a request over the quota, and say when the next would be let in."""
    milliseconds = math.ceil(seconds * 1000)
    headers = (
        ("retry-after-ms", str(milliseconds)),
        ("retry-after", str(math.ceil(seconds))),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", _span(milliseconds / 1000)),
    )
    message = "Rate limit reached for requests"
    return fails(429, message, code="rate_limit_exceeded", kind="requests", headers=headers)


def lacks_credit() -> ServerPlay:
    """Reply as to an account without money, which no waiting mends."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return fails(429, message, code="insufficient_quota", kind="insufficient_quota")


def _span(seconds: float) -> str:
    """A duration as OpenAI's headers write it: 6m0s, 1s, 20ms."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:g}s"


def _ok(choices: list[dict[str, Any]], model: str, usage: Mapping[str, Any] | None) -> ServerPlay:
    body: dict[str, Any] = {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": choices,
    }
    return ServerPlay(200, json.dumps(body | ({"usage": usage} if usage else {})).encode())


_PARAMETERS = (
    "messages model audio frequency_penalty function_call functions logit_bias logprobs "
    "max_completion_tokens max_tokens metadata modalities n parallel_tool_calls prediction presence_penalty "
    "prompt_cache_key reasoning_effort response_format safety_identifier seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity"
)
_KNOWN = frozenset(_PARAMETERS.split())
_RANGES = (("temperature", 0, 2), ("max_tokens", 1, 2**31), ("max_completion_tokens", 1, 2**31))
_ROLES = ("developer", "system", "user", "assistant", "tool", "function")


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


def chat_complaint(body: Any, abilities: ChatAbilities) -> ServerPlay | None:
    """What the server says of a request; None if it takes it."""
    if not isinstance(body, dict):
        return fails(400, "We could not parse the JSON body of your request.")
    return (
        _parameter_complaint(body, abilities)
        or _message_complaint(body)
        or _format_complaint(body, abilities)
    )


def _parameter_complaint(body: dict[str, Any], abilities: ChatAbilities) -> ServerPlay | None:
    for name in body:
        if name not in _KNOWN:
            return fails(400, f"Unknown parameter: '{name}'.", code="unknown_parameter", param=name)
        if name in abilities.lacking:
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            return fails(400, message, code="unsupported_parameter", param=name)
    if not isinstance(body.get("model"), str):
        return fails(400, "you must provide a model parameter")
    for name, least, most in _RANGES:
        value = body.get(name)
        if value is not None and not (isinstance(value, (int, float)) and least <= value <= most):
            return fails(400, f"Invalid '{name}': {value!r}.", code="invalid_value", param=name)
    return None


def _message_complaint(body: dict[str, Any]) -> ServerPlay | None:
    messages = body.get("messages")
    if not messages or not isinstance(messages, list):
        return fails(400, "Invalid 'messages': empty array.", code="empty_array", param="messages")
    for number, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in _ROLES:
            return fails(400, "Invalid value.", code="invalid_value", param=f"messages[{number}].role")
        if not _is_content(message.get("content")):
            return fails(400, "Invalid type.", code="invalid_type", param=f"messages[{number}].content")
    return None


def _is_content(content: Any) -> bool:
    """Text, nothing, or parts that may hold text."""
    if isinstance(content, list):
        return all(isinstance(part, dict) and isinstance(part.get("text", ""), str) for part in content)
    return content is None or isinstance(content, str)


def _format_complaint(body: dict[str, Any], abilities: ChatAbilities) -> ServerPlay | None:
    wanted = body.get("response_format")
    if wanted is None:
        return None
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if not (abilities.json_schema or abilities.json_object):
        return fails(
            400, "Extra inputs are not permitted: response_format", code="400", kind="BadRequestError"
        )
    if kind == "json_schema" and not abilities.json_schema:
        message = (
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
        )
        return fails(400, message, param="response_format")
    if kind == "json_object":
        return _object_complaint(body, abilities)
    if kind == "json_schema":
        return _schema_complaint(wanted.get("json_schema"))
    return None if kind == "text" else fails(400, "Invalid value.", param="response_format.type")


def _object_complaint(body: dict[str, Any], abilities: ChatAbilities) -> ServerPlay | None:
    if not abilities.json_object:
        return fails(400, "'response_format.type' must be 'text' or 'json_schema'", param="response_format")
    asked = Asked("", body, "chat")
    if "json" not in (asked.system + asked.prompt).lower():
        message = (
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type "
            "'json_object'."
        )
        return fails(400, message, param="messages")
    return None


def _schema_complaint(given: Any) -> ServerPlay | None:
    name = given.get("name") if isinstance(given, dict) else None
    if not name:
        message = "Missing required parameter: 'response_format.json_schema.name'."
        return fails(
            400, message, code="missing_required_parameter", param="response_format.json_schema.name"
        )
    complaint = strict_complaint(given.get("schema")) if given.get("strict") else None
    if complaint:
        return fails(
            400, f"Invalid schema for response_format '{name}': {complaint}", param="response_format"
        )
    return None
