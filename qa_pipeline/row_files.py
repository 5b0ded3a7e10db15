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
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple

from qa_pipeline.errors import InputError

if TYPE_CHECKING:  # heavy, and settings import this module
    import polars as pl
    import pyarrow

MOST_COLUMNS = 2_000
"""No table that people label has more, and a header of millions of names would be held for every row."""
MOST_LEVELS = 200
"""Traces, the deepest JSON that is read, need 90; Python's own functions give up from about 900 on."""
MOST_UNPACKED = 4
"""Times `Limits.max_bytes` that the rows of a file may take when they are unpacked."""
_BLOCK = 256
"""Rows of a table that are objects at one time: as columns they take a tenth of the memory."""
_SPREADSHEETS = (".csv", ".tsv", ".txt")
"""`.txt` is what Excel calls "Unicode text", `.tsv` what Google Sheets calls tab-separated values."""
_DELIMITERS = ",;\t"
_OTHER_KINDS = {
    b"PK\x03\x04": "a spreadsheet or another ZIP file",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet or document",
    b"\x1f\x8b": "a compressed file",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF file",
}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes above which a file, or a line of it, is refused; errors name the settings if they are those."""

    max_bytes: int = 1_000_000_000
    max_line_bytes: int = 1_000_000
    max_rows: int = 1_000_000
    are_settings: bool = False

    def remedy(self, setting: str) -> str:
        """Return what to do about a file that is too large."""
        return f"split it, or raise pairs_file.{setting}" if self.are_settings else "split it"


@dataclass(frozen=True, slots=True)
class Fault:
    """A reason code, in snake_case, why a row cannot be used, and a sentence about it."""

    reason: str
    detail: str


class FileRow(NamedTuple):
    """One row of a file.

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
        types: of the columns of Parquet, else empty.
        rows: reads the rows, of Parquet the columns given alone; raises `InputError`.
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
    known: Collection[str] = (),
    short_rows: bool = False,
    unfold: Callable[[Any], Iterable[Any]] | None = None,
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
        known: names of columns of CSV files that are found in any case.
        short_rows: whether rows of CSV files may lack their last cells, as some spreadsheets leave them out.
        unfold: rows that a value stands for; limits hold for each of them.

    Raises:
        InputError: the file cannot be read as a whole; also while its rows are read.
    """
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise InputError(f"{path}: unknown format; rows come as {', '.join(suffixes)}")
    source = _Source(path, content, limits)
    if suffix in _SPREADSHEETS:
        opened = _csv(source, known, short_rows=short_rows)
    elif suffix == ".parquet":
        opened = _parquet(source)
    elif suffix == ".arrow":
        opened = _arrow(source)
    else:
        rows = _json_file(source) if suffix == ".json" else _json_lines(source)
        return _with_columns(_limited(rows, source, unfold))
    if len(opened.columns) > MOST_COLUMNS:
        raise InputError(f"{path} has {len(opened.columns)} columns; leave at most {MOST_COLUMNS}")
    if repeated := next((name for name, count in Counter(opened.columns).items() if count > 1), None):
        raise InputError(f"{path} row 1: column {repeated[:200]!r} stands twice; rename one")
    return RowFile(
        opened.columns, opened.types, lambda only=None: _limited(opened.rows(only), source, unfold)
    )


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
    return any(levels == 0 or is_too_deep(one, levels - 1) for one in inner)


@dataclass(frozen=True, slots=True)
class _Source:
    """A file to read, or its content where that is in memory."""

    path: Path
    content: bytes | None
    limits: Limits

    @property
    def handle(self) -> Path | BinaryIO:
        return self.path if self.content is None else io.BytesIO(self.content)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open it, if it is no device and not too large."""
        try:
            if self.content is None and not stat.S_ISREG(self.path.stat().st_mode):
                raise InputError(f"{self.path} cannot be read: it is no file; name one")
            with self.path.open("rb") if self.content is None else io.BytesIO(self.content) as file:
                if file.seek(0, io.SEEK_END) > self.limits.max_bytes:
                    raise InputError(
                        f"{self.path}: larger than {self.limits.max_bytes} bytes; "
                        f"{self.limits.remedy('max_bytes')}"
                    )
                file.seek(0)
                yield file
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read: {error.strerror or error}; check path and rights"
            ) from error

    @contextmanager
    def text(self) -> Iterator[IO[bytes]]:
        """Open a file of text behind its byte order mark, as UTF-8."""
        with self.opened() as file:
            start = file.read(4)
            kind = next((kind for begin, kind in _OTHER_KINDS.items() if start.startswith(begin)), None)
            if kind is not None:
                raise InputError(f"{self.path} is {kind}; save it as UTF-8 text, or name it after what it is")
            file.seek(len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0)
            if start.startswith(_UTF16):
                try:
                    yield io.BytesIO(file.read().decode("utf-16").encode())
                except UnicodeDecodeError as error:
                    raise InputError(f"{self.path} is damaged UTF-16; save it as UTF-8") from error
            else:
                yield file

    def not_utf8(self, place: str) -> InputError:
        return InputError(f"{self.path} is not UTF-8 ({place}); save it as UTF-8, in Excel as 'CSV UTF-8'")

    def too_large(self) -> InputError:
        most = MOST_UNPACKED * self.limits.max_bytes
        return InputError(f"{self.path} unpacks to more than {most} bytes; {self.limits.remedy('max_bytes')}")

    def too_many_rows(self) -> InputError:
        return InputError(
            f"{self.path} holds more than {self.limits.max_rows} rows; {self.limits.remedy('max_pairs')}"
        )


def _limited(
    rows: Iterator[FileRow], source: _Source, unfold: Callable[[Any], Iterable[Any]] | None
) -> Iterator[FileRow]:
    """Give the rows, unfolded, as long as they are neither too many nor together too large."""
    limits = source.limits
    most, longest, most_bytes = limits.max_rows, limits.max_line_bytes, MOST_UNPACKED * limits.max_bytes
    place = size = 0
    for row in rows:
        for value in (row.value,) if unfold is None else unfold(row.value):
            is_same = value is row.value
            written = row.written if is_same else json.dumps(value, default=str).encode()
            place, size = place + 1, size + len(written)
            if place > most:
                raise source.too_many_rows()
            if size > most_bytes:
                raise source.too_large()
            if len(written) > longest and not isinstance(value, Fault):
                yield FileRow(row.place or place, too_long(len(written), limits), written)
            elif is_same and row.place:
                yield row
            else:
                yield FileRow(row.place or place, value, written)


def too_long(size: int, limits: Limits) -> Fault:
    """Return the fault of a row of so many bytes."""
    setting = " (pairs_file.max_line_bytes)" if limits.are_settings else ""
    return Fault("line_too_long", f"{size} bytes, at most {limits.max_line_bytes} are read{setting}")


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


def _json_lines(source: _Source, *, tolerant: bool = False) -> Iterator[FileRow]:
    with source.text() as file:
        for place, (line, size) in enumerate(_lines(file, source.limits.max_line_bytes), start=1):
            if not (written := line.strip()):
                continue
            if max(size, len(written)) > source.limits.max_line_bytes:
                yield FileRow(place, too_long(size or len(written), source.limits), written)
                continue
            try:
                text = written.decode()
            except UnicodeDecodeError as error:
                if not tolerant:
                    raise source.not_utf8(f"line {place}") from error
                yield FileRow(place, Fault("broken_line", "not UTF-8"), written)
            else:
                yield FileRow(place, _decoded(text), written)


def _lines(file: IO[bytes], most: int) -> Iterator[tuple[bytes, int]]:
    """Read lines; of one that is too long its beginning and its size, of others the size is 0."""
    longest = most + len("\r\n")
    while line := file.readline(longest):
        size = 0
        if len(line) == longest and not line.endswith(b"\n"):
            size = longest
            while rest := file.readline(longest):
                size += len(rest)
                if rest.endswith(b"\n"):
                    break
        yield line, size


def _decoded(text: str) -> Any:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return Fault("broken_line", f"not JSON: {error.msg} in column {error.colno}")
    except (ValueError, RecursionError) as error:  # a number, or nesting, without end
        return Fault("broken_line", f"not JSON: {error}")
    # an object of few brackets cannot be deep, and most are
    if text.count("[") + text.count("{") > MOST_LEVELS and is_too_deep(value):
        return Fault("broken_line", f"not usable JSON: nested more than {MOST_LEVELS} levels deep")
    return value


def _json_file(source: _Source) -> Iterator[FileRow]:
    """Read the objects of a list, or of the list `data` of an object; or one object, or one a line."""
    with source.text() as file:
        content = file.read()
    try:
        text = content.decode()
        value = json.loads(text if text.strip() else "[]")
    except UnicodeDecodeError as error:
        raise source.not_utf8(_broken_line(content)) from error
    except RecursionError as error:
        raise InputError(f"{source.path} is nested too deeply; write it again") from error
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            lines = _json_lines(_Source(source.path, content, source.limits))
            yield from (row._replace(place=0) for row in lines)
            return
        place = f"line {error.lineno} column {error.colno}: {error.msg}"
        raise InputError(
            f"{source.path} is not JSON ({place}); write it again, as JSONL if it is long"
        ) from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{source.path} is not JSON ({error}); write it again") from error
    listed = value.get("data") if isinstance(value, dict) else value
    for one in listed if isinstance(listed, list) else [value]:
        if is_too_deep(one):
            raise InputError(f"{source.path} is nested too deeply; write it again")
        yield FileRow(0, one, json.dumps(one).encode())


class _CsvLines(Iterator[str]):
    """Lines of a CSV file; remembers those of the current record, to go back behind its first.

    Without that, a quote that is never closed would swallow all lines after it.
    """

    def __init__(self, file: IO[str], most: int) -> None:
        self._file, self._again, self._most = file, deque[str](), most
        self._lines: list[str] = []
        self._size = 0

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._read()
        if not line:
            raise StopIteration
        self._lines.append(line)
        self._size += len(line) if line.isascii() else len(line.encode(errors="replace"))
        if self._size > self._most:
            raise _UnusableRecordError(
                "line_too_long", f"more than {self._most} bytes; is a quote left open?"
            )
        return line

    def _read(self) -> str:
        """Read a line, or of one that is too long the beginning."""
        line = self._file.readline(self._most + 1)
        rest = line
        while len(rest) > self._most and not rest.endswith(("\n", "\r")):
            rest = self._file.readline(self._most + 1)
        return line

    def end_record(self, lines: int | None = None) -> str:
        """End a record after the lines read, or after the first of them, and return its text."""
        record, again = self._lines[:lines], self._lines[len(self._lines[:lines]) :]
        self._again.extendleft(reversed(again))
        self._lines, self._size = [], 0
        return "".join(record)


class _UnusableRecordError(Exception):
    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.fault = Fault(reason, detail)


def _records(file: IO[str], delimiter: str, limits: Limits) -> Iterator[tuple[str, list[str] | Fault]]:
    """Read each record as its text and its cells, or why it has none."""
    # The limit of the csv module holds for the whole process. Ours is that of a record, so it is only raised.
    csv.field_size_limit(max(csv.field_size_limit(), limits.max_line_bytes))
    lines = _CsvLines(file, limits.max_line_bytes)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield lines.end_record(1), Fault("broken_line", f"not CSV: {error}")
        except _UnusableRecordError as error:
            yield lines.end_record(1), error.fault
        else:
            yield lines.end_record(), cells


def _csv(source: _Source, known: Collection[str], *, short_rows: bool) -> RowFile:
    with _csv_text(source) as file:
        head = file.read(source.limits.max_line_bytes)
    # the line that names the delimiter to spreadsheets, which show no row for it
    hint = head[4] if head.startswith("sep=") and head[4:5] in {*_DELIMITERS} else ""
    begin = len(io.StringIO(head, newline="").readline()) if hint else 0
    headers = {sign: _header(head[begin:], sign, known, source.limits) for sign in hint or _DELIMITERS}
    delimiter = max(headers, key=lambda sign: (len({*headers[sign]} & {*known}), len(headers[sign])))
    header = headers[delimiter]
    if any("\0" in name for name in header):
        raise source.not_utf8("row 1")
    if not header and head.strip():
        raise InputError(f"{source.path} row 1: found no header that can be read; write the file again")

    def rows() -> Iterator[FileRow]:
        with _csv_text(source) as file:
            file.read(begin)
            yield from _csv_rows(_records(file, delimiter, source.limits), header, short_rows=short_rows)

    return RowFile(header, {}, lambda _=None: rows())


@contextmanager
def _csv_text(source: _Source) -> Iterator[IO[str]]:
    with source.text() as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        try:
            yield text
        except UnicodeDecodeError as error:
            file.seek(0)
            raise source.not_utf8(_broken_line(file.read())) from error


def _broken_line(content: bytes) -> str:
    """Return the line that is not UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        content = content[: error.start]
    return f"line {content.count(10) + 1}"


def _header(text: str, delimiter: str, known: Collection[str], limits: Limits) -> list[str]:
    records = _records(io.StringIO(text, newline=""), delimiter, limits)
    cells = next((cells for written, cells in records if written.strip()), [])
    if isinstance(cells, Fault):
        return []
    names = [cell.strip() or f"column {place}" for place, cell in enumerate(cells, 1)]
    return [name.casefold() if name.casefold() in known else name for name in names]


def _csv_rows(
    records: Iterator[tuple[str, list[str] | Fault]], header: list[str], *, short_rows: bool
) -> Iterator[FileRow]:
    is_header = True
    for place, (text, cells) in enumerate(records, start=1):
        written = text.strip().encode()
        if is_header or not written:
            is_header = is_header and not written
        elif isinstance(cells, Fault):
            yield FileRow(place, cells, written)
        elif "\0" in text:
            yield FileRow(place, Fault("broken_line", "contains a NUL character"), written)
        elif any(filled := [bool(cell.strip()) for cell in cells]):
            count = len(cells) if any(filled[len(header) :]) else min(len(cells), len(header))
            if count > len(header) or (count < len(header) and not short_rows):
                detail = f"{count} cells under a header of {len(header)}; quote cells that hold the delimiter"
                yield FileRow(place, Fault("broken_line", detail), written)
            else:
                values = (cell if is_filled else None for cell, is_filled in zip(cells, filled, strict=True))
                yield FileRow(place, dict(zip(header, values, strict=False)), written)


def _parquet(source: _Source) -> RowFile:
    import polars as pl
    import pyarrow.parquet as pq

    with source.opened(), _table_errors(source, "a Parquet file"):
        facts = pq.read_metadata(source.handle)
        unpacked = sum(facts.row_group(group).total_byte_size for group in range(facts.num_row_groups))
        if facts.num_rows > source.limits.max_rows:
            raise source.too_many_rows()
        if unpacked > MOST_UNPACKED * source.limits.max_bytes:
            raise source.too_large()
        types = pl.read_parquet_schema(source.handle)

    def rows(only: Collection[str] | None = None) -> Iterator[FileRow]:
        columns = list(types if only is None else only)
        with _table_errors(source, "a Parquet file"), pq.ParquetFile(source.handle) as file:
            yield from _table_rows(source, file.iter_batches(_BLOCK, columns=columns))

    return RowFile(tuple(types), types, rows)


def _arrow(source: _Source) -> RowFile:
    """Open a file that `save_to_disk` of `datasets` wrote."""
    from pyarrow import ipc

    with source.opened(), _table_errors(source, "an Arrow stream"), ipc.open_stream(source.handle) as stream:
        columns = tuple(stream.schema.names)

    def rows() -> Iterator[FileRow]:
        with _table_errors(source, "an Arrow stream"), ipc.open_stream(source.handle) as stream:
            yield from _table_rows(source, stream)

    return RowFile(columns, {}, lambda _=None: rows())


def _table_rows(source: _Source, batches: "Iterable[pyarrow.RecordBatch]") -> Iterator[FileRow]:
    """Give rows as objects; what they take unpacked is counted, for a file may say less of itself."""
    import polars as pl

    places, size = count(1), 0
    for batch in batches:
        size += batch.nbytes
        if size > MOST_UNPACKED * source.limits.max_bytes:
            raise source.too_large()
        for start in range(0, batch.num_rows, _BLOCK):
            frame = pl.DataFrame(batch.slice(start, _BLOCK))
            for row in frame.iter_rows(named=True):
                yield FileRow(next(places), row)


@contextmanager
def _table_errors(source: _Source, kind: str) -> Iterator[None]:
    import polars as pl
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise InputError(f"{source.path} is not {kind} that can be read; write it again") from error
