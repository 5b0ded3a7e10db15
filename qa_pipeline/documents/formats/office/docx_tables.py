"""Tables of a Word document: which rows name columns, and which tables only lay out a page."""

import re
from typing import TYPE_CHECKING

from qa_pipeline.documents.formats.column_names import SAMPLE_ROWS, names_columns
from qa_pipeline.documents.formats.office.docx_styles import VALUE, is_on, value_of
from qa_pipeline.documents.formats.office.package import WORD, read_number, text_of

if TYPE_CHECKING:
    from lxml.etree import _Element

TEXT, RUN, PARAGRAPH = f"{WORD}t", f"{WORD}r", f"{WORD}p"
TABLE, ROW, CELL = f"{WORD}tbl", f"{WORD}tr", f"{WORD}tc"


def shape_table(table: "_Element") -> None:
    """Mark the rows that name columns; a table that only lays out a page becomes its content.

    Such a table is one cell, or one row or column with more than a paragraph in a cell.
    """
    rows = list(table.iterchildren(ROW))
    cells = [list(row.iterchildren(CELL)) for row in rows]
    texts = [[" ".join(text_of(cell, TEXT).split()) for cell in row] for row in cells]
    one_way = len(rows) == 1 or all(len(row) <= 1 for row in cells)
    if sum(map(len, cells)) == 1 or (one_way and any(_is_long(cell) for row in cells for cell in row)):
        for content in [child for row in cells for cell in row for child in cell]:
            if content.tag != f"{WORD}tcPr":
                table.addprevious(content)
        table[:] = []
        return
    for style_name in table.iter(f"{WORD}pStyle"):
        style_name.set(VALUE, re.sub("heading.", "p", style_name.get(VALUE, "")))
    repeated = [is_on(row.find(f"{WORD}trPr/{WORD}tblHeader")) for row in rows]
    heads = repeated.index(False) if False in repeated else 0
    if not heads and len(rows) > 1 and len(cells[0]) > 1:
        single = all(cell.find(f"{WORD}tcPr/{WORD}gridSpan") is None for cell in cells[0])
        is_set_off = _is_bold(rows[0]) and not _is_bold(rows[1])
        heads = int(is_set_off or (single and names_columns(texts[0], texts[1:SAMPLE_ROWS])))
    for number, row in enumerate(rows):
        _straighten(row)
        for properties in row.findall(f"{WORD}trPr"):
            row.remove(properties)
        if number < heads:
            set_property(row, f"{WORD}trPr", "tblHeader", "1")


def _is_long(cell: "_Element") -> bool:
    return sum(bool(text_of(paragraph, TEXT).strip()) for paragraph in cell.iter(PARAGRAPH)) > 1


def _is_bold(row: "_Element") -> bool:
    return all(is_on(run.find(f"{WORD}rPr/{WORD}b")) for run in row.iter(RUN) if text_of(run, TEXT).strip())


def _straighten(row: "_Element") -> None:
    """Give a row its missing cells; a merged cell with text of its own is shown alone."""
    for cell in row.iterchildren(CELL):
        span, merged = (cell.find(f"{WORD}tcPr/{WORD}{name}") for name in ("gridSpan", "vMerge"))
        if span is not None:
            span.set(VALUE, str(max(read_number(span.get(VALUE), 1), 1)))
        if merged is not None and text_of(cell, TEXT).strip():
            merged.set(VALUE, "restart")
    if ahead := read_number(value_of(row, f"trPr/{WORD}gridBefore"), 0):
        cell = row.makeelement(CELL)
        set_property(cell, f"{WORD}tcPr", "gridSpan", str(ahead))
        row.insert(next((at for at, child in enumerate(row) if child.tag == CELL), len(row)), cell)


def set_property(element: "_Element", holder_name: str, name: str, value: str) -> None:
    """Set a property of an element, in the child that holds its properties."""
    holder = element.find(holder_name)
    if holder is None:
        holder = element.makeelement(holder_name)
        element.insert(0, holder)
    for old in holder.findall(WORD + name):
        holder.remove(old)
    holder.append(holder.makeelement(WORD + name, {VALUE: value}))


def new_run(beside: "_Element", text: str) -> "_Element":
    """Return a run with this text."""
    run = beside.makeelement(RUN)
    run.append(run.makeelement(TEXT))
    run[0].text = text
    return run
