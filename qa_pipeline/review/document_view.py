"""One document as it was read: its text with the borders of sections, pages and chunks."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

import polars as pl

from qa_pipeline.curation.forgetting import unknown_document
from qa_pipeline.documents.corpus.files import DocumentFailure, read_bytes
from qa_pipeline.documents.corpus.places import BatchFiles
from qa_pipeline.documents.formats.pdf.page_images import PagePicture, Span, draw_page
from qa_pipeline.errors import InputError
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.rows import ChunkRow, DocumentRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS

_SHORTEST_ID = 6
"""Characters of the beginning of an id; a shorter name is a path and nothing else."""
_MOST_CHUNKS = 5
"""Chunks or documents that an error names; a person picks one from a few."""


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document's row of `documents` and its rows of `chunks`, in order."""

    document: DocumentRow
    chunks: list[ChunkRow]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text, or a border that is between two."""

    kind: Literal["page", "section", "chunk", "chunk_end", "text"]
    text: str


def find_document(layout: Layout, name: str, batches: Sequence[str]) -> DocumentView:
    """Find a document by its id, the beginning of its id, or its path, with or without its batch in front."""
    by_id = pl.col("document_id").str.starts_with(name) if len(name) >= _SHORTEST_ID else pl.lit(value=False)
    full_path = pl.concat_str("batch", pl.lit("/"), "path")
    is_called = by_id | (pl.col("path") == name) | (full_path == name)
    matching: list[DocumentRow] = []
    known_paths = [DOCUMENTS.empty().select("batch", "path")]
    for batch in batches:
        documents = read_table(layout.table("documents", batch), DOCUMENTS)
        matching += typed_rows(documents.filter(is_called), DocumentRow)
        known_paths.append(documents.select("batch", "path"))
    exact = [
        row for row in matching if name in (row["document_id"], f"{row['batch']}/{row['path']}")
    ] or matching
    if not exact:
        raise unknown_document(pl.concat(known_paths), name)
    if len(exact) > 1:
        places = ", ".join(f"{row['batch']}/{row['path']}" for row in exact[:_MOST_CHUNKS])
        raise InputError(
            f"{len(exact)} documents are called {name!r}: {places}; give batch and path, or an id"
        )
    path, chunks = layout.table("chunks", exact[0]["batch"]), CHUNKS.empty()
    if path.is_file():  # else the run stopped before them
        chunks = read_table(path, CHUNKS).filter(document_id=exact[0]["document_id"]).sort("position")
    return DocumentView(exact[0], list(typed_rows(chunks, ChunkRow)))


def find_chunk(view: DocumentView, chunk_id: str) -> ChunkRow:
    """Return the chunk of a document by its id or the beginning of it."""
    chunks = [chunk for chunk in view.chunks if chunk["chunk_id"].startswith(chunk_id)]
    if len(chunks) != 1:
        first_chunks = ", ".join(chunk["chunk_id"][:_SHORTEST_ID] for chunk in view.chunks[:_MOST_CHUNKS])
        raise InputError(
            f"{len(chunks)} chunks of {view.document['path']} have an id that begins with {chunk_id!r}; "
            f"its chunks begin with {first_chunks or 'nothing, there are none'}"
        )
    return chunks[0]


def pieces(view: DocumentView) -> Iterator[Piece]:
    """Return the text of a document cut at every named border; all text pieces make up the text."""
    document, text = view.document, view.document["text"] or ""
    borders = [border for chunk in view.chunks for border in _chunk_borders(chunk)]
    borders += [
        (page["start"], 1, Piece("page", f"page {page['number']}")) for page in view.document["pages"]
    ]
    borders += [
        (section["start"], 2, _section(section["heading_path"], section["start"], section["end"]))
        for section in document["sections"]
    ]
    return _cut(text, 0, len(text), borders)


def in_context(view: DocumentView, chunk: ChunkRow) -> Iterator[Piece]:
    """Return a chunk between the text before and after it in its section."""
    start, end = chunk["section_start"], chunk["section_end"]
    heading = (start, 2, _section(chunk["section_path"], start, end))
    return _cut(view.document["text"] or "", start, end, [heading, *_chunk_borders(chunk)])


def _cut(text: str, done: int, end: int, borders: list[tuple[int, int, Piece]]) -> Iterator[Piece]:
    """Yield a stretch of text with its borders: offset, rank at one offset (ends first), name."""
    for place, _, border in sorted(borders, key=itemgetter(0, 1)):
        if place > done:
            yield Piece("text", text[done:place])
            done = place
        yield border
    if done < end:
        yield Piece("text", text[done:end])


def _section(path: Sequence[str], start: int, end: int) -> Piece:
    return Piece("section", f"section {' > '.join(path) or '(before the first heading)'} [{start}:{end}]")


def _chunk_borders(chunk: ChunkRow) -> list[tuple[int, int, Piece]]:
    first, last = chunk["page_first"], chunk["page_last"]
    parts = [
        f"chunk {chunk['position']} {chunk['chunk_id']} [{chunk['char_start']}:{chunk['char_end']}]",
        f"{chunk['tokens']} tokens",
        chunk["language"],
        None if first is None else f"page {first}" if first == last else f"pages {first} to {last}",
        chunk["passed_over"],
    ]
    end = Piece("chunk_end", f"end of chunk {chunk['position']}")
    start = Piece("chunk", ", ".join(filter(None, parts)))
    return [(chunk["char_end"], 0, end), (chunk["char_start"], 3, start)]


def facts(view: DocumentView) -> list[tuple[str, str]]:
    """Return the facts of a document besides its text, as names and values for people."""
    row = view.document
    counts = ", ".join(
        f"{len(part):,} {name}"
        for name, part in (
            ("characters", row["text"] or ""),
            ("sections", row["sections"]),
            ("pages", row["pages"]),
            ("chunks", view.chunks),
        )
    )
    languages = ", ".join(f"{part['language']} {part['share']:.0%}" for part in row["languages"])
    left_out = ", ".join(
        f"{part['what']} {part['pieces']} ({part['characters']:,} characters)" for part in row["left_out"]
    )
    fields = [
        ("document", row["document_id"]),
        ("file", f"{row['batch']}/{row['path']}"),
        ("status", ", ".join(filter(None, [row["status"], row["reason"], row["detail"]]))),
        ("title", row["title"]),
        ("format", row["format"]),
        ("languages", languages),
        ("holds", counts),
        ("left out", left_out),
        ("personal data", ", ".join(f"{part['kind']} {part['count']}" for part in row["masked"])),
        ("near duplicate of", row["near_duplicate_of"]),
        ("licence", row["licence"]),
        ("source", row["source_uri"]),
    ]
    return [(name, value) for name, value in fields if value]


def page_picture(
    view: DocumentView, files: BatchFiles, number: int, evidence: Span | None, most_bytes: int
) -> PagePicture:
    """Draw a page of a document with a span of its text highlighted."""
    page = next((page for page in view.document["pages"] if page["number"] == number), None)
    if view.document["format"] != "pdf" or page is None:
        pages = ", ".join(str(page["number"]) for page in view.document["pages"]) or "none that can be drawn"
        raise InputError(f"{view.document['path']} has no page {number} with text; it has {pages}")
    text = view.document["text"] or ""
    try:
        content = source_bytes(view.document, files, most_bytes)
        return draw_page(content, number, text, (page["start"], page["end"]), evidence)
    except DocumentFailure as failure:
        raise InputError(f"{view.document['path']}: {failure.detail}") from failure


def page_of(view: DocumentView, span: Span | None, page_asked: int | None) -> int:
    """Return the page to draw: the one asked for, or the first that the span touches."""
    if span is None:
        return page_asked or 1
    pages = view.document["pages"]
    touched = [page["number"] for page in pages if page["start"] < span[1] and span[0] < page["end"]]
    if page_asked in touched or (page_asked is None and touched):
        return page_asked or touched[0]
    message = f"is on page {', '.join(map(str, touched))}" if touched else "is on no page"
    length = len(view.document["text"] or "")
    raise InputError(
        f"{span[0]}:{span[1]} of {view.document['path']} ({length:,} characters) {message}"
        + (f", not on page {page_asked}" if touched else "")
    )


def source_bytes(document: DocumentRow, files: BatchFiles, most_bytes: int) -> bytes:
    """Return the bytes that a document was read from, whatever their name is now."""
    files_found = sorted(files.list(), key=lambda file: file.path != document["path"])
    for file in files_found:
        if file.failure is None and file.size in (document["size"], None):
            content = read_bytes(file, most_bytes)
            if hashlib.sha256(content).hexdigest() == document["content_sha256"]:
                return content
    raise InputError(
        f"no file of {files.name} holds what {document['path']} was read from; run the batch again"
    )


def span_of(text: str) -> Span:
    """Return the span that a text such as `120:180` names."""
    start, _, end = text.partition(":")
    if not (start.isdecimal() and end.isdecimal() and int(start) < int(end)):
        raise InputError(f"{text!r} is no span; give two offsets into the text, such as 120:180")
    return int(start), int(end)
