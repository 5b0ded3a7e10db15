"""The batches of a corpus: their names and the version of their content.

What belongs here: what can be said of a batch without parsing it. What does not: its documents
(`reading`).
"""

import hashlib
import os
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from qa_pipeline.documents.files import FoundFile, list_all_files, stored_path
from qa_pipeline.errors import CorpusError

_LONGEST_NAME = 200
_FORBIDDEN = frozenset('/\\:*?"<>|,[]')


@dataclass(frozen=True, slots=True)
class FoundBatches:
    """What lies in a corpus folder.

    `refused` says why a folder can be no batch, by its name as it can be shown; `loose` are the files beside
    the folders, which belong to no batch.
    """

    names: tuple[str, ...]
    refused: Mapping[str, str]
    loose: tuple[str, ...]


def find_batches(corpus: Path) -> FoundBatches:
    """Look through a corpus, hidden entries aside; a folder that can be no batch takes no other one down.

    Raises:
        CorpusError: the folder is missing, cannot be read or holds no folder.
    """
    if not corpus.is_dir():
        raise CorpusError(f"corpus folder {corpus} does not exist or is no folder; name a folder of batches")
    try:
        entries = sorted(entry for entry in corpus.iterdir() if not entry.name.startswith("."))
        folders = [entry.name for entry in entries if entry.is_dir()]
    except OSError as error:
        raise CorpusError(f"corpus folder {corpus} cannot be read: {error.strerror}") from error
    if not folders:
        raise CorpusError(f"corpus folder {corpus} holds no batch; put documents into folders inside it")
    problems = {name: problem for name in folders if (problem := _name_problem(name))}
    return FoundBatches(
        names=tuple(name for name in folders if name not in problems),
        refused={_shown(name): _refusal(name, problem) for name, problem in problems.items()},
        loose=tuple(_shown(entry.name) for entry in entries if entry.name not in folders),
    )


def list_batches(corpus: Path) -> list[str]:
    """Names of the batch folders of a corpus, sorted.

    Raises:
        CorpusError: the folder is missing or holds no batch, or a batch has a name that cannot be used.
    """
    found = find_batches(corpus)
    for problem in found.refused.values():
        raise CorpusError(problem)
    return list(found.names)


def check_batch_name(name: str) -> None:
    """Refuse a name that is no plain folder name on every system, or no partition key.

    Raises:
        CorpusError: with the rule that is broken.
    """
    problem = _name_problem(name)
    if problem:
        raise CorpusError(_refusal(name, problem))


def _refusal(name: str, problem: str) -> str:
    return f"batch name {name!r} cannot be used: {problem}; rename the folder"


def _shown(name: str) -> str:
    return stored_path(os.fsencode(name))


def _name_problem(name: str) -> str | None:
    length = len(name.encode("utf-8", "surrogatepass"))
    rules = (
        (not name, "it is empty"),
        (length > _LONGEST_NAME, f"it is longer than {_LONGEST_NAME} bytes"),
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
