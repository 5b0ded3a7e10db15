"""Spreadsheets (XLSX, XLSM, ODS): each sheet a section, each row a line that can be understood alone.

Formulas are read as the values last saved with them. Links to other files are never followed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import groupby

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.column_names import SAMPLE_ROWS, names_columns
from qa_pipeline.documents.formats.delimited import first_row
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.documents.formats.rows import LONGEST_REPEATED, Cell, counted_lines
from qa_pipeline.documents.formats.workbooks import Sheet, read_sheets
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

_Row = list[str]
_UNNAMED = re.compile(r"(?:Sheet|Tabelle|Blad|Table|Tabell|Kalkylblad) ?1")
"""The names that programs give the only sheet of a new file, in English, German and Swedish."""
_VALUE = re.compile(r"(?!(?:19|20)\d\d\b)\W?\d|#[A-Z/0!?]+$")  # a year may be the name of a column
_DIGITS = str.maketrans("0123456789", "abcdefghij")
_MOST_BESIDE = 50  # groups of columns: more are no tables, and looking at all would take long
_TALLEST = 10_000  # rows that a merged cell may name
_MOST_CELLS = 20_000_000  # rows times columns of a table, each of which takes memory


def parse(source: SourceFile, settings: DocumentSettings, limits: ReaderLimits = LIMITS) -> ParsedFile:
    """Parse one spreadsheet.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `archive_bomb`, `unsupported_format`, `too_many_rows` or
            `too_long`.
    """
    omissions = Omissions()
    blocks: list[Block] = []
    sheets = list(read_sheets(source.content, limits, omissions))
    if sum(len(sheet.rows) for sheet in sheets) > limits.rows:
        raise too_many_rows(limits)
    visible = [sheet for sheet in sheets if not sheet.is_hidden]
    for sheet in sheets:
        if sheet.is_hidden:
            omissions.add("hidden", "".join(text for row in sheet.rows.values() for text in row.values()))
            continue
        tables = [block for table in _find_tables(sheet) for block in _write_table(*table, omissions)]
        if tables and not (len(visible) == 1 and _UNNAMED.fullmatch(sheet.name)):
            blocks.append(Block("heading", sheet.name, 2))
        blocks += tables
        check_length(sum(len(block.text) for block in tables), settings)
    return ParsedFile(blocks=tuple(blocks), left_out=omissions.record())


def _find_tables(sheet: Sheet) -> Iterator[tuple[list[_Row], list[_Row]]]:
    """Yield the rows together between blank ones, tables beside each other apart, without blank columns.

    They come a second time with cells filled that are merged across.
    """
    wide_rows = _fill_merged(sheet)
    tables: list[list[int]] = []
    for number in sorted(sheet.rows):
        gap = range(tables[-1][-1] + 1, number) if tables else ()
        if tables and all(between in sheet.hidden_rows for between in gap):
            tables[-1].append(number)
        else:
            tables.append([number])
    for numbers in tables:
        rows = [sheet.rows[number] for number in numbers]
        wide = [row | wide_rows.get(number, {}) for number, row in zip(numbers, rows, strict=True)]
        used = sorted({column for row in rows for column in row})
        if len(used) * len(rows) > _MOST_CELLS:
            raise DocumentFailure("too_long", f"a table reaches over more than {_MOST_CELLS} cells")
        for columns in _split_columns(used, wide, sheet.hidden_columns):
            shown = [number for number, row in enumerate(rows) if not row.keys().isdisjoint(columns)]
            plain, filled = (
                [[part[number].get(column, "") for column in columns] for number in shown]
                for part in (rows, wide)
            )
            yield plain, filled


def _split_columns(
    used: Sequence[int], rows: Sequence[Mapping[int, str]], hidden: Set[int]
) -> Iterator[list[int]]:
    """Yield the columns of tables beside each other; a blank column may also stand inside one table."""
    covered = {column for row in rows for column in row} | hidden
    groups: list[list[int]] = []
    for column in used:
        if groups and covered.issuperset(range(groups[-1][-1] + 1, column)):
            groups[-1].append(column)
        else:
            groups.append([column])
    columns = groups[0]
    for group in groups[1:]:
        if len(groups) <= _MOST_BESIDE and _are_apart(columns, group, rows):
            yield columns
            columns = group
        else:
            columns = columns + group
    yield columns


def _are_apart(left: Sequence[int], right: Sequence[int], rows: Sequence[Mapping[int, str]]) -> bool:
    """Return True if both have names of rows, and other heights or the same names of columns."""
    names = [row[right[0]] for row in rows if row.get(right[0])]
    if min(len(left), len(right)) < 2 or 2 * len(list(filter(_VALUE.match, names))) >= len(names):
        return False
    filled = [[not row.keys().isdisjoint(columns) for row in rows] for columns in (left, right)]
    runs = [list(groupby(part)) for part in filled]
    are_whole = all(sum(is_filled for is_filled, _ in run) == 1 for run in runs)
    first, second = ([rows[0].get(column, "") for column in columns] for columns in (left, right))
    return (are_whole and filled[0] != filled[1]) or (first == second and any(first))


def _fill_merged(sheet: Sheet) -> dict[int, dict[int, str]]:
    """Fill cells that are merged downwards, and return the rows with those merged across filled as well.

    The text of a merged cell goes into the rows it covers below, so that each is understood alone.
    """
    wide_rows: dict[int, dict[int, str]] = {}
    end = max(sheet.rows, default=0)
    for top, left, bottom, right in sheet.merged:
        text = sheet.rows.get(top, {}).get(left, "")
        if not text or len(text) > LONGEST_REPEATED:
            continue
        for number in range(top + 1, min(bottom, end, top + _TALLEST) + 1):
            if number not in sheet.hidden_rows:
                sheet.rows.setdefault(number, {}).setdefault(left, text)
        if right > left:
            wide_rows.setdefault(top, {}).update(dict.fromkeys(range(left, right + 1), text))
    return wide_rows


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
