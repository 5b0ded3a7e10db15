"""Tables whose cells are drawn as boxes.

What belongs here: ruled lines that cross to a grid, sides of it that are not drawn, cells that reach over
several of its fields, and which text stands in which. What does not: tables with lines across alone, or with
none (`tables`).
"""

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from qa_pipeline.documents.pdf.drawing import Drawing
from qa_pipeline.documents.pdf.glyphs import Box
from qa_pipeline.documents.pdf.lines import Line, Word, part_of, words_of

_NEAR = 3.0
_NARROWEST = 12.0
_COVERED = 0.6
_MOST_RULES = 400
_MOST_FIELDS = 4_000

Places = list[float]


@dataclass(slots=True)
class GridCell:
    """A cell of a grid: its place, how far it reaches, and the parts of lines in it."""

    row: int
    column: int
    rows: int = 1
    columns: int = 1
    lines: list[Line] = field(default_factory=list)


@dataclass(slots=True)
class Grid:
    """A drawn table: its lines from the top and from the left, and its cells row by row.

    One that is `open` has a side that is not drawn.
    """

    heights: Places
    places: Places
    cells: list[GridCell]
    open: bool = False

    @property
    def box(self) -> Box:
        """What the outermost lines enclose."""
        return Box(self.places[0], self.heights[-1], self.places[-1], self.heights[0])


def find_grids(drawing: Drawing) -> list[Grid]:
    """Grids of at least two columns among the ruled lines of a page, from the top."""
    across, upright = joined(drawing.across, along=0), joined(drawing.upright, along=1)
    if not (2 <= len(across) <= _MOST_RULES and 1 <= len(upright) <= _MOST_RULES):
        return []
    grids = (_grid(rows, columns) for rows, columns in _crossing(across, upright))
    return sorted((grid for grid in grids if grid), key=lambda grid: (-grid.heights[0], grid.places[0]))


def joined(rules: Iterable[Box], along: int) -> list[Box]:
    """Lines that continue one another as one; `along` is 0 for lines across and 1 for upright ones."""
    other = 1 - along
    done: list[Box] = []
    for rule in sorted(rules, key=lambda rule: (round(rule[other] / _NEAR), rule[along])):
        last = done[-1] if done else None
        if last and abs(last[other] - rule[other]) <= _NEAR and rule[along] <= last[along + 2] + _NEAR:
            done[-1] = Box(
                min(last.left, rule.left), min(last.bottom, rule.bottom),
                max(last.right, rule.right), max(last.top, rule.top),
            )  # fmt: skip
        else:
            done.append(rule)
    return done


def _crossing(across: Sequence[Box], upright: Sequence[Box]) -> Iterator[tuple[list[Box], list[Box]]]:
    """Lines that hang together, directly or through others."""
    group_of = list(range(len(across) + len(upright)))

    def root(number: int) -> int:
        while group_of[number] != number:
            group_of[number] = number = group_of[group_of[number]]
        return number

    for number, row in enumerate(across):
        for place, column in enumerate(upright, len(across)):
            if _cross(row, column):
                group_of[root(place)] = root(number)
    groups: dict[int, tuple[list[Box], list[Box]]] = {}
    for number in range(len(group_of)):
        rows, columns = groups.setdefault(root(number), ([], []))
        if number < len(across):
            rows.append(across[number])
        else:
            columns.append(upright[number - len(across)])
    yield from groups.values()


def _cross(across: Box, upright: Box) -> bool:
    return (
        across.left - _NEAR <= upright.left
        and upright.right <= across.right + _NEAR
        and upright.bottom - _NEAR <= across.bottom
        and across.top <= upright.top + _NEAR
    )


def _grid(across: Sequence[Box], upright: Sequence[Box]) -> Grid | None:
    """Cells between the lines; a line that is missing between two fields makes them one cell."""
    if len(across) < 2 or not upright:
        return None
    rules, sides = _closed(across, upright)
    heights, lying = _at_places(rules, along=1)
    places, standing = _at_places(sides, along=0)
    heights, lying = heights[::-1], lying[::-1]
    rows, columns = len(heights) - 1, len(places) - 1
    if rows < 1 or columns < 2 or rows * columns > _MOST_FIELDS:
        return None
    below = [[_drawn(at, 0, *side) for side in pairwise(places)] for at in lying[1:]]
    aside = [[_drawn(at, 1, low, high) for at in standing[1:]] for high, low in pairwise(heights)]
    taken: set[tuple[int, int]] = set()
    cells = []
    for row in range(rows):
        for column in range(columns):
            if (row, column) not in taken:
                cell = _cell(row, column, aside, below)
                taken.update(_fields(cell))
                cells.append(cell)
    is_open = len(rules) + len(sides) > len(across) + len(upright)
    return Grid(heights, places, cells, is_open) if len(cells) > 1 else None


def _closed(across: Sequence[Box], upright: Sequence[Box]) -> tuple[list[Box], list[Box]]:
    """Lines of a grid with its open sides closed where the lines that cross them end."""
    left, right = min(rule.left for rule in across), max(rule.right for rule in across)
    bottom, top = min(rule.bottom for rule in upright), max(rule.top for rule in upright)
    sides = [Box(left, bottom, left, top), Box(right, bottom, right, top)]
    ends = [Box(left, top, right, top), Box(left, bottom, right, bottom)]
    ends = [end for end in ends if all(abs(end.top - rule.top) > _NARROWEST / 2 for rule in across)]
    sides = [side for side in sides if all(abs(side.left - rule.left) > _NARROWEST for rule in upright)]
    return [*across, *ends], [*upright, *sides]


def _fields(cell: GridCell) -> Iterator[tuple[int, int]]:
    for row in range(cell.row, cell.row + cell.rows):
        for column in range(cell.column, cell.column + cell.columns):
            yield row, column


def _cell(row: int, column: int, aside: list[list[bool]], below: list[list[bool]]) -> GridCell:
    """The cell that begins at a field, as far as no line ends it."""
    cell = GridCell(row, column)
    while column + cell.columns < len(aside[row]) and not aside[row][column + cell.columns - 1]:
        cell.columns += 1
    wide = range(column, column + cell.columns)
    while row + cell.rows < len(below) and not any(below[row + cell.rows - 1][place] for place in wide):
        cell.rows += 1
    return cell


def _at_places(rules: Sequence[Box], along: int) -> tuple[Places, list[list[Box]]]:
    """Distinct places of lines, those near each other as one, and the lines at each."""
    places: Places = []
    at: list[list[Box]] = []
    for rule in sorted(rules, key=lambda rule: rule[along] + rule[along + 2]):
        place = (rule[along] + rule[along + 2]) / 2
        if places and place - places[-1] <= _NEAR:
            at[-1].append(rule)
        else:
            places.append(place)
            at.append([rule])
    return places, at


def _drawn(rules: Sequence[Box], along: int, low: float, high: float) -> bool:
    """Whether the lines at a place cover the stretch between two others."""
    covered = sum(max(min(rule[along + 2], high) - max(rule[along], low), 0.0) for rule in rules)
    return covered >= _COVERED * (high - low)


def fill(grid: Grid, lines: Sequence[Line]) -> list[Line]:
    """Put the words of lines into the cells they stand in; returns what stands outside."""
    cells = {place: cell for cell in grid.cells for place in _fields(cell)}
    depths = [-height for height in grid.heights]
    outside: list[Line] = []
    for line in lines:
        row = bisect(depths, -(line.bottom + line.top) / 2) - 1
        if line.turned or not 0 <= row < len(depths) - 1:
            outside.append(line)
            continue
        for column, words in _by_field(words_of(line), grid.places):
            part = part_of(line, words) if line.words else line
            cell = cells.get((row, column))
            (cell.lines if cell else outside).append(part)
    return outside


def _by_field(words: Sequence[Word], places: Places) -> list[tuple[int, list[Word]]]:
    parts: list[tuple[int, list[Word]]] = []
    for word in words:
        column = bisect(places, (word.left + word.right) / 2) - 1
        if parts and parts[-1][0] == column:
            parts[-1][1].append(word)
        else:
            parts.append((column, [word]))
    return parts
