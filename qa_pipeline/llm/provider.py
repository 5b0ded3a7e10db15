"""What a hosted provider is: one request sent once, and what came back."""

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from qa_pipeline.errors import KeyRejectedError, UnreadableReplyError
from qa_pipeline.llm.base import Request
from qa_pipeline.records import Usage

ValueT = TypeVar("ValueT")
MOST_REPLY_BYTES = 16 * 1024**2
"""Of a reply's body as sent and as decompressed; 65,536 tokens are some 0.3 MB."""


@dataclass(frozen=True, slots=True)
class RawReply:
    """The text of a finished reply, the model that says it wrote it, and its tokens."""

    text: str
    model: str
    usage: Usage


class Provider(ABC):
    """A server and how it is asked.

    `name` identifies provider, model, server and everything fixed about how it is asked: two providers that
    may reply differently have different names. It holds no key.

    Connections belong to an event loop, so each loop gets its own; `aclose` ends the running loop's.
    """

    name: str

    @abstractmethod
    async def send(self, request: Request[Any]) -> RawReply:
        """Send the request once.

        Raises:
            TransientModelError: another try may succeed; says whether the server limits the rate, how long it
                asks to wait, and whether the call may have been charged.
            PermanentModelError: no later call can succeed.
            UnreadableReplyError: the provider blocked, cut or refused the reply, or it is empty, or the
                request is too long. `usage` of what it took is on the error where the provider tells it.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections of the running loop; the provider can be used again, in any loop."""


def place_of(base_url: str | None) -> str:
    """Return the part of a provider's name that identifies its server; empty for the provider's own."""
    if base_url is None:
        return ""
    parts = urlsplit(base_url)  # a URL may hold a password; host and path tell servers apart
    port = f":{parts.port}" if parts.port else ""
    return f"@{parts.hostname}{port}{parts.path.rstrip('/')}"


async def read_capped(parts: AsyncIterator[bytes]) -> bytes:
    """Return a body of at most `MOST_REPLY_BYTES`.

    Raises:
        UnreadableReplyError: `truncated`; it is larger.
    """
    body = bytearray()
    async for part in parts:
        body += part
        if len(body) > MOST_REPLY_BYTES:
            detail = f"the reply is larger than {MOST_REPLY_BYTES >> 20} MiB"
            raise UnreadableReplyError("truncated", detail)
    return bytes(body)


def read_key(environ: Mapping[str, str], names: Sequence[str], advice: str) -> str:
    """Return the first key that is set under one of the names; empty where none is.

    Raises:
        KeyRejectedError: it holds characters no key has; HTTP errors would quote one with a line break.
    """
    name, key = next(((name, key) for name in names if (key := environ.get(name, "").strip())), ("", ""))
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise KeyRejectedError(f"{name} holds characters no key has; {advice}")
    return key


class PerLoop(Generic[ValueT]):
    """A value for each event loop, made at its first use; those of loops that ended are dropped."""

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
        """Return the running loop's value, which is dropped; None if there is none."""
        with self._lock:
            return self.values.pop(asyncio.get_running_loop(), None)


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall clock in Unix seconds, and a steady one that never jumps."""

    now: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
