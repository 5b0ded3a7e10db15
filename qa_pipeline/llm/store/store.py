"""The store of replies: one thread writes what arrives together in one transaction.

The first reply to a request that is stored is the one that counts. Processes do not wait for each other: two
that ask the same at the same time may both pay.
"""

import asyncio
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import (
    CALLS,
    KEYS_A_STATEMENT,
    REPLIES,
    REPLY_DOCUMENTS,
    TOKENS,
    RequestId,
    insert_missing,
)
from qa_pipeline.records import CallRecord, Repair, ReplyModel, Usage

REPLIED = "replied"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a request: a reply, or a failure that was paid for.

    Args:
        outcome: `replied`, or the reason code of a failure.
        raw: the text as it came.
        value: the reply as JSON of its model; None for a failure.
        detail: of a failure.
        model: the model that says it replied.
        repair: how the reply became readable.
        usage: tokens.
    """

    outcome: str
    raw: str
    value: str | None = None
    detail: str | None = None
    model: str | None = None
    repair: Repair = "none"
    usage: Usage = field(default_factory=Usage)


Flight = Future[Outcome | None]
"""A request in flight and its outcome to come; None lets the next coroutine ask."""


def outcome_of_reply(value: ReplyModel, raw: str, model: str | None, usage: Usage, repair: Repair) -> Outcome:
    """Return the outcome of a reply."""
    return Outcome(REPLIED, raw, value.model_dump_json(), model=model, repair=repair, usage=usage)


def outcome_of_error(error: UnreadableReplyError) -> Outcome:
    """Return the outcome of a reply that cannot be used."""
    return Outcome(error.reason, error.raw, detail=error.detail, model=error.model, usage=error.usage)


@dataclass(slots=True, eq=False)
class _Job:
    """A request to look up; an outcome and calls to store before."""

    asked_model: str
    request: Request[Any]
    outcome: Outcome | None = None
    calls: Sequence[CallRecord] = ()
    done: Flight = field(default_factory=Future)

    @property
    def id(self) -> RequestId:
        return self.asked_model, self.request.key


class ReplyStore:
    """A store that any thread and any event loop may ask. Nothing is opened before the first use.

    Every coroutine raises ReplyStoreError when the store cannot be used.

    Args:
        place: a SQLite file, or a postgresql:// address.
    """

    def __init__(self, place: Path | str) -> None:
        self.database = Database(place)
        self._lock = threading.RLock()  # a coroutine may be collected, and land, meanwhile
        self._flights: dict[RequestId, Flight] = {}
        self._jobs: list[_Job] = []
        self._writer: ThreadPoolExecutor | None = None

    @property
    def place(self) -> str:
        """Return the file or address, for messages."""
        return self.database.place

    async def find(self, asked_model: str, request: Request[Any]) -> Outcome | None:
        """Return the stored outcome; the documents that the request shows are noted."""
        return await self._do(_Job(asked_model, request))

    async def put(
        self, asked_model: str, request: Request[Any], outcome: Outcome, calls: Sequence[CallRecord] = ()
    ) -> Outcome:
        """Store an outcome durably; return the stored one, which another process may have been first with."""
        return await self._do(_Job(asked_model, request, outcome, calls)) or outcome

    async def note(self, asked_model: str, request: Request[Any], calls: Sequence[CallRecord]) -> None:
        """Store calls that gave no outcome and may have been charged."""
        if calls:
            await self._do(_Job(asked_model, request, None, calls))

    def join(self, request_id: RequestId) -> Flight | None:
        """Return the flight of another asker; None makes the caller the first, who has to `land`."""
        with self._lock:
            before = self._flights.get(request_id)
            if before is None:
                self._flights[request_id] = Future()
            return before

    def land(self, request_id: RequestId, end: Outcome | Exception | None) -> None:
        """End a flight; an error is raised by all who wait for it."""
        with self._lock:
            flight = self._flights.pop(request_id)
        if isinstance(end, Exception):
            flight.set_exception(end)
        else:
            flight.set_result(end)

    def close(self) -> None:
        """Write what was submitted and close the database; a later use opens it again."""
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            writer.shutdown()
        self.database.close()

    async def _do(self, job: _Job) -> Outcome | None:
        with self._lock:
            self._jobs.append(job)
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, "qa-pipeline-replies")
            self._writer.submit(self._flush)
        # shielded: what is under way is done although nobody waits for it any more
        return await asyncio.shield(asyncio.wrap_future(job.done))

    def _flush(self) -> None:
        """Do at once all that was submitted since the last time."""
        with self._lock:
            jobs, self._jobs = self._jobs[:KEYS_A_STATEMENT], self._jobs[KEYS_A_STATEMENT:]
        if not jobs:
            return
        try:
            if any(job.outcome or job.calls for job in jobs):
                self.database.transact(partial(_store, jobs=jobs, now=time.time()))
            outcomes, unnoted = self.database.read(partial(_look_up, jobs=jobs))
            if unnoted:
                self.database.transact(partial(_note_documents, documents=unnoted))
        except Exception as error:  # noqa: BLE001 - raised by who waits for it
            for job in jobs:
                job.done.set_exception(error)
        else:
            for job in jobs:
                job.done.set_result(outcomes.get(job.id))


def call_of(row: Mapping[str, Any]) -> CallRecord:
    """Return the record in a row of `calls`."""
    columns = {column.name: row[column.name] for column in CALLS.c}
    return CallRecord(usage=Usage(*(columns.pop(name) for name in TOKENS)), **columns)


def _store(connection: sa.Connection, jobs: Sequence[_Job], now: float) -> None:
    """Insert outcomes, their documents and calls; what is there stays."""
    replies = [_reply_row(job, job.outcome, now) for job in jobs if job.outcome]
    calls = [_call_row(call) for job in jobs for call in job.calls]
    if replies:
        connection.execute(insert_missing(REPLIES), replies)
    if calls:
        connection.execute(insert_missing(CALLS), calls)
    shown = {(*job.id, shown) for job in jobs if job.outcome or job.calls for shown in job.request.documents}
    _note_documents(connection, shown)


def _look_up(
    connection: sa.Connection, jobs: Sequence[_Job]
) -> tuple[dict[RequestId, Outcome], set[tuple[str, str, str]]]:
    """Return the stored outcomes, and the documents that are not noted with them."""
    keys = list({job.request.key for job in jobs})
    rows = connection.execute(_FIND, {"keys": keys})
    outcomes = {(model, key): _outcome_of(*columns) for model, key, *columns in rows}
    shown = {(*job.id, shown) for job in jobs if job.id in outcomes for shown in job.request.documents}
    if not shown:
        return outcomes, shown
    return outcomes, shown - {(row[0], row[1], row[2]) for row in connection.execute(_NOTED, {"keys": keys})}


def _note_documents(connection: sa.Connection, documents: Collection[tuple[str, str, str]]) -> None:
    if documents:
        rows = [{"asked_model": m, "request_key": k, "document_id": d} for m, k, d in sorted(documents)]
        connection.execute(insert_missing(REPLY_DOCUMENTS), rows)


_KEYS: sa.BindParameter[Any] = sa.bindparam("keys", expanding=True)
_FOUND = ("asked_model", "request_key", "outcome", "raw", "value", "detail", "replied_model", "repair")
_FIND = sa.select(*(REPLIES.c[name] for name in (*_FOUND, *TOKENS))).where(REPLIES.c.request_key.in_(_KEYS))
_NOTED = sa.select(
    REPLY_DOCUMENTS.c.asked_model, REPLY_DOCUMENTS.c.request_key, REPLY_DOCUMENTS.c.document_id
).where(REPLY_DOCUMENTS.c.request_key.in_(_KEYS))


def _outcome_of(
    outcome: str,
    raw: str,
    value: str | None,
    detail: str | None,
    model: str | None,
    repair: Repair,
    *tokens: int | None,
) -> Outcome:
    return Outcome(outcome, raw, value, detail, model, repair, Usage(*tokens))


def _reply_row(job: _Job, outcome: Outcome, stored_at: float) -> dict[str, Any]:
    return {
        "asked_model": job.asked_model,
        "request_key": job.request.key,
        "role": job.request.role,
        "batch": job.request.batch,
        "outcome": outcome.outcome,
        "detail": outcome.detail,
        "raw": outcome.raw,
        "value": outcome.value,
        "replied_model": outcome.model,
        "repair": outcome.repair,
        "stored_at": stored_at,
        **asdict(outcome.usage),
    }


def _call_row(call: CallRecord) -> dict[str, Any]:
    columns = {column.name: getattr(call, column.name) for column in CALLS.c if column.name not in TOKENS}
    return columns | asdict(call.usage)
