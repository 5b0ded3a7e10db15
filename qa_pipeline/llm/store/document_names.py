"""Under which paths documents were read, so that replies to earlier versions can be forgotten too.

What belongs here: noting names and finding ids by them. What does not: what replies saw (`maintenance.py`).
An id is a hash of a document's bytes: an edited document has another, and the tables of a run hold the last
alone.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from qa_pipeline.llm.database import Database
from qa_pipeline.llm.store.sql import insert_missing
from qa_pipeline.llm.store.texts import storable
from qa_pipeline.llm.store_schema import DOCUMENT_NAMES

Named = tuple[str, str, str]
"""Id of a document, its batch, and its path there."""


def note_documents(database: Database, named: Iterable[Named]) -> None:
    """Remember documents by their paths.

    Raises:
        ReplyStoreError: the store cannot be used.
    """
    rows = [
        {"document_id": document, "batch": storable(batch), "path": storable(path)}
        for document, batch, path in named
    ]
    if rows:
        database.transact(
            lambda connection: connection.execute(insert_missing(database, DOCUMENT_NAMES), rows)
        )


def versions_of(database: Database, name: str) -> list[Named]:
    """The documents that were read under a path, or under batch and path, or whose id is this.

    Raises:
        ReplyStoreError: the store cannot be used.
    """
    columns = DOCUMENT_NAMES.c
    called = storable(name)
    chosen = sa.select(columns.document_id, columns.batch, columns.path).where(
        sa.or_(
            columns.document_id == called,
            columns.path == called,
            columns.batch + "/" + columns.path == called,
        )
    )
    return database.read(
        lambda connection: sorted((row[0], row[1], row[2]) for row in connection.execute(chosen))
    )
