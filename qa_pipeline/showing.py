"""One document as it was read: its text with the borders of sections, pages and chunks.

What belongs here: finding a document in the output folder and laying its borders into its text. What does
not: printing (`console.py`) and pictures of pages (`documents.page_pictures`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.layout import Layout
from qa_pipeline.storage import read_table
from qa_pipeline.tables import CHUNKS, DOCUMENTS

Row = dict[str, Any]

_SHORTEST_ID = 6
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Shown:
    """A document's row of `documents` and its rows of `chunks`, in order."""

    document: Row
    chunks: list[Row]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text, or a border that stands between two."""

    kind: Literal["page", "section", "chunk", "chunk_end", "text"]
    text: str


def find_document(layout: Layout, name: str, batches: Sequence[str]) -> Shown:
    """Find a document by its id, the beginning of its id, or its path, with or without its batch in front.

    Raises:
        InputError: no document is called so, or several are.
    """
    found = []
    for batch in batches:
        documents = read_table(layout.table("documents", batch), DOCUMENTS)
        found += documents.filter(_called(name)).to_dicts()
    exact = [row for row in found if name in (row["document_id"], f"{row['batch']}/{row['path']}")] or found
    if not exact:
        raise InputError(f"no document is called {name!r}; give an id, or a path as table documents has it")
    if len(exact) > 1:
        places = ", ".join(f"{row['batch']}/{row['path']}" for row in exact[:_NAMED])
        raise InputError(
            f"{len(exact)} documents are called {name!r}: {places}; give batch and path, or an id"
        )
    return Shown(exact[0], _chunks_of(layout, exact[0]))


def _called(name: str) -> pl.Expr:
    by_id = pl.col("document_id").str.starts_with(name) if len(name) >= _SHORTEST_ID else pl.lit(value=False)
    whole = pl.concat_str("batch", pl.lit("/"), "path")
    return by_id | (pl.col("path") == name) | (whole == name)


def _chunks_of(layout: Layout, document: Row) -> list[Row]:
    path = layout.table("chunks", document["batch"])
    if not path.is_file():  # the run stopped before them
        return []
    of_document = pl.col("document_id") == document["document_id"]
    return read_table(path, CHUNKS).filter(of_document).sort("position").to_dicts()


def find_chunk(shown: Shown, chunk_id: str) -> Row:
    """The chunk of a document by its id or the beginning of it.

    Raises:
        InputError: the document has no such chunk, or several.
    """
    found = [chunk for chunk in shown.chunks if chunk["chunk_id"].startswith(chunk_id)]
    if len(found) != 1:
        known = ", ".join(chunk["chunk_id"][:_SHORTEST_ID] for chunk in shown.chunks[:_NAMED])
        raise InputError(
            f"{len(found)} chunks of {shown.document['path']} have an id that begins with {chunk_id!r}; "
            f"its chunks begin with {known or 'nothing, there are none'}"
        )
    return found[0]


def pieces(shown: Shown) -> Iterator[Piece]:
    """The text of a document cut at every border, each border named; all text pieces make up the text."""
    text = shown.document["text"] or ""
    done = 0
    for place, _, border in sorted(_borders(shown), key=itemgetter(0, 1)):
        if place > done:
            yield Piece("text", text[done:place])
            done = place
        yield border
    if done < len(text):
        yield Piece("text", text[done:])


def _borders(shown: Shown) -> Iterator[tuple[int, int, Piece]]:
    """Offset, rank among borders at one offset, and the border; ends come before beginnings."""
    for chunk in shown.chunks:
        yield chunk["char_end"], 0, Piece("chunk_end", f"end of chunk {chunk['position']}")
        yield chunk["char_start"], 3, Piece("chunk", _chunk_line(chunk))
    for page in shown.document["pages"]:
        yield page["start"], 1, Piece("page", f"page {page['number']}")
    for section in shown.document["sections"]:
        path = " > ".join(section["heading_path"]) or "(before the first heading)"
        yield section["start"], 2, Piece("section", f"section {path} [{section['start']}:{section['end']}]")


def _chunk_line(chunk: Row) -> str:
    parts = [
        f"chunk {chunk['position']} {chunk['chunk_id']} [{chunk['char_start']}:{chunk['char_end']}]",
        f"{chunk['tokens']} tokens",
        chunk["language"],
        _pages(chunk),
        chunk["repeats"],
    ]
    return ", ".join(part for part in parts if part)


def _pages(chunk: Row) -> str | None:
    first, last = chunk["page_first"], chunk["page_last"]
    if first is None:
        return None
    return f"page {first}" if first == last else f"pages {first} to {last}"


def facts(shown: Shown) -> list[tuple[str, str]]:
    """What is known of a document besides its text, as names and values for people; unknowns left out."""
    row = shown.document
    counts = ", ".join(
        f"{len(part):,} {name}"
        for name, part in (
            ("characters", row["text"] or ""),
            ("sections", row["sections"]),
            ("pages", row["pages"]),
            ("chunks", shown.chunks),
        )
    )
    languages = ", ".join(f"{part['language']} {part['share']:.0%}" for part in row["languages"])
    left_out = ", ".join(
        f"{part['what']} {part['pieces']} ({part['characters']:,} characters)" for part in row["left_out"]
    )
    named = [
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
    return [(name, value) for name, value in named if value]


def in_context(shown: Shown, chunk: Row) -> Iterator[Piece]:
    """A chunk between what stands before and after it in its section."""
    text = shown.document["text"]
    start, end = chunk["char_start"], chunk["char_end"]
    heading = " > ".join(chunk["section_path"]) or "(before the first heading)"
    yield Piece("section", f"section {heading} [{chunk['section_start']}:{chunk['section_end']}]")
    if start > chunk["section_start"]:
        yield Piece("text", text[chunk["section_start"] : start])
    yield Piece("chunk", _chunk_line(chunk))
    yield Piece("text", text[start:end])
    yield Piece("chunk_end", f"end of chunk {chunk['position']}")
    if end < chunk["section_end"]:
        yield Piece("text", text[end : chunk["section_end"]])
