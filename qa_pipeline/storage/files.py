"""Write files atomically, on disk or on an object store, and lock folders on disk."""

import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from qa_pipeline.errors import StorageError
from qa_pipeline.storage.object_stores import ChangedMeanwhileError, ObjectStore, store_of

_REWRITING = threading.Lock()


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically: readers see the old file or the new file, never a part.

    The bytes are written to a draft in the same folder, synced to disk, and renamed; on an object store, in
    a single request. Raises a StorageError.
    """
    if remote := store_of(path):
        store, name = remote
        store.pipe_file(name, content)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft, file = _open_draft(path)
        with file:
            try:
                _write_synced(file, content)
                draft.replace(path)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # so that the rename survives a power failure
        finally:
            os.close(folder)
    except OSError as error:
        raise _failed(f"write {path}", error) from error


def prepare_folder(folder: Path) -> None:
    """Create a folder and check that it is writable, before hours of work depend on it.

    Raises a StorageError, also for a store without conditional writes, which protect from a second writer.
    """
    if remote := store_of(folder / f".{uuid.uuid4().hex}.tmp"):
        if _refuses_overwriting(*remote):
            return
        raise StorageError(
            f"the store of {folder} ignores the condition If-None-Match and overwrites files, so two "
            f"processes could lose each other's work; use a store that supports it, such as S3 or SeaweedFS"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _failed(f"write to {folder}", error) from error


def _refuses_overwriting(store: ObjectStore, name: str) -> bool:
    """Return True if a store refuses to write a new file over an existing file; `name` is deleted again."""
    store.put_if(name, b"", version=None)  # None: only if the file does not exist
    try:
        store.ls(name.rpartition("/")[0])  # raises an error without the right to list, which readers need
        store.put_if(name, b"again", version=None)
    except ChangedMeanwhileError:
        return True
    finally:
        store.rm_file(name)
    return False


@contextmanager
def locked(folder: Path, *, shared: bool = False, wait: bool = False) -> Iterator[None]:
    """Lock a folder on disk, and create it if it is missing. The lock ends with its process.

    Folders on object stores are not locked; there, conditional writes protect releases and decisions.
    `shared` allows other shared locks at the same time, and `wait` waits for a locked folder instead of
    failing. The file `.lock` in the folder remains. Raises a StorageError.
    """
    if store_of(folder):
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # not the folder itself, since network file systems lock folders only on a single host
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise _failed(f"open {folder}", error) from error
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        try:
            fcntl.flock(handle, mode if wait else mode | fcntl.LOCK_NB)
        except BlockingIOError as error:
            problem = f"another command works on {folder}; run this one again when it has ended"
            raise StorageError(problem) from error
        yield
    finally:
        os.close(handle)


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Replace the content of a file with `change(content)`, without losing concurrent changes.

    A missing file is empty. `change` is called again if another writer was faster. Raises a StorageError.
    """
    if remote := store_of(path):
        store, name = remote
        with _REWRITING:  # among threads; other processes are detected only on S3, whose files have versions
            while True:
                content, version = store.read_version(name)
                with suppress(ChangedMeanwhileError):  # then try again
                    store.put_if(name, change(content), version)
                    return
    with locked(path.parent, wait=True):
        write_bytes(path, change(path.read_bytes() if path.is_file() else b""))


def delete(path: Path) -> None:
    """Delete a file, or a folder with its content, if it exists; raises OSError or a StorageError."""
    if remote := store_of(path):
        store, name = remote
        if store.exists(name):
            store.rm(name, recursive=True)
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def work_folder(parent: Path) -> Iterator[Path]:
    """Yield a temporary local folder that `publish_folder` can move into `parent`."""
    if store_of(parent):
        with tempfile.TemporaryDirectory(prefix="qa_pipeline-") as temporary:
            yield Path(temporary)
        return
    folder = parent / f".{uuid.uuid4().hex}.tmp"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish_folder(folder: Path, target: Path, last_name: str) -> None:
    """Move a folder from `work_folder` to `target` atomically.

    On an object store, the file `last_name` is written last, and only if it does not exist yet. Readers
    ignore a folder without this file. Raises an OSError or StorageError.
    """
    remote = store_of(target)
    if remote is None:
        folder.rename(target)
        return
    store, name = remote
    last_file = folder / last_name
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path != last_file):
        store.put_file(str(file), f"{name}/{file.relative_to(folder).as_posix()}")
    try:
        store.put_if(f"{name}/{last_name}", last_file.read_bytes(), version=None)
    except ChangedMeanwhileError as error:
        raise StorageError(f"{target} was changed by another command in the meantime; run again") from error


@contextmanager
def local_copy(folder: Path) -> Iterator[Path]:
    """Yield a local folder, or a temporary copy of a folder on an object store; raises a StorageError."""
    remote = store_of(folder)
    if remote is None:
        yield folder
        return
    store, name = remote
    with tempfile.TemporaryDirectory(prefix="qa_pipeline-") as temporary:
        copy = Path(temporary) / folder.name
        copy.mkdir()
        store.get(f"{name}/", f"{copy}/", recursive=True)
        yield copy


Version = tuple[float, int]
"""The time of modification and the size in bytes. A write changes them."""


def version_of(path: Path) -> Version | None:
    """Return the version of a file, None if it does not exist; raises a StorageError."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed(f"read {path}", error) from error
    return status.st_mtime, status.st_size


def _open_draft(path: Path) -> tuple[Path, BinaryIO]:
    """Open and lock an empty draft `.*.tmp` in the folder of a file. Readers ignore it.

    Its name depends only on the file, so that the next writer replaces an abandoned draft. The lock ends with
    the process of a writer, and others wait for it.
    """
    # a hash, because the file name may already have the maximum length
    draft = path.parent / f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:32]}.tmp"
    while True:
        file = draft.open("ab")
        fcntl.flock(file, fcntl.LOCK_EX)
        # while waiting for the lock, another writer may have renamed or deleted the draft: open a new one
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), draft.stat()):
                file.truncate(0)
                return draft, file
        file.close()


def _write_synced(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def _failed(what: str, error: OSError) -> StorageError:
    advice = "check the folder, its rights and the free space, or point `out` elsewhere, then run again"
    return StorageError(f"cannot {what}: {error.strerror or error}; {advice}")
