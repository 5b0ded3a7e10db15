from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.maintenance import (
    Erased,
    erase,
    note_documents,
    read_calls,
    versions_of,
)
from qa_pipeline.llm.store.schema import REPLIES, RequestId
from qa_pipeline.llm.store.store import Outcome, SqlReplyStore
from qa_pipeline_tests.calls import call
from qa_pipeline_tests.llm.store.outcomes import paid

REPLY = Outcome("replied", "åå", '"x"')
FAILURE = Outcome("truncated", "å", detail="cut")


@pytest.fixture
def database(place: Path | str) -> Iterator[Database]:
    opened = Database(place)
    yield opened
    opened.close()


def keys(database: Database) -> set[RequestId]:
    chosen = sa.select(REPLIES.c.asked_model, REPLIES.c.request_key)
    return database.read(lambda connection: {(row[0], row[1]) for row in connection.execute(chosen)})


def test_calls_are_read_by_batch_in_the_order_of_time(database: Database) -> None:
    store = SqlReplyStore(database)
    made = [
        call(call_id="c1", batch="hr\0", started_at=2.0, cost=0.5, currency="USD", prompt="\ud800"),
        call(call_id="c2", batch="hr\0", started_at=1.0, replied_model=None, outcome="model_unavailable"),
        call(call_id="c3", batch="it", started_at=0.0),
    ]
    for _ in range(2):  # as when the word that it was written was lost
        store.release(("m", "k"), made)
    store.close()
    assert read_calls(database, "hr\0") == [made[1], made[0]]
    assert read_calls(database) == [made[2], made[1], made[0]]


def test_erasing_takes_every_reply_that_saw_the_document_and_its_prompts_alone(database: Database) -> None:
    store = SqlReplyStore(database)
    asked = {
        "both": ("a" * 32, "b" * 32),
        "other": ("b" * 32,),
        "failed": ("a" * 32,),
    }
    for key, documents in asked.items():
        outcome = FAILURE if key == "failed" else REPLY
        made = call(call_id=key, request_key=key, asked_model="m", prompt=f"shows {key}")
        store.put(paid(("m", key), outcome, documents=documents, calls=(made,)))
    busy = call(call_id="busy", request_key="busy", asked_model="m", prompt="shows busy")
    store.release(("m", "busy"), [busy], ["a" * 32])
    store.close()
    assert erase(database, ["a" * 32]) == Erased(replies=2, prompts=3)
    assert keys(database) == {("m", "other")}
    assert {made.call_id: made.prompt for made in read_calls(database)} == {
        "both": None,
        "failed": None,
        "busy": None,
        "other": "shows other",
    }
    assert erase(database, ["a" * 32]) == Erased(0, 0)


def test_no_byte_of_an_erased_reply_stays_in_the_files(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    database = Database(path)
    store = SqlReplyStore(database)
    for number in range(50):
        outcome = Outcome("replied", f"tell-tale {number} " * 50, "{}")
        store.put(paid(("m", f"{number}"), outcome, documents=("a" * 32,)))
    erase(database, ["a" * 32])
    left = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    store.close()
    assert b"tell-tale" not in left


def test_documents_are_known_by_path_with_their_earlier_versions(database: Database) -> None:
    note_documents(database, [("1" * 32, "hr", "a.md"), ("9" * 32, "it", "a.md")])
    note_documents(database, [("2" * 32, "hr", "a.md"), ("9" * 32, "it", "a.md")])
    assert [found[0][0] for found in versions_of(database, "hr/a.md")] == ["1", "2"]
    assert [found[0][0] for found in versions_of(database, "a.md")] == ["1", "2", "9"]
    assert versions_of(database, "2" * 32) == [("2" * 32, "hr", "a.md")]
    assert versions_of(database, "b.md") == []
