import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from qa_pipeline.errors import ReplyStoreError, SettingsError
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import DOCUMENT_NAMES
from qa_pipeline.llm.store.store import Outcome, ReplyStore
from qa_pipeline_tests.llm.postgres_server import NewPlace, Server, running_server
from qa_pipeline_tests.llm.requests import ACCEPT, claim
from qa_pipeline_tests.llm.store.outcomes import find, put

FILLER = """
import os, resource, sys
from pathlib import Path
from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.store.store import Outcome, ReplyStore
from qa_pipeline_tests.llm.requests import claim
from qa_pipeline_tests.llm.store.outcomes import find, put

store = ReplyStore(Path(sys.argv[1]))
find(store, "k")
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
stored = 0
try:
    while True:
        outcome = Outcome("replied", "x" * 2_000, "{}")
        put(store, claim(f"{stored}"), outcome)
        stored += 1
except ReplyStoreError as error:
    print(stored, error, flush=True)
os._exit(0)
"""


FIRST_VERSION = """
CREATE TABLE replies (
    asked_model TEXT NOT NULL,
    request_key TEXT NOT NULL,
    role TEXT NOT NULL,
    raw TEXT NOT NULL,
    reply_model TEXT NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    PRIMARY KEY (asked_model, request_key)
) STRICT
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "replies.sqlite"


@pytest.fixture
def restarting() -> Iterator[Server]:
    """A server of this test alone, which may be stopped."""
    with running_server() as server:
        yield server


def use(place: Path | str, **options: float) -> None:
    database = Database(place, **options)
    try:
        database.transact(lambda connection: connection.execute(sa.select(DOCUMENT_NAMES)).all())
    finally:
        database.close()


def add_row(connection: sa.Connection, name: str) -> None:
    connection.execute(sa.insert(DOCUMENT_NAMES).values(document_id=name, batch="b", path="p"))


def names_in(database: Database) -> list[str]:
    chosen = sa.select(DOCUMENT_NAMES.c.document_id)
    return list(database.read(lambda connection: connection.scalars(chosen).all()))


def run_apart(code: str, path: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, str(path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    ).stdout


def test_a_transaction_is_whole_or_nothing(place: Path | str) -> None:
    database = Database(place)

    def fail(connection: sa.Connection) -> None:
        add_row(connection, "half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.transact(fail)
    database.transact(lambda connection: add_row(connection, "whole"))
    assert names_in(database) == ["whole"]
    database.close()


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


def test_a_store_of_an_earlier_version_is_refused_and_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute(FIRST_VERSION)
        connection.execute(
            "INSERT INTO replies VALUES (?, ?, 'verify', ?, 'm-2026', 5, NULL)",
            ("scripted", claim().key, ACCEPT.model_dump_json()),
        )
    connection.close()
    with pytest.raises(ReplyStoreError, match="table replies"):
        use(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM replies").fetchone() == (1,)
    connection.close()


def test_a_store_of_a_later_version_is_left_alone(place: Path | str) -> None:
    database = Database(place)

    database.transact(lambda connection: connection.execute(sa.text("UPDATE store_version SET version = 3")))
    database.close()
    with pytest.raises(ReplyStoreError, match=r"version 3, .*version 2"):
        use(place)


def test_a_database_of_another_program_is_left_alone(place: Path | str) -> None:
    if isinstance(place, Path):
        place.parent.mkdir(parents=True)
        with sqlite3.connect(place) as connection:
            connection.execute("CREATE TABLE calls (a)")
        connection.close()
    else:
        engine = sa.create_engine(Database(place).url)
        with engine.begin() as other:
            other.execute(sa.text("CREATE TABLE calls (a integer)"))
        engine.dispose()
    with pytest.raises(ReplyStoreError, match="calls"):
        use(place)


def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(ReplyStoreError, match=r"deep/replies\.sqlite"):
        use(path)


def test_a_damaged_database_is_named(path: Path) -> None:
    store = ReplyStore(path)
    for number in range(200):
        put(store, claim(f"{number}"), Outcome("replied", "x" * 500, "{}"))
    store.close()
    content = bytearray(path.read_bytes())
    content[4096 * 5 :] = b"\xff" * (len(content) - 4096 * 5)
    path.write_bytes(content)
    with pytest.raises(ReplyStoreError, match=path.name):
        [find(store, f"{number}") for number in range(200)]
    store.close()


def test_a_file_that_another_process_holds_is_reported(path: Path) -> None:
    use(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(ReplyStoreError, match=path.name):
        use(path, busy_seconds=0.01)
    holder.execute("ROLLBACK")
    holder.close()
    use(path)


@pytest.mark.slow
def test_a_full_disk_is_reported_and_loses_nothing_that_was_stored(path: Path) -> None:
    stored, _, told = run_apart(FILLER, path).partition(" ")
    assert path.name in told
    store = ReplyStore(path)
    assert int(stored) > 50
    assert all(find(store, f"{number}") is not None for number in range(int(stored)))
    store.close()


@pytest.mark.parametrize("address", ["mysql://u@h/d", "no address", "sqlite:///x"])
def test_an_address_of_no_postgres_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match=r"llm\.store\.url .*postgresql://"):
        Database(address)


def test_a_server_that_was_never_there_is_reported_at_once_and_without_the_password() -> None:
    database = Database("postgresql://qa:hush@127.0.0.1:9/none")
    started = time.monotonic()
    with pytest.raises(ReplyStoreError) as told:
        database.transact(lambda connection: None)
    assert time.monotonic() - started < 5
    assert "hush" not in str(told.value)
    assert "127.0.0.1:9/none" in str(told.value)


@pytest.mark.slow
def test_a_server_that_is_gone_for_a_while_is_waited_for(restarting: Server) -> None:
    database = Database(restarting.new_database())
    database.transact(lambda connection: add_row(connection, "before"))
    restarting.stop()
    later = threading.Timer(1.0, restarting.start)
    later.start()
    database.transact(lambda connection: add_row(connection, "after"))
    later.join()
    assert sorted(names_in(database)) == ["after", "before"]
    database.close()


@pytest.mark.slow
def test_a_transaction_that_is_cut_off_in_the_middle_is_done_again(restarting: Server) -> None:
    database = Database(restarting.new_database())
    done: list[int] = []

    def work(connection: sa.Connection) -> None:
        add_row(connection, "once")
        done.append(1)
        if len(done) == 1:
            restarting.stop()
            restarting.start()
            connection.execute(sa.select(DOCUMENT_NAMES))

    database.transact(work)
    assert len(done) == 2
    assert names_in(database) == ["once"]
    database.close()


def test_any_thread_may_use_a_database(new_place: NewPlace) -> None:
    database = Database(new_place())
    with ThreadPoolExecutor(4) as pool:
        for number in range(20):
            pool.submit(database.transact, lambda connection, name=f"{number}": add_row(connection, name))
    assert database.read(lambda connection: len(connection.execute(sa.select(DOCUMENT_NAMES)).all())) == 20
    database.close()
