"""Tables of a PDF page between ruled lines, a line of text for each row."""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from qa_pipeline.documents.formats.pdf import grids
from qa_pipeline.documents.formats.pdf.drawing import Drawing
from qa_pipeline.documents.formats.pdf.glyphs import Box, enclose
from qa_pipeline.documents.formats.pdf.grids import Gap, Grid, GridCell, Strip
from qa_pipeline.documents.formats.pdf.lines import Line, Spelling, join_text, part_of, rows_of, words_of
from qa_pipeline.documents.formats.rows import Cell, names_columns, render_table
from qa_pipeline.text.doubt import SIGNS

_NUMBER = re.compile(r"^[^\w\s]?\s?\d[\d.,:/\s%+–-]*[^\W\d_]{0,3}[%‰°)]?$")  # `€ 1,250` or `(4.5%)`
_LONGEST_NAME = 5  # words of a column's name; a longer name is mostly text
Row = list[Line]  # lines side by side, from left to right


@dataclass(frozen=True, slots=True)
class Table:
    """A table on a page: its rows as text, its box, and its offset in the file."""

    rows: Sequence[str]
    page: int
    box: Box
    start: int
    empty_columns: Sequence[str] = ()  # their names, such as `Remark` in a list without remarks


def _table_of(header: Sequence[Strip], body: Sequence[Sequence[Strip]], spelling: Spelling) -> Table:
    """Return a table, marked as doubtful for long names of columns or a single row in its body.

    A row of the header is a strip. A row of the body has several strips if its cells wrap: `Pump | moves`
    and ` | water` make the cells `Pump` and `moves water`.
    """
    header_texts = [[" ".join(part.text for part in column) for column in strip] for strip in header]
    body_cells = [grids.columns_of(strips) for strips in body]  # for each row, the lines of each cell
    has_names = not header_texts[0][0].endswith(":")  # `Name: | Anna` is a row of data
    cells = [
        *([Cell(text, header=has_names) for text in texts] for texts in header_texts),
        *([Cell(join_text(lines, spelling)) for lines in row] for row in body_cells),
    ]
    table = _write_table(cells, [cell for row in (*header, *body_cells) for cell in row])
    longest_name = max(len(name.split()) for texts in header_texts for name in texts)
    is_doubtful = len(body) < 2 or (has_names and longest_name > _LONGEST_NAME)
    # A sign at the end of each row records the doubt.
    return replace(table, rows=[row + SIGNS["table"] for row in table.rows]) if is_doubtful else table


def _write_table(cells: Sequence[Sequence[Cell]], lines_by_cell: Sequence[Sequence[Line]]) -> Table:
    """Return a table with these rows of cells; the lines in them give its box and offset."""
    rows, empty_columns = render_table(cells)
    lines = [line for cell_lines in lines_by_cell for line in cell_lines]
    box = enclose(line.box for line in lines)
    return Table(rows, lines[0].page, box, min(line.start for line in lines), empty_columns)


def _mark_header(rows: Sequence[Sequence[Cell]], are_bold: Sequence[bool]) -> list[list[Cell]]:
    """Return the rows with the header marked: bold rows at the top, or a row that reads like names.

    Rows of a single cell above the header are titles, and are marked with it.
    """
    title_count = len(list(takewhile(lambda row: len(row) == 1, rows[:-1])))
    bold_count = len(list(takewhile(bool, are_bold)))
    first, *rest = [[cell.text for cell in row] for row in rows[title_count:]]
    # Years and other figures name columns below an empty corner: ` | 2023 | 2024` above `Lund | 5 | 7`.
    has_empty_corner = len(first) > 2 and not first[0] and all(first[1:])
    rows_have_names = rest != [] and all(row[0] for row in rest)
    if title_count < bold_count < len(rows):  # bold titles alone are no header, nor is a bold table
        header_count = bold_count
    elif (has_empty_corner and rows_have_names) or names_columns(first, rest):
        header_count = title_count + 1
    else:
        header_count = 0
    return [[replace(cell, header=number < header_count) for cell in row] for number, row in enumerate(rows)]


def split_at_gaps(line: Line, gap: float) -> list[Line]:
    """Return the parts of a line between which words are farther apart than `gap`."""
    first, *others = words_of(line)
    groups = [[first]]
    for word in others:
        if word.left - groups[-1][-1].right > gap:
            groups.append([])
        groups[-1].append(word)
    return [part_of(line, words) for words in groups]


_SAME_SIDE = 4.0  # points: lines of one table end alike, but for the thickness of a frame
_DOUBLE_RULE = 4.0  # points: two lines this close are one double line, with no row between them
_MOST_RULES = 400  # lines across on a page: each is compared, and drawings have thousands
_MOST_STACKS = 40  # tables of a page: each looks through all lines of the page
_MOST_HEADER_ROWS = 5  # more rows between two lines are a table, and no header
_WIDEST_STEP = 2.6  # of the type size: a row farther away does not belong to the table
_FRAME_AND_HEADER = 2  # rows of boxes; more of them show that lines part the rows
_WORDS_A_LINE = 3  # of running text; wrapped cells of narrow columns have fewer


def ruled_tables(
    lines: Sequence[Line], drawing: Drawing, spelling: Spelling
) -> tuple[list[Table], list[list[Line]], list[Line]]:
    """Return the tables in ruled lines, the texts in frames, and the other lines of the page."""
    tables: list[Table] = []
    framed: list[list[Line]] = []
    remaining = list(lines)
    for grid in grids.find_grids(drawing):
        outside = grids.fill(grid, remaining)
        if _is_frame(grid):
            framed += [cell.lines for cell in grid.cells if cell.lines]
        elif _is_table(grid):
            tables.append(_read_grid(grid, spelling))
        else:  # the text in it remains, and may be a table between lines across
            continue
        remaining = outside
    for rules in stacked_rules(drawing.across):
        stacked, remaining = _Stack(rules, remaining).tables(spelling)
        tables += stacked
    return tables, framed, remaining


def _is_frame(grid: Grid) -> bool:
    """Return True for boxes side by side around running text, such as a tip in a frame."""
    is_single_row = len(grid.heights) == 2  # the lines above and below it
    wrapped_texts = [cell.lines for cell in grid.cells if len(cell.lines) > 1]
    return is_single_row and wrapped_texts != [] and all(map(_is_running_text, wrapped_texts))


def _is_running_text(lines: Sequence[Line]) -> bool:
    """Return True for lines of several words in which sentences go on from line to line."""
    words = sum(len(line.text.split()) for line in lines)
    if any(line.fixed for line in lines) or words < _WORDS_A_LINE * len(lines):
        return False
    return any(above.text[-1:].isalnum() and below.text[:1].islower() for above, below in pairwise(lines))


def stacked_rules(rules: Sequence[Box]) -> list[list[Box]]:
    """Return groups of at least two lines across that begin and end alike, from the top."""
    across = grids.join_rules(rules, axis=0)
    if not 2 <= len(across) <= _MOST_RULES:
        return []
    stacks: list[list[Box]] = []
    for rule in sorted(across, key=lambda rule: (-rule.top, rule.left)):
        same_left = [stack for stack in stacks if abs(stack[0].left - rule.left) < _SAME_SIDE]
        stack = next((stack for stack in same_left if abs(stack[0].right - rule.right) < _SAME_SIDE), None)
        if stack is None:
            stacks.append([rule])
        elif stack[-1].bottom - rule.top > _DOUBLE_RULE:  # else it is the second of a double line
            stack.append(rule)
    return [stack for stack in stacks if len(stack) > 1][:_MOST_STACKS]


def _is_table(grid: Grid) -> bool:
    """Return True for text in several columns whose rows are parted by lines."""
    rows = grid.rows()
    has_columns = len({cell.column for cell in grid.cells if cell.lines}) > 1
    has_few_rows = len(rows) <= _FRAME_AND_HEADER
    return has_columns and not any(_has_several_rows(row, has_few_rows=has_few_rows) for row in rows)


def _has_several_rows(row: Sequence[GridCell], *, has_few_rows: bool) -> bool:
    """Return True if lines are printed side by side in a row of boxes, as rows of figures are."""
    texts = [cell.lines for cell in row if cell.lines]
    lengths = {*map(len, texts)}
    if len(texts) < 2 or min(lengths) < 2:
        return False
    has_figures = any(all(_NUMBER.match(line.text) for line in text) for text in texts)
    return has_few_rows or (has_figures and len(lengths) == 1)


def _read_grid(grid: Grid, spelling: Spelling) -> Table:
    """Return the table in a grid."""
    # Empty rows are left out, unless a cell that begins in them spans others, too.
    rows = [row for row in grid.rows() if any(cell.lines or cell.rows > 1 for cell in row)]
    cells = [
        [Cell(join_text(cell.lines, spelling), columns=cell.columns, rows=cell.rows) for cell in row]
        for row in rows
    ]
    # A row without text counts as bold, so that it does not end a bold header.
    are_bold = [all(line.bold for cell in row for line in cell.lines) for row in rows]
    return _write_table(_mark_header(cells, are_bold), [cell.lines for cell in grid.cells])


class _Stack:
    """Ruled lines across that begin and end alike, and the zones of text above, between and below them.

    `zones[i]` has the printed rows above `rules[i]`, the last zone those below all rules. With `=` for a
    rule, `Towns = Name Age = Ann 36 = Source` has zones 0 to 3, and a table of zones 1 and 2, range (1, 3).
    `taken` has the `id` of each line of text in a table.
    """

    def __init__(self, rules: Sequence[Box], lines: Sequence[Line]) -> None:
        self.left, self.right = rules[0].left, rules[0].right
        self.lines = lines
        self.taken: set[int] = set()
        self.zones: list[list[Row]] = [[] for _ in range(len(rules) + 1)]
        depths = [-rule.bottom for rule in rules]  # ascending for `bisect`, as heights grow upwards
        inside = (line for line in lines if line.left < self.right and line.right > self.left)
        for row in rows_of(inside):
            self.zones[bisect(depths, -row[0].middle)].append(row)

    def tables(self, spelling: Spelling) -> tuple[list[Table], list[Line]]:
        """Return the tables between the lines, and the remaining lines of text."""
        tables: list[Table] = []
        ranges = self._zones_of_tables()
        starts = {start for start, _ in ranges}
        for start, end in ranges:
            # A header in a lone zone has its body below the last rule, in a zone of no other table.
            below = [] if end in starts else self.zones[end]
            header, body_zones = self._find_header(start, end, below)
            if not header:  # the rows stay text
                continue
            body = [row for zone in body_zones for row in zone]
            gaps = grids.gaps_between([*header, *body], _usual_size(body))
            # A rule ends a row of cells, so the printed rows of each zone are grouped apart.
            strips_by_zone = [grids.strips_of(zone, gaps) for zone in body_zones]
            cell_rows = [cell_row for strips in strips_by_zone for cell_row in grids.rows_of_cells(strips)]
            tables.append(_table_of(grids.strips_of(header, gaps), cell_rows, spelling))
            self.taken.update(id(line) for row in (*header, *body) for line in row)
        return tables, [line for line in self.lines if id(line) not in self.taken]

    def _zones_of_tables(self) -> list[tuple[int, int]]:
        """Return ranges of zones that white gaps run through, such as (1, 3) for zones 1 and 2."""
        ranges: list[tuple[int, int]] = []
        for zone in range(1, len(self.zones) - 1):  # between two rules
            if not self._gaps(zone, zone + 1):
                continue
            is_next = ranges != [] and ranges[-1][1] == zone
            if is_next and self._gaps(ranges[-1][0], zone + 1):  # the same gaps run through both
                ranges[-1] = (ranges[-1][0], zone + 1)
            else:
                ranges.append((zone, zone + 1))
        return ranges

    def _gaps(self, start: int, end: int) -> list[Gap]:
        """Return the white gaps through zones before `end`; [] if their text reaches out to the left."""
        rows = [row for zone in self.zones[start:end] for row in zone]
        if not rows or any(line.left < self.left - _SAME_SIDE for row in rows for line in row):
            return []
        return grids.gaps_between(rows, _usual_size(rows))

    def _find_header(self, start: int, end: int, below: Sequence[Row]) -> tuple[list[Row], list[list[Row]]]:
        """Return the header of a table, [] if it has none, and its other rows zone by zone.

        The table has the zones from `start` to before `end`, and may go on in the rows `below` them. The
        header `Name` is above the first rule (`----`), in the first of several zones, or in a lone zone:

            Name    ----    ----
            ----    Name    Name
            Lund    ----    ----
            ----    Lund    Lund
                    ----
        """
        zones = self.zones[start:end]
        rows = [row for zone in zones for row in zone]
        nearest_first = self.zones[start - 1][::-1]  # `start` is 1 at least
        header_above = self._rows_beyond(rows, nearest_first, require_full=True)[::-1]  # from the top again
        # A body below a lone header may begin with a row that has empty cells.
        may_be_lone_header = len(zones) == 1 and len(rows) <= _MOST_HEADER_ROWS and not header_above
        if further := self._rows_beyond(rows, below, require_full=not may_be_lone_header):
            zones.append(further)
        if header_above:
            return header_above, zones
        header, *body = zones
        return (header, body) if body else ([], zones)

    def _rows_beyond(self, rows: Sequence[Row], beyond: Sequence[Row], *, require_full: bool) -> list[Row]:
        """Return the rows above or below all rules of a table that go on in its columns, nearest first.

        `rows` are between the rules, `beyond` in the next zone, nearest first. With `require_full`, the
        nearest row must have text in every column, apart from the first.
        """
        if not beyond:
            return []
        size = _usual_size(rows)
        gaps = grids.gaps_between(rows, size)
        (nearest_strip,) = grids.strips_of(beyond[:1], gaps)  # for each column its parts of lines
        if require_full and not all(nearest_strip[1:]):
            return []
        further: list[Row] = []
        previous = min(rows, key=lambda row: abs(row[0].bottom - beyond[0][0].bottom))  # nearest to them
        for row in beyond:
            is_apart = abs(previous[0].bottom - row[0].bottom) > _WIDEST_STEP * size
            is_outside = row[0].left < self.left - _SAME_SIDE
            is_taken = id(row[0]) in self.taken  # by another table
            remaining_gaps = grids.narrow_gaps(gaps, row, size)
            bridges_gap = len(remaining_gaps) < len(gaps)  # its words leave too little white at a gap
            if is_apart or is_outside or is_taken or bridges_gap:
                break
            gaps, previous = remaining_gaps, row
            further.append(row)
        return further


def _usual_size(rows: Sequence[Row]) -> float:
    return Counter(line.size for row in rows for line in row).most_common(1)[0][0]
