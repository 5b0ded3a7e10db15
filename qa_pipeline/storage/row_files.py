"""Read rows with their positions from JSON lines, JSON, CSV, Parquet and Arrow streams.

A file that cannot be read raises an `InputError` with the file, the position and advice. If only a row cannot
be read, its value is a `Fault`. Callers count it and continue, or refuse the file.
"""

import codecs
import csv
import io
import json
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from qa_pipeline.errors import InputError

if TYPE_CHECKING:  # heavy, and settings import this module
    import polars as pl
    import pyarrow

MOST_COLUMNS = 2_000
"""Maximum number of columns. Larger headers are errors and would need memory for every row."""
MOST_LEVELS = 200
"""Maximum nesting of JSON. Traces, the deepest known input, have 20 values of four levels each. Python's
recursion limit is 1,000."""
_BLOCK = 256
"""Number of table rows that are Python objects at a time. As columns they need a tenth of the memory."""
_SPREADSHEETS = (".csv", ".tsv", ".txt")
"""Excel saves "Unicode text" as `.txt`, and Google Sheets saves "Tab-separated values" as `.tsv`."""
_TABLES = (".parquet", ".arrow")
_DELIMITERS = ",;\t"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NOT_TEXT = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x1f\x8b", b"PAR1", b"%PDF")
"""First bytes of spreadsheets, archives, Parquet files and PDFs."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum sizes of a file and of its lines, and the maximum number of rows."""

    max_bytes: int = 1_000_000_000
    max_line_bytes: int = 1_000_000
    max_rows: int = 1_000_000

    @property
    def max_unpacked(self) -> int:
        """Return the maximum size of all unpacked rows in bytes."""
        return 4 * self.max_bytes


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why a row cannot be used: a code in snake_case, and a description."""

    reason: str
    detail: str


class FileRow(NamedTuple):
    """A row of a file.

    Args:
        number: position from 1: a line of JSON lines, an entry of JSON, or a row of a table.
        value: usually a mapping by column, or the `Fault` of the row.
        written: the bytes of the row in the file; empty for Parquet and Arrow.
    """

    number: int
    value: Any
    written: bytes = b""


@dataclass(frozen=True, slots=True)
class RowFile:
    """An open file of rows. Read it only once.

    Args:
        columns: the columns of a table, or the fields of the first object.
        types: the column types of Parquet and Arrow; empty for other formats.
        rows: yields the rows and raises `InputError`. Its optional argument selects columns of Parquet.
    """

    columns: Sequence[str]
    types: "Mapping[str, pl.DataType]"
    rows: Callable[..., Iterator[FileRow]]


def unit_of(name: str) -> str:
    """Return the unit of positions in a file of this name: line, entry or row."""
    suffix = Path(name).suffix.lower()
    return {".jsonl": "line", ".ndjson": "line", ".json": "entry"}.get(suffix, "row")


def open_rows(
    path: Path,
    limits: Limits,
    suffixes: Collection[str],
    *,
    content: bytes | None = None,
    known_columns: Collection[str] = (),
    short_rows: bool = False,
) -> RowFile:
    """Open a file of rows. Its suffix determines the format.

    Text must be UTF-8, or UTF-16 with a byte order mark. A JSON file contains a list, an object with the list
    `data`, a single object, or JSON lines. The delimiter of a CSV file is the character that gives the header
    with the most known names. Ties go to the most columns. A blank cell is None, and blank rows are skipped.
    If a quote is never closed, the next row begins on the next line.

    Args:
        path: the file.
        limits: the limits of the file and its rows.
        suffixes: the suffixes that the caller accepts.
        content: the content of the file, if it was already read.
        known_columns: names of CSV columns that are matched regardless of case.
        short_rows: accept CSV rows without their last cells, which some spreadsheets omit.

    Raises:
        InputError: the file cannot be read. Reading its rows may raise this error too.
    """
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise InputError(f"{path}: unknown format; rows come as {', '.join(suffixes)}")
    source = _Source(path, content, limits)
    if suffix not in (*_SPREADSHEETS, *_TABLES):
        rows = _json_file(source) if suffix == ".json" else _json_lines(source)
        return _with_columns(_limited(rows, source))
    opened = _table(source) if suffix in _TABLES else _csv(source, known_columns, short_rows=short_rows)
    if len(opened.columns) > MOST_COLUMNS:
        raise source.error(f"has {len(opened.columns)} columns; leave at most {MOST_COLUMNS}")
    if repeated := next((name for name, times in Counter(opened.columns).items() if times > 1), None):
        raise source.error(f"row 1: column {repeated[:200]!r} stands twice; rename one")
    return RowFile(opened.columns, opened.types, lambda only=None: _limited(opened.rows(only), source))


def json_lines(path: Path, limits: Limits, *, tolerant: bool = False) -> Iterator[FileRow]:
    """Read JSON lines from a file with any name and any number of lines. Blank lines are skipped.

    Args:
        path: the file.
        limits: the limits of the file and its lines.
        tolerant: yield a `Fault` for a line that cannot be read. By default, such a line is an error.

    Raises:
        InputError: the file, or a line of it, cannot be read.
    """
    for row in _json_lines(_Source(path, None, limits), tolerant=tolerant):
        if isinstance(row.value, Fault) and not tolerant:
            raise InputError(f"{path}, line {row.number}: {row.value.detail}; write one JSON object a line")
        yield row


def is_too_deep(value: object, levels: int = MOST_LEVELS) -> bool:
    """Return True if mappings and lists are nested more than `levels` deep."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(levels == 0 or is_too_deep(item, levels - 1) for item in inner)


@dataclass(frozen=True, slots=True)
class _Source:
    """A file to read, or its content if that is already in memory."""

    path: Path
    content: bytes | None
    limits: Limits

    def error(self, problem: str) -> InputError:
        return InputError(f"{self.path} {problem}")

    def not_utf8(self, line: int) -> InputError:
        return self.error(f"is not UTF-8 (line {line}); save it as UTF-8, in Excel as 'CSV UTF-8'")

    def too_large(self) -> InputError:
        return self.error(f"unpacks to more than {self.limits.max_unpacked} bytes; split it")

    def too_many_rows(self) -> InputError:
        return self.error(f"holds more than {self.limits.max_rows} rows; split it")

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file for reading.

        Raises:
            InputError: it is not a regular file, too large or unreadable.
        """
        try:
            if self.content is None and not stat.S_ISREG(self.path.stat().st_mode):
                raise self.error("cannot be read: it is no file; name one")
            with self.path.open("rb") if self.content is None else io.BytesIO(self.content) as file:
                if file.seek(0, io.SEEK_END) > self.limits.max_bytes:
                    raise self.error(f"is larger than {self.limits.max_bytes} bytes; split it")
                file.seek(0)
                yield file
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or error}; check path and rights") from error

    def text(self) -> str:
        """Read a file as UTF-8, or as UTF-16 with a byte order mark.

        Raises:
            InputError: the file is not text in these encodings.
        """
        with self.opened() as file:
            content = file.read()
        is_utf16 = content.startswith(_UTF16)
        if content.startswith(_NOT_TEXT) or (b"\0" in content.partition(b"\n")[0] and not is_utf16):
            raise self.error("is no text file; save it as UTF-8, in Excel as 'CSV UTF-8'")
        try:
            return content.decode("utf-16" if is_utf16 else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise self.not_utf8(content.count(b"\n", 0, error.start) + 1) from error


def _limited(rows: Iterator[FileRow], source: _Source) -> Iterator[FileRow]:
    """Yield the rows, numbered if they lack a position. A row that is too long becomes a `Fault`.

    Raises:
        InputError: the file has too many rows, or they are too large in total.
    """
    limits, most, longest = source.limits, source.limits.max_unpacked, source.limits.max_line_bytes
    number = size = 0
    for row in rows:
        number, size = number + 1, size + len(row.written)
        if number > limits.max_rows:
            raise source.too_many_rows()
        if size > most:
            raise source.too_large()
        if len(row.written) > longest and not isinstance(row.value, Fault):
            yield FileRow(row.number or number, too_long(limits), row.written)
        else:
            yield row if row.number else FileRow(number, row.value, row.written)


def too_long(limits: Limits) -> Fault:
    """Return the fault of a row with more bytes than allowed."""
    return Fault("line_too_long", f"longer than {limits.max_line_bytes} bytes; shorten it")


def _with_columns(rows: Iterator[FileRow]) -> RowFile:
    """Read up to the first object. Its fields are the columns."""
    first: list[FileRow] = []
    columns: Sequence[str] = ()
    for row in rows:
        first.append(row)
        if isinstance(row.value, dict):
            columns = tuple(row.value)
            break
    return RowFile(columns, {}, lambda _=None: chain(first, rows))


def _json_lines(source: _Source, *, tolerant: bool = False) -> Iterator[FileRow]:
    most = source.limits.max_line_bytes
    with source.opened() as opened:
        is_utf16 = opened.read(2) in _UTF16
        opened.seek(0)
        file = io.BytesIO(source.text().encode()) if is_utf16 else opened
        for number in count(1):
            line = file.readline(most + 2)  # with the end of the line
            rest = line
            while len(rest) == most + 2 and not rest.endswith(b"\n"):  # skip the rest of a longer line
                rest = file.readline(most + 2)
            if not line:
                return
            if not (written := line.removeprefix(codecs.BOM_UTF8 if number == 1 else b"").strip()):
                continue
            try:
                is_long = len(line.rstrip(b"\r\n")) > most
                value = too_long(source.limits) if is_long else _decoded(written.decode())
            except UnicodeDecodeError as error:
                if not tolerant:
                    raise source.not_utf8(number) from error
                value = Fault("broken_line", "not UTF-8")
            yield FileRow(number, value, written)


def _decoded(text: str) -> Any:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return Fault("broken_line", f"not JSON: {error.msg} in column {error.colno}")
    except (ValueError, RecursionError) as error:  # the number is too long, or the nesting too deep
        return Fault("broken_line", f"not JSON: {error}")
    # most objects have few brackets, so they cannot be too deep
    if text.count("[") + text.count("{") > MOST_LEVELS and is_too_deep(value):
        return Fault("broken_line", f"nested more than {MOST_LEVELS} levels deep")
    return value


def _json_file(source: _Source) -> Iterator[FileRow]:
    """Read the entries of a list, of the list `data` in an object, a single object, or JSON lines."""
    text = source.text()
    too_deep = source.error(f"is nested more than {MOST_LEVELS} levels deep; write it again")
    try:
        value = json.loads(text if text.strip() else "[]")
    except RecursionError as error:
        raise too_deep from error
    except ValueError as error:
        if getattr(error, "msg", "") == "Extra data":
            lines = _json_lines(_Source(source.path, text.encode(), source.limits))
            yield from (row._replace(number=0) for row in lines)
            return
        raise source.error(f"is not JSON ({error}); write it again, as JSONL if it is long") from error
    listed = value.get("data") if isinstance(value, dict) else value
    for item in listed if isinstance(listed, list) else [value]:
        if is_too_deep(item):
            raise too_deep
        yield FileRow(0, item, json.dumps(item).encode())


def _records(lines: Sequence[str], delimiter: str, limits: Limits) -> Iterator[tuple[str, list[str] | Fault]]:
    """Yield the text of each record with its cells, or with a `Fault`.

    After an unreadable record, the next record begins on the next line. Otherwise an unclosed quote would
    consume all following lines.
    """
    # The limit of the csv module applies to a field in the whole process, so it is only ever increased.
    csv.field_size_limit(max(csv.field_size_limit(), limits.max_line_bytes))
    begin = 0
    while begin < len(lines):
        reader = csv.reader(_fitting(lines, begin, limits.max_line_bytes), delimiter=delimiter, strict=True)
        cells: list[str] | Fault
        try:
            cells = next(reader)
        except StopIteration:
            cells = too_long(limits)
        except csv.Error as error:
            is_open = str(error) == "unexpected end of data"
            cells = Fault("broken_line", f"not CSV: {'a quote is never closed' if is_open else error}")
        end = begin + (1 if isinstance(cells, Fault) else reader.line_num)
        yield "".join(lines[begin:end]), cells
        begin = end


def _fitting(lines: Sequence[str], begin: int, most: int) -> Iterator[str]:
    """Yield the lines from index `begin`, up to a total of `most` bytes."""
    size = 0
    for index in range(begin, len(lines)):
        size += len(lines[index].encode())
        if size > most:
            return
        yield lines[index]


def _csv(source: _Source, known_columns: Collection[str], *, short_rows: bool) -> RowFile:
    text = source.text()
    # the line "sep=;" sets the delimiter in spreadsheets, which hide it
    hint = text[4] if text.startswith("sep=") and text[4:5] in {*_DELIMITERS} else ""
    lines = list(io.StringIO(text, newline=""))[1 if hint else 0 :]
    headers = {sign: _header(lines, sign, known_columns, source.limits) for sign in hint or _DELIMITERS}
    delimiter = max(headers, key=lambda sign: (len({*headers[sign]} & {*known_columns}), len(headers[sign])))
    header = headers[delimiter]
    if not header and text.strip():
        raise source.error("row 1: found no header that can be read; write the file again")
    records = _records(lines, delimiter, source.limits)
    return RowFile(header, {}, lambda _=None: _csv_rows(records, header, short_rows=short_rows))


def _header(
    lines: Sequence[str], delimiter: str, known_columns: Collection[str], limits: Limits
) -> list[str]:
    records = _records(lines, delimiter, limits)
    cells = next((cells for written, cells in records if written.strip()), [])
    if isinstance(cells, Fault):
        return []
    names = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, 1)]
    return [name.casefold() if name.casefold() in known_columns else name for name in names]


def _csv_rows(
    records: Iterable[tuple[str, list[str] | Fault]], header: list[str], *, short_rows: bool
) -> Iterator[FileRow]:
    is_header, width = True, len(header)
    for number, (text, cells) in enumerate(records, start=1):
        value: Any = cells
        if not (written := text.strip().encode()):
            continue
        if is_header:
            is_header = False
            continue
        if "\0" in text:
            value = Fault("broken_line", "contains a NUL character")
        elif isinstance(cells, list):
            filled = [cell if cell.strip() else None for cell in cells]
            if not any(filled):
                continue
            cell_count = len(cells) if any(filled[width:]) else min(len(cells), width)
            value = dict(zip(header, filled, strict=False))
            if cell_count > width or (cell_count < width and not short_rows):
                detail = f"{cell_count} cells under a header of {width}; quote cells that hold the delimiter"
                value = Fault("broken_line", detail)
        yield FileRow(number, value, written)


def _table(source: _Source) -> RowFile:
    import polars as pl

    def rows(only: Collection[str] | None = None) -> Iterator[FileRow]:
        number = size = 0
        with _batches(source, only) as (_, batches):
            for batch in batches:
                size += batch.nbytes  # the metadata of a file may state a smaller size
                if size > source.limits.max_unpacked:
                    raise source.too_large()
                for start in range(0, batch.num_rows, _BLOCK):
                    for row in pl.DataFrame(batch.slice(start, _BLOCK)).iter_rows(named=True):
                        number += 1
                        yield FileRow(number, row)

    with source.opened(), _batches(source) as (schema, _):
        types = pl.Schema(schema)
    return RowFile(tuple(types), types, rows)


@contextmanager
def _batches(
    source: _Source, only: Collection[str] | None = None
) -> "Iterator[tuple[pyarrow.Schema, Iterable[pyarrow.RecordBatch]]]":
    """Open Parquet, or an Arrow stream as written by `save_to_disk` of `datasets`.

    Raises:
        InputError: the file cannot be read, or is too large.
    """
    import polars as pl
    import pyarrow.parquet as pq
    from pyarrow import ArrowException, ipc

    handle = source.path if source.content is None else io.BytesIO(source.content)
    is_parquet = source.path.suffix.lower() == ".parquet"
    try:
        if not is_parquet:
            with ipc.open_stream(handle) as stream:
                yield stream.schema, stream
            return
        with pq.ParquetFile(handle) as file:
            facts = file.metadata
            groups = [facts.row_group(number) for number in range(facts.num_row_groups)]
            if facts.num_rows > source.limits.max_rows:
                raise source.too_many_rows()
            if sum(group.total_byte_size for group in groups) > source.limits.max_unpacked:
                raise source.too_large()
            yield file.schema_arrow, file.iter_batches(_BLOCK, columns=None if only is None else list(only))
    except (ArrowException, pl.exceptions.PolarsError, OSError, ValueError) as error:
        kind = "a Parquet file" if is_parquet else "an Arrow stream"
        raise source.error(f"is not {kind} that can be read; write it again") from error
