"""Replies and errors as Gemini writes them.

What belongs here: plays for a script, in the wire form of generateContent and of Google's errors. What does
not: when they are played, and reading requests (`gemini_requests.py`).
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from qa_pipeline.llm.fake_server.play import ServerPlay
from qa_pipeline.records import ReplyModel

USAGE = {"promptTokenCount": 11, "candidatesTokenCount": 7, "thoughtsTokenCount": 2}
"""What a scripted reply says it took."""

_TYPE = "type.googleapis.com/google.rpc."
_SERVICE = {"service": "generativelanguage.googleapis.com"}
_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def says(
    reply: ReplyModel | str,
    *,
    finish: str = "STOP",
    model: str = "gemini-loopback",
    usage: Mapping[str, int] | None = None,
) -> ServerPlay:
    """Reply with a model's value, or with any text."""
    text = reply if isinstance(reply, str) else reply.model_dump_json()
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish, "index": 0}
    return _ok([candidate], USAGE if usage is None else usage, model)


def stops(finish: str, *, usage: Mapping[str, int] | None = None) -> ServerPlay:
    """Reply without text, for a finish reason such as SAFETY or RECITATION."""
    return _ok([{"finishReason": finish, "index": 0}], usage)


def blocks_prompt(reason: str = "SAFETY", *, usage: Mapping[str, int] | None = None) -> ServerPlay:
    """Refuse to read the prompt."""
    body: dict[str, Any] = {"promptFeedback": {"blockReason": reason}}
    return ServerPlay(200, _json(body | ({"usageMetadata": usage} if usage else {})))


def no_candidates() -> ServerPlay:
    """Reply with nothing in it."""
    return _ok([], None)


def fails(
    status: int,
    message: str = "scripted fault",
    *,
    name: str | None = None,
    details: Sequence[Mapping[str, Any]] = (),
    headers: tuple[tuple[str, str], ...] = (),
) -> ServerPlay:
    """Reply with an error status."""
    error = {
        "code": status,
        "message": message,
        "status": name or _NAMES.get(status, "UNAVAILABLE"),
        "details": list(details),
    }
    return ServerPlay(status, _json({"error": error}), headers)


def lacks_key() -> ServerPlay:
    """Reply as to a request without a key."""
    return fails(
        403,
        "Method doesn't allow unregistered callers (callers without established identity). Please use API "
        "Key or other form of API consumer identity to call this API.",
    )


def rejects_key() -> ServerPlay:
    """Reply as to a wrong key, which is a plain 400 told apart by its details."""
    info = {
        "@type": f"{_TYPE}ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
        "metadata": _SERVICE,
    }
    return fails(400, "API key not valid. Please pass a valid API key.", details=[info])


def rejects_token() -> ServerPlay:
    """Reply as Vertex AI does to a missing or wrong access token."""
    info = {
        "@type": f"{_TYPE}ErrorInfo",
        "reason": "ACCESS_TOKEN_TYPE_UNSUPPORTED",
        "domain": "googleapis.com",
        "metadata": {"service": "aiplatform.googleapis.com"},
    }
    message = (
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or "
        "other valid authentication credential."
    )
    return fails(401, message, details=[info])


def refuses_field(message: str, field: str) -> ServerPlay:
    """Reply as to a request that holds something Google does not know."""
    violation = {"field": field, "description": message} if field else {"description": message}
    return fails(400, message, details=[{"@type": f"{_TYPE}BadRequest", "fieldViolations": [violation]}])


def limits_rate(seconds: float, *, as_header: bool = False) -> ServerPlay:
    """Ask to wait, in the error's details or in a Retry-After header."""
    if as_header:
        return fails(429, "Quota exceeded.", headers=(("Retry-After", f"{seconds:g}"),))
    return fails(429, "Quota exceeded.", details=[_retry_info(seconds)])


def exceeds_quota(seconds: float) -> ServerPlay:
    """Refuse a request over the quota, and say when the next would be let in."""
    failure = {"@type": f"{_TYPE}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerMinute"}]}
    message = "You exceeded your current quota, please check your plan and billing details."
    return fails(429, message, details=[failure, _retry_info(seconds)])


def _retry_info(seconds: float) -> dict[str, str]:
    return {"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{math.ceil(seconds * 1000) / 1000:g}s"}


def _ok(
    candidates: list[dict[str, Any]], usage: Mapping[str, int] | None, model: str | None = None
) -> ServerPlay:
    body: dict[str, Any] = {"candidates": candidates}
    if usage:
        body["usageMetadata"] = usage
    if model:
        body["modelVersion"] = model
    return ServerPlay(200, _json(body))


def _json(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()
