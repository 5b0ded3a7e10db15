import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from qa_pipeline.errors import SettingsError, StorageError
from qa_pipeline.llm.reply_database import DOCUMENT_NAMES, Database
from qa_pipeline_tests.llm.postgres_server import running_server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "replies.sqlite"


def use(place: Path | str, **options: float) -> None:
    database = Database(place, **options)
    try:
        database.transact(lambda connection: connection.execute(sa.select(DOCUMENT_NAMES)).all())
    finally:
        database.close()


def add_row(connection: sa.Connection, name: str) -> None:
    connection.execute(sa.insert(DOCUMENT_NAMES).values(document_id=name, batch="b", path="p"))


def test_many_may_open_a_new_database_at_once(place: Path | str) -> None:
    start = threading.Barrier(6)

    def open_one(_: int) -> None:
        start.wait()
        use(place)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(open_one, range(6)))


def test_reading_waits_for_no_writer(place: Path | str) -> None:
    database = Database(place, busy_seconds=0.01)
    use(place)

    def write(connection: sa.Connection) -> int:
        add_row(connection, "unseen")
        return database.read(lambda other: len(other.execute(sa.select(DOCUMENT_NAMES)).all()))

    assert database.transact(write) == 0
    database.close()


def test_a_table_of_another_program_or_of_the_first_version_is_refused_and_left(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE calls (a)")
    connection.close()
    with pytest.raises(StorageError, match="table calls"):
        use(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("calls",)]
    connection.close()


def test_a_store_of_a_later_version_is_left_alone(place: Path | str) -> None:
    database = Database(place)

    database.transact(lambda connection: connection.execute(sa.text("UPDATE store_version SET version = 3")))
    database.close()
    with pytest.raises(StorageError, match=r"version 3, .*version 2"):
        use(place)


def test_a_file_that_another_process_holds_is_reported(path: Path) -> None:
    use(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match=path.name):
        use(path, busy_seconds=0.01)
    holder.execute("ROLLBACK")
    holder.close()
    use(path)


@pytest.mark.parametrize("address", ["mysql://u@h/d", "no address", "sqlite:///x"])
def test_an_address_of_no_postgres_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match=r"llm\.store\.url .*postgresql://"):
        Database(address)


def test_a_server_that_was_never_there_is_reported_at_once_and_without_the_password() -> None:
    database = Database("postgresql://qa:hush@127.0.0.1:9/none")
    started = time.monotonic()
    with pytest.raises(StorageError) as told:
        database.transact(lambda connection: None)
    assert time.monotonic() - started < 5
    assert "hush" not in str(told.value)
    assert "127.0.0.1:9/none" in str(told.value)


@pytest.mark.slow
def test_a_transaction_that_is_cut_off_in_the_middle_is_done_again() -> None:
    done: list[int] = []
    with running_server() as server:
        database = Database(server.new_database())

        def work(connection: sa.Connection) -> None:
            add_row(connection, "once")
            done.append(1)
            if len(done) == 1:
                server.stop()
                server.start()
                connection.execute(sa.select(DOCUMENT_NAMES))

        database.transact(work)
        assert len(done) == 2
        chosen = sa.select(DOCUMENT_NAMES.c.document_id)
        assert database.read(lambda connection: list(connection.scalars(chosen))) == ["once"]
        database.close()
