"""Open corpora and batches by their location; local folders as corpora."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from qa_pipeline.documents.corpus.files import DocumentFailure, FoundFile, stored_path
from qa_pipeline.documents.corpus.places import (
    BatchFiles,
    Corpus,
    Entry,
    archive_batch,
    is_archive,
    missing_batch,
    without_suffix,
)
from qa_pipeline.documents.corpus.remote import RemoteCorpus, is_remote_file
from qa_pipeline.errors import CorpusError
from qa_pipeline.settings.location import is_remote, location_of


def open_corpus(location: str | Path) -> Corpus:
    """Return the corpus at a local folder, or at an address that fsspec can open."""
    path = _check_location(location)
    return RemoteCorpus(path) if is_remote(path) else FolderCorpus(path)


def split_batch(location: str | Path) -> tuple[str, str]:
    """Return the corpus that contains a batch, and the name of the batch."""
    address = _check_location(location)
    if not is_remote(address):
        path = Path(address).resolve()
        return str(path.parent), path.name if path.is_dir() else without_suffix(path.name)
    corpus, _, name = address.rpartition("/")
    if corpus.endswith("/"):
        raise CorpusError(f"{address} is not a folder of documents; name one below it")
    return corpus, without_suffix(name)


def single_batch(location: str | Path) -> tuple[str, str] | None:
    """Return corpus and name of a batch given as a corpus: a file, or a folder of files alone; else None."""
    address = _check_location(location)
    if is_remote(address):
        return split_batch(address) if is_remote_file(address) else None
    path = Path(address)
    try:
        if path.is_file():
            return split_batch(address)
        with os.scandir(path) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
    except (OSError, ValueError):  # opening it as a corpus gives the reason
        return None
    has_batches = any(entry.is_dir() or is_archive(entry.name) for entry in visible)
    return split_batch(address) if visible and not has_batches else None


def _check_location(location: str | Path) -> str:
    try:
        return location_of(location)
    except ValueError as error:
        raise CorpusError(f"the location cannot be opened: {error}") from error


_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
)
_LINKED = "is a link that leads out of the corpus; replace it with the documents themselves"


class FolderCorpus(Corpus):
    """A local folder of batches."""

    def address(self, name: str) -> str:
        """Return the address of a batch."""
        return str(self._path_of(name))

    def entries(self) -> list[Entry]:
        """Return all direct entries of the folder."""
        if not Path(self.location).is_dir():
            raise CorpusError(
                f"corpus folder {self.location} does not exist or is not a folder; name a folder of batches"
            )
        base = os.path.realpath(self.location)
        try:
            with os.scandir(self.location) as entries:
                return [_check_entry(entry, base) for entry in entries]
        except OSError as error:
            raise CorpusError(f"corpus folder {self.location} cannot be read: {error.strerror}") from error

    def files_of(self, name: str) -> BatchFiles:
        """Return the files of a batch."""
        path = self._path_of(name)
        if not (path.is_dir() or path.is_file()):
            raise missing_batch(str(path))
        base = os.path.realpath(self.location)
        if not _is_inside(os.path.realpath(path), base):
            raise CorpusError(f"{path.name} {_LINKED}")
        if path.is_dir():
            return open_folder(path)
        if is_archive(path.name):
            opener = partial(_open_file, str(path), base)
            return archive_batch(path.name, opener, _seen(path.stat()))
        return BatchFiles(name, lambda: [_look_at(self.location, str(path), base)])

    def _path_of(self, name: str) -> Path:
        """Return the folder, file or archive of a batch."""
        path = Path(self.location) / name
        if path.exists() or not path.parent.is_dir():
            return path
        archives = sorted(other for other in path.parent.iterdir() if without_suffix(other.name) == name)
        return next((archive for archive in archives if archive.is_file()), path)


def open_folder(folder: Path) -> BatchFiles:
    """Return the files below a local folder; an unreadable file carries its failure."""
    return BatchFiles(folder.name, partial(_files_below, str(folder)))


def _check_entry(entry: os.DirEntry[str], base: str) -> Entry:
    problem = None
    if entry.is_symlink() and not _is_inside(os.path.realpath(entry.path), base):
        problem = _LINKED
    elif is_archive(entry.name) and not (entry.is_dir() or entry.is_file()):
        problem = "is not a regular file"
    return Entry(os.fsencode(entry.name), entry.is_dir(), problem)


def _files_below(folder: str) -> Iterator[FoundFile]:
    """Yield the visible files, links and unreadable folders below a folder."""
    if not Path(folder).is_dir():
        raise missing_batch(folder)
    base = os.path.realpath(folder)
    listing_errors: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=listing_errors.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        linked_folders = [name for name in folders if Path(parent, name).is_symlink()]
        for name in [*names, *linked_folders]:
            if not name.startswith("."):
                yield _look_at(folder, os.path.join(parent, name), base)  # noqa: PTH118 - names of any bytes
    for error in listing_errors:
        detail = f"the folder cannot be listed, so no file in it is read: {error.strerror}"
        raw = _raw_name(folder, str(error.filename))
        opener = partial(_open_file, str(error.filename), base)
        yield FoundFile(stored_path(raw), raw, 0, opener, DocumentFailure("unreadable", detail))


def _look_at(folder: str, location: str, base: str) -> FoundFile:
    """Check a file or link without opening it."""
    failure, size, seen = None, 0, ""
    try:
        status = os.lstat(_target(location, base))
        _check_regular(status)
        size, seen = status.st_size, _seen(status)
    except OSError as error:  # a link that leads to itself among them
        failure = _unreadable(error)
    except DocumentFailure as refusal:
        failure = refusal
    raw = _raw_name(folder, location)
    return FoundFile(stored_path(raw), raw, size, partial(_open_file, location, base), failure, seen=seen)


def _raw_name(folder: str, location: str) -> bytes:
    """Return the path of a file inside a folder, with forward slashes."""
    relative = location.removeprefix(folder).lstrip(os.sep) or "."
    return os.fsencode(relative).replace(os.sep.encode(), b"/")


def _target(location: str, base: str) -> str:
    """Return the file to open: the target of a link inside the batch folder."""
    if not Path(location).is_symlink():
        return location
    target = os.path.realpath(location, strict=True)
    if not _is_inside(target, base):
        raise DocumentFailure("outside_corpus", "the link leads out of the batch folder")
    if Path(target).is_dir():
        raise DocumentFailure("linked_folder", "folders are not read through links")
    return target


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise DocumentFailure("not_a_file", "a folder, pipe, socket or device is not read")


def _is_inside(target: str, base: str) -> bool:
    return target == base or target.startswith(base.rstrip(os.sep) + os.sep)


def _seen(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


@contextmanager
def _open_file(location: str, base: str) -> Iterator[BinaryIO]:
    """Open a regular file; raises a DocumentFailure if it is written to meanwhile."""
    try:
        descriptor = os.open(_target(location, base), _FLAGS)
        before = os.fstat(descriptor)
        try:
            _check_regular(before)
        except DocumentFailure:
            os.close(descriptor)
            raise
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            yield file
            if _seen(os.fstat(descriptor)) != _seen(before):
                detail = "the file was written to while it was read; run again when it is complete"
                raise DocumentFailure("unreadable", detail)
    except OSError as error:
        raise _unreadable(error) from error


def _unreadable(error: OSError) -> DocumentFailure:
    return DocumentFailure("unreadable", error.strerror or "the file cannot be opened")
