"""The order in which the lines of a PDF page are read."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import chain, pairwise, takewhile

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.lines import Line, part_of, printed_text, rows_of
from qa_pipeline.documents.formats.pdf.tables import split_at_gaps
from qa_pipeline.text.lexicon.languages import any_of_all

_LEAST_SHARE = 0.2  # of the text on each side: less is a margin or a list beside the text
_LEAST_LINES = 4  # of a column: fewer lines begin at one position by chance
_MIDDLE = (0.25, 0.75)  # of the width, where a gutter may be: nearer to an edge are margins and indents
_STEP = 4.0  # points: the beginnings of the lines of a column differ by less
_GUTTER = 0.8  # of the type size: the narrowest white between columns, wider than blanks of most text
_MOST_SPLITS = 2  # into halves, which make four columns at most: a table has more
_PROSE = 30  # characters of a line of text on average: cells of a table are shorter
_SLACK = 1.0  # points by which the box of a letter may reach over a gutter
_MOST_TRIED = 4  # positions of a gutter, since each is compared with all lines
_MOST_CHANGES = 0.2  # of the lines: changes are more frequent in the rows of a table
_LEFT, _RIGHT, _ACROSS = range(3)  # sides of a gutter that a part of a line is on, also indexes of a band
_Band = tuple[list[Line], list[Line], list[Line]]  # left and right of a gutter, and below them across it


def split_columns(lines: Sequence[Line], earlier_splits: int = 0) -> list[list[Line]]:
    """Return the lines of a page in stretches to read in turn: columns, cut where a line goes across."""
    gutter = _find_gutter(lines) if earlier_splits < _MOST_SPLITS else None
    if gutter is None:
        return [list(chain.from_iterable(rows_of(lines)))]  # a single stretch, row by row
    stretches: list[list[Line]] = []
    for left, right, across in _split_bands(lines, gutter):
        for column in filter(None, (left, right)):
            stretches += split_columns(column, earlier_splits + 1)
        if across:
            stretches.append(across)
    return stretches


def _find_gutter(lines: Sequence[Line]) -> float | None:
    """Return the horizontal position of the white between two columns, or None."""
    if len(lines) < 2 * _LEAST_LINES:
        return None

    def text_across(gutter: float) -> int:
        return sum(len(part.text) for part in _cut(lines, gutter) if _side_of(part, gutter) == _ACROSS)

    gutter = min(_possible_gutters(lines), key=text_across, default=None)
    return gutter if gutter is not None and _are_columns(lines, gutter) else None


def _possible_gutters(lines: Sequence[Line]) -> list[float]:
    """Return positions a little left of those at which several parts of lines begin."""
    left_edge = min(line.left for line in lines)
    width = max(line.right for line in lines) - left_edge
    lefts = [part.left for line in lines for part in split_at_gaps(line, _GUTTER * line.size)]
    amid = [left for left in lefts if _MIDDLE[0] * width < left - left_edge < _MIDDLE[1] * width]
    counts = Counter(round(left / _STEP) * _STEP for left in amid)
    most_common = sorted(counts, key=lambda start: (-counts[start], start))[:_MOST_TRIED]
    return [start - _STEP for start in most_common if counts[start] >= _LEAST_LINES]


def _side_of(part: Line, gutter: float) -> int:
    """Return the side of a gutter that a part of a line is on: `_LEFT`, `_RIGHT` or `_ACROSS`."""
    if part.right <= gutter + _SLACK:
        return _LEFT
    return _ACROSS if part.left < gutter - _SLACK else _RIGHT


def _cut(lines: Sequence[Line], gutter: float) -> Iterator[Line]:
    """Yield the lines, each in two parts if it has white at the gutter."""
    for line in lines:
        before = list(takewhile(lambda word: word.right <= gutter + _SLACK, line.words))
        after = line.words[len(before) :]
        is_parted = before and after and after[0].left >= gutter - _SLACK
        if is_parted and after[0].left - before[-1].right > _GUTTER * line.size:
            yield from (part_of(line, before), part_of(line, after))
        else:
            yield line


def _are_columns(lines: Sequence[Line], gutter: float) -> bool:
    """Return True if both sides of a gutter have much of the text, and are not columns of a table."""
    in_file_order = sorted(_cut(lines, gutter), key=lambda part: part.start)
    sides = [[part for part in in_file_order if _side_of(part, gutter) == side] for side in (_LEFT, _RIGHT)]
    lengths = [sum(len(part.text) for part in side) for side in sides]
    total = sum(len(line.text) for line in lines)
    if min(map(len, sides)) < _LEAST_LINES or min(lengths) < _LEAST_SHARE * total:
        return False
    # Files have tables row by row, so that the side changes from cell to cell, and text column by column.
    side_of_each = [side for part in in_file_order if (side := _side_of(part, gutter)) != _ACROSS]
    changes = sum(before != after for before, after in pairwise(side_of_each))
    is_column_by_column = changes <= _MOST_CHANGES * len(side_of_each)
    are_prose = all(length >= _PROSE * len(side) for length, side in zip(lengths, sides, strict=True))
    return is_column_by_column or are_prose


def _split_bands(lines: Sequence[Line], gutter: float) -> Iterator[_Band]:
    """Yield the bands of a page from the top; lines across the gutter end a band."""
    band: _Band = ([], [], [])
    for part in sorted(_cut(lines, gutter), key=lambda part: -part.top):
        side = _side_of(part, gutter)
        if band[_ACROSS] and side != _ACROSS:
            yield band
            band = ([], [], [])
        band[side].append(part)
    yield band


_EDGE = 0.12  # of the height of a page: heads and feet are in its upper and lower margin
_LEAST_PAGES = 3  # with the same line make it a head or foot; 2 do in a file of few pages
_FEW_PAGES = 5  # so short a file may print a head on two pages alone
_LARGE = 1.1  # of the usual type size: larger text is a heading
_WIDE_GAP = 1.2  # of the type size: the parts of a head are set to its two ends
_APART = 1.2  # of the step of the lines beside it: a head of a table is as close to its rows as they are
_WIDEST_STEP = 2.0  # type sizes, which set a head apart whatever is beside it
_LONGEST_NUMBER = 4  # digits of a page number
_ROMAN = re.compile(r"[ivxlc]{1,8}", re.ASCII | re.IGNORECASE)
_PAGES, _OF = any_of_all("layout.pages"), any_of_all("layout.of")
_TOTAL = rf"(?:\s*(?:{_OF}|/|\()\s*\d{{1,4}})?"  # such as `of 12`, `/12` or `(12`
_PAGE_NUMBER = re.compile(rf"^\W*(?:{_PAGES}\s*)?(?:\d{{1,4}}|[ivxlc]{{1,7}}){_TOTAL}\W*$", re.IGNORECASE)
_NUMBER_IN_LINE = re.compile(
    rf"\b{_PAGES}\s*\d{{1,4}}{_TOTAL}|^\d{{1,4}}\s*[|·•—–]|[|·•—–]\s*\d{{1,4}}$", re.IGNORECASE
)
"""A page number within a line; any other number that differs makes the line text."""


def remove_running_lines(
    pages: Sequence[Sequence[Line]], heights: Sequence[float], size: float, left_out: Omissions
) -> tuple[list[list[Line]], list[Line], list[Line]]:
    """Remove heads and feet: page numbers, and outermost rows that return on several pages.

    Returns the other lines of each page, and each head and foot once. `Report | 17` and `Report | 18` are a
    single head, as only their page numbers differ, but `Step 1` and `Step 2` are text.
    """
    page_counts: Counter[str] = Counter()  # by key: the text of a row without its page number (`_key_of`)
    for lines, height in zip(pages, heights, strict=True):
        near_edge = [line for line in lines if _is_near_edge(line, height)]
        page_counts.update(_keys_of(near_edge))  # a set, so a key counts once a page
    least_pages = _LEAST_PAGES if len(pages) > _FEW_PAGES else 2
    repeated_keys = {key for key, count in page_counts.items() if count >= least_pages}
    texts: list[list[Line]] = []
    first_heads: list[Line] = []
    first_feet: list[Line] = []
    seen: set[str] = set()
    for lines, height in zip(pages, heights, strict=True):
        rows = rows_of(lines)
        heads = _running_rows(rows, height, size, repeated_keys)
        feet = _running_rows(rows[len(heads) :][::-1], height, size, repeated_keys)[::-1]
        running = {id(line) for row in (*heads, *feet) for line in row}
        texts.append([line for line in lines if id(line) not in running])
        _keep_or_count(heads, "running_head", first_heads, seen, left_out)
        _keep_or_count(feet, "running_foot", first_feet, seen, left_out)
    return texts, first_heads, first_feet


def _keep_or_count(
    rows: Sequence[Sequence[Line]], kind: str, kept: list[Line], seen: set[str], left_out: Omissions
) -> None:
    """Add parts of running rows with new keys to `kept`; count the others, and page numbers, as left out."""
    for line in chain.from_iterable(rows):
        for part in split_at_gaps(line, _WIDE_GAP * line.size):
            key = _key_of(part.text, part.page)
            if _PAGE_NUMBER.match(part.text):
                left_out.add("page_number", printed_text(part))
            elif key in seen:
                left_out.add(kind, printed_text(part))
            else:
                kept.append(part)
            seen.add(key)


def _running_rows(
    from_edge: Sequence[list[Line]], height: float, size: float, repeated_keys: Set[str]
) -> list[list[Line]]:
    """Return the rows at an edge of a page, outermost first, that have a page number or a repeated key."""

    def is_running(row: Sequence[Line]) -> bool:
        if not all(line.size <= _LARGE * size and _is_near_edge(line, height) for line in row):
            return False
        return _is_page_number(row) or not repeated_keys.isdisjoint(_keys_of(row))

    outer = list(takewhile(is_running, from_edge))
    # The innermost row must be set apart from the text, else it may be the head of a table.
    while outer and not (_is_page_number(outer[-1]) or _is_apart(from_edge[len(outer) - 1 :])):
        outer.pop()
    return outer


def _is_page_number(row: Sequence[Line]) -> bool:
    return any(line.text.strip(" -–—") == str(line.page) for line in row)


def _is_apart(rows: Sequence[list[Line]]) -> bool:
    """Return True if the first row is farther from the second than lines of text are from one another."""
    levels = [row[0].bottom for row in rows[:3]]
    if len(levels) < 2:  # the page has no other row
        return True
    first_step, *next_steps = [abs(above - below) for above, below in pairwise(levels)]
    return first_step > _APART * min([*next_steps, _WIDEST_STEP * rows[1][0].size])


def _is_near_edge(line: Line, height: float) -> bool:
    return line.bottom < _EDGE * height or line.top > (1 - _EDGE) * height


def _keys_of(lines: Sequence[Line]) -> set[str]:
    """Return the keys (`_key_of`) of lines, and of their parts between wide gaps."""
    parts = (part for line in lines for part in {line, *split_at_gaps(line, _WIDE_GAP * line.size)})
    return {_key_of(part.text, part.page) for part in parts}


def _key_of(text: str, page: int) -> str:
    """Return the text of a line without its page number, as a key that lines of several pages share.

    `Report | 12` becomes `report #`, and a number alone its distance to that of its page, such as `page +2`.
    """
    if text.isdecimal():
        return f"page {int(text) - page:+}" if len(text) <= _LONGEST_NUMBER else text
    return "roman number" if _ROMAN.fullmatch(text) else _NUMBER_IN_LINE.sub("#", text.casefold())
