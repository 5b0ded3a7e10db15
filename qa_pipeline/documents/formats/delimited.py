"""CSV and TSV files: each row a line that can be understood alone."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

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
_ALIKE = 0.02  # of the lines: delimiters that differ in fewer fit equally well
_PREAMBLE_FROM = 3  # columns: in a table of two, a row with one cell may be a row
_WIDEST = 2_000  # columns of a table whose rows can be distinguished from its header
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
_EXCEL_HINT = re.compile(r"sep=(.)\n", re.IGNORECASE)


def parse(source: SourceFile, settings: DocumentSettings, limits: ReaderLimits = LIMITS) -> ParsedFile:
    """Parse one table file.

    Raises:
        DocumentFailure: the bytes cannot be decoded, or there are too many rows or characters.
    """
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n")
    hint = _EXCEL_HINT.match(text)  # the line that names the delimiter to spreadsheets
    text = text[hint.end() :] if hint else text
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # it holds for the process: only raised
    delimiter = hint[1] if hint else _choose_delimiter(text[:_SAMPLE])
    quoted = True
    try:
        _measure(_records(text, delimiter, strict=True))
    except csv.Error:  # quotes that do not pair up may be inches
        plain, paired = (_measure(_records(text, delimiter, quoted=way)) for way in (False, True))
        quoted = paired > plain
    sample_rows = list(islice(_filled_rows(text, delimiter, quoted=quoted), SAMPLE_ROWS))
    names, first = _find_names(sample_rows)
    width = len(names) or max(map(len, sample_rows), default=0)
    titles = [name.rstrip(": ") for name in names]
    blocks: list[Block] = []
    empty = set(range(len(names)))
    wider = length = 0
    for number, row in enumerate(_filled_rows(text, delimiter, quoted=quoted)):
        if number >= limits.rows:
            raise too_many_rows(limits)
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


def _choose_delimiter(sample: str) -> str:
    """Return the delimiter under which the first rows fit together best."""
    fits: dict[str, tuple[float, int]] = {}
    for sign in "\t;|,":
        ways = (_records(sample, sign, quoted=quoted) for quoted in (True, False))
        fit, width = max(_measure(islice(way, SAMPLE_ROWS)) for way in ways)
        if width > 1 and fit >= _LEAST_FIT:
            fits[sign] = (fit, width)
    best = max(fits.values(), default=(0.0, 0))[0]
    alike = {sign: width for sign, (fit, width) in fits.items() if fit >= best - _ALIKE}
    delimiter = max(alike, key=alike.__getitem__, default=_NO_DELIMITER)
    # Commas may be those of numbers, as Swedes and Germans write them.
    if delimiter == "," and ";" in alike and 2 * len(_DECIMAL_COMMA.findall(sample)) > sample.count(","):
        return ";"
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


def _measure(records: Iterable[tuple[list[str], int]]) -> tuple[float, int]:
    """Return the share of lines in rows of the most common width, and this width."""
    widths: Counter[int] = Counter()
    for row, lines in records:
        widths[len(row)] += lines if row else 0
    ((width, count),) = widths.most_common(1) or [(0, 0)]
    return count / max(widths.total(), 1), width


def _filled_rows(text: str, delimiter: str, *, quoted: bool) -> Iterator[list[str]]:
    for row, _ in _records(text, delimiter, quoted=quoted):
        cells = [cell.strip() for cell in row]
        if any(cells):
            yield cells


def first_row(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of the first row of a table behind lines of one cell, such as its caption."""
    several = (number for number, row in enumerate(rows) if sum(map(bool, row)) > 1)
    return next(several, 0) if max(map(len, rows), default=0) >= _PREAMBLE_FROM else 0


def _find_names(sample: Sequence[list[str]]) -> tuple[list[str], int]:
    """Return the names of the columns, if there are any, and the number of the first row."""
    first = first_row(sample)
    if first >= len(sample) or len(sample[first]) > _WIDEST:
        return [], min(first, len(sample))
    names, *below = sample[first:]
    if below and all(len(row) == len(names) + 1 for row in below):
        names = ["", *names]  # as R writes them: the column of row names has no name
    return (names if names_columns(names, below) else []), first
