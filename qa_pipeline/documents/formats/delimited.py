"""CSV and TSV files: each row a line that can be understood alone.

The file is read as a stream, once to learn its shape and once to write its rows, so that a table of many
rows costs little memory.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple

from qa_pipeline.documents.assembly import check_length, visible
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.column_names import SAMPLE_ROWS, names_columns
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.documents.formats.rows import write_row
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.records import Block, LeftOut, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

_DELIMITERS = ("\t", ";", "|", ",")
_NO_DELIMITER = "\x1f"  # the separator of units in ASCII, which no text holds
_SAMPLE = 500_000  # characters from which the delimiter is chosen: the file is read once for each candidate
_ALIKE = 0.02  # of the lines: dialects that differ in fewer fit equally well
_WELL_FORMED = 0.9  # of the lines: fewer of one width, and rows leave out their last cells
_LEAST_FIT = 0.5  # of the lines: a sign that parts fewer of them alike is no delimiter
_PREAMBLE_FROM = 3  # columns: in a table of two, a row with one cell may be a row
_WIDEST = 2_000
"""Columns of a table whose rows can be distinguished from its header; none that people read has more."""
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
_EXCEL_HINT = re.compile(r"sep=(.)\n", re.IGNORECASE)

_Row = list[str]


class _Dialect(NamedTuple):
    """The way a table is written: what parts its cells, and whether quotes hold cells together."""

    delimiter: str
    quoted: bool = True


class _Shape(NamedTuple):
    """A table as one way of reading makes it.

    `fit` is the share of lines in rows of the table's width; a row that swallows many lines weighs as many.
    """

    width: int
    fit: float


def parse(source: SourceFile, settings: DocumentSettings, limits: ReaderLimits = LIMITS) -> ParsedFile:
    """Parse one table file.

    Raises:
        DocumentFailure: the bytes cannot be decoded, or there are too many rows or characters.
    """
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n")
    expected = "\t" if PurePosixPath(source.path).suffix.lower() in (".tsv", ".tab") else None
    if hint := _EXCEL_HINT.match(text):  # the line that names the delimiter to spreadsheets
        text, expected = text[hint.end() :], hint[1]
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # it holds for the process: only raised
    dialect, shape = _read_whole(text, _choose_dialect(text, expected), limits)
    blocks, wider, unused = _write(text, dialect, shape, settings)
    notes = []
    if not dialect.quoted and '"' in text:
        notes.append("quotes in the table do not pair up and were read as plain characters")
    if wider:
        notes.append(f"{wider} rows hold more cells than the {shape.width} columns of the table")
    lost = visible("".join(unused))
    left_out = (LeftOut("empty_column", len(unused), lost),) if lost else ()
    return ParsedFile(blocks=tuple(blocks), left_out=left_out, notes=tuple(notes))


def _choose_dialect(text: str, expected: str | None) -> _Dialect:
    """Return the dialect under which the first rows fit together best; `expected` if it fits at all."""
    text = text[:_SAMPLE]

    def fitting(*ways: _Dialect) -> dict[_Dialect, _Shape]:
        shapes = {way: _measure(islice(_records(text, way), SAMPLE_ROWS)) for way in ways}
        return {way: shape for way, shape in shapes.items() if shape.width > 1 and shape.fit >= _LEAST_FIT}

    if expected is not None and fitting(_Dialect(expected)):
        return _Dialect(expected)
    dialects = fitting(*(_Dialect(sign, quoted) for sign in _DELIMITERS for quoted in (True, False)))
    if not dialects:
        return _Dialect(_NO_DELIMITER)
    best = max(shape.fit for shape in dialects.values())
    alike = {way: shape for way, shape in dialects.items() if shape.fit >= best - _ALIKE}
    widest = max(alike, key=lambda way: (way.quoted, alike[way].width))  # of equals the first
    semicolons = _Dialect(";", widest.quoted)
    # Commas may be those of numbers, as Swedes and Germans write them.
    decimals = 2 * len(_DECIMAL_COMMA.findall(text[:100_000])) > text[:100_000].count(",")
    return semicolons if widest.delimiter == "," and semicolons in alike and decimals else widest


def _read_whole(text: str, dialect: _Dialect, limits: ReaderLimits) -> tuple[_Dialect, _Shape]:
    """Return the dialect and the shape of the whole table.

    Where a quote is not closed, or is closed before the end of its cell, quotes may be inches as well: then
    the reading counts under which more lines fit, and of equals the one in which no quote swallows a row.
    """
    try:
        return dialect, _measure(_records(text, dialect, strict=dialect.quoted), limits)
    except csv.Error:
        ways = (_Dialect(dialect.delimiter, quoted=False), dialect)
        shapes = {way: _measure(_records(text, way), limits) for way in ways}
    best = max(shapes, key=lambda way: shapes[way].fit)
    return best, shapes[best]


def _records(text: str, dialect: _Dialect, *, strict: bool = False) -> Iterator[tuple[_Row, int]]:
    reader = csv.reader(
        io.StringIO(text),
        delimiter=dialect.delimiter,
        quoting=csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE,
        skipinitialspace=True,
        strict=strict,
    )
    before = 0
    for row in reader:
        yield row, reader.line_num - before
        before = reader.line_num


def _measure(records: Iterator[tuple[_Row, int]], limits: ReaderLimits = LIMITS) -> _Shape:
    """Return width and fit; a first row as wide as any excuses rows that leave out their last cells."""
    widths: Counter[int] = Counter()
    first = 0
    for number, (row, lines) in enumerate(records):
        if number > limits.rows:
            raise too_many_rows(limits)
        if row:
            first = first or len(row)
            widths[len(row)] += lines
    total = max(widths.total(), 1)
    width, count = widths.most_common(1)[0] if widths else (0, 0)
    shorter = sum(lines for width, lines in widths.items() if 1 < width <= first)
    if count < _WELL_FORMED * total <= shorter:
        width, count = first, shorter
    return _Shape(width, count / total)


def _filled_rows(text: str, dialect: _Dialect) -> Iterator[_Row]:
    for row, _ in _records(text, dialect):
        cells = [cell.strip() for cell in row]
        if any(cells):
            yield cells


def first_row(rows: Sequence[_Row], width: int) -> int:
    """Return the number of the first row of a table behind lines of one cell, such as its caption."""
    several = (number for number, row in enumerate(rows) if sum(map(bool, row)) > 1)
    return next(several, 0) if width >= _PREAMBLE_FROM else 0


def _find_names(sample: list[_Row], width: int) -> tuple[_Row, int]:
    """Return the names of the columns, if there are any, and the number of the first row."""
    first = first_row(sample, width)
    if first >= len(sample) or width > _WIDEST:
        return [], min(first, len(sample))
    names, *below = sample[first:]
    if len(names) == width - 1 and any(len(row) == width and row[-1] for row in below):
        names = ["", *names]  # as R writes them: the column of row names has no name
    return (names if names_columns(names, below) else []), first


def _write(
    text: str, dialect: _Dialect, shape: _Shape, settings: DocumentSettings
) -> tuple[list[Block], int, list[str]]:
    """Return the rows as blocks, the number of too wide ones, and the names of columns without values."""
    names, first = _find_names(list(islice(_filled_rows(text, dialect), SAMPLE_ROWS)), shape.width)
    titles = [name.rstrip(": ") for name in names]
    blocks: list[Block] = []
    unused = set(range(len(names)))
    wider = length = 0
    for number, row in enumerate(_filled_rows(text, dialect)):
        if number == first and names:
            continue
        if number < first:
            block = Block("paragraph", " ".join(filter(None, row)))
        else:
            filled = [(place, cell) for place, cell in enumerate(row) if cell]
            block = Block("table_row", write_row(filled, titles))
            wider += any(row[shape.width :])
            unused = {place for place in unused if place >= len(row) or not row[place]}
        blocks.append(block)
        length += len(block.text)
        check_length(length, settings)
    return blocks, wider, [names[place] for place in sorted(unused) if names[place]]
