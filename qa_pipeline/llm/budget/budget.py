"""Hard caps on what a run spends: room is taken for the worst case before a call, and given back after it.

A call waits while those in flight, of this process or of another, may leave room, and is refused once it
would not fit even if they came to nothing.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from qa_pipeline.errors import SettingsError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.budget.amounts import Amount, Caps, NoRoom
from qa_pipeline.llm.budget.daily import DayLedger, DayReservation
from qa_pipeline.llm.budget.prices import (
    Price,
    PriceTable,
    believed,
    caps_cost,
    check_cost_caps,
    load_prices,
    unpriced_message,
    utc_day,
)
from qa_pipeline.llm.store.database import Database
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import BudgetSettings, LLMSettings

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two looks for room: short beside a call, which takes seconds; each may be a transaction."""


@dataclass(slots=True, eq=False)
class Reservation:
    """Room taken for one call, or for the requests of a job. The first call of a method ends it.

    `amount` is the room; `day` the same under the caps of a day, where there are any.
    """

    budget: "Budget"
    asked_model: str
    amount: Amount
    day: DayReservation | None = None
    is_open: bool = True

    def settle(self, usage: Usage) -> Decimal | None:
        """Count what the call took. Where that is not known, all that was reserved counts as spent.

        Args:
            usage: as the provider reports it; numbers that cannot be true count as not reported.

        Returns:
            The cost; None where its tokens or the price are not known.
        """
        cost = self.budget.cost(self.asked_model, usage)
        self.budget.close(self, self.budget.amount_taken(self.amount, usage, cost))
        return cost

    def spend(self) -> None:
        """Count all that was reserved as spent by the run; `day` stays open until the job is collected."""
        self.budget.close(self, self.amount, of_day=False)

    def cancel(self) -> None:
        """Give the room back: nothing was charged."""
        self.budget.close(self, Amount())


class Budget:
    """The caps of one run, and those of a day if it is given a ledger.

    Any thread and event loop may use it. `spent` is what settled calls took.

    Args:
        settings: the caps.
        prices: to know what a call may cost at most.
        days: keeps caps of a UTC day across processes; None where none is set.
        clock: Unix seconds.
        sleep: waits for calls in flight; tests pass one that takes no time.
    """

    def __init__(
        self,
        settings: BudgetSettings,
        prices: PriceTable,
        *,
        days: DayLedger | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.spent = Amount()
        self.currency = prices.currency
        self._caps = Caps.of_run(settings)
        self._needs_price = caps_cost(settings)
        self._prices = prices
        self._days = days
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._reserved = Amount()

    async def reserve(
        self, request: Request[Any], asked_model: str, tokens_in: int, most_tokens_out: int
    ) -> Reservation:
        """Take room for a call, and wait for it while calls in flight may leave some.

        Args:
            request: what is asked.
            asked_model: name of the model that is asked.
            tokens_in: tokens of the prompt, estimated upwards.
            most_tokens_out: tokens of the longest reply, thoughts included.

        Raises:
            BudgetExhaustedError: a cap leaves no room, whatever becomes of the calls in flight.
            SettingsError: cost is capped and nobody knows the price of the model.
        """
        want = self.worst_case(asked_model, tokens_in, most_tokens_out, batched=False)
        return await self._wait_for_room([want], asked_model, f"{request.role}, {asked_model}", wait=True)

    async def commit(self, wants: Sequence[Amount], asked_model: str, message: str) -> Reservation:
        """Take room for as many requests of a job as fit, the first ones first; `amount.calls` is how many.

        It waits for no calls in flight, since the job may be in flight for a day itself.

        Raises:
            BudgetExhaustedError: not even the first one fits.
            SettingsError: cost is capped and the model has no price.
            ReplyStoreError: the caps of the day cannot be read.
        """
        return await self._wait_for_room(wants, asked_model, message, wait=False)

    def settle_day(self, reservation: DayReservation, took: Amount) -> None:
        """Count what was taken on the day of the reservation; `end` writes it."""
        if self._days is not None:
            self._days.settle(reservation, took)

    def end(self) -> None:
        """Write what a ledger of days has not written yet; the budget can still be used.

        Raises:
            ReplyStoreError: it cannot be written.
        """
        if self._days is not None:
            self._days.close()

    def worst_case(self, asked_model: str, tokens_in: int, most_tokens_out: int, *, batched: bool) -> Amount:
        """Return what one call may take at most.

        Raises:
            SettingsError: cost is capped and nobody knows the price of the model.
        """
        price, today = self._price(asked_model), utc_day(self._clock())
        cost = price.most(tokens_in, most_tokens_out, today, batched=batched) if price else Decimal(0)
        return Amount(1, tokens_in + most_tokens_out, cost)

    def cost(self, asked_model: str, usage: Usage, *, batched: bool = False) -> Decimal | None:
        """Return the cost of a call of now; None where its tokens or the price are unknown."""
        price = self._price(asked_model)
        return price.cost(usage, utc_day(self._clock()), batched=batched) if price else None

    def amount_taken(self, reserved: Amount, usage: Usage, cost: Decimal | None) -> Amount:
        """Return what a call took: all its reservation where its tokens, or its cost, are unknown."""
        reported = believed(usage)
        if reported.input_tokens is None or reported.output_tokens is None:
            return reserved
        tokens = reported.input_tokens + reported.output_tokens
        return Amount(reserved.calls, tokens, reserved.cost if cost is None else cost)

    def close(self, reservation: Reservation, took: Amount, *, of_day: bool = True) -> None:
        """Close the reservation, unless that was done before, and count what was taken, also of the day."""
        with self._lock:
            if not reservation.is_open:
                return
            reservation.is_open = False
            self._reserved -= reservation.amount
            self.spent += took
        if of_day and reservation.day is not None:
            self.settle_day(reservation.day, took)

    async def _wait_for_room(
        self, wants: Sequence[Amount], asked_model: str, message: str, *, wait: bool
    ) -> Reservation:
        pause = _FIRST_PAUSE
        while True:
            reservation = await self._reserve(wants, asked_model)
            if isinstance(reservation, Reservation):
                return reservation
            if reservation.hopeless or not wait:
                caps = self._days.caps if self._days is not None and reservation.day else self._caps
                today = utc_day(self._clock()).isoformat()
                raise caps.refusal(reservation, wants[0], message, self.currency, today)
            await self._sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _reserve(self, wants: Sequence[Amount], asked_model: str) -> Reservation | NoRoom:
        """Return room of the run and of the day, as far as there is any at present."""
        with self._lock:
            room = self._caps.room(self.spent, self._reserved, wants)
            if isinstance(room, NoRoom):
                return room
            self._reserved += room
        reservation = Reservation(self, asked_model, room)
        if self._days is None:
            return reservation
        try:
            day = await self._days.take(wants[: room.calls])
        except BaseException:
            reservation.cancel()
            raise
        if isinstance(day, NoRoom):
            reservation.cancel()
            return day
        with self._lock:
            self._reserved -= room - day.amount
            reservation.amount, reservation.day = day.amount, day
        return reservation

    def _price(self, asked_model: str) -> Price | None:
        price = self._prices.of_name(asked_model)
        if price is None and self._needs_price:
            raise SettingsError(unpriced_message(asked_model))
        return price


def open_budget(settings: LLMSettings, database: Database) -> Budget:
    """Return the budget of one run; the database is opened only where a cap of a day is set.

    Raises:
        SettingsError: the prices cannot be read, or cost is capped and a model has no price.
    """
    prices = load_prices(settings.budget.prices)
    check_cost_caps(settings, prices)
    caps = Caps.of_day(settings.budget)
    days = DayLedger(database, caps) if caps.any else None
    return Budget(settings.budget, prices, days=days)
