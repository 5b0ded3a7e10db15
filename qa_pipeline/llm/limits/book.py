"""Where the pace of a model is kept: in this process, or in the database that all runs share.

What belongs here: reading and changing the state of a model as one step. What does not: what it means.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol, TypeVar

import sqlalchemy as sa

from qa_pipeline.llm.database import Database
from qa_pipeline.llm.limits.pace import Pace
from qa_pipeline.llm.store_schema import PACE

Told = TypeVar("Told")
Change = Callable[[Pace], tuple[Pace, Told]]


class PaceBook(Protocol):
    """A pace for each model."""

    def change(self, model: str, change: Change[Told]) -> Told:
        """Apply a change to the model's pace with nobody in between, and return what it tells."""
        ...


class LocalBook:
    """Paces of this process alone."""

    def __init__(self) -> None:
        self._paces: dict[str, Pace] = {}
        self._lock = threading.Lock()

    def change(self, model: str, change: Change[Told]) -> Told:
        """Apply a change to the model's pace."""
        with self._lock:
            self._paces[model], told = change(self._paces.get(model, Pace()))
        return told


class SharedBook:
    """Paces in the database of the deployment."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def change(self, model: str, change: Change[Told]) -> Told:
        """Apply a change to the model's pace, in one transaction.

        Raises:
            ReplyStoreError: the database cannot be used.
        """

        def work(connection: sa.Connection) -> Told:
            connection.execute(_make_row(self._database, model))
            row = sa.select(PACE.c.state).where(PACE.c.asked_model == model).with_for_update()
            before = _read(connection.execute(row).scalar_one())
            after, told = change(before)
            if after != before:
                update = sa.update(PACE).where(PACE.c.asked_model == model)
                connection.execute(update.values(state=json.dumps(asdict(after))))
            return told

        return self._database.transact(work)


def _make_row(database: Database, model: str) -> sa.Executable:
    values = {"asked_model": model, "state": json.dumps(asdict(Pace()))}
    if database.is_postgres:
        from sqlalchemy.dialects.postgresql import insert

        return insert(PACE).values(values).on_conflict_do_nothing()
    from sqlalchemy.dialects.sqlite import insert as insert_sqlite

    return insert_sqlite(PACE).values(values).on_conflict_do_nothing()


def _read(state: str) -> Pace:
    """A state that an older or newer release wrote differently is forgotten: it only saves learning."""
    try:
        return Pace(**json.loads(state))
    except (TypeError, ValueError):
        return Pace()
