"""Tables of a Word document, row by row.

What belongs here: which cells a row has, how far they reach, and which rows and columns are names. What does
not: what stands in a cell (`blocks`), and how rows are worded (`rows`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.delimited import names_columns
from qa_pipeline.documents.formats.docx.styles import VALUE, Styles, is_on, properties_of, value_of
from qa_pipeline.documents.formats.ooxml.package import WORD, whole
from qa_pipeline.documents.formats.rows import Cell, counted_lines
from qa_pipeline.records import Block, BlockKind

if TYPE_CHECKING:
    from lxml.etree import _Element

ROW = f"{WORD}tr"
CELL = f"{WORD}tc"
_BITS = re.compile("[0-9A-Fa-f]{1,8}")
_LOOKS: tuple[tuple[int, str, Literal["firstRow", "firstCol"]], ...] = (
    (0x20, "firstRow", "firstRow"),
    (0x80, "firstColumn", "firstCol"),
)
_LOOKED_AT = 200
"""Rows that tell whether the first names the columns."""
_MOST_REPEATED = 200_000
"""Characters that merged cells may repeat in one table: a small file must not become a huge text."""
_BETWEEN: dict[BlockKind, str] = {"list_item": ", ", "table_row": "; "}


@dataclass(frozen=True, slots=True)
class RawCell:
    """A cell as the file has it; `goes_on` if it belongs to the cell above it, `bold` if all its text is."""

    blocks: tuple[Block, ...]
    columns: int = 1
    goes_on: bool = False
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """Whether the style of a table sets its first row or column off from the others."""

    first_row: bool
    first_column: bool


@dataclass(slots=True)
class Table:
    """The rows of a table as they are read; the first `named` of them are repeated on each page."""

    rows: list[list[RawCell]] = field(default_factory=list)
    named: int = 0

    def add(self, row: "_Element", cells: Sequence[RawCell]) -> None:
        """Append a row."""
        self.named += self.named == len(self.rows) and is_on(row.find(f"{WORD}trPr/{WORD}tblHeader"))
        indent = whole(value_of(row, f"trPr/{WORD}gridBefore"), 0)
        self.rows.append([*([RawCell((), indent)] if indent else []), *cells])

    def blocks(self, look: Look, omissions: Omissions) -> list[Block]:
        """A line for each row; where a table only lays out a page, the content of its cells in turn."""
        if self._lays_out():
            return [block for row in self.rows for cell in row for block in cell.blocks]
        return [Block("table_row", line) for line in counted_lines(self._cells(look), omissions)]

    def _lays_out(self) -> bool:
        """A box around text, or text in columns: one row or column, with more than a line in a cell."""
        if sum(map(len, self.rows)) == 1:
            return True
        one_way = len(self.rows) == 1 or all(len(row) <= 1 for row in self.rows)
        return one_way and any(len(cell.blocks) > 1 for row in self.rows for cell in row)

    def _cells(self, look: Look) -> list[list[Cell]]:
        texts = list(_filled_down(self.rows))
        paired = self._is_paired(texts)
        names = self._rows_of_names(texts, look, paired=paired)
        keys = look.first_column or (not names and paired)
        width = max((sum(cell.columns for cell in row) for row in self.rows), default=0)
        cells = []
        for place, (row, written) in enumerate(zip(self.rows, texts, strict=True)):
            named = place < names or (len(row) == 1 < width == row[0].columns)
            key = keys and any(written[1:])
            cells.append(
                [
                    Cell(text, named or (key and column == 0), cell.columns)
                    for column, (cell, text) in enumerate(zip(row, written, strict=True))
                ]
            )
        return cells

    def _rows_of_names(self, texts: Sequence[Sequence[str]], look: Look, *, paired: bool) -> int:
        """How many rows at the top name the columns: by the file, by their looks, or by what they say."""
        if self.named:
            return self.named if self.named < len(self.rows) else 0
        if len(self.rows) < 2 or len(self.rows[0]) < 2:
            return 0
        first, second = self.rows[:2]
        bold = all(cell.bold or not cell.blocks for cell in first) and not all(cell.bold for cell in second)
        if look.first_row or bold:
            return 1
        simple = all(cell.columns == 1 for cell in first) and not paired
        return int(simple and names_columns(texts[0], texts[1:_LOOKED_AT]))

    def _is_paired(self, texts: Sequence[Sequence[str]]) -> bool:
        """Whether each row is a name in bold and its value."""
        pairs = [row for row, written in zip(self.rows, texts, strict=True) if any(written)]
        return all(len(row) == 2 and row[0].bold and not row[1].bold for row in pairs)


def look_of(table: "_Element", styles: Styles) -> Look:
    """What a table says of its looks; Word marks first rows by default, so the style must do so too."""
    style = value_of(table, f"tblPr/{WORD}tblStyle")
    look = table.find(f"{WORD}tblPr/{WORD}tblLook")
    said: dict[str, str] = {} if look is None else {str(name): str(one) for name, one in look.items()}
    bits = int(said.get(VALUE, "")[-4:], 16) if _BITS.fullmatch(said.get(VALUE, "")) else 0
    row, column = (
        (bool(bits & bit) or said.get(WORD + name) in ("1", "true")) and styles.stands_out(style, part)
        for bit, name, part in _LOOKS
    )
    return Look(row, column)


def read_cell(cell: "_Element", blocks: Sequence[Block], *, weigh: bool) -> RawCell:
    """A cell with its content.

    Args:
        cell: the element.
        blocks: what stands in it.
        weigh: look whether all its text is bold.
    """
    properties = properties_of(cell, f"{WORD}tcPr")
    span, merged = properties.get(f"{WORD}gridSpan"), properties.get(f"{WORD}vMerge")
    columns = 1 if span is None else max(whole(span.get(VALUE), 1), 1)
    goes_on = merged is not None and merged.get(VALUE, "continue") == "continue"
    return RawCell(tuple(blocks), columns, goes_on, weigh and _is_bold(cell))


def _is_bold(cell: "_Element") -> bool:
    runs = [run for run in cell.iter(f"{WORD}r") if (run.findtext(f"{WORD}t") or "").strip()]
    return bool(runs) and all(is_on(run.find(f"{WORD}rPr/{WORD}b")) for run in runs)


def _filled_down(rows: Sequence[Sequence[RawCell]]) -> Iterator[list[str]]:
    """Texts of the cells; one over several rows stands in each of them, as far as that is bounded."""
    above: dict[int, str] = {}
    budget = _MOST_REPEATED
    for row in rows:
        texts = []
        column = 0
        for cell in row:
            text = _one_line(cell.blocks)
            if cell.goes_on and not text and len(above.get(column, "")) <= budget:
                text = above.get(column, "")
                budget -= len(text)
            elif not cell.goes_on:
                above[column] = text
            texts.append(text)
            column += cell.columns
        yield texts


def _one_line(blocks: Sequence[Block]) -> str:
    if not blocks:
        return ""
    parts = [" ".join(blocks[0].text.split())]
    for before, block in pairwise(blocks):
        alike = before.kind == block.kind
        parts += [_BETWEEN.get(block.kind, " ") if alike else " ", " ".join(block.text.split())]
    return "".join(parts)
