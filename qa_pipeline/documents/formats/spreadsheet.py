"""Read spreadsheets (XLSX, XLSM, ODS) and CSV files: rows as lines, formulas as the values last saved."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice, pairwise

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import DocumentFailure, check_rows
from qa_pipeline.documents.formats.rows import LONGEST_MERGED, SAMPLE_ROWS, Cell, counted_lines, names_columns
from qa_pipeline.documents.formats.text import decode
from qa_pipeline.documents.formats.workbooks import Sheet, read_sheets
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

_Row = list[Cell]
_BLANK = Cell("")
_UNNAMED = re.compile(r"(?:Sheet|Tabelle|Blad|Table|Tabell|Kalkylblad) ?1")  # the only sheet of a new file
_VALUE = re.compile(r"(?!(?:19|20)\d\d\b)\W?\d|#[A-Z/0!?]+$")  # a year may be the name of a column
_PREAMBLE_FROM = 3  # columns: in a table of two, a row with one cell may be a row
_TALLEST = 10_000  # rows that a merged cell may name
_MOST_CELLS = 20_000_000  # rows times columns of a table, each of which takes memory


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a spreadsheet."""
    omissions = Omissions()
    blocks: list[Block] = []
    sheets = read_sheets(source.content, settings, omissions)
    check_rows(sum(len(sheet.rows) for sheet in sheets))
    visible_count = sum(not sheet.is_hidden for sheet in sheets)
    for sheet in sheets:
        if sheet.is_hidden:
            cells = (cell for row in sheet.rows.values() for cell in row.values())
            omissions.add("hidden", "".join(cell.text for cell in cells))
            continue
        tables = (_write_table(table, settings, omissions) for table in _find_tables(sheet))
        section = list(chain.from_iterable(tables))
        if section and not (visible_count == 1 and _UNNAMED.fullmatch(sheet.name)):
            blocks.append(Block("heading", sheet.name, 2))
        blocks += section
        check_length(sum(len(block.text) for block in section), settings)
    return ParsedFile(blocks=tuple(blocks), left_out=omissions.record())


def _find_tables(sheet: Sheet) -> Iterator[list[_Row]]:
    """Yield the tables of a sheet, which blank rows part."""
    _fill_merged(sheet)
    tables: list[list[int]] = []  # the numbers of their rows
    for number in sorted(sheet.rows):
        gap = range(tables[-1][-1] + 1, number) if tables else ()
        if tables and sheet.hidden_rows.issuperset(gap):  # the gap is empty, or of hidden rows alone
            tables[-1].append(number)
        else:
            tables.append([number])
    for numbers in tables:
        columns = sorted({column for number in numbers for column in sheet.rows[number]})
        if len(columns) * len(numbers) > _MOST_CELLS:
            raise DocumentFailure("too_long", f"a table has more than {_MOST_CELLS} cells")
        yield [[sheet.rows[number].get(column, _BLANK) for column in columns] for number in numbers]


def _fill_merged(sheet: Sheet) -> None:
    """Repeat merged cells in their first row and column, as whole ranges may fill the memory."""
    last_row = max(sheet.rows, default=0)
    for top, left, bottom, right in sheet.merged:
        cell = sheet.rows.get(top, {}).get(left)
        if cell is None or len(cell.text) > LONGEST_MERGED:
            continue
        for number in range(top, min(bottom, last_row, top + _TALLEST) + 1):
            if number not in sheet.hidden_rows:
                sheet.rows.setdefault(number, {}).setdefault(left, cell)
        first_row = sheet.rows[top]
        first_row |= {column: cell for column in range(left, right + 1) if column not in first_row}


def _write_table(table: Sequence[_Row], settings: DocumentSettings, omissions: Omissions) -> Iterator[Block]:
    """Yield a table as lines; single cells above it, such as its caption, are paragraphs."""
    body_start = 0
    if max(map(len, table), default=0) >= _PREAMBLE_FROM:
        first_rows = enumerate(table[: 2 * SAMPLE_ROWS])  # if all of them look like titles, none is a title
        body_start = next((number for number, row in first_rows if not _is_title(row)), 0)
    for row in table[:body_start]:
        yield Block("paragraph", next(cell.text for cell in row if cell.text))
    body = table[body_start:]
    head_count = _count_head_rows(body)
    if head_count:  # each row repeats the names, so limit their length first, counting a single head row
        repeated = (name for row in body for name, cell in zip(body[0], row, strict=False) if cell.text)
        check_length(sum(len(name.text) for name in repeated), settings)
    marked: list[_Row] = []
    for number, row in enumerate(body):
        is_merged = len(row) > 1 and all(cell is row[0] for cell in row)  # such as a title of the rows below
        if number < head_count or is_merged:
            headers = {id(cell): replace(cell, header=True) for cell in row}  # a merged cell stays one object
            marked.append([headers[id(cell)] for cell in row])
        else:
            marked.append(row)
    for line in counted_lines(marked, omissions):
        yield Block("table_row", line)


def _is_title(row: _Row) -> bool:
    """Return True if a row is a title above a table: a single cell, but not a merged cell after a blank."""
    return _is_single(row) and (row[0].text != "" or not _has_merged(row))


def _is_single(row: _Row) -> bool:
    """Return True if a row has a single cell with text; a merged cell is the same object in its columns."""
    return len({id(cell) for cell in row if cell.text}) == 1


def _has_merged(row: _Row) -> bool:
    """Return True if a cell with text covers several columns."""
    return any(cell.text and cell is following for cell, following in pairwise(row))


def _count_head_rows(rows: Sequence[_Row]) -> int:
    """Return how many rows name the columns: two if the first has merged cells, as in `2023` over `Sales`."""
    texts = [[cell.text for cell in row] for row in rows[: SAMPLE_ROWS + 2]]
    if len(rows) > 2 and _has_merged(rows[0]) and not _is_single(rows[0]):
        return 0 if any(map(_VALUE.match, texts[1])) else 2  # a row with values names no columns
    return 1 if len(rows) > 1 and names_columns(texts[0], texts[1:]) else 0


_DELIMITERS = "\t;|,"  # a comma comes last, as it may be decimal
_LEAST_SHARE = 0.5  # of the rows: a delimiter gives at least as many the same width
_NO_DELIMITER = "\x1f"  # the separator of units in ASCII, which does not occur in texts


def parse_csv(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a CSV or TSV file."""
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n")
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # of the process, so never lowered
    delimiter = _choose_delimiter(text)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True, strict=True)
    cells: list[_Row] = []
    try:
        for number, row in enumerate(reader, start=1):
            check_rows(number)
            if any(map(str.strip, row)):
                cells.append([Cell(cell.strip()) for cell in row])
    except csv.Error as error:
        detail = f"quotes do not pair up at line {reader.line_num}; inside a cell a quote is written twice"
        raise DocumentFailure("damaged", detail) from error
    omissions = Omissions()
    blocks = tuple(_write_table(cells, settings, omissions))
    return ParsedFile(blocks=blocks, left_out=omissions.record())


def _choose_delimiter(text: str) -> str:
    """Return the delimiter that gives most of the first rows the same number of cells."""
    shares = dict.fromkeys(_DELIMITERS, 0.0)
    for delimiter in _DELIMITERS:
        reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True, strict=True)
        with suppress(csv.Error):  # its quotes do not pair up
            widths = Counter(len(row) for row in islice(reader, SAMPLE_ROWS) if row)  # numbers of cells
            width = max(widths, key=widths.__getitem__, default=0)  # the most frequent
            shares[delimiter] = widths[width] / widths.total() if width > 1 else 0.0
    best = max(_DELIMITERS, key=shares.__getitem__)
    return best if shares[best] >= _LEAST_SHARE else _NO_DELIMITER
