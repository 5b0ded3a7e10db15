"""Tables as lines of text that can be understood alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from qa_pipeline.documents.assembly import Omissions

_WIDEST = 100
_TALLEST = 200
_MOST_REPEATED = 20_000
"""Bounds on what spans may repeat: a small file must not become a huge text."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One table cell as its format gives it; `columns` and `rows` say how far it reaches."""

    text: str
    header: bool = False
    columns: int = 1
    rows: int = 1


def counted_lines(rows: Sequence[Sequence[Cell]], left: Omissions) -> list[str]:
    """The lines of a table; names of columns that no line holds are counted as left out."""
    lines, unused = render_table(rows)
    for name in unused:
        left.add("empty_column", name)
    return lines


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
        filled = _filled(row)
        if not filled:
            continue
        if not all(cell.header for cell in filled) or len(row) == 1:
            used.update(place for place, cell in enumerate(row) if _is_written(row, place, cell))
            lines.append(_named(row, names) if any(names) else _plain(filled))
        elif len(filled) == 1 and filled[0].columns == len(row):
            lines.append(filled[0].text)
        else:
            naming = bool(heads) and not used
            unused += [] if naming else _unused(heads, used)
            names = _join_names(names, row) if naming else [cell.text for cell in row]
            heads, used = [*heads, row] if naming else [row], set()
    if heads and not used:  # names with nothing below them, such as a row of sums, are a line themselves
        lines.append(" | ".join(dict.fromkeys(filter(None, names))))
    return lines, unused + _unused(heads, used)


def _unused(heads: list[list[Cell]], used: set[int]) -> list[str]:
    """Names whose columns are all empty; none while no row stands below them."""
    unused: list[str] = []
    for row in heads if used else []:
        start = 0
        for _, same in groupby(row, key=id):
            cells = list(same)
            reach = range(start, start + len(cells))
            start = reach.stop
            if cells[0].text and used.isdisjoint(reach):
                unused.append(cells[0].text)
    return unused


def _filled(row: list[Cell]) -> list[Cell]:
    """The cells with text, a cell that covers several places once."""
    return [cell for place, cell in enumerate(row) if _is_written(row, place, cell)]


def _is_written(row: list[Cell], place: int, cell: Cell) -> bool:
    """Whether a cell has text and stands at this place first."""
    return bool(cell.text) and (place == 0 or row[place - 1] is not cell)


def _expand(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Lay spanning cells into every place they cover, so that columns line up."""
    grid: list[list[Cell]] = []
    hanging: dict[int, tuple[Cell, int]] = {}
    budget = _MOST_REPEATED
    for row in rows:
        line: list[Cell] = []
        pending = iter(row)
        while True:
            if len(line) in hanging:
                cell, left = hanging.pop(len(line))
                budget -= 1
                if left > 1 and budget > 0:
                    hanging[len(line)] = (cell, left - 1)
                line.append(cell)
                continue
            following = next(pending, None)
            if following is None:
                break
            for _ in range(max(1, min(following.columns, _WIDEST - len(line)))):
                if following.rows > 1 and budget > 0:
                    hanging[len(line)] = (following, min(following.rows, _TALLEST) - 1)
                line.append(following)
        grid.append(line)
    return grid


def _join_names(upper: list[str], row: list[Cell]) -> list[str]:
    lower = [cell.text for cell in row]
    width = max(len(upper), len(lower))
    padded = zip(upper + [""] * (width - len(upper)), lower + [""] * (width - len(lower)), strict=True)
    return [a if a == b else f"{a} {b}".strip() for a, b in padded]


def _named(row: list[Cell], names: list[str]) -> str:
    parts: list[str] = []
    for place, cell in enumerate(row):
        if _is_written(row, place, cell):
            name = names[place].rstrip(": ") if place < len(names) else ""
            parts.append(f"{name}: {cell.text}" if name else cell.text)
    return " | ".join(parts)


def _plain(filled: list[Cell]) -> str:
    first, *rest = filled
    if rest and (first.header or first.text.endswith(":")):
        return f"{first.text.rstrip(': ')}: " + " | ".join(cell.text for cell in rest)
    return " | ".join(cell.text for cell in filled)
