"""The interface of hosted providers, which send a single request, and the errors of their servers."""

import asyncio
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from qa_pipeline.errors import (
    KeyRejectedError,
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import Request, TransientModelError
from qa_pipeline.records import Usage

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter

ValueT = TypeVar("ValueT")
MOST_REPLY_BYTES = 16 * 1024**2
"""Maximum size of a reply's body, as sent and as decompressed. 65,536 tokens are some 0.3 MB."""


@dataclass(frozen=True, slots=True)
class RawReply:
    """The text of a finished reply, the model that the server reports, and the used tokens."""

    text: str
    model: str
    usage: Usage


class Provider(ABC):
    """A server and the way to ask it.

    `name` identifies provider, model, server and all fixed parameters, but not the key. Providers that may
    reply differently have different names.

    Connections belong to an event loop, so each loop has its own. `aclose` closes those of the running loop.
    """

    name: str

    @abstractmethod
    async def send(self, request: Request[Any]) -> RawReply:
        """Send the request once.

        Raises:
            TransientModelError: another try may succeed. The error tells the requested wait, if the rate is
                limited, and if the call may have been charged.
            PermanentModelError: later calls cannot succeed either.
            UnreadableReplyError: the provider blocked, truncated or refused the reply, it is empty, or the
                request is too long. `usage` has the used tokens if the provider reports them.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections of the running loop. The provider can be used again in any loop."""


def server_suffix(base_url: str | None) -> str:
    """Return the part of a provider's name that identifies its server, or "" for the default server."""
    if base_url is None:
        return ""
    parts = urlsplit(base_url)  # leave out a password, since host and path identify the server
    port = f":{parts.port}" if parts.port else ""
    return f"@{parts.hostname}{port}{parts.path.rstrip('/')}"


async def read_capped(parts: AsyncIterator[bytes]) -> bytes:
    """Return a body of at most `MOST_REPLY_BYTES`.

    Raises:
        UnreadableReplyError: `truncated`, because the body is larger.
    """
    body = bytearray()
    async for part in parts:
        body += part
        if len(body) > MOST_REPLY_BYTES:
            raise UnreadableReplyError("truncated", f"the reply is larger than {MOST_REPLY_BYTES >> 20} MiB")
    return bytes(body)


def read_key(environ: Mapping[str, str], names: Sequence[str], advice: str) -> str:
    """Return the first key that is set under any of the names, or "".

    Raises:
        KeyRejectedError: it contains invalid characters. HTTP errors would quote a key with a line break.
    """
    for name in names:
        key = environ.get(name, "").strip()
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise KeyRejectedError(f"{name} contains characters that are not allowed in a key; {advice}")
        if key:
            return key
    return ""


class PerLoop(Generic[ValueT]):
    """A value for each event loop, made at its first use. Values of ended loops are dropped."""

    def __init__(self, make: Callable[[], ValueT]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self.values: dict[asyncio.AbstractEventLoop, ValueT] = {}

    def get(self) -> ValueT:
        """Return the running loop's value."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self.values:
                for ended in [event_loop for event_loop in self.values if event_loop.is_closed()]:
                    del self.values[ended]
                self.values[loop] = self._make()
            return self.values[loop]

    def pop(self) -> ValueT | None:
        """Remove and return the running loop's value, if any."""
        with self._lock:
            return self.values.pop(asyncio.get_running_loop(), None)


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall clock in Unix seconds, and a monotonic clock."""

    now: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic


class Throttle:
    """A throttle that admits calls to a model, shared by loops and threads.

    `failing_since` is the monotonic time of the first failure since the last answer, if any.
    `given_up_requests` counts the requests given up since then. A configured rate applies to each loop.
    """

    def __init__(self, requests_per_minute: int | None = None, clock: Clock | None = None) -> None:
        self._rate = requests_per_minute
        self._limiters = PerLoop(self._new_limiter)
        self._clock = clock or Clock()
        self._paused_until = 0.0
        self.failing_since: float | None = None
        self.given_up_requests = 0

    async def wait_turn(self) -> None:
        """Wait until a call may be sent."""
        while (wait := self._paused_until - self._clock.steady()) > 0:  # noqa: ASYNC110 - the end may move
            await asyncio.sleep(wait)
        if self._rate:
            await self._limiters.get().acquire()

    def note_reply(self) -> None:
        """Record that the server answered, with any reply."""
        self.failing_since = None
        self.given_up_requests = 0

    def note_failure(self) -> float:
        """Record a failed try, and return the monotonic time of the first failure since the last answer."""
        if self.failing_since is None:
            self.failing_since = self._clock.steady()
        return self.failing_since

    def pause(self, wait_seconds: float) -> None:
        """Delay all calls by the time that the server asks for."""
        self._paused_until = max(self._paused_until, self._clock.steady() + wait_seconds)

    def _new_limiter(self) -> "AsyncLimiter":
        from aiolimiter import AsyncLimiter

        # admit single calls, since a limiter of the whole minute would admit all its calls at once
        return AsyncLimiter(1, 60 / (self._rate or 1))


CAP_ADVICE = "raise llm.max_output_tokens"
_LENGTH_ADVICE = (
    "show fewer passages (retrieval.top_k), cut documents into smaller chunks or choose another llm.model"
)
_TRANSIENT_STATUSES = frozenset({408, 409, 425, *range(500, 600)})
_WORKED_ON = frozenset({408, 502, 504})
"""Statuses of a server or proxy that gave up on a request that may have been processed."""
_AWAY = frozenset({502, 503})  # statuses of a server that loads its model, or a proxy whose server is down
_CROWDED = re.compile(
    r"concurren|simultaneous|parallel|in[- ]flight|pending requests|queue|\bslots?\b|\bbusy\b", re.IGNORECASE
)
"""Refusals because of too many concurrent requests, as worded by llama.cpp, Ollama, vLLM and proxies."""
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Error codes of OpenAI for an account without credit."""
_TOO_LONG = re.compile(
    r"maximum context length|context[_ ]length|context size|context window|token count.{0,40}exceeds"
    r"|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
_MOST_CHARACTERS = 300  # of a server's message; its beginning names the cause, and the rest may be long
# such as " ssl:<ssl.SSLContext object at 0x7f5c>" in a message of aiohttp
_SSL_DETAILS = re.compile(r" ssl:(?:default|True|False|None|<[^>]*>)")
_SHORTEST_MASKED = 12  # minimum characters of a masked key; shorter keys, such as `none`, may be words


def server_error(
    status: int, message: str, *, code: str, wait_seconds: float, model: str, key: str, key_advice: str
) -> ModelError:
    """Return the error for a server's refusal. `code` is the server's name for the reason, or ""."""
    summary = f"{status}: {one_line(message or 'no message', key)}"
    if status in (401, 403) or code.startswith("API_KEY_"):
        return KeyRejectedError(f"the server rejects the key ({summary}); {key_advice}")
    if code in _NO_CREDIT:
        return PermanentModelError(f"the account has no credit left ({summary}); see to its billing")
    is_crowded = status == 503 and _CROWDED.search(message) is not None
    if status == 429 or is_crowded or status in _TRANSIENT_STATUSES:
        return TransientModelError(
            f"the server is not available ({summary})",
            is_rate_limit=status == 429 or is_crowded,
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


def connection_error(error: BaseException, key: str, *, is_local: bool) -> ModelError:
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
    # usually a ValueError from parsing the reply
    return TransientModelError("the server replied with something that is not JSON", maybe_charged=True)


def seconds_in(text: str) -> float:
    """Return the waiting time that a server asks for: `12` or `0.5s` in seconds, or until a date.

    The date is as in HTTP, such as `Wed, 21 Oct 2026 07:28:00 GMT`. Other texts give 0.
    """
    if match := re.fullmatch(r"(\d{1,9}(?:\.\d+)?)s?", text.strip()):
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
    printable = "".join(sign if sign.isprintable() else " " for sign in _SSL_DETAILS.sub("", masked))
    line = " ".join(printable.split())
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…"
