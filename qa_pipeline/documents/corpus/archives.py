"""Read ZIP containers under limits: Office files and EPUBs.

Members are read in memory, and never unpacked to a disk. The sizes that a container states are checked before
any member is decompressed.
"""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from qa_pipeline.documents.corpus.files import LIMITS, DocumentFailure, ReaderLimits

ZIP_START = b"PK\x03\x04"
_UTF8_NAME, _ENCRYPTED = 0x800, 0x1  # bits of the flags of a member (APPNOTE 4.4.4)
# For these zipfile bounds the bytes that a step yields; for bzip2 and LZMA it does not.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_STEP = 1 << 20  # bytes unpacked at a time: asked for all at once, the library cuts only afterwards


class Archive:
    """The members of a container in its own order, each read when asked for."""

    def __init__(self, opened: zipfile.ZipFile) -> None:
        self._opened = opened
        self.members = [entry for entry in opened.infolist() if not entry.is_dir()]
        # Of several members of one name the last counts for all readers of ZIP.
        self._named = {_name_of(entry): entry for entry in self.members}
        self._any_case = {name.casefold(): entry for name, entry in self._named.items()}

    def find(self, name: str) -> zipfile.ZipInfo | None:
        """Return the member of that name, in any case if needed."""
        plain = _plain(name)
        return self._named.get(plain, self._any_case.get(plain.casefold()))

    def read(self, name: str) -> bytes:
        """Return the content of a member; raises a DocumentFailure."""
        entry = self.find(name)
        if entry is None:
            raise DocumentFailure("damaged", "the file lacks a required part")
        if entry.flag_bits & _ENCRYPTED:
            raise DocumentFailure("encrypted", "the content is protected by a password")
        if entry.compress_type not in _METHODS:
            raise DocumentFailure("unsupported_format", "compressed by another method than Deflate")
        with _report_damage(), self._opened.open(entry) as stream:
            return b"".join(iter(lambda: stream.read(_STEP), b""))


def open_archive(content: bytes, limits: ReaderLimits = LIMITS) -> Archive:
    """Open a ZIP container; raises a DocumentFailure (`damaged` or `archive_bomb`)."""
    with _report_damage():
        opened = zipfile.ZipFile(io.BytesIO(content))
    if len(opened.filelist) > limits.archive_members:
        raise DocumentFailure("archive_bomb", f"more than {limits.archive_members} members")
    total = sum(entry.file_size for entry in opened.filelist)
    if total > limits.decompressed_bytes:
        detail = f"{total} bytes decompressed, more than {limits.decompressed_bytes}"
        raise DocumentFailure("archive_bomb", detail)
    return Archive(opened)


def _name_of(entry: zipfile.ZipInfo) -> str:
    name = entry.filename
    if not entry.flag_bits & _UTF8_NAME:  # many programs write UTF-8 without saying so
        with suppress(UnicodeDecodeError):
            name = name.encode("cp437", "replace").decode()
    return _plain(name)


def _plain(name: str) -> str:
    parts = name.replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", "."))


@contextmanager
def _report_damage() -> Iterator[None]:
    try:
        yield
    except (DocumentFailure, MemoryError):
        raise
    except Exception as error:  # zipfile and zlib raise a dozen kinds
        raise DocumentFailure("damaged", "the ZIP container is damaged") from error
