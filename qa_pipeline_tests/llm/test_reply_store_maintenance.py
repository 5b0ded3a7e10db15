import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from qa_pipeline.llm.base import Request
from qa_pipeline.llm.reply_database import REPLIES, Database
from qa_pipeline.llm.reply_store import (
    Outcome,
    ReplyStore,
    documents_named,
    erase,
    note_documents,
    read_calls,
)
from qa_pipeline.records import Passage
from qa_pipeline_tests.calls import call
from qa_pipeline_tests.llm.outcomes import put
from qa_pipeline_tests.llm.requests import claim

REPLY = Outcome("replied", "åå", '"x"')
FAILURE = Outcome("truncated", "å", detail="cut")


@pytest.fixture
def store(place: Path | str) -> Iterator[ReplyStore]:
    opened = ReplyStore(place)
    yield opened
    opened.close()


def shows(prompt: str, *documents: str) -> Request[Any]:
    """A request that shows passages of these documents."""
    return claim(prompt, passages=tuple(Passage("c", "t", (), "x", "en", document) for document in documents))


def keys(database: Database) -> set[str]:
    return set(database.read(lambda connection: connection.scalars(sa.select(REPLIES.c.request_key)).all()))


def test_calls_are_read_by_batch_in_the_order_of_time(store: ReplyStore) -> None:
    made = [
        call(call_id="c1", batch="hr", started_at=2.0, cost=0.5, currency="USD"),
        call(call_id="c2", batch="hr", started_at=1.0, replied_model=None, outcome="model_unavailable"),
        call(call_id="c3", batch="it", started_at=0.0),
    ]
    for _ in range(2):  # as when the word that it was written was lost
        asyncio.run(store.note("m", claim(), made))
    assert read_calls(store.database, "hr") == [made[1], made[0]]
    assert read_calls(store.database) == [made[2], made[1], made[0]]


def test_erasing_takes_every_reply_that_saw_the_document(store: ReplyStore) -> None:
    both, other = shows("both", "a" * 32, "b" * 32), shows("other", "b" * 32)
    failed, busy, copy = shows("failed", "a" * 32), shows("busy", "a" * 32), shows("copy", "b" * 32)
    for request in (both, other, failed, copy):
        made = call(call_id=request.prompt, request_key=request.key, asked_model="m")
        put(store, request, FAILURE if request is failed else REPLY, made)
    note = call(call_id="busy", request_key=busy.key, asked_model="m")
    asyncio.run(store.note("m", busy, [note]))
    asyncio.run(store.find("m", shows("copy", "a" * 32)))  # the same prompt from a copy of the document
    assert erase(store.database, ["a" * 32]) == 3
    assert keys(store.database) == {other.key}
    assert {made.call_id for made in read_calls(store.database)} == {
        "both",
        "other",
        "failed",
        "busy",
        "copy",
    }
    assert erase(store.database, ["a" * 32]) == 0


def test_no_byte_of_an_erased_reply_stays_in_the_files(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path / "replies.sqlite")
    for number in range(50):
        request = shows(f"{number}", "a" * 32)
        put(store, request, Outcome("replied", f"tell-tale {number} " * 50, "{}"))
    erase(store.database, ["a" * 32])
    left = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    store.close()
    assert b"tell-tale" not in left


def test_documents_are_known_by_path_with_their_earlier_versions(store: ReplyStore) -> None:
    database = store.database
    note_documents(database, [("1" * 32, "hr", "a.md"), ("9" * 32, "it", "a.md")])
    note_documents(database, [("2" * 32, "hr", "a.md"), ("9" * 32, "it", "a.md")])
    assert [found[0][0] for found in documents_named(database, "hr/a.md")] == ["1", "2"]
    assert [found[0][0] for found in documents_named(database, "a.md")] == ["1", "2", "9"]
    assert documents_named(database, "2" * 32) == [("2" * 32, "hr", "a.md")]
    assert documents_named(database, "b.md") == []
