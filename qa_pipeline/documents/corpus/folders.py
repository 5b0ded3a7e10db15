"""Local folders: a corpus whose entries are batches, and the files of a batch folder.

Folders are never entered through links, files only where the link leads inside the batch. Whatever takes
the place of a file when it is opened, nothing but a regular file is read: a pipe or a device could block.
fsspec's local file system is not used here: it follows links, opens pipes and reads `~` as a home folder.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from glob import escape
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from qa_pipeline.documents.corpus.files import DocumentFailure, FoundFile, stored_path
from qa_pipeline.documents.corpus.places import (
    LINKED,
    ZIP_SUFFIX,
    BatchFiles,
    Corpus,
    Entry,
    archive_batch,
    is_archive,
)
from qa_pipeline.errors import CorpusError

_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
)
_DENIED = "permission denied; let the user who runs this read it"
_MESSAGES = {
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.ELOOP: "the link leads back to itself, or a link took the place of the file",
    errno.ENOENT: "the link leads to nothing, or the file is gone since it was listed",
}


class FolderCorpus(Corpus):
    """A local folder that holds batches."""

    def listing_fingerprints(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return a hash of what the listing of each batch shows."""
        return {name: _listing_fingerprint(self._place(name)) for name in names}

    def address(self, name: str) -> str:
        """Return the address of a batch."""
        return str(self._place(name))

    def _entries(self) -> list[Entry]:
        folder = Path(self.location)
        if not folder.is_dir():
            raise CorpusError(
                f"corpus folder {folder} does not exist or is not a folder; name a folder of batches"
            )
        base = os.path.realpath(folder)
        try:
            with os.scandir(folder) as entries:
                return [_check_entry(entry, base) for entry in entries]
        except OSError as error:
            problem = f"corpus folder {folder} cannot be read: {error.strerror}"
            raise CorpusError(f"{problem}; let the user who runs this read it") from error

    def _batch(self, name: str) -> BatchFiles:
        place = self._place(name)
        if not (place.is_dir() or (place.is_file() and is_archive(place.name))):
            raise _missing_batch(place)
        if not place.resolve().is_relative_to(Path(self.location).resolve()):
            raise CorpusError(f"{place.name} {LINKED}")
        if place.is_dir():
            return open_folder(place)
        return archive_batch(place.name, partial(_open_file, str(place.resolve())))

    def _place(self, name: str) -> Path:
        """Return the folder of a batch, or its archive, whatever the case of its suffix."""
        folder = Path(self.location) / name
        if folder.is_dir():
            return folder
        plain = folder.with_name(name + ZIP_SUFFIX)
        others = sorted(folder.parent.glob(f"{escape(name)}.[zZ][iI][pP]")) if not plain.is_file() else []
        return next((path for path in (plain, *others) if path.is_file()), folder)


def open_folder(folder: Path) -> BatchFiles:
    """Return the files below a local folder.

    What cannot be opened or leads out of the folder is listed with its failure.
    """
    return BatchFiles(folder.name, partial(_files_below, str(folder)))


def _missing_batch(folder: Path | str) -> CorpusError:
    advice = "name a folder or ZIP archive of the corpus"
    return CorpusError(f"batch folder {folder} does not exist or is not a folder; {advice}")


def _check_entry(entry: os.DirEntry[str], base: str) -> Entry:
    problem = None
    if entry.is_symlink() and not _is_inside(os.path.realpath(entry.path), base):
        problem = LINKED
    elif is_archive(entry.name) and not (entry.is_dir() or entry.is_file()):
        problem = "is not a regular file"
    return Entry(os.fsencode(entry.name), entry.is_dir(), problem)


def _listing_fingerprint(place: Path) -> str | None:
    """Hash of names, sizes and times: what can be known of a batch without reading it."""
    fingerprint = sha256()
    base = str(place)
    try:
        for location in _list_locations(base) if place.is_dir() else [base]:
            parts: tuple[object, ...] = (location[len(base) :] or place.name,)
            with suppress(PermissionError):  # its folder may be listed and not entered
                state = os.lstat(location)
                parts += (state.st_size, state.st_mtime_ns, state.st_ctime_ns)
            fingerprint.update(repr(parts).encode(errors="surrogateescape"))
    except OSError:
        return None
    return fingerprint.hexdigest()


def _list_locations(folder: str) -> list[str]:
    """Return every visible entry below a folder; one that may not be entered counts for its content."""
    locations: list[str] = []
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except PermissionError:
            continue
        locations += [entry.path for entry in visible]
        pending += [entry.path for entry in visible if entry.is_dir(follow_symlinks=False)]
    return sorted(locations)


def _files_below(folder: str) -> Iterator[FoundFile]:
    if not Path(folder).is_dir():
        raise _missing_batch(folder)
    base = os.path.realpath(folder)
    pending = [folder]
    while pending:
        inside = pending.pop()
        try:
            with os.scandir(inside) as entries:
                # the folder lists what an entry is; reading the entry itself may be forbidden
                kinds = [
                    (entry.path, entry.is_dir(follow_symlinks=False), entry.is_symlink())
                    for entry in entries
                    if not entry.name.startswith(".")
                ]
        except OSError as error:
            detail = f"the folder cannot be listed, so no file in it is read: {_unreadable(error).detail}"
            yield _locate(folder, inside, None, 0, DocumentFailure("unreadable", detail))
            continue
        for location, is_folder, is_link in kinds:
            if is_folder:
                pending.append(location)
            else:
                yield _look_at(folder, location, base if is_link else None)


def _look_at(folder: str, location: str, base: str | None) -> FoundFile:
    """Check an entry without opening it; `base` is the real batch folder where the entry is a link."""
    failure = None
    size = 0
    try:
        target = os.path.realpath(location, strict=True) if base else location
        status = os.lstat(target)
        size = status.st_size
        if base and not _is_inside(target, base):
            failure = DocumentFailure("outside_corpus", "the link leads out of the batch folder")
        elif base and stat.S_ISDIR(status.st_mode):
            failure = DocumentFailure("linked_folder", "folders are not read through links")
        else:
            failure = _check_regular(status)
    except OSError as error:  # a link that leads to itself among them
        failure = _unreadable(error)
    return _locate(folder, location, base, size, failure)


def _check_regular(status: os.stat_result) -> DocumentFailure | None:
    if stat.S_ISREG(status.st_mode):
        return None
    if stat.S_ISDIR(status.st_mode):
        return DocumentFailure("not_a_file", "a folder is in its place")
    return DocumentFailure("not_a_file", "a pipe, socket or device is not read")


def _is_inside(target: str, base: str) -> bool:
    return target == base or target.startswith(base.rstrip(os.sep) + os.sep)


def _locate(
    folder: str, location: str, base: str | None, size: int, failure: DocumentFailure | None
) -> FoundFile:
    relative = location[len(folder) :].lstrip(os.sep) or "."
    raw = os.fsencode(relative).replace(os.sep.encode(), b"/")
    opener = partial(_open_unchanged, location, base)
    return FoundFile(stored_path(raw), raw, 0 if failure else size, opener, failure)


@contextmanager
def _open_unchanged(location: str, base: str | None = None) -> Iterator[BinaryIO]:
    """Open a regular file to read it as it is: half of an old and half of a new content is no document."""
    with _open_file(location, base) as file:
        before = os.fstat(file.fileno())
        yield file
        after = os.fstat(file.fileno())
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            detail = "the file was written to while it was read; run again when it is complete"
            raise DocumentFailure("unreadable", detail)


@contextmanager
def _open_file(location: str, base: str | None = None) -> Iterator[BinaryIO]:
    """Open a regular file; with `base`, the file a link leads to, if that is still inside."""
    try:
        target = os.path.realpath(location, strict=True) if base else location
        if base and not _is_inside(target, base):
            raise DocumentFailure("outside_corpus", "the link leads out of the batch folder")
        descriptor = os.open(target, _FLAGS)
        if failure := _check_regular(os.fstat(descriptor)):
            os.close(descriptor)
            raise failure
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            yield file
    except OSError as error:
        raise _unreadable(error) from error


def _unreadable(error: OSError) -> DocumentFailure:
    message = _MESSAGES.get(error.errno or 0) or error.strerror
    return DocumentFailure("unreadable", message or "the file cannot be opened")
