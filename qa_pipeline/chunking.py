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
from qa_pipeline.passages import index_text
from qa_pipeline.settings import ChunkingSettings
from qa_pipeline.tables import CHUNKS
from qa_pipeline.word_counts import WordCounts

Row = Mapping[str, Any]

_ID_LENGTH = 32
_as_json = json.JSONEncoder(ensure_ascii=False).encode
_PATH_SHARE = 3
"""The section path may take a third of the window, the heading line another third; text has the rest."""
_SURELY_LONG = 6
"""Characters per token that no text of prose reaches: longer texts are over the bound without counting."""
_SAMPLE = 120
_SLIVER = 0.4
_MIDDLE = 0.6
"""A last piece below the first share of a full one is evened out with the piece before it."""
_FILL = 0.85
"""Pieces are planned this full, so that a denser stretch of a text seldom goes over the bound."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A piece of a section; `path` may be shortened, `heading_end` is `start` without a heading line."""

    document: int
    path: tuple[str, ...]
    section: tuple[int, int]
    start: int
    end: int
    heading_end: int


def chunk_documents(documents: pl.DataFrame, count: TokenCounter, settings: ChunkingSettings) -> pl.DataFrame:
    """Cut every parsed document into chunks of at most `settings.max_tokens` or the model's window.

    The bound holds for `index_text`, special tokens included. A section path longer than a third of it
    loses its outermost headings, and the innermost its last words, in the chunk's `section_path`.
    """
    rows = documents.filter(pl.col("status") == "parsed").to_dicts()
    bound = min(settings.max_tokens, count.window)
    counts = WordCounts(count)
    texts = [row["text"] for row in rows]
    spans, path_tokens = _shorten_paths(list(_sections(rows)), bound // _PATH_SHARE, counts)
    pieces = _Cutter(texts, bound, counts, path_tokens).cut(spans)
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
            yield _Span(number, tuple(section["heading_path"]), (start, end), start, end, line_end)


def _shorten_paths(
    spans: list[_Span], limit: int, counts: WordCounts
) -> tuple[list[_Span], dict[tuple[str, ...], int]]:
    """Drop outermost headings, then cut the innermost, until each path has at most `limit` tokens.

    Returns:
        The spans with their paths shortened, and the tokens of each such path, special ones included.
    """
    paths = list(dict.fromkeys(span.path for span in spans))
    short = dict(zip(paths, paths, strict=True))
    tokens: dict[tuple[str, ...], int] = {}
    waiting = paths
    while waiting:
        sizes = counts.count([index_text(short[path], "") for path in waiting])
        tokens.update((short[path], size) for path, size in zip(waiting, sizes, strict=True))
        waiting = [path for path in waiting if tokens[short[path]] > limit and short[path]]
        for path in waiting:
            short[path] = _shorter(short[path])
    return [replace(span, path=short[span.path]) for span in spans], tokens


def _shorter(path: tuple[str, ...]) -> tuple[str, ...]:
    if len(path) > 1:
        return path[1:]
    kept = path[0][: len(path[0]) // 2].rstrip()
    return (kept,) if kept else ()


class _Cutter:
    """Cuts what is over the bound, counting as little text twice as it can.

    The splitter measures characters, which is some ten times faster than measuring tokens. How many
    characters make a token is known for each text from having counted it, or a sample of it where it is
    surely too long, and every piece is counted again, so the bound holds all the same: a piece that is
    over it is cut once more.
    """

    def __init__(
        self,
        texts: Sequence[str],
        bound: int,
        counts: WordCounts,
        path_tokens: Mapping[tuple[str, ...], int],
    ) -> None:
        self.texts = texts
        self.bound = bound
        self.counts = counts
        self.path_tokens = path_tokens

    def cut(self, spans: list[_Span]) -> list[tuple[_Span, int]]:
        """Pieces of `spans` within the bound, with their tokens, in document order."""
        long = [span for span in spans if span.end - span.start > _SURELY_LONG * self.bound]
        waiting = [span for span in spans if span.end - span.start <= _SURELY_LONG * self.bound]
        waiting += self._split_all(long, self._estimate(long))
        done: list[tuple[_Span, int]] = []
        while waiting:
            sizes = self.counts.count([index_text(span.path, self._text(span)) for span in waiting])
            over: list[_Span] = []
            tokens: list[int] = []
            for span, size in zip(waiting, sizes, strict=True):
                if size <= self.bound or span.end - span.start < 2:
                    done.append((span, size))
                else:
                    over.append(span)
                    tokens.append(size - self.path_tokens[span.path])
            waiting = self._split_all(over, tokens)
        return sorted(done, key=lambda item: (item[0].document, item[0].start))

    def _text(self, span: _Span) -> str:
        return self.texts[span.document][span.start : span.end]

    def _estimate(self, spans: list[_Span]) -> list[int]:
        """Tokens of long texts, from samples of their beginning, middle and end."""
        samples = []
        for span in spans:
            text = self._text(span)
            middle = len(text) // 2
            samples.append(f"{text[:_SAMPLE]} {text[middle : middle + _SAMPLE]} {text[-_SAMPLE:]}")
        sizes = self.counts.count(samples) if samples else []
        return [
            size * (span.end - span.start) // (3 * _SAMPLE) for span, size in zip(spans, sizes, strict=True)
        ]

    def _split_all(self, spans: list[_Span], tokens: list[int]) -> list[_Span]:
        if not spans:
            return []
        lines = [self.texts[span.document][span.start : span.heading_end] for span in spans]
        # The special tokens are in the count of each path already.
        special, *headings = self.counts.count(["", *lines])
        return [
            piece
            for span, size, heading in zip(spans, tokens, headings, strict=True)
            for piece in self._split(span, size, self.path_tokens[span.path], heading - special)
        ]

    def _split(self, span: _Span, tokens: int, path: int, heading: int) -> Iterator[_Span]:
        """Cut one span into pieces of about equal length, its heading line staying with the first.

        Args:
            span: what to cut.
            tokens: tokens of its text.
            path: tokens of its section path and the special ones.
            heading: tokens of its heading line; a long one is cut like any text.
        """
        text = self._text(span)
        kept = span.heading_end - span.start if heading <= self.bound // _PATH_SHARE else 0
        if len(text[kept:].strip()) < 2:  # nothing but the heading line is left to cut
            kept = 0
        # The splitter trims what it returns, so untrimmed text could come back whole for ever.
        body = text[kept:].strip()
        room = self.bound - path - (heading if kept else 0)
        per_token = len(body) / max(tokens - (heading if kept else 0), 1)
        longest = max(min(int(room * per_token), len(body) - 1), 1)
        wanted = max(len(body) // (-(-len(body) // max(int(longest * _FILL), 1))), 1)
        offset = span.start + len(text) - len(text[kept:].lstrip())
        for number, (start, end) in enumerate(_places(body, min(wanted, longest), longest)):
            begin = offset + start if number else span.start
            heading_end = begin if number else span.heading_end
            yield replace(span, start=begin, end=offset + end, heading_end=heading_end)


def _places(text: str, wanted: int, longest: int) -> list[tuple[int, int]]:
    """Where to cut: pieces of `wanted` to `longest` characters, without a sliver at the end."""
    from semantic_text_splitter import TextSplitter

    places = [(at, at + len(piece)) for at, piece in TextSplitter((wanted, longest)).chunk_indices(text)]
    if len(places) > 1 and places[-1][1] - places[-1][0] < wanted * _SLIVER:
        start, end = places[-2][0], places[-1][1]
        middle = max(int((end - start) * _MIDDLE), 1)
        halves = TextSplitter(min(middle, longest)).chunk_indices(text[start:end])
        places[-2:] = [(start + at, start + at + len(piece)) for at, piece in halves]
    return places


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
            "section_start": span.section[0],
            "section_end": span.section[1],
            **_page_range(row["pages"], span),
            "tokens": tokens,
            "language": row["language"],
            "text": text,
        }
        repeats[span.path, text] += 1
        positions[span.document] += 1


def _chunk_id(path: tuple[str, ...], text: str, repeat: int) -> str:
    """Hash of what a chunk says and where; `repeat` tells equal chunks of a batch apart."""
    content = _as_json([path, text, repeat])
    return hashlib.sha256(content.encode()).hexdigest()[:_ID_LENGTH]


def _page_range(pages: Sequence[Row], span: _Span) -> dict[str, int | None]:
    """Pages of the first and last character; null where the document has none."""
    if not pages:
        return {"page_first": None, "page_last": None}
    starts = [page["start"] for page in pages]
    first = max(bisect_right(starts, span.start) - 1, 0)
    last = max(bisect_right(starts, span.end - 1) - 1, 0)
    return {"page_first": pages[first]["number"], "page_last": pages[last]["number"]}
