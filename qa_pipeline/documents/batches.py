"""The batches of a corpus: their names and the version of their content.

What belongs here: what can be said of a batch without parsing it. What does not: its documents
(`reading`).
"""

import hashlib
import os
import unicodedata
from pathlib import Path

from qa_pipeline.documents.files import FoundFile, list_all_files
from qa_pipeline.errors import CorpusError

_LONGEST_NAME = 200
_FORBIDDEN = frozenset('/\\:*?"<>|,[]')


def list_batches(corpus: Path) -> list[str]:
    """Names of the batch folders of a corpus, sorted.

    Raises:
        CorpusError: the folder is missing or holds no batch, or a batch has a name that cannot be used.
    """
    if not corpus.is_dir():
        raise CorpusError(f"corpus folder {corpus} does not exist or is no folder; set `corpus` to one")
    try:
        names = sorted(
            entry.name for entry in corpus.iterdir() if entry.is_dir() and not entry.name.startswith(".")
        )
    except OSError as error:
        raise CorpusError(f"corpus folder {corpus} cannot be read: {error.strerror}") from error
    if not names:
        raise CorpusError(f"corpus folder {corpus} holds no batch; put documents into folders inside it")
    for name in names:
        check_batch_name(name)
    return names


def check_batch_name(name: str) -> None:
    """Refuse a name that is no plain folder name on every system, or no partition key.

    Raises:
        CorpusError: with the rule that is broken.
    """
    problem = _name_problem(name)
    if problem:
        raise CorpusError(f"batch name {name!r} cannot be used: {problem}")


def _name_problem(name: str) -> str | None:
    rules = (
        (not name, "it is empty"),
        (len(os.fsencode(name)) > _LONGEST_NAME, f"it is longer than {_LONGEST_NAME} bytes"),
        (name.startswith("."), "it starts with a dot"),
        (name.endswith(".") or "..." in name, "it ends with a dot or holds three in a row"),
        (name != name.strip(), "it starts or ends with a space"),
        (not name.isprintable(), "it holds control or invisible characters"),
        (not _FORBIDDEN.isdisjoint(name), f"it holds one of {' '.join(sorted(_FORBIDDEN))}"),
        (not unicodedata.is_normalized("NFC", name), "its accents are not composed (NFC)"),
    )
    return next((problem for broken, problem in rules if broken), None)


def batch_fingerprint(folder: Path) -> str:
    """Hash of the names and contents of all files of a batch: equal when nothing was changed.

    Raises:
        CorpusError: the folder is missing.
    """
    if not folder.is_dir():
        raise CorpusError(f"batch folder {folder} does not exist or is no folder")
    total = hashlib.sha256()
    for found in list_all_files(folder):
        name = found.path.encode()
        total.update(len(name).to_bytes(8, "big") + name + _content_digest(found))
    return total.hexdigest()


def _content_digest(found: FoundFile) -> bytes:
    """Hash of a file's bytes, or of the reason why they cannot be had."""
    if found.failure is None:
        try:
            with found.location.open("rb") as file:
                return hashlib.file_digest(file, "sha256").digest()
        except OSError as error:
            return hashlib.sha256(f"unreadable:{error.errno}".encode()).digest()
    return hashlib.sha256(found.failure.reason.encode()).digest()
