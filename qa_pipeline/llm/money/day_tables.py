"""What the runs of a deployment spent on a UTC day, and what they hold for calls in flight.

What belongs here: the tables `spent` and `reserved`, in one transaction at a time. What does not: waiting.

A reservation that outlives every call belongs to a process that died: its call may have been charged, so all
of it counts as spent. Should it be settled after all, the difference is given back. A day that has been
counted once is never left for an earlier one: a clock set back opens no new budget.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal

import sqlalchemy as sa

from qa_pipeline.llm.database import Database
from qa_pipeline.llm.money.amounts import Amount, Caps
from qa_pipeline.llm.money.prices import utc_day
from qa_pipeline.llm.store_schema import RESERVED, SPENT

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
class Held:
    """Room that was given."""

    day: str
    amount: Amount
    expires_at: float
    reservation_id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of it."""

    held: Held
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

    def write(self, asks: Sequence[Asked], settled: Sequence[Settled], now: float) -> list[Held | State]:
        """Settle, then give room in the order in which it was asked for, as far as the caps leave any.

        Raises:
            ReplyStoreError: the database cannot be used.
        """

        def work(connection: sa.Connection) -> list[Held | State]:
            if self._database.is_postgres:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            for one in settled:
                _settle(connection, one, now)
            return self._give(connection, asks, now) if asks else []

        return self._database.transact(work)

    def _give(self, connection: sa.Connection, asks: Sequence[Asked], now: float) -> list[Held | State]:
        _expire(connection, now)
        day = _day(connection, now)
        spent = _spent(connection, day)
        held = _held(connection, day)
        answers: list[Held | State] = []
        given: list[Held] = []
        for ask in asks:
            unit = self._caps.broken_by(spent + held + ask.want)
            if unit is None:
                given.append(Held(day, ask.want, now + LONGEST_CALL))
                answers.append(given[-1])
                held += ask.want
            else:
                beyond = self._caps.broken_by(spent + ask.want)
                answers.append(State(day, beyond or unit, spent, hopeless=beyond is not None))
        if given:
            connection.execute(RESERVED.insert(), [_row(one) for one in given])
        return answers


def _settle(connection: sa.Connection, settled: Settled, now: float) -> None:
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


def _row(held: Held) -> dict[str, object]:
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
