"""Documents to chunks: the passages that are indexed, retrieved and cited.

What belongs here: where a section is cut, and what identifies a chunk. What does not: finding sections
(documents) and counting tokens (the embedding model's tokenizer).

A section is cut on its own, so an edit in one section leaves the chunks of all others as they were. Within
a section `semantic-text-splitter` prefers blank lines, then line ends, sentences and words. A section that
is nothing but its heading gives no chunk: its words stand in the section path of the sections below it.
"""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from qa_pipeline.embedding import TokenCounter
from qa_pipeline.settings import ChunkingSettings
from qa_pipeline.tables import CHUNKS

Row = Mapping[str, Any]

_ID_LENGTH = 32
_PATH_SHARE = 3
"""The section path may take a third of the window, the heading line another third; text has the rest."""
_FILL = 0.85
"""Pieces are planned this full, so that a denser stretch of a text seldom goes over the bound."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A piece of a section; `path` may be shortened, `heading_end` is `start` without a heading line."""

    document: int
    path: tuple[str, ...]
    start: int
    end: int
    heading_end: int


def index_text(section_path: Sequence[str], text: str) -> str:
    """What is embedded and indexed of a chunk: its section path on a line above its text."""
    return " > ".join(section_path) + "\n" + text


def chunk_documents(documents: pl.DataFrame, count: TokenCounter, settings: ChunkingSettings) -> pl.DataFrame:
    """Cut every parsed document into chunks of at most `settings.max_tokens` or the model's window.

    The bound holds for `index_text`, special tokens included. A section path longer than a third of it
    loses its outermost headings, and the innermost its last words, in the chunk's `section_path`.
    """
    rows = documents.filter(pl.col("status") == "parsed").to_dicts()
    bound = min(settings.max_tokens, count.window)
    texts = [row["text"] for row in rows]
    spans = _shorten_paths(list(_sections(rows)), bound // _PATH_SHARE, count)
    cutter = _Cutter(texts, bound, count)
    pieces = cutter.cut(spans)
    return CHUNKS.frame(list(_chunk_rows(rows, pieces)))


def _sections(rows: Sequence[Row]) -> Iterator[_Span]:
    """Sections with text below their heading."""
    for number, row in enumerate(rows):
        text = row["text"]
        for section in row["sections"]:
            start, end = section["start"], section["end"]
            line_end = text.find("\n", start, end) if section["level"] else start
            if line_end == -1 or not text[line_end:end].strip():
                continue
            yield _Span(number, tuple(section["heading_path"]), start, end, line_end)


def _shorten_paths(spans: list[_Span], limit: int, count: TokenCounter) -> list[_Span]:
    """Drop outermost headings, then cut the innermost, until each path has at most `limit` tokens."""
    paths = list(dict.fromkeys(span.path for span in spans))
    short = dict(zip(paths, paths, strict=True))
    waiting = paths
    while waiting:
        sizes = count.count([index_text(short[path], "") for path in waiting])
        waiting = [path for path, size in zip(waiting, sizes, strict=True) if size > limit and short[path]]
        for path in waiting:
            short[path] = _shorter(short[path])
    return [replace(span, path=short[span.path]) for span in spans]


def _shorter(path: tuple[str, ...]) -> tuple[str, ...]:
    if len(path) > 1:
        return path[1:]
    kept = path[0][: len(path[0]) // 2].rstrip()
    return (kept,) if kept else ()


class _Cutter:
    """Cuts what is over the bound; what fits is counted once and never given to the splitter.

    The splitter measures characters, which is some ten times faster than measuring tokens. How many
    characters make a token is known for each text from having counted it, and every piece is counted
    again, so the bound holds all the same: a piece that is over it is cut once more.
    """

    def __init__(self, texts: Sequence[str], bound: int, count: TokenCounter) -> None:
        self.texts = texts
        self.bound = bound
        self.count = count

    def cut(self, spans: list[_Span]) -> list[tuple[_Span, int]]:
        """Pieces of `spans` within the bound, with their tokens, in document order."""
        done: list[tuple[_Span, int]] = []
        waiting = spans
        while waiting:
            sizes = self.count.count([index_text(span.path, self._text(span)) for span in waiting])
            measured = list(zip(waiting, sizes, strict=True))
            done += [(span, size) for span, size in measured if self._is_done(span, size)]
            over = [(span, size) for span, size in measured if not self._is_done(span, size)]
            waiting = list(self._split_all(over))
        return sorted(done, key=lambda item: (item[0].document, item[0].start))

    def _is_done(self, span: _Span, size: int) -> bool:
        return size <= self.bound or span.end - span.start < 2

    def _text(self, span: _Span) -> str:
        return self.texts[span.document][span.start : span.end]

    def _split_all(self, over: list[tuple[_Span, int]]) -> Iterator[_Span]:
        if not over:
            return
        paths = self.count.count([index_text(span.path, "") for span, _ in over])
        lines = [self.texts[span.document][span.start : span.heading_end] for span, _ in over]
        # Both counts hold the special tokens once; they are taken off with the path only.
        special = self.count.count([""])[0]
        headings = [size - special for size in self.count.count(lines)]
        for (span, size), path, heading in zip(over, paths, headings, strict=True):
            yield from self._split(span, size - path, path, heading)

    def _split(self, span: _Span, tokens: int, path: int, heading: int) -> Iterator[_Span]:
        """Cut one span into pieces of about equal length, its heading line staying with the first.

        Args:
            span: what to cut.
            tokens: tokens of its text.
            path: tokens of its section path and the special ones.
            heading: tokens of its heading line; a long one is cut like any text.
        """
        from semantic_text_splitter import TextSplitter

        kept = span.heading_end - span.start if heading <= self.bound // _PATH_SHARE else 0
        body = self._text(span)[kept:]
        room = self.bound - path - (heading if kept else 0)
        per_token = len(body) / max(tokens - (heading if kept else 0), 1)
        longest = max(min(int(room * per_token), len(body) - 1), 1)
        wanted = max(len(body) // (-(-len(body) // max(int(longest * _FILL), 1))), 1)
        start = span.start
        for place, piece in TextSplitter((min(wanted, longest), longest)).chunk_indices(body):
            end = span.start + kept + place + len(piece)
            first = start == span.start
            begin = start if first else span.start + kept + place
            yield replace(span, start=begin, end=end, heading_end=span.heading_end if first else begin)
            start = end


def _chunk_rows(rows: Sequence[Row], pieces: Sequence[tuple[_Span, int]]) -> Iterator[dict[str, Any]]:
    repeats: Counter[tuple[tuple[str, ...], str]] = Counter()
    positions: Counter[int] = Counter()
    for span, tokens in pieces:
        row = rows[span.document]
        text = row["text"][span.start : span.end]
        yield {
            "chunk_id": _chunk_id(span.path, text, repeats[span.path, text]),
            "batch": row["batch"],
            "document_id": row["document_id"],
            "position": positions[span.document],
            "char_start": span.start,
            "char_end": span.end,
            "title": row["title"],
            "section_path": list(span.path),
            **_page_range(row["pages"], span),
            "tokens": tokens,
            "language": row["language"],
            "text": text,
        }
        repeats[span.path, text] += 1
        positions[span.document] += 1


def _chunk_id(path: tuple[str, ...], text: str, repeat: int) -> str:
    """Hash of what a chunk says and where; `repeat` tells equal chunks of a batch apart."""
    content = json.dumps([path, text, repeat], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:_ID_LENGTH]


def _page_range(pages: Sequence[Row], span: _Span) -> dict[str, int | None]:
    """Pages of the first and last character; null where the document has none."""
    if not pages:
        return {"page_first": None, "page_last": None}
    starts = [page["start"] for page in pages]
    first = max(bisect_right(starts, span.start) - 1, 0)
    last = max(bisect_right(starts, span.end - 1) - 1, 0)
    return {"page_first": pages[first]["number"], "page_last": pages[last]["number"]}
