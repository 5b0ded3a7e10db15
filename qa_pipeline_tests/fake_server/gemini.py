"""Responses and errors in the wire form of generateContent, and Google's errors."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from qa_pipeline.llm.base import FAKE
from qa_pipeline.records import ReplyModel
from qa_pipeline_tests.fake_server.responses import (
    THOUGHT_TOKENS,
    Asked,
    ServerResponse,
    count_tokens,
    json_response,
    wait_text,
)

USAGE = {"promptTokenCount": 11, "candidatesTokenCount": 7, "thoughtsTokenCount": 2}
"""The usage that a scripted reply reports."""

_TYPE = "type.googleapis.com/google.rpc."
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
    usage: Mapping[str, int] = USAGE,
) -> ServerResponse:
    """Reply with a model's value, or with any text."""
    text = reply if isinstance(reply, str) else reply.model_dump_json()
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish, "index": 0}
    return json_response({"candidates": [candidate], "usageMetadata": usage, "modelVersion": model})


def reply(asked: Asked, text: str, *, complete: bool = True) -> ServerResponse:
    """Reply to a request with a text, which the cap on tokens may have cut."""
    prompt, written = asked.tokens, count_tokens(text)
    thoughts = THOUGHT_TOKENS if "thinkingConfig" in asked.config else 0
    usage = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": written,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": prompt + written + thoughts,
    }
    return says(text, finish="STOP" if complete else "MAX_TOKENS", model=FAKE + asked.model, usage=usage)


def fails(
    status: int,
    message: str = "scripted fault",
    *,
    name: str | None = None,
    details: Sequence[Mapping[str, Any]] = (),
    headers: tuple[tuple[str, str], ...] = (),
) -> ServerResponse:
    """Reply with an error status."""
    named = name or _NAMES.get(status, "UNAVAILABLE")
    error = {"code": status, "message": message, "status": named, "details": list(details)}
    return json_response({"error": error}, status, headers)


def rejects_key() -> ServerResponse:
    """Reply as to a wrong key: a 400 whose details tell it apart."""
    info = {"@type": f"{_TYPE}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
    return fails(400, "API key not valid. Please pass a valid API key.", details=[info])


def rejects_token() -> ServerResponse:
    """Reply as Vertex AI does to a missing or wrong access token."""
    return fails(401, "Request had invalid authentication credentials. Expected OAuth 2 access token.")


def lacks_model(model: str) -> ServerResponse:
    """Reply as to an unknown model."""
    return fails(404, f"models/{model} is not found for API version v1, or is not supported.")


def is_too_long(tokens: int, limit: int) -> ServerResponse:
    """Reply as to a prompt that is longer than the model reads."""
    message = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit})."
    return fails(400, message)


def limits_rate(seconds: float, *, as_header: bool = False) -> ServerResponse:
    """Ask to wait, in the error's details or in a Retry-After header."""
    if as_header:
        return fails(429, "Quota exceeded.", headers=(("Retry-After", wait_text(seconds)),))
    info = {"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{wait_text(seconds)}s"}
    return fails(429, "Quota exceeded.", details=[info])


def camel_cased(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body with its own names, and those of its generationConfig, in camel case.

    Google reads both spellings of a field, and google-genai sends both.
    """
    spelled = {_camel_case(name): value for name, value in body.items()}
    config = spelled.get("generationConfig")
    if isinstance(config, dict):
        spelled["generationConfig"] = {_camel_case(name): value for name, value in config.items()}
    return spelled


@cache
def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
