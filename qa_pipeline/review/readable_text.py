"""Canonical text as a page shows it: headings, lists, tables and code, with stretches of it marked.

Only the signs that make a heading, an item, a cell or code are not shown. Every word is, once, in a piece
that knows its place, so that a selection on the page is a stretch of the text again.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from qa_pipeline.documents.formats.pdf.page_images import Span
from qa_pipeline.text.blocks import blocks, line_spans

_HEADING = re.compile("#{1,6} ")
_ITEM = re.compile(r"( *)-(?: |$)")
_CODE = re.compile(r"([ \t]*`{3,})\n(.*)\n\1\s*", re.DOTALL)
_BORDER = " | "

Kind = Literal["heading", "list", "table", "code", "paragraph"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of the text that stands out; the name says as what."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text, the names of the marks that cover it, and the mark that it is the first of."""

    start: int
    text: str
    marks: tuple[str, ...]
    anchor: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, an item of a list with its level from 0, or all of another block."""

    level: int
    cells: list[list[Piece]]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A block of the text.

    Attributes:
        kind: the element that shows it.
        start: its first character.
        level: that of a heading, from 1; else 0.
        rows: its rows.
        page: the number of the page that begins with it.
    """

    kind: Kind
    start: int
    level: int
    rows: list[Row]
    page: int | None


def readable_blocks(
    text: str,
    window: Span,
    marks: Sequence[Mark] = (),
    headings: Mapping[int, int] | None = None,
    pages: Mapping[int, int] | None = None,
) -> Iterator[TextBlock]:
    """Yield the blocks of a part of a canonical text.

    Args:
        text: the whole text.
        window: the part; it should begin and end between blocks.
        marks: the stretches to mark.
        headings: level of each heading by its first character; other lines with its signs are none.
        pages: number of each page by its first character.
    """
    first, last = window
    cuts = _Cuts(text, marks)
    turns = sorted(place for place in pages or () if place >= first)
    for begin, stop, is_code in blocks(text[first:last]):
        start, end = first + begin, first + begin + len(text[first + begin : first + stop].rstrip())
        turned = bisect_right(turns, start)
        page = pages[turns[turned - 1]] if pages and turned else None
        del turns[:turned]
        level = (headings or {}).get(start, 0)
        kind, rows = _code(text, start, end) if is_code else _lines(text, start, end, level)
        table_rows = [Row(depth, [cuts.pieces(*cell) for cell in cells]) for depth, cells in rows]
        yield TextBlock(kind, start, level, table_rows, page)


class _Cuts:
    """The places where marks begin and end."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        self._text = text
        self._borders = sorted({0, *(place for mark in marks for place in (mark.start, mark.end))})
        self._names: list[list[str]] = [[] for _ in self._borders]
        self._begun: set[str] = set()
        for mark in sorted(marks, key=lambda mark: mark.name):
            covered = bisect_left(self._borders, mark.start), bisect_left(self._borders, mark.end)
            for names in self._names[slice(*covered)]:
                names.append(mark.name)

    def pieces(self, start: int, end: int) -> list[Piece]:
        """Return a stretch of the text, cut where marks begin and end in it."""
        inner = slice(bisect_right(self._borders, start), bisect_left(self._borders, end))
        places = [start, *self._borders[inner], end]
        names = self._names[inner.start - 1 : inner.stop]
        return [
            Piece(begin, self._text[begin:stop], tuple(covering), self._first(covering))
            for (begin, stop), covering in zip(pairwise(places), names, strict=True)
            if begin < stop
        ]

    def _first(self, names: Sequence[str]) -> str | None:
        """Return a mark of which nothing was shown yet; its first piece is what an address points at."""
        name = next((name for name in names if name not in self._begun), None)
        self._begun.update(names)
        return name


_Rows = list[tuple[int, list[Span]]]


def _code(text: str, start: int, end: int) -> tuple[Kind, _Rows]:
    fenced = _CODE.fullmatch(text, start, end)
    return "code", [(0, [fenced.span(2) if fenced else (start, end)])]


def _lines(text: str, start: int, end: int, level: int) -> tuple[Kind, _Rows]:
    if level and (signs := _HEADING.match(text, start, end)):
        return "heading", [(0, [(signs.end(), end)])]
    lines = [(start + begin, start + stop) for begin, stop in line_spans(text[start:end])]
    items = [_ITEM.match(text, *line) for line in lines]
    if all(items):
        cells = [(item.end(), _end(text, line)) for item, line in zip(items, lines, strict=True) if item]
        return "list", [(len(item[1]) // 2, [cell]) for item, cell in zip(items, cells, strict=True) if item]
    rows = [_cells(text, line[0], _end(text, line)) for line in lines]
    if 2 * sum(len(cells) > 1 for cells in rows) >= len(rows):
        return "table", [(0, cells) for cells in rows]
    return "paragraph", [(0, [(start, end)])]


def _end(text: str, line: Span) -> int:
    return line[0] + len(text[slice(*line)].rstrip())


def _cells(text: str, start: int, end: int) -> list[Span]:
    cells = []
    while (border := text.find(_BORDER, start, end)) >= 0:
        cells.append((start, border))
        start = border + len(_BORDER)
    return [*cells, (start, end)]
