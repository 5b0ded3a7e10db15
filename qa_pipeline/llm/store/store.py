"""The store of replies in a database: one transaction a round."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.leases import LEASE_SECONDS, KeysByModel, Leases
from qa_pipeline.llm.store.schema import (
    CALLS,
    KEYS_A_STATEMENT,
    REPLIES,
    REPLY_DOCUMENTS,
    TOKENS,
    insert_missing,
)
from qa_pipeline.records import CallRecord, Repair, Usage

RequestId = tuple[str, str]
"""Name of the asked model, and `Request.key`."""
REPLIED = "replied"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What asking came to: a reply, or a failure that was paid for.

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


@dataclass(frozen=True, slots=True)
class Paid:
    """An outcome to store, whom it was asked for, and the calls that it took."""

    request_id: RequestId
    role: str
    batch: str
    documents: tuple[str, ...]
    outcome: Outcome
    calls: tuple[CallRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """Everything that is written in one transaction, in this order.

    Args:
        paid: outcomes to store; their claims are given up.
        released: claims to give up of which nothing came.
        calls: those that nothing came of.
        seen: documents that requests show, of those calls and of replies that are stored already.
        wanted: requests to claim.
    """

    paid: Sequence[Paid] = ()
    released: Sequence[RequestId] = ()
    calls: Sequence[CallRecord] = ()
    seen: Sequence[tuple[RequestId, str]] = ()
    wanted: Collection[RequestId] = ()

    def __bool__(self) -> bool:
        return bool(self.paid or self.released or self.calls or self.seen or self.wanted)


@dataclass(frozen=True, slots=True)
class Written:
    """What a round came to.

    Args:
        stored: what is in the store now, of all that was paid, and of what was wanted as far as it is there;
            an outcome that another process stored before stays.
        claimed: what this owner is to ask.
    """

    stored: dict[RequestId, Outcome]
    claimed: frozenset[RequestId]


_OUTCOME_COLUMNS = ("outcome", "raw", "value", "detail", "replied_model", "repair")
_OF_KEYS = {
    table: sa.and_(
        table.c.asked_model == sa.bindparam("of_model"),
        table.c.request_key.in_(sa.bindparam("of_keys", expanding=True)),
    )
    for table in (REPLIES, REPLY_DOCUMENTS)
}
_FIND = sa.select(REPLIES.c.request_key, *(REPLIES.c[name] for name in (*_OUTCOME_COLUMNS, *TOKENS))).where(
    _OF_KEYS[REPLIES]
)
_NOTED = sa.select(REPLY_DOCUMENTS.c.request_key, REPLY_DOCUMENTS.c.document_id).where(
    _OF_KEYS[REPLY_DOCUMENTS]
)


def call_of(row: Mapping[str, Any]) -> CallRecord:
    """The record in a row of `calls`."""
    columns = {column.name: row[column.name] for column in CALLS.c}
    return CallRecord(usage=Usage(*(columns.pop(name) for name in TOKENS)), **columns)


def insert_paid(
    connection: sa.Connection, paid: Sequence[Paid], calls: Sequence[CallRecord], now: float
) -> bool:
    """Store outcomes and calls; what is there stays. Returns whether no outcome was there before."""
    inserted = 0
    for table, rows in (
        (REPLIES, [_reply_row(one, now) for one in paid]),
        (REPLY_DOCUMENTS, [_document_row(one.request_id, shown) for one in paid for shown in one.documents]),
        (CALLS, [_call_row(call) for call in [*calls, *(call for one in paid for call in one.calls)]]),
    ):
        if rows:
            preserve = {"preserve_rowcount": table is REPLIES}
            done = connection.execute(insert_missing(table), rows, execution_options=preserve)
            inserted += done.rowcount if table is REPLIES else 0
    return inserted == len(paid)


def _reply_row(paid: Paid, stored_at: float) -> dict[str, Any]:
    asked_model, request_key = paid.request_id
    outcome = paid.outcome
    return {
        "asked_model": asked_model,
        "request_key": request_key,
        "role": paid.role,
        "batch": paid.batch,
        "outcome": outcome.outcome,
        "detail": outcome.detail,
        "raw": outcome.raw,
        "value": outcome.value,
        "replied_model": outcome.model,
        "repair": outcome.repair,
        "stored_at": stored_at,
        **_tokens(outcome.usage),
    }


def _call_row(call: CallRecord) -> dict[str, Any]:
    own = {column.name: getattr(call, column.name) for column in CALLS.c if column.name not in TOKENS}
    return own | _tokens(call.usage)


def _document_row(request_id: RequestId, document: str) -> dict[str, str]:
    return {"asked_model": request_id[0], "request_key": request_id[1], "document_id": document}


def _tokens(usage: Usage) -> dict[str, int | None]:
    return {name: getattr(usage, name) for name in TOKENS}


class SqlReplyStore:
    """Replies in one database, asked for many requests at once. One thread at a time uses it.

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

    @property
    def place(self) -> str:
        """The file or address, for messages."""
        return self._database.place

    @property
    def beat_seconds(self) -> float | None:
        """How often `beat` must be called while anything is claimed; None where claims need no beat."""
        return self._leases.beat_seconds

    def find(self, wanted: Collection[RequestId]) -> dict[RequestId, Outcome]:
        """What is stored, of all that is wanted; waits for nobody."""
        return self._database.read(lambda connection: _find(connection, wanted)) if wanted else {}

    def unseen(self, shown: Mapping[RequestId, Collection[str]]) -> list[tuple[RequestId, str]]:
        """Which documents are not noted yet, of those that requests show."""
        if not shown:
            return []
        rows = self._database.read(lambda connection: list(_rows(connection, _NOTED, shown)))
        noted = {(request_id, document) for request_id, (document,) in rows}
        wanted = [(one, document) for one, documents in shown.items() for document in sorted(set(documents))]
        return [one for one in wanted if one not in noted]

    def write(self, round_: Round) -> Written:
        """Store, release and claim in one transaction, durable when this returns."""
        try:
            self._leases.open()
        except OSError as error:
            raise ReplyStoreError(
                f"the reply store {self.place} cannot be used: {error.strerror or error}: {error.filename}. "
                "Give this user the right to write there, and free some space if the disk is full"
            ) from error
        return self._database.transact(lambda connection: self._write(connection, round_))

    def beat(self) -> None:
        """Renew the leases, where they have to be."""
        if self.beat_seconds is not None:
            self._database.transact(self._leases.renew)

    def close(self) -> None:
        """Close the database, which a later use opens again; others take over what this owner claimed."""
        self._leases.close()
        self._database.close()

    def _write(self, connection: sa.Connection, round_: Round) -> Written:
        paid = round_.paid
        stored = {one.request_id: one.outcome for one in paid}
        if not insert_paid(connection, paid, round_.calls, self._clock()):
            stored = _find(connection, stored)
        if round_.seen:
            connection.execute(insert_missing(REPLY_DOCUMENTS), [_document_row(*one) for one in round_.seen])
        self._drop(connection, [*round_.released, *(one.request_id for one in paid)])
        if not round_.wanted:
            return Written(stored, frozenset())
        claimed = {mine for keys in _by_model(round_.wanted) for mine in self._leases.take(connection, keys)}
        # stored by another process after this one had looked and before it claimed
        late = _find(connection, claimed)
        self._drop(connection, late)
        return Written(stored | late, frozenset(claimed - late.keys()))

    def _drop(self, connection: sa.Connection, done: Collection[RequestId]) -> None:
        for keys in _by_model(done):
            self._leases.drop(connection, keys)


def _find(connection: sa.Connection, wanted: Collection[RequestId]) -> dict[RequestId, Outcome]:
    found: dict[RequestId, Outcome] = {}
    for request_id, columns in _rows(connection, _FIND, wanted):
        outcome, raw, value, detail, model, repair, *tokens = columns
        found[request_id] = Outcome(outcome, raw, value, detail, model, repair, Usage(*tokens))
    return found


def _rows(
    connection: sa.Connection, chosen: sa.Select[Any], wanted: Collection[RequestId]
) -> Iterator[tuple[RequestId, tuple[Any, ...]]]:
    """Rows of the wanted requests, each under its request."""
    for keys in _by_model(wanted):
        for model, of_model in keys.items():
            for key, *columns in connection.execute(chosen, {"of_model": model, "of_keys": of_model}):
                yield (model, key), tuple(columns)


def _by_model(wanted: Collection[RequestId]) -> Iterator[KeysByModel]:
    """Keys by model, in portions that a statement takes."""
    ids = list(wanted)
    for start in range(0, len(ids), KEYS_A_STATEMENT):
        keys: dict[str, list[str]] = {}
        for model, key in ids[start : start + KEYS_A_STATEMENT]:
            keys.setdefault(model, []).append(key)
        yield keys
