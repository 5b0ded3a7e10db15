"""Common parts of local and remote corpora and batches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from qa_pipeline.documents.corpus.archives import list_archive
from qa_pipeline.documents.corpus.files import FoundFile, Opener, hash_files, stored_path
from qa_pipeline.errors import CorpusError
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.storage.layout import check_batch_name, name_problem, refusal

_ZIP = ".zip"


@dataclass(frozen=True, slots=True)
class FoundBatches:
    """The batches of a corpus, refused folders and archives with their reasons, and loose files."""

    names: tuple[str, ...]
    refused: Mapping[str, str]
    loose: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BatchFiles:
    """The files of a batch; `seen` are the values, such as times, that are listed for an archive."""

    name: str
    list_files: Callable[[], Iterable[FoundFile]]
    seen: str = ""

    def list(self) -> list[FoundFile]:
        """Return every visible file in order, the pairs and the description among them."""
        return sorted(self.list_files(), key=lambda file: (file.path, file.raw))

    def find(self, path: str) -> FoundFile | None:
        """Return a visible file by its path inside the batch, a readable one if possible."""
        named = [file for file in self.list() if file.path == path]
        return min(named, key=lambda file: file.failure is not None, default=None)

    def fingerprint(self) -> str:
        """Hash the names and contents of all files."""
        try:
            return hash_files(self.list())
        except CorpusError:
            if not self.seen:
                raise
            return hash_json(self.seen)  # of a damaged archive, whose run tells of it


@dataclass(frozen=True, slots=True)
class Entry:
    """A visible entry of a corpus: its name, its kind, and the reason to refuse it."""

    raw: bytes
    is_folder: bool
    problem: str | None = None

    @property
    def batch(self) -> str:
        """Return the name of the batch: an archive is named like its stem."""
        name = self.raw.decode("utf-8", "surrogateescape")
        return name if self.is_folder else without_suffix(name)


class Corpus(ABC):
    """A location of batches."""

    def __init__(self, location: str) -> None:
        self.location = location

    def find_batches(self) -> FoundBatches:
        """Return the batches of the corpus; raises a CorpusError for an empty or unreadable corpus."""
        batches = sort_out(entry for entry in self.entries() if not entry.raw.startswith(b"."))
        if not batches.names and not batches.refused:
            raise CorpusError(
                f"corpus {self.location} holds no documents; put them into it, where they are one batch, or "
                "into folders inside it, where each folder is one"
            )
        return batches

    def batch(self, name: str) -> BatchFiles:
        """Return the files of a batch: a folder, an archive, or a single file."""
        check_batch_name(name)
        return self.files_of(name)

    def listing_fingerprints(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return a hash of the listing of each batch, without reading files; None for an unreadable batch."""
        fingerprints: dict[str, str | None] = dict.fromkeys(names)
        for name in fingerprints:
            with suppress(CorpusError):
                batch = self.batch(name)
                files = [] if batch.seen else batch.list()
                facts = [(file.path, file.size, file.seen) for file in files]
                fingerprints[name] = hash_json([batch.seen, facts])
        return fingerprints

    def address(self, name: str) -> str:
        """Return the address of a batch, for people."""
        return f"{self.location}/{name}"

    @abstractmethod
    def entries(self) -> Iterable[Entry]:
        """Return all direct entries of the corpus."""

    @abstractmethod
    def files_of(self, name: str) -> BatchFiles:
        """Return the files of a batch by its checked name."""


def sort_out(entries: Iterable[Entry]) -> FoundBatches:
    """Separate batches from refused entries and loose files."""
    ordered = sorted(entries, key=lambda entry: entry.raw)
    folders = {entry.batch for entry in ordered if entry.is_folder}
    names: list[str] = []
    refused: dict[str, str] = {}
    loose: list[str] = []
    for entry in ordered:
        path, name = stored_path(entry.raw), entry.batch
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


def archive_batch(name: str, open_file: Opener, seen: str = "") -> BatchFiles:
    """Return the members of a ZIP archive as the files of a batch."""
    return BatchFiles(name, lambda: list_archive(name, open_file), seen)


def missing_batch(address: str) -> CorpusError:
    """Return the error of a batch that is not there."""
    return CorpusError(f"batch {address} does not exist; name a folder, ZIP archive or file of the corpus")


def is_archive(name: str) -> bool:
    """Return True for the name of a file that is a batch of its own."""
    return name.lower().endswith(_ZIP) and len(name) > len(_ZIP)


def without_suffix(name: str) -> str:
    """Return the name of the batch in an archive of that name."""
    return name[: -len(_ZIP)] if is_archive(name) else name
