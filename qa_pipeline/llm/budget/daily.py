"""Caps of a UTC day, which hold for all runs and processes that share a store of replies.

All that is asked for while a transaction runs goes into the next one together, so that hundreds of calls in
flight do not queue for the database one by one. One thread of its own does them: no event loop waits.
"""

import asyncio
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal

import sqlalchemy as sa

from qa_pipeline.errors import BudgetExhaustedError, ReplyStoreError
from qa_pipeline.llm.budget.amounts import Amount, Caps, refusal_of_day
from qa_pipeline.llm.budget.prices import utc_day
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import RESERVED, SPENT

LONGEST_CALL = 1800.0
"""Seconds after which a call is over, whatever its limits of time: who holds room longer has died."""
_BILLIONTHS = Decimal(1_000_000_000)
_FAR = 2 * LONGEST_CALL
"""What expires later still was taken by a clock that has been set back since."""
_LOCK = 7206136


@dataclass(frozen=True, slots=True)
class Asked:
    """Room asked for."""

    want: Amount


@dataclass(frozen=True, slots=True)
class DayReservation:
    """Room that was given."""

    day: str
    amount: Amount
    expires_at: float
    reservation_id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of it."""

    held: DayReservation
    took: Amount


@dataclass(frozen=True, slots=True)
class State:
    """Why there is no room: what is spent, and whether calls in flight could leave any."""

    day: str
    unit: str
    spent: Amount
    hopeless: bool


class DayTables:
    """The two tables, under the caps of a day."""

    def __init__(self, database: Database, caps: Caps) -> None:
        self._database = database
        self._caps = caps

    def write(
        self, asks: Sequence[Asked], settled: Sequence[Settlement], now: float
    ) -> list[DayReservation | State]:
        """Settle, then give room in the order in which it was asked for, as far as the caps leave any.

        Raises:
            ReplyStoreError: the database cannot be used.
        """

        def work(connection: sa.Connection) -> list[DayReservation | State]:
            if self._database.is_postgres:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            for one in settled:
                _settle(connection, one, now)
            return self._give(connection, asks, now) if asks else []

        return self._database.transact(work)

    def _give(
        self, connection: sa.Connection, asks: Sequence[Asked], now: float
    ) -> list[DayReservation | State]:
        _expire(connection, now)
        day = _day(connection, now)
        spent = _spent(connection, day)
        held = _held(connection, day)
        answers: list[DayReservation | State] = []
        given: list[DayReservation] = []
        for ask in asks:
            unit = self._caps.broken_by(spent + held + ask.want)
            if unit is None:
                given.append(DayReservation(day, ask.want, now + LONGEST_CALL))
                answers.append(given[-1])
                held += ask.want
            else:
                beyond = self._caps.broken_by(spent + ask.want)
                answers.append(State(day, beyond or unit, spent, hopeless=beyond is not None))
        if given:
            connection.execute(RESERVED.insert(), [_row(one) for one in given])
        return answers


def _settle(connection: sa.Connection, settled: Settlement, now: float) -> None:
    held = settled.held
    found = connection.execute(RESERVED.delete().where(RESERVED.c.reservation_id == held.reservation_id))
    if found.rowcount:
        _count(connection, held.day, settled.took)
    elif not now <= held.expires_at <= now + _FAR:  # it has expired, and was counted as spent in full
        _count(connection, held.day, settled.took - held.amount)
    # else this was written before, and only the server's word that it was got lost


def _expire(connection: sa.Connection, now: float) -> None:
    gone = sa.not_(RESERVED.c.expires_at.between(now, now + _FAR))
    rows = connection.execute(sa.select(RESERVED).where(gone)).all()
    for row in rows:
        _count(connection, row.day, _amount(row))
    if rows:
        connection.execute(RESERVED.delete().where(gone))


def _count(connection: sa.Connection, day: str, amount: Amount) -> None:
    if amount == Amount():
        return
    cost = _billionths(amount.cost)
    more = {
        "calls": SPENT.c.calls + amount.calls,
        "tokens": SPENT.c.tokens + amount.tokens,
        "cost": SPENT.c.cost + cost,
    }
    counted = connection.execute(SPENT.update().where(SPENT.c.day == day).values(more)).rowcount
    if not counted and amount.calls >= 0:  # what is given back to a day that somebody deleted is gone with it
        first = {"day": day, "calls": amount.calls, "tokens": amount.tokens, "cost": cost}
        connection.execute(SPENT.insert().values(first))


def _day(connection: sa.Connection, now: float) -> str:
    """Today, or the latest day that anything was counted on."""
    days = [utc_day(now).isoformat()]
    for table in (SPENT, RESERVED):
        latest = connection.execute(sa.select(sa.func.max(table.c.day))).scalar()
        days += [latest] if latest is not None else []
    return max(days)


def _spent(connection: sa.Connection, day: str) -> Amount:
    row = connection.execute(sa.select(SPENT).where(SPENT.c.day == day)).one_or_none()
    return Amount() if row is None else _amount(row)


def _held(connection: sa.Connection, day: str) -> Amount:
    rows = connection.execute(sa.select(RESERVED).where(RESERVED.c.day == day)).all()
    return sum((_amount(row) for row in rows), Amount())


def _row(held: DayReservation) -> dict[str, object]:
    return {
        "reservation_id": held.reservation_id,
        "day": held.day,
        "calls": held.amount.calls,
        "tokens": held.amount.tokens,
        "cost": _billionths(held.amount.cost),
        "expires_at": held.expires_at,
    }


def _amount(row: sa.Row[tuple[object, ...]]) -> Amount:
    return Amount(int(row.calls), int(row.tokens), Decimal(row.cost) / _BILLIONTHS)


def _billionths(cost: Decimal) -> int:
    return int((cost * _BILLIONTHS).to_integral_value(ROUND_CEILING))


_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


class Entry:
    """Room of a day taken for one call."""

    __slots__ = ("_held", "_ledger")

    def __init__(self, ledger: "DayLedger", held: DayReservation) -> None:
        self._ledger = ledger
        self._held = held

    def settle(self, took: Amount) -> None:
        """Count what the call took; nothing if it was not charged."""
        self._ledger.settle(Settlement(self._held, took))


@dataclass(slots=True)
class _Ask:
    asked: Asked
    answer: "Future[DayReservation | State]" = field(default_factory=Future)


class DayLedger:
    """The caps of a day over the tables `spent` and `reserved`.

    Args:
        database: shared by all runs of a deployment.
        caps: of a day.
        currency: of the prices, for messages.
        clock: Unix seconds.
        sleep: waits for calls of other processes; tests pass one that takes no time.
    """

    def __init__(
        self,
        database: Database,
        caps: Caps,
        *,
        currency: str = "USD",
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._tables = DayTables(database, caps)
        self._caps = caps
        self._currency = currency
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._asks: list[_Ask] = []
        self._settled: list[Settlement] = []
        self._worker: ThreadPoolExecutor | None = None

    async def take(self, want: Amount, message: str) -> Entry:
        """Take room of today for a call, and wait for it while others in flight may leave some.

        Raises:
            BudgetExhaustedError: the day has no room for it.
            ReplyStoreError: the database cannot be used.
        """
        pause = _FIRST_PAUSE
        while True:
            answer = await self._ask(want)
            if isinstance(answer, DayReservation):
                return Entry(self, answer)
            if answer.hopeless:
                raise self._refusal(answer, want, message)
            await self._sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def take_now(self, want: Amount, message: str) -> DayReservation:
        """Take room of today without waiting for calls in flight.

        Raises:
            BudgetExhaustedError: there is none at present.
            ReplyStoreError: the database cannot be used.
        """
        answer = await self._ask(want)
        if isinstance(answer, DayReservation):
            return answer
        raise self._refusal(answer, want, message)

    def settle(self, settled: Settlement) -> None:
        """Count what a call took; written soon, and at the latest before anything else is asked for."""
        with self._lock:
            self._settled.append(settled)
            self._run()

    def close(self) -> None:
        """Write all that is settled.

        Raises:
            ReplyStoreError: it cannot be written; the room stays held until it expires, and then counts as
                spent.
        """
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown()
        if self._settled:
            self._transact([], self._drain()[1])

    async def _ask(self, want: Amount) -> DayReservation | State:
        ask = _Ask(Asked(want))
        with self._lock:
            self._asks.append(ask)
            self._run()
        try:
            return await asyncio.wrap_future(ask.answer)
        except asyncio.CancelledError:
            ask.answer.add_done_callback(self._return)
            raise

    def _return(self, answer: "Future[DayReservation | State]") -> None:
        """Give back what was taken for somebody who no longer waits."""
        if not answer.cancelled() and answer.exception() is None:
            given = answer.result()
            if isinstance(given, DayReservation):
                self.settle(Settlement(given, Amount()))

    def _run(self) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="day-ledger")
        self._worker.submit(self._work)

    def _work(self) -> None:
        asks, settled = self._drain()
        asks = [ask for ask in asks if ask.answer.set_running_or_notify_cancel()]
        if not asks and not settled:
            return
        try:
            answers = self._transact([ask.asked for ask in asks], settled)
        except ReplyStoreError as error:
            with self._lock:  # whoever asks next tries again, and is told
                self._settled = settled + self._settled
            for ask in asks:
                ask.answer.set_exception(error)
            return
        for ask, answer in zip(asks, answers, strict=True):
            ask.answer.set_result(answer)

    def _drain(self) -> tuple[list[_Ask], list[Settlement]]:
        with self._lock:
            drained = self._asks, self._settled
            self._asks, self._settled = [], []
        return drained

    def _transact(self, asks: list[Asked], settled: list[Settlement]) -> list[DayReservation | State]:
        return self._tables.write(asks, settled, self._clock())

    def _refusal(self, state: State, want: Amount, message: str) -> BudgetExhaustedError:
        today = utc_day(self._clock()).isoformat()
        unit = state.unit
        return refusal_of_day(self._caps, unit, state.spent, want, message, self._currency, state.day, today)
