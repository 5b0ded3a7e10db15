"""Tables as lines of text that can be understood alone."""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import starmap, zip_longest

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.text.doubt import SIGNS
from qa_pipeline.text.lexicon.languages import of_all

_WIDEST = 100  # columns
_TALLEST = 200  # rows
_MOST_REPEATED = 20_000  # cells of a table
LONGEST_REPEATED = 120  # characters of a cell over several rows: a longer cell is prose and is written once
"""Bounds on repeated cells: a small file must not become a huge text."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell as its format gives it; `columns` and `rows` are its spans."""

    text: str
    header: bool = False
    columns: int = 1
    rows: int = 1


_BLANK = Cell("")


def counted_lines(rows: Sequence[Sequence[Cell]], omissions: Omissions) -> list[str]:
    """Return the lines of a table; names of columns without lines are counted as left out."""
    lines, unused = render_table(rows)
    for name in unused:
        omissions.add("empty_column", name)
    return lines


def render_table(rows: Sequence[Sequence[Cell]]) -> tuple[list[str], list[str]]:
    """Write each data row as `Column: cell | Column: cell`; returns the lines and the names of empty columns.

    Rows of header cells name the columns below them (two are joined). A header cell across the whole table is
    a caption. Without column names a row that starts with a header cell or a colon is written `Key: value`.
    """
    lines: list[str] = []
    names: list[str] = []
    heads: list[list[Cell]] = []  # the rows that give `names`
    used: set[int] = set()  # columns with a value below these heads
    unused: list[str] = []
    for row in _expand(rows):
        # a cell that spans several columns counts once
        filled = [
            (column, cell)
            for column, cell in enumerate(row)
            if cell.text and (column == 0 or row[column - 1] is not cell)
        ]
        if not filled:
            continue
        first_cell = filled[0][1]
        is_head = len(row) > 1 and all(cell.header for _, cell in filled)
        is_caption = is_head and all(cell is first_cell for cell in row)
        if not is_head:
            used.update(column for column, _ in filled)
            lines.append(_write_row(filled, names))
        elif is_caption:
            lines.append(first_cell.text)
        elif heads and not used:  # a further row of names: `2023` over `Sales` is `2023 Sales`
            above = set(map(id, heads[-1]))  # a cell over both rows is the same object
            added = ("" if id(cell) in above else cell.text for cell in row)
            pairs = zip_longest(names, added, fillvalue="")
            names = [upper if upper == lower else f"{upper} {lower}".strip() for upper, lower in pairs]
            heads.append(row)
        else:
            unused += _find_unused(heads, used)
            names, heads, used = [cell.text for cell in row], [row], set()
    if heads and not used:  # names without rows, such as a row of sums, are a line
        lines.append(" | ".join(dict.fromkeys(filter(None, names))))
    return lines, unused + _find_unused(heads, used)


def _find_unused(heads: Sequence[Sequence[Cell]], used: Set[int]) -> list[str]:
    """Return the names that have no value in any of their columns."""
    # by identity, as a cell over several columns is the same object in all of them
    filled = {id(row[column]) for row in heads for column in used if column < len(row)}
    names = {id(cell): cell.text for row in heads for cell in row if cell.text and id(cell) not in filled}
    return list(names.values()) if used else []  # names without any row are written as a line


def _expand(rows: Sequence[Sequence[Cell]]) -> Iterator[list[Cell]]:
    """Yield the rows with spanning cells in all their columns and rows; a cell over another is in doubt."""
    spanning: dict[int, tuple[Cell, int]] = {}  # by column: the last tall cell, and the row below it
    repeats_left = _MOST_REPEATED
    for number, row in enumerate(rows):
        from_above = spanning.items() if repeats_left > 0 else ()
        line = {column: cell for column, (cell, row_below) in from_above if number < row_below}
        repeats_left -= len(line)
        column = 0
        for given in row:
            while column in line:
                column += 1
            width = max(1, min(given.columns, _WIDEST - column))
            columns = range(column, column + width)
            is_over_another = not line.keys().isdisjoint(columns)
            cell = replace(given, text=given.text + SIGNS["table"]) if is_over_another else given
            line |= dict.fromkeys(columns, cell)
            if cell.rows > 1:
                repeated = cell if len(cell.text) <= LONGEST_REPEATED else _BLANK
                spanning |= dict.fromkeys(columns, (repeated, number + min(cell.rows, _TALLEST)))
        yield [line.get(column, _BLANK) for column in range(max(line, default=-1) + 1)]


def _write_row(filled: Sequence[tuple[int, Cell]], names: Sequence[str]) -> str:
    """Return the filled cells of a row as a line, each with the name of its column.

    A row with cells beyond the last name is in doubt. Without names a first cell names the others if it is
    a header cell, or ends with a colon.
    """
    titles = {column: f"{title}: " for column, name in enumerate(names) if (title := name.rstrip(": "))}
    texts = [titles.get(column, "") + cell.text for column, cell in filled]
    if titles:
        has_more_cells = filled[-1][0] >= len(names)
        return " | ".join(texts) + (SIGNS["table"] if has_more_cells else "")
    if len(texts) > 1 and (filled[0][1].header or texts[0].endswith(":")):
        return f"{texts[0].rstrip(': ')}: {' | '.join(texts[1:])}"
    return " | ".join(texts)


SAMPLE_ROWS = 200  # rows from which the form and the header of a table are judged
_LONGEST_NAME = 100  # characters of the name of a column; a longer text is a value
_MOSTLY = 0.8  # of the cells of a column: some are blank, or a word such as "none"
_YEAR = re.compile(r"(?:1[89]|20|21)\d\d")
_BETWEEN_DIGITS = str.maketrans("", "", " .,:;/-+−%'’()€$£")
_COMMON_NAMES = frozenset(of_all("layout.columns"))  # in lower case, such as `first_name`


def names_columns(first: Sequence[str], below: Sequence[Sequence[str]], *, may_be_keys: bool = False) -> bool:
    """Return True if `first` contains the names of the columns, judged by the rows below it.

    Names are short, different, fill most columns and do not return below. They also head figures, or are
    mostly common names. A first column that `may_be_keys`, as in `Name | Anna` over `Town | Lund`,
    needs figures, or common names alone and several rows below.
    """
    values_by_name = {  # the filled cells below each name
        name: [row[column] for row in below if column < len(row) and row[column]]
        for column, name in enumerate(first)
        if name
    }
    name_count = sum(map(bool, first))
    lowercase_names = [name.casefold() for name in values_by_name]
    fill_most_columns = 2 * name_count > len(first)
    are_different = len(set(lowercase_names)) == name_count
    if not (fill_most_columns and are_different and any(values_by_name.values())):
        return False
    if all(map(_is_figure, values_by_name)) or not all(starmap(_could_name, values_by_name.items())):
        return False
    if any(_share_of(values, _is_figure) >= _MOSTLY for values in values_by_name.values()):
        return True
    common_names = [name for name in lowercase_names if {name, name.replace(" ", "_")} & _COMMON_NAMES]
    if may_be_keys:
        return len(below) > 1 and len(common_names) == name_count
    return 2 * len(common_names) >= name_count


def _could_name(name: str, values: Sequence[str]) -> bool:
    """Return True if a text may be the name of a column with these values."""
    if len(name) > _LONGEST_NAME or not any(map(str.isalnum, name)) or name in values:
        return False
    if not _is_figure(name):
        return True
    if name[0].isalpha():  # a code, such as Q1 over plain figures
        return not any(value[0].isalpha() for value in values)
    # a year may name a column, unless the values are years too
    return bool(_YEAR.fullmatch(name)) and _share_of(values, _YEAR.fullmatch) < _MOSTLY


def _share_of(values: Sequence[str], test: Callable[[str], object]) -> float:
    return sum(map(bool, map(test, values))) / len(values) if values else 0.0


def _is_figure(text: str) -> bool:
    """Return True if a cell is a number, date, amount or code: half of it digits, signs aside."""
    unsigned = text.translate(_BETWEEN_DIGITS)
    return bool(unsigned) and 2 * sum(map(str.isdigit, unsigned)) >= len(unsigned)


_BORDER = re.compile(r"\+(?:[-=:]+\+)+")  # `+---+-----+`
_RULE = re.compile(r"-{2,}(?: +-{2,})+")  # `---  -----`
_GAP = re.compile(r" {2,}")


def read_bars(lines: Sequence[str]) -> list[list[Cell]] | None:
    """Return the rows of a table with borders `+---+` and cells `| a |`, as databases print it, or None."""
    groups: list[list[list[str]]] = []  # between two borders: lines of cells
    for line in map(str.strip, lines):
        if _BORDER.fullmatch(line):
            groups.append([])
        elif groups and line.startswith("|") and line.endswith("|"):
            groups[-1].append([cell.strip() for cell in line[1:-1].split("|")])
        else:
            return None
    head, *others = [group for group in groups if group] or [[]]  # borders alone
    # in a grid a border ends each row, whose cells may take several lines
    has_double_border = any("=" in line for line in lines if line.lstrip().startswith("+"))
    is_grid = len(others) > 1 or has_double_border
    body = [_join_lines(group) for group in others] if is_grid else [row for group in others for row in group]
    return _with_names(_join_lines(head), body) if body else None


def read_ruled(lines: Sequence[str]) -> list[list[Cell]] | None:
    """Return the rows of a table with a rule of dashes below its names, or None."""
    if len(lines) < 3 or not _RULE.fullmatch(lines[1].strip()):
        return None
    starts = [match.start() for match in re.finditer("-+", lines[1])]
    columns = list(zip(starts, [*starts[1:], None], strict=True))  # the start and end of each
    names, _, *body = [[line[start:end].strip() for start, end in columns] for line in lines]
    return _with_names(names, body)


def read_aligned(lines: Sequence[str]) -> list[list[Cell]] | None:
    """Return the rows of a table whose columns blanks set apart, if its first line names them."""
    rows = [_GAP.split(line.strip()) for line in lines]
    is_even = len(rows) > 1 and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1
    is_named = is_even and names_columns(rows[0], rows[1:SAMPLE_ROWS])
    return _with_names(rows[0], rows[1:]) if is_named else None


def _join_lines(lines: Sequence[Sequence[str]]) -> list[str]:
    return [" ".join(" ".join(parts).split()) for parts in zip_longest(*lines, fillvalue="")]


def _with_names(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[list[Cell]]:
    head = [Cell(name, header=True) for name in names]
    return [head, *([Cell(text) for text in row] for row in body)]
