"""Read ZIP containers under limits: Office files, EPUBs and batches.

Members are read in memory, and never unpacked to a disk. The sizes that a container states are checked before
any member is decompressed.
"""

import io
import re
import stat
import weakref
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, cast

from qa_pipeline.documents.corpus.files import (
    LIMITS,
    DocumentFailure,
    FoundFile,
    Opener,
    ReaderLimits,
    stored_path,
)
from qa_pipeline.errors import CorpusError

ZIP_START = b"PK\x03\x04"
_UTF8_NAME, _ENCRYPTED = 0x800, 0x1  # bits of the flags of a member (APPNOTE 4.4.4)
# For these zipfile bounds the bytes that a step yields; for bzip2 and LZMA it does not.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_HARMLESS = 50_000_000  # bytes below which the ratio of compression is not checked
_MOST_GROWTH = 300  # times its size that a large container may decompress to
_STEP = 1 << 20  # bytes unpacked at a time: asked for all at once, the library cuts only afterwards
_OUTSIDE = re.compile(r"/|[A-Za-z]:|(?:.*/)?\.\.(?:/|$)", re.DOTALL)
_HIDDEN = re.compile(r"(?:^|/)(?:\.(?!\.?(?:/|$))|__MACOSX(?:/|$))")


@dataclass(frozen=True, slots=True)
class Member:
    """A file in a container: its name there and as a batch would store it, and why it cannot be read."""

    entry: zipfile.ZipInfo
    name: str
    path: str
    size: int
    failure: DocumentFailure | None


class Archive:
    """The members of a container in its own order, each read when asked for."""

    def __init__(self, opened: zipfile.ZipFile) -> None:
        self._opened = opened
        self.members = [
            _check_member(entry) for entry in opened.infolist() if not entry.filename.endswith("/")
        ]
        # Of several members of one name the last counts for all readers of ZIP.
        self._named = {member.path: member for member in self.members}
        self._any_case = {path.casefold(): member for path, member in self._named.items()}

    def find(self, name: str) -> Member | None:
        """Return the member of that name, in any case if needed."""
        path = _plain(name)
        return self._named.get(path, self._any_case.get(path.casefold()))

    def read(self, name: str) -> bytes:
        """Return the content of a member; raises a DocumentFailure."""
        member = self.find(name)
        if member is None:
            raise DocumentFailure("damaged", "a part that the file needs is missing in it")
        if member.failure is not None:
            raise member.failure
        with _report_damage(), self._opened.open(member.entry) as stream:
            return b"".join(iter(lambda: stream.read(_STEP), b""))

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Yield the content of a member as a file."""
        yield io.BytesIO(self.read(name))


def open_archive(content: bytes, limits: ReaderLimits = LIMITS) -> Archive:
    """Open a ZIP container; raises a DocumentFailure (`damaged` or `archive_bomb`)."""
    opened = _open_zip(io.BytesIO(content))
    if len(opened.filelist) > limits.archive_members:
        raise DocumentFailure("archive_bomb", f"more than {limits.archive_members} members")
    total = sum(entry.file_size for entry in opened.filelist)
    if total > limits.decompressed_bytes:
        detail = f"{total} bytes decompressed, more than {limits.decompressed_bytes}"
        raise DocumentFailure("archive_bomb", detail)
    return Archive(opened)


def list_archive(name: str, open_file: Opener) -> Iterator[FoundFile]:
    """Yield the visible members of an archive as files of a batch; an unreadable file carries its failure.

    The archive stays open while any of these files is in use. Raises a CorpusError if it is damaged or a
    bomb.
    """
    try:
        with ExitStack() as stack:
            archive = Archive(_open_zip(cast("BinaryIO", stack.enter_context(open_file()))))
            weakref.finalize(archive, stack.pop_all().close)
    except DocumentFailure as failure:
        raise CorpusError(f"{name} cannot be read: {failure.reason}: {failure.detail}") from failure
    for member in archive.members:
        path = stored_path(_encode(member.name)) if member.failure else member.path
        if archive.find(member.name) is not member:
            raise CorpusError(f"{name} holds two members named {path}; pack it again")
        if not _HIDDEN.search(path):
            size, stamp = 0 if member.failure else member.size, f"crc32:{member.entry.CRC}"
            opener = partial(archive.open, member.name)
            yield FoundFile(path, path.encode(), size, opener, failure=member.failure, stamp=stamp)


def _open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Open a ZIP file; raises a DocumentFailure if it is damaged or a bomb."""
    with _report_damage():
        size = file.seek(0, 2)
        opened = zipfile.ZipFile(file)
    total = sum(entry.file_size for entry in opened.filelist)
    if total > _HARMLESS and total > _MOST_GROWTH * size:
        grown = f"it would unpack to {total // size} times its size"
        raise DocumentFailure("archive_bomb", f"{grown}, more than {_MOST_GROWTH} times")
    return opened


def _check_member(entry: zipfile.ZipInfo) -> Member:
    """Return an entry with its name in Unicode, and the reason not to read it."""
    name, problem = entry.filename, None
    if not entry.flag_bits & _UTF8_NAME:  # many programs write UTF-8 without saying so
        with suppress(UnicodeDecodeError):
            name = name.encode("cp437", "replace").decode()
    path = _plain(name)
    if _OUTSIDE.match(name.replace("\\", "/")) or not path:
        problem = DocumentFailure("outside_corpus", "the name leads out of the container")
    elif stat.S_ISLNK(entry.external_attr >> 16):
        problem = DocumentFailure("not_a_file", "links in a container are not followed")
    elif entry.flag_bits & _ENCRYPTED:
        problem = DocumentFailure("encrypted", "the content is protected by a password")
    elif entry.compress_type not in _METHODS:
        problem = DocumentFailure("unsupported_format", "compressed by another method than Deflate")
    return Member(entry, name, path, size=entry.file_size, failure=problem)


def _plain(name: str) -> str:
    parts = name.replace("\\", "/").split("/")
    return stored_path(_encode("/".join(part for part in parts if part not in ("", "."))))


def _encode(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


@contextmanager
def _report_damage() -> Iterator[None]:
    try:
        yield
    except (DocumentFailure, MemoryError):
        raise
    except Exception as error:  # zipfile and zlib raise a dozen kinds
        raise DocumentFailure("damaged", "the ZIP container is damaged") from error
