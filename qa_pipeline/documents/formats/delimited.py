"""CSV and TSV files: each row a line that can be understood alone."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import LIMITS, ReaderLimits
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.documents.formats.rows import SAMPLE_ROWS, Cell
from qa_pipeline.documents.formats.spreadsheet import write_table
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.doubt import SIGNS

_NO_DELIMITER = "\x1f"  # the separator of units in ASCII, which no text holds
_SAMPLE = 500_000  # characters from which the delimiter is chosen
_LEAST_FIT = 0.5  # of the rows: a delimiter gives at least as many the same width
_EXCEL_HINT = re.compile(r"sep=(.)\n", re.IGNORECASE)


def parse(source: SourceFile, settings: DocumentSettings, limits: ReaderLimits = LIMITS) -> ParsedFile:
    """Parse a CSV or TSV file."""
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n")
    hint = _EXCEL_HINT.match(text)  # the line that names the delimiter to spreadsheets
    text = text[hint.end() :] if hint else text
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # it holds for the process: only raised
    delimiter = hint[1] if hint else _choose_delimiter(text[:_SAMPLE])
    quoted = True
    try:
        for _ in _records(text, delimiter, strict=True):
            pass
    except csv.Error:  # quotes that do not pair up may be inches
        plain, paired = (_fit(_records(text, delimiter, quoted=way)) for way in (False, True))
        quoted = paired > plain
    cells: list[list[Cell]] = []
    for row in _records(text, delimiter, quoted=quoted):
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
    """Return the sign that parts most of the first rows alike; commas come last, as they may be decimal."""
    delimiter, best = _NO_DELIMITER, _LEAST_FIT
    for sign in "\t;|,":
        ways = (_records(sample, sign, quoted=quoted) for quoted in (True, False))
        fit = max(_fit(islice(way, SAMPLE_ROWS)) for way in ways)
        if fit > best or (fit == best and delimiter == _NO_DELIMITER):
            delimiter, best = sign, fit
    return delimiter


def _records(text: str, delimiter: str, *, quoted: bool = True, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(
        io.StringIO(text),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        skipinitialspace=True,
        strict=strict,
    )


def _fit(rows: Iterable[list[str]]) -> float:
    """Return the share of rows with the usual number of cells, 0 for rows of single cells."""
    widths = Counter(len(row) for row in rows if row)
    ((width, count),) = widths.most_common(1) or [(0, 0)]
    return count / widths.total() if width > 1 else 0.0
