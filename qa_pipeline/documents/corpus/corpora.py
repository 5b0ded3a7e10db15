"""Find batches and their files, in a local folder or at an address that fsspec can open.

Messages of a store's library are not passed on: they may contain signed addresses.
"""

import os
import stat
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from qa_pipeline.documents.corpus.files import BatchFiles, DocumentFailure, FoundFile, stored_path
from qa_pipeline.errors import CorpusError
from qa_pipeline.settings.base import is_remote, location_of
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.storage.layout import check_batch_name


@dataclass(frozen=True, slots=True)
class FoundBatches:
    """The batches of a corpus, refused folders with their reasons, and loose files."""

    names: tuple[str, ...]
    refused: Mapping[str, str]
    loose: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a corpus: its name, its kind, and the reason to refuse it."""

    raw: bytes
    is_folder: bool
    problem: str | None = None


class Corpus(ABC):
    """A location of batches."""

    def __init__(self, location: str) -> None:
        self.location = location

    def find_batches(self) -> FoundBatches:
        """Return the batches of the corpus; raises a CorpusError if it is unreadable or has no folders."""
        names: list[str] = []
        refused: dict[str, str] = {}
        loose: list[str] = []
        for entry in sorted(self.entries(), key=lambda entry: entry.raw):
            shown_path, name = stored_path(entry.raw), entry.raw.decode("utf-8", "surrogateescape")
            if name.startswith("."):
                continue
            if not entry.is_folder:
                loose.append(shown_path)
            elif entry.problem is not None:
                refused[shown_path] = f"{shown_path} {entry.problem}"
            else:
                try:
                    check_batch_name(name)
                    names.append(name)
                except CorpusError as error:
                    refused[shown_path] = str(error)
        if not names and not refused:  # callers report refused folders, also without a usable batch
            # commands do not get here with a local folder of files only: `single_batch` makes it a batch
            missing = "folders of documents" if loose else "documents"
            advice = "put the documents of each batch into a folder inside it"
            raise CorpusError(f"corpus {self.location} contains no {missing}; {advice}")
        return FoundBatches(tuple(sorted(names)), refused, tuple(loose))

    def batch(self, name: str) -> BatchFiles:
        """Return the files of a batch: a folder, or a single local file."""
        check_batch_name(name)
        return self.files_of(name)

    def listing_fingerprints(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return a hash of the listing of each batch, without reading files; None for an unreadable batch."""
        fingerprints: dict[str, str | None] = dict.fromkeys(names)
        for name in fingerprints:
            with suppress(CorpusError):
                facts = [(file.path, file.size, file.size_and_times) for file in self.batch(name).list()]
                fingerprints[name] = hash_json(facts)
        return fingerprints

    @abstractmethod
    def entries(self) -> Iterable[Entry]:
        """Return all direct entries of the corpus."""

    @abstractmethod
    def files_of(self, name: str) -> BatchFiles:
        """Return the files of a batch by its checked name."""


def open_corpus(location: str | Path) -> Corpus:
    """Return the corpus at a local folder, or at an address that fsspec can open."""
    path = _check_location(location)
    return RemoteCorpus(path) if is_remote(path) else FolderCorpus(path)


def split_batch(location: str | Path) -> tuple[str, str]:
    """Return the corpus that contains a batch, and the name of the batch."""
    address = _check_location(location)
    if not is_remote(address):
        path = Path(address).resolve()
        return str(path.parent), path.name
    corpus, _, name = address.rpartition("/")
    if corpus.endswith("/"):  # such as `s3://bucket`
        raise CorpusError(f"{address} is not a folder of documents; name a folder below it")
    return corpus, name


def single_batch(location: str | Path) -> tuple[str, str] | None:
    """Return corpus and name of a local file or folder of files alone, a batch by itself; else None."""
    address = _check_location(location)
    if is_remote(address):
        return None
    path = Path(address)
    try:
        if path.is_file():
            return split_batch(address)
        with os.scandir(path) as entries:
            are_folders = [entry.is_dir() for entry in entries if not entry.name.startswith(".")]
    except (OSError, ValueError):  # opening it as a corpus gives the reason
        return None
    return split_batch(address) if are_folders and not any(are_folders) else None


def _check_location(location: str | Path) -> str:
    try:
        return location_of(location)
    except ValueError as error:
        raise CorpusError(f"the location cannot be opened: {error}") from error


def _missing_batch(address: str) -> CorpusError:
    return CorpusError(f"batch {address} does not exist; name a folder or file of the corpus")


_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW  # a pipe must not wait, and links are resolved before
_LINKED = "is a link that leads out of the corpus; replace it with the documents themselves"


class FolderCorpus(Corpus):
    """A local folder of batches."""

    def entries(self) -> Iterator[Entry]:
        """Yield all direct entries of the folder."""
        if not Path(self.location).is_dir():
            problem = f"corpus folder {self.location} does not exist or is not a folder"
            raise CorpusError(f"{problem}; name a folder of batches")
        boundary = os.path.realpath(self.location)
        try:
            with os.scandir(self.location) as found:
                for entry in found:
                    is_outside = entry.is_symlink() and not _is_inside(entry.path, boundary)
                    yield Entry(os.fsencode(entry.name), entry.is_dir(), _LINKED if is_outside else None)
        except OSError as error:
            raise CorpusError(f"corpus folder {self.location} cannot be read: {error.strerror}") from error

    def files_of(self, name: str) -> BatchFiles:
        """Return the files of a batch: a folder, or a file alone (see `single_batch`)."""
        path = Path(self.location) / name
        if not (path.is_dir() or path.is_file()):
            raise _missing_batch(str(path))
        boundary = os.path.realpath(self.location)
        if not _is_inside(str(path), boundary):
            raise CorpusError(f"{path.name} {_LINKED}")
        if path.is_dir():
            return open_folder(path)
        return BatchFiles(name, lambda: [_look_at(self.location, str(path), boundary)])


def open_folder(folder: Path) -> BatchFiles:
    """Return the files below a local folder; an unreadable file carries its failure."""
    return BatchFiles(folder.name, partial(_files_below, str(folder)))


def _files_below(folder: str) -> Iterator[FoundFile]:
    """Yield the visible files, links and unreadable folders below a folder."""
    if not Path(folder).is_dir():
        raise _missing_batch(folder)
    boundary = os.path.realpath(folder)
    listing_errors: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=listing_errors.append):
        folders[:] = [name for name in folders if not name.startswith(".")]  # the walk skips the others
        # the walk does not enter links to folders; `_look_at` refuses each of them, which makes a row
        linked_folders = [name for name in folders if Path(parent, name).is_symlink()]
        for name in [*names, *linked_folders]:
            if not name.startswith("."):
                yield _look_at(folder, os.path.join(parent, name), boundary)  # noqa: PTH118 - any bytes
    for error in listing_errors:
        detail = f"the folder cannot be listed, so no file in it is read: {error.strerror}"
        raw = _raw_name(folder, str(error.filename))
        opener = partial(_open_file, str(error.filename), boundary)
        yield FoundFile(stored_path(raw), raw, 0, opener, DocumentFailure("unreadable", detail))


def _look_at(folder: str, location: str, boundary: str) -> FoundFile:
    """Check a file or link, named from `folder`, without opening it; a link must stay inside `boundary`."""
    failure, size, size_and_times = None, 0, ""
    try:
        status = os.lstat(_target(location, boundary))
        _check_regular(status)
        size, size_and_times = status.st_size, _size_and_times(status)
    except OSError as error:  # a link that leads to itself among them
        failure = _unreadable(error)
    except DocumentFailure as refusal:
        failure = refusal
    raw, opener = _raw_name(folder, location), partial(_open_file, location, boundary)
    return FoundFile(stored_path(raw), raw, size, opener, failure, size_and_times=size_and_times)


def _raw_name(folder: str, location: str) -> bytes:
    """Return the path of a file inside a folder, with forward slashes."""
    relative = location.removeprefix(folder).lstrip(os.sep) or "."
    return os.fsencode(relative).replace(os.sep.encode(), b"/")


def _target(location: str, boundary: str) -> str:
    """Return the file to open: the location, or the target of a link there, which is inside `boundary`."""
    if not Path(location).is_symlink():
        return location
    target = os.path.realpath(location, strict=True)
    if not _is_inside(target, boundary):
        raise DocumentFailure("outside_corpus", "the link points outside the batch folder")
    if Path(target).is_dir():
        raise DocumentFailure("linked_folder", "links to folders are not followed")
    return target


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise DocumentFailure("not_a_file", "it is a folder, pipe, socket or device, not a file")


def _is_inside(path: str, boundary: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(boundary)


def _size_and_times(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


@contextmanager
def _open_file(location: str, boundary: str) -> Iterator[BinaryIO]:
    """Open a regular file; raises a DocumentFailure if it is written to meanwhile."""
    try:
        with open(_target(location, boundary), "rb", 0, opener=lambda path, _: os.open(path, _FLAGS)) as file:
            before = os.fstat(file.fileno())
            _check_regular(before)
            yield file
            if _size_and_times(os.fstat(file.fileno())) != _size_and_times(before):
                detail = "the file was written to while it was read; run again when it is complete"
                raise DocumentFailure("unreadable", detail)
    except OSError as error:
        raise _unreadable(error) from error


def _unreadable(error: OSError) -> DocumentFailure:
    return DocumentFailure("unreadable", error.strerror or "the file cannot be opened")


# names of content hashes and times in the listings of stores, the best first
_CONTENT_HASHES = ("md5Hash", "sha256", "blob_id", "checksum", "ETag", "etag")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")


class RemoteCorpus(Corpus):
    """An address below which each folder is a batch."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        with _name_faults(location):
            import fsspec

            self._files, root = fsspec.core.url_to_fs(location)
        self._root = root.rstrip("/")
        self._files.invalidate_cache()  # listings are kept for the life of a process otherwise

    def listing_fingerprints(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return the hash of each batch from a single listing of the corpus; None for a missing batch."""
        try:
            with _name_faults(self.location):
                listed = self._files.find(self._root, detail=True)
        except CorpusError:
            return dict.fromkeys(names)
        facts = defaultdict(list)  # path, size, and hash or time of the files of each batch
        for path, info in sorted(listed.items()):
            batch, _, rest = path.removeprefix(self._root).lstrip("/").partition("/")
            facts[batch].append((rest, info.get("size"), _first(info, _CONTENT_HASHES + _TIMES)))
        return {name: hash_json(facts[name]) if name in facts else None for name in names}

    def entries(self) -> Iterator[Entry]:
        """List the entries directly at the address; some stores list the address itself too."""
        with _name_faults(self.location):
            entries = self._files.ls(self._root, detail=True)
        for info in entries:
            name = str(info["name"]).removeprefix(self._root).strip("/")
            if name:
                yield Entry(name.encode("utf-8", "surrogateescape"), info["type"] == "directory")

    def files_of(self, name: str) -> BatchFiles:
        """Return the files of a batch."""
        address, folder = f"{self.location}/{name}", f"{self._root}/{name}"
        with _name_faults(address):
            is_there = self._files.isdir(folder)
        if not is_there:
            raise _missing_batch(address)
        return BatchFiles(name, partial(_remote_files, self._files, folder, address))


def _remote_files(files: Any, folder: str, address: str) -> Iterator[FoundFile]:
    """Yield the visible files below a remote folder."""
    with _name_faults(address):
        listed = files.find(folder, detail=True, withdirs=False)
    for path, info in listed.items():
        relative = path.removeprefix(folder).lstrip("/")
        is_folder = relative == "" or relative.endswith("/")  # some keys of object stores are folders
        if is_folder or any(part.startswith(".") for part in relative.split("/")):
            continue
        raw, opener = relative.encode("utf-8", "surrogateescape"), partial(_open_remote, files, path)
        size, stamp = info.get("size") or 0, _first(info, _CONTENT_HASHES)
        yield FoundFile(stored_path(raw), raw, size, opener, stamp=stamp)


@contextmanager
def _open_remote(files: Any, path: str) -> Iterator[BinaryIO]:
    try:
        with files.open(path, "rb") as file:
            yield file
    except DocumentFailure:
        raise
    except Exception as error:
        raise DocumentFailure("unreadable", cause_of(error)) from error


@contextmanager
def _name_faults(address: str) -> Iterator[None]:
    """Turn any exception of a store's library into a CorpusError."""
    try:
        yield
    except Exception as error:
        advice = "check the address, and that the credentials in the environment may read it"
        raise CorpusError(f"{address} cannot be read: {cause_of(error)}; {advice}") from error


def cause_of(error: Exception) -> str:
    """Return the cause of an error, without the library's own message."""
    if isinstance(error, FileNotFoundError):
        return "it is not there"
    cause = type(error.__cause__ or error).__name__
    return error.strerror if isinstance(error, OSError) and error.errno and error.strerror else cause


def _first(info: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the first of these values that a store lists of a file, with its name, as in `ETag:0a1b`."""
    return next((f"{name}:{info[name]}" for name in names if info.get(name)), None)
