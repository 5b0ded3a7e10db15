"""The database that the runs of one deployment share: a SQLite file, or Postgres for many machines.

SQLite runs in WAL mode with synchronous=NORMAL: any number of threads and processes may use the file, and a
killed process loses nothing it had committed.
"""

import errno
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from qa_pipeline.errors import ReplyStoreError, SettingsError
from qa_pipeline.llm.store.schema import prepare

Done = TypeVar("Done")
GONE_SECONDS = 180.0
"""The time a Postgres server may be gone before a run gives up: long enough for a restart or a failover."""
BUSY_SECONDS = 60.0
"""The time another process may hold the SQLite file: a transaction is short, a VACUUM is not."""
_LONGEST_PAUSE = 5.0  # seconds between two tries to reach a server that is gone
_BEGIN = "qa_pipeline_begin"
_OPENING_LOCK = 7206135
"""Any number; that of the advisory lock under which the tables are made."""
_RESTARTING = ("starting up", "shutting down", "recovery", "too many clients")
_KEEP = (
    "It holds replies that were paid for: restore it from a copy, or move it away, with its -wal and -shm "
    "files, to start an empty one"
)
_SQLITE_ADVICE = {
    "SQLITE_BUSY": "Another process holds it: end that process, or wait for it, then run again",
    "SQLITE_LOCKED": "Another process holds it: end that process, or wait for it, then run again",
    "SQLITE_FULL": "Free some space there, then run again; nothing that was stored is lost",
    "SQLITE_READONLY": "Give this user the right to write the file and its folder",
    "SQLITE_CANTOPEN": "Check that its folder can be written by this user",
    "SQLITE_CORRUPT": f"It is damaged. {_KEEP}",
    "SQLITE_NOTADB": f"It is damaged, or no store. {_KEEP}",
    "SQLITE_IOERR": "Free space if the disk is full, and check the disk; nothing that was stored is lost",
}
_SYSTEM_ADVICE = {
    errno.EACCES: "Give this user the right to write there",
    errno.EPERM: "Give this user the right to write there",
    errno.EROFS: "It lies on a disk that can only be read: set `out` to another",
    errno.ENOSPC: _SQLITE_ADVICE["SQLITE_FULL"],
    errno.EEXIST: "A file is where its folder must be: move that file, or set `out` to another folder",
    errno.ENOTDIR: "A file is where its folder must be: move that file, or set `out` to another folder",
}


def message(place: str, error: Exception, *, postgres: bool) -> str:
    """Return one message with cause and remedy, without password or statement."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    reason = (
        " ".join(str(cause).split()) if cause is not error or not isinstance(error, DBAPIError) else "lost"
    )
    return (
        f"the reply store {place} cannot be used: {reason.rstrip('.?')}. {_advice(cause, postgres=postgres)}"
    )


def may_return(error: Exception, *, opened: bool) -> bool:
    """Return whether a server was shut down, restarted or cut off, rather than asked wrongly.

    A server that was never reached is more likely misspelt than gone, unless it says that it is starting.
    """
    if not isinstance(error, DBAPIError) or not type(error.orig).__module__.startswith("psycopg"):
        return False
    reason = str(error.orig)
    if any(word in reason for word in _RESTARTING):
        return True
    if not opened or ("FATAL" in reason and not error.connection_invalidated):
        return False
    return error.connection_invalidated or isinstance(error, OperationalError)


def _advice(cause: BaseException, *, postgres: bool) -> str:
    if postgres:
        return (
            "Check llm.store.url, PGPASSWORD or .pgpass, and that the server runs; then run again: what was "
            "stored is kept"
        )
    if isinstance(cause, OSError):
        return _SYSTEM_ADVICE.get(cause.errno or 0, "Check that its folder can be written by this user")
    if isinstance(cause, sqlite3.Error):
        # extended codes begin with the name of the plain one, as SQLITE_IOERR_WRITE does
        name = getattr(cause, "sqlite_errorname", "")
        return next((text for code, text in _SQLITE_ADVICE.items() if name.startswith(code)), _KEEP)
    return _KEEP


class Database:
    """A database that is opened at the first use; any thread may use it.

    Every method that runs work raises ReplyStoreError when the database cannot be used.

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
        self.place = str(place)
        if self.is_postgres:
            self.place = self.url.set(drivername="postgresql").render_as_string(hide_password=True)
        self._sleep = sleep
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._engine: sa.Engine | None = None

    @property
    def is_postgres(self) -> bool:
        """Return whether many machines can share it."""
        return self.url.get_backend_name() == "postgresql"

    def transact(self, work: Callable[[sa.Connection], Done]) -> Done:
        """Run the work in one transaction that writes, and again when the server was gone meanwhile.

        The work may therefore run more than once, and must do the same each time.
        """
        return self._persist(work, sa.Engine.begin)

    def read(self, work: Callable[[sa.Connection], Done]) -> Done:
        """Run work that only reads; it waits for no writer."""
        return self._persist(work, _begun_for_reading)

    def outside_transactions(self, work: Callable[[sa.Connection], Done]) -> Done:
        """Run what no transaction can hold, such as VACUUM."""
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
                    raise ReplyStoreError(message(self.place, error, postgres=self.is_postgres)) from error
            self._sleep(pause)
            waited, pause = waited + pause, min(pause * 2, _LONGEST_PAUSE)

    def _opened(self) -> sa.Engine:
        with self._lock:
            if self._engine is None:
                engine = _engine(self.url, self._busy_seconds)
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
    options = {name: value for name, value in patience.items() if name not in url.query}
    try:
        return sa.create_engine(url, connect_args=options)
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
    """Switch the file to WAL; SQLite does not wait where two processes switch a new file at once."""
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
