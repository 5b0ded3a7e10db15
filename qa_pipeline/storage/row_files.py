"""Files of rows: JSON lines, JSON, CSV, Parquet and Arrow streams, each row read with its place in the file.

A file that cannot be read as a whole is an `InputError` that names the file, the place and what to do. A row
that cannot be read is a `Fault` in place of its value: callers count it and go on, or refuse the file.
"""

import codecs
import csv
import io
import json
import stat
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, AnyStr, NamedTuple

from qa_pipeline.errors import InputError

if TYPE_CHECKING:  # heavy, and settings import this module
    import polars as pl
    import pyarrow

MOST_COLUMNS = 2_000
"""No table that people label has more, and a header of millions of names would be held for every row."""
MOST_LEVELS = 200
"""Traces, the deepest JSON that is read, nest 20 values of four levels each; recursion ends at 1,000."""
_BLOCK = 256
"""Rows of a table that are objects at one time: as columns they take a tenth of the memory."""
_SPREADSHEETS = (".csv", ".tsv", ".txt")
"""`.txt` is what Excel calls "Unicode text", `.tsv` what Google Sheets calls tab-separated values."""
_TABLES = (".parquet", ".arrow")
_DELIMITERS = ",;\t"
_LINE_ENDS: tuple[object, ...] = ("\n", "\r", b"\n")
_OTHER_KINDS = {
    b"PK\x03\x04": "a spreadsheet or another ZIP file",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet or document",
    b"\x1f\x8b": "a compressed file",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF file",
}
_read_json = json.JSONDecoder().raw_decode
"""Takes a text without blanks around it, for which `json.loads` looks twice."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes above which a file, or a line of it, is refused; errors name the settings if they are those."""

    max_bytes: int = 1_000_000_000
    max_line_bytes: int = 1_000_000
    max_rows: int = 1_000_000
    are_settings: bool = False

    @property
    def max_unpacked(self) -> int:
        """Return the bytes that the unpacked rows of a file may take."""
        return 4 * self.max_bytes

    def remedy(self, setting: str) -> str:
        """Return what to do about a file that is too large."""
        return f"split it, or raise pairs_file.{setting}" if self.are_settings else "split it"


@dataclass(frozen=True, slots=True)
class Fault:
    """A reason code, in snake_case, why a row cannot be used, and a sentence about it."""

    reason: str
    detail: str


class FileRow(NamedTuple):
    """A row of a file.

    Args:
        place: the line of JSON lines, entry of JSON, or row of a table as spreadsheets count it, from 1.
        value: usually a mapping by column, or the `Fault` of the row.
        written: its bytes in the file; empty for rows of Parquet and Arrow.
    """

    place: int
    value: Any
    written: bytes = b""


@dataclass(frozen=True, slots=True)
class RowFile:
    """An open file of rows, to be read once.

    Args:
        columns: of a table, or the fields of the first object.
        types: of the columns of Parquet and Arrow, else empty.
        rows: reads the rows, of Parquet only some columns where these are given; raises `InputError`.
    """

    columns: Sequence[str]
    types: "Mapping[str, pl.DataType]"
    rows: Callable[..., Iterator[FileRow]]


def unit_of(name: str) -> str:
    """Return what the places of rows count in a file of this name: lines, entries or rows."""
    suffix = Path(name).suffix.lower()
    return {".jsonl": "line", ".ndjson": "line", ".json": "entry"}.get(suffix, "row")


def open_rows(
    path: Path,
    limits: Limits,
    suffixes: Collection[str],
    *,
    content: bytes | None = None,
    columns_known: Collection[str] = (),
    short_rows: bool = False,
) -> RowFile:
    """Open a file of rows; its suffix tells the format.

    Text is UTF-8, or UTF-16 with a byte order mark. A JSON file holds a list, an object with the list `data`,
    one object, or JSON lines. In CSV files the delimiter is the one whose header has the most known names,
    else the most columns; a blank cell is None, a blank row none, and the row behind a quote that is never
    closed begins on the next line.

    Args:
        path: of the file.
        limits: its own and those of its rows.
        suffixes: formats the caller accepts.
        content: of the file, where it was read before.
        columns_known: names of columns of CSV files that are found in any case.
        short_rows: whether rows of CSV files may lack their last cells, as some spreadsheets leave them out.

    Raises:
        InputError: the file cannot be read as a whole; also while its rows are read.
    """
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise InputError(f"{path}: unknown format; rows come as {', '.join(suffixes)}")
    source = _Source(path, content, limits)
    if suffix not in (*_SPREADSHEETS, *_TABLES):
        rows = _json_file(source) if suffix == ".json" else _json_lines(source)
        return _with_columns(_limited(rows, source))
    opened = _table(source) if suffix in _TABLES else _csv(source, columns_known, short_rows=short_rows)
    if len(opened.columns) > MOST_COLUMNS:
        raise source.error(f"has {len(opened.columns)} columns; leave at most {MOST_COLUMNS}")
    if repeated := next((name for name, times in Counter(opened.columns).items() if times > 1), None):
        raise source.error(f"row 1: column {repeated[:200]!r} stands twice; rename one")
    return RowFile(opened.columns, opened.types, lambda only=None: _limited(opened.rows(only), source))


def json_lines(path: Path, limits: Limits, *, tolerant: bool = False) -> Iterator[FileRow]:
    """Read JSON lines, whatever the file is called and however many there are; blank ones are skipped.

    Args:
        path: of the file.
        limits: of the file and of a line.
        tolerant: whether a line that cannot be read is the `Fault` of that line; else it is refused.

    Raises:
        InputError: the file, or a line of it, cannot be read.
    """
    for row in _json_lines(_Source(path, None, limits), tolerant=tolerant):
        if isinstance(row.value, Fault) and not tolerant:
            raise InputError(f"{path}, line {row.place}: {row.value.detail}; write one JSON object a line")
        yield row


def is_too_deep(value: object, levels: int = MOST_LEVELS) -> bool:
    """Return whether mappings and lists are nested more levels deep than any writer means."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(levels == 0 or is_too_deep(item, levels - 1) for item in inner)


@dataclass(frozen=True, slots=True)
class _Source:
    """A file to read, or its content where that is in memory."""

    path: Path
    content: bytes | None
    limits: Limits

    def error(self, problem: str, setting: str = "") -> InputError:
        return InputError(f"{self.path} {problem}{self.limits.remedy(setting) if setting else ''}")

    def not_utf8(self, place: str) -> InputError:
        return self.error(f"is not UTF-8 ({place}); save it as UTF-8, in Excel as 'CSV UTF-8'")

    def too_large(self) -> InputError:
        return self.error(f"unpacks to more than {self.limits.max_unpacked} bytes; ", "max_bytes")

    def too_many_rows(self) -> InputError:
        return self.error(f"holds more than {self.limits.max_rows} rows; ", "max_pairs")

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file, if it is no device and not too large."""
        try:
            if self.content is None and not stat.S_ISREG(self.path.stat().st_mode):
                raise self.error("cannot be read: it is no file; name one")
            with self.path.open("rb") if self.content is None else io.BytesIO(self.content) as file:
                if file.seek(0, io.SEEK_END) > self.limits.max_bytes:
                    raise self.error(f"is larger than {self.limits.max_bytes} bytes; ", "max_bytes")
                file.seek(0)
                yield file
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or error}; check path and rights") from error

    @contextmanager
    def text(self) -> Iterator[IO[bytes]]:
        """Open a file of text behind its byte order mark, as UTF-8."""
        with self.opened() as file:
            start = file.read(4)
            if kind := next((_OTHER_KINDS[begin] for begin in _OTHER_KINDS if start.startswith(begin)), None):
                raise self.error(f"is {kind}; save it as UTF-8 text, or name it after what it is")
            file.seek(len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0)
            yield self._from_utf16(file.read()) if start.startswith(_UTF16) else file

    def _from_utf16(self, content: bytes) -> IO[bytes]:
        try:
            return io.BytesIO(content.decode("utf-16").encode())
        except UnicodeDecodeError as error:
            raise self.error("is damaged UTF-16; save it as UTF-8") from error


def _limited(rows: Iterator[FileRow], source: _Source) -> Iterator[FileRow]:
    """Yield the rows as long as they are neither too many nor together too large."""
    limits, most, longest = source.limits, source.limits.max_unpacked, source.limits.max_line_bytes
    number = size = 0
    for row in rows:
        number, size = number + 1, size + len(row.written)
        if number > limits.max_rows:
            raise source.too_many_rows()
        if size > most:
            raise source.too_large()
        if len(row.written) > longest and not isinstance(row.value, Fault):
            yield FileRow(row.place or number, too_long(limits), row.written)
        else:
            yield row if row.place else FileRow(number, row.value, row.written)


def too_long(limits: Limits) -> Fault:
    """Return the fault of a row that is written in more bytes than allowed."""
    setting = " (pairs_file.max_line_bytes)" if limits.are_settings else ""
    return Fault("line_too_long", f"longer than {limits.max_line_bytes} bytes{setting}; shorten it")


def _with_columns(rows: Iterator[FileRow]) -> RowFile:
    """Read as far as the first object, whose fields are the columns."""
    first: list[FileRow] = []
    columns: Sequence[str] = ()
    for row in rows:
        first.append(row)
        if isinstance(row.value, dict):
            columns = tuple(row.value)
            break
    return RowFile(columns, {}, lambda _=None: chain(first, rows))


def _line(file: IO[AnyStr], most: int) -> AnyStr:
    """Read a line; of one that is longer than allowed the beginning, and the rest is skipped."""
    longest = most + len("\r\n")
    line = file.readline(longest)
    if len(line) == longest:
        rest = line
        while len(rest) == longest and rest[-1:] not in _LINE_ENDS:
            rest = file.readline(longest)
    return line


def _json_lines(source: _Source, *, tolerant: bool = False) -> Iterator[FileRow]:
    most = source.limits.max_line_bytes
    with source.text() as file:
        for place in count(1):
            if not (line := _line(file, most)):
                return
            if not (written := line.strip()):
                continue
            try:
                is_long = len(line) > most and len(line.rstrip(b"\r\n")) > most
                value = too_long(source.limits) if is_long else _decoded(written.decode())
            except UnicodeDecodeError as error:
                if not tolerant:
                    raise source.not_utf8(f"line {place}") from error
                value = Fault("broken_line", "not UTF-8")
            yield FileRow(place, value, written)


def _decoded(text: str) -> Any:
    try:
        value, end = _read_json(text)
    except json.JSONDecodeError as error:
        return Fault("broken_line", f"not JSON: {error.msg} in column {error.colno}")
    except (ValueError, RecursionError) as error:  # a number, or nesting, without end
        return Fault("broken_line", f"not JSON: {error}")
    if end < len(text):
        return Fault("broken_line", f"not JSON: something follows the value in column {end + 1}")
    # an object of few brackets cannot be deep, and most are
    if text.count("[") + text.count("{") > MOST_LEVELS and is_too_deep(value):
        return Fault("broken_line", f"nested more than {MOST_LEVELS} levels deep")
    return value


def _json_file(source: _Source) -> Iterator[FileRow]:
    """Read the objects of a list, or of the list `data` of an object; or one object, or one a line."""
    with source.text() as file:
        content = file.read()
    too_deep = source.error(f"is nested more than {MOST_LEVELS} levels deep; write it again")
    try:
        text = content.decode()
        value = json.loads(text if text.strip() else "[]")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise source.not_utf8(f"line {line}") from error
    except RecursionError as error:
        raise too_deep from error
    except ValueError as error:
        if getattr(error, "msg", "") == "Extra data":
            lines = _json_lines(_Source(source.path, content, source.limits))
            yield from (row._replace(place=0) for row in lines)
            return
        raise source.error(f"is not JSON ({error}); write it again, as JSONL if it is long") from error
    listed = value.get("data") if isinstance(value, dict) else value
    for item in listed if isinstance(listed, list) else [value]:
        if is_too_deep(item):
            raise too_deep
        yield FileRow(0, item, json.dumps(item).encode())


def _records(file: IO[str], delimiter: str, limits: Limits) -> Iterator[tuple[str, list[str] | Fault]]:
    """Read each record as its text and its cells, or why it has none.

    After a record that cannot be read the next one begins on the next line: else a quote that is never closed
    would swallow all lines after it.
    """
    # The limit of the csv module holds for the whole process. Ours is that of a record, so it is only raised.
    csv.field_size_limit(max(csv.field_size_limit(), limits.max_line_bytes))
    again, lines = deque[str](), list[str]()

    def of_record() -> Iterator[str]:
        size = 0
        while line := again.popleft() if again else _line(file, limits.max_line_bytes):
            lines.append(line)
            size += len(line) if line.isascii() else len(line.encode(errors="surrogateescape"))
            if size > limits.max_line_bytes:
                return
            yield line

    while True:
        lines.clear()
        cells: list[str] | Fault
        try:
            cells = next(csv.reader(of_record(), delimiter=delimiter, strict=True))
        except StopIteration:
            if not lines:
                return
            cells = too_long(limits)
        except csv.Error as error:
            is_open = str(error) == "unexpected end of data"
            cells = Fault("broken_line", f"not CSV: {'a quote is never closed' if is_open else error}")
        if isinstance(cells, Fault):
            again.extendleft(reversed(lines[1:]))
            del lines[1:]
        yield "".join(lines), cells


def _csv(source: _Source, columns_known: Collection[str], *, short_rows: bool) -> RowFile:
    with source.text() as file, _csv_text(file) as text:
        head = text.read(source.limits.max_line_bytes)
    # the line that names the delimiter to spreadsheets, which show no row for it
    hint = head[4] if head.startswith("sep=") and head[4:5] in {*_DELIMITERS} else ""
    begin = len(io.StringIO(head, newline="").readline()) if hint else 0
    headers = {
        sign: _header(head[begin:], sign, columns_known, source.limits) for sign in hint or _DELIMITERS
    }
    delimiter = max(headers, key=lambda sign: (len({*headers[sign]} & {*columns_known}), len(headers[sign])))
    header = headers[delimiter]
    if b"\0" in _encoded("".join(header), source, 1):
        raise source.not_utf8("row 1")
    if not header and head.strip():
        raise source.error("row 1: found no header that can be read; write the file again")

    def rows(_: Collection[str] | None = None) -> Iterator[FileRow]:
        with source.text() as file, _csv_text(file) as text:
            text.read(begin)
            records = _records(text, delimiter, source.limits)
            yield from _csv_rows(source, records, header, short_rows=short_rows)

    return RowFile(header, {}, rows)


def _csv_text(file: IO[bytes]) -> IO[str]:
    """Decode a file; what is not UTF-8 in it becomes what cannot be encoded again."""
    return io.TextIOWrapper(file, "utf-8", "surrogateescape", newline="")


def _encoded(text: str, source: _Source, place: int) -> bytes:
    try:
        return text.strip().encode()
    except UnicodeEncodeError as error:
        raise source.not_utf8(f"row {place}") from error


def _header(text: str, delimiter: str, columns_known: Collection[str], limits: Limits) -> list[str]:
    records = _records(io.StringIO(text, newline=""), delimiter, limits)
    cells = next((cells for written, cells in records if written.strip()), [])
    if isinstance(cells, Fault):
        return []
    names = [cell.strip() or f"column {place}" for place, cell in enumerate(cells, 1)]
    return [name.casefold() if name.casefold() in columns_known else name for name in names]


def _csv_rows(
    source: _Source, records: Iterable[tuple[str, list[str] | Fault]], header: list[str], *, short_rows: bool
) -> Iterator[FileRow]:
    is_header, width = True, len(header)
    for place, (text, cells) in enumerate(records, start=1):
        value: Any = cells
        if not (written := _encoded(text, source, place)):
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
        yield FileRow(place, value, written)


def _table(source: _Source) -> RowFile:
    import polars as pl

    def rows(only: Collection[str] | None = None) -> Iterator[FileRow]:
        place = size = 0
        with _batches(source, only) as (_, batches):
            for batch in batches:
                size += batch.nbytes  # a file may say less of itself
                if size > source.limits.max_unpacked:
                    raise source.too_large()
                for start in range(0, batch.num_rows, _BLOCK):
                    for row in pl.DataFrame(batch.slice(start, _BLOCK)).iter_rows(named=True):
                        place += 1
                        yield FileRow(place, row)

    with source.opened(), _batches(source) as (schema, _):
        types = pl.Schema(schema)
    return RowFile(tuple(types), types, rows)


@contextmanager
def _batches(
    source: _Source, only: Collection[str] | None = None
) -> "Iterator[tuple[pyarrow.Schema, Iterable[pyarrow.RecordBatch]]]":
    """Open Parquet, or the stream of Arrow's batches that `save_to_disk` of `datasets` writes."""
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
