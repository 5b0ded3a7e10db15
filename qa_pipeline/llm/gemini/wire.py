"""What is sent to Gemini: one request as the client's configuration, and schemas in the subset it reads."""

import re
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

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
from qa_pipeline.llm.replies import CAP_ADVICE, LENGTH_ADVICE, inlined_schema, mask_key, one_line
from qa_pipeline.records import ReplyModel, Usage
from qa_pipeline.settings.llm import ModelSettings

if TYPE_CHECKING:
    from google.genai.errors import APIError
    from google.genai.types import Candidate, GenerateContentConfig, GenerateContentResponse

_UNSUPPORTED = frozenset({"$defs", "minLength", "maxLength", "pattern", "default"})
"""Keywords that Gemini's schema subset lacks."""
_HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")


def request_config(request: Request[Any], settings: ModelSettings) -> "GenerateContentConfig":
    """Return everything of a request but its prompt."""
    from google.genai.types import (
        AutomaticFunctionCallingConfig,
        GenerateContentConfig,
        HarmBlockThreshold,
        HarmCategory,
        SafetySetting,
        ThinkingConfig,
        ThinkingLevel,
    )

    reply_model: type[ReplyModel] = request.reply_model
    thinking = safety = None  # left to the model and to the provider
    if settings.thinking_budget is not None:
        thinking = ThinkingConfig(thinking_budget=settings.thinking_budget)
    elif settings.thinking_level is not None:
        thinking = ThinkingConfig(thinking_level=ThinkingLevel(settings.thinking_level.upper()))
    if settings.safety is not None:
        threshold = HarmBlockThreshold(settings.safety.upper())
        kinds = [HarmCategory(f"HARM_CATEGORY_{harm}") for harm in _HARMS]
        safety = [SafetySetting(category=kind, threshold=threshold) for kind in kinds]
    return GenerateContentConfig(
        system_instruction=request.system,
        temperature=request.temperature,
        seed=request.seed,
        max_output_tokens=settings.max_output_tokens,
        response_mime_type="application/json",
        response_json_schema=response_schema(reply_model),
        thinking_config=thinking,
        safety_settings=safety,
        automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        # on, a reply that was cut would be asked on for, unseen and at our cost
        automatic_continuation=False,
    )


@cache
def response_schema(reply_model: type[ReplyModel]) -> dict[str, Any]:
    """Return the reply model's JSON schema in the subset Gemini reads; callers must not change it."""
    return inlined_schema(reply_model, _UNSUPPORTED)


_FINISHED = frozenset({"STOP", "FINISH_REASON_UNSPECIFIED"})
_REASONS = {
    "MAX_TOKENS": "truncated",
    "CONTINUATION": "truncated",
    "SAFETY": "blocked_safety",
    "PROHIBITED_CONTENT": "blocked_safety",
    "BLOCKLIST": "blocked_safety",
    "SPII": "blocked_safety",
    "MODEL_ARMOR": "blocked_safety",
    "RECITATION": "blocked_recitation",
}
"""Reason codes of finish and block reasons; any other is `blocked`, with its name in the detail."""


def read_response(response: "GenerateContentResponse", asked_model: str, key: str) -> RawReply:
    """Return the text of a finished reply.

    Args:
        response: what the client parsed.
        asked_model: the model that was asked, for a server that does not name the one that replied.
        key: what the request was sent with; it is masked.

    Raises:
        UnreadableReplyError: `truncated`, `blocked…` or `empty`, with the text there is and the tokens taken.
    """
    model = f"gemini/{one_line(response.model_version, key) if response.model_version else asked_model}"
    usage = read_usage(response)
    text, problem = "", _prompt_problem(response)
    if problem is None and response.candidates:
        first = response.candidates[0]
        text, problem = mask_key(_joined(first), key), _finish_problem(first)
    if problem is None and not text.strip():
        problem = ("empty", "the reply has no text" if response.candidates else "no candidate")
    if problem is not None:
        raise UnreadableReplyError(*problem, raw=text, model=model, usage=usage)
    return RawReply(text, model, usage)


def read_usage(response: "GenerateContentResponse") -> Usage:
    """Return the tokens of a reply; thoughts are written, and paid for, like the reply itself."""
    usage = response.usage_metadata
    if usage is None:
        return Usage()
    thoughts = usage.thoughts_token_count
    written = [n for n in (usage.candidates_token_count, thoughts) if n is not None]
    return believed(
        Usage(
            usage.prompt_token_count,
            sum(written) if written else None,
            usage.cached_content_token_count,
            thoughts,
        )
    )


def _prompt_problem(response: "GenerateContentResponse") -> tuple[str, str] | None:
    feedback = response.prompt_feedback
    if feedback is None or feedback.block_reason is None:
        return None
    name = feedback.block_reason.name
    return _REASONS.get(name, "blocked"), f"prompt: {name}"


def _finish_problem(candidate: "Candidate") -> tuple[str, str] | None:
    name = candidate.finish_reason.name if candidate.finish_reason else "FINISH_REASON_UNSPECIFIED"
    if name in _FINISHED:
        return None
    reason = _REASONS.get(name, "blocked")
    return reason, f"reply: {name}" + (f"; {CAP_ADVICE}" if reason == "truncated" else "")


def _joined(candidate: "Candidate") -> str:
    parts = (candidate.content.parts if candidate.content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


KEY_ADVICE = (
    "set GEMINI_API_KEY (or GOOGLE_API_KEY) to a key from https://aistudio.google.com/apikey, "
    "or use llm.provider=extractive, which needs none"
)
VERTEX_ADVICE = (
    "log in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a service "
    "account that may use Vertex AI"
)
_KEY_STATUSES = frozenset({401, 403})
_PASSING_STATUSES = frozenset({408, 429, *range(500, 600)})
_AWAY = frozenset({502, 503})
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
_TOO_LONG = re.compile(r"token count.{0,40}exceeds|exceeds the maximum number of tokens", re.IGNORECASE)


def translate(error: BaseException, key: str, model: str) -> ModelError:
    """Return this package's error for what went wrong, with the server's message, without the key."""
    from aiohttp import ClientConnectorError, ClientError
    from google.genai.errors import APIError

    if isinstance(error, APIError):
        return _translate_status(error, key, model)
    if isinstance(error, TimeoutError):
        summary = "the Gemini server did not reply in time (llm.timeout_seconds)"
    elif isinstance(error, ValidationError):
        summary = "the Gemini server replied with fields of wrong types"
    elif isinstance(error, ValueError):
        summary = "the Gemini server replied with something that is not JSON"
    else:
        summary = f"no connection to the Gemini server: {one_line(str(error), key)}"
    return TransientModelError(
        summary,
        maybe_charged=not isinstance(error, ClientConnectorError),
        is_away=isinstance(error, ClientError) and not isinstance(error, TimeoutError),
        # a field of a wrong type comes again; a body that was cut does not
        is_final=isinstance(error, ValidationError),
    )


def asked_wait(error: "APIError") -> float:
    """Return the seconds to wait: the greatest of `RetryInfo` and `Retry-After`, 0 without either."""
    infos = [item for item in _details(error) if item.get("@type") == _RETRY_INFO]
    header = getattr(error.response, "headers", {}).get("Retry-After", "")
    return max(seconds_in(text) for text in (header, *(str(info.get("retryDelay")) for info in infos)))


def _translate_status(error: "APIError", key: str, model: str) -> ModelError:
    message = one_line(str(error.message or error.status or "no message"), key)
    if error.code in _KEY_STATUSES or _blames_key(error):
        return KeyRejectedError(f"Gemini rejects the key ({error.code}: {message}); {KEY_ADVICE}")
    if error.code in _PASSING_STATUSES:
        return TransientModelError(
            f"Gemini is not available ({error.code}: {message})",
            limited=error.code == HTTPStatus.TOO_MANY_REQUESTS,
            is_away=error.code in _AWAY,
            wait_seconds=asked_wait(error),
        )
    if is_too_long(message):
        return OversizedRequestError(f"Gemini: {message}; {LENGTH_ADVICE}")
    advice = "; see llm.model" if error.code == HTTPStatus.NOT_FOUND else ""
    return PermanentModelError(f"Gemini refuses the request to {model} ({error.code}: {message}){advice}")


def is_too_long(message: str) -> bool:
    """Return whether the server says that the request is longer than the model reads."""
    return _TOO_LONG.search(message) is not None


def _blames_key(error: "APIError") -> bool:
    # a wrong key is a plain 400; only the reason in the details tells it from a bad request
    return any(str(item.get("reason", "")).startswith("API_KEY_") for item in _details(error))


def _details(error: "APIError") -> list[dict[str, Any]]:
    """Return the typed details of a Google error body, of which nothing is certain."""
    body = error.details if isinstance(error.details, dict) else {}
    inner = body.get("error")
    details = inner.get("details") if isinstance(inner, dict) else None
    return [item for item in details if isinstance(item, dict)] if isinstance(details, list) else []
