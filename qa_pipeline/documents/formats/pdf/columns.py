"""The order in which the lines of a PDF page are read."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.grids import is_prose
from qa_pipeline.documents.formats.pdf.lines import Line, part_of, printed_text, rows_of
from qa_pipeline.documents.formats.pdf.tables import pieces_of
from qa_pipeline.text.lexicon.languages import any_of_all

_LEAST_SHARE = 0.2  # of the text on each side: less is a margin or a list beside the text
_MOST_ACROSS = 0.45  # of the text across the gutter, such as title, summary and wide tables
_LEAST_LINES = 4  # of a column: fewer lines begin at the same place by chance
_MIDDLE = (0.25, 0.75)  # of the width, where a gutter may be: nearer to an edge are margins and indents
_STEP = 4.0  # points: the beginnings of the lines of a column differ by less
_GUTTER = 0.8  # of the type size: the narrowest white between columns, wider than blanks of most text
_DEEPEST = 2  # partings, which make four columns: more are those of a table
_NEAR = 0.5  # of the lower column's height: how much of it is beside the other one at least
_MOST_TURNS = 0.2  # of the lines: a file that changes sides more often holds the rows of a table


def split_columns(lines: Sequence[Line], depth: int = 0) -> list[list[Line]]:
    """Return the lines of a page in stretches to be read in turn, each a column or part of one.

    What is across two columns parts what is above it from what is below: above it the left column is
    read before the right one, and so below it.

    Args:
        lines: the lines, with their words where these may stand far apart.
        depth: how often the page was parted into columns already.
    """
    gutter = _find_gutter(lines) if depth < _DEEPEST else None
    if gutter is None:
        return [order_lines(lines)]
    stretches: list[list[Line]] = []
    for first, second, across in _split_bands(_cut(lines, gutter), gutter):
        for part in (first, second):
            if part:
                stretches += split_columns(part, depth + 1)
        if across:
            stretches.append(across)
    return stretches


def order_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the lines from top to bottom; in the order of the file where that is plainly right."""
    lowest: Line | None = None
    for line in lines:
        if lowest is None or line.top < lowest.top:
            lowest = line
            continue
        if (line.bottom + line.top) / 2 > lowest.top:
            return [part for row in rows_of(lines) for part in row]
    return list(lines)


def _find_gutter(lines: Sequence[Line]) -> float | None:
    """Return the place where white runs down between two columns of text, if they are columns."""
    if len(lines) < 2 * _LEAST_LINES:
        return None
    lefts = sorted([line.left for line in lines])
    first, second = lefts[0], max(line.right for line in lines)
    starts_aside = lefts[-_LEAST_LINES] > first + _MIDDLE[0] * (second - first)
    if not starts_aside and not any(line.words for line in lines):
        return None
    total = sum(len(line.text) for line in lines)
    best, least = None, _MOST_ACROSS * total
    for place in _find_places(lines, first, second):
        across = sum(len(line.text) for line in lines if _crosses(line, place))
        if across < least or (across == least and best is None):
            best, least = place, across
    if best is None:
        return None
    parts = [line for line in _cut(lines, best) if not _crosses(line, best)]
    left_side = [line for line in parts if line.right <= best + 1]
    right_side = [line for line in parts if line.right > best + 1]
    return best if _are_columns(left_side, right_side, total) else None


def _find_places(lines: Sequence[Line], first: float, second: float) -> list[float]:
    """Return the places where several lines, and so perhaps a column, begin, away from the edges."""
    width = second - first
    counts: dict[float, int] = {}
    for line in lines:
        for start in (piece.left for piece in pieces_of(line, _GUTTER * line.size)):
            if first + _MIDDLE[0] * width < start < first + _MIDDLE[1] * width:
                place = round(start / _STEP) * _STEP
                counts[place] = counts.get(place, 0) + 1
    common = sorted(counts, key=lambda place: (-counts[place], place))[: _DEEPEST + 2]
    return [place - _STEP for place in common if counts[place] >= _LEAST_LINES]


def _crosses(line: Line, place: float) -> bool:
    return line.left < place - 1 and line.right > place + 1 and not _splits(line, place)


def _splits(line: Line, place: float) -> bool:
    """Return whether a line that PDFium read as one has a gap at a place, wide enough to part two columns."""
    return any(
        before.right <= place + 1
        and after.left >= place - 1
        and after.left - before.right > _GUTTER * line.size
        for before, after in pairwise(line.words)
    )


def _are_columns(first: Sequence[Line], second: Sequence[Line], total: int) -> bool:
    """Return whether both sides have much of the text, side by side, and are no columns of a table.

    The file holds columns one after the other and the cells of a table row by row; where it holds all row
    by row, both sides must be running text.
    """
    sides = (first, second)
    lengths = [sum(len(line.text) for line in side) for side in sides]
    if min(map(len, sides)) < _LEAST_LINES or min(lengths) < _LEAST_SHARE * total:
        return False
    low = [min(line.bottom for line in side) for side in sides]
    high = [max(line.top for line in side) for side in sides]
    if min(high) - max(low) < _NEAR * min(top - bottom for top, bottom in zip(high, low, strict=True)):
        return False
    order = sorted([(line.start, 0) for line in first] + [(line.start, 1) for line in second])
    turns = sum(before[1] != after[1] for before, after in pairwise(order))
    return turns <= _MOST_TURNS * len(order) or all(map(is_prose, sides))


def _cut(lines: Sequence[Line], gutter: float) -> Iterator[Line]:
    for line in lines:
        if line.left < gutter < line.right and _splits(line, gutter):
            yield part_of(line, [word for word in line.words if word.right <= gutter + 1])
            yield part_of(line, [word for word in line.words if word.right > gutter + 1])
        else:
            yield line


def _split_bands(lines: Iterator[Line], gutter: float) -> Iterator[tuple[list[Line], list[Line], list[Line]]]:
    """Yield lines in reading order: left of the gutter, right of it, then what is across below."""
    first: list[Line] = []
    second: list[Line] = []
    across: list[Line] = []
    for line in sorted(lines, key=lambda line: -line.top):
        crossing = _crosses(line, gutter)
        if across and not crossing:
            yield first, second, across
            first, second, across = [], [], []
        (across if crossing else first if line.right <= gutter + 1 else second).append(line)
    yield first, second, across


_EDGE = 0.12  # of the height of a page: heads and feet are in its upper and lower margin
_REPEATED_ON = 0.4  # of the pages: a head on left or right pages alone is on half of them, less covers
_SAME_PLACE_ON = 3  # pages: text at the very same height is on two of them by chance
_WIDE_GAP = 1.2  # of the type size: the parts of a head are set to its two ends
_APART = 0.8  # of the type size: rows of a table are closer to one another
_LONGEST_NUMBER = 4  # digits of a page number
_ROMAN = re.compile(r"[ivxlc]{1,8}", re.ASCII | re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    rf"^\W*(?:{any_of_all('layout.pages')}\s*)?(?:\d{{1,4}}|[ivxlc]{{1,7}})"
    rf"(?:\s*(?:{any_of_all('layout.of')}|/|\()\s*\d{{1,4}})?\W*$",
    re.IGNORECASE,
)

_Key = tuple[str, int]


def remove_running_lines(
    pages: Sequence[Sequence[Line]], heights: Sequence[float], size: float, left_out: Omissions
) -> list[list[Line]]:
    """Leave out heads and feet: lines near an edge whose text, numbers aside, returns on many pages.

    A line that returns at the same height on a few pages only, as the name of a chapter does, is one too,
    as a whole or in part, unless it is larger than the text, as the titles of slides are. So is one beside a
    number that counts the pages, whatever it says.

    Args:
        pages: lines of each page.
        heights: how high each page is.
        size: type size of the text.
        left_out: counts what does not reach the text.
    """
    edges = [_lines_near_edge(lines, height) for lines, height in zip(pages, heights, strict=True)]
    on_pages = Counter(text for edge in edges for text in {keys[0][0] for keys in edge.values()})
    at_height = Counter(key for edge in edges for key in {key for keys in edge.values() for key in keys})
    least = max(2, _REPEATED_ON * sum(map(bool, pages)))
    remaining: list[list[Line]] = []
    for lines, height, edge in zip(pages, heights, edges, strict=True):
        running = {
            index
            for index, keys in edge.items()
            if on_pages[keys[0][0]] >= least
            or (any(at_height[key] >= _SAME_PLACE_ON for key in keys) and lines[index].size <= size)
            or lines[index].text.strip(" -–—") == str(lines[index].page)  # the number of the page in the file
        }
        for index in running:
            left_out.add(_name_of(lines[index], height), printed_text(lines[index]))
        remaining.append([line for index, line in enumerate(lines) if index not in running])
    return remaining


def _lines_near_edge(lines: Sequence[Line], height: float) -> dict[int, list[_Key]]:
    """Return lines near the upper or lower edge by their place: their text, and how high they are.

    A head may say two things, of which one changes more often: what its parts say follows then.
    """
    low, high = _EDGE * height, (1 - _EDGE) * height
    keys: dict[int, list[_Key]] = {}
    for index, line in enumerate(lines):
        if line.bottom < low or line.top > high:
            at = round(line.bottom / 2)
            texts = (line.text, *_split_head(line, lines))
            keys[index] = [(_fold_numbers(text, line.page), at) for text in texts]
    return keys


def _split_head(line: Line, lines: Sequence[Line]) -> list[str]:
    """Return the left and right text of a line set apart from all others, as few table rows are."""
    parts = pieces_of(line, _WIDE_GAP * line.size)
    low, high = line.bottom - _APART * line.size, line.top + _APART * line.size
    near = (other for other in lines if other is not line and other.bottom < high and low < other.top)
    return [part.text for part in parts] if len(parts) > 1 and next(near, None) is None else []


def _fold_numbers(text: str, page: int) -> str:
    """Return the text of a line, numbers aside; a bare number less the number of its page.

    A number that does not count the pages belongs to the text, such as the end of an address.
    """
    if text.isdecimal():
        return f"page {int(text) - page:+}" if len(text) <= _LONGEST_NUMBER else text
    return "roman number" if _ROMAN.fullmatch(text) else _DIGITS.sub("#", text.lower())


def _name_of(line: Line, height: float) -> str:
    if _PAGE_NUMBER.match(line.text):
        return "page_number"
    return "running_head" if line.bottom > height / 2 else "running_foot"
