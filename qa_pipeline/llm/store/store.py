"""The store of replies in a database: each reply, claim and release in one transaction."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from qa_pipeline.errors import ReplyStoreError, UnreadableReplyError
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.leases import LEASE_SECONDS, Leases
from qa_pipeline.llm.store.schema import (
    CALLS,
    REPLIES,
    REPLY_DOCUMENTS,
    TOKENS,
    RequestId,
    insert_missing,
    is_request,
    request_parameters,
)
from qa_pipeline.records import CallRecord, Repair, ReplyModel, Usage

REPLIED = "replied"
Done = TypeVar("Done")


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


def outcome_of_reply(value: ReplyModel, raw: str, model: str | None, usage: Usage, repair: Repair) -> Outcome:
    """Return the outcome of a reply."""
    return Outcome(REPLIED, raw, value.model_dump_json(), model=model, repair=repair, usage=usage)


def outcome_of_error(error: UnreadableReplyError) -> Outcome:
    """Return the outcome of a reply that cannot be used."""
    return Outcome(error.reason, error.raw, detail=error.detail, model=error.model, usage=error.usage)


@dataclass(frozen=True, slots=True)
class Paid:
    """An outcome to store, whom it was asked for, and the calls that it took."""

    request_id: RequestId
    role: str
    batch: str
    documents: tuple[str, ...]
    outcome: Outcome
    calls: tuple[CallRecord, ...] = ()


_OUTCOME_COLUMNS = ("outcome", "raw", "value", "detail", "replied_model", "repair")
_FIND = sa.select(*(REPLIES.c[name] for name in (*_OUTCOME_COLUMNS, *TOKENS))).where(is_request(REPLIES))
_NOTED = sa.select(REPLY_DOCUMENTS.c.document_id).where(is_request(REPLY_DOCUMENTS))


def call_of(row: Mapping[str, Any]) -> CallRecord:
    """Return the record in a row of `calls`."""
    columns = {column.name: row[column.name] for column in CALLS.c}
    return CallRecord(usage=Usage(*(columns.pop(name) for name in TOKENS)), **columns)


def insert_paid(connection: sa.Connection, paid: Sequence[Paid], now: float) -> int:
    """Store outcomes, what they show and the calls they took; what is there stays.

    Returns:
        How many outcomes were not there before.
    """
    rows = [_reply_row(reply, now) for reply in paid]
    inserted = 0
    if rows:
        preserve = {"preserve_rowcount": True}
        inserted = connection.execute(insert_missing(REPLIES), rows, execution_options=preserve).rowcount
    _insert_documents(
        connection, [(reply.request_id, document) for reply in paid for document in reply.documents]
    )
    insert_calls(connection, [call for reply in paid for call in reply.calls])
    return inserted


def insert_calls(connection: sa.Connection, calls: Sequence[CallRecord]) -> None:
    """Note calls; those that are noted stay."""
    if calls:
        connection.execute(insert_missing(CALLS), [_call_row(call) for call in calls])


def _insert_documents(connection: sa.Connection, documents: Collection[tuple[RequestId, str]]) -> None:
    rows = [
        {"asked_model": model, "request_key": key, "document_id": document}
        for (model, key), document in documents
    ]
    if rows:
        connection.execute(insert_missing(REPLY_DOCUMENTS), rows)


def _reply_row(paid: Paid, stored_at: float) -> dict[str, Any]:
    outcome = paid.outcome
    return {
        "asked_model": paid.request_id[0],
        "request_key": paid.request_id[1],
        "role": paid.role,
        "batch": paid.batch,
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


class SqlReplyStore:
    """A store of replies in one database. One thread at a time uses it, but for `beat`.

    Every method raises ReplyStoreError when the store cannot be used.

    Args:
        database: where; the store closes it.
        clock: Unix seconds, for `stored_at`.
        lease_seconds: how long a process on Postgres may be silent before others ask what it was asking.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], float] = time.time,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._database = database
        self._clock = clock
        file = Path(database.url.database or "")
        owners = None if database.is_postgres else file.with_name(f".{file.name}.owners")
        self._leases = Leases(owners, lease_seconds)
        self._given_up: set[RequestId] = set()  # to be given up with whatever is written next

    @property
    def place(self) -> str:
        """Return the file or address, for messages."""
        return self._database.place

    @property
    def beat_seconds(self) -> float | None:
        """Return the seconds between calls of `beat` while anything is claimed; None if not needed."""
        return self._leases.beat_seconds

    def find(self, request_id: RequestId, documents: Collection[str] = ()) -> Outcome | None:
        """Return the stored outcome of a request, without waiting; its present documents are noted."""

        def look(connection: sa.Connection) -> tuple[Outcome | None, set[str]]:
            reply = _find(connection, request_id)
            if reply is None or not documents:
                return reply, set()
            return reply, set(documents) - set(connection.scalars(_NOTED, request_parameters(request_id)))

        reply, unseen = self._database.read(look)
        if unseen:
            documents_seen = [(request_id, document) for document in sorted(unseen)]
            self._write(lambda connection: _insert_documents(connection, documents_seen))
        return reply

    def claim(self, request_id: RequestId, documents: Collection[str] = ()) -> Outcome | bool:
        """Return the stored outcome; else True when this owner is to ask, False while another one does."""

        def take(connection: sa.Connection) -> bool:
            mine = self._leases.take(connection, request_id)
            if mine and _find(connection, request_id) is not None:
                # stored by another process after this one had looked and before it claimed
                self._leases.drop(connection, request_id)
                return False
            return mine

        reply = self.find(request_id, documents)
        return self._write(take) if reply is None else reply

    def put(self, paid: Paid) -> Outcome:
        """Store durably, end the claim, and return what is stored: another process may have been first."""

        def store(connection: sa.Connection) -> Outcome | None:
            inserted = insert_paid(connection, [paid], self._clock())
            self._leases.drop(connection, paid.request_id)
            return None if inserted else _find(connection, paid.request_id)

        try:
            return self._write(store) or paid.outcome
        except ReplyStoreError:
            self._given_up.add(paid.request_id)
            raise

    def release(
        self, request_id: RequestId, calls: Sequence[CallRecord] = (), documents: Collection[str] = ()
    ) -> None:
        """Give up a claim without an outcome, and note its calls, which may have been charged."""

        def note(connection: sa.Connection) -> None:
            insert_calls(connection, calls)
            if calls:
                _insert_documents(connection, [(request_id, document) for document in documents])

        self._given_up.add(request_id)
        self._write(note)

    def beat(self) -> None:
        """Renew the leases, where they have to be."""
        if self.beat_seconds is not None:
            self._database.transact(self._leases.renew)

    def close(self) -> None:
        """Close the database, which a later use opens again; others take over what this owner claimed."""
        self._leases.close()
        self._database.close()

    def _write(self, work: Callable[[sa.Connection], Done]) -> Done:
        """Return the result of work in one transaction, durable when this returns."""

        def transaction(connection: sa.Connection) -> Done:
            for request_id in self._given_up:
                self._leases.drop(connection, request_id)
            return work(connection)

        done = self._database.transact(transaction)
        self._given_up.clear()
        return done


def _find(connection: sa.Connection, request_id: RequestId) -> Outcome | None:
    row = connection.execute(_FIND, request_parameters(request_id)).one_or_none()
    if row is None:
        return None
    outcome, raw, value, detail, model, repair, *tokens = row
    return Outcome(outcome, raw, value, detail, model, repair, Usage(*tokens))
