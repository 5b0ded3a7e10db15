"""Sheets of XLSX and ODS files as a person sees them; hidden cells are counted."""

import io
import re
import warnings
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.archives import ZIP_START, Archive, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure, ReaderLimits
from qa_pipeline.documents.formats.formulas import LEVEL, SCRIPTS, STRUCK, settle
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.odt import OFFICE, STYLE, TABLE, TEXT, Markup, read_trees
from qa_pipeline.documents.formats.office.package import (
    LINK,
    library_failures,
    open_package,
    read_number,
    text_of,
)
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element
    from openpyxl.cell.read_only import ReadOnlyCell
    from openpyxl.styles.colors import Color

_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_MOST_REPEATED = 100  # equal cells or rows that an ODS writes as one: more are blank, or made to fill memory
_LAST_ROW, _LAST_COLUMN = 1_048_576, 16_384  # of an XLSX sheet
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
    hidden_columns: set[int] = field(default_factory=set)
    length: int = 0
    coloured: list[str] = field(default_factory=list)  # ranges whose ground a condition may colour
    has_tables: bool = False  # whose format may colour the ground of cells without a fill

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
        root, *others = read_trees(archive)
        markup = Markup([root, *others], omissions)
        unseen = {style.get(f"{STYLE}name", ""): _unseen_as(style) for style in root.iter(f"{STYLE}style")}
        tables = root.iterfind(f"{OFFICE}body/{OFFICE}spreadsheet/{TABLE}table")
        return [_read_table(table, markup, unseen, settings) for table in tables]
    from openpyxl import load_workbook

    package, main = open_package(content, "Excel", limits)
    parts = package.linked(main, "worksheet")
    if sum(package.archive.read(part).count(b"</row>") for part in parts) > limits.rows:
        raise too_many_rows(limits)
    for part in parts:
        for comments in package.trees(part, "comments"):
            for comment in comments.iterfind("{*}commentList/{*}comment"):
                omissions.add("comment", text_of(comment, "{*}t"))
    with library_failures(), warnings.catch_warnings(action="ignore"):
        links = package.links(main)
        targets = {
            sheet.get("name"): links[sheet.get(f"{LINK}id", "")][1]
            for sheet in package.tree(main).iterfind("{*}sheets/{*}sheet")
        }
        book = load_workbook(
            io.BytesIO(package.content), read_only=True, data_only=True, rich_text=True, keep_links=False
        )
        for chart in book.chartsheets:
            omissions.add("chart_sheet", chart.title)
        if len(book.sheetnames) < len(targets):
            raise DocumentFailure("damaged", "a sheet that the workbook names is missing in it")
        return [
            _read_worksheet(sheet, package.archive, targets[sheet.title], settings, omissions)
            for sheet in book.worksheets
        ]


def _read_worksheet(
    source: Any, archive: Archive, part: str, settings: DocumentSettings, omissions: Omissions
) -> Sheet:
    from openpyxl.worksheet.cell_range import MultiCellRange

    sheet = Sheet(source.title, source.sheet_state != "visible")
    _read_layout(archive, part, sheet)
    coloured = MultiCellRange(" ".join(sheet.coloured))
    source.reset_dimensions()  # those that the file states may be wrong, and make blank rows wide
    for cell in (cell for row in source.iter_rows(max_row=_LAST_ROW) for cell in row):
        if cell.value is None:
            continue
        sheet.count(str(cell.value), settings)
        text, is_shown = _show(cell, omissions)
        if is_shown and _is_unseen(cell) and cell.coordinate not in coloured:
            is_shown = sheet.has_tables and cell.fill.fill_type != "solid"
        if text and (not is_shown or cell.row in sheet.hidden_rows or cell.column in sheet.hidden_columns):
            omissions.add("hidden", text)
        elif text:
            sheet.rows.setdefault(cell.row, {})[cell.column] = text
    return sheet


def _read_layout(archive: Archive, part: str, sheet: Sheet) -> None:
    """Add hidden, merged and coloured cells to a sheet."""
    from lxml.etree import QName, iterparse
    from openpyxl.utils import range_boundaries

    number = 0
    names = ("col", "row", "mergeCell", "conditionalFormatting", "tablePart")
    with archive.open(part) as stream:
        for _, element in iterparse(stream, tag=[f"{{*}}{name}" for name in names], resolve_entities=False):
            match QName(element).localname:
                case "col" if _is_hidden(element, "width"):
                    first, last = int(element.get("min", "")), int(element.get("max", ""))
                    sheet.hidden_columns.update(range(first, min(last, _LAST_COLUMN) + 1))
                case "row":
                    number = read_number(element.get("r"), number + 1)
                    if _is_hidden(element, "ht"):
                        sheet.hidden_rows.add(number)
                    element.clear()
                case "mergeCell":
                    left, top, right, bottom = range_boundaries(element.get("ref"))
                    sheet.merged.append((top, left, bottom, right))
                case "conditionalFormatting":
                    sheet.coloured.append(element.get("sqref", ""))
                case "tablePart":
                    sheet.has_tables = True


def _is_unseen(cell: "ReadOnlyCell") -> bool:
    ground = _colour(cell.fill.fgColor) if cell.fill.fill_type == "solid" else "FFFFFF"
    return bool(ground) and _colour(cell.font.color) == ground


def _colour(colour: "Color | None") -> str:
    if colour is None:
        return "000000"
    if colour.type == "rgb":
        return str(colour.value)[-6:].upper()
    return "" if colour.tint else _COLOURS.get(colour.type, {}).get(colour.value, "")


def _is_hidden(about: "_Element", size: str) -> bool:
    return about.get("hidden") in ("1", "true") or about.get(size) in ("0", "0.0")


def _show(cell: "ReadOnlyCell", omissions: Omissions) -> tuple[str, bool]:
    """Return the text of a cell, and True if its format shows it; struck-out text is counted."""
    form = "" if cell.number_format == "General" else cell.number_format
    if cell.style_array.numFmtId in _LOCAL_FORMATS:
        form = form.partition(";")[0].replace('"$"', "")
    text = _write_value(cell.value, form)
    if not text or form == ";;;":
        return str(cell.value).strip(), False
    return settle(f"{STRUCK}{text}{LEVEL}" if cell.font.strike else text, omissions), True


def _write_value(value: object, form: str) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        plain = str(int(value)) if abs(value) < 1e15 and value == int(value) else f"{value:.15g}"
        text = show_number(value, form)
        return plain if text is None else text
    if isinstance(value, date | time | timedelta):
        return show_moment(value, form)
    parts: list[str] = []
    for part in value if isinstance(value, list) else [value]:  # a list has runs of several fonts
        font = getattr(part, "font", None)
        sign = font and (STRUCK if font.strike else SCRIPTS.get(font.vertAlign))
        parts.append(f"{sign}{part}{LEVEL}" if sign else str(part))
    return " ".join("".join(parts).split())


def _unseen_as(style: "_Element") -> str:
    """Return the kind that a style leaves its sheet or text out as, or an empty text."""
    table, ground, text = (
        style.find(f"{STYLE}{name}-properties") for name in ("table", "table-cell", "text")
    )
    if table is not None and table.get(f"{TABLE}display") == "false":
        return "hidden"
    if text is None:
        return ""
    below = None if ground is None else ground.get(f"{_FO}background-color")
    below = "#ffffff" if below in (None, "transparent") else below
    if text.get(f"{_FO}color") == below:
        return "hidden"
    return "" if text.get(f"{STYLE}text-line-through-style", "none") == "none" else "deleted_text"


def _read_table(
    table: "_Element", markup: Markup, unseen: dict[str, str], settings: DocumentSettings
) -> Sheet:
    style = table.get(f"{TABLE}style-name", "")
    sheet = Sheet(table.get(f"{TABLE}name", ""), unseen.get(style) == "hidden")
    start = 0
    for about in table.iter(f"{TABLE}table-column"):
        stop = start + _number(about, "columns-repeated")
        if about.get(f"{TABLE}visibility") in _HIDING:
            sheet.hidden_columns.update(range(start, min(stop, _LAST_COLUMN)))
        start = stop
    top = 0
    for row in table.iter(f"{TABLE}table-row"):
        numbers = range(top, top + min(_number(row, "rows-repeated"), _MOST_REPEATED))
        is_hidden = row.get(f"{TABLE}visibility") in _HIDING
        if is_hidden:
            sheet.hidden_rows.update(numbers)
        texts: dict[int, str] = {}
        column = 0
        for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            rows, columns = _number(cell, "rows-spanned"), _number(cell, "columns-spanned")
            if rows > 1 or columns > 1:
                sheet.merged.append((top, column, top + rows - 1, column + columns - 1))
            text, repeated = _cell_text(cell, markup), _number(cell, "columns-repeated")
            kind = "hidden" if is_hidden else unseen.get(cell.get(f"{TABLE}style-name", ""), "")
            for place in range(column, column + min(repeated, _MOST_REPEATED)) if text else ():
                sheet.count(text * len(numbers), settings)
                if kind or place in sheet.hidden_columns:
                    markup.omissions.add(kind or "hidden", text)
                else:
                    texts[place] = text
            column += repeated
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
    text = " ".join(" ".join(line.text or "" for line in cell).split())
    is_negative = cell.get(f"{OFFICE}value", "").startswith("-") and any(sign in text for sign in "123456789")
    # shown by its colour alone
    return f"-{text}" if is_negative and not any(sign in text for sign in "-−(") else text


_LITERAL = re.compile(
    r'"([^"]*)"|\\(.)|\[\$([^\]-]{0,20})[^\]]{0,20}\]|(?P<blank>[_*].)|\[[^\]]{0,40}\]', re.DOTALL
)
_PARTS = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]{0,200}\]|[^;])*)(?:;|$)')
_SHAPE = re.compile(
    r"(?P<before>[^0#?.,eE]*)(?P<whole>[0#?][0#?,]*(?<!,))?(?:\.(?P<decimals>[0#?]*))?(?P<after>[^0#?.,eE]*)"
)
"""Signs around the digits before and behind the point."""
_CONDITION = re.compile(r"\[[<>=]")
_ANY = re.compile("General|@|/", re.IGNORECASE)
"""Formats that are ignored: text and fractions."""
_FIELDS = re.compile(r'"[^"]*"|\\.|\[\$[^\]]{0,200}\]|\[[A-Za-z]{4,200}\]|AM/PM|A/P', re.IGNORECASE)
_LONGEST = 200  # characters of a format: longer ones are no format, and each cell would pay for them
_LARGEST = 1e21
_APART = 0xE000
"""Added to the code of a quoted character while the format around it is taken apart."""


def show_moment(moment: date | time | timedelta, form: str) -> str:
    """Return a date, time or duration in the order of ISO 8601, as far as a format shows it."""
    fields = set(_FIELDS.sub("", form).lower())  # letters of the parts that are shown
    day = clock = seconds = ""
    if isinstance(moment, timedelta):
        minutes, rest = divmod(int(moment.total_seconds()), 60)
        clock, seconds = f"{minutes // 60}:{minutes % 60:02}", f":{rest:02}"
    elif isinstance(moment, datetime | time):
        clock, seconds = f"{moment:%H:%M}", f":{moment:%S}"
    if isinstance(moment, date) and (not form or fields & set("yd") or not fields & set("hs")):
        no_day = "y" in fields and "d" not in fields
        day = moment.isoformat()[: 10 if not no_day else 7 if "m" in fields else 4]
    if day and not fields & set("hs") and (form or clock == "00:00"):
        clock = ""
    shows_seconds = clock and ("s" in fields or (not form and seconds != ":00"))
    return f"{day} {clock}{seconds if shows_seconds else ''}".strip()


def show_number(value: float, form: str) -> str | None:
    """Return a number as its format shows it (ECMA-376, 18.8.31), or None for an unknown format.

    An empty text is hidden by the format. Signs are those of English; colours and widths are ignored.
    """
    if not form or len(form) > _LONGEST or not abs(value) < _LARGEST or _CONDITION.search(form):
        return None
    shapes = _shapes(form)
    own_negative = value < 0 and len(shapes) > 1
    shape = shapes[1 if own_negative else 2 if value == 0 and len(shapes) > 2 else 0]
    try:
        text = None if shape is None else _fill(value, shape)
        unsigned = _fill(value, shapes[0]) if own_negative and shapes[0] else None
    except InvalidOperation:  # more digits than any program shows
        return None
    if text and value < 0 and any(digit in text for digit in "123456789"):
        return f"-{text}" if not own_negative or text == unsigned else text
    return text


@lru_cache(maxsize=512)
def _shapes(form: str) -> tuple[tuple[str, ...] | None, ...]:
    """Return the parsed forms for positive and negative numbers and for zero; None for a form of text."""
    parts = _PARTS.findall(form)[:-1][:3]
    matches = (
        None if _ANY.search(part) else _SHAPE.fullmatch(_LITERAL.sub(_set_apart, part)) for part in parts
    )
    return tuple(match and match.groups("") for match in matches)


def _fill(value: float, shape: tuple[str, ...]) -> str:
    before, whole, decimals, after = shape
    digits = ""
    if whole or decimals:
        number = abs(Decimal(repr(value))).scaleb(2 * (before + after).count("%"))
        rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
        digits, _, behind = f"{rounded:{',' if ',' in whole else ''}f}".partition(".")
        least = len(decimals.rstrip("#?"))
        behind = behind[:least] + behind[least:].rstrip("0")
        digits = ("" if digits == "0" else digits).rjust(whole.count("0"), "0")
        digits = f"{digits}.{behind}" if behind else digits
    text = "".join(
        chr(ord(sign) - _APART) if ord(sign) >= _APART else sign for sign in f"{before}{digits}{after}"
    )
    return re.sub(r"^- (?=\d)", "-", " ".join(text.split()))  # the sign stands at the edge of the cell


def _set_apart(literal: re.Match[str]) -> str:
    text = next(filter(None, literal.group(1, 2, 3)), " " if literal["blank"] else "")
    return "".join(chr(ord(sign) + _APART) for sign in text if ord(sign) < _APART)
