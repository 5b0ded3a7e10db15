"""Whoever keeps the money, as a sender sees it.

What belongs here: the protocol. What does not: prices and caps (`money/`).
"""

from decimal import Decimal
from typing import Any, Protocol

from qa_pipeline.calls import Usage
from qa_pipeline.llm.base import Request


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
