"""Erase documents from a store of replies, and read its journal of calls.

Calls are kept when replies are erased, since the money was spent. Every function raises ReplyStoreError if
the store cannot be used.
"""

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import (
    CALLS,
    DOCUMENT_NAMES,
    KEYS_A_STATEMENT,
    REPLIES,
    REPLY_DOCUMENTS,
    insert_missing,
)
from qa_pipeline.llm.store.store import call_of
from qa_pipeline.records import CallRecord


def erase(database: Database, documents: Sequence[str]) -> int:
    """Delete all replies that depend on any of the documents, and the documents' names.

    Returns:
        The number of deleted replies.
    """
    replies = database.transact(lambda connection: _erase(connection, documents))
    if replies:
        database.empty_log()
    return replies


def _requests(table: sa.Table) -> "sa.Tuple":
    return sa.tuple_(table.c.asked_model, table.c.request_key)


def _erase(connection: sa.Connection, ids: Sequence[str]) -> int:
    replies = 0
    for start in range(0, len(ids), KEYS_A_STATEMENT):
        part = ids[start : start + KEYS_A_STATEMENT]
        shown = sa.select(*_requests(REPLY_DOCUMENTS)).where(REPLY_DOCUMENTS.c.document_id.in_(part))
        replies += connection.execute(sa.delete(REPLIES).where(_requests(REPLIES).in_(shown))).rowcount
        connection.execute(sa.delete(DOCUMENT_NAMES).where(DOCUMENT_NAMES.c.document_id.in_(part)))
    used = sa.select(*_requests(REPLIES))
    connection.execute(sa.delete(REPLY_DOCUMENTS).where(_requests(REPLY_DOCUMENTS).not_in(used)))
    return replies


DocumentName = tuple[str, str, str]
"""Id of a document, its batch, and its path there."""


def note_documents(database: Database, names: Iterable[DocumentName]) -> None:
    """Store the paths of documents."""
    if rows := [dict(zip(("document_id", "batch", "path"), name, strict=True)) for name in names]:
        database.transact(lambda connection: connection.execute(insert_missing(DOCUMENT_NAMES), rows))


def versions_of(database: Database, name: str) -> list[DocumentName]:
    """Return the documents with this id, path, or batch and path."""
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
    """Return the calls of a batch, or of all batches, in order of time."""
    chosen = sa.select(CALLS).order_by(CALLS.c.started_at, CALLS.c.call_id)
    if batch is not None:
        chosen = chosen.where(CALLS.c.batch == batch)
    return database.read(
        lambda connection: [call_of(dict(row)) for row in connection.execute(chosen).mappings().all()]
    )
