"""What a corpus and a batch are to the rest of the package, wherever they lie."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from qa_pipeline.documents.corpus.archives import hash_archive, list_archive
from qa_pipeline.documents.corpus.files import (
    DocumentFailure,
    FoundFile,
    Opener,
    hash_files,
    sort_files,
    stored_path,
)
from qa_pipeline.errors import CorpusError
from qa_pipeline.storage.layout import check_batch_name, name_problem, refusal


@dataclass(frozen=True, slots=True)
class FoundBatches:
    """The batches of a corpus, and what else is there.

    `refused` holds why a folder or archive can be no batch, by its name as it can be shown; `loose` are the
    files beside them, which belong to no batch.
    """

    names: tuple[str, ...]
    refused: Mapping[str, str]
    loose: tuple[str, ...]


ZIP_SUFFIX = ".zip"
LINKED = "is a link that leads out of the corpus; replace it with the documents themselves"


class BatchFiles:
    """The files of one batch.

    Args:
        name: what messages call it: the name of its folder or archive.
        list_files: lists every visible file, in any order.
        hash_all: hash of the whole batch, where that is not the hash of its files.
    """

    def __init__(
        self,
        name: str,
        list_files: Callable[[], Iterable[FoundFile]],
        hash_all: Callable[[], str] | None = None,
    ) -> None:
        self.name = name
        self._list_files = list_files
        self._hash_all = hash_all

    def list(self) -> list[FoundFile]:
        """Return every visible file, the pairs and the description among them, in order.

        Raises:
            CorpusError: there is no such batch, or it cannot be read as a whole.
        """
        return sort_files(self._list_files())

    def find(self, path: str) -> FoundFile | None:
        """Return one visible file by its path inside the batch, a readable one if possible; None without.

        A folder of that name with files in it comes as a file that cannot be read.
        """
        listed = self.list()
        named = (file for file in listed if file.path == path)
        matching = sorted(named, key=lambda file: file.failure is not None)
        below = (file for file in listed if file.path.startswith(f"{path}/"))
        if not matching and (inside := next(below, None)):
            folder = DocumentFailure("not_a_file", "a folder is in its place")
            return replace(inside, path=path, raw=path.encode(), size=0, failure=folder)
        return next(iter(matching), None)

    def fingerprint(self) -> str:
        """Hash of the names and contents of all files: equal when nothing was changed.

        Raises:
            CorpusError: there is no such batch, or it cannot be read as a whole.
        """
        return self._hash_all() if self._hash_all else hash_files(self.list())


def archive_batch(name: str, open_file: Opener, stamp: str | None = None) -> BatchFiles:
    """Return the members of a ZIP archive as the files of a batch; `stamp` is its line in a listing."""
    return BatchFiles(
        name, lambda: list_archive(name, open_file), lambda: hash_archive(name, open_file, stamp)
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """A visible entry of a corpus: its name, its kind, and why it may be no batch."""

    raw: bytes
    is_folder: bool
    problem: str | None = None


class Corpus(ABC):
    """A place that holds batches."""

    def __init__(self, location: str) -> None:
        self.location = location

    def find_batches(self) -> FoundBatches:
        """Look through the corpus, hidden entries aside; what can be no batch takes no other one down.

        Raises:
            CorpusError: it is missing, cannot be read or holds no batch.
        """
        batches = sort_out(entry for entry in self._entries() if not entry.raw.startswith(b"."))
        if not batches.names and not batches.refused:
            raise CorpusError(
                f"corpus {self.location} holds no documents; put them into it, where they are one batch, or "
                "into folders inside it, where each folder is one"
            )
        return batches

    def batch(self, name: str) -> BatchFiles:
        """Return the files of a batch.

        Raises:
            CorpusError: there is none of that name, or it leads out of the corpus.
        """
        check_batch_name(name)
        return self._batch(name)

    @abstractmethod
    def listing_fingerprints(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return a hash of what the listing of each batch shows: another text when files come, go or change.

        Nothing is read for it. None while files come and go, or when the batch cannot be looked at.
        """

    def address(self, name: str) -> str:
        """Return the address of a batch, for people."""
        return f"{self.location}/{name}"

    @abstractmethod
    def _entries(self) -> Iterable[Entry]:
        """Return all direct entries of the corpus."""

    @abstractmethod
    def _batch(self, name: str) -> BatchFiles:
        """Return the batch of a name that may be one."""


def sort_out(entries: Iterable[Entry]) -> FoundBatches:
    """Sort batches from what can be none and from loose files; an archive is a batch named like its stem."""
    ordered = sorted(entries, key=lambda entry: entry.raw)
    folders = {_name(entry) for entry in ordered if entry.is_folder}
    names: list[str] = []
    refused: dict[str, str] = {}
    loose: list[str] = []
    for entry in ordered:
        path = stored_path(entry.raw)
        name = _name(entry)
        if not entry.is_folder and not is_archive(path):
            loose.append(path)
        elif entry.problem is not None:
            refused[path] = f"{path} {entry.problem}"
        elif problem := name_problem(name):
            refused[path] = refusal(name, problem)
        elif not entry.is_folder and (name in folders or name in names):
            refused[path] = f"{path} is next to a batch of the same name; rename one of them"
        else:
            names.append(name)
    return FoundBatches(tuple(sorted(names)), refused, tuple(loose))


def is_archive(name: str) -> bool:
    """Return whether a file of that name is a batch of its own."""
    return name.lower().endswith(ZIP_SUFFIX) and len(name) > len(ZIP_SUFFIX)


def without_suffix(name: str) -> str:
    """Return the name of the batch in an archive of that name."""
    return name[: -len(ZIP_SUFFIX)] if is_archive(name) else name


def _name(entry: Entry) -> str:
    name = entry.raw.decode("utf-8", "surrogateescape")
    return name if entry.is_folder else without_suffix(name)
