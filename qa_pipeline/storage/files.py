"""Files that appear whole or not at all, on disk or on an object store, and locks of folders on disk."""

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from qa_pipeline.errors import StorageError
from qa_pipeline.storage.object_stores import ChangedMeanwhileError, store_of

_REWRITING = threading.Lock()
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_IN_THE_WAY = {errno.EEXIST, errno.ENOTDIR}
_NO_RIGHT = {errno.EACCES, errno.EPERM, errno.EROFS}


def write_bytes(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step: readers see the old file or the new one, never a part.

    The bytes go to a draft beside it, reach the disk, and take the name. A writer that is killed leaves the
    old file whole, and a draft that the next writer of the file replaces. On an object store one request
    puts them in place.

    Raises:
        StorageError: the file could not be written; the old one is untouched.
    """
    if remote := store_of(path):
        store, name = remote
        store.pipe_file(name, content)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft, file = _opened_draft(path)
        with file:
            try:
                _write_synced(file, content)
                draft.replace(path)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        _sync_folder(path.parent)
    except OSError as error:
        raise _failed(f"write {path}", error) from error


def prepare_folder(folder: Path) -> None:
    """Make a folder that can be written, before hours of work go towards it.

    Raises:
        StorageError: it cannot be made or written; on a store also, it cannot be listed, or the store
            ignores the conditions that keep two writers apart.
    """
    if remote := store_of(folder / f".{uuid.uuid4().hex}.tmp"):
        store, name = remote
        store.put_if(name, b"", None)
        try:
            store.ls(name.rpartition("/")[0])
            store.put_if(name, b"again", None)
        except ChangedMeanwhileError:
            return
        finally:
            store.rm(name)
        raise StorageError(
            f"the store of {folder} writes over a file that a condition (If-None-Match) protects, so two "
            f"processes could lose each other's work; use a store that keeps it, such as S3 or SeaweedFS"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _failed(f"write to {folder}", error) from error


@contextmanager
def locked(
    folder: Path, *, shared: bool = False, wait: bool = False, across_hosts: bool = False
) -> Iterator[None]:
    """Lock a folder on disk, which is made where there is none; the lock ends with its process.

    Folders on object stores have no locks: conditional writes keep releases and decisions whole there.

    Args:
        folder: what to lock.
        shared: let others in who share it too; without, nobody.
        wait: wait for whoever holds it instead of failing.
        across_hosts: lock a file in it, which stays; network file systems lock folders on one host only.

    Raises:
        StorageError: the folder cannot be opened, or another command works on it.
    """
    if store_of(folder):
        yield
        return
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


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Put what `change` makes of a file's bytes in its place, so that of two who do so none is lost.

    Args:
        path: the file; its bytes are empty where there is none.
        change: called again with newer bytes where somebody else was faster.

    Raises:
        StorageError: it cannot be written; the old one is untouched.
    """
    if remote := store_of(path):
        store, name = remote
        with _REWRITING:  # only S3 has conditions on versions, which keep processes apart too
            while True:
                content, version = store.read_version(name)
                with suppress(ChangedMeanwhileError):
                    store.put_if(name, change(content), version)
                    return
    with locked(path.parent, wait=True):
        write_bytes(path, change(path.read_bytes() if path.is_file() else b""))


def delete(path: Path) -> None:
    """Delete a file, or a folder with all that is in it; nothing where it is not there.

    Raises:
        OSError: it cannot be deleted.
        StorageError: likewise, on an object store.
    """
    if remote := store_of(path):
        store, name = remote
        if store.exists(name):
            store.rm(name, recursive=True)
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def work_folder(beside: Path) -> Iterator[Path]:
    """Yield a new local folder, which `publish_folder` can move into the folder `beside`; it is deleted."""
    if store_of(beside):
        with tempfile.TemporaryDirectory(prefix="qa_pipeline-") as temporary:
            yield Path(temporary)
        return
    folder = beside / f".{uuid.uuid4().hex}.tmp"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish_folder(folder: Path, target: Path, last: str) -> None:
    """Give a folder of `work_folder` its place in one step.

    On an object store the file named `last` goes last, and only where no other is: a folder without it is
    none that readers take.

    Raises:
        OSError: it cannot be moved.
        StorageError: it cannot be written, or another folder has its place.
    """
    remote = store_of(target)
    if remote is None:
        folder.rename(target)
        return
    store, name = remote
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / last):
        store.put_file(str(file), f"{name}/{file.relative_to(folder).as_posix()}")
    try:
        store.put_if(f"{name}/{last}", (folder / last).read_bytes(), None)
    except ChangedMeanwhileError as error:
        raise StorageError(f"{target} was written by another command meanwhile; run again") from error


@contextmanager
def local_copy(folder: Path) -> Iterator[Path]:
    """Yield the folder itself where it is local, else a copy that is deleted: for readers of local files.

    Raises:
        StorageError: it cannot be read.
    """
    remote = store_of(folder)
    if remote is None:
        yield folder
        return
    store, name = remote
    with tempfile.TemporaryDirectory(prefix="qa_pipeline-") as temporary:
        copy = Path(temporary) / folder.name
        copy.mkdir()
        for path in store.find(name):
            file = copy / path.removeprefix(name).lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            store.get_file(path, str(file))
        yield copy


Version = tuple[int | str, int]
"""The time of writing in ns, or a hash of the store, and the size in bytes: a write changes them."""


def version_of(path: Path) -> Version | None:
    """Return the version of a file; None where it is not there.

    Raises:
        StorageError: it cannot be looked at.
    """
    try:
        if remote := store_of(path):
            store, name = remote
            return _stamp(store.info(name))
        status = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed(f"read {path}", error) from error
    return status.st_mtime_ns, status.st_size


def versions_in(folder: Path, suffix: str) -> dict[str, Version]:
    """Return the version of each file of a folder, by its name without the suffix, from one listing."""
    if remote := store_of(folder):
        store, name = remote
        entries = store.find(name, detail=True)
        versions = {path.rpartition("/")[2]: _stamp(entry) for path, entry in entries.items()}
    elif folder.is_dir():
        with os.scandir(folder) as scanned:
            files = [(entry.name, entry.stat()) for entry in scanned if entry.name.endswith(suffix)]
        versions = {name: (status.st_mtime_ns, status.st_size) for name, status in files}
    else:
        return {}
    is_ours = {name for name in versions if name.endswith(suffix) and not name.startswith(".")}
    return {name.removesuffix(suffix): versions[name] for name in is_ours}


def _stamp(info: Mapping[str, Any]) -> Version:
    names = ("ETag", "etag", "md5Hash", "created")  # the closest to the content first
    return str(next((info[name] for name in names if info.get(name)), "")), int(info.get("size") or 0)


def _opened_draft(path: Path) -> tuple[Path, BinaryIO]:
    """Open an empty file `.*.tmp` beside a file, which no reader takes.

    It has the same name for each file, so that the next writer replaces what a killed one left. A lock,
    which ends with its process, tells that from the draft of a writer that is at work.
    """
    # a hash, since a name at the file system's limit must still have a draft
    draft = path.parent / f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:32]}.tmp"
    with suppress(OSError), draft.open("rb+") as abandoned:
        if _is_ours(abandoned, draft):
            draft.unlink()  # not written over: its rights are those of another day
    with suppress(OSError), ExitStack() as stack:
        file = stack.enter_context(draft.open("xb"))
        if _is_ours(file, draft):
            stack.pop_all()
            return draft, file
    # somebody else writes it, or nothing can be locked: a draft that nobody shares
    draft = path.parent / f".{uuid.uuid4().hex}.tmp"
    return draft, draft.open("xb")


def _is_ours(file: BinaryIO, draft: Path) -> bool:
    """Lock an open draft; return whether it still has its name, so that nobody published or deleted it."""
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return os.path.samestat(os.fstat(file.fileno()), draft.stat())


def _write_synced(file: BinaryIO, content: bytes) -> None:
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
