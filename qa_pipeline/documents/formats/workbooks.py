"""Sheets of XLSX and ODS files as a person sees them, with numbers and dates as their format shows them."""

import io
import re
import warnings
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import DocumentFailure, check_rows
from qa_pipeline.documents.formats import odt
from qa_pipeline.documents.formats.formulas import LEVEL, SCRIPTS, STRUCK, settle
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.office.package import ZIP_START, Archive, open_package, report_damage
from qa_pipeline.documents.formats.rows import Cell
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element
    from openpyxl.cell.cell import Cell as WorkbookCell
    from openpyxl.worksheet.worksheet import Worksheet

_LAST_COLUMN = 16_384  # of an XLSX sheet
_HIDING = frozenset({"collapse", "filter"})  # values of `visibility` in ODS files
_LOCAL_FORMATS = frozenset({*range(5, 9), *range(37, 45)})  # ids of formats that depend on the country
_WHITES = (("theme", 0), ("indexed", 1), ("indexed", 9), ("rgb", "FFFFFFFF"), ("rgb", "00FFFFFF"))
"""Types and values of white: colour 0 of a theme is its paper, and 1 and 9 are white in the palette."""


@dataclass
class Sheet:
    """The visible cells by row and column, which count from 1 in XLSX files and from 0 in ODS files."""

    name: str
    is_hidden: bool
    rows: dict[int, dict[int, Cell]] = field(default_factory=dict)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)  # top, left, bottom, right
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    length: int = 0

    def add_length(self, characters: int, settings: DocumentSettings) -> None:
        """Add the length of cells, hidden or not; raises a DocumentFailure for a sheet that is too long."""
        self.length += characters
        check_length(self.length, settings, "a sheet")


def read_sheets(content: bytes, settings: DocumentSettings, omissions: Omissions) -> list[Sheet]:
    """Return the sheets of an XLSX or ODS file."""
    archive = Archive(content) if content.startswith(ZIP_START) else None
    if archive is not None and archive.find("content.xml") is not None:  # an ODS
        trees = odt.read_trees(archive)
        writer = odt.Markup(trees, omissions)
        tables = trees[0].iterfind(f"{odt.OFFICE}body/{odt.OFFICE}spreadsheet/{odt.TABLE}table")
        return [_read_ods_table(table, writer, settings) for table in tables]
    from openpyxl import load_workbook

    package, main = open_package(content, ".xlsx")
    parts = package.linked(main, "worksheet")  # their rows are counted before openpyxl reads them all
    check_rows(sum(package.read(part).count(b"</row>") for part in parts))
    with report_damage("the workbook is damaged"), warnings.catch_warnings(action="ignore"):
        book = load_workbook(io.BytesIO(content), data_only=True, rich_text=True, keep_links=False)
        if len(book.sheetnames) < len(list(package.tree(main).iterfind("{*}sheets/{*}sheet"))):
            raise DocumentFailure("damaged", "the workbook lacks a sheet that it lists")
        for chart in book.chartsheets:
            omissions.add("chart_sheet", chart.title)
        return [_read_worksheet(sheet, settings, omissions) for sheet in book.worksheets]


def _read_worksheet(source: "Worksheet", settings: DocumentSettings, omissions: Omissions) -> Sheet:
    """Return a sheet of an XLSX file; comments, hidden and struck cells are counted."""
    sheet = Sheet(source.title, source.sheet_state != "visible")
    rows = source.row_dimensions.items()
    sheet.hidden_rows = {number for number, row in rows if row.hidden or row.height == 0}
    for column in source.column_dimensions.values():
        if column.hidden or column.width == 0:
            sheet.hidden_columns.update(range(column.min, min(column.max, _LAST_COLUMN) + 1))
    sheet.merged = [(area.min_row, area.min_col, area.max_row, area.max_col) for area in source.merged_cells]
    # a condition or the style of a table may colour the background of a cell
    has_plain_background = not source.conditional_formatting and not source.tables
    for (row, column), cell in sorted(source._cells.items()):  # noqa: SLF001 - `rows` has the blank cells too
        if cell.comment is not None:
            omissions.add("comment", cell.comment.text)
        if cell.value is None:
            continue
        sheet.add_length(len(str(cell.value)), settings)
        text = _show(cell, omissions)
        colour = cell.font.color
        is_white = colour is not None and not colour.tint and (colour.type, colour.value) in _WHITES
        is_blended = is_white and has_plain_background and cell.fill.fill_type is None
        is_hidden = row in sheet.hidden_rows or column in sheet.hidden_columns
        if not text or is_blended or is_hidden:
            omissions.add("hidden", text or str(cell.value))
        elif cell.font.strike:
            omissions.add("deleted_text", text)
        else:
            sheet.rows.setdefault(row, {})[column] = Cell(text)
    return sheet


def _show(cell: "WorkbookCell", omissions: Omissions) -> str:
    """Return the text of a cell; "" if its format hides it."""
    value, form = cell.value, cell.number_format
    if form == ";;;":  # nothing for positive, negative and zero
        return ""
    # currency formats of the reader's country: `"$"#,##0;("$"#,##0)` gives the number alone
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
        sign = STRUCK if getattr(font, "strike", None) else SCRIPTS.get(getattr(font, "vertAlign", ""))
        parts.append(f"{sign}{part}{LEVEL}" if sign else str(part))
    return settle(" ".join("".join(parts).split()), omissions)


def _read_ods_table(table: "_Element", writer: odt.Markup, settings: DocumentSettings) -> Sheet:
    """Return a sheet of an ODS file; the text of hidden and covered cells is counted as left out."""
    style = writer.styles.get(table.get(f"{odt.TABLE}style-name", ""))
    properties = None if style is None else style.find(f"{odt.STYLE}table-properties")
    is_hidden = properties is not None and properties.get(f"{odt.TABLE}display") == "false"
    sheet = Sheet(table.get(f"{odt.TABLE}name", ""), is_hidden, hidden_columns=_hidden_ods_columns(table))
    first_row = 0
    for row in table.iter(f"{odt.TABLE}table-row"):
        repeats = odt.table_number(row, "rows-repeated")
        # of 500 equal rows the first 100 are stored, but the next row is 500 further on; likewise for cells
        row_numbers = range(first_row, first_row + min(repeats, odt.MOST_REPEATED))
        is_hidden_row = row.get(f"{odt.TABLE}visibility") in _HIDING
        if is_hidden_row:
            sheet.hidden_rows.update(row_numbers)
        first_column = 0
        for cell in row.iterchildren(f"{odt.TABLE}table-cell", f"{odt.TABLE}covered-table-cell"):
            bottom = first_row + odt.table_number(cell, "rows-spanned") - 1
            right = first_column + min(odt.table_number(cell, "columns-spanned"), _LAST_COLUMN) - 1
            if bottom > first_row or right > first_column:
                sheet.merged.append((first_row, first_column, bottom, right))
            text = _ods_text(cell, writer)
            width = odt.table_number(cell, "columns-repeated")
            columns = range(first_column, first_column + min(width, odt.MOST_REPEATED)) if text else ()
            is_covered = cell.tag == f"{odt.TABLE}covered-table-cell"  # a merged cell hides its text
            for column in columns:
                sheet.add_length(len(text) * len(row_numbers), settings)
                if is_covered or is_hidden_row or column in sheet.hidden_columns:
                    writer.omissions.add("hidden", text)
                    continue
                for number in row_numbers:
                    sheet.rows.setdefault(number, {})[column] = Cell(text)
            first_column += width
        first_row += repeats
    return sheet


def _ods_text(cell: "_Element", writer: odt.Markup) -> str:
    """Return the visible text of a cell on a line; the text of a struck-out cell is counted."""
    is_plain = all(child.tag == f"{odt.TEXT}p" and not len(child) for child in cell)
    if is_plain:  # paragraphs of text alone, as in most cells: reading them as HTML would be slow
        text = " ".join(" ".join(line.text or "" for line in cell).split())
    else:
        blocks = read_fragment(writer.inside(cell), writer.omissions, removes_menus=False)
        text = " ".join(" ".join(block.text for block in blocks).split())
    _, css = writer.look_of(cell)
    if text and "line-through" in css:
        writer.omissions.add("deleted_text", text)
        return ""
    return text


def _hidden_ods_columns(table: "_Element") -> set[int]:
    """Return the numbers of the hidden columns, from 0."""
    hidden: set[int] = set()
    first = 0
    for column in table.iter(f"{odt.TABLE}table-column"):
        after = first + odt.table_number(column, "columns-repeated")
        if column.get(f"{odt.TABLE}visibility") in _HIDING:
            hidden.update(range(first, min(after, _LAST_COLUMN)))
        first = after
    return hidden


_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\[\]-]*)[^\[\]]*\]|[_*].|\[[^\[\]]*\]', re.DOTALL)
"""Quoted text, an escaped character, a currency such as `[$€-407]`, and widths and colours, never shown."""
_SECTION = re.compile(r'((?:"[^"]*"|\\.|\[[^\[\]]*\]|[^;])*)(?:;|$)')  # of `positive;negative;zero;`
_SHAPE = re.compile(
    r"[^0#?.,eE@/]*(?P<digits>(?P<whole>[0#?][0#?,]*(?<!,))?(?:\.(?P<decimals>[0#?]+))?)[^0#?.,eE@/]*"
)
"""A section without literals, such as `#,##0.00`; fractions, exponents and thousands (`0,`) do not match."""
_LONGEST = 200  # characters of a format: longer texts are no format, and slow for each cell
_LARGEST = 1e21  # larger numbers are written plain
_LARGEST_EXACT = 1e15  # 15 digits of a float are certain


def show_number(value: float, form: str) -> str:
    """Return a number as its format shows it, with a decimal point, or plain for an unknown format.

    Examples: 99.5 is `€ 99.50` in `[$€-407] #,##0.00`, and "" in `;;`, which hides it.
    """
    plain = str(int(value)) if abs(value) < _LARGEST_EXACT and value == int(value) else f"{value:.15g}"
    has_condition = re.search(r"\[[<>=]", form) is not None  # such as `[>100]`
    if form in ("", "General") or len(form) > _LONGEST or abs(value) > _LARGEST or has_condition:
        return plain
    positive, *others = _SECTION.findall(f"{form};")[:-1]  # without the empty match at the end
    section = positive
    if value < 0 and others:
        section = others[0]
    elif value == 0 and len(others) > 1:
        section = others[1]
    text = _fill_section(value, section)
    if text is None:
        return plain
    is_zero = not any(digit in text for digit in "123456789")  # -0.001 may be shown as 0.00
    # -5 is `(5)` in `0;(0)`, but `-5` in `0;[Red]0`, whose sections give the same text
    needs_minus = value < 0 and not is_zero and text == _fill_section(value, positive)
    return f"-{text}" if needs_minus else text


def _fill_section(value: float, section: str) -> str | None:
    """Return a number without its sign in a section: 0.05 in `"about "0.0#%` is `about 5.0%`; or None."""
    # blanks of the same length keep the offsets of the digits
    without_literals = _LITERAL.sub(lambda literal: " " * len(literal[0]), section)
    shape = _SHAPE.fullmatch(without_literals)
    if shape is None:  # an unknown format, such as `# ?/?`
        return None
    whole, decimals = shape["whole"] or "", shape["decimals"] or ""  # such as `#,##0` and `0#`
    if not whole and not decimals:
        return _unquote(section)
    number = abs(Decimal(repr(value))).scaleb(2 * without_literals.count("%"))  # times 100 for each
    digits = _write_digits(number, whole, decimals)
    if digits is None:
        return None
    before, after = section[: shape.start("digits")], section[shape.end("digits") :]
    return " ".join(f"{_unquote(before)}{digits}{_unquote(after)}".split())


def _write_digits(number: Decimal, whole: str, decimals: str) -> str | None:
    """Return a number of at least 0 with the digits of a format: 1234.5 is `1,234.5` in `#,##0` and `0#`."""
    try:
        rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    except InvalidOperation:  # more digits than any program shows
        return None
    integer, _, fraction = f"{rounded:{',' if ',' in whole else ''}f}".partition(".")
    least_decimals = len(decimals.rstrip("#?"))  # 1 for `0#`, which shows 0.50 as `0.5`, and 2 for `00`
    fraction = fraction[:least_decimals] + fraction[least_decimals:].rstrip("0")
    # `0` always shows a digit, `#` only one that is needed: 7 is `007` in `000`, and 0.5 is `.5` in `#.0`
    integer = ("" if integer == "0" else integer).rjust(whole.count("0"), "0")
    return f"{integer}.{fraction}" if fraction else integer


def _unquote(text: str) -> str:
    return _LITERAL.sub(lambda literal: literal[1] or literal[2] or literal[3] or "", text)


def show_moment(moment: date | time | timedelta, form: str) -> str:
    """Return a date, time or duration as far as its format shows it, dates in ISO 8601.

    Half past nine on 2 May 2024 is `2024-05-02` in `d.m.yy`, `2024-05` in `mmmm` and `mmm yyyy`, `2024` in
    `yyyy`, `09:30:00` in `h:mm` and `mm:ss`, and `2024-05-02 09:30:00` in `d.m. h:mm` and `General`.
    """
    if isinstance(moment, timedelta):
        total = int(moment.total_seconds())
        minutes, seconds = divmod(abs(total), 60)
        return f"{'-' if total < 0 else ''}{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    letters = set("ymdhs").intersection(_LITERAL.sub("", form).lower())  # `m` is a month or the minutes
    clock = f"{moment:%H:%M:%S}" if isinstance(moment, datetime | time) else ""
    shows_only_clock = letters.isdisjoint("yd") and not letters.isdisjoint("hs")
    if isinstance(moment, time) or (isinstance(moment, datetime) and shows_only_clock):
        return clock
    day = moment.isoformat()[:10]
    shows_year_without_day = "y" in letters and "d" not in letters
    if shows_year_without_day or letters == {"m"}:  # `yyyy`, `mmm yyyy` or `mmm`
        day = day[:7] if "m" in letters else day[:4]
    shows_clock = "h" in letters or (not letters and clock != "00:00:00")  # `General` has none of the letters
    return f"{day} {clock}" if clock and shows_clock else day
