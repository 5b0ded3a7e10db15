"""Tables on slides.

What belongs here: rows and cells of DrawingML (ISO 29500-1, 21.1.3). What does not: how rows are worded
(`rows`).
"""

from typing import TYPE_CHECKING

from qa_pipeline.documents.office.drawing import all_text
from qa_pipeline.documents.office.package import DRAWING
from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.documents.rows import Cell, counted_lines
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from lxml.etree import _Element

_TRUE = frozenset({"1", "true"})


def read_table(table: "_Element", omissions: Omissions) -> list[Block]:
    """A table as one block a row; what stands in a cell that another covers is not shown, and counted."""
    properties = table.find(f"{DRAWING}tblPr")
    rows = list(table.iterchildren(f"{DRAWING}tr"))
    grid = [_cells(row, omissions) for row in rows]
    several = len(grid) > 1 and max(map(len, grid)) > 1
    names = several and properties is not None and properties.get("firstRow") in _TRUE
    keys = several and properties is not None and properties.get("firstCol") in _TRUE
    marked = [
        [
            Cell(cell.text, _is_header(place, column, row, names=names, keys=keys), cell.columns, cell.rows)
            for column, cell in enumerate(row)
        ]
        for place, row in enumerate(grid)
    ]
    return [Block("table_row", line) for line in counted_lines(marked, omissions)]


def _cells(row: "_Element", omissions: Omissions) -> list[Cell]:
    cells = []
    for cell in row.iterchildren(f"{DRAWING}tc"):
        text = all_text(cell)
        if cell.get("hMerge") in _TRUE or cell.get("vMerge") in _TRUE:
            if text:
                omissions.add("hidden_text", text)
        else:
            cells.append(Cell(text, columns=_reach(cell, "gridSpan"), rows=_reach(cell, "rowSpan")))
    return cells


def _is_header(place: int, column: int, row: list[Cell], *, names: bool, keys: bool) -> bool:
    """A key alone in its row would name columns instead of a value."""
    return (names and place == 0) or (keys and column == 0 and any(cell.text for cell in row[1:]))


def _reach(cell: "_Element", name: str) -> int:
    written = cell.get(name, "1")
    return int(written) if written.isascii() and written.isdecimal() and len(written) <= 4 else 1
