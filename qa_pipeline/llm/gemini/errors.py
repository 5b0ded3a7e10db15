"""What a failed Gemini call means: the key, a passing fault, or a request that can never succeed.

What belongs here: mapping the client's exceptions to this package's, and reading how long the server asks
to wait. What does not: sending, retrying, and replies that came.
"""

import re
from http import HTTPStatus
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any

from qa_pipeline.errors import (
    KeyRejectedError,
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    TransientModelError,
)
from qa_pipeline.llm.server_messages import one_line

if TYPE_CHECKING:
    from google.genai.errors import APIError

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
_LIMITED = 429
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
_TOO_LONG = re.compile(r"token count.{0,40}exceeds|exceeds the maximum number of tokens", re.IGNORECASE)


def translate(error: BaseException, key: str, model: str) -> ModelError:
    """Say in this package's errors what went wrong, with the server's message and without the key."""
    from google.genai.errors import APIError

    if isinstance(error, APIError):
        return _translate_status(error, key, model)
    if isinstance(error, TimeoutError):
        told = "the Gemini server did not reply in time (llm.timeout_seconds)"
    elif isinstance(error, JSONDecodeError):
        told = "the Gemini server replied with something that is not JSON"
    else:
        told = f"no connection to the Gemini server: {one_line(str(error), key)}"
    return TransientModelError(told, maybe_charged=not _never_arrived(error))


def _never_arrived(error: BaseException) -> bool:
    from aiohttp import ClientConnectorError

    return isinstance(error, ClientConnectorError)


def asked_wait(error: BaseException | None) -> float:
    """Seconds the server asks to wait: the greater of `RetryInfo` and `Retry-After`, 0 without either.

    A `Retry-After` given as a date is left out: Google sends seconds, and a date needs agreeing clocks.
    """
    from google.genai.errors import APIError

    if not isinstance(error, APIError):
        return 0.0
    delays = [
        _seconds(str(item.get("retryDelay"))) for item in _details(error) if item.get("@type") == _RETRY_INFO
    ]
    header = getattr(error.response, "headers", {}).get("Retry-After", "")
    return max([*delays, _seconds(header)])


def _translate_status(error: "APIError", key: str, model: str) -> ModelError:
    message = one_line(str(error.message or error.status or "no message"), key)
    if error.code in _KEY_STATUSES or _blames_key(error):
        return KeyRejectedError(f"Gemini rejects the key ({error.code}: {message}); {KEY_ADVICE}")
    if error.code in _PASSING_STATUSES:
        return TransientModelError(
            f"Gemini is not available ({error.code}: {message})",
            limited=error.code == _LIMITED,
            wait_seconds=asked_wait(error),
        )
    if is_too_long(message):
        return OversizedRequestError(f"Gemini: {message}")
    advice = "; see llm.model" if error.code == HTTPStatus.NOT_FOUND else ""
    refused = PermanentModelError(f"Gemini refuses the request to {model} ({error.code}: {message}){advice}")
    refused.status = error.code
    return refused


def is_too_long(message: str) -> bool:
    """Whether the server says that the request is longer than the model reads."""
    return _TOO_LONG.search(message) is not None


def _blames_key(error: "APIError") -> bool:
    # a wrong key is a plain 400; only the reason in the details tells it from a bad request
    return any(str(item.get("reason", "")).startswith("API_KEY_") for item in _details(error))


def _details(error: "APIError") -> list[dict[str, Any]]:
    """The typed details of a Google error body; the body is the server's, so nothing about it is certain."""
    body = error.details if isinstance(error.details, dict) else {}
    inner = body.get("error")
    details = inner.get("details") if isinstance(inner, dict) else None
    return [item for item in details if isinstance(item, dict)] if isinstance(details, list) else []


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)s?", text.strip())
    return float(match[1]) if match else 0.0
