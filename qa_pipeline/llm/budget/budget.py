"""Hard caps on what a run spends: room is taken for the worst case before a call, and given back after it.

Room is given in the order in which it was asked for. A call waits while those in flight may leave room, and
is refused once it would not fit even if they came to nothing.
"""

import json
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
from qa_pipeline.llm.budget.amounts import Amount, Caps, refusal_of_run
from qa_pipeline.llm.budget.daily import DayLedger, DayReservation, Entry, Settlement
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
    """Room taken for one call. Of `settle` and `cancel` the first counts, and a later one does nothing."""

    __slots__ = ("_budget", "_price", "entry", "held", "is_open")

    def __init__(self, budget: "Budget", held: Amount, price: Price | None) -> None:
        self.held = held
        self._budget = budget
        self._price = price
        self.entry: Entry | None = None
        self.is_open = True

    def settle(self, usage: Usage, cost: Decimal | float | None = None) -> None:
        """Count what the call took. Where that is not known, all that was held counts as spent.

        Args:
            usage: as the provider tells it; numbers that cannot be true count as not told.
            cost: in the currency of the prices; None computes it from the usage.
        """
        took, known = self._budget.taken(self.held, self._price, usage, cost)
        self._close(took, known=known)

    def spend(self) -> None:
        """Count all that was held as spent."""
        self._close(self.held, known=True)

    def cancel(self) -> None:
        """Give the room back: nothing was charged."""
        self._close(Amount(), known=True)

    def _close(self, took: Amount, *, known: bool) -> None:
        if self._budget.close(self, took, known=known) and self.entry is not None:
            self.entry.settle(took)


@dataclass(slots=True, eq=False)
class _Waiter:
    want: Amount
    price: Price | None
    message: str
    granted: "Future[Reservation]" = field(default_factory=Future)


class Budget:
    """The caps of one run, and those of a day if it is given a ledger.

    Any thread and event loop may use it. `spent` is what settled calls took, `unknown_usage` how many of them
    the provider did not tell the tokens of, `exceeded` how many took more than was held for them.

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
        self._caps = Caps.of_run(settings)
        self._needs_price = caps_cost(settings)
        self._prices = prices
        self._known: dict[str, Price | None] = {}
        self.days = days
        self._clock = clock
        self._lock = threading.Lock()
        self._held = Amount()
        self._waiting: deque[_Waiter] = deque()

    @property
    def currency(self) -> str:
        """Of all costs."""
        return self._prices.currency

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
        price = self.price(asked_model)
        want = self.most(asked_model, tokens_in, most_tokens_out, batched=False)
        message = f"{request.role}, {asked_model}"
        reservation = await self._take(want, price, message)
        if self.days is not None:
            try:
                reservation.entry = await self.days.take(want, message)
            except BaseException:
                reservation.cancel()
                raise
        return reservation

    def end(self) -> None:
        """Write what a ledger of days has not written yet; the budget can still be used.

        Raises:
            ReplyStoreError: it cannot be written.
        """
        if self.days is not None:
            self.days.close()

    def take_now(self, want: Amount, asked_model: str, message: str) -> Reservation:
        """Take room without waiting for calls in flight, for what may be in flight for a day.

        Raises:
            BudgetExhaustedError: there is none at present.
            SettingsError: see `price`.
        """
        price = self.price(asked_model)
        with self._lock:
            taken = self.spent + self._held
            unit = self._caps.broken_by(taken + want)
            if unit is not None:
                raise refusal_of_run(self._caps, unit, taken, want, message, self._prices.currency)
            return self._hold(want, price)

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
        price = self.price(asked_model)
        return price.cost(usage, utc_day(self._clock()), batched=batched) if price else None

    def taken(
        self, held: Amount, price: Price | None, usage: Usage, cost: Decimal | float | None
    ) -> tuple[Amount, bool]:
        """What a call took, and whether the provider told; all that was held where it did not."""
        message = believed(usage)
        if message.input_tokens is None or message.output_tokens is None:
            return held, False
        charged = price.cost(message, utc_day(self._clock())) if price and cost is None else cost
        known = charged if charged is not None and charged >= 0 else held.cost
        exact = known if isinstance(known, Decimal) else Decimal(repr(known))
        return Amount(held.calls, message.input_tokens + message.output_tokens, exact), True

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
            self._refuse_hopeless(want, message)
            if not self._waiting and self._fits(want):
                return self._hold(want, price)
            waiter = _Waiter(want, price, message)
            self._waiting.append(waiter)
        try:
            return await wrap_future(waiter.granted)
        except CancelledError:
            self._leave(waiter)
            raise

    def _leave(self, waiter: _Waiter) -> None:
        """Stand in the queue no longer; room that was granted meanwhile goes back."""
        with self._lock:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
                self._serve()
        granted = waiter.granted
        if granted.done() and not granted.cancelled() and granted.exception() is None:
            granted.result().cancel()

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

    def _refuse_hopeless(self, want: Amount, message: str) -> None:
        refusal = self._hopeless(want, message)
        if refusal is not None:
            raise refusal

    def _hopeless(self, want: Amount, message: str) -> BudgetExhaustedError | None:
        unit = self._caps.broken_by(self.spent + want)
        if unit is None:
            return None
        return refusal_of_run(self._caps, unit, self.spent, want, message, self._prices.currency)


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


@dataclass(frozen=True, slots=True)
class Commitment:
    """Room for the first `count` requests of those asked for; one of the two methods is called."""

    budget: Budget
    reservations: Sequence[Reservation]
    held: DayReservation | None

    @property
    def count(self) -> int:
        """How many requests have room."""
        return len(self.reservations)

    def spend(self) -> None:
        """They were submitted, or may have been."""
        for reservation in self.reservations:
            reservation.spend()

    def cancel(self) -> None:
        """They were not submitted."""
        for reservation in self.reservations:
            reservation.cancel()
        if self.held is not None:
            give_back(self.budget, self.held, Amount())


async def commit(budget: Budget, wants: Sequence[Amount], asked_model: str, message: str) -> Commitment:
    """Take room for as many requests as fit, the first ones first.

    Raises:
        BudgetExhaustedError: not even the first one fits.
        SettingsError: cost is capped and the model has no price.
        ReplyStoreError: the caps of the day cannot be read.
    """
    reservations: list[Reservation] = []
    for want in wants:
        try:
            reservations.append(budget.take_now(want, asked_model, message))
        except BudgetExhaustedError:
            if not reservations:
                raise
            break
    try:
        return await _of_day(budget, reservations, message)
    except BaseException:
        for reservation in reservations:
            reservation.cancel()
        raise


async def _of_day(budget: Budget, reservations: list[Reservation], message: str) -> Commitment:
    """Halve what the day has no room for until it fits."""
    if budget.days is None:
        return Commitment(budget, tuple(reservations), None)
    while True:
        want = sum((reservation.held for reservation in reservations), Amount())
        try:
            return Commitment(budget, tuple(reservations), await budget.days.take_now(want, message))
        except BudgetExhaustedError:
            if len(reservations) == 1:
                raise
        half = len(reservations) // 2
        for reservation in reservations[half:]:
            reservation.cancel()
        del reservations[half:]


def give_back(budget: Budget, held: DayReservation, took: Amount) -> None:
    """Count what a job took on the day it was submitted, in place of what it held.

    It is written when this returns: a job is collected once, and nobody would count it again.

    Raises:
        ReplyStoreError: it cannot be written.
    """
    if budget.days is not None:
        budget.days.settle(Settlement(held, took))
        budget.end()


def written(held: DayReservation | None) -> str | None:
    """As JSON, exactly."""
    if held is None:
        return None
    amount = held.amount
    room = {"calls": amount.calls, "tokens": amount.tokens, "cost": str(amount.cost)}
    named = {"reservation_id": held.reservation_id, "expires_at": held.expires_at}
    return json.dumps({"day": held.day} | named | room)


def restored(text: str | None) -> DayReservation | None:
    """What `written` wrote."""
    if text is None:
        return None
    parts = json.loads(text)
    amount = Amount(parts["calls"], parts["tokens"], Decimal(parts["cost"]))
    return DayReservation(parts["day"], amount, parts["expires_at"], parts["reservation_id"])
