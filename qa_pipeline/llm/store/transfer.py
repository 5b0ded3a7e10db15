"""Stored replies to a file and back: for another machine, for CI, for keeping.

What belongs here: streaming rows out of and into the database. What does not: the format of a line
(`lines.py`), where files lie and how they are packed (`packed_files.py`).

A file is one line of header and one line a reply, in the order of keys, so that equal stores give
equal files.
"""

import gzip
import io
import json
import os
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import REPLIES, REPLY_DOCUMENTS
from qa_pipeline.llm.store.store import REPLIED, insert_missing
from qa_pipeline.records import Repair, Role
from qa_pipeline.settings.location import is_remote, location_of

LONGEST_LINE = 16 * 2**20
"""Bytes of the longest line that is read; a reply is some thousand."""
MOST_BYTES = 64 * 2**30
"""Bytes of the largest file that is read, unpacked."""
_BLOCK = 2**20
ENDINGS = (".jsonl.gz", ".jsonl.zst", ".jsonl")


@contextmanager
def sent(location: str) -> Iterator[Path]:
    """A local file to write, which then takes the name of a local file or is put at an address in one piece.

    Raises:
        InputError: the address cannot be used.
        StorageError: the file could not be written; an old one is untouched.
    """
    _ending(location)
    place = _checked(location)
    if is_remote(place):
        with TemporaryDirectory(prefix="qa-pipeline-") as folder:
            path = Path(folder) / "file"
            yield path
            _told(place, "write", lambda: _put(path, place))
        return
    path = Path(place)
    sibling = path.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield sibling
            _sync(sibling)
            sibling.replace(path)
        finally:
            sibling.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}; an old file is untouched. Check that the "
            "folder can be written and has room"
        ) from error


@contextmanager
def received(location: str) -> Iterator[Path]:
    """The file on this machine, fetched if it lies elsewhere.

    Raises:
        InputError: it is not there, or cannot be read.
    """
    _ending(location)
    place = _checked(location)
    if not is_remote(place):
        if not Path(place).is_file():
            raise InputError(f"{place} is not there, or is no file")
        yield Path(place)
        return
    with TemporaryDirectory(prefix="qa-pipeline-") as folder:
        path = Path(folder) / "file"
        _told(place, "read", lambda: _get(place, path))
        yield path


@contextmanager
def packed(path: Path, name: str) -> Iterator[Any]:
    """A new file to write lines to, packed as the ending of the name says; equal lines give equal bytes."""
    with path.open("xb") as file:
        match _ending(name):
            case ".jsonl.gz":
                with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as stream:
                    yield stream
            case ".jsonl.zst":
                import pyarrow as pa

                with pa.CompressedOutputStream(file, "zstd") as stream:
                    yield stream
            case _:
                yield file


def read_lines(path: Path, name: str) -> Iterator[bytes]:
    """The lines of a file, without their ends.

    Raises:
        InputError: it is cut, damaged, or larger than any file of ours; says after which line.
    """
    number = total = 0
    try:
        with _unpacked(path, name) as file:
            while text := file.readline(LONGEST_LINE + 1):
                number, total = number + 1, total + len(text)
                if len(text) > LONGEST_LINE:
                    raise InputError(f"line {number} is longer than {LONGEST_LINE:,} bytes")
                if total > MOST_BYTES:
                    raise InputError(f"it holds more than {MOST_BYTES:,} bytes at line {number}")
                yield text.rstrip(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"it cannot be read after line {number}; it is cut or damaged") from error


@contextmanager
def _unpacked(path: Path, name: str) -> Iterator[Any]:
    match _ending(name):
        case ".jsonl.gz":
            with gzip.open(path, "rb") as stream:
                yield stream
        case ".jsonl.zst":
            import pyarrow as pa

            with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as stream:
                yield io.BufferedReader(stream, _BLOCK)
        case _:
            with path.open("rb") as file:
                yield file


def _ending(name: str) -> str:
    for ending in ENDINGS:
        if name.lower().endswith(ending):
            return ending
    raise InputError(f"{name} must end in {', '.join(ENDINGS)}, which says how it is packed")


def _checked(location: str) -> str:
    try:
        return location_of(location)
    except ValueError as error:
        raise InputError(f"the address cannot be used: {error}") from error


def _put(path: Path, place: str) -> None:
    import fsspec

    files, name = fsspec.core.url_to_fs(place)
    files.put_file(str(path), name)


def _get(place: str, path: Path) -> None:
    import fsspec

    files, name = fsspec.core.url_to_fs(place)
    files.get_file(name, str(path))


def _told(place: str, what: Literal["read", "write"], work: Callable[[], object]) -> None:
    kind = StorageError if what == "write" else InputError
    try:
        work()
    except Exception as error:  # noqa: BLE001 - each kind of place raises errors of its own
        # what a place's library says may hold addresses that were signed
        raise kind(
            f"cannot {what} {place} ({type(error).__name__}): check the address, and that the credentials in "
            f"the environment may {what} it"
        ) from None


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


HEADER = {"format": "qa_pipeline replies", "version": 2}
_MOST_TOKENS = 2**63 - 1
_MOST_DOCUMENTS = 10_000


class Line(BaseModel):
    """One stored reply; texts stand as the database holds them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    asked_model: str = Field(min_length=1, max_length=400)
    request_key: str = Field(pattern=r"^[0-9a-f]{64}$")
    role: Role
    batch: str
    outcome: str = Field(pattern=r"^[a-z_]{1,40}$")
    detail: str | None
    raw: str
    value: str | None
    replied_model: str | None = Field(max_length=400)
    repair: Repair
    input_tokens: int | None = Field(ge=0, le=_MOST_TOKENS)
    output_tokens: int | None = Field(ge=0, le=_MOST_TOKENS)
    cached_tokens: int | None = Field(ge=0, le=_MOST_TOKENS)
    thought_tokens: int | None = Field(ge=0, le=_MOST_TOKENS)
    stored_at: float = Field(ge=0, allow_inf_nan=False)
    documents: list[str] = Field(max_length=_MOST_DOCUMENTS)

    @property
    def row(self) -> dict[str, Any]:
        """The row of table `replies`."""
        return self.model_dump(exclude={"documents"})


def line_of(row: dict[str, Any], documents: list[str]) -> bytes:
    """The line of a row of table `replies`, and of the documents that it saw."""
    return _encoded({**row, "documents": documents})


def header_line() -> bytes:
    """The first line of a file."""
    return _encoded(HEADER)


def check_header(text: bytes) -> None:
    """Hold the first line against what this program reads.

    Raises:
        InputError: it is none of ours, or of another version.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != HEADER["format"]:
        raise InputError("line 1 is no header of replies: name a file of qa-pipeline replies export")
    if found.get("version") != HEADER["version"]:
        raise InputError(
            f"line 1 is of version {str(found.get('version'))[:20]!r}, this program reads version "
            f"{HEADER['version']}: export it with the same release"
        )


def read_line(text: bytes, number: int) -> Line:
    """Read one line.

    Raises:
        InputError: it is no stored reply; says the line and the fields, and repeats none of it.
    """
    try:
        line = Line.model_validate_json(text)
    except ValidationError as error:
        breaches = error.errors(include_url=False, include_context=False, include_input=False)
        raise InputError(f"line {number} is no stored reply: {_lines_told(breaches)}") from None
    _check_value(line, number)
    return line


def _check_value(line: Line, number: int) -> None:
    if (line.outcome == REPLIED) != (line.value is not None):
        raise InputError(f"line {number} is no stored reply: only the outcome {REPLIED} has a value")
    texts = (line.asked_model, line.batch, line.raw, line.value or "", line.detail or "", *line.documents)
    if any("\0" in text for text in texts):
        raise InputError(f"line {number} is no stored reply: it holds the character zero")
    if any(not 0 < len(document) <= 64 for document in line.documents):
        raise InputError(f"line {number} is no stored reply: documents are ids of 1 to 64 characters")
    if line.value is not None:
        _check_json(line.value, number)


def _check_json(value: str, number: int) -> None:
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        raise InputError(f"line {number} is no stored reply: value is not JSON") from None


def _lines_told(breaches: list[Any]) -> str:
    # the name of an unknown field is the file's own text
    named = {
        "an unknown field"
        if breach["type"] == "extra_forbidden"
        else f"{'.'.join(str(part) for part in breach['loc']) or 'the line'} {breach['type']}"
        for breach in breaches[:3]
    }
    return ", ".join(sorted(named))


def _encoded(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, sort_keys=True).encode() + b"\n"


_A_PORTION = 500
_PLACE = sa.tuple_(REPLIES.c.request_key, REPLIES.c.asked_model)


@dataclass(frozen=True, slots=True)
class Imported:
    """Replies that are new to the store, and those it had, which stay as they were."""

    new: int
    known: int


def export_replies(database: Database, location: str) -> int:
    """Write all replies to a local file or an address; it appears whole or not at all. Returns how many.

    Raises:
        InputError: the name has no known ending, or the address cannot be used.
        StorageError: the file could not be written; an old one is untouched.
        ReplyStoreError: the store cannot be used.
    """
    count = 0
    with sent(location) as sibling, packed(sibling, location) as file:
        file.write(header_line())
        for row, documents in _rows(database):
            file.write(line_of(row, documents))
            count += 1
    return count


def import_replies(database: Database, location: str) -> Imported:
    """Add the replies of a file to the store. Nothing is added unless every line is right.

    Raises:
        InputError: the file cannot be read, or a line is wrong; says which.
        ReplyStoreError: the store cannot be used.
    """
    with received(location) as path:
        count = sum(1 for _ in _lines(path, location))
        new = 0
        lines = _lines(path, location)
        while portion := list(islice(lines, _A_PORTION)):
            new += database.transact(partial(_add, database=database, lines=portion))
    return Imported(new, count - new)


def _lines(path: Path, location: str) -> Iterator[Line]:
    try:
        lines = read_lines(path, location)
        check_header(next(lines, b""))
        for number, text in enumerate(lines, 2):
            yield read_line(text, number)
    except InputError as error:
        raise InputError(f"{location} cannot be imported: {error}") from error


def _rows(database: Database) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Every row with its documents, read in portions, so that no run waits for it."""
    after: tuple[str, str] | None = None
    while portion := database.read(partial(_portion, after=after)):
        yield from portion
        last_row = portion[-1][0]
        after = (last_row["request_key"], last_row["asked_model"])


def _portion(
    connection: sa.Connection, after: tuple[str, str] | None
) -> list[tuple[dict[str, Any], list[str]]]:
    chosen = sa.select(REPLIES).order_by(*_PLACE.clauses).limit(_A_PORTION)
    if after is not None:
        chosen = chosen.where(sa.tuple_(*map(sa.literal, after)) < _PLACE)
    rows = [dict(row) for row in connection.execute(chosen).mappings()]
    documents = _documents(connection, [(row["asked_model"], row["request_key"]) for row in rows])
    return [(row, documents.get((row["asked_model"], row["request_key"]), [])) for row in rows]


def _documents(
    connection: sa.Connection, requests: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], list[str]]:
    columns = REPLY_DOCUMENTS.c
    chosen = (
        sa.select(columns.asked_model, columns.request_key, columns.document_id)
        .where(sa.tuple_(columns.asked_model, columns.request_key).in_(requests))
        .order_by(columns.document_id)
    )
    documents: dict[tuple[str, str], list[str]] = {}
    for model, key, document in connection.execute(chosen):
        documents.setdefault((model, key), []).append(document)
    return documents


def _add(connection: sa.Connection, database: Database, lines: Sequence[Line]) -> int:
    rows = [line.row for line in lines]
    preserve = {"preserve_rowcount": True}
    added = connection.execute(insert_missing(database, REPLIES), rows, execution_options=preserve).rowcount
    seen = list(_seen(lines))
    if seen:
        connection.execute(insert_missing(database, REPLY_DOCUMENTS), seen)
    return added


def _seen(lines: Iterable[Line]) -> Iterator[dict[str, str]]:
    for line in lines:
        for document in line.documents:
            yield {
                "asked_model": line.asked_model,
                "request_key": line.request_key,
                "document_id": document,
            }
