"""The store of replies. A single thread writes simultaneous replies in one transaction.

The first stored reply to a request counts. Processes do not wait for each other, so two processes may both
pay for the same request.
"""

import asyncio
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from qa_pipeline.llm.base import Request
from qa_pipeline.llm.reply_database import (
    CALLS,
    DOCUMENT_NAMES,
    KEYS_A_STATEMENT,
    REPLIES,
    REPLY_DOCUMENTS,
    TOKENS,
    Database,
    RequestId,
    insert_missing,
)
from qa_pipeline.records import CallRecord, Repair, Usage

ReplyDocument = tuple[str, str, str]
"""Asked model and key of a request, and the id of a document that it shows."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a request: a reply, or a failure that was paid for.

    `outcome` is `replied` or a reason code. `value` is the reply as JSON of its model, or None for a failure.
    """

    outcome: str
    raw: str
    value: str | None = None
    detail: str | None = None
    replied_model: str | None = None
    repair: Repair = "none"
    usage: Usage = field(default_factory=Usage)


Flight = Future[Outcome | None]
"""A request in flight and its future outcome. None lets the next coroutine ask."""


@dataclass(slots=True, eq=False)
class _Job:
    """A request to look up, with an outcome and calls to store first."""

    asked_model: str
    request: Request[Any]
    outcome: Outcome | None = None
    calls: Sequence[CallRecord] = ()
    done: Flight = field(default_factory=Future)

    @property
    def request_id(self) -> RequestId:
        return self.asked_model, self.request.key


class ReplyStore:
    """A store for any thread and event loop, in a SQLite file or at a postgresql:// address.

    It is opened at the first use. Every coroutine raises StorageError if the store cannot be used.
    """

    def __init__(self, address: Path | str) -> None:
        self.database = Database(address)
        self._lock = threading.RLock()  # re-entrant, since a garbage-collected coroutine may land meanwhile
        self._flights: dict[RequestId, Flight] = {}
        self._jobs: list[_Job] = []
        self._writer: ThreadPoolExecutor | None = None

    async def find(self, asked_model: str, request: Request[Any]) -> Outcome | None:
        """Return the stored outcome, and record the documents that the request shows."""
        return await self._submit(_Job(asked_model, request))

    async def put(
        self, asked_model: str, request: Request[Any], outcome: Outcome, calls: Sequence[CallRecord] = ()
    ) -> Outcome:
        """Store an outcome durably, and return the stored outcome, which may be that of a faster process."""
        return await self._submit(_Job(asked_model, request, outcome, calls)) or outcome

    async def note(self, asked_model: str, request: Request[Any], calls: Sequence[CallRecord]) -> None:
        """Store calls without an outcome that may have been charged."""
        if calls:
            await self._submit(_Job(asked_model, request, None, calls))

    def join_or_open(self, request_id: RequestId) -> Flight | None:
        """Return the flight of an equal request, else open one and return None: the caller must `land` it."""
        with self._lock:
            flight = self._flights.get(request_id)
            if flight is None:
                self._flights[request_id] = Future()
            return flight

    def land(self, request_id: RequestId, result: Outcome | Exception | None) -> None:
        """End a flight: waiting callers get the outcome, raise the error, or join again after None."""
        with self._lock:
            flight = self._flights.pop(request_id)
        if isinstance(result, Exception):
            flight.set_exception(result)
        else:
            flight.set_result(result)

    def close(self) -> None:
        """Write submitted jobs and close the database. A later use opens it again."""
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            writer.shutdown()
        self.database.close()

    async def _submit(self, job: _Job) -> Outcome | None:
        """Queue a job, wait until the writer has processed it, and return the stored outcome, if any."""
        with self._lock:
            self._jobs.append(job)
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, "qa-pipeline-replies")
            self._writer.submit(self._flush)
        # shielded, so that a job is finished even if its caller is cancelled
        return await asyncio.shield(asyncio.wrap_future(job.done))

    def _flush(self) -> None:
        """Process up to `KEYS_A_STATEMENT` waiting jobs; the flushes that other jobs queued do the rest."""
        with self._lock:
            jobs, self._jobs = self._jobs[:KEYS_A_STATEMENT], self._jobs[KEYS_A_STATEMENT:]
        if not jobs:  # earlier flushes have processed them
            return
        try:
            if any(job.outcome or job.calls for job in jobs):  # the other jobs only look up
                self.database.transact(partial(_store, jobs=jobs, now=time.time()))
            outcomes, new_documents = self.database.read(partial(_look_up, jobs=jobs))
            if new_documents:
                self.database.transact(partial(_note_documents, documents=new_documents))
        except Exception as error:  # noqa: BLE001 - raised in the waiting coroutine
            for job in jobs:
                job.done.set_exception(error)
        else:
            for job in jobs:
                job.done.set_result(outcomes.get(job.request_id))


def _row(record: Outcome | CallRecord) -> dict[str, Any]:
    """Return the columns of a record, with a column per kind of token."""
    values = asdict(record)
    usage: dict[str, Any] = values.pop("usage")
    return values | usage


def _store(connection: sa.Connection, jobs: Sequence[_Job], now: float) -> None:
    """Insert outcomes, calls and the documents that their requests show; existing rows are kept."""
    replies = [
        {
            "asked_model": job.asked_model,
            "request_key": job.request.key,
            "role": job.request.role,
            "batch": job.request.batch,
            "stored_at": now,
            **_row(job.outcome),
        }
        for job in jobs
        if job.outcome
    ]
    calls = [_row(call) for job in jobs for call in job.calls]
    if replies:
        connection.execute(insert_missing(REPLIES), replies)
    if calls:
        connection.execute(insert_missing(CALLS), calls)
    asked = [job for job in jobs if job.outcome or job.calls]  # the other jobs only look up
    shown = {(*job.request_id, document_id) for job in asked for document_id in job.request.documents}
    _note_documents(connection, shown)


def _look_up(
    connection: sa.Connection, jobs: Sequence[_Job]
) -> tuple[dict[RequestId, Outcome], set[ReplyDocument]]:
    """Return the stored outcomes by request, and the shown documents that are not yet stored with them.

    Equal requests may show different documents, such as a copy. `erase` must find their reply by each.
    """
    keys = list({job.request.key for job in jobs})
    outcomes: dict[RequestId, Outcome] = {}
    for row in connection.execute(_FIND_REPLIES, {"keys": keys}).mappings():
        fields = {name: row[name] for name in _OUTCOME_COLUMNS}
        usage = Usage(*(row[name] for name in TOKENS))
        outcomes[row["asked_model"], row["request_key"]] = Outcome(**fields, usage=usage)
    answered = [job for job in jobs if job.request_id in outcomes]
    shown = {(*job.request_id, document_id) for job in answered for document_id in job.request.documents}
    if not shown:
        return outcomes, set()
    stored = {(row[0], row[1], row[2]) for row in connection.execute(_FIND_DOCUMENTS, {"keys": keys})}
    return outcomes, shown - stored


def _note_documents(connection: sa.Connection, documents: Collection[ReplyDocument]) -> None:
    if documents:
        names = ("asked_model", "request_key", "document_id")
        rows = [dict(zip(names, document, strict=True)) for document in sorted(documents)]
        connection.execute(insert_missing(REPLY_DOCUMENTS), rows)


_KEYS: sa.BindParameter[Any] = sa.bindparam("keys", expanding=True)
_OUTCOME_COLUMNS = ("outcome", "raw", "value", "detail", "replied_model", "repair")
_FIND_REPLIES = sa.select(REPLIES).where(REPLIES.c.request_key.in_(_KEYS))
_FIND_DOCUMENTS = sa.select(
    REPLY_DOCUMENTS.c.asked_model, REPLY_DOCUMENTS.c.request_key, REPLY_DOCUMENTS.c.document_id
).where(REPLY_DOCUMENTS.c.request_key.in_(_KEYS))


def erase(database: Database, documents: Sequence[str]) -> int:
    """Delete all replies that show any of the documents, and their names; return the number of replies."""
    replies = database.transact(lambda connection: _erase(connection, documents))
    if replies:
        database.empty_log()  # of SQLite, which still contains the deleted text
    return replies


def _request_id(table: sa.Table) -> "sa.Tuple":
    return sa.tuple_(table.c.asked_model, table.c.request_key)


def _erase(connection: sa.Connection, document_ids: Sequence[str]) -> int:
    """Delete the replies that show the documents, and the documents' names; see `erase`."""
    deleted = 0
    for start in range(0, len(document_ids), KEYS_A_STATEMENT):
        some_ids = document_ids[start : start + KEYS_A_STATEMENT]
        is_shown = REPLY_DOCUMENTS.c.document_id.in_(some_ids)
        requests = sa.select(*_request_id(REPLY_DOCUMENTS)).where(is_shown)
        deletion = connection.execute(sa.delete(REPLIES).where(_request_id(REPLIES).in_(requests)))
        deleted += deletion.rowcount
        connection.execute(sa.delete(DOCUMENT_NAMES).where(DOCUMENT_NAMES.c.document_id.in_(some_ids)))
    # a deleted reply may also have shown other documents
    kept = sa.select(*_request_id(REPLIES))
    connection.execute(sa.delete(REPLY_DOCUMENTS).where(_request_id(REPLY_DOCUMENTS).not_in(kept)))
    return deleted


DocumentName = tuple[str, str, str]
"""Id of a document, its batch, and its path there."""


def note_documents(database: Database, names: Iterable[DocumentName]) -> None:
    """Store the paths of documents."""
    columns = ("document_id", "batch", "path")
    rows = [dict(zip(columns, name, strict=True)) for name in names]
    if rows:
        database.transact(lambda connection: connection.execute(insert_missing(DOCUMENT_NAMES), rows))


def documents_named(database: Database, name: str) -> list[DocumentName]:
    """Return the documents with this id, this path, or this batch and path, as `batch/path`."""
    document_id, batch, path = DOCUMENT_NAMES.c  # its columns
    has_name = sa.or_(document_id == name, path == name, batch + "/" + path == name)
    chosen = sa.select(DOCUMENT_NAMES).where(has_name)
    return database.read(
        lambda connection: sorted((row[0], row[1], row[2]) for row in connection.execute(chosen))
    )


def read_calls(database: Database, batch: str | None = None) -> list[CallRecord]:
    """Return the calls of a batch, or of all batches, in order of time."""
    chosen = sa.select(CALLS).order_by(CALLS.c.started_at, CALLS.c.call_id)
    if batch is not None:
        chosen = chosen.where(CALLS.c.batch == batch)
    rows = database.read(lambda connection: [dict(row) for row in connection.execute(chosen).mappings()])
    return [_call(row) for row in rows]


def _call(row: Mapping[Any, Any]) -> CallRecord:
    usage = Usage(*(row[name] for name in TOKENS))
    return CallRecord(usage=usage, **{name: value for name, value in row.items() if name not in TOKENS})
