"""What chat completions take as a request, and how OpenAI and its lookalikes complain about anything else.

What belongs here: known parameters, rules about their values, and what a lesser server lacks. What does not:
keys, models and quotas (`service.py`), strict schemas (`schemas.py`).
"""

from dataclasses import dataclass
from typing import Any

from qa_pipeline.llm.fake_server.chat_plays import fails
from qa_pipeline.llm.fake_server.play import Asked, ServerPlay
from qa_pipeline.llm.fake_server.schemas import strict_complaint

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
