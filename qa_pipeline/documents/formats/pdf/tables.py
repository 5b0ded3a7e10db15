"""Tables of a PDF page between ruled lines, a line of text for each row."""

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from qa_pipeline.documents.formats.pdf.drawing import Drawing
from qa_pipeline.documents.formats.pdf.glyphs import Box, enclose
from qa_pipeline.documents.formats.pdf.grids import (
    Gap,
    Grid,
    GridCell,
    Strip,
    columns_of,
    fill,
    find_grids,
    gaps_between,
    is_prose,
    join_rules,
    narrow_gaps,
    rows_of_cells,
    strips_of,
)
from qa_pipeline.documents.formats.pdf.lines import Line, Spelling, join_text, part_of, rows_of
from qa_pipeline.documents.formats.rows import Cell, names_columns, render_table
from qa_pipeline.text.doubt import SIGNS

_NUMBER = re.compile(r"^[^\w\s]?\s?\d[\d.,:/\s%+–-]*[^\W\d_]{0,3}[%‰°)]?$")

_LONGEST_NAME = 5  # words of a name of a column; what is longer is mostly text taken for one

Row = list[Line]
"""Lines side by side, from left to right."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table on a page: its rows as text, its box, and its offset in the file.

    `unused` are names of empty columns, `names` the header rows of a drawn table, `places` the lines between
    its columns.
    """

    rows: Sequence[str]
    page: int
    box: Box
    start: int
    unused: Sequence[str] = ()
    names: Sequence[Sequence[Cell]] = ()
    places: Sequence[float] = ()


def table_of(
    header: Sequence[Row], strips: Sequence[Sequence[Strip]], gaps: Sequence[Gap], spelling: Spelling
) -> Table:
    """Return a table whose columns white gaps part; a single row or long names put it in doubt."""
    rows = [columns_of(row) for row in strips]
    printed = strips_of(header, gaps)
    texts = [[" ".join(part.text for part in column) for column in strip] for strip in printed]
    names_columns = not texts[0][0].endswith(":")  # else it names the rest of its row
    cells = [
        *([Cell(text, header=names_columns) for text in row] for row in texts),
        *([Cell(join_text(cell, spelling)) for cell in row] for row in rows),
    ]
    lines = [line for row in (*header, *(cell for row in rows for cell in row)) for line in row]
    table = _write_table(cells, lines)
    names = [text for row in texts for text in row if names_columns]
    if len(strips) > 1 and all(len(name.split()) <= _LONGEST_NAME for name in names):
        return table
    return replace(table, rows=[row + SIGNS["table"] for row in table.rows])


def _write_table(cells: Sequence[Sequence[Cell]], lines: Sequence[Line]) -> Table:
    rows, unused = render_table(cells)
    box = enclose(line[2:6] for line in lines)
    return Table(rows, lines[0].page, box, min(line.start for line in lines), unused)


def _mark_header(rows: Sequence[Sequence[Cell]], bold: Sequence[bool]) -> list[list[Cell]]:
    """Return the rows with the header marked: bold rows at the top, or a row that reads like names."""
    titles = len(list(takewhile(lambda row: len(row) == 1, rows[:-1])))
    count = len(list(takewhile(bool, bold)))
    if not titles < count < len(rows):
        names, *rest = [[cell.text for cell in row] for row in rows[titles:]]
        no_corner = len(names) > 2 and not names[0] and all(names[1:]) and all(row[0] for row in rest)
        count = titles + 1 if no_corner or names_columns(names, rest) else 0
    header = [[replace(cell, header=True) for cell in row] for row in rows[:count]]
    return [*header, *(list(row) for row in rows[count:])]


def pieces_of(line: Line, gap: float) -> list[Line]:
    """Return a line cut where words are farther apart than `gap`."""
    if not line.words:
        return [line]
    groups = [[line.words[0]]]
    for word in line.words[1:]:
        if word.left - groups[-1][-1].right > gap:
            groups.append([])
        groups[-1].append(word)
    return [part_of(line, words) for words in groups] if len(groups) > 1 else [line]


_MOST_AROUND = 3  # lines above or below a table that goes on over a page break: head, foot and page number
_SAME_SIDE = 4.0  # points: lines of one table end alike, but for the thickness of a frame
_DOUBLE_RULE = 4.0  # points: two lines this close are one double line, with no row between them
_MOST_RULES = 400  # lines across on a page: each is compared with all groups, and drawings have thousands
_MOST_STACKS = 40  # tables of a page: each looks through all lines of the page
_MOST_HEADER_ROWS = 5  # more rows between two lines are a table of their own and head none below
_WIDEST_STEP = 2.6  # of the type size: a row farther away does not belong to the table
_LINED_ROWS = 3  # rows of boxes that show that lines part the rows; fewer may be a frame and a header
_WORDS_A_LINE = 3  # of running text; cells that are wrapped in narrow columns have fewer
_MOST_FRAMED = 15  # lines in a box beside another; a frame around a column of a page holds more


def ruled_tables(
    lines: Sequence[Line], drawing: Drawing, spelling: Spelling, above: Table | None = None
) -> tuple[list[Table], list[list[Line]], list[Line]]:
    """Return the tables in ruled lines, the texts in frames, and the other lines of the page.

    `above` is the table at the end of the page before, which may go on.
    """
    tables: list[Table] = []
    framed: list[list[Line]] = []
    remaining = list(lines)
    grids = find_grids(drawing)
    for grid in grids:
        frames, others = _find_frames(grid, remaining) if _has_frames(grid, grids) else ([], [])
        if frames:
            framed, remaining = [*framed, *frames], others
            continue
        is_on_top = sum(line.bottom > grid.heights[0] for line in lines) <= _MOST_AROUND
        table, remaining = _read_grid(grid, remaining, spelling, above if is_on_top else None)
        tables += table
    for rules in stacked_rules(drawing.across):
        stacked, remaining = _Stack(rules, remaining).tables(spelling)
        tables += stacked
    return tables, framed, remaining


def _has_frames(grid: Grid, grids: Sequence[Grid]) -> bool:
    if len(grid.heights) != 2:
        return False
    middle = sum(grid.heights) / 2
    return len(grid.cells) > 1 or any(
        other is not grid and len(other.heights) == 2 and other.heights[0] > middle > other.heights[1]
        for other in grids
    )


def _find_frames(grid: Grid, lines: list[Line]) -> tuple[list[list[Line]], list[Line]]:
    outside = fill(grid, lines)
    frames = [list(cell.lines) for cell in grid.cells if cell.lines]
    for cell in grid.cells:
        cell.lines = []
    several = [frame for frame in frames if len(frame) > 1]
    return (frames, outside) if several and all(map(_is_running_text, several)) else ([], lines)


def _is_running_text(lines: Sequence[Line]) -> bool:
    words = sum(len(line.text.split()) for line in lines)
    goes_on = (below.text[:1].islower() and above.text[-1:].isalnum() for above, below in pairwise(lines))
    return len(lines) <= _MOST_FRAMED and words >= _WORDS_A_LINE * len(lines) and any(goes_on)


def stacked_rules(rules: Sequence[Box]) -> list[list[Box]]:
    """Return the lines across that begin and end alike, from the top, for pairs of sides with several."""
    across = join_rules(rules, along=0)
    if not 2 <= len(across) <= _MOST_RULES:
        return []
    groups: list[list[Box]] = []
    for rule in sorted(across, key=lambda rule: (-rule.top, rule.left)):
        for group in groups:
            if abs(group[0].left - rule.left) < _SAME_SIDE and abs(group[0].right - rule.right) < _SAME_SIDE:
                if group[-1].bottom - rule.top > _DOUBLE_RULE:
                    group.append(rule)
                break
        else:
            groups.append([rule])
    return [group for group in groups if len(group) > 1][:_MOST_STACKS]


def table_at_end(tables: Sequence[Table], outside: Sequence[Line]) -> Table | None:
    """Return the drawn table with names at the end of a page; `outside` are lines outside tables."""
    drawn = [table for table in tables if table.names]
    last = min(drawn, key=lambda table: table.box.bottom, default=None)
    if last is None or sum(line.top < last.box.bottom for line in outside) > _MOST_AROUND:
        return None
    return last


def _goes_on(above: Table, grid: Grid) -> bool:
    return len(above.places) == len(grid.places) and all(
        abs(first - second) <= _SAME_SIDE for first, second in zip(above.places, grid.places, strict=True)
    )


def _read_grid(
    grid: Grid, lines: list[Line], spelling: Spelling, above: Table | None
) -> tuple[list[Table], list[Line]]:
    outside = fill(grid, lines)
    filled = [cell for cell in grid.cells if cell.lines]
    if len({cell.column for cell in filled}) < 2 or (grid.open and _is_page(filled)):
        return [], lines
    rows: list[list[GridCell]] = [[] for _ in range(len(grid.heights) - 1)]
    for cell in grid.cells:
        rows[cell.row].append(cell)
    strips = [_strips_of_boxes(row) for row in rows]
    pairs = zip(rows, strips, strict=True)
    if len(rows) < _LINED_ROWS:  # upright lines alone part the columns
        parted = list(map(rows_of_cells, strips))
    else:
        parted = [[[strip] for strip in part] if _has_numbers(row, part) else [] for row, part in pairs]
        if max(map(len, parted)) < _LINED_ROWS:
            parted = [[] for _ in rows]
    cells: list[list[Cell]] = []
    bold: list[bool] = []
    for row, parts in zip(rows, parted, strict=True):
        for texts in map(columns_of, parts) if parts else [[cell.lines for cell in row]]:
            cells.append(
                [
                    Cell(join_text(text, spelling), columns=box.columns, rows=box.rows)
                    for box, text in zip(row, texts, strict=True)
                ]
            )
            bold.append(all(line.bold for text in texts for line in text))
    while all(not cell.text and cell.rows == 1 for cell in cells[0]):  # a sliver at the edge of a page
        del cells[0], bold[0]
    marked = _mark_header(cells, bold)
    names = list(takewhile(lambda row: all(cell.header for cell in row), marked))
    printed = [line for cell in filled for line in cell.lines]
    if above is not None and _goes_on(above, grid) and not (bold[0] or names == above.names):
        table = replace(_write_table([*above.names, *cells], printed), unused=(), names=above.names)
    else:
        table = replace(_write_table(marked, printed), names=names)
    return [replace(table, places=grid.places)], outside


def _is_page(cells: Sequence[GridCell]) -> bool:
    columns: dict[int, list[Line]] = defaultdict(list)
    for cell in cells:
        columns[cell.column] += cell.lines
    shared_rows = sum(count > 1 for count in Counter(cell.row for cell in cells).values())
    return shared_rows < 2 or all(map(is_prose, columns.values()))


def _strips_of_boxes(row: Sequence[GridCell]) -> list[Strip]:
    if any(cell.rows > 1 for cell in row):
        return []
    columns = {id(line): place for place, cell in enumerate(row) for line in cell.lines}
    strips: list[Strip] = []
    for printed in rows_of([line for cell in row for line in cell.lines]):
        strips.append([[] for _ in row])
        for line in printed:
            strips[-1][columns[id(line)]].append(line)
    return strips


def _has_numbers(row: Sequence[GridCell], strips: Sequence[Strip]) -> bool:
    """Return True if a column has a number in each row that is printed between two lines."""
    full = (cell.lines for cell in row if len(cell.lines) == len(strips))
    return any(all(_NUMBER.match(line.text) for line in lines) for lines in full)


class _Stack:
    """Lines across that begin and end alike, from the top, and the text between and below them."""

    def __init__(self, rules: Sequence[Box], lines: Sequence[Line]) -> None:
        self.left, self.right = rules[0].left, rules[0].right
        self.lines = lines
        self.taken: set[int] = set()
        self.zones: list[list[Row]] = [[] for _ in range(len(rules) + 1)]
        depths = [-rule.bottom for rule in rules]
        inside = (line for line in lines if line.left < self.right and line.right > self.left)
        for row in rows_of([line for line in inside if not line.turned]):
            self.zones[bisect(depths, -(row[0].bottom + row[0].top) / 2)].append(row)

    def tables(self, spelling: Spelling) -> tuple[list[Table], list[Line]]:
        """Return the tables between the lines, and the remaining lines of text."""
        tables: list[Table] = []
        for first, last in self._tabular():
            header, bands = self._parts(first, last)
            if not header:
                continue
            tables.append(self._table(header, bands, spelling))
            self.taken.update(id(line) for band in (header, *bands) for row in band for line in row)
        return tables, [line for line in self.lines if id(line) not in self.taken]

    def _parts(self, first: int, last: int) -> tuple[list[Row], list[list[Row]]]:
        """Return the header of a table, and its other rows by the lines they are between."""
        bands = self.zones[first:last]
        rows = [row for band in bands for row in band]
        above = self._going_on(rows, self.zones[first - 1][::-1], full=True)[::-1]
        header_alone = len(bands) == 1 and len(rows) <= _MOST_HEADER_ROWS and not above
        below = self._going_on(rows, self.zones[last], full=not header_alone)
        if above:
            return above, [*bands, below] if below else bands
        if len(bands) > 1 or below:
            return bands[0], [*bands[1:], below] if below else bands[1:]
        return [], bands

    def _tabular(self) -> list[tuple[int, int]]:
        runs: list[tuple[int, int]] = []
        for place in range(1, len(self.zones) - 1):
            if not self._gaps(place, place + 1):
                continue
            if runs and runs[-1][1] == place and self._gaps(runs[-1][0], place + 1):
                runs[-1] = (runs[-1][0], place + 1)
            else:
                runs.append((place, place + 1))
        return runs

    def _gaps(self, first: int, last: int) -> list[Gap]:
        rows = [row for zone in self.zones[first:last] for row in zone]
        if not rows or any(line.left < self.left - _SAME_SIDE for row in rows for line in row):
            return []
        return gaps_between(rows, _size_of(rows))

    def _going_on(self, rows: Sequence[Row], beyond: Sequence[Row], *, full: bool) -> list[Row]:
        """Return the rows beyond the first or last line that go on in a table's columns, nearest first.

        With `full`, the first of them must have text in every column.
        """
        size = _size_of(rows)
        gaps = gaps_between(rows, size)
        further: list[Row] = []
        last = min(rows, key=lambda row: abs(row[0].bottom - beyond[0][0].bottom)) if beyond else []
        for row in beyond:
            remaining = narrow_gaps(gaps, row, 0.5 * size)
            apart = abs(last[0].bottom - row[0].bottom) > _WIDEST_STEP * size
            outside = row[0].left < self.left - _SAME_SIDE or id(row[0]) in self.taken
            if apart or outside or len(remaining) < len(gaps):
                break
            if full and not further and not all(strips_of([row], gaps)[0][1:]):
                break
            gaps, last = remaining, row
            further.append(row)
        return further

    def _table(self, header: Sequence[Row], bands: Sequence[Sequence[Row]], spelling: Spelling) -> Table:
        body = [row for band in bands for row in band]
        gaps = gaps_between([*header, *body], _size_of(body))
        cells = [row for band in bands for row in rows_of_cells(strips_of(band, gaps))]
        return table_of(header, cells, gaps, spelling)


def _size_of(rows: Sequence[Row]) -> float:
    return Counter(line.size for row in rows for line in row).most_common(1)[0][0]
