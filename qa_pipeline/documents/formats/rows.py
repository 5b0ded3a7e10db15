"""Tables as lines of text that can be understood alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.text.doubt import SIGNS

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
    """Return the rows of a table that stands in a cell of another as one text."""
    named = any(": " in line for line in lines)
    return ("; " if named else ", ").join(line.replace(" | ", ", " if named else " ") for line in lines)


def render_table(rows: Sequence[Sequence[Cell]]) -> tuple[list[str], list[str]]:
    """Write each data row as `Column: cell | Column: cell`, its header repeated.

    Rows made of header cells only name the columns below them (two such rows are joined); one header
    cell across the whole table is a caption. Without column names a row starting with a header cell, or
    with one ending in a colon, is written `Key: value`.

    Returns:
        The lines, and the names of columns that are empty below, which no line holds.
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
    """Return the names whose columns are all empty; none while no row is below them."""
    unused: list[str] = []
    for row in heads if used else []:
        for _, same in groupby(enumerate(row), key=lambda placed: id(placed[1])):
            places, cells = zip(*same, strict=True)
            if cells[0].text and used.isdisjoint(places):
                unused.append(cells[0].text)
    return unused


def _expand(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Lay spanning cells into every place they cover, so that columns line up; one over another is unsure."""
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
    """Return one row as a line: its filled cells by their places, each with the name of its column.

    A row with cells beyond the last name is in doubt: they may belong to other columns.

    Where no column has a name, a first cell that is a key (`keyed`, or it ends in a colon) names the others.
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
