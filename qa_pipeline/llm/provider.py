"""What a hosted provider is: one request sent once, and what came back.

What belongs here: the protocol of a provider, the text it returns, and what the names of all have in common.
What does not: trying again, limits of rate, budgets, reading JSON (`sending.py` and `hosted.py` do these for
every provider alike).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol
from urllib.parse import urlsplit

from qa_pipeline.llm.base import Request
from qa_pipeline.records import Usage


@dataclass(frozen=True, slots=True)
class RawReply:
    """The text of a finished reply, the model that says it wrote it, and its tokens."""

    text: str
    model: str
    usage: Usage


class Provider(Protocol):
    """A server and how it is asked.

    `name` identifies provider, model, server and everything fixed about how it is asked: two providers that
    may reply differently have different names. It holds no key.
    """

    @property
    def name(self) -> str:
        """Stable identity; part of the key under which replies are stored."""
        ...

    async def send(self, request: Request[Any]) -> RawReply:
        """Send the request once.

        Raises:
            TransientModelError: another try may succeed; says whether the server limits the rate, how long it
                asks to wait, and whether the call may have been charged.
            PermanentModelError: no later call can succeed.
            UnreadableReplyError: the provider blocked, cut or refused the reply, or it is empty, or the
                request is too long. `usage` of what it took is on the error where the provider tells it.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections of the running loop; the provider can be used again, in any loop."""
        ...


def place_of(base_url: str | None) -> str:
    """The part of a provider's name that tells its server; nothing for the provider's own."""
    if base_url is None:
        return ""
    parts = urlsplit(base_url)  # a URL may hold a password; host and path tell servers apart
    port = f":{parts.port}" if parts.port else ""
    return f"@{parts.hostname}{port}{parts.path.rstrip('/')}"


class Room(Protocol):
    """Room set aside for one call; one of the two is called."""

    def settle(self, usage: Usage) -> None:
        """The call was charged, or may have been; all of the room counts where its tokens are unknown."""
        ...

    def cancel(self) -> None:
        """The call was not charged."""
        ...


class Spending(Protocol):
    """Keeps what is spent within its caps."""

    @property
    def currency(self) -> str:
        """Of all costs."""
        ...

    async def reserve(
        self, request: Request[Any], asked_model: str, tokens_in: int, most_tokens_out: int
    ) -> Room:
        """Set room aside for a call at its worst, waiting for calls in flight that may free some.

        Raises:
            BudgetExhaustedError: no room is left, and none will be.
        """
        ...

    def cost(self, asked_model: str, usage: Usage) -> Decimal | None:
        """What a call costs; None where its price or its tokens are unknown."""
        ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall clock in Unix seconds, a steady one that never jumps, and waiting."""

    now: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
