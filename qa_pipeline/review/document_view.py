"""A document as it was read: its facts, and its text with the borders of sections, pages and chunks."""

from collections.abc import Iterator, Sequence

import polars as pl

from qa_pipeline.curation.forgetting import unknown_document
from qa_pipeline.errors import InputError
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.rows import ChunkRow, DocumentRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS

_SHORTEST_ID = 6
"""Least characters of an abbreviated id."""
_MOST_NAMED = 5
"""Documents that an error names."""


def find_document(layout: Layout, name: str) -> tuple[DocumentRow, list[ChunkRow]]:
    """Find a document with its chunks by its path, BATCH/PATH, id or the beginning of its id.

    Raises:
        InputError: several documents match, or the document is missing.
    """
    by_id = pl.col("document_id").str.starts_with(name) if len(name) >= _SHORTEST_ID else pl.lit(value=False)
    full_path = pl.concat_str("batch", pl.lit("/"), "path")
    tables = (read_table(path, DOCUMENTS) for path in layout.tables(DOCUMENTS.name))
    documents = pl.concat([DOCUMENTS.empty(), *tables])
    matching = documents.filter(by_id | (pl.col("path") == name) | (full_path == name))
    exact = matching.filter((pl.col("document_id") == name) | (full_path == name))
    rows = list(typed_rows(exact if exact.height else matching, DocumentRow))
    if not rows:
        raise unknown_document(documents.select("batch", "path"), name)
    if len(rows) > 1:
        places = ", ".join(f"{row['batch']}/{row['path']}" for row in rows[:_MOST_NAMED])
        raise InputError(
            f"{len(rows)} documents are called {name!r}: {places}; give batch and path, or an id"
        )
    path, chunks = layout.table(CHUNKS.name, rows[0]["batch"]), CHUNKS.empty()
    if path.is_file():  # a run may stop before it is written
        chunks = read_table(path, CHUNKS).filter(document_id=rows[0]["document_id"]).sort("position")
    return rows[0], list(typed_rows(chunks, ChunkRow))


def split_at_borders(document: DocumentRow, chunks: Sequence[ChunkRow]) -> Iterator[tuple[str, str]]:
    """Yield the text split at its borders: a kind (`page`, `section`, `chunk` or `text`) and the words."""
    borders = [(page["start"], 0, "page", f"page {page['number']}") for page in document["pages"]]
    borders += [
        (section["start"], 1, "section", " > ".join(section["heading_path"]) or "(before the first heading)")
        for section in document["sections"]
    ]
    for chunk in chunks:
        span = f"[{chunk['char_start']}:{chunk['char_end']}]"
        parts = [f"chunk {chunk['position']} {chunk['chunk_id']} {span}", f"{chunk['tokens']} tokens"]
        parts += [part for part in (chunk["language"], chunk["passed_over"]) if part]
        borders.append((chunk["char_start"], 2, "chunk", ", ".join(parts)))
    text, done = document["text"] or "", 0
    for start, _, kind, words in sorted(borders):
        if start > done:
            yield "text", text[done:start]
            done = start
        yield kind, words
    if done < len(text):
        yield "text", text[done:]


def describe(row: DocumentRow, chunks: Sequence[ChunkRow]) -> list[tuple[str, str]]:
    """Return the facts of a document as names and values."""
    counts = {"sections": len(row["sections"]), "pages": len(row["pages"]), "chunks": len(chunks)}
    fields = {
        "document": row["document_id"],
        "file": f"{row['batch']}/{row['path']}",
        "status": ", ".join(filter(None, [row["status"], row["reason"], row["detail"]])),
        "title": row["title"],
        "format": row["format"],
        "languages": ", ".join(f"{part['language']} {part['share']:.0%}" for part in row["languages"]),
        "characters": f"{len(row['text'] or ''):,}",
        **{name: f"{count:,}" for name, count in counts.items()},
        "left out": ", ".join(f"{part['what']} {part['pieces']}" for part in row["left_out"]),
        "personal data": ", ".join(f"{part['kind']} {part['count']}" for part in row["masked"]),
        "near duplicate of": row["near_duplicate_of"],
        "licence": row["licence"],
        "source": row["source_uri"],
    }
    return [(name, value) for name, value in fields.items() if value]
