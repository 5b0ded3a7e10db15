"""The store of replies in a database: one transaction a round.

What belongs here: replies, their documents and calls, in SQLite and in Postgres. What does not: who is alive
(`claims.py`), event loops (`front.py`), sizes and pruning (`maintenance.py`).
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from qa_pipeline.calls import CallRecord
from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.database import Database
from qa_pipeline.llm.store.claims import LEASE_SECONDS, Claims, FileClaims, KeysByModel, LeasedClaims
from qa_pipeline.llm.store.records import Outcome, Paid, RequestId, Round, Written
from qa_pipeline.llm.store.rows import OUTCOME_COLUMNS, call_row, outcome_of, reply_row
from qa_pipeline.llm.store_schema import CALLS, REPLIES, REPLY_DOCUMENTS

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
    """Replies in one database; equal for both dialects but for the words of an insert and for claims.

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
        self._claims: Claims = (
            LeasedClaims(lease_seconds) if database.is_postgres else FileClaims(_owners_of(database))
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
        return self._claims.beat_seconds

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
            self._claims.open()
        except OSError as error:
            raise ReplyStoreError(
                f"the reply store {self.place} cannot be used: {error.strerror or error}: {error.filename}. "
                "Give this user the right to write there, and free some space if the disk is full"
            ) from error
        return self._database.transact(lambda connection: self._write(connection, round_))

    def beat(self) -> None:
        """Renew the leases."""
        if self.beat_seconds is not None:
            self._database.transact(self._claims.renew)

    def close(self) -> None:
        """Close the database; whoever waits for a claim of this owner takes it over."""
        self._claims.close()
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
        return {mine for keys in _by_model(wanted) for mine in self._claims.take(connection, keys)}

    def _drop(self, connection: sa.Connection, done: Collection[RequestId]) -> None:
        for keys in _by_model(done):
            self._claims.drop(connection, keys)


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
