"""Hard caps on what a run spends: room is taken for the worst case before a call, and given back after it.

What belongs here: taking room, waiting for it, and counting what was spent. What does not: prices, caps that
hold across processes (`days.py`), sending anything.

Room is given in the order in which it was asked for. A call waits while those in flight may leave room, and
is refused once it would not fit even if they came to nothing.
"""

import threading
import time
from asyncio import CancelledError, wrap_future
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from qa_pipeline.calls import Usage
from qa_pipeline.errors import BudgetExhaustedError, SettingsError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.money.amounts import Amount, Caps
from qa_pipeline.llm.money.days import DayLedger, Entry
from qa_pipeline.llm.money.price_table import caps_cost, unpriced_told
from qa_pipeline.llm.money.prices import Price, PriceTable, believed, utc_day
from qa_pipeline.llm.money.refusing import refusal_of_run
from qa_pipeline.settings.models import BudgetSettings


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
    told: str
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
        told = f"{request.role}, {asked_model}"
        reservation = await self._take(want, price, told)
        if self.days is not None:
            try:
                reservation.entry = await self.days.take(want, told)
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

    def take_now(self, want: Amount, asked_model: str, told: str) -> Reservation:
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
                raise refusal_of_run(self._caps, unit, taken, want, told, self._prices.currency)
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
            raise SettingsError(unpriced_told(asked_model))
        return found

    def cost(self, asked_model: str, usage: Usage, *, batched: bool = False) -> Decimal | None:
        """What a call of now costs; None where its tokens or the price are not known."""
        price = self.price(asked_model)
        return price.cost(usage, utc_day(self._clock()), batched=batched) if price else None

    def taken(
        self, held: Amount, price: Price | None, usage: Usage, cost: Decimal | float | None
    ) -> tuple[Amount, bool]:
        """What a call took, and whether the provider told; all that was held where it did not."""
        told = believed(usage)
        if told.input_tokens is None or told.output_tokens is None:
            return held, False
        charged = price.cost(told, utc_day(self._clock())) if price and cost is None else cost
        known = charged if charged is not None and charged >= 0 else held.cost
        exact = known if isinstance(known, Decimal) else Decimal(repr(known))
        return Amount(held.calls, told.input_tokens + told.output_tokens, exact), True

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

    async def _take(self, want: Amount, price: Price | None, told: str) -> Reservation:
        with self._lock:
            self._refuse_hopeless(want, told)
            if not self._waiting and self._fits(want):
                return self._hold(want, price)
            waiter = _Waiter(want, price, told)
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
            refusal = self._hopeless(waiter.want, waiter.told)
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

    def _refuse_hopeless(self, want: Amount, told: str) -> None:
        refusal = self._hopeless(want, told)
        if refusal is not None:
            raise refusal

    def _hopeless(self, want: Amount, told: str) -> BudgetExhaustedError | None:
        unit = self._caps.broken_by(self.spent + want)
        if unit is None:
            return None
        return refusal_of_run(self._caps, unit, self.spent, want, told, self._prices.currency)
