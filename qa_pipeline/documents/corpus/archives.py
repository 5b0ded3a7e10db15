"""ZIP containers read under limits: Office files and EPUBs are such, and a batch may be one.

Nothing is unpacked to a disk, and names lead nowhere: they are only compared and stored. A container states
how large its members are. That is checked before any is decompressed, and more is never decompressed.
"""

import io
import re
import stat
import struct
import weakref
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, BinaryIO, cast

from qa_pipeline.documents.corpus.files import DocumentFailure, FoundFile, Opener, hash_content, stored_path
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.errors import CorpusError
from qa_pipeline.storage.hashes import hash_text

ZIP_START = b"PK\x03\x04"
_UTF8_NAME = 0x800  # bit 11 of the flags of a member (APPNOTE 4.4.4)
_ENCRYPTED = 0x1  # bit 0 of the same flags
# The library bounds what one step of these may yield; of bzip2 and LZMA it cannot.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_HARMLESS = 50_000_000
"""The size below which the ratio of compression is not checked."""
_MOST_GROWTH = 300
"""Times its size that a large container may decompress to."""
_STEP = 1 << 20  # bytes unpacked at a time
_DRIVE = re.compile(r"^[A-Za-z]:")
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, OverflowError,
    NotImplementedError,  # a later version of the format, patched or strongly encrypted members
    RuntimeError,  # a password is asked for
    LookupError,  # a field that ends too early, or a name in a code page nobody has
)  # fmt: skip


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
        """Return the member of that name, or of one that differs in case only."""
        path = _path_of(name)
        return self._named.get(path, self._any_case.get(path.casefold()))

    def read(self, name: str) -> bytes:
        """Return the content of a member.

        Raises:
            DocumentFailure: it is not there, or cannot be read as it should be.
        """
        with self.open(name) as stream:
            # Asked for all at once, the library would decompress all there is before it cuts.
            return b"".join(iter(lambda: stream.read(_STEP), b""))

    @contextmanager
    def open(self, name: str) -> "Iterator[MemberStream]":
        """Yield a stream of a member's bytes.

        Raises:
            DocumentFailure: it is not there, or cannot be read as it should be.
        """
        member = self.find(name)
        if member is None:
            raise DocumentFailure("damaged", "a part that the file needs is missing in it")
        if member.failure is not None:
            raise member.failure
        with _report_damage():
            stream = self._opened.open(member.entry)
        yield MemberStream(stream)


class MemberStream:
    """A member while it is read; damage that shows on the way is a failure of the document."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes; none at the end.

        Raises:
            DocumentFailure: the container is damaged here.
        """
        with _report_damage():
            return self._stream.read(size)


def open_archive(content: bytes, limits: ReaderLimits = LIMITS) -> Archive:
    """Open a ZIP container that keeps the limits.

    Raises:
        DocumentFailure: `damaged`, or `archive_bomb` for more members or content than the limits allow.
    """
    opened, total = _open_zip(io.BytesIO(content), limits.archive_members)
    if total > limits.decompressed_bytes:
        raise DocumentFailure(
            "archive_bomb", f"{total} bytes decompressed, more than {limits.decompressed_bytes}"
        )
    return Archive(opened)


def list_archive(name: str, open_file: Opener) -> Iterator[FoundFile]:
    """Yield the visible members of an archive as files of a batch; unreadable ones carry their failure.

    The archive stays open as long as any of these files is in use.

    Args:
        name: the archive's file name, for messages.
        open_file: opens the archive, which is read where it lies.

    Raises:
        CorpusError: the archive is damaged or would unpack to more than it may.
    """
    try:
        with ExitStack() as stack:
            file = cast("BinaryIO", stack.enter_context(open_file()))
            archive = Archive(_open_zip(file, None)[0])
            weakref.finalize(archive, stack.pop_all().close)
    except DocumentFailure as failure:
        raise _refuse(name, failure) from failure
    last = {member.path: member for member in archive.members}
    raws = ((member, _raw_name(member.entry)) for member in archive.members)
    names = [raw if member.failure else _plain_name(raw) for member, raw in raws]
    count = Counter(names)
    for place, (member, raw) in enumerate(zip(archive.members, names, strict=True)):
        problem = member.failure
        if last[member.path] is not member:
            problem = DocumentFailure("duplicate_name", "a later member of the archive has the same name")
        unique = raw if count[raw] == 1 else raw + b"\0" + str(place).encode()
        if not _is_hidden(unique):
            opener = partial(archive.open, member.name)
            yield FoundFile(stored_path(raw), unique, 0 if problem else member.size, opener, problem)


def hash_archive(name: str, open_file: Opener, stamp: str | None) -> str:
    """Hash of the bytes of an archive, or of the stamp that its place gives for them.

    Raises:
        CorpusError: it cannot be read.
    """
    try:
        return hash_text(stamp) if stamp is not None else hash_content(open_file).hex()
    except DocumentFailure as failure:
        raise _refuse(name, failure) from failure


def _refuse(name: str, failure: DocumentFailure) -> CorpusError:
    return CorpusError(f"{name} cannot be read: {failure.reason}: {failure.detail}")


def _open_zip(file: BinaryIO, most: int | None) -> tuple[zipfile.ZipFile, int]:
    """Open a container of at most `most` members; also the bytes that all of them state to hold."""
    with _report_damage():
        size = file.seek(0, 2)
        opened = zipfile.ZipFile(file)
    if most is not None and len(opened.filelist) > most:
        raise DocumentFailure("archive_bomb", f"more than {most} members")
    total = sum(entry.file_size for entry in opened.infolist())
    if total > _HARMLESS and total > _MOST_GROWTH * size:
        grown = f"it would unpack to {total // size} times its size"
        raise DocumentFailure("archive_bomb", f"{grown}, more than {_MOST_GROWTH} times")
    return opened, total


def _is_hidden(raw: bytes) -> bool:
    """Return whether a name is hidden on some level or macOS data about files, and leads nowhere upwards."""
    parts = [part for part in _plain_name(raw).split(b"/") if part != b".."]
    return any(part.startswith(b".") or part == b"__MACOSX" for part in parts)


def _plain_name(raw: bytes) -> bytes:
    """Return a name with forward slashes and without empty steps; Windows programs write others."""
    parts = raw.replace(b"\\", b"/").split(b"/")
    return b"/".join(part for part in parts if part not in (b"", b"."))


def _raw_name(entry: zipfile.ZipInfo) -> bytes:
    """Return the name of a member as UTF-8.

    Without the flag for UTF-8, names are of the code page of the machine that wrote them. Many programs write
    UTF-8 all the same; what is not is read as code page 437, as all others do.
    """
    decoded = entry.filename.encode("utf-8", "surrogatepass")
    if entry.flag_bits & _UTF8_NAME:
        return decoded
    stored = entry.filename.encode("cp437", "replace")
    try:
        stored.decode()
    except UnicodeDecodeError:
        return decoded
    return stored


def _check_member(entry: zipfile.ZipInfo) -> Member:
    slashes = entry.filename.replace("\\", "/")
    path = _path_of(slashes)
    problem = None
    if not path or slashes.startswith("/") or ".." in path.split("/") or _DRIVE.match(slashes):
        problem = ("outside_corpus", "the name leads out of the container")
    elif stat.S_ISLNK(entry.external_attr >> 16):
        problem = ("not_a_file", "links in a container are not followed")
    elif entry.flag_bits & _ENCRYPTED:
        problem = ("encrypted", "the content is protected by a password")
    elif entry.compress_type not in _METHODS:
        problem = ("unsupported_format", "compressed by another method than Deflate")
    failure = DocumentFailure(*problem) if problem else None
    return Member(entry, entry.filename, path, entry.file_size, failure)


def _path_of(name: str) -> str:
    return stored_path(_plain_name(name.encode("utf-8", "surrogateescape")))


@contextmanager
def _report_damage() -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise DocumentFailure("damaged", "the ZIP container is damaged") from error
