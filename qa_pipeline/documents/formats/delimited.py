"""CSV and TSV files: each row a line that can be understood alone."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.column_names import SAMPLE_ROWS
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.documents.formats.rows import Cell
from qa_pipeline.documents.formats.spreadsheet import write_table
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.doubt import SIGNS

_NO_DELIMITER = "\x1f"  # the separator of units in ASCII, which no text holds
_SAMPLE = 500_000  # characters from which the delimiter is chosen
_LEAST_FIT = 0.5  # of the lines: a sign that parts fewer of them alike is no delimiter
_WELL_FORMED = 0.9  # of the lines: fewer with the width of the first row, and that row is no measure
_ALIKE = 0.02  # of the lines: delimiters that differ in fewer fit equally well
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
    cells: list[list[Cell]] = []
    for row, _ in _records(text, delimiter, quoted=quoted):
        if len(cells) >= limits.rows:
            raise too_many_rows(limits)
        if any(stripped := [cell.strip() for cell in row]):
            cells.append([Cell(cell) for cell in stripped])
    names, *below = cells[:SAMPLE_ROWS] or [[]]
    if below and all(len(row) == len(names) + 1 for row in below):
        cells[0] = [Cell(""), *names]  # as R writes them: the column of row names has no name
    omissions = Omissions()
    blocks = tuple(write_table(cells, settings, omissions))
    notes = []
    if not quoted and '"' in text:
        notes.append("quotes in the table do not pair up and were read as plain characters")
    if wider := sum(SIGNS["table"] in block.text for block in blocks):
        notes.append(f"{wider} rows hold more cells than the table has columns")
    return ParsedFile(blocks=blocks, left_out=omissions.record(), notes=tuple(notes))


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
    """Return the share of lines in rows of one width, and this width; rows may lack their last cells."""
    widths: Counter[int] = Counter()
    first = 0
    for row, lines in records:
        first = first or len(row)
        widths[len(row)] += lines if row else 0
    total = max(widths.total(), 1)
    shorter = sum(lines for width, lines in widths.items() if 1 < width <= first)
    ((width, count),) = widths.most_common(1) or [(0, 0)]
    return (shorter / total, first) if shorter >= _WELL_FORMED * total else (count / total, width)
