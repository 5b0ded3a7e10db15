"""Local files that appear whole or not at all, and folders that one process works on."""

import errno
import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qa_pipeline.errors import StorageError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_IN_THE_WAY = {errno.EEXIST, errno.ENOTDIR}
_NO_RIGHT = {errno.EACCES, errno.EPERM, errno.EROFS}


def write_bytes(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step: readers see the old file or the new one, never a part.

    The bytes go to a hidden sibling, reach the disk, and take the name. A writer that is killed leaves
    the old file whole and at most one `.*.tmp` beside it, which no reader looks at.

    Raises:
        StorageError: the file could not be written; the old one is untouched.
    """
    # The name's own length is left out: a name at the file system's limit must still have a sibling.
    sibling = path.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_synced(sibling, content)
            sibling.replace(path)
        except BaseException:
            sibling.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise _failed(f"write {path}", error) from error


def move_file(source: Path, target: Path) -> None:
    """Move a file on the same disk in one step; one that does not exist is left out.

    Raises:
        StorageError: it could not be moved; it is where it was.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)
        for folder in (target.parent, source.parent):
            _sync_folder(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _failed(f"move {source}", error) from error


def prepare_folder(folder: Path) -> None:
    """Make a folder that can be written, before hours of work go towards it.

    Raises:
        StorageError: it cannot be made or written.
    """
    probe = folder / f".{uuid.uuid4().hex}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _failed(f"write to {folder}", error) from error


@contextmanager
def locked(
    folder: Path, *, shared: bool = False, wait: bool = False, across_hosts: bool = False
) -> Iterator[None]:
    """Lock a folder, which is made where there is none; the lock ends with the process that holds it.

    Args:
        folder: what to lock.
        shared: let others in who share it too; without, nobody.
        wait: wait for whoever holds it instead of failing.
        across_hosts: lock a file in it, which stays; network file systems lock folders on one host only.

    Raises:
        StorageError: the folder cannot be opened, or another command works on it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # the folder itself where that is enough, so that no file of ours is left in it
        place, mode = (folder / ".lock", os.O_RDWR | os.O_CREAT) if across_hosts else (folder, os.O_RDONLY)
        handle = os.open(place, mode)
    except OSError as error:
        raise _failed(f"open {folder}", error) from error
    try:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            problem = f"another command works on {folder}; run this one again when it has ended"
            raise StorageError(problem) from error
        yield
    finally:
        os.close(handle)


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the new name survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _failed(what: str, error: OSError) -> StorageError:
    advice = "check that the folder exists and can be written, then run again"
    if error.errno in _NO_ROOM:
        advice = "free some space there or point `out` to another disk, then run again"
    if error.errno in _NO_RIGHT:
        advice = "give this user the right to write there or point `out` elsewhere, then run again"
    if error.errno in _IN_THE_WAY:
        advice = "a file is where a folder must be: move it, or point `out` elsewhere"
    return StorageError(f"cannot {what}: {error.strerror or error}; {advice}")
