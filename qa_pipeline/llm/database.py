"""The database that the runs of one deployment share: a SQLite file, or Postgres for many machines.

What belongs here: opening it, transactions, waiting for a server that is gone for a while, and saying in this
package's errors what is wrong. What does not: any table's meaning (`store_schema.py` lists them).

SQLite runs in WAL mode with synchronous=NORMAL: any number of threads and processes may use the file, and a
killed process loses nothing it had committed.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.store_schema import METADATA, STORE_VERSION, store_version

Done = TypeVar("Done")
_BUSY_SECONDS = 60.0
GONE_SECONDS = 180.0
"""How long a Postgres server may be gone before a run gives up."""
_LONGEST_PAUSE = 5.0


class Database:
    """One database. Nothing is opened before the first use; any thread may use it.

    Args:
        place: the SQLite file, or a postgresql:// address. A password stays out of every message.
        sleep: waits for a server that is gone; tests pass one that does not wait.
    """

    def __init__(self, place: Path | str, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.url = _url(place)
        self.place = self.url.render_as_string(hide_password=True) if self.is_postgres else str(place)
        self._sleep = sleep
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
        waited, pause = 0.0, 0.1
        while True:
            try:
                with self._opened().begin() as connection:
                    return work(connection)
            except (SQLAlchemyError, OSError) as error:
                if not _may_return(error) or waited >= GONE_SECONDS:
                    raise ReplyStoreError(self._told(error)) from error
            self._sleep(pause)
            waited, pause = waited + pause, min(pause * 2, _LONGEST_PAUSE)

    def close(self) -> None:
        """Close its connections; a later use opens it again."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def _opened(self) -> sa.Engine:
        if self._engine is None:
            engine = _engine(self.url)
            with engine.begin() as connection:
                self._prepare(connection)
            self._engine = engine
        return self._engine

    def _prepare(self, connection: sa.Connection) -> None:
        """Make what is missing, in one transaction: two processes may open a new database at once."""
        if self.is_postgres:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(7206135)"))
        found = store_version(connection)
        if found not in (None, STORE_VERSION):
            raise ReplyStoreError(
                f"the reply store {self.place} is of version {found}, this program reads version "
                f"{STORE_VERSION}: use the program that wrote it, or name another store"
            )
        METADATA.create_all(connection)

    def _told(self, error: Exception) -> str:
        cause = error.orig if isinstance(error, DBAPIError) else error
        said = " ".join(str(cause).split())
        if self.is_postgres:
            return f"the reply store {self.place} cannot be used: {said}"
        return (
            f"the reply store {self.place} cannot be used: {said}. Free some space if the disk is full, and "
            "check the rights. It holds replies that were paid for: if it is damaged, restore it from a "
            "copy, or move it away to start an empty one"
        )


def _url(place: Path | str) -> sa.URL:
    if isinstance(place, Path):
        return sa.URL.create("sqlite", database=str(place))
    url = sa.make_url(place)
    # plain postgresql:// would pick whichever driver SQLAlchemy likes at present
    return url.set(drivername="postgresql+psycopg") if url.get_backend_name() == "postgresql" else url


def _engine(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() == "postgresql":
        return sa.create_engine(url)
    if url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url, connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False})
    sa.event.listen(engine, "connect", _prepare_sqlite)
    # taken at once: a transaction that first reads and then writes would fail when another wrote between
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _prepare_sqlite(connection: "sa.engine.interfaces.DBAPIConnection", record: object) -> None:
    connection.isolation_level = None  # the driver's own transactions are off
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


def _may_return(error: Exception) -> bool:
    """Whether a server was shut down, restarted or cut off, rather than asked for something wrong."""
    if not isinstance(error, DBAPIError):
        return False
    lost = error.connection_invalidated
    return lost or (isinstance(error, OperationalError) and type(error.orig).__module__.startswith("psycopg"))
