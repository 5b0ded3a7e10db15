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
import weakref
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import IO, BinaryIO, cast

from qa_pipeline.corpus.files import DocumentFailure, FoundFile, Stream, in_order, stored_path
from qa_pipeline.errors import CorpusError
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


_ZIP_FILES_END_64 = b"PK\x06\x06"
_LOCATOR_64 = b"PK\x06\x07"
_END_LENGTH, _LOCATOR_LENGTH, _RECORD_LENGTH = 22, 20, 56
_ZIP_FILES_END_WITHIN = 65_536 + _END_LENGTH + _LOCATOR_LENGTH + _RECORD_LENGTH
_LARGEST_DIRECTORY = 200_000_000
"""Bytes of the list of members: room for a million names, and not for more than memory holds."""
_PIECE = 1 << 20
_UTF8_NAME = 0x800

ArchiveOpener = Callable[[], AbstractContextManager[Stream]]


class ZipBatch:
    """The members of an archive; hidden ones are left out as hidden files are."""

    def __init__(
        self, name: str, open_file: ArchiveOpener, limits: DocumentSettings, stamp: str | None = None
    ) -> None:
        self._name = name
        self._open_file = open_file
        self._limits = limits
        self._stamp = stamp
        self._archive: Archive | None = None

    @property
    def name(self) -> str:
        """The archive's file name."""
        return self._name

    def list(self) -> list[FoundFile]:
        """Every visible member; what cannot be read comes with its failure.

        Raises:
            CorpusError: the archive is damaged or would unpack to more than it may.
        """
        visible = (file for file in self._members() if not _is_hidden(file.raw))
        return in_order(visible)

    def find(self, path: str) -> FoundFile | None:
        """One member by its path, hidden or not."""
        named = [file for file in self._members() if file.path == path]
        return next((file for file in named if file.failure is None), next(iter(named), None))

    def fingerprint(self) -> str:
        """Hash of the archive.

        Raises:
            CorpusError: it cannot be read.
        """
        if self._stamp is not None:
            return sha256(self._stamp.encode()).hexdigest()
        content = sha256()
        try:
            with self._open_file() as file:
                while piece := file.read(_PIECE):
                    content.update(piece)
        except DocumentFailure as failure:
            raise self._refused(failure) from failure
        return content.hexdigest()

    def _members(self) -> Iterator[FoundFile]:
        archive = self._opened()
        last = {member.path: place for place, member in enumerate(archive.members)}
        names = [
            raw if member.failure else _plain(raw)
            for member, raw in zip(archive.members, self._raw_names, strict=True)
        ]
        count = Counter(names)
        for place, (member, raw) in enumerate(zip(archive.members, names, strict=True)):
            failure = member.failure
            if last[member.path] != place:
                failure = DocumentFailure("duplicate_name", "a later member of the archive has the same name")
            unique = raw if count[raw] == 1 else raw + b"\0" + str(place).encode()
            opener = partial(_opened_member, self, member)
            yield FoundFile(stored_path(raw), unique, 0 if failure else member.size, opener, failure)

    def open_member(self, member: Member) -> MemberStream:
        """A member to be read.

        Raises:
            DocumentFailure: it is damaged.
        """
        return self._opened().open(member.name)

    def _opened(self) -> Archive:
        if self._archive is None:
            try:
                self._archive = self._open()
            except DocumentFailure as failure:
                raise self._refused(failure) from failure
        return self._archive

    def _open(self) -> Archive:
        """Open the archive, which stays open as long as this batch is in use."""
        with ExitStack() as stack:
            file = cast("BinaryIO", stack.enter_context(self._open_file()))
            try:
                size = _check_directory(file)
                opened = zipfile.ZipFile(file)
            except (zipfile.BadZipFile, struct.error, ValueError, OSError, NotImplementedError) as error:
                raise DocumentFailure("damaged", "it is no ZIP archive, or cut off") from error
            entries = [entry for entry in opened.infolist() if not entry.is_dir()]
            self._check_growth(sum(entry.file_size for entry in entries), size)
            self._raw_names = [_raw_name(entry) for entry in entries]
            archive = Archive(opened)
            weakref.finalize(self, stack.pop_all().close)
        return archive

    def _check_growth(self, total: int, stored: int) -> None:
        ratio = self._limits.max_compression_ratio
        if total > _HARMLESS and total > ratio * stored:
            raise DocumentFailure(
                "archive_bomb",
                f"it would unpack to {total // max(stored, 1)} times its size, "
                f"documents.max_compression_ratio = {ratio}",
            )

    def _refused(self, failure: DocumentFailure) -> CorpusError:
        return CorpusError(f"{self._name} cannot be read: {failure.reason}: {failure.detail}")


@contextmanager
def _opened_member(batch: ZipBatch, member: Member) -> Iterator[MemberStream]:
    yield batch.open_member(member)


def _is_hidden(raw: bytes) -> bool:
    """Hidden on any level, or the data that macOS adds about files; a name that leads upwards is neither."""
    parts = [part for part in _plain(raw).split(b"/") if part != b".."]
    return any(part.startswith(b".") or part == b"__MACOSX" for part in parts)


def _plain(raw: bytes) -> bytes:
    """A name with forward slashes, as Windows programs do not always write it, and no empty steps."""
    parts = raw.replace(b"\\", b"/").split(b"/")
    return b"/".join(part for part in parts if part not in (b"", b"."))


def _raw_name(entry: zipfile.ZipInfo) -> bytes:
    """The name of a member as UTF-8, or as its bytes stand where they are nothing else.

    Without the flag for UTF-8, names are of the code page of the machine that wrote them. Many programs write
    UTF-8 all the same; what is not is read as code page 437, as all others do.
    """
    if entry.flag_bits & _UTF8_NAME:
        return entry.filename.encode("utf-8", "surrogatepass")
    stored = entry.filename.encode("cp437", "replace")
    try:
        stored.decode()
    except UnicodeDecodeError:
        return entry.filename.encode("utf-8", "surrogatepass")
    return stored


def _check_directory(file: BinaryIO) -> int:
    """Refuse a list of members that would not fit into memory: the library reads all of it at once.

    Returns:
        The size of the archive.
    """
    size = file.seek(0, 2)
    start = max(size - _ZIP_FILES_END_WITHIN, 0)
    file.seek(start)
    tail = file.read(size - start)
    # as the library looks for it: at the very end, else the last one that a comment may stand behind
    plain = len(tail) - _END_LENGTH
    is_plain = plain >= 0 and tail.startswith(_END, plain) and tail.endswith(b"\0\0")
    end = plain if is_plain else tail.rfind(_END)
    if end < 0 or end + _END_LENGTH > len(tail):
        raise DocumentFailure("damaged", "it is no ZIP archive, or cut off")
    if _directory_size(tail, end) > _LARGEST_DIRECTORY:
        raise DocumentFailure("archive_bomb", "its list of members is too large to be read")
    file.seek(0)
    return size


def _directory_size(tail: bytes, end: int) -> int:
    """Bytes of the list of members, as a record at the end tells them (APPNOTE 4.3.14 to 4.3.16)."""
    record = end - _LOCATOR_LENGTH - _RECORD_LENGTH
    if (
        record >= 0
        and tail.startswith(_LOCATOR_64, end - _LOCATOR_LENGTH)
        and tail.startswith(_ZIP_FILES_END_64, record)
    ):
        return int(struct.unpack_from("<Q", tail, record + 40)[0])
    return int(struct.unpack_from("<L", tail, end + 12)[0])
