"""Formats of pairs files: bytes become entries, each an object of fields or why it is none."""

import csv
import hashlib
import io
import json
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.errors import PairsFileError
from qa_pipeline.generation.pair_layouts import (
    LAYOUT_FIELDS,
    LAYOUTS,
    Row,
    UnusableEntry,
    fitting,
    layout_of,
    unfolded,
)
from qa_pipeline.settings.generation import PairsFileSettings

MOST_UNPACKED = 4
"""Times `max_bytes` that the entries of a file may hold when unpacked or unfolded."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One pair as written: its line (of a JSON file entry, of a Parquet file row) from 1, hash and value."""

    place: int
    sha256: str
    value: Any


Written = tuple[int, bytes, Any]
"""Place, content and value of an entry; a value that cannot be read is an `UnusableEntry`."""


def entries(content: bytes, name: str, limits: PairsFileSettings) -> Iterator[Entry]:
    """The entries of a pairs file; `name` tells its format.

    Raises:
        PairsFileError: it cannot be read as a whole, or holds more than `limits` allow.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in _FORMATS:
        raise PairsFileError(f"{name}: unknown format; pairs come as {', '.join(_FORMATS)}")
    count = size = 0
    for place, written, value in _unfolded(_FORMATS[suffix](content, name, limits), limits):
        count, size = count + 1, size + len(written)
        if count > limits.max_pairs:
            raise PairsFileError(
                f"{name} holds more than {limits.max_pairs} pairs; split it, or raise pairs_file.max_pairs"
            )
        if size > MOST_UNPACKED * limits.max_bytes:
            raise _too_large(name, limits)
        yield Entry(count if suffix == ".json" else place, hashlib.sha256(written).hexdigest(), value)


def _unfolded(found: Iterator[Written], limits: PairsFileSettings) -> Iterator[Written]:
    """Each question of nested SQuAD for itself; the limit of a line holds for that."""
    for place, written, value in found:
        for one in unfolded(value):
            own = written if one is value else json.dumps(one).encode()
            too_long = len(own) > limits.max_line_bytes and not isinstance(one, UnusableEntry)
            yield place, own, _too_long(len(own), limits) if too_long else one


def _too_long(size: int, limits: PairsFileSettings) -> UnusableEntry:
    return UnusableEntry("line_too_long", f"{size} bytes, at most {limits.max_line_bytes} are read")


def _too_large(name: str, limits: PairsFileSettings) -> PairsFileError:
    most = MOST_UNPACKED * limits.max_bytes
    return PairsFileError(
        f"{name} unpacks to more than {most} bytes; split it, or raise pairs_file.max_bytes"
    )


_OTHER_KINDS = {
    b"PK\x03\x04": "a spreadsheet or another ZIP file",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet or document",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


def _text(content: bytes, name: str) -> str:
    kind = next((kind for start, kind in _OTHER_KINDS.items() if content.startswith(start)), None)
    if kind is not None:
        raise PairsFileError(f"{name} is {kind}; save it as UTF-8 text, or name it after what it is")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PairsFileError(f"{name} is not UTF-8 (line {line}); save it as UTF-8") from error


def _json_lines(content: bytes, name: str, limits: PairsFileSettings) -> Iterator[Written]:
    _text(content, name)
    for number, line in enumerate(io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")), start=1):
        if written := line.strip():
            long = len(written) > limits.max_line_bytes
            yield number, written, _too_long(len(written), limits) if long else _decoded(written)


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return UnusableEntry("broken_line", f"not JSON: {error}")


def _json_file(content: bytes, name: str, limits: PairsFileSettings) -> Iterator[Written]:
    """The objects of a list, or of the list `data` of an object; or one object, or one a line."""
    text = _text(content, name)
    try:
        value = json.loads(text if text.strip() else "[]")
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            told = f"line {error.lineno} column {error.colno}: {error.msg}"
            raise PairsFileError(
                f"{name} is not JSON ({told}); write it again, as JSONL if it is long"
            ) from error
        yield from _json_lines(content, name, limits)
        return
    except RecursionError as error:
        raise PairsFileError(f"{name} is nested too deeply; write it again") from error
    listed = value.get("data") if isinstance(value, dict) else value
    for one in listed if isinstance(listed, list) else [value]:
        yield 0, json.dumps(one).encode(), one


class _Lines(Iterator[str]):
    """Lines of a CSV text; remembers those of the current record, to go back behind its first.

    Without that, a quote that is never closed would swallow all lines after it.
    """

    def __init__(self, text: str, most: int) -> None:
        self._lines, self._again, self._most = io.StringIO(text, newline=""), deque[str](), most
        self.taken: list[str] = []
        self.first = 1
        self._size = 0

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._lines)
        self.taken.append(line)
        self._size += len(line.encode())
        if self._size > self._most:
            raise UnusableEntry("line_too_long", f"more than {self._most} bytes; is a quote left open?")
        return line

    def begin(self, *, kept: int | None = None) -> None:
        """Begin a record after the lines taken, or after the first `kept` of them."""
        kept = len(self.taken) if kept is None else kept
        self._again.extendleft(reversed(self.taken[kept:]))
        self.first += kept
        self.taken, self._size = [], 0


def _csv(content: bytes, name: str, limits: PairsFileSettings) -> Iterator[Written]:
    header, rows = csv_rows(content, name, limits)
    if header:
        _check_columns(header, f"{name} line 1")
    return iter(rows)


def csv_rows(content: bytes, name: str, limits: PairsFileSettings) -> tuple[list[str], list[Written]]:
    """Return the header of a CSV file and its rows, as objects named by it: at most one more than allowed.

    The sign that parts cells is the one whose header fits a layout of pairs, else the one of most columns.

    Raises:
        PairsFileError: it is no UTF-8 text, has no header, or two columns have one name.
    """
    text = _text(content, name)
    before = csv.field_size_limit(max(len(text), 1))  # the module's own limit holds for the process
    try:
        headers = {sign: _header(text, sign, limits) for sign in ",;\t"}
        delimiter = max(headers, key=lambda sign: (bool(fitting(headers[sign])), len(headers[sign])))
        if text.strip() and not headers[delimiter]:
            raise PairsFileError(f"{name} line 1: found no header that can be read; write the file again")
        rows = _csv_rows(text, name, headers[delimiter], delimiter, limits)
        return headers[delimiter], list(islice(rows, limits.max_pairs + 1))
    finally:
        csv.field_size_limit(before)


def _csv_rows(
    text: str, name: str, header: list[str], delimiter: str, limits: PairsFileSettings
) -> Iterator[Written]:
    if twice := [column for column, count in Counter(header).items() if count > 1]:
        raise PairsFileError(f"{name} line 1: column {twice[0]!r} stands twice; rename one")
    records = _records(text, delimiter, limits)
    next(records, None)
    for place, written, cells in records:
        yield place, written, cells if isinstance(cells, UnusableEntry) else _row(header, cells)


def _row(header: list[str], cells: list[str]) -> Row | UnusableEntry:
    if len(cells) != len(header):
        return UnusableEntry("broken_line", f"{len(cells)} cells under a header of {len(header)}")
    return {column: _cell(column, cell) for column, cell in zip(header, cells, strict=True)}


def _header(text: str, delimiter: str, limits: PairsFileSettings) -> list[str]:
    cells: Any = next((cells for _, _, cells in _records(text, delimiter, limits)), [])
    if isinstance(cells, UnusableEntry):
        return []
    names = [cell.strip() or f"column {place}" for place, cell in enumerate(cells, 1)]
    return [name.casefold() if name.casefold() in _KNOWN else name for name in names]


_KNOWN = LAYOUT_FIELDS | {
    "citations", "sources", "contexts", "language", "coverage", "id", "expected_verdict", "expected_kind",
}  # fmt: skip
_LISTS = frozenset({"citations", "sources", "contexts", "messages", "conversations", "answers"})


def _cell(column: str, cell: str) -> Any:
    """A cell's text, None where it is empty; in columns of lists the list, where it is written as JSON."""
    if column in _LISTS and cell.lstrip().startswith(('["', "[{", "{", "[]")):
        decoded = _decoded(cell.encode(errors="replace"))
        return cell if isinstance(decoded, UnusableEntry) else decoded
    return cell if cell.strip() else None


def _records(text: str, delimiter: str, limits: PairsFileSettings) -> Iterator[Written]:
    lines = _Lines(text, limits.max_line_bytes)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        first = lines.first
        try:
            cells: Any = next(reader)
            kept = len(lines.taken)
        except StopIteration:
            return
        except csv.Error as error:
            cells, kept = UnusableEntry("broken_line", f"not CSV: {error}"), 1
        except UnusableEntry as error:
            cells, kept = error, 1
        written = "".join(lines.taken[:kept]).strip().encode()
        lines.begin(kept=kept)
        if written:
            yield first, written, cells


def _parquet(content: bytes, name: str, limits: PairsFileSettings) -> Iterator[Written]:
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    try:
        facts = pq.read_metadata(io.BytesIO(content))
        unpacked = sum(facts.row_group(group).total_byte_size for group in range(facts.num_row_groups))
        if unpacked > MOST_UNPACKED * limits.max_bytes:
            raise _too_large(name, limits)
        frame = pl.read_parquet(io.BytesIO(content), n_rows=limits.max_pairs + 1)
    except (ArrowException, pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise PairsFileError(f"{name} is not a Parquet file that can be read; write it again") from error
    if not _nested(frame.columns):
        _check_columns(frame.columns, name)
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        yield number, repr(sorted(row.items())).encode("utf-8", "surrogatepass"), row


def _nested(columns: list[str]) -> bool:
    return "paragraphs" in columns or "qas" in columns


def _check_columns(columns: list[str], told: str) -> None:
    """A column that no row can do without is missed once, not in every row."""
    if fitting(columns):
        return
    try:
        layout_of(columns)
    except UnusableEntry as error:
        if error.reason == "missing_field":
            missing = next(name for name in LAYOUTS[0].known_by if name not in columns)
            raise PairsFileError(f"{told} has no column {missing}; rename or add it") from error
        raise PairsFileError(f"{told}: {error.detail}; rename or add columns") from error


_FORMATS: dict[str, Callable[[bytes, str, PairsFileSettings], Iterator[Written]]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json_file,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
}
