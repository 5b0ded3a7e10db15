import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from qa_pipeline.errors import InputError
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.maintenance import (
    Choice,
    Erased,
    erase,
    known_documents,
    note_documents,
    prunable,
    prune,
    read_calls,
    size,
    versions_of,
)
from qa_pipeline.llm.store.schema import PROVIDER_ITEMS, REPLIES, REPLY_DOCUMENTS, RequestId
from qa_pipeline.llm.store.store import Outcome, SqlReplyStore
from qa_pipeline_tests.calls import call
from qa_pipeline_tests.llm.store.outcomes import paid

REPLY = Outcome("replied", "åå", '"x"')
FAILURE = Outcome("truncated", "å", detail="cut")
DAY = 86_400.0


@pytest.fixture
def database(place: Path | str) -> Iterator[Database]:
    opened = Database(place)
    yield opened
    opened.close()


def store_at(database: Database, days_ago: float, ids: dict[RequestId, Outcome]) -> None:
    store = SqlReplyStore(database, clock=lambda: time.time() - days_ago * DAY)
    for one, outcome in ids.items():
        store.put(paid(one, outcome, documents=("d" * 32,)))
    store.close()


def keys(database: Database) -> set[RequestId]:
    chosen = sa.select(REPLIES.c.asked_model, REPLIES.c.request_key)
    return database.read(lambda connection: {(row[0], row[1]) for row in connection.execute(chosen)})


def test_the_size_counts_replies_by_model_role_age_and_failure(database: Database) -> None:
    store_at(database, 0.5, {("one", "a"): REPLY, ("one", "b"): FAILURE})
    store_at(database, 100, {("two", "c"): REPLY})
    found = size(database)
    told = {(share.asked_model, share.role, share.age, share.failed): share for share in found.shares}
    assert told.keys() == {
        ("one", "verify", "a day", False),
        ("one", "verify", "a day", True),
        ("two", "verify", "older", False),
    }
    assert [share.rows for share in told.values()] == [1, 1, 1]
    assert told["one", "verify", "a day", False].text_bytes == len("åå".encode()) + len('"x"')
    assert told["one", "verify", "a day", True].text_bytes == len("å".encode()) + len("cut")
    assert found.disk_bytes > 0


def test_pruning_takes_what_fits_every_condition_and_says_so_beforehand(database: Database) -> None:
    store_at(database, 0, {("one", "new"): REPLY, ("one", "new failure"): FAILURE})
    store_at(database, 100, {("one", "old"): REPLY, ("two", "old"): REPLY, ("one", "old failure"): FAILURE})
    old = Choice(older_than_seconds=90 * DAY, model="one")
    assert sum(share.rows for share in prunable(database, old)) == 2
    assert prune(database, old) == 2
    assert keys(database) == {("one", "new"), ("one", "new failure"), ("two", "old")}
    assert prune(database, Choice(failures=True)) == 1
    assert keys(database) == {("one", "new"), ("two", "old")}
    left = database.read(lambda connection: len(connection.execute(sa.select(REPLY_DOCUMENTS)).all()))
    assert left == 2


def test_pruning_without_a_condition_is_refused(database: Database) -> None:
    with pytest.raises(InputError, match="--older-than, --model or --failures"):
        prune(database, Choice())


def test_pruning_keeps_the_journal_of_calls(database: Database) -> None:
    store = SqlReplyStore(database)
    made = call(call_id="c1", batch="hr", prompt="what it said")
    store.put(paid(("m", "k"), FAILURE, calls=(made,)))
    store.close()
    assert prune(database, Choice(failures=True)) == 1
    assert read_calls(database) == [made]


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
    assert known_documents(database, "aaaaaa") == ["a" * 32]
    assert erase(database, ["a" * 32]) == Erased(replies=2, prompts=3)
    assert keys(database) == {("m", "other")}
    assert {made.call_id: made.prompt for made in read_calls(database)} == {
        "both": None,
        "failed": None,
        "busy": None,
        "other": "shows other",
    }
    assert known_documents(database, "aaaaaa") == []
    assert erase(database, ["a" * 32]) == Erased(0, 0)


def test_a_prompt_can_be_erased_after_its_reply_was_pruned(database: Database) -> None:
    store = SqlReplyStore(database)
    made = call(call_id="c1", request_key="k", asked_model="m", prompt="shows it")
    store.put(paid(("m", "k"), FAILURE, documents=("a" * 32,), calls=(made,)))
    store.close()
    prune(database, Choice(failures=True))
    assert erase(database, ["a" * 32]) == Erased(replies=0, prompts=1)


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


def test_a_reply_of_a_batch_job_that_nobody_has_read_yet_is_forgotten_too(database: Database) -> None:
    item = {
        "asked_model": "m",
        "sent_key": "a",
        "request_key": "a",
        "job_key": "j",
        "position": 0,
        "role": "verify",
        "batch": "b",
        "documents": '["secret", "other"]',
        "reply_model": "Decision",
        "state": "answered",
        "attempts": 1,
        "answer": "what it says",
    }
    kept = item | {"sent_key": "b", "documents": '["another"]'}
    database.transact(lambda connection: connection.execute(PROVIDER_ITEMS.insert(), [item, kept]))
    assert erase(database, ["secret"]).replies == 1
    left = database.read(lambda connection: connection.scalars(sa.select(PROVIDER_ITEMS.c.sent_key)).all())
    assert left == ["b"]
