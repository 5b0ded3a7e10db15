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
_MOST_REPEATED = 20_000  # cells of a table: a small file must not become a huge text
LONGEST_MERGED = 120  # characters of a cell over several rows: a longer cell is prose and is written once


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell as its format gives it; `columns` and `rows` are its spans."""

    text: str
    header: bool = False
    columns: int = 1
    rows: int = 1


_BLANK = Cell("")
_DOUBT = SIGNS["table"]  # behind the text of a cell or row whose columns may be wrong


def counted_lines(rows: Sequence[Sequence[Cell]], omissions: Omissions) -> list[str]:
    """Return the lines of a table; names of columns without lines are counted as left out."""
    lines, empty_columns = render_table(rows)
    for name in empty_columns:
        omissions.add("empty_column", name)
    return lines


def render_table(rows: Sequence[Sequence[Cell]]) -> tuple[list[str], list[str]]:
    """Write each data row as `Column: cell | Column: cell`; returns the lines and the names of empty columns.

    Header rows name the columns below them: `2023` over `Sales` over `5` gives `2023 Sales: 5`. A header cell
    across the table is a caption. Without names, a row that starts with a header or `Key:` is `Key: value`.
    """
    lines: list[str] = []
    empty_columns: list[str] = []
    header: list[list[Cell]] = []  # the header rows that name the columns of the next data row
    names: list[str] = []  # from `header`, by column
    used_columns: set[int] = set()  # columns with a value below `header`: empty before its first data row
    for row in _expand(rows):
        filled = [  # a cell over several columns counts once
            (column, cell)
            for column, cell in enumerate(row)
            if cell.text and (column == 0 or row[column - 1] is not cell)
        ]
        if not filled:
            continue
        first_cell = filled[0][1]
        is_header = len(row) > 1 and all(cell.header for _, cell in filled)
        is_caption = is_header and all(cell is first_cell for cell in row)
        if is_caption:
            lines.append(first_cell.text)
        elif not is_header:
            used_columns.update(column for column, _ in filled)
            lines.append(_write_row(filled, names))
        elif header and not used_columns:  # a header row below another
            names = _join_names(names, header[-1], row)
            header.append(row)
        else:  # the first header, or another one below data rows
            empty_columns += _find_empty(header, used_columns)
            names, header, used_columns = [cell.text for cell in row], [row], set()
    if header and not used_columns:  # a last row of header cells, such as sums, has no rows below to name
        lines.append(" | ".join(dict.fromkeys(filter(None, names))))
    return lines, empty_columns + _find_empty(header, used_columns)


def _join_names(names: Sequence[str], above: Sequence[Cell], row: Sequence[Cell]) -> list[str]:
    """Return the names with a further header row: `2023` above `Sales` is `2023 Sales`, `Sum` twice `Sum`."""
    cells_above = set(map(id, above))  # a cell over both rows is the same object, and named already
    added = ("" if id(cell) in cells_above else cell.text for cell in row)
    pairs = zip_longest(names, added, fillvalue="")
    return [upper if upper == lower else f"{upper} {lower}".strip() for upper, lower in pairs]


def _find_empty(header: Sequence[Sequence[Cell]], used_columns: Set[int]) -> list[str]:
    """Return the names that have no value in any of their columns, or [] before the first data row."""
    # by identity, as a cell over several columns is the same object in all of them
    used = {id(row[column]) for row in header for column in used_columns if column < len(row)}
    names = {id(cell): cell.text for row in header for cell in row if cell.text and id(cell) not in used}
    return list(names.values()) if used_columns else []


def _expand(rows: Sequence[Sequence[Cell]]) -> Iterator[list[Cell]]:
    """Yield rows with tall and wide cells repeated: `A | b` and `c` as `A | b` and `A | c` for a tall `A`."""
    tall_cells: dict[int, tuple[Cell, int]] = {}  # by column: the last tall cell, and the row below it
    repeats_left = _MOST_REPEATED
    for number, row in enumerate(rows):
        from_above = tall_cells.items() if repeats_left > 0 else ()
        line = {column: cell for column, (cell, row_below) in from_above if number < row_below}
        repeats_left -= len(line)
        column = 0
        for given in row:
            while column in line:
                column += 1
            width = max(1, min(given.columns, _WIDEST - column))
            columns = range(column, column + width)
            # A wide cell that runs into a tall one further right replaces it, which puts the row in doubt.
            is_over_another = not line.keys().isdisjoint(columns)
            cell = replace(given, text=given.text + _DOUBT) if is_over_another else given
            line |= dict.fromkeys(columns, cell)
            if cell.rows > 1:  # a long text is not repeated, but its columns stay blank in the rows below
                repeated = cell if len(cell.text) <= LONGEST_MERGED else _BLANK
                tall_cells |= dict.fromkeys(columns, (repeated, number + min(cell.rows, _TALLEST)))
        yield [line.get(column, _BLANK) for column in range(max(line, default=-1) + 1)]


def _write_row(filled: Sequence[tuple[int, Cell]], names: Sequence[str]) -> str:
    """Write the filled cells of a row, each with the number of its column, as `Name: cell | Name: cell`."""
    titles = {column: f"{title}: " for column, name in enumerate(names) if (title := name.rstrip(": "))}
    texts = [titles.get(column, "") + cell.text for column, cell in filled]
    if titles:
        has_unnamed_cell = filled[-1][0] >= len(names)  # the last cell is behind all names
        return " | ".join(texts) + (_DOUBT if has_unnamed_cell else "")
    if len(texts) > 1 and (filled[0][1].header or texts[0].endswith(":")):  # the first cell is a key
        return f"{texts[0].rstrip(': ')}: {' | '.join(texts[1:])}"
    return " | ".join(texts)


SAMPLE_ROWS = 200  # rows from which the form and the header of a table are judged
_LONGEST_NAME = 100  # characters of the name of a column; a longer text is a value
_MOSTLY = 0.8  # of the values of a column, as some are a word such as "none"
_YEAR = re.compile(r"(?:1[89]|20|21)\d\d")
_BETWEEN_DIGITS = str.maketrans("", "", " .,:;/-+−%'’()€$£")
_COMMON_NAMES = frozenset(of_all("layout.columns"))  # in lower case, such as `first_name`


def names_columns(first: Sequence[str], below: Sequence[Sequence[str]], *, may_be_form: bool = False) -> bool:
    """Return True if the row `first` names the columns, judged by the rows below it.

    Names fill most columns, are different, and each could name the values below it. In addition, either
    - most values of a column are figures, as in `Item | Price` over `Nail | 2`, or
    - at least half of the names are common, as in `Name | Town` over `Anna | Lund`; in a table that
      `may_be_form`, such as `Name | Anna` over `Town | Lund`, all are common, and two rows or more follow.
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
    is_data = all(map(_is_figure, values_by_name))  # a row of figures alone, such as `2023 | 120`
    if is_data or not all(starmap(_could_name, values_by_name.items())):
        return False
    if any(_share_of(values, _is_figure) >= _MOSTLY for values in values_by_name.values()):
        return True
    common_names = [name for name in lowercase_names if {name, name.replace(" ", "_")} & _COMMON_NAMES]
    if may_be_form:
        return len(below) > 1 and len(common_names) == name_count
    return 2 * len(common_names) >= name_count


def _could_name(name: str, values: Sequence[str]) -> bool:
    """Return True if a text may be the name of a column with these filled cells."""
    if len(name) > _LONGEST_NAME or not any(map(str.isalnum, name)) or name in values:
        return False
    if not _is_figure(name):
        return True
    if name[0].isalpha():  # a code: Q1 names a column of 120 and 80, but not one with Q2 or a word
        return not any(value[0].isalpha() for value in values)
    # a year names a column, unless most values are years too; no other figure does
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
    """Return the rows of a table with borders `+---+` and cells `| a |`, or None for other lines.

    A database prints borders around the names and below the last row; a grid, as in reStructuredText, prints
    a border below each row, and often `+===+` below the names.
    """
    groups: list[list[list[str]]] = []  # the lines between two borders, each as its cells
    for line in map(str.strip, lines):
        if _BORDER.fullmatch(line):
            groups.append([])
        elif groups and line.startswith("|") and line.endswith("|"):
            groups[-1].append([cell.strip() for cell in line[1:-1].split("|")])
        else:
            return None
    groups = [group for group in groups if group]
    if len(groups) < 2:  # no rows below the names
        return None
    names, *others = groups
    has_double_border = any("=" in line for line in lines if line.lstrip().startswith("+"))
    is_grid = len(others) > 1 or has_double_border  # then each group is a row; else, each line of it
    body = [_join_lines(group) for group in others] if is_grid else others[0]
    return _with_names(_join_lines(names), body)


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
    """Return the cells of a row that takes several lines: `Net | 5` and `price |` give `Net price | 5`."""
    return [" ".join(" ".join(parts).split()) for parts in zip_longest(*lines, fillvalue="")]


def _with_names(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[list[Cell]]:
    head = [Cell(name, header=True) for name in names]
    return [head, *([Cell(text) for text in row] for row in body)]
