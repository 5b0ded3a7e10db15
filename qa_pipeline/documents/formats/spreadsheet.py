"""Spreadsheets (XLSX, XLSM, ODS): each sheet a section, each row a line that can be understood alone.

Formulas are read as the values last saved with them, and values as the sheet shows them: python-calamine
reads what is stored, and how cells look is read beside it. Links to other files are never followed.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, time, timedelta
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.archives import ZIP_START, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.cell_looks import Look, Looks, RowLooks, looks_of
from qa_pipeline.documents.formats.delimited import SAMPLE_ROWS, first_row, names_columns
from qa_pipeline.documents.formats.formulas import LEVEL, STRUCK, settle
from qa_pipeline.documents.formats.number_formats import show_moment, show_number
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.documents.formats.rows import LONGEST_REPEATED, Cell, counted_lines
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

_Row = list[str]
_UNNAMED = re.compile(r"(?:Sheet|Tabelle|Blad|Table|Tabell|Kalkylblad) ?1")
"""The names that programs give the only sheet of a new file, in English, German and Swedish."""
_VALUE = re.compile(r"(?!(?:19|20)\d\d\b)\W?\d")  # a year may be the name of a column
_DIGITS = str.maketrans("0123456789", "abcdefghij")
_PLAIN = Look()
_MOST_CELLS = 20_000_000
"""Places between the first and last cell of a sheet; the library takes memory for each."""


def parse(source: SourceFile, settings: DocumentSettings, limits: ReaderLimits = LIMITS) -> ParsedFile:
    """Parse one spreadsheet.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `archive_bomb`, `too_many_rows` or `too_long`.
    """
    workbook, looks = _open(source.content, limits)
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    omissions = Omissions()
    blocks: list[Block] = []
    rows = 0
    visible = [sheet for sheet in workbook.sheets_metadata if sheet.visible == SheetVisibleEnum.Visible]
    for place, about in enumerate(workbook.sheets_metadata):
        if about.typ != SheetTypeEnum.WorkSheet:
            omissions.add("chart_sheet", about.name)
            continue
        rows_of_sheet, wide_rows = _rows_of(
            workbook, place, looks(place, omissions), limits.rows - rows, limits, omissions
        )
        rows += len(rows_of_sheet)
        if about.visible != SheetVisibleEnum.Visible:
            omissions.add("hidden_sheet", "".join("".join(row) for row in rows_of_sheet))
            continue
        found_tables = _find_tables(rows_of_sheet, wide_rows)
        tables = [block for table in found_tables for block in _write_table(*table, omissions)]
        if tables and not (len(visible) == 1 and _UNNAMED.fullmatch(about.name)):
            blocks.append(Block("heading", about.name, 2))
        blocks += tables
        check_length(sum(len(block.text) for block in tables), settings)
    return ParsedFile(blocks=tuple(blocks), left_out=omissions.record())


def _open(content: bytes, limits: ReaderLimits) -> "tuple[CalamineWorkbook, Looks]":
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    # Opening it keeps the limits on members and what they decompress to.
    archive = open_archive(content, limits) if content.startswith(ZIP_START) else None
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(content))
    except PasswordError as error:
        raise DocumentFailure("encrypted", "the content is protected by a password") from error
    except CalamineError as error:
        raise DocumentFailure("damaged", "the file cannot be read as a spreadsheet") from error
    return workbook, looks_of(archive) if archive else lambda *_: iter(())


def _rows_of(
    workbook: "CalamineWorkbook",
    place: int,
    looks: RowLooks,
    most: int,
    limits: ReaderLimits,
    omissions: Omissions,
) -> tuple[list[_Row], dict[int, _Row]]:
    """Return the rows of a sheet as text, blank ones included, with cells that are merged downwards filled.

    Rows with cells that are merged across come a second time, by their number, with these filled as well.
    """
    from python_calamine import CalamineError

    try:
        sheet = workbook.get_sheet_by_index(place)
    except CalamineError as error:
        raise DocumentFailure("damaged", "a sheet of the file cannot be read") from error
    if sheet.height > most:
        raise too_many_rows(limits)
    if sheet.height * sheet.width > _MOST_CELLS:
        raise DocumentFailure("too_long", f"a sheet reaches over more than {_MOST_CELLS} cells")
    # iter_rows() leaves out blank columns at the left, and yields blank rows above
    _, first_column = sheet.start or (0, 0)
    rows = []
    following = next(looks, None)
    for number, values in enumerate(sheet.iter_rows()):
        while following is not None and following[0] < number:
            following = next(looks, None)
        row_looks = following[1] if following is not None and following[0] == number else {}
        cells = enumerate(values, first_column)
        rows.append([_show(value, row_looks.get(column, _PLAIN), omissions) for column, value in cells])
    # The text of a merged cell goes into the rows it covers below, so that each is understood alone.
    wide_rows: dict[int, _Row] = {}
    for (first, start), (last, stop) in sheet.merged_cell_ranges or ():
        column = start - first_column
        if first < len(rows) and column < len(rows[first]) and len(rows[first][column]) <= LONGEST_REPEATED:
            for row in rows[first + 1 : last + 1]:
                row[column] = row[column] or rows[first][column]
            if stop > start:
                row = wide_rows.setdefault(first, rows[first].copy())
                row[column : stop - first_column + 1] = [row[column]] * len(
                    row[column : stop - first_column + 1]
                )
    return rows, wide_rows


def _show(value: object, look: Look, omissions: Omissions) -> str:
    """Return a cell as a person sees it; struck-out text is counted."""
    text = _write_value(value, look.form) if look.text is None else look.text
    return settle(f"{STRUCK}{text}{LEVEL}" if look.is_struck else text, omissions)


def _write_value(value: object, form: str = "") -> str:
    """Return a cell as its format shows it; without one whole numbers without a decimal point."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        plain = str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
        return show_number(value, form) or plain
    if isinstance(value, date | time | timedelta):
        return show_moment(value, form)
    return " ".join(str(value).split())


def _find_tables(
    rows: Sequence[_Row], wide_rows: Mapping[int, _Row]
) -> Iterator[tuple[list[_Row], list[_Row]]]:
    """Yield the rows together between blank ones, without columns that are blank in all of them.

    They come a second time with cells filled that are merged across.
    """
    table: list[int] = []
    for number, row in enumerate([*rows, []]):
        if any(row):
            table.append(number)
        elif table:
            used = [place for place in range(len(rows[table[0]])) if any(rows[line][place] for line in table)]
            plain = [[rows[line][place] for place in used] for line in table]
            yield plain, [[wide_rows.get(line, rows[line])[place] for place in used] for line in table]
            table = []


def _write_table(table: list[_Row], wide: list[_Row], omissions: Omissions) -> Iterator[Block]:
    """Yield a table as lines; lines of one cell above a table, such as its caption, are paragraphs."""
    cells = [_span(*rows) for rows in zip(table, wide, strict=True)]
    # What reaches across from the first column is a caption; names of groups leave the names of rows out.
    first = first_row(
        [row if row[0] else filled for row, filled in zip(table, wide, strict=True)], len(table[0])
    )
    for row in table[:first]:
        yield Block("paragraph", " ".join(filter(None, row)))
    names = _count_names(table[first:], wide[first])
    heads = [[replace(cell, header=True) for cell in row] for row in cells[first : first + names]]
    for line in counted_lines(heads + cells[first + names :], omissions):
        yield Block("table_row", line)


def _span(row: _Row, wide: _Row) -> list[Cell]:
    """Return the cells of a row, merged ones once; one across the whole table is a caption inside it."""
    cells: list[Cell] = []
    for text, filled in zip(row, wide, strict=True):
        if cells and text != filled:
            cells[-1] = replace(cells[-1], columns=cells[-1].columns + 1)
        else:
            cells.append(Cell(filled))
    return cells if len(cells) > 1 else [replace(cell, header=cell.columns > 1) for cell in cells]


def _count_names(rows: list[_Row], head: _Row) -> int:
    """Return how many rows name the columns; the `head` is the first with cells filled that reach across."""
    if len(rows) > 2 and head != rows[0] and not any(map(_VALUE.match, rows[1])):
        both = [f"{name} {below}".translate(_DIGITS) for name, below in zip(head, rows[1], strict=True)]
        if names_columns(both, rows[2 : SAMPLE_ROWS + 2]):
            return 2
    return int(len(rows) > 1 and names_columns(rows[0], rows[1 : SAMPLE_ROWS + 1]))
