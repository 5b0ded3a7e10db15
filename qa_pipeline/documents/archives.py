"""ZIP containers, read under limits: Office files and EPUBs are such, and a batch may be one.

What belongs here: listing and decompressing members safely. What does not: what a member means, and writing
members anywhere; nothing here touches a disk.

A container says itself how large its members are. More than that is never decompressed, and what it says is
checked before the first of them is.
"""

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.files import stored_path
from qa_pipeline.settings.documents import DocumentSettings

ZIP_START = b"PK\x03\x04"
_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x07"
_ENTRY = b"PK\x01\x02"
_END_WITHIN = 65_535 + 22
_ENCRYPTED = 0x1
# The library bounds what one step of these may yield; of bzip2 and LZMA it cannot.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_HARMLESS = 50_000_000
"""What decompresses to less needs no look at how well it was compressed."""
_STEP = 1 << 20
_DRIVE = re.compile(r"^[A-Za-z]:")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,  # a later version of the format, patched or strongly encrypted members
    RuntimeError,  # a password is asked for
    OverflowError,
    LookupError,  # a field that ends too early, or a name in a code page nobody has
)


@dataclass(frozen=True, slots=True)
class Member:
    """A file in a container.

    `name` is its name as the container spells it, `path` as a batch would store it: relative, forward
    slashes, nothing invisible. `failure` says why it cannot be read.
    """

    name: str
    path: str
    size: int
    failure: DocumentFailure | None = None


class Archive:
    """The members of a container in its own order, each read when asked for."""

    def __init__(self, opened: zipfile.ZipFile) -> None:
        self._opened = opened
        self._entries = [entry for entry in opened.infolist() if not entry.filename.endswith("/")]
        self.members = tuple(_member(entry) for entry in self._entries)
        # Of several members of one name the last counts for all readers of ZIP.
        self._places = {member.path: place for place, member in enumerate(self.members)}
        self._any_case = {path.casefold(): place for path, place in self._places.items()}

    def find(self, name: str) -> Member | None:
        """The member of that name, or of one that differs in case only."""
        place = self._place(name)
        return None if place is None else self.members[place]

    def read(self, name: str) -> bytes:
        """The content of a member.

        Raises:
            DocumentFailure: it is not there, or cannot be read as it should be.
        """
        stream = self.open(name)
        # Asked for all at once, the library would decompress all there is before it cuts.
        return b"".join(iter(lambda: stream.read(_STEP), b""))

    def open(self, name: str) -> "MemberStream":
        """A member to be read piece by piece.

        Raises:
            DocumentFailure: it is not there, or cannot be read as it should be.
        """
        place = self._place(name)
        if place is None:
            raise DocumentFailure("damaged", "a part that the file needs is missing in it")
        failure = self.members[place].failure
        if failure is not None:
            raise failure
        with _damage_told():
            return MemberStream(self._opened.open(self._entries[place]))

    def _place(self, name: str) -> int | None:
        path = _stored(name)
        return self._places.get(path, self._any_case.get(path.casefold()))


class MemberStream:
    """A member while it is read; damage that shows on the way is a failure of the document."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end.

        Raises:
            DocumentFailure: the container is damaged here.
        """
        with _damage_told():
            return self._stream.read(size)


def open_archive(content: bytes, settings: DocumentSettings) -> Archive:
    """Open a ZIP container that keeps the limits.

    Raises:
        DocumentFailure: `damaged`, or `archive_bomb` for more members or content than the settings allow.
    """
    most = settings.max_archive_members
    if _count_entries(content) > most:
        raise DocumentFailure("archive_bomb", f"more members than documents.max_archive_members = {most}")
    with _damage_told():
        opened = zipfile.ZipFile(io.BytesIO(content))
    _check_sizes(sum(entry.file_size for entry in opened.infolist()), len(content), settings)
    return Archive(opened)


def _count_entries(content: bytes) -> int:
    """Most entries the library could list: it lists all before it tells how many there are."""
    end = content.rfind(_END, max(len(content) - _END_WITHIN, 0))
    if end < 0 or end + 16 > len(content):
        raise DocumentFailure("damaged", "the end of the ZIP container is missing; it may be cut off")
    large = content[max(end - 20, 0) : end].startswith(_END_64)
    (size,) = struct.unpack_from("<L", content, end + 12)
    return content.count(_ENTRY, 0 if large else max(end - size, 0), end)


def _check_sizes(total: int, stored: int, settings: DocumentSettings) -> None:
    limit, ratio = settings.max_decompressed_bytes, settings.max_compression_ratio
    if total > limit:
        raise DocumentFailure(
            "archive_bomb", f"{total} bytes decompressed, documents.max_decompressed_bytes = {limit}"
        )
    if total > _HARMLESS and total > ratio * stored:
        raise DocumentFailure(
            "archive_bomb",
            f"decompresses to {total // stored} times its size, documents.max_compression_ratio = {ratio}",
        )


def _member(entry: zipfile.ZipInfo) -> Member:
    slashes = entry.filename.replace("\\", "/")
    path = _stored(slashes)
    outside = not path or slashes.startswith("/") or ".." in path.split("/") or _DRIVE.match(slashes)
    return Member(entry.filename, path, entry.file_size, _failure(entry, outside=bool(outside)))


def _stored(name: str) -> str:
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    return stored_path("/".join(parts).encode("utf-8", "surrogateescape"))


def _failure(entry: zipfile.ZipInfo, *, outside: bool) -> DocumentFailure | None:
    if outside:
        return DocumentFailure("outside_corpus", "the name leads out of the container")
    if stat.S_ISLNK(entry.external_attr >> 16):
        return DocumentFailure("not_a_file", "links in a container are not followed")
    if entry.flag_bits & _ENCRYPTED:
        return DocumentFailure("encrypted", "the content opens only with a password")
    if entry.compress_type not in _METHODS:
        return DocumentFailure("unsupported_format", "compressed by another method than Deflate")
    return None


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise DocumentFailure("damaged", "the ZIP container is damaged") from error
