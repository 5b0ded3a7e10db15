"""Caps of a UTC day, which hold for all runs and processes that share a store of replies."""

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal

import sqlalchemy as sa

from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.budget.amounts import Amount, Caps, NoRoom
from qa_pipeline.llm.budget.prices import utc_day
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import RESERVED, SPENT

LONGEST_CALL = 1800.0
"""Seconds after which a call is over, whatever its limits of time: who holds room longer has died."""
_BILLIONTHS = Decimal(1_000_000_000)
_FAR = 2 * LONGEST_CALL
"""The seconds ahead beyond which an expiry is of a clock that has been set back since."""
_LOCK = 7206136  # any number, the same for all runs: the key of the advisory lock in Postgres


@dataclass(frozen=True, slots=True)
class DayReservation:
    """The room reserved of a day."""

    day: str
    amount: Amount
    expires_at: float
    reservation_id: str = field(default_factory=lambda: uuid.uuid4().hex)


Settlement = tuple[DayReservation, Amount]
"""Room that was given, and what was taken of it."""


def write(
    database: Database, caps: Caps, wants: Sequence[Amount], settled: Sequence[Settlement], now: float
) -> DayReservation | NoRoom:
    """Settle, then give room for as many of the wanted calls as fit, the first ones first.

    Raises:
        ReplyStoreError: the database cannot be used.
    """

    def work(connection: sa.Connection) -> DayReservation | NoRoom:
        if database.is_postgres:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        for reservation, took in settled:
            _settle(connection, reservation, took, now)
        return _reserve(connection, caps, wants, now)

    return database.transact(work)


def _reserve(
    connection: sa.Connection, caps: Caps, wants: Sequence[Amount], now: float
) -> DayReservation | NoRoom:
    _expire(connection, now)
    day = _current_day(connection, now)
    spent, reserved = (
        sum(
            (_amount(row) for row in connection.execute(sa.select(table).where(table.c.day == day))), Amount()
        )
        for table in (SPENT, RESERVED)
    )
    room = caps.room(spent, reserved, wants, day)
    if isinstance(room, NoRoom):
        return room
    reservation = DayReservation(day, room, now + LONGEST_CALL)
    if wants:
        row = {"reservation_id": reservation.reservation_id, "day": day, "expires_at": reservation.expires_at}
        connection.execute(RESERVED.insert(), row | _columns(room))
    return reservation


def _settle(connection: sa.Connection, reservation: DayReservation, took: Amount, now: float) -> None:
    deleted = connection.execute(
        RESERVED.delete().where(RESERVED.c.reservation_id == reservation.reservation_id)
    )
    if deleted.rowcount:
        _count(connection, reservation.day, took)
    elif not now <= reservation.expires_at <= now + _FAR:  # it has expired, and was counted as spent in full
        _count(connection, reservation.day, took - reservation.amount)
    # else this was written before, and only the server's confirmation got lost


def _expire(connection: sa.Connection, now: float) -> None:
    is_expired = sa.not_(RESERVED.c.expires_at.between(now, now + _FAR))
    rows = connection.execute(sa.select(RESERVED).where(is_expired)).all()
    for row in rows:
        _count(connection, row.day, _amount(row))
    if rows:
        connection.execute(RESERVED.delete().where(is_expired))


def _count(connection: sa.Connection, day: str, amount: Amount) -> None:
    if amount == Amount():
        return
    columns = _columns(amount)
    more = {name: SPENT.c[name] + value for name, value in columns.items()}
    counted = connection.execute(SPENT.update().where(SPENT.c.day == day).values(more)).rowcount
    if not counted and amount.calls >= 0:  # what is given back to a day that somebody deleted is gone with it
        connection.execute(SPENT.insert().values({"day": day, **columns}))


def _current_day(connection: sa.Connection, now: float) -> str:
    """Return today, or the latest day that anything was counted on."""
    days = [utc_day(now).isoformat()]
    for table in (SPENT, RESERVED):
        latest = connection.execute(sa.select(sa.func.max(table.c.day))).scalar()
        days += [latest] if latest is not None else []
    return max(days)


def _columns(amount: Amount) -> dict[str, int]:
    """Return the columns of an amount; a cost that is no whole number of billionths is rounded up."""
    cost = int((amount.cost * _BILLIONTHS).to_integral_value(ROUND_CEILING))
    return {"calls": amount.calls, "tokens": amount.tokens, "cost": cost}


def _amount(row: sa.Row[tuple[object, ...]]) -> Amount:
    return Amount(int(row.calls), int(row.tokens), Decimal(row.cost) / _BILLIONTHS)


class DayLedger:
    """The caps of a day over the tables `spent` and `reserved`.

    One thread of its own does the transactions: no event loop waits for the database.

    Args:
        database: shared by all runs of a deployment.
        caps: of a day.
        clock: Unix seconds.
    """

    def __init__(self, database: Database, caps: Caps, *, clock: Callable[[], float] = time.time) -> None:
        self.caps = caps
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._settled: list[Settlement] = []
        self._worker: ThreadPoolExecutor | None = None

    async def take(self, wants: Sequence[Amount]) -> DayReservation | NoRoom:
        """Take room of today for as many calls as fit, the first ones first.

        Raises:
            ReplyStoreError: the database cannot be used.
        """
        with self._lock:
            reply = self._submit(wants)
        try:
            return await asyncio.wrap_future(reply)
        except asyncio.CancelledError:
            reply.add_done_callback(self._give_back)
            raise

    def settle(self, reservation: DayReservation, took: Amount) -> None:
        """Count what a call took; written soon, and at the latest before anything else is asked for."""
        with self._lock:
            self._settled.append((reservation, took))
            self._submit([])

    def close(self) -> None:
        """Write all that is settled.

        Raises:
            ReplyStoreError: it cannot be written; the room stays held until it expires, and then counts as
                spent.
        """
        # no result is waited for: at the end of the process, or in the worker's own thread, none would come
        while (worker := self._taken_worker()) is not None:  # what a cancelled call gives back begins another
            worker.shutdown()
        if self._settled:
            self._write([])

    def _taken_worker(self) -> ThreadPoolExecutor | None:
        with self._lock:
            worker, self._worker = self._worker, None
        return worker

    def _submit(self, wants: Sequence[Amount]) -> "Future[DayReservation | NoRoom]":
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="day-ledger")
        return self._worker.submit(self._write, wants)

    def _give_back(self, reply: "Future[DayReservation | NoRoom]") -> None:
        """Give back what was taken for somebody who no longer waits."""
        reservation = None if reply.cancelled() or reply.exception() is not None else reply.result()
        if isinstance(reservation, DayReservation):
            self.settle(reservation, Amount())

    def _write(self, wants: Sequence[Amount]) -> DayReservation | NoRoom:
        with self._lock:
            settled, self._settled = self._settled, []
        try:
            return write(self._database, self.caps, wants, settled, self._clock())
        except ReplyStoreError:
            with self._lock:  # whoever asks next tries again, and gets the error
                self._settled = settled + self._settled
            raise
