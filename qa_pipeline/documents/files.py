"""The files of a batch folder, found without leaving it.

What belongs here: walking a folder, names as they are stored, and reading a file's bytes under a limit.
What does not: what the bytes mean (`reading`).
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from qa_pipeline.documents.failure import DocumentFailure

PAIRS_FILES = ("pairs.jsonl", "pairs.parquet")
DESCRIPTION_FILE = "batch.yaml"
_NOT_DOCUMENTS = frozenset({*PAIRS_FILES, DESCRIPTION_FILE})
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One entry of a batch folder.

    `path` is its name as stored: relative, forward slashes, NFC, odd characters escaped. `raw` is the name
    on disk. `failure` says why the entry cannot be read as a file at all.
    """

    path: str
    raw: bytes
    location: Path
    size: int
    failure: DocumentFailure | None = None


def list_files(folder: Path) -> list[FoundFile]:
    """Every document of a batch folder, ordered by stored path.

    Hidden entries, the pairs file and the batch description are left out. An entry that cannot be opened,
    is no regular file or leads out of the folder comes back with its failure.
    """
    found = (entry for entry in _walk(folder) if entry.path not in _NOT_DOCUMENTS)
    return sorted(found, key=lambda entry: (entry.path, entry.raw))


def list_all_files(folder: Path) -> list[FoundFile]:
    """The documents, pairs and description of a batch folder: everything its content depends on."""
    return sorted(_walk(folder), key=lambda entry: (entry.path, entry.raw))


def read_bytes(found: FoundFile, limit: int) -> bytes:
    """The content of a file of at most `limit` bytes.

    Raises:
        DocumentFailure: `too_large`, `unreadable`, or what was wrong with the entry.
    """
    if found.failure is not None:
        raise found.failure
    try:
        with found.location.open("rb") as file:
            content = file.read(limit + 1)  # the size on disk may have changed since it was listed
    except OSError as error:
        raise _unreadable(error) from error
    if len(content) > limit:
        raise DocumentFailure("too_large", f"the file is larger than documents.max_bytes = {limit}")
    return content


def stored_path(raw: bytes) -> str:
    """A path on disk as it is stored and shown: valid UTF-8, NFC, nothing invisible."""
    text = unicodedata.normalize("NFC", raw.decode("utf-8", "backslashreplace"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _walk(folder: Path) -> Iterator[FoundFile]:
    base = folder.resolve()
    pending = [folder]
    while pending:
        inside = pending.pop()
        try:
            with os.scandir(inside) as entries:
                # what an entry is, the folder says itself; asking the entry may be forbidden
                listed = [
                    (Path(entry), entry.is_dir(follow_symlinks=False))
                    for entry in entries
                    if not entry.name.startswith(".")
                ]
        except OSError as error:
            yield _found(folder, inside, 0, _unreadable(error))
            continue
        for location, is_folder in listed:
            if is_folder:
                pending.append(location)
            else:
                yield _look_at(folder, base, location)


def _look_at(folder: Path, base: Path, location: Path) -> FoundFile:
    """Check one entry without opening it: opening a pipe or a device could block or do harm."""
    try:
        target = location.resolve(strict=True)
        status = location.stat()
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        return _found(folder, location, 0, _unreadable(error))
    failure = None
    if not target.is_relative_to(base):
        failure = DocumentFailure("outside_corpus", "the link leads out of the batch folder")
    elif stat.S_ISDIR(status.st_mode):
        failure = DocumentFailure("linked_folder", "folders are not read through links")
    elif not stat.S_ISREG(status.st_mode):
        failure = DocumentFailure("not_a_file", "a pipe, socket or device is not read")
    return _found(folder, location, 0 if failure else status.st_size, failure)


def _found(folder: Path, location: Path, size: int, failure: DocumentFailure | None) -> FoundFile:
    raw = os.fsencode(location.relative_to(folder)).replace(os.sep.encode(), b"/")
    return FoundFile(stored_path(raw), raw, location, size, failure)


def _unreadable(error: OSError | RuntimeError) -> DocumentFailure:
    cause = error.strerror if isinstance(error, OSError) else None
    return DocumentFailure("unreadable", cause or "the link leads to itself")
