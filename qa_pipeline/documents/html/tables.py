"""Data tables of HTML, read cell by cell.

What belongs here: a table while it is being read. What does not: telling a data table from one used for
layout (`blocks`), and how rows are worded (`rows`).
"""

from typing import TYPE_CHECKING

from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.documents.rows import Cell, counted_lines

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

TABLE_PARTS = frozenset({"thead", "tbody", "tfoot", "colgroup", "col", "tr", "td", "th"})


class Grid:
    """A data table being read."""

    def __init__(self, outer: "Grid | None") -> None:
        self.outer = outer
        self.rows: list[list[Cell]] = []
        self.cell: list[str] | None = None
        self.shape = (False, 1, 1)
        self.in_head = False

    def open(self, tag: str, node: "LexborNode") -> None:
        """Begin a row or cell."""
        if tag == "thead":
            self.in_head = True
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            header = tag == "th" or self.in_head
            attributes = node.attributes  # built anew each time it is asked for
            self.cell = []
            self.shape = (header, _number(attributes.get("colspan")), _number(attributes.get("rowspan")))

    def close(self, tag: str) -> None:
        """End the head or a cell."""
        if tag == "thead":
            self.in_head = False
        elif tag in ("td", "th") and self.cell is not None:
            if not self.rows:
                self.rows.append([])
            self.rows[-1].append(Cell(" ".join("".join(self.cell).split()), *self.shape))
            self.cell = None

    def separate(self, number: str | None) -> None:
        """Set the next list item of a cell off from the one before, with its number in an ordered list."""
        so_far = "".join(self.cell or ()).rstrip()
        self.cell = [so_far, ", "] if so_far else []
        self.cell += [number, " "] if number else []

    def lines(self, left: Omissions) -> list[str]:
        """The rows read so far, one line each; names of empty columns are counted as left out."""
        return counted_lines(self.rows, left)


def _number(written: str | None) -> int:
    value = written.strip() if written else ""
    return int(value) if value.isdecimal() and value.isascii() and len(value) <= 4 else 1
