"""Tables whose cells are drawn as boxes."""

import math
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from qa_pipeline.documents.formats.pdf.drawing import Drawing
from qa_pipeline.documents.formats.pdf.glyphs import Box, enclose
from qa_pipeline.documents.formats.pdf.lines import Line, Word, part_of, words_of

_NEAR = 3.0  # points: programs draw lines that meet with gaps and overlaps of about their thickness
_NARROWEST = 12.0  # points: a lone line closer to a side is that side, as no column is narrower
_COVERED = 0.6  # of an edge: two fields are parted by a line with small gaps, not by a stub of one
_MOST_RULES = 400  # of one direction: comparing all crossings takes their product, and maps have thousands
_MOST_FIELDS = 4_000  # of one grid: graph paper and drawings have more, tables that people read have not

Places = list[float]


@dataclass(slots=True)
class GridCell:
    """A cell of a grid: its row and column, its spans, and the parts of lines in it."""

    row: int
    column: int
    rows: int = 1
    columns: int = 1
    lines: list[Line] = field(default_factory=list)


@dataclass(slots=True)
class Grid:
    """A drawn table: lines from the top and the left, cells row by row; an `open` grid lacks a side."""

    heights: Places
    places: Places
    cells: list[GridCell]
    open: bool = False


def find_grids(drawing: Drawing) -> list[Grid]:
    """Return the grids among the ruled lines of a page, from the top; a frame alone has a single cell."""
    across, upright = join_rules(drawing.across, along=0), join_rules(drawing.upright, along=1)
    if not (2 <= len(across) <= _MOST_RULES and 1 <= len(upright) <= _MOST_RULES):
        return []
    grids = (_build_grid(rows, columns) for rows, columns in _group_crossing(across, upright))
    return sorted((grid for grid in grids if grid), key=lambda grid: (-grid.heights[0], grid.places[0]))


def join_rules(rules: Iterable[Box], along: int) -> list[Box]:
    """Join lines that continue each other; `along` is 0 for across, 1 for upright."""
    other = 1 - along
    joined: list[Box] = []
    for rule in sorted(rules, key=lambda rule: (round(rule[other] / _NEAR), rule[along])):
        last = joined[-1] if joined else None
        if last and abs(last[other] - rule[other]) <= _NEAR and rule[along] <= last[along + 2] + _NEAR:
            joined[-1] = enclose([last, rule])
        else:
            joined.append(rule)
    return joined


def _group_crossing(across: Sequence[Box], upright: Sequence[Box]) -> Iterator[tuple[list[Box], list[Box]]]:
    groups: list[tuple[set[int], set[int]]] = []
    for number, row in enumerate(across):
        rows, columns = {number}, {place for place, side in enumerate(upright) if _do_cross(row, side)}
        apart = []
        for group in groups:
            if group[1] & columns:
                rows, columns = rows | group[0], columns | group[1]
            else:
                apart.append(group)
        groups = [*apart, (rows, columns)]
    for rows, columns in groups:
        yield [across[number] for number in sorted(rows)], [upright[number] for number in sorted(columns)]


def _do_cross(across: Box, upright: Box) -> bool:
    return (
        across.left - _NEAR <= upright.left
        and upright.right <= across.right + _NEAR
        and upright.bottom - _NEAR <= across.bottom
        and across.top <= upright.top + _NEAR
    )


def _build_grid(across: Sequence[Box], upright: Sequence[Box]) -> Grid | None:
    if len(across) < 2 or not upright:
        return None
    rules, sides = _close_sides(across, upright)
    heights, lying = _group_by_centre(rules, axis=1)
    places, standing = _group_by_centre(sides, axis=0)
    heights, lying = heights[::-1], lying[::-1]
    rows, columns = len(heights) - 1, len(places) - 1
    if rows < 1 or columns < 1 or rows * columns > _MOST_FIELDS:
        return None
    below = [[_is_drawn(at, 0, *side) for side in pairwise(places)] for at in lying[1:]]
    aside = [[_is_drawn(at, 1, low, high) for at in standing[1:]] for high, low in pairwise(heights)]
    taken: set[tuple[int, int]] = set()
    cells = []
    for row in range(rows):
        for column in range(columns):
            if (row, column) not in taken:
                cell = _build_cell(row, column, aside, below)
                taken.update(_fields_of(cell))
                cells.append(cell)
    is_open = len(rules) + len(sides) > len(across) + len(upright)
    return Grid(heights, places, cells, is_open)


def _close_sides(across: Sequence[Box], upright: Sequence[Box]) -> tuple[list[Box], list[Box]]:
    first, second = min(rule.left for rule in across), max(rule.right for rule in across)
    bottom, top = min(rule.bottom for rule in upright), max(rule.top for rule in upright)
    sides = [Box(first, bottom, first, top), Box(second, bottom, second, top)]
    ends = [Box(first, top, second, top), Box(first, bottom, second, bottom)]
    ends = [end for end in ends if all(abs(end.top - rule.top) > _NARROWEST / 2 for rule in across)]
    sides = [side for side in sides if all(abs(side.left - rule.left) > _NARROWEST for rule in upright)]
    return [*across, *ends], [*upright, *sides]


def _fields_of(cell: GridCell) -> Iterator[tuple[int, int]]:
    for row in range(cell.row, cell.row + cell.rows):
        for column in range(cell.column, cell.column + cell.columns):
            yield row, column


def _build_cell(row: int, column: int, aside: list[list[bool]], below: list[list[bool]]) -> GridCell:
    cell = GridCell(row, column)
    while column + cell.columns < len(aside[row]) and not aside[row][column + cell.columns - 1]:
        cell.columns += 1
    wide = range(column, column + cell.columns)
    while row + cell.rows < len(below) and not any(below[row + cell.rows - 1][place] for place in wide):
        cell.rows += 1
    return cell


def _group_by_centre(ruling_lines: Sequence[Box], axis: int) -> tuple[Places, list[list[Box]]]:
    """Group lines whose centres on an axis (0 for x, 1 for y) are close; return centres and groups."""

    def centre(line: Box) -> float:
        return (line[axis] + line[axis + 2]) / 2

    centres: Places = []
    groups: list[list[Box]] = []
    for line in sorted(ruling_lines, key=centre):
        if centres and centre(line) - centres[-1] <= _NEAR:
            groups[-1].append(line)
        else:
            centres.append(centre(line))
            groups.append([line])
    return centres, groups


def _is_drawn(rules: Sequence[Box], along: int, low: float, high: float) -> bool:
    covered = sum(max(min(rule[along + 2], high) - max(rule[along], low), 0.0) for rule in rules)
    return covered >= _COVERED * (high - low)


def fill(grid: Grid, lines: Sequence[Line]) -> list[Line]:
    """Put the words of lines into their cells; returns the lines outside."""
    cells = {place: cell for cell in grid.cells for place in _fields_of(cell)}
    depths = [-height for height in grid.heights]
    outside: list[Line] = []
    for line in lines:
        row = bisect(depths, -(line.bottom + line.top) / 2) - 1
        if line.turned or not 0 <= row < len(depths) - 1:
            outside.append(line)
            continue
        for column, words in _by_column(words_of(line), grid.places):
            cell = cells.get((row, column - 1))
            (cell.lines if cell else outside).append(part_of(line, words))
    return outside


def _by_column(words: Sequence[Word], places: Sequence[float]) -> list[tuple[int, list[Word]]]:
    by_place = groupby(words, key=lambda word: bisect(places, (word.left + word.right) / 2))
    return [(column, list(inside)) for column, inside in by_place]


Gap = tuple[float, float]
"""The begin and the end of the white between two columns."""
Strip = list[list[Line]]
"""A printed row of a table: for each column its parts of lines."""

_SPACE = 0.28
"""Width of a blank, in parts of the type size."""
_CROSSING = 0.1  # of the rows: a heading over columns or an overlong cell may cross a gap, text must not
_ROW_STEP = 1.3  # of the smallest step of lines: a little more space than within a cell begins a row
_FEW = 3  # rows: in so few of them blanks of a text may be above one another by chance
_PROSE_LENGTH = 30  # characters of a line on average: cells are shorter, lines of a column of text longer
_PROSE_LINES = 4  # fewer lines may be as wide as their column by chance
_FULL = 0.8  # of the width of a column: how far a line of text reaches that was broken for want of room


def gaps_between(rows: Sequence[Sequence[Line]], size: float) -> list[Gap]:
    """Return the white gaps that run through the rows; the more rows, the narrower a gap may be."""
    least = size * (1.0 if len(rows) == 1 else 0.8 if len(rows) <= _FEW else 0.5)
    words = [word for row in rows for line in row for word in words_of(line)]
    edges = sorted([*((word.left, 1) for word in words), *((word.right, -1) for word in words)])
    gaps: list[Gap] = []
    covered = 0
    for (place, change), (following, _) in pairwise(edges):
        covered += change
        if covered > int(_CROSSING * len(rows)) or following <= place:
            continue
        if gaps and gaps[-1][1] == place:
            gaps[-1] = (gaps[-1][0], following)
        else:
            gaps.append((place, following))
    first, last = edges[0][0], edges[-1][0]  # between which a few lines may reach into the margin
    return [gap for gap in gaps if first < gap[0] and gap[1] < last and gap[1] - gap[0] >= least]


def strips_of(rows: Sequence[Sequence[Line]], gaps: Sequence[Gap]) -> list[Strip]:
    """Cut the lines of each row where the gaps between columns are."""
    middles = [(gap[0] + gap[1]) / 2 for gap in gaps]
    strips: list[Strip] = []
    for row in rows:
        strip: Strip = [[] for _ in range(len(gaps) + 1)]
        for line in row:
            for column, words in _by_column(words_of(line), middles):
                strip[column].append(part_of(line, words))
        strips.append(strip)
    return strips


def rows_of_cells(strips: Sequence[Strip]) -> list[list[Strip]]:
    """Group strips into rows of cells.

    A row begins where lines are farther apart, or where the line above had room for the next word.
    """
    if len({tuple(map(bool, strip)) for strip in strips}) < 2:
        return [[strip] for strip in strips]  # cells of more than one line seldom are all equally long
    steps = sorted(_base_of(above) - _base_of(below) for above, below in pairwise(strips))
    line_step = steps[len(steps) // 5]  # the 20th percentile ignores a few unusually small steps
    right_edges = [  # infinite for a column of single words, since these never wrap
        max(line.right for line in column) if any(" " in line.text for line in column) else math.inf
        for column in columns_of(strips)
    ]
    counts = [sum(map(bool, column)) for column in zip(*strips, strict=True)]
    key_column = next((number for number, count in enumerate(counts) if 2 * count >= len(strips)), 0)
    rows: list[list[Strip]] = []
    for index, strip in enumerate(strips):
        is_apart = index > 0 and _base_of(strips[index - 1]) - _base_of(strip) > _ROW_STEP * line_step
        if rows and not is_apart and not _begins_row(rows[-1], strip, right_edges, key_column):
            rows[-1].append(strip)
        else:
            rows.append([strip])
    return rows


def _base_of(strip: Strip) -> float:
    return min(line.bottom for column in strip for line in column)


def _begins_row(row: Sequence[Strip], strip: Strip, limits: Sequence[float], key: int) -> bool:
    first, above = row[0], row[-1]
    filled = [column for column, lines in enumerate(strip) if lines]
    if len(filled) == len(strip) > 2 and all(first):
        return True
    for column in filled:
        last = above[column][-1] if above[column] else None
        word = words_of(strip[column][0])[0]
        had_no_room = last and last.right + _SPACE * last.size + word.right - word.left > limits[column]
        if not (last and (last.broken or had_no_room)):
            return bool(strip[key])
    return False


def columns_of(strips: Sequence[Strip]) -> list[list[Line]]:
    """Return the parts of lines in each column: of the strips of a row the cells, of a table its columns."""
    return [[line for part in column for line in part] for column in zip(*strips, strict=True)]


def narrow_gaps(gaps: Sequence[Gap], row: Sequence[Line], least: float) -> list[Gap]:
    """Return the white gaps that the words of a further row leave, if they are wide enough."""
    remaining: list[Gap] = []
    for gap in gaps:
        low, high = gap
        for word in (word for line in row for word in words_of(line)):
            if word.right > low and word.left < high:
                low, high = (word.right, high) if word.left - low < high - word.right else (low, word.left)
        if high - low >= least:
            remaining.append((low, high))
    return remaining


def is_prose(column: Sequence[Line]) -> bool:
    """Return True if a column is running text: long lines, most of them as wide as the column."""
    if len(column) < _PROSE_LINES:
        return False
    width = max(line.right for line in column) - min(line.left for line in column)
    full = sum(line.right - line.left >= _FULL * width for line in column)
    long = sum(len(line.text) for line in column) >= _PROSE_LENGTH * len(column)
    return long and 2 * full >= len(column)
