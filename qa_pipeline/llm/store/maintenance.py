"""Looking after a store of replies: how much there is, what is old, and what must be erased.

Calls stay when replies go, since the money was spent; only the text of an erased document's prompts is
taken from them. Every function raises ReplyStoreError when the store cannot be used.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from qa_pipeline.errors import InputError
from qa_pipeline.llm.batch_jobs.book import erase_documents
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import (
    CALLS,
    DOCUMENT_NAMES,
    KEYS_A_STATEMENT,
    METADATA,
    REPLIES,
    REPLY_DOCUMENTS,
    insert_missing,
)
from qa_pipeline.llm.store.store import REPLIED, call_of
from qa_pipeline.records import CallRecord

_DAY = 86_400.0  # seconds
AGES = (("a day", 1), ("a week", 7), ("30 days", 30), ("90 days", 90))
"""Names and days of the ages by which replies are counted."""
OLDER = "older"


@dataclass(frozen=True, slots=True)
class Share:
    """Replies of one model, role and age, usable ones or failures; bytes are those of their texts."""

    asked_model: str
    role: str
    age: str
    failed: bool
    rows: int
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Size:
    """The content of a store, and its bytes on disk."""

    shares: tuple[Share, ...]
    calls: int
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The replies to prune: all that fit every condition that is set.

    Args:
        older_than_seconds: stored longer ago.
        model: asked of this model.
        failures: only those that could not be used, so that they are asked again.
    """

    older_than_seconds: float | None = None
    model: str | None = None
    failures: bool = False


@dataclass(frozen=True, slots=True)
class Erased:
    """The number of erased replies, and of prompts of the journal."""

    replies: int
    prompts: int


def size(database: Database) -> Size:
    """Count what is stored, by model, role and age."""

    def count(connection: sa.Connection) -> Size:
        calls = connection.execute(sa.select(sa.func.count()).select_from(CALLS)).scalar_one()
        return Size(_shares(connection, sa.true()), calls, _disk_bytes(connection, database))

    return database.read(count)


def prunable(database: Database, choice: Choice) -> tuple[Share, ...]:
    """Return what `prune` would delete.

    Raises:
        InputError: nothing is chosen, which would be everything.
    """
    chosen = _chosen(choice)
    return database.read(lambda connection: _shares(connection, chosen))


def prune(database: Database, choice: Choice) -> int:
    """Delete the chosen replies and give their room back; returns how many they were.

    Raises:
        InputError: nothing is chosen, which would be everything.
    """
    chosen = _chosen(choice)

    def delete(connection: sa.Connection) -> int:
        deleted = connection.execute(sa.delete(REPLIES).where(chosen)).rowcount
        connection.execute(_DROP_UNUSED_DOCUMENTS)
        return deleted

    deleted = database.transact(delete)
    if deleted:
        _vacuum(database)
    return deleted


def erase(database: Database, documents: Sequence[str]) -> Erased:
    """Delete every reply that saw one of the documents, the prompts that show them, and their names."""
    erased = database.transact(lambda connection: _erase(connection, documents))
    if erased.replies or erased.prompts:
        _vacuum(database)
    return erased


def known_documents(database: Database, beginning: str) -> list[str]:
    """Return the ids of documents in stored replies that begin so."""
    seen = REPLY_DOCUMENTS.c.document_id
    chosen = sa.select(seen).distinct().where(seen.startswith(beginning, autoescape=True)).order_by(seen)
    return list(database.read(lambda connection: connection.scalars(chosen).all()))


def _shares(connection: sa.Connection, chosen: sa.ColumnElement[bool]) -> tuple[Share, ...]:
    now = time.time()
    ages: list[Any] = [
        (REPLIES.c.stored_at > now - days * _DAY, sa.literal_column(f"'{name}'")) for name, days in AGES
    ]
    age = sa.case(*ages, else_=sa.literal_column(f"'{OLDER}'"))
    parts = [REPLIES.c.asked_model, REPLIES.c.role, age, REPLIES.c.outcome != REPLIED]
    texts = (REPLIES.c.raw, REPLIES.c.value, REPLIES.c.detail)
    if connection.dialect.name == "sqlite":  # octet_length came late
        sizes = [sa.func.length(sa.cast(column, sa.LargeBinary)) for column in texts]
    else:
        sizes = [sa.func.octet_length(column) for column in texts]
    taken = sum((sa.func.coalesce(column, 0) for column in sizes), sa.literal(0))
    counted: sa.Select[Any] = sa.select(*parts, sa.func.count(), sa.func.sum(taken)).where(chosen)
    rows = connection.execute(counted.group_by(*parts).order_by(*parts))
    return tuple(
        Share(model, role, old, bool(bad), count, int(size)) for model, role, old, bad, count, size in rows
    )


def _saw(table: sa.Table, *conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Return whether a row of `table` and one of `reply_documents` are of one request."""
    return sa.and_(
        *conditions,
        REPLY_DOCUMENTS.c.asked_model == table.c.asked_model,
        REPLY_DOCUMENTS.c.request_key == table.c.request_key,
    )


# what a prompt in the journal shows must stay known, or it could not be erased
_DROP_UNUSED_DOCUMENTS = sa.delete(REPLY_DOCUMENTS).where(
    ~sa.exists().where(_saw(REPLIES)), ~sa.exists().where(_saw(CALLS, CALLS.c.prompt.is_not(None)))
)


def _erase(connection: sa.Connection, ids: Sequence[str]) -> Erased:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete=ON")  # deleted text is overwritten, not only let go
    replies = prompts = 0
    for start in range(0, len(ids), KEYS_A_STATEMENT):
        shows = REPLY_DOCUMENTS.c.document_id.in_(ids[start : start + KEYS_A_STATEMENT])
        replies += connection.execute(
            sa.delete(REPLIES).where(sa.exists().where(_saw(REPLIES, shows)))
        ).rowcount
        statement = sa.update(CALLS).where(CALLS.c.prompt.is_not(None), sa.exists().where(_saw(CALLS, shows)))
        prompts += connection.execute(statement.values(prompt=None)).rowcount
        is_named = DOCUMENT_NAMES.c.document_id.in_(ids[start : start + KEYS_A_STATEMENT])
        connection.execute(sa.delete(DOCUMENT_NAMES).where(is_named))
    connection.execute(_DROP_UNUSED_DOCUMENTS)
    return Erased(replies + erase_documents(connection, ids), prompts)


def _chosen(choice: Choice) -> sa.ColumnElement[bool]:
    conditions: list[sa.ColumnElement[bool]] = []
    if choice.older_than_seconds is not None:
        conditions.append(REPLIES.c.stored_at < time.time() - choice.older_than_seconds)
    if choice.model is not None:
        conditions.append(REPLIES.c.asked_model == choice.model)
    if choice.failures:
        conditions.append(REPLIES.c.outcome != REPLIED)
    if not conditions:
        raise InputError("say which replies to prune: --older-than, --model or --failures")
    return sa.and_(*conditions)


def _disk_bytes(connection: sa.Connection, database: Database) -> int:
    if database.is_postgres:
        sizes = (
            connection.execute(sa.select(sa.func.pg_total_relation_size(name))).scalar_one()
            for name in METADATA.tables
        )
        return sum(int(taken) for taken in sizes)
    files = [Path(f"{database.url.database}{ending}") for ending in ("", "-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


def _vacuum(database: Database) -> None:
    def vacuum(connection: sa.Connection) -> None:
        connection.exec_driver_sql("VACUUM")
        if not database.is_postgres:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")  # the log holds what was deleted

    database.outside_transactions(vacuum)


DocumentName = tuple[str, str, str]
"""Id of a document, its batch, and its path there."""


def note_documents(database: Database, names: Iterable[DocumentName]) -> None:
    """Remember documents by their paths."""
    if rows := [dict(zip(("document_id", "batch", "path"), name, strict=True)) for name in names]:
        database.transact(lambda connection: connection.execute(insert_missing(DOCUMENT_NAMES), rows))


def versions_of(database: Database, name: str) -> list[DocumentName]:
    """Return the documents read under a path, or under batch and path, or of this id."""
    columns = DOCUMENT_NAMES.c
    chosen = sa.select(columns.document_id, columns.batch, columns.path).where(
        sa.or_(
            columns.document_id == name,
            columns.path == name,
            columns.batch + "/" + columns.path == name,
        )
    )
    return database.read(
        lambda connection: sorted((row[0], row[1], row[2]) for row in connection.execute(chosen))
    )


def read_calls(database: Database, batch: str | None = None) -> list[CallRecord]:
    """Return the calls of a batch, or of all, in the order of time."""
    chosen = sa.select(CALLS).order_by(CALLS.c.started_at, CALLS.c.call_id)
    if batch is not None:
        chosen = chosen.where(CALLS.c.batch == batch)
    return database.read(
        lambda connection: [call_of(dict(row)) for row in connection.execute(chosen).mappings()]
    )
