"""Local folders: a corpus whose entries are batches, and the files of a batch folder.

What belongs here: walking folders without leaving them, and opening only regular files. What does not:
archives (`zip_files`), other places (`remote`), and what the bytes mean.

Folders are never entered through links, files only where the link stays inside the batch. Whatever stands in
the place of a file when it is opened, nothing but a regular file is read: a pipe or a device could block.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from glob import escape
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from qa_pipeline.corpus.archives import ZipBatch
from qa_pipeline.corpus.files import DocumentFailure, FoundFile, hash_files, in_order, stored_path
from qa_pipeline.corpus.places import (
    LINKED,
    ZIP_SUFFIX,
    BatchFiles,
    Entry,
    FoundBatches,
    is_archive,
    sort_out,
)
from qa_pipeline.errors import CorpusError
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage import check_batch_name

_GIT_STATE = (".git/HEAD", ".git/logs/HEAD", ".git/config", ".git/index", ".git/packed-refs")
"""Hidden files that decide what is known of the origin of documents."""


def look_of_folder(folder: Path) -> str:
    """Hash names, sizes and times of all visible entries: what can be known without reading them.

    Raises:
        OSError: files come and go.
    """
    looks = sha256()
    for location in _locations(str(folder)):
        looks.update(_state(location, str(folder)))
    for name in _GIT_STATE:
        if os.path.lexists(location := str(folder / name)):
            looks.update(_state(location, str(folder)))
    return looks.hexdigest()


def look_of_file(path: Path) -> str:
    """The same for a single file."""
    return sha256(_state(str(path), str(path.parent))).hexdigest()


def _state(location: str, base: str) -> bytes:
    parts: tuple[object, ...] = (location[len(base) :],)
    try:
        state = os.lstat(location)
    except PermissionError:  # its folder may be listed and not entered
        pass
    else:
        parts += (state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    return repr(parts).encode(errors="surrogateescape")


def _locations(folder: str) -> list[str]:
    """Every visible entry below a folder; one that may not be entered stands for what it holds."""
    found: list[str] = []
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except PermissionError:
            continue
        found += [entry.path for entry in visible]
        pending += [entry.path for entry in visible if entry.is_dir(follow_symlinks=False)]
    return sorted(found)


_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_TOLD = {
    errno.EACCES: "permission denied; let the user who runs this read it",
    errno.EPERM: "permission denied; let the user who runs this read it",
    errno.ELOOP: "the link leads back to itself, or a link took the place of the file",
    errno.ENOENT: "the link leads to nothing, or the file is gone since it was listed",
}
"""What to say where the words of the system leave open what is meant."""


class FolderCorpus:
    """A local folder that holds batches."""

    def __init__(self, folder: Path, limits: DocumentSettings) -> None:
        self._folder = folder
        self._limits = limits

    def find_batches(self) -> FoundBatches:
        """Look through the folder.

        Raises:
            CorpusError: it is missing, cannot be read or holds no batch.
        """
        if not self._folder.is_dir():
            raise CorpusError(
                f"corpus folder {self._folder} does not exist or is no folder; name a folder of batches"
            )
        base = os.path.realpath(self._folder)
        try:
            with os.scandir(self._folder) as entries:
                found = [_entry(entry, base) for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            raise CorpusError(f"corpus folder {self._folder} cannot be read: {error.strerror}") from error
        batches = sort_out(found)
        if not batches.names and not batches.refused:
            raise CorpusError(
                f"corpus folder {self._folder} holds no batch; put documents into folders inside it"
            )
        return batches

    def batch(self, name: str) -> BatchFiles:
        """The files of a batch.

        Raises:
            CorpusError: there is none of that name, or it leads out of the corpus.
        """
        check_batch_name(name)
        folder = self._folder / name
        if folder.is_dir():
            self._check_inside(folder)
            return FolderBatch(folder)
        archive = self._archive(name)
        if archive is None:
            raise CorpusError(f"batch folder {folder} does not exist or is no folder")
        self._check_inside(archive)
        return ZipBatch(archive.name, partial(_opened, str(archive.resolve())), self._limits)

    def looks(self, names: Iterable[str]) -> dict[str, str | None]:
        """How each batch looks from outside."""
        return {name: self._look(name) for name in names}

    def address(self, name: str) -> str:
        """Where a batch lies."""
        folder = self._folder / name
        return str(folder if folder.is_dir() else self._archive(name) or folder)

    def _look(self, name: str) -> str | None:
        try:
            archive = None if (self._folder / name).is_dir() else self._archive(name)
            return look_of_file(archive) if archive else look_of_folder(self._folder / name)
        except OSError:
            return None

    def _archive(self, name: str) -> Path | None:
        """The archive of a batch, whatever the case of its suffix."""
        plain = self._folder / f"{name}{ZIP_SUFFIX}"
        if plain.is_file():
            return plain
        others = self._folder.glob(f"{escape(name)}.[zZ][iI][pP]")
        return next((path for path in sorted(others) if path.is_file()), None)

    def _check_inside(self, path: Path) -> None:
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise CorpusError(f"{path.name} {LINKED}")


class FolderBatch:
    """The files below a local folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def name(self) -> str:
        """The folder's name."""
        return self._folder.name

    def list(self) -> list[FoundFile]:
        """Every visible file; what cannot be opened or leads out of the folder comes with its failure.

        Raises:
            CorpusError: the folder is missing.
        """
        if not self._folder.is_dir():
            raise CorpusError(f"batch folder {self._folder} does not exist or is no folder")
        return in_order(_walk(str(self._folder)))

    def find(self, path: str) -> FoundFile | None:
        """One file by its path inside the folder."""
        location = str(self._folder / path)
        return _look_at(str(self._folder), location) if os.path.lexists(location) else None

    def fingerprint(self) -> str:
        """Hash of the names and contents of all files.

        Raises:
            CorpusError: the folder is missing.
        """
        return hash_files(self.list())


def _entry(entry: os.DirEntry[str], base: str) -> Entry:
    is_folder = entry.is_dir()
    problem = None
    if entry.is_symlink() and not _inside(os.path.realpath(entry.path), base):
        problem = LINKED
    elif not is_folder and is_archive(entry.name) and not entry.is_file():
        problem = "is no regular file"
    return Entry(os.fsencode(entry.name), is_folder, problem)


def _walk(folder: str) -> Iterator[FoundFile]:
    base = os.path.realpath(folder)
    pending = [folder]
    while pending:
        inside = pending.pop()
        try:
            with os.scandir(inside) as entries:
                # what an entry is, the folder says itself; asking the entry may be forbidden
                listed = [entry for entry in entries if not entry.name.startswith(".")]
                kinds = [
                    (entry.path, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in listed
                ]
        except OSError as error:
            told = f"the folder cannot be listed, so no file in it is read: {_unreadable(error).detail}"
            yield _found(folder, inside, 0, failure=DocumentFailure("unreadable", told))
            continue
        for location, is_folder, is_link in kinds:
            if is_folder:
                pending.append(location)
            elif is_link:
                yield _look_at(folder, location, base)
            else:
                yield _look_at_plain(folder, location)


def _look_at_plain(folder: str, location: str) -> FoundFile:
    """Check an entry that is no link, without opening it."""
    try:
        status = os.lstat(location)
    except OSError as error:
        return _found(folder, location, 0, failure=_unreadable(error))
    failure = _irregular(status)
    return _found(folder, location, 0 if failure else status.st_size, failure=failure)


def _look_at(folder: str, location: str, base: str | None = None) -> FoundFile:
    """Check an entry that may be a link or lie behind one, without opening it."""
    base = base or os.path.realpath(folder)
    try:
        target = os.path.realpath(location, strict=True)
        status = Path(target).stat()
    except OSError as error:  # a link that leads to itself among them
        return _found(folder, location, 0, failure=_unreadable(error))
    failure = None
    if not _inside(target, base):
        failure = DocumentFailure("outside_corpus", "the link leads out of the batch folder")
    elif stat.S_ISDIR(status.st_mode) and Path(location).is_symlink():
        failure = DocumentFailure("linked_folder", "folders are not read through links")
    else:
        failure = _irregular(status)
    return _found(folder, location, 0 if failure else status.st_size, base=base, failure=failure)


def _irregular(status: os.stat_result) -> DocumentFailure | None:
    if stat.S_ISREG(status.st_mode):
        return None
    if stat.S_ISDIR(status.st_mode):
        return DocumentFailure("not_a_file", "a folder stands there")
    return DocumentFailure("not_a_file", "a pipe, socket or device is not read")


def _inside(target: str, base: str) -> bool:
    return target == base or target.startswith(base.rstrip(os.sep) + os.sep)


def _relative(location: str, folder: str) -> str:
    """The rest of a location that begins with its folder; a dot for the folder itself."""
    return location[len(folder) :].lstrip(os.sep) or "."


def _found(
    folder: str, location: str, size: int, *, base: str | None = None, failure: DocumentFailure | None = None
) -> FoundFile:
    raw = os.fsencode(_relative(location, folder)).replace(os.sep.encode(), b"/")
    return FoundFile(stored_path(raw), raw, size, partial(_opened_steady, location, base), failure)


@contextmanager
def _opened_steady(location: str, base: str | None = None) -> Iterator[BinaryIO]:
    """Open a regular file to read it as it is: half of an old and half of a new content is no document.

    Raises:
        DocumentFailure: `unreadable`, what stands there now, or that it was written to meanwhile.
    """
    with _opened(location, base) as file:
        before = _folders_state(file)
        yield file
        if _folders_state(file) != before:
            told = "the file was written to while it was read; run again when it is complete"
            raise DocumentFailure("unreadable", told)


def _folders_state(file: BinaryIO) -> tuple[int, int]:
    """What changes when an open file is written to; what takes its place does not touch it."""
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


@contextmanager
def _opened(location: str, base: str | None = None) -> Iterator[BinaryIO]:
    """Open a regular file; with `base`, the file a link leads to, if that is still inside.

    Raises:
        DocumentFailure: `unreadable`, or what stands there now.
    """
    try:
        target = os.path.realpath(location, strict=True) if base else location
        if base and not _inside(target, base):
            raise DocumentFailure("outside_corpus", "the link leads out of the batch folder")
        with _opened_regular(target) as file:
            yield file
    except OSError as error:
        raise _unreadable(error) from error


def _opened_regular(target: str) -> BinaryIO:
    """Open a path that is no link, and close it again unless it is a regular file."""
    descriptor = os.open(target, _FLAGS | _NO_LINK)
    failure = _irregular(os.fstat(descriptor))
    if failure is not None:
        os.close(descriptor)
        raise failure
    return os.fdopen(descriptor, "rb", buffering=0)


def _unreadable(error: OSError) -> DocumentFailure:
    told = _TOLD.get(error.errno or 0) or error.strerror
    return DocumentFailure("unreadable", told or "the file cannot be opened")
