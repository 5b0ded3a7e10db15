"""Lines of a table to its cells, told by where their words stand.

What belongs here: the white gaps that part columns, and which printed lines make up one row of cells. What
does not: where on a page tables are (`tables`, `grids`).
"""

import math
from bisect import bisect
from collections.abc import Sequence
from itertools import pairwise

from qa_pipeline.documents.pdf.lines import Line, Word, part_of, words_of

Gap = tuple[float, float]
"""Where the white between two columns begins and ends."""
Strip = list[list[Line]]
"""What stands side by side at one height of a table: for each column the parts of lines in it."""

_SPACE = 0.28
"""Width of a blank, in parts of the type size."""
_CROSSING = 0.1
_ROW_STEP = 1.3
_FEW = 3
_NAMES_APART = 0.8
_NARROWEST = 0.15
_WIDE = 0.5
_PROSE_LENGTH = 30
_PROSE_LINES = 4
_FULL = 0.8


def gaps_between(
    rows: Sequence[Sequence[Line]], size: float, least: float | None = None, *, margins: bool = False
) -> list[Gap]:
    """White gaps that run through the rows from top to bottom, from left to right.

    The more rows agree, the narrower a gap may be: blanks of a text seldom stand above one another.

    Args:
        rows: lines that stand side by side, row by row.
        size: type size of the table.
        least: how wide a gap must be, where the number of rows shall not decide.
        margins: whether white that only few lines reach into, left or right of all others, is a gap too.
    """
    if least is None:
        least = size * (1.0 if len(rows) == 1 else 0.8 if len(rows) <= _FEW else 0.5)
    edges = []
    for row in rows:
        for word in _merged(row):
            edges += [(word.left, 1), (word.right, -1)]
    edges.sort()
    gaps = _white(edges, int(_CROSSING * len(rows)))
    outer = [gap for gap in gaps if gap[0] == edges[0][0] or gap[1] == edges[-1][0]]
    if outer and not margins:  # a few lines reach into the margin, or a column has text in few rows
        gaps = [gap for gap in gaps if gap not in outer] + [
            gap for gap in _white(edges, 0) if any(one[0] <= gap[0] and gap[1] <= one[1] for one in outer)
        ]
    return sorted(gap for gap in gaps if _width(gap) >= least)


def _white(edges: Sequence[tuple[float, int]], allowed: int) -> list[Gap]:
    """Stretches between the edges of words in which no more than the allowed number of words stand."""
    gaps: list[Gap] = []
    covered = 0
    for (place, change), (following, _) in pairwise(edges):
        covered += change
        if covered > allowed or following <= place:
            continue
        if gaps and gaps[-1][1] == place:
            gaps[-1] = (gaps[-1][0], following)
        else:
            gaps.append((place, following))
    return gaps


def gaps_below(header: Sequence[Sequence[Line]], body: Sequence[Sequence[Line]], size: float) -> list[Gap]:
    """White gaps between the columns of a table whose header is known.

    Where names of columns stand far apart, a narrow gap below them parts the columns as well; and where they
    do not, a wide one does.
    """
    if len(body) < _FEW or not header:
        return gaps_between([*header, *body], size)
    found = gaps_between(body, size, _NARROWEST * size)
    kept = {gap for gap in found if _width(gap) >= _WIDE * size}
    for above in gaps_between(header, size, _NAMES_APART * size):
        under = [gap for gap in found if gap[0] < above[1] and gap[1] > above[0]]
        kept.update(sorted(under, key=_width)[-1:])
    return sorted(kept)


def _width(gap: Gap) -> float:
    return gap[1] - gap[0]


def _merged(row: Sequence[Line]) -> list[Word]:
    """Words of a row from left to right, those that overlap as one."""
    found: list[Word] = []
    for word in sorted((word for line in row for word in words_of(line)), key=lambda word: word.left):
        if found and word.left <= found[-1].right:
            found[-1] = found[-1]._replace(right=max(found[-1].right, word.right))
        else:
            found.append(word)
    return found


def strips_of(rows: Sequence[Sequence[Line]], gaps: Sequence[Gap]) -> list[Strip]:
    """Cut the lines of each row where the gaps between columns are."""
    middles = [(gap[0] + gap[1]) / 2 for gap in gaps]
    strips: list[Strip] = []
    for row in rows:
        strip: Strip = [[] for _ in range(len(gaps) + 1)]
        for line in row:
            for column, words in _by_column(words_of(line), middles):
                strip[column].append(part_of(line, words) if line.words else line)
        strips.append(strip)
    return strips


def _by_column(words: Sequence[Word], middles: Sequence[float]) -> list[tuple[int, list[Word]]]:
    parts: list[tuple[int, list[Word]]] = []
    for word in words:
        column = bisect(middles, (word.left + word.right) / 2)
        if parts and parts[-1][0] == column:
            parts[-1][1].append(word)
        else:
            parts.append((column, [word]))
    return parts


def rows_of_cells(strips: Sequence[Strip]) -> list[list[Strip]]:
    """Put strips that belong to one row of cells together.

    A new row begins where the lines stand farther apart; where a column has text again after none; or where
    the text of the line above had room for the next word and was not broken for want of it.

    Args:
        strips: the table from top to bottom, without its header.
    """
    if len({tuple(map(bool, strip)) for strip in strips}) == 1:
        return [[strip] for strip in strips]  # cells of more than one line seldom are all equally long
    step = _usual_step(strips)
    limits = [_limit([line for strip in strips for line in strip[place]]) for place in range(len(strips[0]))]
    filled = [2 * sum(bool(strip[place]) for strip in strips) >= len(strips) for place in range(len(limits))]
    key = filled.index(True) if any(filled) else 0
    rows: list[list[Strip]] = []
    for place, strip in enumerate(strips):
        apart = place and _base(strips[place - 1]) - _base(strip) > _ROW_STEP * step
        if rows and not apart and not _begins_row(rows[-1], strip, limits, key):
            rows[-1].append(strip)
        else:
            rows.append([strip])
    return rows


def _limit(column: Sequence[Line]) -> float:
    """Where lines of a column end at the latest; nowhere in a column of single words, which wraps none."""
    one_word = all(" " not in line.text for line in column)
    return math.inf if one_word else max(line.right for line in column)


def _base(strip: Strip) -> float:
    return min(line.bottom for column in strip for line in column)


def _usual_step(strips: Sequence[Strip]) -> float:
    """Distance of lines within a cell: the smallest that is not odd."""
    steps = sorted(_base(above) - _base(below) for above, below in pairwise(strips))
    return steps[len(steps) // 5] if steps else 0.0


def _begins_row(row: Sequence[Strip], strip: Strip, limits: Sequence[float], key: int) -> bool:
    """Whether a strip begins a row; `key` is the column that has text in each row."""
    first, above = row[0], row[-1]
    filled = [column for column, lines in enumerate(strip) if lines]
    began = {column for part in row for column, lines in enumerate(part) if lines}
    if any(column in began and not above[column] for column in filled):
        return True
    if len(filled) == len(strip) > 2 and all(first):
        return True
    went_on = [
        bool(above[column]) and had_no_room(above[column], strip[column], limits[column]) for column in filled
    ]
    return bool(strip[key]) and not all(went_on)


def had_no_room(above: Sequence[Line], below: Sequence[Line], limit: float) -> bool:
    """Whether the first word of a line would not have fitted on the line above it."""
    last, following = above[-1], below[0]
    if last.broken:
        return True
    word = following.words[0] if following.words else None
    width = word.right - word.left if word else _width_of_first_word(following)
    return last.right + _SPACE * last.size + width > limit


def _width_of_first_word(line: Line) -> float:
    first = line.text.split(maxsplit=1)[0]
    return (line.right - line.left) * len(first) / len(line.text)


def lines_of_column(row: Sequence[Strip], column: int) -> list[Line]:
    """The parts of lines that make up one cell."""
    return [line for strip in row for line in strip[column]]


def narrowed(gaps: Sequence[Gap], row: Sequence[Line], least: float) -> list[Gap]:
    """What is left of the white gaps beside the words of one more row, where it is at least so wide."""
    left: list[Gap] = []
    for gap in gaps:
        low, high = gap
        for line in row:
            for word in words_of(line):
                if word.right <= low or word.left >= high:
                    continue
                low, high = (word.right, high) if word.left - low < high - word.right else (low, word.left)
        if high - low >= least:
            left.append((low, high))
    return left


def is_prose(column: Sequence[Line]) -> bool:
    """Whether a column is running text: long lines, most of them as wide as the column."""
    if len(column) < _PROSE_LINES:
        return False
    width = max(line.right for line in column) - min(line.left for line in column)
    full = sum(line.right - line.left >= _FULL * width for line in column)
    long = sum(len(line.text) for line in column) >= _PROSE_LENGTH * len(column)
    return long and 2 * full >= len(column)
