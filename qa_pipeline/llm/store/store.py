"""The store of replies in a database: one transaction a round.

What belongs here: replies, their documents and calls, in SQLite and in Postgres. What does not: who is alive
(`claims.py`), event loops (`front.py`), sizes and pruning (`maintenance.py`).
"""

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.leases import LEASE_SECONDS, KeysByModel, Leases, LockedLeases, TimedLeases
from qa_pipeline.llm.store.schema import CALLS, REPLIES, REPLY_DOCUMENTS
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
        an
            outcome that another process stored before stays.
        claimed: what this owner is to ask.
    """

    stored: dict[RequestId, Outcome]
    claimed: frozenset[RequestId]


class ReplyStore(Protocol):
    """A store of replies, asked for many requests at once. One thread at a time uses it.

    Every method raises ReplyStoreError when the store cannot be used.
    """

    @property
    def place(self) -> str:
        """The file or address, for messages."""
        ...

    @property
    def beat_seconds(self) -> float | None:
        """How often `beat` must be called while anything is claimed; None where claims need no beat."""
        ...

    def find(self, wanted: Collection[RequestId]) -> dict[RequestId, Outcome]:
        """What is stored, of all that is wanted; waits for nobody."""
        ...

    def unseen(self, shown: Mapping[RequestId, Collection[str]]) -> list[tuple[RequestId, str]]:
        """Which documents are not noted yet, of those that requests show."""
        ...

    def write(self, round_: Round) -> Written:
        """Store, release and claim in one transaction, durable when this returns."""
        ...

    def beat(self) -> None:
        """Say that this owner is alive."""
        ...

    def close(self) -> None:
        """Give up what is claimed and close; a later use opens it again."""
        ...


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_MARK = "\ue000json:"
_MOST = 2**63 - 1


def storable(text: str) -> str:
    """The text itself, or a marked form of it that any database holds."""
    if _UNSTORABLE.search(text) or text.startswith(_MARK):
        return _MARK + json.dumps(text)
    return text


def restored(text: str) -> str:
    """The text that `storable` was given."""
    if not text.startswith(_MARK):
        return text
    whole: str = json.loads(text[len(_MARK) :])
    return whole


def name_of(text: str | None, longest: int) -> str | None:
    """A name that a server says it has, as far as a column holds it."""
    return None if text is None else _UNSTORABLE.sub("\ufffd", text)[:longest]


def count_of(number: int | None) -> int | None:
    """A count that a server tells, as far as a column holds it."""
    return None if number is None else max(0, min(number, _MOST))


Row = dict[str, Any]
_LONGEST_NAME = 400
OUTCOME_COLUMNS: tuple[sa.Column[Any], ...] = (
    REPLIES.c.asked_model,
    REPLIES.c.request_key,
    REPLIES.c.outcome,
    REPLIES.c.raw,
    REPLIES.c.value,
    REPLIES.c.detail,
    REPLIES.c.replied_model,
    REPLIES.c.repair,
    REPLIES.c.input_tokens,
    REPLIES.c.output_tokens,
    REPLIES.c.cached_tokens,
    REPLIES.c.thought_tokens,
)


def outcome_of(row: Iterable[Any]) -> Outcome:
    """The outcome in a row of OUTCOME_COLUMNS."""
    _, _, outcome, raw, value, detail, model, repair, *tokens = row
    message = None if detail is None else restored(detail)
    return Outcome(outcome, restored(raw), value, message, model, repair, Usage(*tokens))


def reply_row(paid: Paid, stored_at: float) -> Row:
    """The row of `replies`."""
    outcome = paid.outcome
    asked_model, request_key = paid.request_id
    return {
        "asked_model": asked_model,
        "request_key": request_key,
        "role": paid.role,
        "batch": storable(paid.batch),
        "outcome": outcome.outcome,
        "detail": None if outcome.detail is None else storable(outcome.detail),
        "raw": storable(outcome.raw),
        "value": outcome.value,
        "replied_model": name_of(outcome.model, _LONGEST_NAME),
        "repair": outcome.repair,
        "stored_at": stored_at,
        **_tokens(outcome.usage),
    }


def call_row(call: CallRecord) -> Row:
    """The row of `calls`."""
    return {
        "call_id": call.call_id,
        "run": call.run,
        "batch": storable(call.batch),
        "role": call.role,
        "asked_model": call.asked_model,
        "replied_model": name_of(call.replied_model, _LONGEST_NAME),
        "request_key": call.request_key,
        "started_at": call.started_at,
        "seconds": call.seconds,
        "tries": call.tries,
        "outcome": call.outcome,
        "repair": call.repair,
        "cost": call.cost,
        "currency": call.currency,
        "prompt": None if call.prompt is None else storable(call.prompt),
        **_tokens(call.usage),
    }


def call_of(row: Mapping[str, Any]) -> CallRecord:
    """The record in a row of `calls`."""
    columns = {column.name: row[column.name] for column in CALLS.c}
    usage = Usage(*(columns.pop(name) for name in _tokens(Usage())))
    columns["batch"] = restored(columns["batch"])
    columns["prompt"] = None if columns["prompt"] is None else restored(columns["prompt"])
    return CallRecord(**columns, usage=usage)


def _tokens(usage: Usage) -> Row:
    return {
        "input_tokens": count_of(usage.input_tokens),
        "output_tokens": count_of(usage.output_tokens),
        "cached_tokens": count_of(usage.cached_tokens),
        "thought_tokens": count_of(usage.thought_tokens),
    }


_KEYS_A_STATEMENT = 500
_FIND = sa.select(*OUTCOME_COLUMNS).where(
    REPLIES.c.asked_model == sa.bindparam("of_model"),
    REPLIES.c.request_key.in_(sa.bindparam("of_keys", expanding=True)),
)
_NOTED = sa.select(REPLY_DOCUMENTS.c.request_key, REPLY_DOCUMENTS.c.document_id).where(
    REPLY_DOCUMENTS.c.asked_model == sa.bindparam("of_model"),
    REPLY_DOCUMENTS.c.request_key.in_(sa.bindparam("of_keys", expanding=True)),
)


class SqlReplyStore:
    """Replies in one database; equal for both dialects but for the words of an insert and for leases.

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
        self._leases: Leases = (
            TimedLeases(lease_seconds) if database.is_postgres else LockedLeases(_owners_of(database))
        )
        self._insert_reply = insert_missing(database, REPLIES)
        self._insert_documents = insert_missing(database, REPLY_DOCUMENTS)
        self._insert_call = insert_missing(database, CALLS)

    @property
    def place(self) -> str:
        """The file or address."""
        return self._database.place

    @property
    def beat_seconds(self) -> float | None:
        """How often to renew the leases."""
        return self._leases.beat_seconds

    def find(self, wanted: Collection[RequestId]) -> dict[RequestId, Outcome]:
        """What is stored of all that is wanted."""
        return self._database.read(lambda connection: _find(connection, wanted)) if wanted else {}

    def unseen(self, shown: Mapping[RequestId, Collection[str]]) -> list[tuple[RequestId, str]]:
        """Which documents are not noted yet."""
        if not shown:
            return []
        noted = self._database.read(lambda connection: _noted(connection, shown))
        return [
            (one, document)
            for one, documents in shown.items()
            for document in sorted(set(documents) - noted.get(one, set()))
        ]

    def write(self, round_: Round) -> Written:
        """Store, release and claim in one transaction."""
        try:
            self._leases.open()
        except OSError as error:
            raise ReplyStoreError(
                f"the reply store {self.place} cannot be used: {error.strerror or error}: {error.filename}. "
                "Give this user the right to write there, and free some space if the disk is full"
            ) from error
        return self._database.transact(lambda connection: self._write(connection, round_))

    def beat(self) -> None:
        """Renew the leases."""
        if self.beat_seconds is not None:
            self._database.transact(self._leases.renew)

    def close(self) -> None:
        """Close the database; whoever waits for a claim of this owner takes it over."""
        self._leases.close()
        self._database.close()

    def _write(self, connection: sa.Connection, round_: Round) -> Written:
        stored = self._put(connection, round_.paid) if round_.paid else {}
        calls = [*round_.calls, *(call for paid in round_.paid for call in paid.calls)]
        if calls:
            connection.execute(self._insert_call, [call_row(call) for call in calls])
        self._note(connection, [*round_.seen, *_documents_of(round_.paid)])
        self._drop(connection, [*round_.released, *(paid.request_id for paid in round_.paid)])
        if not round_.wanted:
            return Written(stored, frozenset())
        claimed = self._claim(connection, round_.wanted)
        # stored by another process after this one had looked and before it claimed
        late = _find(connection, claimed)
        self._drop(connection, late)
        return Written(stored | late, frozenset(claimed - late.keys()))

    def _put(self, connection: sa.Connection, paid: Sequence[Paid]) -> dict[RequestId, Outcome]:
        now = self._clock()
        rows = [reply_row(one, now) for one in paid]
        inserted = connection.execute(
            self._insert_reply, rows, execution_options={"preserve_rowcount": True}
        ).rowcount
        if inserted == len(paid):
            return {one.request_id: one.outcome for one in paid}
        return _find(connection, [one.request_id for one in paid])

    def _note(self, connection: sa.Connection, seen: Sequence[tuple[RequestId, str]]) -> None:
        if seen:
            rows = [_document_row(request_id, document) for request_id, document in seen]
            connection.execute(self._insert_documents, rows)

    def _claim(self, connection: sa.Connection, wanted: Collection[RequestId]) -> set[RequestId]:
        return {mine for keys in _by_model(wanted) for mine in self._leases.take(connection, keys)}

    def _drop(self, connection: sa.Connection, done: Collection[RequestId]) -> None:
        for keys in _by_model(done):
            self._leases.drop(connection, keys)


def insert_paid(
    connection: sa.Connection,
    database: Database,
    paid: Sequence[Paid],
    calls: Sequence[CallRecord],
    now: float,
) -> None:
    """Store outcomes and calls that came without a claim; what is there stays."""
    rows = (
        (REPLIES, [reply_row(one, now) for one in paid]),
        (REPLY_DOCUMENTS, [_document_row(*seen) for seen in _documents_of(paid)]),
        (CALLS, [call_row(call) for call in [*calls, *(call for one in paid for call in one.calls)]]),
    )
    for table, values in rows:
        if values:
            connection.execute(insert_missing(database, table), values)


def insert_missing(database: Database, table: sa.Table) -> sa.Insert:
    """An insert that leaves rows alone that are there."""
    if database.is_postgres:
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def _owners_of(database: Database) -> Path:
    path = Path(database.url.database or "")
    return path.with_name(f".{path.name}.owners")


def _find(connection: sa.Connection, wanted: Collection[RequestId]) -> dict[RequestId, Outcome]:
    return {
        (row[0], row[1]): outcome_of(row)
        for keys in _by_model(wanted)
        for model, of_model in keys.items()
        for row in connection.execute(_FIND, {"of_model": model, "of_keys": of_model})
    }


def _noted(connection: sa.Connection, wanted: Collection[RequestId]) -> dict[RequestId, set[str]]:
    noted: dict[RequestId, set[str]] = {}
    for keys in _by_model(wanted):
        for model, of_model in keys.items():
            for key, document in connection.execute(_NOTED, {"of_model": model, "of_keys": of_model}):
                noted.setdefault((model, key), set()).add(document)
    return noted


def _documents_of(paid: Iterable[Paid]) -> Iterator[tuple[RequestId, str]]:
    return ((one.request_id, document) for one in paid for document in one.documents)


def _document_row(request_id: RequestId, document: str) -> dict[str, str]:
    return {"asked_model": request_id[0], "request_key": request_id[1], "document_id": document}


def _by_model(wanted: Collection[RequestId]) -> Iterator[KeysByModel]:
    """Keys by model, in portions that a statement takes."""
    ids = list(wanted)
    for start in range(0, len(ids), _KEYS_A_STATEMENT):
        keys: dict[str, list[str]] = {}
        for model, key in ids[start : start + _KEYS_A_STATEMENT]:
            keys.setdefault(model, []).append(key)
        yield keys
