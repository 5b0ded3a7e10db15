"""Enforce hard caps on the spending of a run.

The worst case of a call is reserved before it, and unused room is returned after it. A call waits while calls
in flight may free room. It is refused if it would not fit even if these are free.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from qa_pipeline.errors import BudgetExhaustedError, SettingsError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.budget.prices import Price, believed, price_by_name, unpriced_message
from qa_pipeline.records import Usage
from qa_pipeline.settings.base import PREFIX
from qa_pipeline.settings.llm import BudgetSettings

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""Shortest and longest pause in seconds between two checks for room. Calls take seconds."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Calls, tokens of prompts and replies, and cost in USD."""

    calls: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room for a call. It must be ended once, with `settle` or `cancel`."""

    budget: "Budget"
    price: Price | None
    amount: Amount

    def settle(self, usage: Usage) -> Decimal | None:
        """Count the used tokens and return the cost, or None if tokens or price are unknown.

        If the tokens are unknown, the whole reservation counts as spent.
        """
        cost = self.price.cost(usage, time.time()) if self.price else None
        took, known = self.amount, believed(usage)
        if known.input_tokens is not None and known.output_tokens is not None:
            took = Amount(
                took.calls, known.input_tokens + known.output_tokens, took.cost if cost is None else cost
            )
        self.budget.close(self, took)
        return cost

    def cancel(self) -> None:
        """Return all the room, because the call was free."""
        self.budget.close(self, Amount())


class Budget:
    """The caps of a run.

    It may be shared by threads and event loops. `spent` is the amount of settled calls.
    """

    def __init__(
        self,
        settings: BudgetSettings,
        *,
        price_by_name: Callable[[str], Price | None] = price_by_name,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.spent = Amount()
        # repr keeps the written decimal, so 0.1 is exactly a tenth
        most_cost = None if settings.max_cost is None else Decimal(repr(settings.max_cost))
        self._caps = {"calls": settings.max_calls, "tokens": settings.max_tokens, "cost": most_cost}
        self._price_by_name = price_by_name
        self._sleep = sleep
        self._lock = threading.Lock()
        self._reserved = Amount()

    async def reserve(
        self, request: Request[Any], asked_model: str, tokens_in: int, most_tokens_out: int
    ) -> Reservation:
        """Reserve room for a call, and wait while calls in flight may free some.

        Raises:
            BudgetExhaustedError: a cap is exceeded even if the calls in flight are free.
            SettingsError: cost is capped and the price of the model is unknown.
        """
        price = self._price_by_name(asked_model)
        if price is None and self._caps["cost"] is not None:
            raise SettingsError(unpriced_message(asked_model))
        most_cost = price.most(tokens_in, most_tokens_out, time.time()) if price else Decimal(0)
        want = Amount(1, tokens_in + most_tokens_out, most_cost)
        pause = _FIRST_PAUSE
        while True:
            with self._lock:
                if self._cap_exceeded_by(self.spent + self._reserved + want) is None:
                    self._reserved += want
                    return Reservation(self, price, want)
                cap = self._cap_exceeded_by(self.spent + want)
            if cap is not None:
                raise self._refusal(cap, want, f"{request.role}, {asked_model}")
            await self._sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def close(self, reservation: Reservation, took: Amount) -> None:
        """Close the reservation and count the amount taken."""
        with self._lock:
            self._reserved -= reservation.amount
            self.spent += took

    def _cap_exceeded_by(self, amount: Amount) -> str | None:
        """Return the unit of the first cap that an amount exceeds, if any."""
        for unit, cap in self._caps.items():
            if cap is not None and getattr(amount, unit) > cap:
                return unit
        return None

    def _refusal(self, unit: str, want: Amount, next_call: str) -> BudgetExhaustedError:
        name, spent = f"llm.budget.max_{unit}", self.spent
        variable = f"{PREFIX}{name.upper().replace('.', '__')}"
        return BudgetExhaustedError(
            f"{name}: the cap of this run is {self._caps[unit]}; {getattr(spent, unit)} are spent in "
            f"{spent.calls} calls, and the next may take {getattr(want, unit)} ({next_call}). Every reply "
            f"received is stored: run again to go on from here, with a higher {variable} if need be"
        )
