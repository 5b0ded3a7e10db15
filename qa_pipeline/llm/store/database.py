"""The database shared by the runs of a deployment: a SQLite file, or Postgres for many machines.

SQLite runs in WAL mode with synchronous=NORMAL. Any number of threads and processes may use the file, and
committed data survives a killed process.
"""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
import stamina
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from qa_pipeline.errors import ReplyStoreError, SettingsError
from qa_pipeline.llm.store.schema import prepare

Done = TypeVar("Done")
GONE_SECONDS = 180.0
"""Maximum seconds to wait for a Postgres server, enough for a restart or a failover."""
BUSY_SECONDS = 60.0
"""Maximum seconds to wait for another process that locks the SQLite file."""
_OPENING_LOCK = 7206135
"""Arbitrary number of the advisory lock for creating the tables."""
_READS = "qa_pipeline_reads"
_RESTARTING = ("starting up", "shutting down", "recovery", "too many clients")
_SQLITE_ADVICE = (
    "Check that there is space, that this user may write there, and that no other process holds it; then run "
    "again. A damaged file holds replies that were paid for: restore it from a copy, or move it away"
)
_POSTGRES_ADVICE = (
    "Check llm.store.url, PGPASSWORD or .pgpass, and that the server runs; then run again: nothing that was "
    "stored is lost"
)


class Database:
    """A database that is opened at the first use, for any thread.

    Methods that run work raise ReplyStoreError if the database cannot be used.

    Args:
        place: the SQLite file, or a postgresql:// address. Messages never contain its password.
        busy_seconds: maximum seconds to wait for another process that locks the SQLite file.

    Raises:
        SettingsError: the address is not a Postgres database.
    """

    def __init__(self, place: Path | str, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.url = _url(place)
        self.is_postgres = self.url.get_backend_name() == "postgresql"
        self.place = str(place)
        if self.is_postgres:
            self.place = self.url.set(drivername="postgresql").render_as_string(hide_password=True)
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._engine: sa.Engine | None = None

    def transact(self, work: Callable[[sa.Connection], Done], *, reads: bool = False) -> Done:
        """Run the work in a transaction, and again if the server was gone meanwhile.

        The work may run more than once, and must do the same each time.
        """
        seconds = GONE_SECONDS if self.is_postgres else self._busy_seconds
        waiting = stamina.retry_context(on=self._may_return, attempts=None, timeout=seconds)
        try:
            for attempt in waiting:
                with attempt, self._opened().connect() as connection:
                    connection.execution_options(**{_READS: reads})
                    with connection.begin():
                        return work(connection)
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise self._failure(error) from error
        raise AssertionError  # retry_context returns or raises

    def read(self, work: Callable[[sa.Connection], Done]) -> Done:
        """Run work that only reads, without waiting for writers."""
        return self.transact(work, reads=True)

    def empty_log(self) -> None:
        """Empty SQLite's log, which still contains deleted text."""

        def checkpoint(connection: sa.Connection) -> None:
            connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

        if not self.is_postgres:
            self.read(checkpoint)

    def close(self) -> None:
        """Close the connections. A later use opens them again."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

    def _opened(self) -> sa.Engine:
        with self._lock:
            if self._engine is None:
                engine = self._new_engine()
                try:
                    with engine.begin() as connection:
                        if self.is_postgres:  # two processes may open a new database at once
                            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_OPENING_LOCK})"))
                        prepare(connection, self.place)
                except BaseException:
                    engine.dispose()
                    raise
                self._engine = engine
            return self._engine

    def _new_engine(self) -> sa.Engine:
        if self.is_postgres:
            # detect a vanished server after half a minute instead of hours
            patience = {"connect_timeout": 10, "keepalives_idle": 20, "tcp_user_timeout": 30_000}
            options = {name: value for name, value in patience.items() if name not in self.url.query}
            try:
                return sa.create_engine(self.url, connect_args=options)
            except ModuleNotFoundError as error:
                raise SettingsError(
                    "llm.store.url needs the Postgres driver: pip install 'qa-pipeline[postgres]'"
                ) from error
        if self.url.database:
            Path(self.url.database).parent.mkdir(parents=True, exist_ok=True)
        connect = {"timeout": self._busy_seconds, "check_same_thread": False}
        engine = sa.create_engine(self.url, connect_args=connect)
        sa.event.listen(engine, "connect", _set_up)
        sa.event.listen(engine, "begin", _begin)
        return engine

    def _may_return(self, error: Exception) -> bool:
        """Return True if a server was shut down, restarted or disconnected.

        An unreachable server is more likely misspelt than gone, unless it reports that it is starting.
        """
        if not self.is_postgres:
            # SQLite does not wait if two processes switch a new file to WAL at once
            code = getattr(getattr(error, "orig", error), "sqlite_errorcode", None)
            return self._engine is None and code == sqlite3.SQLITE_BUSY
        if not isinstance(error, DBAPIError):
            return False
        reason = str(error.orig)
        if any(word in reason for word in _RESTARTING):
            return True
        if self._engine is None or ("FATAL" in reason and not error.connection_invalidated):
            return False
        return error.connection_invalidated or isinstance(error, OperationalError)

    def _failure(self, error: Exception) -> ReplyStoreError:
        """Return an error with cause and remedy, without password or statement."""
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        reason = " ".join(str(cause).split()).rstrip(".?")
        return ReplyStoreError(
            f"the reply store {self.place} cannot be used: {reason}. "
            f"{_POSTGRES_ADVICE if self.is_postgres else _SQLITE_ADVICE}"
        )


def _url(place: Path | str) -> sa.URL:
    if isinstance(place, Path):
        return sa.URL.create("sqlite", database=str(place))
    try:
        url = sa.make_url(place)
    except SQLAlchemyError:
        url = None
    if url is None or url.get_backend_name() != "postgresql":
        raise SettingsError(
            "llm.store.url has to be an address as postgresql://user@host/database; without it replies are "
            "kept in a SQLite file"
        )
    # postgresql:// alone would use SQLAlchemy's current default driver
    return url.set(drivername="postgresql+psycopg")


def _begin(connection: sa.Connection) -> None:
    # lock at once, since a transaction that reads before it writes fails if another wrote meanwhile
    reads = connection.get_execution_options().get(_READS)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _set_up(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the driver's own transactions are off
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA secure_delete=ON")  # overwrite deleted text
    except BaseException:
        connection.close()
        raise
