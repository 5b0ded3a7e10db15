"""Sheets of XLSX and ODS files as a person sees them; hidden cells are counted."""

import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.archives import ZIP_START, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure, ReaderLimits, too_many_rows
from qa_pipeline.documents.formats.formulas import LEVEL, LOWERED, RAISED, SCRIPTS, STRUCK, settle, shift_of
from qa_pipeline.documents.formats.number_formats import show_moment, show_number
from qa_pipeline.documents.formats.odt import OFFICE, STYLE, TABLE, TEXT, read_trees
from qa_pipeline.documents.formats.office.package import library_failures, open_package, read_number
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element
    from openpyxl.cell.cell import Cell
    from openpyxl.styles.colors import Color
    from openpyxl.worksheet.worksheet import Worksheet

_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_MOST_REPEATED = 100  # equal cells or rows that an ODS writes as one: more are blank, or made to fill memory
_LAST_COLUMN = 16_384  # of an XLSX sheet
_SIGNS = {"sup": RAISED, "sub": LOWERED, "deleted_text": STRUCK}
_ODS_BLANKS = frozenset({f"{TEXT}s", f"{TEXT}tab", f"{TEXT}line-break"})
_HIDING = frozenset({"collapse", "filter"})
_LOCAL_FORMATS = frozenset({*range(5, 9), *range(37, 45)})  # currency and brackets depend on the country
_COLOURS = {
    "theme": {0: "FFFFFF", 1: "000000"},
    "indexed": {0: "000000", 1: "FFFFFF", 8: "000000", 9: "FFFFFF", 64: "000000"},
}


@dataclass
class Sheet:
    """The text of the visible cells by row and column, the merged ranges, and the hidden rows.

    A merged range is its first row, first column, last row and last column.
    """

    name: str
    is_hidden: bool
    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    length: int = 0

    def count(self, text: str, settings: DocumentSettings) -> None:
        """Refuse a sheet whose cells, hidden ones included, are too long: a shared text may fill them."""
        self.length += len(text)
        check_length(self.length, settings, "a sheet")


def read_sheets(
    content: bytes, settings: DocumentSettings, limits: ReaderLimits, omissions: Omissions
) -> list[Sheet]:
    """Return the sheets of an XLSX or ODS file."""
    archive = open_archive(content, limits) if content.startswith(ZIP_START) else None
    if archive is not None and archive.find("content.xml") is not None:
        root = read_trees(archive)[0]
        effects = {style.get(f"{STYLE}name", ""): _effect_of(style) for style in root.iter(f"{STYLE}style")}
        tables = root.iterfind(f"{OFFICE}body/{OFFICE}spreadsheet/{TABLE}table")
        return [_read_ods_table(table, effects, settings, omissions) for table in tables]
    from openpyxl import load_workbook

    package, main = open_package(content, "Excel", limits)
    parts = package.linked(main, "worksheet")  # their rows are counted before openpyxl reads them all
    if sum(package.archive.read(part).count(b"</row>") for part in parts) > limits.rows:
        raise too_many_rows(limits)
    with library_failures(), warnings.catch_warnings(action="ignore"):
        book = load_workbook(io.BytesIO(content), data_only=True, rich_text=True, keep_links=False)
        if len(book.sheetnames) < len(list(package.tree(main).iterfind("{*}sheets/{*}sheet"))):
            raise DocumentFailure("damaged", "a sheet that the workbook names is missing in it")
        for chart in book.chartsheets:
            omissions.add("chart_sheet", chart.title)
        return [_read_worksheet(sheet, settings, omissions) for sheet in book.worksheets]


def _read_worksheet(source: "Worksheet", settings: DocumentSettings, omissions: Omissions) -> Sheet:
    """Return a sheet of an XLSX file; comments, hidden and struck cells are counted."""
    sheet = Sheet(source.title, source.sheet_state != "visible")
    sheet.hidden_rows = {
        number for number, row in source.row_dimensions.items() if row.hidden or row.height == 0
    }
    for column in source.column_dimensions.values():
        if column.hidden or column.width == 0:
            sheet.hidden_columns.update(range(column.min, min(column.max, _LAST_COLUMN) + 1))
    sheet.merged = [(area.min_row, area.min_col, area.max_row, area.max_col) for area in source.merged_cells]
    # a condition or the style of a table may colour the ground of a cell
    has_plain_ground = not source.conditional_formatting and not source.tables
    for (row, column), cell in sorted(source._cells.items()):  # noqa: SLF001 - `rows` has the blank cells too
        if cell.comment is not None:
            omissions.add("comment", cell.comment.text)
        if cell.value is None:
            continue
        sheet.count(str(cell.value), settings)
        text = _show(cell, omissions)
        ground = _colour(cell.fill.fgColor) if cell.fill.fill_type == "solid" else "FFFFFF"
        is_blended = has_plain_ground and ground != "" and _colour(cell.font.color) == ground
        if not text or is_blended or row in sheet.hidden_rows or column in sheet.hidden_columns:
            omissions.add("hidden", text or str(cell.value))
        elif cell.font.strike:
            omissions.add("deleted_text", text)
        else:
            sheet.rows.setdefault(row, {})[column] = text
    return sheet


def _colour(colour: "Color | None") -> str:
    """Return the digits of a colour, such as `FF0000`; "" if it is unknown."""
    if colour is None:
        return "000000"
    if colour.type == "rgb":
        return str(colour.value)[-6:].upper()
    return "" if colour.tint else _COLOURS.get(colour.type, {}).get(colour.value, "")


def _show(cell: "Cell", omissions: Omissions) -> str:
    """Return the text of a cell; "" if its format hides it."""
    value, form = cell.value, cell.number_format
    if form == ";;;":
        return ""
    if cell._style.numFmtId in _LOCAL_FORMATS:  # noqa: SLF001 - no public way
        form = form.partition(";")[0].replace('"$"', "")
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return show_number(value, form)
    if isinstance(value, date | time | timedelta):
        return show_moment(value, form)
    parts = []
    for part in value if isinstance(value, list) else [value]:  # a list has runs of several fonts
        font = getattr(part, "font", None)
        sign: str | None = None
        if font is not None:
            sign = STRUCK if font.strike else SCRIPTS.get(font.vertAlign)
        parts.append(f"{sign}{part}{LEVEL}" if sign else str(part))
    return settle(" ".join("".join(parts).split()), omissions)


def _effect_of(style: "_Element") -> str:
    """Return the effect of an ODS style: hidden, deleted_text, sup, sub or an empty text."""
    table, ground, text = (
        style.find(f"{STYLE}{name}-properties") for name in ("table", "table-cell", "text")
    )
    if table is not None and table.get(f"{TABLE}display") == "false":
        return "hidden"
    if text is None:
        return ""
    colour = None if ground is None else ground.get(f"{_FO}background-color")
    ground_colour = "#ffffff" if colour in (None, "transparent") else colour
    if text.get(f"{_FO}color") == ground_colour:
        return "hidden"
    if text.get(f"{STYLE}text-line-through-style", "none") != "none":
        return "deleted_text"
    return shift_of(text.get(f"{STYLE}text-position", ""))


def _read_ods_table(
    table: "_Element", effects: dict[str, str], settings: DocumentSettings, omissions: Omissions
) -> Sheet:
    """Return a sheet of an ODS file; comments, hidden and struck cells are counted."""
    is_hidden = effects.get(table.get(f"{TABLE}style-name", "")) == "hidden"
    sheet = Sheet(table.get(f"{TABLE}name", ""), is_hidden)
    first_column = 0
    for column in table.iter(f"{TABLE}table-column"):
        after = first_column + _number(column, "columns-repeated")
        if column.get(f"{TABLE}visibility") in _HIDING:
            sheet.hidden_columns.update(range(first_column, min(after, _LAST_COLUMN)))
        first_column = after
    for comment in table.iter(f"{OFFICE}annotation"):
        omissions.add("comment", "".join(map(str, comment.itertext())))
    first_row = 0
    for row in table.iter(f"{TABLE}table-row"):
        repeats = _number(row, "rows-repeated")
        numbers = range(first_row, first_row + min(repeats, _MOST_REPEATED))
        is_row_hidden = row.get(f"{TABLE}visibility") in _HIDING
        if is_row_hidden:
            sheet.hidden_rows.update(numbers)
        texts: dict[int, str] = {}
        for cell, column_number, text in _ods_cells(row, first_row, sheet, effects):
            sheet.count(text * len(numbers), settings)
            is_cell_hidden = is_row_hidden or column_number in sheet.hidden_columns
            is_cell_hidden = is_cell_hidden or cell.tag == f"{TABLE}covered-table-cell"
            effect = "hidden" if is_cell_hidden else effects.get(cell.get(f"{TABLE}style-name", ""), "")
            if effect in ("hidden", "deleted_text"):
                omissions.add(effect, text)
            elif shown_text := settle(text, omissions).strip():
                texts[column_number] = shown_text
        sheet.rows.update((number, dict(texts)) for number in numbers if texts)
        first_row += repeats
    return sheet


def _ods_cells(
    row: "_Element", row_number: int, sheet: Sheet, effects: dict[str, str]
) -> "Iterator[tuple[_Element, int, str]]":
    """Yield the filled cells of a row with their columns and texts, and add merged ranges to the sheet."""
    first_column = 0
    for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
        rows, columns = _number(cell, "rows-spanned"), _number(cell, "columns-spanned")
        if rows > 1 or columns > 1:
            area = (row_number, first_column, row_number + rows - 1, first_column + columns - 1)
            sheet.merged.append(area)
        text, repeats = _ods_text(cell, effects), _number(cell, "columns-repeated")
        if text:
            for column in range(first_column, first_column + min(repeats, _MOST_REPEATED)):
                yield cell, column, text
        first_column += repeats


def _number(element: "_Element", name: str) -> int:
    return read_number(element.get(f"{TABLE}number-{name}"), 1)


def _ods_text(cell: "_Element", effects: dict[str, str]) -> str:
    """Return the text of a cell, with signs around raised, lowered and struck text (see `settle`)."""
    lines = (_ods_line(line, effects) for line in cell.iterchildren(f"{TEXT}p"))
    text = " ".join(" ".join(lines).split())
    is_negative = cell.get(f"{OFFICE}value", "").startswith("-")
    # the colour alone may show a minus
    shows_sign = any(sign in text for sign in "-−(") or not any(digit in text for digit in "123456789")
    return f"-{text}" if is_negative and not shows_sign else text


def _ods_line(element: "_Element", effects: dict[str, str]) -> str:
    """Return the text of a paragraph or span, which may hold further spans."""
    parts = [element.text or ""]
    for child in element:
        inside = " " if child.tag in _ODS_BLANKS else _ods_line(child, effects)
        sign = _SIGNS.get(effects.get(child.get(f"{TEXT}style-name", ""), ""))
        parts += [f"{sign}{inside}{LEVEL}" if sign else inside, child.tail or ""]
    return "".join(parts)
