"""The database that the runs of one deployment share: a SQLite file, or Postgres for many machines.

What belongs here: opening it, transactions, waiting for a server that is gone for a while. What does not: any
table's meaning (`store_schema.py` lists them), versions (`store_versions.py`), what to tell people of an
error (`store_errors.py`).

SQLite runs in WAL mode with synchronous=NORMAL: any number of threads and processes may use the file, and a
killed process loses nothing it had committed.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from qa_pipeline.errors import ReplyStoreError, SettingsError
from qa_pipeline.llm.store_errors import may_return, told
from qa_pipeline.llm.store_versions import prepare

Done = TypeVar("Done")
GONE_SECONDS = 180.0
"""How long a Postgres server may be gone before a run gives up."""
BUSY_SECONDS = 60.0
"""How long another process may hold the SQLite file."""
_LONGEST_PAUSE = 5.0
_BEGIN = "qa_pipeline_begin"
_OPENING_LOCK = 7206135
"""Any number; that of the advisory lock under which the tables are made."""


class Database:
    """One database. Nothing is opened before the first use; any thread may use it.

    Args:
        place: the SQLite file, or a postgresql:// address. A password stays out of every message.
        sleep: waits for a server that is gone; tests pass one that does not wait.
        busy_seconds: how long to wait for another process that holds the SQLite file.

    Raises:
        SettingsError: the address is none of a Postgres database.
    """

    def __init__(
        self,
        place: Path | str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        self.url = _url(place)
        self.place = _shown(self.url) if self.is_postgres else str(place)
        self._sleep = sleep
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._engine: sa.Engine | None = None

    @property
    def is_postgres(self) -> bool:
        """Whether many machines can share it."""
        return self.url.get_backend_name() == "postgresql"

    def transact(self, work: Callable[[sa.Connection], Done]) -> Done:
        """Do the work in one transaction that writes, and again when the server was gone meanwhile.

        The work may therefore run more than once, and must do the same each time.

        Raises:
            ReplyStoreError: the database cannot be used.
        """
        return self._persist(work, _begun)

    def read(self, work: Callable[[sa.Connection], Done]) -> Done:
        """Do work that only reads; it waits for no writer.

        Raises:
            ReplyStoreError: the database cannot be used.
        """
        return self._persist(work, _begun_for_reading)

    def outside_transactions(self, work: Callable[[sa.Connection], Done]) -> Done:
        """Do what no transaction can hold, such as VACUUM.

        Raises:
            ReplyStoreError: the database cannot be used.
        """
        return self._persist(work, _plain)

    def close(self) -> None:
        """Close its connections; a later use opens it again."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

    def _persist(
        self,
        work: Callable[[sa.Connection], Done],
        begin: Callable[[sa.Engine], AbstractContextManager[sa.Connection]],
    ) -> Done:
        waited, pause = 0.0, 0.1
        while True:
            try:
                with begin(self._opened()) as connection:
                    return work(connection)
            except (SQLAlchemyError, sqlite3.Error, OSError) as error:
                opened = self._engine is not None
                if not may_return(error, opened=opened) or waited >= GONE_SECONDS:
                    raise ReplyStoreError(told(self.place, error, postgres=self.is_postgres)) from error
            self._sleep(pause)
            waited, pause = waited + pause, min(pause * 2, _LONGEST_PAUSE)

    def _opened(self) -> sa.Engine:
        with self._lock:
            if self._engine is None:
                engine = _engine(self.url, self._busy_seconds)
                try:
                    with engine.begin() as connection:
                        self._prepare(connection)
                except BaseException:
                    engine.dispose()
                    raise
                self._engine = engine
            return self._engine

    def _prepare(self, connection: sa.Connection) -> None:
        """Two processes may open a new database at once; SQLite holds the file by now."""
        if self.is_postgres:
            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_OPENING_LOCK})"))
        prepare(connection, self.place)


def _begun(engine: sa.Engine) -> AbstractContextManager[sa.Connection]:
    return engine.begin()


@contextmanager
def _begun_for_reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    with engine.connect() as connection:
        connection.execution_options(**{_BEGIN: "BEGIN"})
        with connection.begin():
            yield connection


@contextmanager
def _plain(engine: sa.Engine) -> Iterator[sa.Connection]:
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.execution_options(**{_BEGIN: None})
        else:
            connection.execution_options(isolation_level="AUTOCOMMIT")
        yield connection


def _url(place: Path | str) -> sa.URL:
    if isinstance(place, Path):
        return sa.URL.create("sqlite", database=str(place))
    try:
        url = sa.make_url(place)
    except SQLAlchemyError as error:
        raise SettingsError(
            "llm.store.url is no address: write it as postgresql://user@host/database"
        ) from error
    if url.get_backend_name() != "postgresql":
        raise SettingsError(
            f"llm.store.url begins with {url.drivername}://, and only postgresql:// can be used; without it "
            "replies are kept in a SQLite file"
        )
    # plain postgresql:// would pick whichever driver SQLAlchemy likes at present
    return url.set(drivername="postgresql+psycopg")


def _shown(url: sa.URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def _engine(url: sa.URL, busy_seconds: float) -> sa.Engine:
    if url.get_backend_name() == "postgresql":
        return _postgres_engine(url)
    if url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    connect = {"timeout": busy_seconds, "check_same_thread": False}
    engine = sa.create_engine(url, connect_args=connect)
    sa.event.listen(engine, "connect", lambda connection, _: _prepare_sqlite(connection, busy_seconds))
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _postgres_engine(url: sa.URL) -> sa.Engine:
    # a server that vanished without a word is noticed after half a minute, not after hours
    patience = {"connect_timeout": 10, "keepalives_idle": 20, "tcp_user_timeout": 30_000}
    own = {name: value for name, value in patience.items() if name not in url.query}
    try:
        return sa.create_engine(url, connect_args=own)
    except ModuleNotFoundError as error:
        raise SettingsError(
            "llm.store.url needs the Postgres driver: pip install 'qa-pipeline[postgres]'"
        ) from error


def _begin_sqlite(connection: sa.Connection) -> None:
    # taken at once: a transaction that first reads and then writes would fail when another wrote between
    begin = connection.get_execution_options().get(_BEGIN, "BEGIN IMMEDIATE")
    if begin is not None:
        connection.exec_driver_sql(begin)


def _prepare_sqlite(connection: sqlite3.Connection, busy_seconds: float) -> None:
    connection.isolation_level = None  # the driver's own transactions are off
    try:
        _switch_to_wal(connection, busy_seconds)
        connection.execute("PRAGMA synchronous=NORMAL")
    except BaseException:
        connection.close()
        raise


def _switch_to_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """SQLite does not wait by itself where two processes switch a new file at once."""
    last = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(0.01)
        else:
            return
