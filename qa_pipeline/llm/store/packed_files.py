"""Files of lines, packed, on this machine or at an address that fsspec opens.

What belongs here: appearing whole, unpacking within limits. What does not: what a line says (`lines.py`).
"""

import gzip
import io
import os
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.locations import is_remote, location_of

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
