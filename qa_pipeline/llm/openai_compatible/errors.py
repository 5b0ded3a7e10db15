"""What a failed call of chat completions means: the key, a passing fault, or a request that cannot succeed.

What belongs here: mapping the client's exceptions to this package's, and reading how long the server asks to
wait. What does not: sending, trying again, and replies that came.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from qa_pipeline.errors import (
    KeyRejectedError,
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    TransientModelError,
)
from qa_pipeline.llm.openai_compatible.requests import Complaint
from qa_pipeline.llm.server_messages import one_line

if TYPE_CHECKING:
    from openai import APIStatusError

KEY_ADVICE = "set OPENAI_API_KEY to a key that the server of llm.base_url takes"

_KEY_STATUSES = frozenset({401, 403})
_PASSING_STATUSES = frozenset({408, 409, 425, *range(500, 600)})
_WORKED_ON = frozenset({408, 502, 504})
"""Statuses of a server, or one in front of it, that gave up on a request which may have been worked on."""
_UNPAID = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG = re.compile(r"maximum context length|context[_ ]length|context size|context window", re.IGNORECASE)
_SPAN = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")


def translate(error: BaseException, key: str, model: str) -> ModelError:
    """Say in this package's errors what went wrong, with the server's message and without the key."""
    from openai import APIStatusError

    if isinstance(error, APIStatusError):
        complaint = complaint_of(error)
        return translate_status(error.status_code, complaint, error.response.headers, key, model)
    if isinstance(error, (ValueError, RecursionError)):
        return TransientModelError("the server replied with something that is not JSON", maybe_charged=True)
    return _translate_line(error, key)


def translate_status(
    status: int, complaint: Complaint, headers: Mapping[str, str], key: str, model: str
) -> ModelError:
    """What an error status means, with what the server says beside it."""
    told = f"{status}: {one_line(complaint.message or 'no message', key)}"
    if status in _KEY_STATUSES:
        return KeyRejectedError(f"the server rejects the key ({told}); {KEY_ADVICE}")
    if complaint.code in _UNPAID:
        return PermanentModelError(f"the account has no credit left ({told}); see to its billing")
    if status == 429:
        wait = asked_wait(headers)
        return TransientModelError(f"the server limits the rate ({told})", limited=True, wait_seconds=wait)
    if status in _PASSING_STATUSES:
        charged = status in _WORKED_ON
        wait = asked_wait(headers)
        return TransientModelError(
            f"the server is not available ({told})", wait_seconds=wait, maybe_charged=charged
        )
    return _translate_refusal(status, complaint, told, model)


def complaint_of(error: "APIStatusError") -> Complaint:
    """What the server says; the body is the server's, so nothing about it is certain."""
    return read_complaint(error.body, error.message)


def read_complaint(body: object, message: str) -> Complaint:
    """What an error's body says, in any of the forms that servers give it."""
    inner: Mapping[str, Any] = body if isinstance(body, dict) else {}
    nested = inner.get("error")
    inner = nested if isinstance(nested, dict) else inner
    code = inner.get("code") if isinstance(inner.get("code"), str) else inner.get("type")
    said = inner.get("message") or inner.get("detail") or message
    return Complaint(str(inner.get("param") or ""), str(code or ""), str(said))


def asked_wait(headers: Mapping[str, str]) -> float:
    """Seconds the server asks to wait, 0 if it does not say.

    `retry-after-ms` and `Retry-After` go before the headers that say when a limit is reset; of these the
    limits that are used up count, and where none says so, the one that is reset first. A `Retry-After`
    given as a date is left out: a date needs agreeing clocks.
    """
    exact = _number(headers.get("retry-after-ms", "")) / 1000 or _number(headers.get("retry-after", ""))
    if exact:
        return exact
    resets = {name: _seconds(headers.get(f"x-ratelimit-reset-{name}", "")) for name in ("requests", "tokens")}
    spent = [resets[name] for name in resets if headers.get(f"x-ratelimit-remaining-{name}") == "0"]
    return max(spent) if spent else min((wait for wait in resets.values() if wait), default=0.0)


def _translate_refusal(status: int, complaint: Complaint, told: str, model: str) -> ModelError:
    if status == 413 or complaint.code == "context_length_exceeded" or _TOO_LONG.search(complaint.message):
        return OversizedRequestError(f"{told}; cut documents into smaller chunks or choose another llm.model")
    if status == 404:
        return PermanentModelError(
            f"the server does not know llm.model {model!r} ({told}); llm.base_url has to end before "
            "/chat/completions, as in http://127.0.0.1:8000/v1"
        )
    return PermanentModelError(f"the server refuses the request ({told})")


def _translate_line(error: BaseException, key: str) -> TransientModelError:
    """A line that failed. What has been sent may have been worked on, unless no connection came about."""
    from aiohttp import ClientConnectorError, ConnectionTimeoutError

    causes = list(_causes(error))
    unconnected = [one for one in causes if isinstance(one, (ClientConnectorError, ConnectionTimeoutError))]
    if unconnected:
        return TransientModelError(f"no connection to the server: {one_line(str(unconnected[0]), key)}")
    if any(isinstance(one, TimeoutError) for one in causes):
        told = "the server did not reply in time (llm.timeout_seconds)"
        return TransientModelError(told, maybe_charged=True)
    told = f"the connection to the server was lost: {one_line(str(causes[-1]), key)}"
    return TransientModelError(told, maybe_charged=True)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came from; only the innermost tell a timeout from a lost connection."""
    while error is not None:
        yield error
        error = error.__cause__


def _number(text: str) -> float:
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d+)?", text.strip()) else 0.0


def _seconds(text: str) -> float:
    """A span such as 6m0s, 1s or 20ms."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        return 0.0
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
