"""Pieces as rows of the chunks table.

What belongs here: what identifies a chunk, and its position, pages and language. What does not: where it
begins and ends.
"""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.chunking.paths import Path
from qa_pipeline.chunking.pieces import Piece
from qa_pipeline.tables import CHUNKS

Row = Mapping[str, Any]
TellLanguages = Callable[[Sequence[str], Row], Sequence[str]]
"""Languages of the chunks of one document, from their texts and the document's row."""

_ID_LENGTH = 32
_as_json = json.JSONEncoder(ensure_ascii=False).encode


def language_of_document(texts: Sequence[str], document: Row) -> list[str]:
    """Every chunk is in its document's main language."""
    return [document["language"]] * len(texts)


class Ids:
    """Hashes of what a chunk says and where; equal chunks of a batch are told apart by their number."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def next(self, path: Path, text: str) -> str:
        """The id of a chunk."""
        first = _hash(path, text, 0)
        repeat = self._seen[first]
        self._seen[first] += 1
        return _hash(path, text, repeat) if repeat else first


def _hash(path: Path, text: str, repeat: int) -> str:
    return hashlib.sha256(_as_json([path, text, repeat]).encode()).hexdigest()[:_ID_LENGTH]


def chunk_frame(
    cut: Iterable[tuple[Row, Sequence[Piece]]], ids: Ids, languages: TellLanguages
) -> pl.DataFrame:
    """Documents with their pieces, in order, as a CHUNKS frame."""
    rows = list(_rows(cut, ids, languages))
    plain = {name: dtype for name, dtype in CHUNKS.schema.items() if name != "section_path"}
    frame = pl.DataFrame(rows, schema=plain)
    return CHUNKS.conform(frame.with_columns(_lists("section_path", [row["section_path"] for row in rows])))


def _lists(name: str, lists: Sequence[Sequence[str]]) -> pl.Series:
    """A column of lists of strings, which polars is slow to make of Python lists."""
    flat = {
        "row": [number for number, one in enumerate(lists) for _ in one],
        name: [text for one in lists for text in one],
    }
    gathered = pl.DataFrame(flat, schema={"row": pl.Int64, name: pl.String}).group_by("row").agg(name)
    rows = pl.DataFrame({"row": range(len(lists))}, schema={"row": pl.Int64})
    return rows.join(gathered, on="row", how="left", maintain_order="left")[name].fill_null([])


def _rows(
    cut: Iterable[tuple[Row, Sequence[Piece]]], ids: Ids, languages: TellLanguages
) -> Iterator[dict[str, Any]]:
    for row, pieces in cut:
        texts = [piece.text for piece in pieces]
        told = languages(texts, row)
        pages = _Pages(row["pages"])
        for position, (piece, text, language) in enumerate(zip(pieces, texts, told, strict=True)):
            first, last = pages.range(piece.start, piece.end)
            yield {
                "chunk_id": ids.next(piece.path, text),
                "batch": row["batch"],
                "document_id": row["document_id"],
                "position": position,
                "char_start": piece.start,
                "char_end": piece.end,
                "title": row["title"],
                "section_path": piece.path,
                "section_start": piece.section.start,
                "section_end": piece.section.end,
                "page_first": first,
                "page_last": last,
                "tokens": piece.tokens,
                "language": language,
                "text": text,
            }


class _Pages:
    """Pages of a document by place."""

    def __init__(self, pages: Sequence[Row]) -> None:
        self._starts = [page["start"] for page in pages]
        self._numbers = [page["number"] for page in pages]

    def range(self, start: int, end: int) -> tuple[int | None, int | None]:
        """Pages of the first and last character; null where the document has none."""
        if not self._starts:
            return None, None
        first, last = (max(bisect_right(self._starts, at) - 1, 0) for at in (start, end - 1))
        return self._numbers[first], self._numbers[last]
