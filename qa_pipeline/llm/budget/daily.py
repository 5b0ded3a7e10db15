"""Caps of a UTC day, which hold for all runs and processes that share a store of replies.

All that is asked for while a transaction runs goes into the next one together, so that hundreds of calls in
flight do not queue for the database one by one. One thread of its own does them: no event loop waits.
"""

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal

import sqlalchemy as sa

from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.budget.amounts import Amount, Caps
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
class DayReservation:
    """Room of a day that was given."""

    day: str
    amount: Amount
    expires_at: float
    reservation_id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def written(self) -> str:
        """As JSON, exactly."""
        room = {"calls": self.amount.calls, "tokens": self.amount.tokens, "cost": str(self.amount.cost)}
        named = {"day": self.day, "reservation_id": self.reservation_id, "expires_at": self.expires_at}
        return json.dumps(named | room)

    @classmethod
    def restored(cls, text: str) -> "DayReservation":
        """What `written` wrote."""
        parts = json.loads(text)
        amount = Amount(parts["calls"], parts["tokens"], Decimal(parts["cost"]))
        return cls(parts["day"], amount, parts["expires_at"], parts["reservation_id"])


Settlement = tuple[DayReservation, Amount]
"""Room that was given, and what was taken of it."""


@dataclass(frozen=True, slots=True)
class State:
    """Why there is no room: what is spent, and whether calls in flight could leave any."""

    day: str
    unit: str
    spent: Amount
    hopeless: bool


def write(
    database: Database, caps: Caps, wants: Sequence[Amount], settled: Sequence[Settlement], now: float
) -> list[DayReservation | State]:
    """Settle, then give room in the order in which it was asked for, as far as the caps leave any.

    Raises:
        ReplyStoreError: the database cannot be used.
    """

    def work(connection: sa.Connection) -> list[DayReservation | State]:
        if database.is_postgres:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        for held, took in settled:
            _settle(connection, held, took, now)
        return _give(connection, caps, wants, now) if wants else []

    return database.transact(work)


def _give(
    connection: sa.Connection, caps: Caps, wants: Sequence[Amount], now: float
) -> list[DayReservation | State]:
    _expire(connection, now)
    day = _day(connection, now)
    spent, held = (
        sum(
            (_amount(row) for row in connection.execute(sa.select(table).where(table.c.day == day))), Amount()
        )
        for table in (SPENT, RESERVED)
    )
    answers: list[DayReservation | State] = []
    for want in wants:
        unit = caps.broken_by(spent + held + want)
        if unit is None:
            answers.append(DayReservation(day, want, now + LONGEST_CALL))
            held += want
        else:
            beyond = caps.broken_by(spent + want)
            answers.append(State(day, beyond or unit, spent, hopeless=beyond is not None))
    given = [_row(answer) for answer in answers if isinstance(answer, DayReservation)]
    if given:
        connection.execute(RESERVED.insert(), given)
    return answers


def _settle(connection: sa.Connection, held: DayReservation, took: Amount, now: float) -> None:
    found = connection.execute(RESERVED.delete().where(RESERVED.c.reservation_id == held.reservation_id))
    if found.rowcount:
        _count(connection, held.day, took)
    elif not now <= held.expires_at <= now + _FAR:  # it has expired, and was counted as spent in full
        _count(connection, held.day, took - held.amount)
    # else this was written before, and only the server's confirmation got lost


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


def _row(held: DayReservation) -> dict[str, object]:
    amount = {"calls": held.amount.calls, "tokens": held.amount.tokens, "cost": _billionths(held.amount.cost)}
    return {"reservation_id": held.reservation_id, "day": held.day, "expires_at": held.expires_at, **amount}


def _amount(row: sa.Row[tuple[object, ...]]) -> Amount:
    return Amount(int(row.calls), int(row.tokens), Decimal(row.cost) / _BILLIONTHS)


def _billionths(cost: Decimal) -> int:
    return int((cost * _BILLIONTHS).to_integral_value(ROUND_CEILING))


_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


@dataclass(slots=True)
class _Ask:
    want: Amount
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
        self._database = database
        self._caps = caps
        self._currency = currency
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._asks: list[_Ask] = []
        self._settled: list[Settlement] = []
        self._worker: ThreadPoolExecutor | None = None

    async def take(self, want: Amount, message: str, *, wait: bool = True) -> DayReservation:
        """Take room of today for a call, and wait for it while others in flight may leave some.

        Args:
            want: at most what it takes.
            message: what it is, for the refusal.
            wait: without, it is refused where there is no room at present.

        Raises:
            BudgetExhaustedError: the day has no room for it.
            ReplyStoreError: the database cannot be used.
        """
        pause = _FIRST_PAUSE
        while True:
            state = await self._ask(want)
            if isinstance(state, DayReservation):
                return state
            if state.hopeless or not wait:
                today = utc_day(self._clock()).isoformat()
                raise self._caps.refusal(
                    state.unit, state.spent, want, message, self._currency, state.day, today
                )
            await self._sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def settle(self, held: DayReservation, took: Amount) -> None:
        """Count what a call took; written soon, and at the latest before anything else is asked for."""
        with self._lock:
            self._settled.append((held, took))
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
            write(self._database, self._caps, [], self._drain()[1], self._clock())

    async def _ask(self, want: Amount) -> DayReservation | State:
        ask = _Ask(want)
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
                self.settle(given, Amount())

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
            wants = [ask.want for ask in asks]
            answers = write(self._database, self._caps, wants, settled, self._clock())
        except ReplyStoreError as error:
            with self._lock:  # whoever asks next tries again, and gets the error
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
