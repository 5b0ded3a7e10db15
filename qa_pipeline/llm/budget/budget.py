"""Hard caps on what a run spends: room is taken for the worst case before a call, and given back after it.

Room is given in the order in which it was asked for. A call waits while those in flight may leave room, and
is refused once it would not fit even if they came to nothing.
"""

import threading
import time
from asyncio import CancelledError, wrap_future
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from qa_pipeline.errors import BudgetExhaustedError, SettingsError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.budget.amounts import Amount, Caps
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


class Reservation:
    """Room taken for one call, or for the requests of a job. The first call of a method ends it.

    `held` is the room; `day` the same under the caps of a day, where there are any.
    """

    __slots__ = ("_budget", "_price", "day", "held", "is_open")

    def __init__(self, budget: "Budget", held: Amount, price: Price | None) -> None:
        self.held = held
        self.day: DayReservation | None = None
        self.is_open = True
        self._budget = budget
        self._price = price

    def settle(self, usage: Usage, cost: Decimal | float | None = None) -> Decimal | None:
        """Count what the call took. Where that is not known, all that was held counts as spent.

        Args:
            usage: as the provider reports it; numbers that cannot be true count as not reported.
            cost: in the currency of the prices; None computes it from the usage.

        Returns:
            The computed cost; None where its tokens or the price are not known, or another was given.
        """
        computed = self._budget.cost_at(self._price, usage) if cost is None else None
        took = self._budget.taken(self.held, usage, computed if cost is None else cost)
        self._close(self.held if took is None else took, known=took is not None)
        return computed

    def spend(self) -> None:
        """Count all that was held as spent by the run; `day` stays held, until the job is collected."""
        self._budget.close(self, self.held, known=True)

    def cancel(self) -> None:
        """Give the room back: nothing was charged."""
        self._close(Amount(), known=True)

    def _close(self, took: Amount, *, known: bool) -> None:
        if self._budget.close(self, took, known=known) and self.day is not None:
            self._budget.settle_day(self.day, took)


@dataclass(slots=True, eq=False)
class _Waiter:
    want: Amount
    price: Price | None
    message: str
    granted: "Future[Reservation]" = field(default_factory=Future)


class Budget:
    """The caps of one run, and those of a day if it is given a ledger.

    Any thread and event loop may use it. `spent` is what settled calls took, `unknown_usage` how many of them
    the provider did not report the tokens of, `exceeded` how many took more than was held for them.

    Args:
        settings: the caps.
        prices: to know what a call may cost at most.
        days: keeps caps of a UTC day across processes; None where none is set.
        clock: Unix seconds.
    """

    def __init__(
        self,
        settings: BudgetSettings,
        prices: PriceTable,
        *,
        days: DayLedger | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.spent = Amount()
        self.unknown_usage = 0
        self.exceeded = 0
        self.currency = prices.currency
        self._caps = Caps.of_run(settings)
        self._needs_price = caps_cost(settings)
        self._prices = prices
        self._known: dict[str, Price | None] = {}
        self._days = days
        self._clock = clock
        self._lock = threading.Lock()
        self._held = Amount()
        self._waiting: deque[_Waiter] = deque()

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
        want = self.most(asked_model, tokens_in, most_tokens_out, batched=False)
        message = f"{request.role}, {asked_model}"
        reservation = await self._take(want, self.price(asked_model), message)
        if self._days is not None:
            try:
                reservation.day = await self._days.take(want, message)
            except BaseException:
                reservation.cancel()
                raise
        return reservation

    async def commit(self, wants: Sequence[Amount], asked_model: str, message: str) -> Reservation:
        """Take room for as many requests of a job as fit, the first ones first; `held.calls` is how many.

        It waits for no calls in flight, since the job may be in flight for a day itself.

        Raises:
            BudgetExhaustedError: not even the first one fits.
            SettingsError: cost is capped and the model has no price.
            ReplyStoreError: the caps of the day cannot be read.
        """
        price = self.price(asked_model)
        with self._lock:
            taken = self.spent + self._held
            room = Amount()
            for want in wants:
                unit = self._caps.broken_by(taken + room + want)
                if unit is not None and not room.calls:
                    raise self._caps.refusal(unit, taken, want, message, self.currency)
                if unit is not None:
                    break
                room += want
            reservation = self._hold(room, price)
        try:
            while self._days is not None and reservation.day is None:
                try:
                    reservation.day = await self._days.take(reservation.held, message, wait=False)
                except BudgetExhaustedError:
                    count = reservation.held.calls // 2
                    if not count:
                        raise
                    self._shrink(reservation, sum(wants[:count], Amount()))
        except BaseException:
            reservation.cancel()
            raise
        return reservation

    def settle_day(self, held: DayReservation, took: Amount) -> None:
        """Count what was taken on the day on which room was held; `end` writes it."""
        if self._days is not None:
            self._days.settle(held, took)

    def end(self) -> None:
        """Write what a ledger of days has not written yet; the budget can still be used.

        Raises:
            ReplyStoreError: it cannot be written.
        """
        if self._days is not None:
            self._days.close()

    def most(self, asked_model: str, tokens_in: int, most_tokens_out: int, *, batched: bool) -> Amount:
        """What one call may take at most."""
        price, today = self.price(asked_model), utc_day(self._clock())
        cost = price.most(tokens_in, most_tokens_out, today, batched=batched) if price else Decimal(0)
        return Amount(1, tokens_in + most_tokens_out, cost)

    def price(self, asked_model: str) -> Price | None:
        """The price of a model by its full name.

        Raises:
            SettingsError: cost is capped and there is none.
        """
        if asked_model not in self._known:
            self._known[asked_model] = self._prices.of_name(asked_model)
        found = self._known[asked_model]
        if found is None and self._needs_price:
            raise SettingsError(unpriced_message(asked_model))
        return found

    def cost(self, asked_model: str, usage: Usage, *, batched: bool = False) -> Decimal | None:
        """What a call of now costs; None where its tokens or the price are not known."""
        return self.cost_at(self.price(asked_model), usage, batched=batched)

    def cost_at(self, price: Price | None, usage: Usage, *, batched: bool = False) -> Decimal | None:
        """The same at a price."""
        return price.cost(usage, utc_day(self._clock()), batched=batched) if price else None

    def taken(self, held: Amount, usage: Usage, cost: Decimal | float | None) -> Amount | None:
        """What a call took, at the held cost where its own is not known; None where its tokens are not."""
        reported = believed(usage)
        if reported.input_tokens is None or reported.output_tokens is None:
            return None
        known = cost if cost is not None and cost >= 0 else held.cost
        exact = known if isinstance(known, Decimal) else Decimal(repr(known))
        return Amount(held.calls, reported.input_tokens + reported.output_tokens, exact)

    def close(self, reservation: Reservation, took: Amount, *, known: bool) -> bool:
        """Give back what was held and count what was taken; False when that was done before."""
        with self._lock:
            if not reservation.is_open:
                return False
            reservation.is_open = False
            self._held -= reservation.held
            self.spent += took
            self.unknown_usage += not known
            self.exceeded += took.tokens > reservation.held.tokens
            self._serve()
            return True

    async def _take(self, want: Amount, price: Price | None, message: str) -> Reservation:
        with self._lock:
            refusal = self._hopeless(want, message)
            if refusal is not None:
                raise refusal
            if not self._waiting and self._fits(want):
                return self._hold(want, price)
            waiter = _Waiter(want, price, message)
            self._waiting.append(waiter)
        try:
            return await wrap_future(waiter.granted)
        except CancelledError:
            with self._lock:
                if waiter in self._waiting:
                    self._waiting.remove(waiter)
                    self._serve()
            granted = waiter.granted  # maybe meanwhile
            if granted.done() and not granted.cancelled() and granted.exception() is None:
                granted.result().cancel()
            raise

    def _shrink(self, reservation: Reservation, room: Amount) -> None:
        with self._lock:
            self._held -= reservation.held - room
            reservation.held = room
            self._serve()

    def _serve(self) -> None:
        """Give room to those who wait, in order, and refuse those who can no longer get it."""
        while self._waiting:
            waiter = self._waiting[0]
            refusal = self._hopeless(waiter.want, waiter.message)
            if refusal is None and not self._fits(waiter.want):
                return
            self._waiting.popleft()
            if not waiter.granted.set_running_or_notify_cancel():
                continue
            if refusal is not None:
                waiter.granted.set_exception(refusal)
            else:
                waiter.granted.set_result(self._hold(waiter.want, waiter.price))

    def _hold(self, want: Amount, price: Price | None) -> Reservation:
        self._held += want
        return Reservation(self, want, price)

    def _fits(self, want: Amount) -> bool:
        return self._caps.broken_by(self.spent + self._held + want) is None

    def _hopeless(self, want: Amount, message: str) -> BudgetExhaustedError | None:
        unit = self._caps.broken_by(self.spent + want)
        return None if unit is None else self._caps.refusal(unit, self.spent, want, message, self.currency)


def open_budget(settings: LLMSettings, database: Database) -> Budget:
    """The budget of one run; the database is opened only where a cap of a day is set.

    Raises:
        SettingsError: the prices cannot be read, or cost is capped and a model has no price.
    """
    prices = load_prices(settings.budget.prices)
    check_cost_caps(settings, prices)
    caps = Caps.of_day(settings.budget)
    days = DayLedger(database, caps, currency=prices.currency) if caps.any else None
    return Budget(settings.budget, prices, days=days)
