"""What a hosted model asks before it spends and tells after it spent.

What belongs here: the protocol of whoever keeps the money, and one that lets everything pass. What does not:
prices and caps (`money/`).
"""

from dataclasses import dataclass
from typing import Any, Protocol

from qa_pipeline.calls import Usage
from qa_pipeline.llm.base import Request


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call cost; both None where model or tokens are unknown."""

    amount: float | None = None
    currency: str | None = None


class Reservation(Protocol):
    """Room set aside for one call."""

    async def settle(self, usage: Usage) -> Cost:
        """The call was charged, or may have been; unknown tokens count as reserved."""
        ...

    async def cancel(self) -> None:
        """The call was not charged."""
        ...


class Accounts(Protocol):
    """Keeps what is spent within its caps."""

    async def reserve(self, request: Request[Any], tokens_in: int) -> Reservation:
        """Set room aside for a call at its worst, waiting for calls in flight that may free some.

        Raises:
            BudgetExhaustedError: no room is left, and none will be.
        """
        ...


class NoAccounts:
    """Counts nothing and caps nothing."""

    async def reserve(self, request: Request[Any], tokens_in: int) -> "NoAccounts":
        """Let the call pass."""
        return self

    async def settle(self, usage: Usage) -> Cost:
        """Forget it."""
        return Cost()

    async def cancel(self) -> None:
        """Forget it."""
