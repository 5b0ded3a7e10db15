"""What a corpus and a batch are to the rest of the package, wherever they lie.

What belongs here: the two protocols, and sorting the entries of a corpus into batches. What does not: any
kind of place (one module each), and choosing among them (`corpora`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from qa_pipeline.corpus.files import FoundFile, stored_path
from qa_pipeline.storage import name_problem, refusal


@dataclass(frozen=True, slots=True)
class FoundBatches:
    """What lies in a corpus.

    `refused` says why a folder or archive can be no batch, by its name as it can be shown; `loose` are the
    files beside them, which belong to no batch.
    """

    names: tuple[str, ...]
    refused: Mapping[str, str]
    loose: tuple[str, ...]


ZIP_SUFFIX = ".zip"
LINKED = "is a link out of the corpus; put the documents themselves there"


class BatchFiles(Protocol):
    """The files of one batch."""

    @property
    def name(self) -> str:
        """What messages call it: the name of its folder or archive."""
        ...

    def list(self) -> list[FoundFile]:
        """Every visible file, the pairs and the description among them, in order.

        Raises:
            CorpusError: there is no such batch, or it cannot be read as a whole.
        """
        ...

    def find(self, path: str) -> FoundFile | None:
        """One file by its path inside the batch, hidden or not; None where there is none."""
        ...

    def fingerprint(self) -> str:
        """Hash of the names and contents of all files: equal when nothing was changed.

        Raises:
            CorpusError: there is no such batch, or it cannot be read as a whole.
        """
        ...


class Corpus(Protocol):
    """A place that holds batches."""

    def find_batches(self) -> FoundBatches:
        """Look through the corpus, hidden entries aside; what can be no batch takes no other one down.

        Raises:
            CorpusError: it is missing, cannot be read or holds no batch.
        """
        ...

    def batch(self, name: str) -> BatchFiles:
        """The files of a batch.

        Raises:
            CorpusError: there is none of that name, or it leads out of the corpus.
        """
        ...

    def looks(self, names: Iterable[str]) -> dict[str, str | None]:
        """How each batch looks from outside: another text when files come, go or change.

        Nothing is read for it. None while files come and go, or when the batch cannot be looked at.
        """
        ...

    def address(self, name: str) -> str:
        """Where a batch lies, for people."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One visible entry of a corpus: its name where it lies, what it is, and why it may be no batch."""

    raw: bytes
    is_folder: bool
    problem: str | None = None


def sort_out(entries: Iterable[Entry]) -> FoundBatches:
    """Tell batches from what can be none and from loose files; an archive is a batch named like its stem."""
    ordered = sorted(entries, key=lambda entry: entry.raw)
    folders = {_name(entry) for entry in ordered if entry.is_folder}
    names: list[str] = []
    refused: dict[str, str] = {}
    loose: list[str] = []
    for entry in ordered:
        shown = stored_path(entry.raw)
        name = _name(entry)
        if not entry.is_folder and not is_archive(shown):
            loose.append(shown)
        elif entry.problem is not None:
            refused[shown] = f"{shown} {entry.problem}"
        elif problem := name_problem(name):
            refused[shown] = refusal(name, problem)
        elif not entry.is_folder and (name in folders or name in names):
            refused[shown] = f"{shown} stands beside a batch of the same name; rename one of them"
        else:
            names.append(name)
    return FoundBatches(tuple(sorted(names)), refused, tuple(loose))


def is_archive(name: str) -> bool:
    """Whether a file of that name is a batch of its own."""
    return name.lower().endswith(ZIP_SUFFIX) and len(name) > len(ZIP_SUFFIX)


def _name(entry: Entry) -> str:
    name = entry.raw.decode("utf-8", "surrogateescape")
    return name[: -len(ZIP_SUFFIX)] if not entry.is_folder and is_archive(name) else name
