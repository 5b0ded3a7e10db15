"""Chat completions as they are asked for, on servers that know more or less of OpenAI's parameters."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from qa_pipeline.errors import (
    KeyRejectedError,
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    TransientModelError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.budget.prices import believed
from qa_pipeline.llm.provider import RawReply, seconds_in
from qa_pipeline.llm.replies import CAP_ADVICE, LENGTH_ADVICE, inlined_schema, one_line
from qa_pipeline.records import ReplyModel, Role, Usage
from qa_pipeline.settings.llm import ModelSettings

JsonMode = Literal["schema", "object", "text"]
"""The way JSON is asked for: by a schema; as JSON; in words alone."""

LOCAL_CAPS: dict[Role, int] = {
    "questions": 2048,
    "standalone": 512,
    "validate": 512,
    "guard": 512,
    "answer": 1024,
    "split": 2048,
    "verify": 2048,
    "solve": 1024,
    "recall": 512,
    "compare": 2048,
    "judge": 1024,
    "evaluate": 2048,
}
"""Tokens of a reply of each role on a server of this machine: several times the longest that is useful.

Without a cap a small model that repeats itself runs until the call times out.
"""

_LESSER: dict[JsonMode, JsonMode] = {"schema": "object", "object": "text"}
# what vLLM, llama.cpp, Ollama, LM Studio and gateways before them say of a schema or grammar
_JSON_MODE = re.compile(
    r"response_format|json[ _]?(?:schema|object|mode)|structured output|guided|grammar"
    r"|not supported|unsupported",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(r"system[ _-]?(?:role|message|prompt|instruction)|role.{0,20}\bsystem", re.IGNORECASE)
_DISPENSABLE = frozenset({"temperature", "seed"})
# Keywords that OpenAI's strict mode refuses; the reply is checked against the whole model in any case.
_REFUSED = frozenset({"$defs", "minLength", "maxLength", "default"})
_IN_WORDS = "Reply with one JSON object and nothing around it. It has to fit this JSON schema:"


@dataclass(frozen=True, slots=True)
class Way:
    """The way a server is asked.

    Args:
        mode: how JSON is asked for.
        left_out: what the server does not take, as reasoning models take no temperature; `system` is the role
            of a message.
        cap: its name for the cap on the tokens of a reply; older servers only know `max_tokens`.
    """

    mode: JsonMode
    left_out: frozenset[str] = frozenset()
    cap: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"


@dataclass(frozen=True, slots=True)
class Complaint:
    """The complaint of a server about a request; empty where it says nothing."""

    parameter: str
    code: str
    message: str


def parameters(request: Request[Any], settings: ModelSettings, way: Way) -> dict[str, Any]:
    """Return the body of a call."""
    system = request.system if way.mode == "schema" else _with_schema(request)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": request.prompt}]
    if "system" in way.left_out:
        messages = [{"role": "user", "content": f"{system}\n\n{request.prompt}"}]
    parameters_sent: dict[str, Any] = {
        "model": settings.model,
        "messages": messages,
        "temperature": request.temperature,
        "seed": request.seed,
        "reasoning_effort": settings.thinking_level,
        way.cap: settings.max_output_tokens or (LOCAL_CAPS[request.role] if settings.is_local else None),
        "response_format": _response_format(request.reply_model, way.mode),
    }
    return {
        name: value
        for name, value in parameters_sent.items()
        if value is not None and name not in way.left_out
    }


def lesser_way(way: Way, complaint: Complaint, *, may_change_mode: bool) -> Way | None:
    """Return the way without the cause of the complaint; None if nothing can be left out."""
    parameter = complaint.parameter or _parameter_in(complaint.message)
    if parameter in _DISPENSABLE and parameter not in way.left_out:
        return replace(way, left_out=way.left_out | {parameter})
    if parameter == "max_completion_tokens" and way.cap == "max_completion_tokens":
        return replace(way, cap="max_tokens")
    if "system" not in way.left_out and _NO_SYSTEM.search(complaint.message):
        return replace(way, left_out=way.left_out | {"system"})
    if not may_change_mode or way.mode not in _LESSER:
        return None
    # json_object is refused for want of the word "json" in the messages, which ours always hold
    return replace(way, mode=_LESSER[way.mode]) if blames_json_mode(complaint) else None


def blames_json_mode(complaint: Complaint) -> bool:
    """Return whether a server refuses the way in which JSON is asked for."""
    return "response_format" in complaint.parameter or _JSON_MODE.search(complaint.message) is not None


@cache
def strict_schema(reply_model: type[ReplyModel]) -> dict[str, Any]:
    """Return the reply model's JSON schema for OpenAI's strict mode; callers must not change it.

    Every property is required, and no others are allowed.
    """

    def close(node: dict[str, Any]) -> dict[str, Any]:
        if node.get("type") == "object":
            node |= {"additionalProperties": False, "required": list(node.get("properties", {}))}
        return node

    return inlined_schema(reply_model, _REFUSED, close)


def _response_format(reply_model: type[ReplyModel], mode: JsonMode) -> dict[str, Any] | None:
    if mode == "schema":
        schema = strict_schema(reply_model)
        json_schema = {"name": reply_model.__name__, "strict": True, "schema": schema}
        return {"type": "json_schema", "json_schema": json_schema}
    return {"type": "json_object"} if mode == "object" else None


def _with_schema(request: Request[Any]) -> str:
    reply_model: type[ReplyModel] = request.reply_model
    schema = json.dumps(strict_schema(reply_model), ensure_ascii=False)
    return f"{request.system}\n\n{_IN_WORDS}\n{schema}"


def _parameter_in(message: str) -> str:
    """Return the parameter that a message without a field for it is about."""
    parameters_known = (*_DISPENSABLE, "max_completion_tokens")
    return next((name for name in parameters_known if f"'{name}'" in message or f": {name}" in message), "")


KEY_ADVICE = "set OPENAI_API_KEY to a key that the server of llm.base_url takes"

_KEY_STATUSES = frozenset({401, 403})
_PASSING_STATUSES = frozenset({408, 409, 425, *range(500, 600)})
_WORKED_ON = frozenset({408, 502, 504})
"""Statuses of a server, or one in front of it, that gave up on a request which may have been worked on."""
_AWAY = frozenset({502, 503})
"""Statuses of a server that loads its model, and of one in front of a server that is not there."""
_CROWDED = re.compile(
    r"concurren|simultaneous|parallel|in[- ]flight|pending requests|queue|\bslots?\b|\bbusy\b", re.IGNORECASE
)
"""Refusals because of the number of requests at a time, as llama.cpp, Ollama, vLLM and proxies word them."""
_UNPAID = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG = re.compile(r"maximum context length|context[_ ]length|context size|context window", re.IGNORECASE)


def translate_status(
    status: int, complaint: Complaint, headers: Mapping[str, str], key: str, model: str
) -> ModelError:
    """Return the error of a status, with the server's complaint."""
    summary = f"{status}: {one_line(complaint.message or 'no message', key)}"
    if status in _KEY_STATUSES:
        return KeyRejectedError(f"the server rejects the key ({summary}); {KEY_ADVICE}")
    if complaint.code in _UNPAID:
        return PermanentModelError(f"the account has no credit left ({summary}); see to its billing")
    wait = asked_wait(headers)
    if status == 429 or (status == 503 and _CROWDED.search(complaint.message)):
        return TransientModelError(f"the server limits the rate ({summary})", limited=True, wait_seconds=wait)
    if status in _PASSING_STATUSES:
        return TransientModelError(
            f"the server is not available ({summary})",
            wait_seconds=wait,
            maybe_charged=status in _WORKED_ON,
            is_away=status in _AWAY,
        )
    return _translate_refusal(status, complaint, summary, model)


def read_complaint(body: object) -> Complaint:
    """Return the complaint in an error's body, in any of the forms of servers; nothing is certain."""
    payload = _object(body)
    inner = _object(payload.get("error")) or payload
    code = inner.get("code") if isinstance(inner.get("code"), str) else inner.get("type")
    plain = next((text for text in (body, payload.get("error")) if isinstance(text, str)), "")
    message = inner.get("message") or inner.get("detail") or plain
    return Complaint(str(inner.get("param") or ""), str(code or ""), str(message))


def asked_wait(headers: Mapping[str, str]) -> float:
    """Return the seconds in `retry-after-ms` or `Retry-After`, 0 without either."""
    return seconds_in(headers.get("retry-after-ms", "")) / 1000 or seconds_in(headers.get("retry-after", ""))


def _translate_refusal(status: int, complaint: Complaint, summary: str, model: str) -> ModelError:
    if status == 413 or complaint.code == "context_length_exceeded" or _TOO_LONG.search(complaint.message):
        return OversizedRequestError(f"{summary}; {LENGTH_ADVICE}")
    if status == 404:
        return PermanentModelError(
            f"the server does not know llm.model {model!r} ({summary}); llm.base_url has to end before "
            "/chat/completions, as in http://127.0.0.1:8000/v1"
        )
    advice = "; llm.json_mode says how JSON is asked for" if blames_json_mode(complaint) else ""
    return PermanentModelError(f"the server refuses the request ({summary}){advice}")


def translate_line(error: BaseException, key: str, *, is_local: bool) -> ModelError:
    """Return the error of a failed line; requests sent may have been worked on.

    A reply that a server of this machine does not end in time is asked for once: it would take as long again.
    """
    from aiohttp import ClientConnectorError, ClientError, ConnectionTimeoutError

    # the SDK tells a lost connection and a slow one alike
    while error.__cause__ is not None and not isinstance(error, (ClientError, ModelError, TimeoutError)):
        error = error.__cause__
    if isinstance(error, ModelError):
        return error
    if isinstance(error, (ClientConnectorError, ConnectionTimeoutError)):
        return TransientModelError(f"no connection to the server: {one_line(str(error), key)}", is_away=True)
    if isinstance(error, TimeoutError):
        return TransientModelError(
            "the server did not reply in time (llm.timeout_seconds): allow more, or lower llm.workers or "
            "llm.max_output_tokens",
            maybe_charged=True,
            is_final=is_local,
        )
    if isinstance(error, ClientError):
        lost = f"the connection to the server was lost: {one_line(str(error), key)}"
        return TransientModelError(lost, maybe_charged=True, is_away=True)
    return TransientModelError("the server replied with something that is not JSON", maybe_charged=True)


def read_reply(payload: Any, headers: Mapping[str, str], key: str, model: str) -> RawReply:
    """Return the text of a finished reply.

    Raises:
        UnreadableReplyError: `refused`, `blocked_safety`, `truncated` or `empty`.
        ModelError: the payload is an error in spite of its status, as gateways send it.
    """
    reply = _object(payload)
    if isinstance(reply.get("error"), dict) and not reply.get("choices"):
        status = reply["error"].get("code")
        complaint = read_complaint(reply)
        raise translate_status(status if isinstance(status, int) else 500, complaint, headers, key, model)
    replied, usage = f"openai/{_name(reply.get('model')) or model}", _usage(reply.get("usage"))
    choice = _first(reply.get("choices"))
    message = _object(choice.get("message"))
    text = _text(message.get("content"))
    problem = _problem(choice, message, text)
    if problem:
        raw = text or _text(message.get("refusal"))
        raise UnreadableReplyError(*problem, raw=raw, model=replied, usage=usage)
    return RawReply(text, replied, usage)


def _problem(choice: dict[str, Any], message: dict[str, Any], text: str) -> tuple[str, str] | None:
    if message.get("refusal"):
        return "refused", "the model refuses to reply"
    match choice.get("finish_reason"):
        case "content_filter":
            return "blocked_safety", "reply: content_filter"
        case "length":
            return "truncated", f"reply: length; {CAP_ADVICE}"
    return None if text.strip() else ("empty", "the reply has no text")


def _name(model: Any) -> str:
    return one_line(model, "") if isinstance(model, str) else ""


def _first(choices: Any) -> dict[str, Any]:
    return _object(choices[0]) if isinstance(choices, list) and choices else {}


def _object(node: Any) -> dict[str, Any]:
    return node if isinstance(node, dict) else {}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> Usage:
    counts = _object(usage)
    return believed(
        Usage(
            input_tokens=counts.get("prompt_tokens"),
            output_tokens=counts.get("completion_tokens"),
            cached_tokens=_object(counts.get("prompt_tokens_details")).get("cached_tokens"),
            thought_tokens=_object(counts.get("completion_tokens_details")).get("reasoning_tokens"),
        )
    )
