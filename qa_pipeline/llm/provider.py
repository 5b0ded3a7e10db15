"""The interface of hosted providers, which send a single request and return the raw reply."""

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from qa_pipeline.errors import KeyRejectedError, UnreadableReplyError
from qa_pipeline.llm.base import Request
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
            detail = f"the reply is larger than {MOST_REPLY_BYTES >> 20} MiB"
            raise UnreadableReplyError("truncated", detail)
    return bytes(body)


def read_key(environ: Mapping[str, str], names: Sequence[str], advice: str) -> str:
    """Return the first key that is set under any of the names, or "".

    Raises:
        KeyRejectedError: it contains invalid characters. HTTP errors would quote a key with a line break.
    """
    for name in names:
        key = environ.get(name, "").strip()
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise KeyRejectedError(f"{name} has characters that no key has; {advice}")
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

    `failing_since` is the monotonic time of the first failure since the last answer, if any. `failed_calls`
    counts the calls given up since then. A configured rate applies to each loop.
    """

    def __init__(self, requests_per_minute: int | None = None, clock: Clock | None = None) -> None:
        self._rate = requests_per_minute
        self._limiters = PerLoop(self._new_limiter)
        self._clock = clock or Clock()
        self._paused_until = 0.0
        self.failing_since: float | None = None
        self.failed_calls = 0

    async def turn(self) -> None:
        """Wait until a call may be sent."""
        while (wait := self._paused_until - self._clock.steady()) > 0:  # noqa: ASYNC110 - the end may move
            await asyncio.sleep(wait)
        if self._rate:
            await self._limiters.get().acquire()

    def replied(self) -> None:
        """Record that the server answered, with any reply."""
        self.failing_since = None
        self.failed_calls = 0

    def failed(self) -> float:
        """Record a failed try, and return the monotonic time of the first failure since the last answer."""
        if self.failing_since is None:
            self.failing_since = self._clock.steady()
        return self.failing_since

    def refused(self, wait_seconds: float) -> None:
        """Delay all calls by the time that the server asks for."""
        self._paused_until = max(self._paused_until, self._clock.steady() + wait_seconds)

    def _new_limiter(self) -> "AsyncLimiter":
        from aiolimiter import AsyncLimiter

        # admit single calls, since a limiter of the whole minute would admit all its calls at once
        return AsyncLimiter(1, 60 / (self._rate or 1))
