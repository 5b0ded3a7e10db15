"""CSV and TSV files: each row a line that can be understood alone."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product
from pathlib import PurePosixPath
from typing import NamedTuple

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.column_names import SAMPLE_ROWS, names_columns
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.documents.formats.rows import write_row
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

_NO_DELIMITER = "\x1f"  # the separator of units in ASCII, which no text holds
_SAMPLE = 500_000  # characters from which the delimiter is chosen
_LEAST_FIT = 0.5  # of the lines: a sign that parts fewer of them alike is no delimiter
_WELL_FORMED = 0.9  # of the lines: fewer of one width, and rows leave out their last cells
_ALIKE = 0.02  # of the lines: delimiters that differ in fewer fit equally well
_PREAMBLE_FROM = 3  # columns: in a table of two, a row with one cell may be a row
_WIDEST = 2_000  # columns of a table whose rows can be distinguished from its header
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
_EXCEL_HINT = re.compile(r"sep=(.)\n", re.IGNORECASE)


class _Shape(NamedTuple):
    """The width of a table, and the share of lines in rows that fit it."""

    fit: float
    width: int


def parse(source: SourceFile, settings: DocumentSettings, limits: ReaderLimits = LIMITS) -> ParsedFile:
    """Parse one table file.

    Raises:
        DocumentFailure: the bytes cannot be decoded, or there are too many rows or characters.
    """
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n")
    expected = "\t" if PurePosixPath(source.path).suffix.lower() in (".tsv", ".tab") else ""
    if hint := _EXCEL_HINT.match(text):  # the line that names the delimiter to spreadsheets
        text, expected = text[hint.end() :], hint[1]
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # it holds for the process: only raised
    sample = text[:_SAMPLE]
    delimiter = _choose_delimiter(sample, expected) or _choose_delimiter(sample, "\t;|,") or _NO_DELIMITER
    quoted = True
    try:
        width = _measure(_records(text, delimiter, strict=True), limits).width
    except csv.Error:  # quotes that do not pair up may be inches
        plain, paired = (_measure(_records(text, delimiter, quoted=way), limits) for way in (False, True))
        quoted = paired.fit > plain.fit
        width = (paired if quoted else plain).width
    sample_rows = list(islice(_filled_rows(text, delimiter, quoted=quoted), SAMPLE_ROWS))
    names, first = _find_names(sample_rows, width)
    titles = [name.rstrip(": ") for name in names]
    blocks: list[Block] = []
    empty = set(range(len(names)))
    wider = length = 0
    for number, row in enumerate(_filled_rows(text, delimiter, quoted=quoted)):
        filled = {column: cell for column, cell in enumerate(row) if cell}
        if number < first:
            blocks.append(Block("paragraph", " ".join(filled.values())))
        elif number > first or not names:
            blocks.append(Block("table_row", write_row(list(filled.items()), titles)))
            wider += any(row[width:])
            empty -= filled.keys()
        length += len(blocks[-1].text) if blocks else 0
        check_length(length, settings)
    omissions = Omissions()
    for column in empty:
        if names[column]:
            omissions.add("empty_column", names[column])
    notes = []
    if not quoted and '"' in text:
        notes.append("quotes in the table do not pair up and were read as plain characters")
    if wider:
        notes.append(f"{wider} rows hold more cells than the {width} columns of the table")
    return ParsedFile(blocks=tuple(blocks), left_out=omissions.record(), notes=tuple(notes))


def _choose_delimiter(text: str, delimiters: str) -> str:
    """Return the delimiter under which the first rows fit together best; "" if none fits."""
    shapes = {
        (delimiter, quoted): _measure(islice(_records(text, delimiter, quoted=quoted), SAMPLE_ROWS))
        for delimiter, quoted in product(delimiters, (True, False))
    }
    fitting = {way: shape for way, shape in shapes.items() if shape.width > 1 and shape.fit >= _LEAST_FIT}
    best = max((shape.fit for shape in fitting.values()), default=0)
    alike = {way: shape for way, shape in fitting.items() if shape.fit >= best - _ALIKE}
    delimiter, quoted = max(alike, key=lambda way: (way[1], alike[way].width), default=("", True))
    # Commas may be those of numbers, as Swedes and Germans write them.
    if delimiter == "," and (";", quoted) in alike:
        return ";" if 2 * len(_DECIMAL_COMMA.findall(text)) > text.count(",") else ","
    return delimiter


def _records(
    text: str, delimiter: str, *, quoted: bool = True, strict: bool = False
) -> Iterator[tuple[list[str], int]]:
    """Yield each row with the number of its lines."""
    reader = csv.reader(
        io.StringIO(text),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        skipinitialspace=True,
        strict=strict,
    )
    before = 0
    for row in reader:
        yield row, reader.line_num - before
        before = reader.line_num


def _measure(records: Iterator[tuple[list[str], int]], limits: ReaderLimits = LIMITS) -> _Shape:
    """Return the shape of a table; a first row as wide as any excuses rows without their last cells."""
    widths: Counter[int] = Counter()
    first = 0
    for number, (row, lines) in enumerate(records):
        if number > limits.rows:
            raise too_many_rows(limits)
        if row:
            first = first or len(row)
            widths[len(row)] += lines
    total = max(widths.total(), 1)
    ((width, count),) = widths.most_common(1) or [(0, 0)]
    shorter = sum(lines for cells, lines in widths.items() if 1 < cells <= first)
    if count < _WELL_FORMED * total <= shorter:
        width, count = first, shorter
    return _Shape(count / total, width)


def _filled_rows(text: str, delimiter: str, *, quoted: bool) -> Iterator[list[str]]:
    for row, _ in _records(text, delimiter, quoted=quoted):
        cells = [cell.strip() for cell in row]
        if any(cells):
            yield cells


def first_row(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return the number of the first row of a table behind lines of one cell, such as its caption."""
    several = (number for number, row in enumerate(rows) if sum(map(bool, row)) > 1)
    return next(several, 0) if width >= _PREAMBLE_FROM else 0


def _find_names(sample: Sequence[list[str]], width: int) -> tuple[list[str], int]:
    """Return the names of the columns, if there are any, and the number of the first row."""
    first = first_row(sample, width)
    if first >= len(sample) or width > _WIDEST:
        return [], min(first, len(sample))
    names, *below = sample[first:]
    if len(names) == width - 1 and any(len(row) == width and row[-1] for row in below):
        names = ["", *names]  # as R writes them: the column of row names has no name
    return (names if names_columns(names, below) else []), first
