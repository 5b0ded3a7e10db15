"""Tables as lines of text that can be understood alone."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from statistics import median

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.text.doubt import SIGNS
from qa_pipeline.text.lexicon.languages import of_all

_WIDEST = 100  # columns
_TALLEST = 200  # rows
_MOST_REPEATED = 20_000  # cells of a table
LONGEST_REPEATED = 120  # characters of a cell over several rows: a longer one is prose and stands once
"""Bounds on what spans may repeat: a small file must not become a huge text."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell as its format gives it; `columns` and `rows` are its spans."""

    text: str
    header: bool = False
    columns: int = 1
    rows: int = 1


def counted_lines(rows: Sequence[Sequence[Cell]], omissions: Omissions) -> list[str]:
    """Return the lines of a table; names of columns without lines are counted as left out."""
    lines, unused = render_table(rows)
    for name in unused:
        omissions.add("empty_column", name)
    return lines


def inside_cell(lines: Sequence[str]) -> str:
    """Return the rows of a table inside a cell as a text."""
    named = any(": " in line for line in lines)
    return ("; " if named else ", ").join(line.replace(" | ", ", " if named else " ") for line in lines)


def render_table(rows: Sequence[Sequence[Cell]]) -> tuple[list[str], list[str]]:
    """Write each data row as `Column: cell | Column: cell`; returns the lines and the names of empty columns.

    Rows of header cells name the columns below them (two are joined). A header cell across the whole table is
    a caption. Without column names a row that starts with a header cell or a colon is written `Key: value`.
    """
    lines: list[str] = []
    names: list[str] = []
    heads: list[list[Cell]] = []
    used: set[int] = set()
    unused: list[str] = []
    for row in _expand(rows):
        filled = [  # a cell that covers several places once
            (place, cell)
            for place, cell in enumerate(row)
            if cell.text and (place == 0 or row[place - 1] is not cell)
        ]
        if not filled:
            continue
        if not all(cell.header for _, cell in filled) or len(row) == 1:
            used.update(place for place, _ in filled)
            titles = [name.rstrip(": ") for name in names]
            written = [(place, cell.text) for place, cell in filled]
            lines.append(write_row(written, titles, keyed=filled[0][1].header))
        elif len(filled) == 1 and all(cell is row[0] for cell in row):
            lines.append(filled[0][1].text)
        else:
            naming = bool(heads) and not used
            unused += [] if naming else _find_unused(heads, used)
            texts = [cell.text for cell in row]
            joined = zip_longest(names, texts, fillvalue="")
            names = [a if a == b else f"{a} {b}".strip() for a, b in joined] if naming else texts
            heads, used = [*heads, row] if naming else [row], set()
    if heads and not used:  # names with nothing below them, such as a row of sums, are a line themselves
        lines.append(" | ".join(dict.fromkeys(filter(None, names))))
    return lines, unused + _find_unused(heads, used)


def _find_unused(heads: list[list[Cell]], used: set[int]) -> list[str]:
    unused: list[str] = []
    for row in heads if used else []:
        for _, same in groupby(enumerate(row), key=lambda placed: id(placed[1])):
            places, cells = zip(*same, strict=True)
            if cells[0].text and used.isdisjoint(places):
                unused.append(cells[0].text)
    return unused


def _expand(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Repeat spanning cells in all their columns and rows; a cell over another is in doubt."""
    grid: list[list[Cell]] = []
    hanging: dict[int, tuple[Cell, int]] = {}
    budget = _MOST_REPEATED
    for row in rows:
        line: list[Cell] = []
        pending = list(reversed(row))
        while pending or len(line) in hanging:
            if len(line) in hanging:
                cell, remaining = hanging.pop(len(line))
                budget -= 1
                if remaining > 1 and budget > 0:
                    hanging[len(line)] = (cell, remaining - 1)
                line.append(cell if len(cell.text) <= LONGEST_REPEATED else replace(cell, text=""))
                continue
            cell = pending.pop()
            if any(len(line) + place in hanging for place in range(min(cell.columns, _WIDEST))):
                cell = replace(cell, text=cell.text + SIGNS["table"])
            for _ in range(max(1, min(cell.columns, _WIDEST - len(line)))):
                if cell.rows > 1 and budget > 0:
                    hanging[len(line)] = (cell, min(cell.rows, _TALLEST) - 1)
                line.append(cell)
        grid.append(line)
    return grid


def write_row(filled: Sequence[tuple[int, str]], names: Sequence[str], *, keyed: bool = False) -> str:
    """Return the filled cells of a row as a line, each with the name of its column.

    A row with cells beyond the last name is in doubt. Without names a first cell that is a key names the
    others.
    """
    if any(names):
        width = len(names)
        named = (
            f"{names[place]}: {text}" if place < width and names[place] else text for place, text in filled
        )
        return " | ".join(named) + (SIGNS["table"] if filled and filled[-1][0] >= width else "")
    texts = [text for _, text in filled]
    if len(texts) > 1 and (keyed or texts[0].endswith(":")):
        return f"{texts[0].rstrip(': ')}: {' | '.join(texts[1:])}"
    return " | ".join(texts)


SAMPLE_ROWS = 200
"""Rows from which the form and the header of a table are judged."""
_LONGEST_NAME = 100  # characters of the name of a column; what is longer is a value
_MOSTLY = 0.8  # of the cells of a column: some are blank, or hold a word such as "none"
_LONG_VALUE = 40  # characters: longer than names of columns, so that a column of texts is told from its name
_LONGER_THAN_NAME = 4  # times as long as the name: the same, for columns of short values
_YEAR = re.compile(r"(?:1[89]|20|21)\d\d")
_IDENTIFIER = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_BETWEEN_DIGITS = str.maketrans("", "", " .,:;/-+−%'’()€$£")
_COMMON_NAMES = frozenset(of_all("layout.columns"))


def names_columns(first: Sequence[str], below: Sequence[Sequence[str]], *, may_be_keys: bool = False) -> bool:
    """Return True if `first` contains the names of the columns, judged by the rows below it.

    Names are short, different, fill most columns and do not return below. They also head figures, are common
    names, are written like identifiers over other values, or are short over long values. Where the first
    column `may_be_keys`, only figures and common names of both columns count.
    """
    columns = {
        name: [row[place] for row in below if place < len(row) and row[place]]
        for place, name in enumerate(first)
        if name
    }
    count = sum(map(bool, first))
    are_unlike = len({name.casefold() for name in columns}) == count
    if 2 * count <= len(first) or not are_unlike or not any(map(any, below)) or all(map(_is_figure, columns)):
        return False
    if not all(_could_name(name, column) for name, column in columns.items()):
        return False
    words = [name.casefold() for name in columns]
    common = [word for word in words if not _COMMON_NAMES.isdisjoint((word, word.replace(" ", "_")))]
    over_figures = (_share_of(column, _is_figure) >= _MOSTLY for column in columns.values())
    if any(over_figures):
        return True
    if may_be_keys:
        return len(common) == count and len(below) > 1
    if 2 * len(common) >= count:
        return True
    filled = {name: column for name, column in columns.items() if column}
    are_identifiers = all(map(_is_identifier, columns))
    others = (_share_of(column, _is_identifier) < 1 - _MOSTLY for column in filled.values())
    if are_identifiers and any(others):
        return True
    return max(map(len, columns)) <= _LONG_VALUE and any(
        median(map(len, column)) >= max(_LONG_VALUE, _LONGER_THAN_NAME * len(name))
        for name, column in filled.items()
    )


def _could_name(name: str, column: Sequence[str]) -> bool:
    if len(name) > _LONGEST_NAME or not any(map(str.isalnum, name)) or name in column:
        return False
    if not _is_figure(name):
        return True
    if name[0].isalpha():  # a code, such as Q1 over plain figures
        return not any(value[0].isalpha() for value in column)
    return bool(_YEAR.fullmatch(name)) and _share_of(column, _YEAR.fullmatch) < _MOSTLY


def _share_of(column: Sequence[str], holds: Callable[[str], object]) -> float:
    return sum(map(bool, map(holds, column))) / len(column) if column else 0.0


def _is_figure(text: str) -> bool:
    """Return True if a cell is a number, date, amount or code: half of it digits, signs aside."""
    bare = text.translate(_BETWEEN_DIGITS)
    return bool(bare) and 2 * sum(map(str.isdigit, bare)) >= len(bare)


def _is_identifier(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None and (text[0].islower() or "_" in text)


_BORDER = re.compile(r"\+(?:[-=:]+\+)+")
_RULE = re.compile(r"-{2,}(?: +-{2,})+")
_GAP = re.compile(r" {2,}")


def read_bars(lines: Sequence[str]) -> list[list[Cell]] | None:
    """Return the rows of a table with borders, as databases print it, or None."""
    groups: list[list[list[str]]] = []
    for line in map(str.strip, lines):
        if _BORDER.fullmatch(line):
            groups.append([])
        elif groups and line.startswith("|") and line.endswith("|"):
            groups[-1].append([cell.strip() for cell in line[1:-1].split("|")])
        else:
            return None
    first, *others = [group for group in groups if group] or [[]]
    is_grid = len(others) > 1 or any("=" in line for line in lines if line.lstrip().startswith("+"))
    body = [_joined(group) for group in others] if is_grid else [row for group in others for row in group]
    return _with_names(_joined(first), body) if body else None


def read_ruled(lines: Sequence[str]) -> list[list[Cell]] | None:
    """Return the rows of a table with a rule of dashes below its names, or None."""
    if len(lines) < 3 or not _RULE.fullmatch(lines[1].strip()):
        return None
    starts = [match.start() for match in re.finditer("-+", lines[1])]
    ends = [*starts[1:], None]
    names, _, *body = [
        [line[start:end].strip() for start, end in zip(starts, ends, strict=True)] for line in lines
    ]
    return _with_names(names, body)


def read_aligned(lines: Sequence[str]) -> list[list[Cell]] | None:
    """Return the rows of a table whose columns blanks set apart, if its first line names them."""
    rows = [_GAP.split(line.strip()) for line in lines]
    is_even = len(rows) > 1 and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1
    is_named = is_even and names_columns(rows[0], rows[1:SAMPLE_ROWS])
    return _with_names(rows[0], rows[1:]) if is_named else None


def _joined(group: Sequence[Sequence[str]]) -> list[str]:
    return [" ".join(" ".join(parts).split()) for parts in zip_longest(*group, fillvalue="")]


def _with_names(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[list[Cell]]:
    head = [Cell(name, header=True) for name in names]
    return [head, *([Cell(text) for text in row] for row in body)]
