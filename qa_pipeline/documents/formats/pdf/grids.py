"""Tables whose cells are drawn as boxes, and columns of text with white gaps between them."""

import math
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise, product
from operator import attrgetter

from qa_pipeline.documents.formats.pdf.drawing import Drawing
from qa_pipeline.documents.formats.pdf.glyphs import Box, enclose
from qa_pipeline.documents.formats.pdf.lines import Line, Word, part_of, words_of

_NEAR = 3.0  # points: programs draw lines that meet with gaps and overlaps of about their thickness
_NARROWEST = 12.0  # points: the width of a column at least
_COVERED = 0.6  # of an edge: two fields are parted by a line with small gaps, not by a stub of one
_MOST_RULES = 400  # of a direction: all crossings are compared, and maps have thousands
_MOST_FIELDS = 4_000  # of a grid: graph paper and drawings have more


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
    """A drawn table with cells row by row."""

    heights: list[float]  # of the lines across, from the top
    sides: list[float]  # the positions of the upright lines, from the left
    cells: list[GridCell]

    def rows(self) -> list[list[GridCell]]:
        """Return the cells that begin in each row."""
        cells = {row: list(cells) for row, cells in groupby(self.cells, key=attrgetter("row"))}
        return [cells.get(row, []) for row in range(len(self.heights) - 1)]


def find_grids(drawing: Drawing) -> list[Grid]:
    """Return the grids among the ruled lines of a page, from the top; a frame alone has a single cell."""
    across, upright = join_rules(drawing.across, axis=0), join_rules(drawing.upright, axis=1)
    if not (2 <= len(across) <= _MOST_RULES and 1 <= len(upright) <= _MOST_RULES):
        return []
    grids = (_build_grid(*group) for group in _group_crossing(across, upright))
    return sorted((grid for grid in grids if grid), key=lambda grid: (-grid.heights[0], grid.sides[0]))


def join_rules(rules: Iterable[Box], axis: int) -> list[Box]:
    """Join lines that continue each other along an axis: 0 for lines across, 1 for upright lines."""
    sides = ("left", "right", "bottom") if axis == 0 else ("bottom", "top", "left")
    start, end, level = (attrgetter(side) for side in sides)
    joined: list[Box] = []
    # Parts of a line differ a little in level: rounding sorts most of them one after another, by start.
    for rule in sorted(rules, key=lambda rule: (round(level(rule) / _NEAR), start(rule))):
        last = joined[-1] if joined else None
        if last and abs(level(last) - level(rule)) <= _NEAR and start(rule) <= end(last) + _NEAR:
            joined[-1] = enclose([last, rule])
        else:
            joined.append(rule)
    return joined


def _group_crossing(across: Sequence[Box], upright: Sequence[Box]) -> Iterator[tuple[list[Box], list[Box]]]:
    """Yield groups of lines that crossings connect: the lines across and the upright lines of each."""
    groups_of_sides: list[set[Box]] = []  # the upright lines of each group
    for rule in across:
        crossed = {side for side in upright if _do_cross(rule, side)}
        if crossed:  # the line joins all groups that it crosses
            connected = [sides for sides in groups_of_sides if not sides.isdisjoint(crossed)]
            separate = [sides for sides in groups_of_sides if sides.isdisjoint(crossed)]
            groups_of_sides = [*separate, crossed.union(*connected)]
    for sides in groups_of_sides:
        yield [rule for rule in across if any(_do_cross(rule, side) for side in sides)], sorted(sides)


def _do_cross(across: Box, upright: Box) -> bool:
    is_within_width = across.left - _NEAR <= upright.left and upright.right <= across.right + _NEAR
    is_within_height = upright.bottom - _NEAR <= across.bottom and across.top <= upright.top + _NEAR
    return is_within_width and is_within_height


def _build_grid(across: Sequence[Box], upright: Sequence[Box]) -> Grid | None:
    """Return the grid of crossing lines; None if it has no fields, too many, or open fields at an end."""
    across_by_height, upright_by_side = _group_by_centre(across, axis=1), _group_by_centre(upright, axis=0)
    heights, sides = sorted(across_by_height, reverse=True), sorted(upright_by_side)  # from the top left
    row_count, column_count = len(heights) - 1, len(sides) - 1
    if row_count < 1 or column_count < 1 or row_count * column_count > _MOST_FIELDS:
        return None
    across_box, upright_box = enclose(across), enclose(upright)
    is_open_at_side = _overhangs(across_box, upright_box, axis=0)  # no upright line ends the lines across
    is_open_at_top_or_foot = _overhangs(upright_box, across_box, axis=1)
    if is_open_at_side or is_open_at_top_or_foot:
        return None
    line_below = [
        [_is_drawn(across_by_height[bottom], left, right, axis=0) for left, right in pairwise(sides)]
        for bottom in heights[1:]
    ]
    line_right = [
        [_is_drawn(upright_by_side[right], bottom, top, axis=1) for right in sides[1:]]
        for top, bottom in pairwise(heights)
    ]
    taken: set[tuple[int, int]] = set()  # the fields of the cells so far, which may span several
    cells = []
    for row, column in product(range(row_count), range(column_count)):
        if (row, column) not in taken:
            cell = _build_cell(row, column, line_right, line_below)
            taken.update(_fields_of(cell))
            cells.append(cell)
    return Grid(heights, sides, cells)


def _overhangs(box: Box, other: Box, axis: int) -> bool:
    """Return True if a box reaches beyond another at an end of an axis, by the width of a column at least."""
    return box[axis] <= other[axis] - _NARROWEST or other[axis + 2] + _NARROWEST <= box[axis + 2]


def _fields_of(cell: GridCell) -> Iterator[tuple[int, int]]:
    return product(range(cell.row, cell.row + cell.rows), range(cell.column, cell.column + cell.columns))


def _build_cell(
    row: int, column: int, line_right: list[list[bool]], line_below: list[list[bool]]
) -> GridCell:
    """Return the cell that begins in a field and ends at the next drawn lines.

    `line_right[row][column]` is True if a line is drawn right of a field, `line_below[row][column]` below it.
    """
    cell = GridCell(row, column)
    while column + cell.columns < len(line_right[row]) and not line_right[row][column + cell.columns - 1]:
        cell.columns += 1
    spanned = slice(column, column + cell.columns)
    while row + cell.rows < len(line_below) and not any(line_below[row + cell.rows - 1][spanned]):
        cell.rows += 1
    return cell


def _group_by_centre(ruling_lines: Sequence[Box], axis: int) -> dict[float, list[Box]]:
    """Return groups of lines close to one another on an axis (0 for x, 1 for y), by their lowest centre."""
    groups: dict[float, list[Box]] = {}
    lowest = -math.inf  # the centre of the first line in the last group
    for line in sorted(ruling_lines, key=lambda line: line[axis] + line[axis + 2]):
        centre = (line[axis] + line[axis + 2]) / 2
        if centre - lowest > _NEAR:
            lowest = centre
            groups[lowest] = []
        groups[lowest].append(line)
    return groups


def _is_drawn(rules: Sequence[Box], start: float, end: float, *, axis: int) -> bool:
    """Return True if lines along an axis cover most of a field's edge from `start` to `end`."""
    covered = sum(max(min(rule[axis + 2], end) - max(rule[axis], start), 0.0) for rule in rules)
    return covered >= _COVERED * (end - start)


def fill(grid: Grid, lines: Sequence[Line]) -> list[Line]:
    """Put the words of lines into their cells; returns the lines and parts of lines outside."""
    cells = {row_and_column: cell for cell in grid.cells for row_and_column in _fields_of(cell)}
    depths = [-height for height in grid.heights]  # ascending, for `bisect`
    outside: list[Line] = []
    for line in lines:
        row = bisect(depths, -line.middle) - 1
        if not 0 <= row < len(depths) - 1:
            outside.append(line)
            continue
        for column, words in _group_by_column(words_of(line), grid.sides):
            cell = cells.get((row, column - 1))  # column 0 is left of the grid
            (cell.lines if cell else outside).append(part_of(line, words))
    return outside


def _group_by_column(words: Sequence[Word], borders: Sequence[float]) -> list[tuple[int, list[Word]]]:
    """Group neighbouring words by column; column 0 is left of the first border."""
    grouped = groupby(words, key=lambda word: bisect(borders, (word.left + word.right) / 2))
    return [(column, list(in_column)) for column, in_column in grouped]


Gap = tuple[float, float]  # the start and the end of the white between two columns
Strip = list[list[Line]]  # a printed row of a table: for each column the parts of lines in it, or []

_SPACE = 0.28  # of the type size: the width of a blank
_CROSSING = 0.1  # of the rows: a heading over columns or an overlong cell may cross a gap, text must not
_LEAST_GAP = 0.5  # of the type size: about two blanks of a text
_FEW = 3  # rows, in which blanks may be above one another by chance, so that gaps must be wider
_LEAST_GAP_OF_FEW, _LEAST_GAP_OF_ONE = 0.8, 1.0  # of the type size, for few rows and for a single row


def gaps_between(rows: Sequence[Sequence[Line]], size: float) -> list[Gap]:
    """Return the white gaps that run through the rows; the more rows, the narrower a gap may be."""
    least_gap = _LEAST_GAP if len(rows) > _FEW else _LEAST_GAP_OF_FEW
    if len(rows) == 1:
        least_gap = _LEAST_GAP_OF_ONE
    words = [word for row in rows for line in row for word in words_of(line)]
    # From left to right, 1 where a word begins and -1 where it ends; their sum is the number of words there.
    edges = sorted([*((word.left, 1) for word in words), *((word.right, -1) for word in words)])
    gaps: list[Gap] = []
    most_covering = int(_CROSSING * len(rows))
    covering = 0  # words over the stretch from `position` to `next_position`
    for (position, change), (next_position, _) in pairwise(edges):
        covering += change
        if covering > most_covering or next_position <= position:
            continue
        if gaps and gaps[-1][1] == position:
            gaps[-1] = (gaps[-1][0], next_position)
        else:
            gaps.append((position, next_position))
    # A gap at the left or right edge is a margin, into which a heading or overlong cell reaches.
    left_edge, right_edge = edges[0][0], edges[-1][0]
    inner_gaps = [(start, end) for start, end in gaps if left_edge < start and end < right_edge]
    return [(start, end) for start, end in inner_gaps if end - start >= least_gap * size]


def strips_of(rows: Sequence[Sequence[Line]], gaps: Sequence[Gap]) -> list[Strip]:
    """Cut the lines of each row where the gaps between columns are."""
    middles = [(start + end) / 2 for start, end in gaps]
    strips: list[Strip] = []
    for row in rows:
        strip: Strip = [[] for _ in range(len(gaps) + 1)]
        for line in row:
            for column, words in _group_by_column(words_of(line), middles):
                strip[column].append(part_of(line, words))
        strips.append(strip)
    return strips


def rows_of_cells(strips: Sequence[Strip]) -> list[list[Strip]]:
    """Group strips into rows of cells; a row begins where the line above had room for the next word.

    Pump    moves water to the
            boiler and back        goes on: `boiler` had no room behind `the`
    Valve   stops it               a new row: `stops` had room behind `back`
    """
    # If all strips have text in the same columns, no cell wraps, as the cells of a row seldom wrap together.
    filled_patterns = {tuple(map(bool, strip)) for strip in strips}  # for each column, True if it has text
    if len(filled_patterns) <= 1:
        return [[strip] for strip in strips]
    right_edges = [  # infinite for a column of single words, since these never wrap
        max(line.right for line in column) if any(" " in line.text for line in column) else math.inf
        for column in columns_of(strips)
    ]
    # The key column is the first with text in most strips: a strip without text there begins no row.
    filled_counts = [sum(map(bool, column)) for column in zip(*strips, strict=True)]
    mostly_filled = (column for column, count in enumerate(filled_counts) if 2 * count >= len(strips))
    key_column = next(mostly_filled, 0)
    rows = [[strips[0]]]
    for strip in strips[1:]:
        first, above = rows[-1][0], rows[-1][-1]
        columns = zip(above, strip, right_edges, strict=True)
        cells_go_on = all(_goes_on(lines, further, edge) for lines, further, edge in columns if further)
        # Text in every column, as in the row's first strip, begins a row; but two cells may wrap together.
        is_full = len(strip) > 2 and all(strip) and all(first)
        if is_full or (strip[key_column] and not cells_go_on):
            rows.append([strip])
        else:
            rows[-1].append(strip)
    return rows


def _goes_on(lines: Sequence[Line], further: Sequence[Line], right_edge: float) -> bool:
    """Return True if lines of a cell end with a broken word, or without room for the next word."""
    if not lines:
        return False
    last, word = lines[-1], words_of(further[0])[0]
    return last.broken or last.right + _SPACE * last.size + word.right - word.left > right_edge


def columns_of(strips: Sequence[Strip]) -> list[list[Line]]:
    """Return the lines in each column of the strips; for the strips of a row, these are its cells."""
    return [[line for part in column for line in part] for column in zip(*strips, strict=True)]


def narrow_gaps(gaps: Sequence[Gap], row: Sequence[Line], size: float) -> list[Gap]:
    """Return the white gaps that the words of a further row leave, if they are wide enough."""
    words = [word for line in row for word in words_of(line)]
    remaining: list[Gap] = []
    for start, end in gaps:
        for word in words:
            if word.left < end and word.right > start:  # the word narrows the gap from its nearer side
                is_at_start = word.left - start < end - word.right
                start, end = (word.right, end) if is_at_start else (start, word.left)  # noqa: PLW2901
        if end - start >= _LEAST_GAP * size:
            remaining.append((start, end))
    return remaining
