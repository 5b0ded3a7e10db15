"""Sheets of XLSX and ODS files as a person sees them; what is hidden is counted."""

import warnings
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.archives import ZIP_START, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.formulas import LEVEL, SCRIPTS, STRUCK, settle
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.number_formats import show_moment, show_number
from qa_pipeline.documents.formats.odt import OFFICE, STYLE, TABLE, TEXT, Markup, read_trees
from qa_pipeline.documents.formats.office.package import (
    Package,
    library_failures,
    open_package,
    read_number,
    text_of,
)
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.documents.limits import ReaderLimits

if TYPE_CHECKING:
    from lxml.etree import _Element
    from openpyxl.cell.read_only import ReadOnlyCell
    from openpyxl.styles.colors import Color
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet
    from openpyxl.worksheet._reader import WorkSheetParser

_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_MOST_REPEATED = 100  # equal cells or rows that an ODS writes as one: more are blank, or made to fill memory
_MOST_CELLS = 5_000_000  # of an ODS sheet, once those written as one are counted
_HIDING = frozenset({"collapse", "filter"})
_LOCAL_FORMATS = frozenset({*range(5, 9), *range(37, 45)})  # currency and brackets depend on the country
_COLOURS = {
    "theme": {0: "FFFFFF", 1: "000000"},
    "indexed": {0: "000000", 1: "FFFFFF", 8: "000000", 9: "FFFFFF", 64: "000000"},
}


@dataclass
class Sheet:
    """The text of the visible cells by row and column, the merged ranges, and the hidden rows."""

    name: str
    is_hidden: bool
    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    hidden_rows: set[int] = field(default_factory=set)


def read_sheets(content: bytes, limits: ReaderLimits, omissions: Omissions) -> Iterator[Sheet]:
    """Yield the sheets of a file; merged ranges are first row and column, last row and column.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `archive_bomb`, `unsupported_format`, `too_many_rows` or
            `too_long`.
    """
    archive = open_archive(content, limits) if content.startswith(ZIP_START) else None
    if archive is not None and archive.find("content.xml") is not None:
        root, *others = read_trees(archive)
        markup = Markup([root, *others], omissions, lambda _: None)
        hidden = {style.get(f"{STYLE}name", "") for style in root.iter(f"{STYLE}style") if _hides(style)}
        for table in root.iterfind(f"{OFFICE}body/{OFFICE}spreadsheet/{TABLE}table"):
            yield _read_table(table, markup, hidden)
    else:
        package, main = open_package(content, "Excel", limits)
        yield from _read_workbook(package, main, limits, omissions)


def _read_workbook(package: Package, main: str, limits: ReaderLimits, omissions: Omissions) -> list[Sheet]:
    from openpyxl import load_workbook

    parts = package.linked(main, "worksheet")
    if sum(package.archive.read(part).count(b"</row>") for part in parts) > limits.rows:
        raise too_many_rows(limits)
    for part in parts:
        for comments in package.trees(part, "comments"):
            for comment in comments.iterfind("{*}commentList/{*}comment"):
                omissions.add("comment", text_of(comment, "{*}t"))
    named = len(package.tree(main).findall("{*}sheets/{*}sheet"))
    with library_failures(), warnings.catch_warnings(action="ignore"):
        book = load_workbook(
            package.file(main), read_only=True, data_only=True, rich_text=True, keep_links=False
        )
        for chart in book.chartsheets:
            omissions.add("chart_sheet", chart.title)
        if len(book.sheetnames) < named:
            raise DocumentFailure("damaged", "a sheet that the workbook names is missing in it")
        return [_read_worksheet(sheet, omissions) for sheet in book.worksheets]


def _read_worksheet(source: "ReadOnlyWorksheet", omissions: Omissions) -> Sheet:
    from openpyxl.cell.read_only import ReadOnlyCell
    from openpyxl.utils import range_boundaries

    sheet = Sheet(source.title, source.sheet_state != "visible")
    parser = _parser_of(source)
    doubtful: list[ReadOnlyCell] = []  # a format below the cells may colour their ground
    for number, row in parser.parse():
        is_hidden = _is_hidden(parser.row_dimensions.get(str(number), {}), "ht")
        if is_hidden:
            sheet.hidden_rows.add(number)
        columns = [about for about in parser.column_dimensions.values() if _is_hidden(about, "width")]
        cells = [ReadOnlyCell(source, **cell) for cell in row]
        sheet.rows[number] = {}
        for cell in cells:
            text, is_shown = _show(cell, omissions)
            hides = (int(about["min"]) <= cell.column <= int(about["max"]) for about in columns)
            if text and (is_hidden or not is_shown or any(hides)):
                omissions.add("hidden", text)
            elif text:
                sheet.rows[number][cell.column] = text
        doubtful += [cell for cell in cells if cell.column in sheet.rows[number] and _is_unseen(cell)]
    for cell in doubtful:
        is_coloured = any(cell.coordinate in formatting for formatting in parser.formatting)
        if not is_coloured and (cell.fill.fill_type == "solid" or not parser.tables.tablePart):
            omissions.add("hidden", sheet.rows[cell.row].pop(cell.column))
    sheet.rows = {number: texts for number, texts in sheet.rows.items() if texts}
    for merged in parser.merged_cells.mergeCell if parser.merged_cells else ():
        left, top, right, bottom = range_boundaries(merged.ref)
        sheet.merged.append((top, left, bottom, right))
    return sheet


def _is_unseen(cell: "ReadOnlyCell") -> bool:
    """Return True if text has the colour of its ground, white where a cell is not filled."""
    ground = _colour(cell.fill.fgColor) if cell.fill.fill_type == "solid" else "FFFFFF"
    return bool(ground) and _colour(cell.font.color) == ground


def _colour(colour: "Color | None") -> str:
    """Return a colour as RGB where it is known, text being black by default."""
    if colour is None:
        return "000000"
    if colour.type == "rgb":
        return str(colour.value)[-6:].upper()
    return "" if colour.tint else _COLOURS.get(colour.type, {}).get(colour.value, "")


def _parser_of(sheet: "ReadOnlyWorksheet") -> "WorkSheetParser":
    """Return the library's parser of a sheet, which yields the cells that the file holds and no more.

    Its public sheets hold a cell for every place up to the last one, and for every place of a merged range.
    """
    from openpyxl.worksheet._reader import WorkSheetParser

    book = sheet.parent
    return WorkSheetParser(
        sheet._get_source(),  # noqa: SLF001
        sheet._shared_strings,  # noqa: SLF001
        data_only=True,
        epoch=book.epoch,
        date_formats=book._date_formats,  # noqa: SLF001
        timedelta_formats=book._timedelta_formats,  # noqa: SLF001
        rich_text=True,
    )


def _is_hidden(about: dict[str, str], size: str) -> bool:
    return about.get("hidden") in ("1", "true") or about.get(size) in ("0", "0.0")


def _show(cell: "ReadOnlyCell", omissions: Omissions) -> tuple[str, bool]:
    """Return the text of a cell, and whether its format shows it; struck-out text is counted."""
    value = cell.value
    if value is None:
        return "", True
    form = "" if cell.number_format == "General" else cell.number_format
    if cell.style_array.numFmtId in _LOCAL_FORMATS:
        form = form.partition(";")[0].replace('"$"', "")
    text = _write_value(value, form)
    if not text or form == ";;;":
        return str(value).strip(), False
    return settle(f"{STRUCK}{text}{LEVEL}" if cell.font.strike else text, omissions), True


def _write_value(value: object, form: str) -> str:
    """Return a value as its format shows it; without one whole numbers without a decimal point."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        plain = str(int(value)) if abs(value) < 1e15 and value == int(value) else f"{value:.15g}"
        shown = show_number(value, form)
        return plain if shown is None else shown
    if isinstance(value, date | time | timedelta):
        return show_moment(value, form)
    parts: list[str] = []
    for part in value if isinstance(value, list) else [value]:  # a list has runs of several fonts
        font = getattr(part, "font", None)
        sign = font and (STRUCK if font.strike else SCRIPTS.get(font.vertAlign))
        parts.append(f"{sign}{part}{LEVEL}" if sign else str(part))
    return " ".join("".join(parts).split())


def _hides(style: "_Element") -> bool:
    """Return True if a style hides its sheet, or gives a cell text of the colour of its ground."""
    table, ground, text = (
        style.find(f"{STYLE}{name}-properties") for name in ("table", "table-cell", "text")
    )
    if table is not None and table.get(f"{TABLE}display") == "false":
        return True
    below = None if ground is None else ground.get(f"{_FO}background-color")
    below = "#ffffff" if below in (None, "transparent") else below
    return text is not None and text.get(f"{_FO}color") == below


def _read_table(table: "_Element", markup: Markup, hidden_styles: Set[str]) -> Sheet:
    sheet = Sheet(table.get(f"{TABLE}name", ""), table.get(f"{TABLE}style-name") in hidden_styles)
    hidden_columns: list[range] = []
    start = 0
    for about in table.iter(f"{TABLE}table-column"):
        stop = start + _number(about, "columns-repeated")
        if about.get(f"{TABLE}visibility") in _HIDING:
            hidden_columns.append(range(start, stop))
        start = stop
    top = cells = 0
    for row in table.iter(f"{TABLE}table-row"):
        numbers = range(top, top + min(_number(row, "rows-repeated"), _MOST_REPEATED))
        is_hidden = row.get(f"{TABLE}visibility") in _HIDING
        if is_hidden:
            sheet.hidden_rows.update(numbers)
        texts: dict[int, str] = {}
        left = 0
        for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            rows, columns = _number(cell, "rows-spanned"), _number(cell, "columns-spanned")
            if rows > 1 or columns > 1:
                sheet.merged.append((top, left, top + rows - 1, left + columns - 1))
            text, repeated = _cell_text(cell, markup), _number(cell, "columns-repeated")
            is_unseen = is_hidden or cell.get(f"{TABLE}style-name") in hidden_styles
            for place in range(left, left + min(repeated, _MOST_REPEATED)) if text else ():
                if is_unseen or any(place in hidden for hidden in hidden_columns):
                    markup.omissions.add("hidden", text)
                else:
                    texts[place] = text
            left += repeated
        cells += len(texts) * len(numbers)
        if cells > _MOST_CELLS:
            raise DocumentFailure("too_long", f"a sheet holds more than {_MOST_CELLS} cells")
        sheet.rows.update((number, dict(texts)) for number in numbers if texts)
        top += _number(row, "rows-repeated")
    return sheet


def _number(element: "_Element", name: str) -> int:
    return read_number(element.get(f"{TABLE}number-{name}"), 1)


def _cell_text(cell: "_Element", markup: Markup) -> str:
    if cell.tag == f"{TABLE}covered-table-cell":
        if text := "".join(map(str, cell.itertext())).strip():
            markup.omissions.add("hidden", text)
        return ""
    if any(len(line) or line.tag != f"{TEXT}p" for line in cell):
        return " ".join(block.text for block in read_fragment(markup.of(cell), markup.omissions))
    return " ".join(" ".join(line.text or "" for line in cell).split())
