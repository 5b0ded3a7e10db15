"""A file of a batch as it was found, wherever the batch lies."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO


class DocumentFailure(Exception):  # noqa: N818 - it ends as a row, not as an error of the run
    """Report a file that cannot be read or parsed, without text of the document."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


PAIRS_FILES = ("pairs.jsonl", "pairs.json", "pairs.csv", "pairs.tsv", "pairs.parquet")
DESCRIPTION_FILE = "batch.yaml"
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_BYTES_AT_ONCE = 1 << 20


Opener = Callable[[], AbstractContextManager[BinaryIO]]
"""Opens a file for reading; raises a DocumentFailure, also while reading."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """An entry of a batch.

    `path` is its name as stored: relative, forward slashes, NFC, odd characters escaped. `raw` is the name in
    its folder or store, unique in a batch. `stamp` is a hash of the content that a store lists, and `seen`
    other values, such as times, that change with it.
    """

    path: str
    raw: bytes
    size: int
    open: Opener
    failure: DocumentFailure | None = None
    stamp: str | None = None
    seen: str = ""


def documents_among(files: Iterable[FoundFile]) -> list[FoundFile]:
    """Return all but the pairs files and the batch description."""
    return [file for file in files if file.path not in (*PAIRS_FILES, DESCRIPTION_FILE)]


def read_bytes(listed: FoundFile, limit: int, setting: str = "documents.max_bytes") -> bytes:
    """Return the content of a file of at most `limit` bytes; raises a DocumentFailure.

    `setting` is the name of the limit in messages.
    """
    if listed.failure is not None:
        raise listed.failure
    parts: list[bytes] = []
    remaining = limit + 1  # the size may have changed since it was listed
    if listed.size <= limit:
        with listed.open() as file:
            while remaining > 0:
                part = file.read(remaining)
                if not part:
                    break
                parts.append(part)
                remaining -= len(part)
    if listed.size > limit or remaining <= 0:
        raise DocumentFailure("too_large", f"the file is larger than {setting} = {limit}")
    return b"".join(parts)


def hash_files(files: Iterable[FoundFile]) -> str:
    """Hash the names and contents of files; a store's own hash replaces the content."""
    total = hashlib.sha256()
    for file in files:
        name = file.path.encode()
        total.update(len(name).to_bytes(8, "big") + name + _content_hash(file))
    return total.hexdigest()


def _content_hash(file: FoundFile) -> bytes:
    """Hash a file's content, the hash that its store lists, or the reason of its failure."""
    content = hashlib.sha256()
    try:
        if file.failure is not None:
            raise file.failure
        if file.stamp is not None:
            return hashlib.sha256(f"{file.stamp}:{file.size}".encode()).digest()
        with file.open() as stream:
            while part := stream.read(_BYTES_AT_ONCE):
                content.update(part)
    except DocumentFailure as failure:
        return hashlib.sha256(failure.reason.encode()).digest()
    return content.digest()


def stored_path(raw: bytes) -> str:
    """Return a path as stored and shown: valid UTF-8, NFC, invisible characters escaped."""
    text = unicodedata.normalize("NFC", raw.decode("utf-8", "backslashreplace"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """Bound the pages of a file, objects of a page, rows of a table, and members and bytes of a ZIP."""

    pages: int = 5_000
    page_objects: int = 200_000
    rows: int = 200_000
    archive_members: int = 10_000
    decompressed_bytes: int = 500_000_000


LIMITS = ReaderLimits()


def too_many_rows(limits: ReaderLimits) -> DocumentFailure:
    """Return the failure of a file with more rows than allowed."""
    return DocumentFailure("too_many_rows", f"the file has more than {limits.rows} rows; split it")
