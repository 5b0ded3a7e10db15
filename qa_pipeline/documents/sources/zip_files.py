"""A ZIP archive as a batch: its members are the files.

What belongs here: opening a large archive without holding it, and its members as files of a batch. What does
not: which members may be read (`documents.archives`), and where the archive lies.

Nothing is unpacked to a disk. Names lead nowhere: they are only ever compared and stored.
"""

import struct
import weakref
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from typing import BinaryIO, cast

from qa_pipeline.documents.archives import Archive, Member, MemberStream
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.files import FoundFile, Stream, in_order, stored_path
from qa_pipeline.errors import CorpusError
from qa_pipeline.settings.documents import DocumentSettings

_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x06"
_LOCATOR_64 = b"PK\x06\x07"
_END_LENGTH, _LOCATOR_LENGTH, _RECORD_LENGTH = 22, 20, 56
_END_WITHIN = 65_536 + _END_LENGTH + _LOCATOR_LENGTH + _RECORD_LENGTH
_LARGEST_DIRECTORY = 200_000_000
"""Bytes of the list of members: room for a million names, and not for more than memory holds."""
_HARMLESS = 50_000_000
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
    start = max(size - _END_WITHIN, 0)
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
        and tail.startswith(_END_64, record)
    ):
        return int(struct.unpack_from("<Q", tail, record + 40)[0])
    return int(struct.unpack_from("<L", tail, end + 12)[0])
