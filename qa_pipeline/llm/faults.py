"""Convert server refusals and connection failures into errors of this package, without the key."""

import re
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime

from qa_pipeline.errors import (
    KeyRejectedError,
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    TransientModelError,
)

CAP_ADVICE = "raise llm.max_output_tokens"
_LENGTH_ADVICE = (
    "show fewer passages (retrieval.top_k), cut documents into smaller chunks or choose another llm.model"
)
_PASSING_STATUSES = frozenset({408, 409, 425, *range(500, 600)})
_WORKED_ON = frozenset({408, 502, 504})
"""Statuses of a server or proxy that gave up on a request that may have been processed."""
_AWAY = frozenset({502, 503})
"""Statuses of a server that is loading its model, and of a proxy whose server is down."""
_CROWDED = re.compile(
    r"concurren|simultaneous|parallel|in[- ]flight|pending requests|queue|\bslots?\b|\bbusy\b", re.IGNORECASE
)
"""Refusals because of too many concurrent requests, as worded by llama.cpp, Ollama, vLLM and proxies."""
_UNPAID = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG = re.compile(
    r"maximum context length|context[_ ]length|context size|context window|token count.{0,40}exceeds"
    r"|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
_MOST_LETTERS = 300  # of a server's message; its beginning names the cause, and the rest may be long
_ENCRYPTION = re.compile(r" ssl:(?:default|True|False|None|<[^>]*>)")
_SHORTEST_MASKED = 12
"""Minimum characters of a key that is masked in replies. Shorter keys, such as `none`, may be words."""


def server_error(
    status: int, message: str, *, code: str, wait_seconds: float, model: str, key: str, key_advice: str
) -> ModelError:
    """Return the error for a server's refusal. `code` is the server's name for the reason, if any."""
    summary = f"{status}: {one_line(message or 'no message', key)}"
    if status in (401, 403) or code.startswith("API_KEY_"):
        return KeyRejectedError(f"the server rejects the key ({summary}); {key_advice}")
    if code in _UNPAID:
        return PermanentModelError(f"the account has no credit left ({summary}); see to its billing")
    is_crowded = status == 503 and _CROWDED.search(message) is not None
    if status == 429 or is_crowded or status in _PASSING_STATUSES:
        return TransientModelError(
            f"the server is not available ({summary})",
            limited=status == 429 or is_crowded,
            wait_seconds=wait_seconds,
            maybe_charged=status in _WORKED_ON,
            is_away=status in _AWAY,
        )
    if status == 413 or code == "context_length_exceeded" or _TOO_LONG.search(message):
        return OversizedRequestError(f"{summary}; {_LENGTH_ADVICE}")
    if status == 404:
        return PermanentModelError(
            f"the server does not know llm.model {model!r} ({summary}); look at llm.base_url if it is set"
        )
    return PermanentModelError(f"the server refuses the request to {model} ({summary})")


def line_error(error: BaseException, key: str, *, is_local: bool) -> ModelError:
    """Return the error for a failed connection. Requests already sent may have been processed.

    A local server that times out is not asked again, because it would take as long again.
    """
    from aiohttp import ClientConnectorError, ClientError, ConnectionTimeoutError

    # find the cause, since an SDK reports a lost connection and a slow connection alike
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


def seconds_in(text: str) -> float:
    """Return the waiting time in seconds that a server asks for.

    It may be a number, with or without `s`, or a date. Other texts give 0.
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)s?", text.strip())
    if match:
        return float(match[1])
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    return 0.0


def mask_key(text: str, key: str) -> str:
    """Mask the key wherever a server repeats it in a reply."""
    return text if len(key) < _SHORTEST_MASKED else text.replace(key, "[key]")


def one_line(message: str, key: str) -> str:
    """Return a message on one printable line, without the key and the client's SSL details.

    These details contain a memory address, and equal failures must have equal messages.
    """
    masked = message.replace(key, "[key]") if key else message
    printable = "".join(c if c.isprintable() else " " for c in _ENCRYPTION.sub("", masked))
    line = " ".join(printable.split())
    return line if len(line) <= _MOST_LETTERS else f"{line[:_MOST_LETTERS]}…"
