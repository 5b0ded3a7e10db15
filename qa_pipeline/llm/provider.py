"""The interface of hosted providers, which send a single request and return the raw reply."""

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


def place_of(base_url: str | None) -> str:
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
    name, key = next(((name, key) for name in names if (key := environ.get(name, "").strip())), ("", ""))
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise KeyRejectedError(f"{name} holds characters no key has; {advice}")
    return key


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
