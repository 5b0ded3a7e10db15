"""A document beside a pair: its readable text with a stretch of it marked."""

from dataclasses import dataclass

import polars as pl

from qa_pipeline.documents.formats.pdf.page_images import Span
from qa_pipeline.errors import InputError
from qa_pipeline.people.review.stored import StoredTables
from qa_pipeline.storage.rows import DocumentRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import DOCUMENTS


@dataclass(frozen=True, slots=True)
class SourceView:
    """A document with the stretch of its text that is marked."""

    document: DocumentRow
    before: str
    marked: str
    after: str


def source_view(tables: StoredTables, batch: str, document_id: str, span: Span | None) -> SourceView:
    """Return a document of a batch, cut at the span that is marked.

    Raises:
        InputError: the batch has no such document, or the span is not inside its text.
        TableError: its documents cannot be read.
    """
    rows = tables.frame(DOCUMENTS, batch).filter(pl.col("document_id") == document_id)
    if not rows.height:
        raise InputError(f"batch {batch!r} has no document {document_id!r}; it may have been removed since")
    document = next(typed_rows(rows, DocumentRow))
    text = document["text"] or ""
    start, end = span or (0, 0)
    if not 0 <= start <= end <= len(text):
        raise InputError(
            f"{document['path']} has no characters {start} to {end}; it may have changed since the claim"
        )
    return SourceView(document, text[:start], text[start:end], text[end:])
