"""What a failed Gemini call means: the key, a passing fault, or a request that can never succeed.

What belongs here: mapping the client's exceptions to this package's, and reading how long the server asks
to wait. What does not: sending, retrying, and replies that came.
"""

import re
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any

from qa_pipeline.errors import KeyRejectedError, ModelError, PermanentModelError, TransientModelError

if TYPE_CHECKING:
    from google.genai.errors import APIError

KEY_ADVICE = (
    "set GEMINI_API_KEY (or GOOGLE_API_KEY) to a key from https://aistudio.google.com/apikey, "
    "or use llm.provider=extractive, which needs none"
)
_KEY_STATUSES = frozenset({401, 403})
_PASSING_STATUSES = frozenset({408, 429, *range(500, 600)})
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
_MESSAGE_LENGTH = 300


def translate(error: BaseException, key: str) -> ModelError:
    """Say in this package's errors what went wrong, with the server's message and without the key."""
    from google.genai.errors import APIError

    if isinstance(error, APIError):
        return _translate_status(error, key)
    if isinstance(error, TimeoutError):
        return TransientModelError("the Gemini server did not reply in time (llm.timeout_seconds)")
    if isinstance(error, JSONDecodeError):
        return TransientModelError("the Gemini server replied with something that is not JSON")
    return TransientModelError(f"no connection to the Gemini server: {_readable(str(error), key)}")


def is_passing(error: BaseException) -> bool:
    """Whether another try may succeed."""
    from aiohttp import ClientError
    from google.genai.errors import APIError

    if isinstance(error, APIError):
        return error.code in _PASSING_STATUSES
    return isinstance(error, (ClientError, TimeoutError, JSONDecodeError))


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


def _translate_status(error: "APIError", key: str) -> ModelError:
    message = _readable(str(error.message or error.status or "no message"), key)
    if error.code in _KEY_STATUSES or _blames_key(error):
        return KeyRejectedError(f"Gemini rejects the key ({error.code}: {message}); {KEY_ADVICE}")
    if error.code in _PASSING_STATUSES:
        return TransientModelError(f"Gemini is not available ({error.code}: {message})")
    return PermanentModelError(f"Gemini refuses the request ({error.code}: {message})")


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


def _readable(message: str, key: str) -> str:
    """One printable line of the server's message, in which an echoed key is blotted out."""
    blotted = message.replace(key, "[key]")
    line = " ".join("".join(c if c.isprintable() else " " for c in blotted).split())
    return line if len(line) <= _MESSAGE_LENGTH else f"{line[:_MESSAGE_LENGTH]}…"
