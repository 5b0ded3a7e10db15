"""Read rows with their positions from JSON lines, JSON, CSV and Parquet.

A file that cannot be read raises an `InputError` with the file, the position and advice. If only a row cannot
be read, its value is a `Fault`. Callers count it and continue, or refuse the file.
"""

import codecs
import csv
import io
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from qa_pipeline.errors import InputError

MOST_COLUMNS = 2_000
"""Maximum number of columns. Larger headers are errors and would need memory for every row."""
MOST_LEVELS = 200
"""Maximum nesting of JSON. Traces, the deepest known input, have 20 values of four levels each. Python's
recursion limit is 1,000."""
_BLOCK = 256
"""Number of table rows that are Python objects at a time. As columns they need a tenth of the memory."""
_SPREADSHEETS = (".csv", ".tsv", ".txt")
_DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum sizes of a file and of its lines, and the maximum number of rows."""

    max_bytes: int = 1_000_000_000
    max_line_bytes: int = 1_000_000
    max_rows: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why a row cannot be used: a code in snake_case, and a description."""

    reason: str
    detail: str


class FileRow(NamedTuple):
    """A row of a file, with the number of its line, entry or row from 1.

    `value` is usually a mapping by column, or the `Fault` of the row. `written` has the bytes of the row, of
    CSV as JSON; it is empty for Parquet.
    """

    number: int
    value: Any
    written: bytes = b""


@dataclass(frozen=True, slots=True)
class RowFile:
    """The columns of a CSV or Parquet file, and its rows, to read once; this may raise `InputError`."""

    columns: Sequence[str]
    rows: Iterator[FileRow]


def unit_of(name: str) -> str:
    """Return the unit of positions in a file of this name: line, entry or row."""
    return {".jsonl": "line", ".ndjson": "line", ".json": "entry"}.get(Path(name).suffix.lower(), "row")


def open_rows(
    path: Path,
    limits: Limits,
    suffixes: Collection[str],
    *,
    content: bytes | None = None,
    known_columns: Collection[str] = (),
) -> RowFile:
    """Open a file of rows in UTF-8. Its suffix determines the format.

    A JSON file contains a list, an object with the list `data`, or a single object. The delimiter of a CSV
    file is the comma, semicolon or tab that occurs most in its header. A blank cell is None, and blank rows
    are skipped. `suffixes` are the allowed formats. With `content`, the file is not read again. A CSV column
    that equals one of the `known_columns` except for case gets that name. Raises an InputError.
    """
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise InputError(f"{path}: unknown format; use {', '.join(suffixes)}")
    if content is None:
        content = _read_bytes(path, limits)
    if suffix in _SPREADSHEETS:
        opened = _open_csv(path, _decode(path, content), known_columns)
    elif suffix == ".parquet":
        opened = _with_fields(_parquet_rows(path, content, limits))
    elif suffix == ".json":
        opened = RowFile((), _json_rows(path, _decode(path, content)))
    else:
        opened = RowFile((), _lines(content, limits))
    if len(opened.columns) > MOST_COLUMNS:
        raise InputError(f"{path} has {len(opened.columns)} columns; leave at most {MOST_COLUMNS}")
    repeated = [name for name, times in Counter(opened.columns).items() if times > 1]
    if repeated:
        raise InputError(f"{path} row 1: column {repeated[0][:200]!r} occurs twice; rename one")
    return RowFile(opened.columns, _limited(path, opened.rows, limits))


def json_lines(path: Path, limits: Limits) -> Iterator[FileRow]:
    """Read JSON lines from a file of any name and length, without blank lines; raises an InputError."""
    return _lines(_read_bytes(path, limits), limits)


def is_too_deep(value: object, levels: int = MOST_LEVELS) -> bool:
    """Return True if mappings and lists are nested more than `levels` deep."""
    if not isinstance(value, Mapping | list | tuple):
        return False
    items = value.values() if isinstance(value, Mapping) else value
    return any(levels == 0 or is_too_deep(item, levels - 1) for item in items)  # an empty list adds 0


def too_long(limits: Limits) -> Fault:
    """Return the fault of a row with more bytes than allowed."""
    return Fault("line_too_long", f"longer than {limits.max_line_bytes} bytes; shorten it")


def _read_bytes(path: Path, limits: Limits) -> bytes:
    """Return the content of a file of the allowed size; raises an InputError."""
    try:
        if not path.is_file() and path.exists():  # opening a pipe would wait for its writer
            raise InputError(f"{path} is not a file; name a file")
        if path.stat().st_size > limits.max_bytes:
            raise InputError(f"{path} is larger than {limits.max_bytes} bytes; split it")
        return path.read_bytes()
    except OSError as error:
        problem = error.strerror or error
        raise InputError(f"{path} cannot be read: {problem}; check path and rights") from error


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path} is not UTF-8 (line {line}); save it as UTF-8, in Excel as 'CSV UTF-8'"
        ) from error


def _limited(path: Path, rows: Iterator[FileRow], limits: Limits) -> Iterator[FileRow]:
    """Yield the rows; a row that is too long becomes a `Fault`, and too many rows are an error."""
    for count, row in enumerate(rows, start=1):
        if count > limits.max_rows:
            raise InputError(f"{path} has more than {limits.max_rows} rows; split it")
        is_long = len(row.written) > limits.max_line_bytes and not isinstance(row.value, Fault)
        yield row._replace(value=too_long(limits)) if is_long else row


def _with_fields(rows: Iterator[FileRow]) -> RowFile:
    """Return the rows with their columns, the fields of the first row."""
    first = list(islice(rows, 1))
    return RowFile(tuple(first[0].value) if first else (), chain(first, rows))


def _lines(content: bytes, limits: Limits) -> Iterator[FileRow]:
    for number, line in enumerate(io.BytesIO(content.removeprefix(codecs.BOM_UTF8)), start=1):
        if written := line.strip():
            is_long = len(written) > limits.max_line_bytes
            yield FileRow(number, too_long(limits) if is_long else _parse_json(written), written)


def _parse_json(line: bytes) -> Any:
    """Return the value of a line, or the Fault of the row."""
    try:
        text = line.decode()
        value = json.loads(text)
    except UnicodeDecodeError:
        return Fault("broken_line", "not UTF-8")
    except json.JSONDecodeError as error:
        return Fault("broken_line", f"not JSON: {error.msg} in column {error.colno}")
    except (ValueError, RecursionError) as error:  # the number is too long, or the nesting too deep
        return Fault("broken_line", f"not JSON: {error}")
    # most objects have few brackets, so they cannot be too deep
    if text.count("[") + text.count("{") > MOST_LEVELS and is_too_deep(value):
        return Fault("broken_line", f"nested more than {MOST_LEVELS} levels deep")
    return value


def _json_rows(path: Path, text: str) -> Iterator[FileRow]:
    """Yield the entries of a list, of the list `data` in an object, or a single object."""
    try:
        value = json.loads(text if text.strip() else "[]")  # an empty file has no rows
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); correct it, or use JSONL if it is long") from error
    entries = value.get("data") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        entries = [value]  # a single object
    for number, entry in enumerate(entries, start=1):
        if is_too_deep(entry):
            raise InputError(f"{path} is nested more than {MOST_LEVELS} levels deep; flatten it")
        yield FileRow(number, entry, json.dumps(entry).encode())


def _open_csv(path: Path, text: str, known_columns: Collection[str]) -> RowFile:
    """Read the header of a CSV file, and return its columns and the other rows."""
    # the limit of the csv module applies to a field in the whole process, so it is only ever increased
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    first_line = text.lstrip().partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first_line.count)
    records = _csv_records(path, text, delimiter)
    _row_number, cells = next(records, (1, []))  # no cells in an empty file
    names = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, start=1)]
    header = [name.casefold() if name.casefold() in known_columns else name for name in names]
    return RowFile(header, _csv_rows(records, header))


def _csv_records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not blank, with its number as spreadsheets count rows."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 0
    try:
        for number, cells in enumerate(reader, start=1):
            if any(map(str.strip, cells)):
                yield number, cells
    except csv.Error as error:
        is_open = str(error) == "unexpected end of data"
        problem = "a quote is never closed" if is_open else str(error)
        raise InputError(f"{path} row {number + 1}: not CSV: {problem}; correct the file") from error


def _csv_rows(records: Iterator[tuple[int, list[str]]], header: Sequence[str]) -> Iterator[FileRow]:
    """Yield records as mappings by column; missing cells are None, and too many cells are a Fault."""
    width = len(header)
    for number, cells in records:
        values = [cell if cell.strip() else None for cell in cells]
        row: Any = dict(zip(header, values + [None] * (width - len(values)), strict=False))
        if any(values[width:]):
            detail = f"{len(cells)} cells under a header of {width}; quote cells that hold the delimiter"
            row = Fault("broken_line", detail)
        yield FileRow(number, row, json.dumps(cells, ensure_ascii=False).encode())


def _parquet_rows(path: Path, content: bytes, limits: Limits) -> Iterator[FileRow]:
    """Yield the rows of a Parquet file, whose size is checked as it is unpacked."""
    import polars as pl
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    max_size = 4 * limits.max_bytes  # rows are larger than a compressed file
    number = size = 0
    try:
        for batch in pq.ParquetFile(io.BytesIO(content)).iter_batches(_BLOCK):
            size += batch.nbytes  # the metadata of a file may state a smaller size
            if size > max_size:
                raise InputError(f"{path} unpacks to more than {max_size} bytes; split it")
            for row in pl.DataFrame(batch).iter_rows(named=True):
                number += 1
                yield FileRow(number, row)
    except (ArrowException, pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise InputError(f"{path} is not a readable Parquet file; write it again") from error
