"""Tables drawn with characters: bars and borders, a rule below the names, or columns set apart by blanks."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from qa_pipeline.documents.formats.column_names import SAMPLE_ROWS, names_columns
from qa_pipeline.documents.formats.rows import Cell

_BORDER = re.compile(r"\+(?:[-=:]+\+)+")
_RULE = re.compile(r"-{2,}(?: +-{2,})+")
_GAP = re.compile(r" {2,}")


def read_bars(lines: Sequence[str]) -> list[list[Cell]] | None:
    """Return the rows of a table with borders, as databases print it; None if it is none.

    Borders after each row part the rows; with one border of hyphens below the names each line is a row.
    """
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
    """Return the rows of a table whose names have a rule of dashes below them; None if it is none."""
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
    """Return the cells of a row that is drawn on several lines."""
    return [" ".join(" ".join(parts).split()) for parts in zip_longest(*group, fillvalue="")]


def _with_names(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[list[Cell]]:
    head = [Cell(name, header=True) for name in names]
    return [head, *([Cell(text) for text in row] for row in body)]
