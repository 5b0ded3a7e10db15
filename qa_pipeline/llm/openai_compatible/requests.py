"""Chat completions as they are asked for, on servers that know more or less of OpenAI's parameters.

What belongs here: the parameters of a call, the schema OpenAI's strict mode takes, and what to do without
where a server refuses something. What does not: sending (`openai_compatible.py`), and what errors mean
(`openai_errors.py`).
"""

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from qa_pipeline.llm.base import Request
from qa_pipeline.llm.reply_schemas import inlined_schema
from qa_pipeline.records import ReplyModel
from qa_pipeline.settings.models import ModelSettings

JsonMode = Literal["schema", "object", "text"]
"""How JSON is asked for: held to a schema; held to JSON; by words alone."""

_LESSER: dict[JsonMode, JsonMode] = {"schema": "object", "object": "text"}
_DISPENSABLE = frozenset({"temperature", "seed"})
# Keywords that OpenAI's strict mode refuses; the reply is checked against the whole model in any case.
_REFUSED = frozenset({"$defs", "minLength", "maxLength", "default"})
_IN_WORDS = "Reply with one JSON object and nothing around it. It has to fit this JSON schema:"


@dataclass(frozen=True, slots=True)
class Way:
    """How a server is asked.

    Args:
        mode: how JSON is asked for.
        left_out: parameters that the server does not take, as reasoning models take no temperature.
        cap: its name for the cap on the tokens of a reply; older servers only know `max_tokens`.
    """

    mode: JsonMode
    left_out: frozenset[str] = frozenset()
    cap: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a server says of a request it does not take; empty where it does not say."""

    parameter: str
    code: str
    message: str


def parameters(request: Request[Any], settings: ModelSettings, way: Way) -> dict[str, Any]:
    """The body of a call."""
    system = request.system if way.mode == "schema" else _with_schema(request)
    wanted: dict[str, Any] = {
        "model": settings.model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": request.prompt}],
        "temperature": request.temperature,
        "seed": request.seed,
        "reasoning_effort": settings.thinking_level,
        way.cap: settings.max_output_tokens,
        "response_format": _response_format(request.reply_model, way.mode),
    }
    return {name: value for name, value in wanted.items() if value is not None and name not in way.left_out}


def lesser_way(way: Way, complaint: Complaint, *, may_change_mode: bool) -> Way | None:
    """The way without what the server complains of; None if nothing can be done without."""
    named = complaint.parameter or _named(complaint.message)
    if named in _DISPENSABLE and named not in way.left_out:
        return replace(way, left_out=way.left_out | {named})
    if named == "max_completion_tokens" and way.cap == "max_completion_tokens":
        return replace(way, cap="max_tokens")
    if not may_change_mode or way.mode not in _LESSER:
        return None
    blamed = "response_format" in named or "response_format" in complaint.message
    # json_object is refused for want of the word "json" in the messages, which ours always hold
    return replace(way, mode=_LESSER[way.mode]) if blamed else None


@cache
def strict_schema(reply_model: type[ReplyModel]) -> dict[str, Any]:
    """The reply model's JSON schema as OpenAI's strict mode takes it; callers must not change it.

    Every property is required, and no others are allowed.
    """

    def close(node: dict[str, Any]) -> dict[str, Any]:
        if node.get("type") == "object":
            node |= {"additionalProperties": False, "required": list(node.get("properties", {}))}
        return node

    return inlined_schema(reply_model, _REFUSED, close)


def _response_format(reply_model: type[ReplyModel], mode: JsonMode) -> dict[str, Any] | None:
    if mode == "schema":
        held = {"name": reply_model.__name__, "strict": True, "schema": strict_schema(reply_model)}
        return {"type": "json_schema", "json_schema": held}
    return {"type": "json_object"} if mode == "object" else None


def _with_schema(request: Request[Any]) -> str:
    reply_model: type[ReplyModel] = request.reply_model
    schema = json.dumps(strict_schema(reply_model), ensure_ascii=False)
    return f"{request.system}\n\n{_IN_WORDS}\n{schema}"


def _named(message: str) -> str:
    """The parameter that a message without a field for it speaks of."""
    known = (*_DISPENSABLE, "max_completion_tokens")
    return next((name for name in known if f"'{name}'" in message or f": {name}" in message), "")
