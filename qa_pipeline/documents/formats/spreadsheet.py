"""Spreadsheets (XLSX, XLSM, ODS): each sheet a section, each row a line that can be understood alone.

Formulas are read as the values last saved with them. Values stand as they are stored: 0.25 where a sheet
shows 25 %. Links to other files are never followed.
"""

import io
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.archives import ZIP_START, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.delimited import SAMPLE_ROWS, first_row, names_columns
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.documents.formats.rows import Cell, counted_lines
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

_Row = list[str]
_UNNAMED = re.compile(r"(?:Sheet|Tabelle|Blad|Table|Tabell|Kalkylblad) ?1")
"""The names that programs give the only sheet of a new file, in English, German and Swedish."""
_MOST_CELLS = 20_000_000
"""Places between the first and last cell of a sheet; the library takes memory for each."""


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one spreadsheet.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `archive_bomb`, `too_many_rows` or `too_long`.
    """
    workbook = _open(source.content, settings)
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    omissions = Omissions()
    blocks: list[Block] = []
    rows = 0
    visible = [sheet for sheet in workbook.sheets_metadata if sheet.visible == SheetVisibleEnum.Visible]
    for place, about in enumerate(workbook.sheets_metadata):
        if about.typ != SheetTypeEnum.WorkSheet:
            omissions.add("chart_sheet", about.name)
            continue
        rows_of_sheet = _rows_of(workbook, place, settings.max_rows - rows, settings)
        rows += len(rows_of_sheet)
        if about.visible != SheetVisibleEnum.Visible:
            omissions.add("hidden_sheet", "".join("".join(row) for row in rows_of_sheet))
            continue
        tables = [block for table in _find_tables(rows_of_sheet) for block in _write_table(table, omissions)]
        if tables and not (len(visible) == 1 and _UNNAMED.fullmatch(about.name)):
            blocks.append(Block("heading", about.name, 2))
        blocks += tables
        check_length(sum(len(block.text) for block in tables), settings)
    return ParsedFile(blocks=tuple(blocks), left_out=omissions.record())


def _open(content: bytes, settings: DocumentSettings) -> "CalamineWorkbook":
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    if content.startswith(ZIP_START):
        open_archive(content, settings)  # keeps the limits on members and what they decompress to
    try:
        return CalamineWorkbook.from_filelike(io.BytesIO(content))
    except PasswordError as error:
        raise DocumentFailure("encrypted", "the content is protected by a password") from error
    except CalamineError as error:
        raise DocumentFailure("damaged", "the file cannot be read as a spreadsheet") from error


def _rows_of(workbook: "CalamineWorkbook", place: int, most: int, settings: DocumentSettings) -> list[_Row]:
    """Return the rows of a sheet as text, blank ones included, with merged cells filled."""
    from python_calamine import CalamineError

    try:
        sheet = workbook.get_sheet_by_index(place)
    except CalamineError as error:
        raise DocumentFailure("damaged", "a sheet of the file cannot be read") from error
    if sheet.height > most:
        raise too_many_rows(settings)
    if sheet.height * sheet.width > _MOST_CELLS:
        raise DocumentFailure("too_long", f"a sheet reaches over more than {_MOST_CELLS} cells")
    rows = [[_write_value(value) for value in row] for row in sheet.iter_rows()]
    # The text of a merged cell goes into the rows it covers below, so that each is understood alone.
    top, first_column = sheet.start or (0, 0)
    for (first, start), (last, _) in sheet.merged_cell_ranges or ():
        if first < last and 0 <= first - top < len(rows) and start - first_column < len(rows[first - top]):
            column = start - first_column
            for row in rows[first - top + 1 : last - top + 1]:
                row[column] = row[column] or rows[first - top][column]
    return rows


def _write_value(value: object) -> str:
    """Return a cell as text: whole numbers without a decimal point, days without a time of day."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes" if not value.second else "seconds")
    if isinstance(value, date):
        return value.isoformat()
    return " ".join(str(value).split())


def _find_tables(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Yield the rows together between blank ones, without columns that are blank in all of them."""
    table: list[_Row] = []
    for row in [*rows, []]:
        if any(row):
            table.append(row)
        elif table:
            used = [place for place in range(len(table[0])) if any(table_row[place] for table_row in table)]
            yield [[table_row[place] for place in used] for table_row in table]
            table = []


def _write_table(table: list[_Row], omissions: Omissions) -> Iterator[Block]:
    """Yield a table as lines; lines of one cell above a table, such as its caption, are paragraphs."""
    first = first_row(table, len(table[0]))
    for row in table[:first]:
        yield Block("paragraph", " ".join(filter(None, row)))
    rest = table[first:]
    has_header = len(rest) > 1 and names_columns(rest[0], rest[1 : SAMPLE_ROWS + 1])
    cells = [[Cell(text, header=has_header and not place) for text in row] for place, row in enumerate(rest)]
    for line in counted_lines(cells, omissions):
        yield Block("table_row", line)
