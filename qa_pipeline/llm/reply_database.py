"""The database shared by the runs of a deployment: a SQLite file, or Postgres for many machines.

SQLite runs in WAL mode with synchronous=NORMAL. Any number of threads and processes may use the file, and
committed data survives a killed process.
"""

import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import sqlalchemy as sa
import stamina
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from qa_pipeline.errors import SettingsError, StorageError
from qa_pipeline.records import CallRecord
from qa_pipeline.storage.tables import LLM_CALLS

TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "thought_tokens")


def calls_frame(calls: Sequence[CallRecord]) -> pl.DataFrame:
    """Return the rows of `llm_calls`, in the order of starting times."""
    rows = [
        {
            **{name: getattr(call, name) for name in LLM_CALLS.schema if name not in TOKENS},
            **{name: getattr(call.usage, name) for name in TOKENS},
            "started_at": datetime.fromtimestamp(call.started_at, UTC),
        }
        for call in calls
    ]
    return LLM_CALLS.frame(rows).sort("started_at", "call_id")


STORE_VERSION = 2
METADATA = sa.MetaData()
RequestId = tuple[str, str]
"""Name of the asked model, and `Request.key`."""
KEYS_A_STATEMENT = 500
"""Maximum keys in a statement. Databases accept only some thousand parameters."""

_LONGEST_NAME = 400  # characters: a name contains provider, model, server and every fixed parameter
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class AnyText(sa.TypeDecorator[str]):
    """Any Python string. Characters that databases cannot store are replaced."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Return the text with unstorable characters replaced."""
        return None if value is None else _UNSTORABLE.sub("\ufffd", value)


def _token_columns() -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, sa.BigInteger) for name in TOKENS)


REPLIES = sa.Table(
    "replies",
    METADATA,
    # the key comes first: it is more selective, and a lookup of keys would scan an index led by the model
    sa.Column("request_key", sa.String(64), primary_key=True),
    sa.Column("asked_model", sa.String(_LONGEST_NAME), primary_key=True),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("batch", AnyText, nullable=False),
    sa.Column("outcome", sa.String(40), nullable=False, comment="replied, or the reason code of a failure"),
    sa.Column("detail", AnyText, comment="of a failure"),
    sa.Column("raw", AnyText, nullable=False, comment="text as it came"),
    sa.Column("value", sa.Text, comment="the reply as JSON of its model; null for a failure"),
    sa.Column("replied_model", sa.String(_LONGEST_NAME)),
    sa.Column("repair", sa.String(20), nullable=False),
    *_token_columns(),
    sa.Column("stored_at", sa.Float, nullable=False, index=True),
)

REPLY_DOCUMENTS = sa.Table(
    "reply_documents",
    METADATA,
    sa.Column("request_key", sa.String(64), primary_key=True),
    sa.Column("asked_model", sa.String(_LONGEST_NAME), primary_key=True),
    sa.Column("document_id", sa.String(64), primary_key=True, index=True),
)

DOCUMENT_NAMES = sa.Table(
    "document_names",
    METADATA,
    sa.Column("document_id", sa.String(64), primary_key=True),
    sa.Column("batch", AnyText, primary_key=True),
    sa.Column("path", AnyText, primary_key=True, comment="also of earlier versions, which no table has"),
)

CALLS = sa.Table(
    "calls",
    METADATA,
    sa.Column("call_id", sa.String(120), primary_key=True),
    sa.Column("run", sa.String(100), nullable=False),
    sa.Column("batch", AnyText, nullable=False, index=True),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("asked_model", sa.String(_LONGEST_NAME), nullable=False),
    sa.Column("replied_model", sa.String(_LONGEST_NAME)),
    sa.Column("request_key", sa.String(64), nullable=False, index=True),
    sa.Column("started_at", sa.Float, nullable=False, index=True),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("outcome", sa.String(40), nullable=False),
    sa.Column("repair", sa.String(20), nullable=False),
    *_token_columns(),
    sa.Column("cost", sa.Float),
    sa.Column("currency", sa.String(3)),
)

VERSION = sa.Table("store_version", METADATA, sa.Column("version", sa.Integer, primary_key=True))


def insert_missing(table: sa.Table) -> sa.Insert:
    """Return an insert that skips existing rows. SQLite accepts the Postgres dialect here."""
    return postgresql.insert(table).on_conflict_do_nothing()


def prepare(connection: sa.Connection, address: str) -> None:
    """Create missing tables in the transaction of the connection.

    Raises:
        StorageError: the tables are of another version.
        DBAPIError: they belong to another program.
    """
    version = None
    if sa.inspect(connection).has_table(VERSION.name):
        version = connection.execute(sa.select(sa.func.max(VERSION.c.version))).scalar_one()
    if version is None:
        # fails if a table belongs to another program or to the first version of this program
        METADATA.create_all(connection, checkfirst=False)
        connection.execute(sa.insert(VERSION).values(version=STORE_VERSION))
    elif version != STORE_VERSION:
        raise StorageError(
            f"the reply store {address} has version {version}, but this program reads version "
            f"{STORE_VERSION}: use the program that wrote it, or name another store; it is unchanged"
        )


Done = TypeVar("Done")
RECONNECT_SECONDS = 180.0
"""Maximum seconds to wait for a Postgres server, enough for a restart or a failover."""
BUSY_SECONDS = 60.0
"""Maximum seconds to wait for another process that locks the SQLite file."""
_OPENING_LOCK = 7206135
"""Arbitrary number of the advisory lock for creating the tables."""
_READ_ONLY = "qa_pipeline_reads"  # execution option of a connection
# parts of Postgres's messages while it refuses connections, such as "the database system is starting up"
_PASSING_REFUSALS = ("starting up", "shutting down", "recovery", "too many clients")
_SQLITE_ADVICE = (
    "Check that there is space, that this user may write there, and that no other process locks it; then run "
    "again. A damaged file has replies that were paid for: restore it from a copy, or move it away"
)
_POSTGRES_ADVICE = (
    "Check llm.store.url, PGPASSWORD or .pgpass, and that the server runs; then run again: nothing that was "
    "stored is lost"
)


class Database:
    """A database that is opened at the first use, for any thread.

    Methods that run work raise StorageError if the database cannot be used.

    Args:
        address: the SQLite file, or a postgresql:// address. Messages never contain its password.
        busy_seconds: maximum seconds to wait for another process that locks the SQLite file.

    Raises a SettingsError if the address is not a Postgres database.
    """

    def __init__(self, address: Path | str, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.url = _url(address)
        self.is_postgres = self.url.get_backend_name() == "postgresql"
        self.address = str(address)
        if self.is_postgres:
            self.address = self.url.set(drivername="postgresql").render_as_string(hide_password=True)
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._engine: sa.Engine | None = None

    def transact(self, work: Callable[[sa.Connection], Done], *, read_only: bool = False) -> Done:
        """Run the work in a transaction, and again if the server was gone meanwhile.

        The work may run more than once, and must do the same each time.
        """
        seconds = RECONNECT_SECONDS if self.is_postgres else self._busy_seconds
        attempts = stamina.retry_context(on=self._may_recover, attempts=None, timeout=seconds)
        try:
            for attempt in attempts:
                with attempt, self._opened().connect() as connection:
                    connection.execution_options(**{_READ_ONLY: read_only})
                    with connection.begin():
                        return work(connection)
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise self._failure(error) from error
        raise AssertionError  # retry_context returns or raises

    def read(self, work: Callable[[sa.Connection], Done]) -> Done:
        """Run work that only reads, without waiting for writers."""
        return self.transact(work, read_only=True)

    def empty_log(self) -> None:
        """Empty SQLite's log, which still contains deleted text."""

        def checkpoint(connection: sa.Connection) -> None:
            connection.exec_driver_sql("ROLLBACK")  # a checkpoint fails inside a transaction
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
        """Return the engine; at the first use, connect and create missing tables."""
        with self._lock:
            if self._engine is None:
                engine = self._new_engine()
                try:
                    with engine.begin() as connection:
                        if self.is_postgres:  # two processes may open a new database at once
                            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_OPENING_LOCK})"))
                        prepare(connection, self.address)
                except BaseException:
                    engine.dispose()
                    raise
                self._engine = engine
            return self._engine

    def _new_engine(self) -> sa.Engine:
        """Return an engine for the address, not connected yet."""
        if self.is_postgres:
            # detect a vanished server after half a minute instead of hours: 10 s, 20 s and 30,000 ms
            defaults = {"connect_timeout": 10, "keepalives_idle": 20, "tcp_user_timeout": 30_000}
            # options in the address take precedence
            options = {name: value for name, value in defaults.items() if name not in self.url.query}
            try:
                return sa.create_engine(self.url, connect_args=options)
            except ModuleNotFoundError as error:
                raise SettingsError(
                    "llm.store.url needs the Postgres driver: pip install 'qa-pipeline[postgres]'"
                ) from error
        Path(self.address).parent.mkdir(parents=True, exist_ok=True)
        # the threads share a pool of connections
        connect_args = {"timeout": self._busy_seconds, "check_same_thread": False}
        engine = sa.create_engine(self.url, connect_args=connect_args)
        sa.event.listen(engine, "connect", _set_up)
        sa.event.listen(engine, "begin", _begin)
        return engine

    def _may_recover(self, error: Exception) -> bool:
        """Return True if another attempt may succeed: a server restarts, or a new SQLite file is busy."""
        has_connected = self._engine is not None  # at least once
        if not self.is_postgres:
            # SQLite itself waits for a busy file, except if two processes switch a new file to WAL at once
            code = getattr(getattr(error, "orig", error), "sqlite_errorcode", None)
            return not has_connected and code == sqlite3.SQLITE_BUSY
        if not isinstance(error, DBAPIError):
            return False
        reason = str(error.orig)
        if any(word in reason for word in _PASSING_REFUSALS):
            return True
        if not has_connected:  # the address is more likely misspelt than the server gone
            return False
        if error.connection_invalidated:
            return True
        # an OperationalError is usually a lost connection, but FATAL a refusal, such as of a wrong password
        return isinstance(error, OperationalError) and "FATAL" not in reason

    def _failure(self, error: Exception) -> StorageError:
        """Return an error with cause and remedy, without password or statement."""
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        reason = " ".join(str(cause).split()).rstrip(".?")
        return StorageError(
            f"the reply store {self.address} cannot be used: {reason}. "
            f"{_POSTGRES_ADVICE if self.is_postgres else _SQLITE_ADVICE}"
        )


def _url(address: Path | str) -> sa.URL:
    """Return the SQLAlchemy address of a SQLite file or of a postgresql:// address."""
    if isinstance(address, Path):
        return sa.URL.create("sqlite", database=str(address))
    try:
        url = sa.make_url(address)
    except SQLAlchemyError:
        url = None
    if url is None or url.get_backend_name() != "postgresql":
        raise SettingsError(
            "llm.store.url must be an address such as postgresql://user@host/database; without it, replies "
            "are kept in a SQLite file"
        )
    # postgresql:// alone would use SQLAlchemy's current default driver
    return url.set(drivername="postgresql+psycopg")


def _begin(connection: sa.Connection) -> None:
    # lock at once, since a transaction that reads before it writes fails if another wrote meanwhile
    is_read_only = connection.get_execution_options().get(_READ_ONLY)
    connection.exec_driver_sql("BEGIN" if is_read_only else "BEGIN IMMEDIATE")


def _set_up(connection: sqlite3.Connection, _: object) -> None:
    """Prepare a new SQLite connection for several processes."""
    connection.isolation_level = None  # the driver's own transactions are off
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA secure_delete=ON")  # overwrite deleted text
    except BaseException:
        connection.close()
        raise
