"""Who is alive on this machine: each owner of claims holds the lock on a file of its own.

What belongs here: making, testing and clearing such files. What does not: claims.

The system gives up a lock when its process ends, however it ends, so a killed owner is seen at once, and no
other process can be taken for it, as with numbers of processes, which are used again.
"""

import fcntl
import os
import uuid
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

_HELD: "WeakSet[OwnerFile]" = WeakSet()


class OwnerFile:
    """One living owner.

    Raises:
        OSError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.name = f"{os.getpid()}-{uuid.uuid4().hex}"
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / self.name
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        _HELD.add(self)

    def close(self) -> None:
        """Die in order: the file goes first, so that nobody finds it without its lock."""
        self._path.unlink(missing_ok=True)
        self.drop()

    def drop(self) -> None:
        """Let go of the file and leave its lock to the other holder, after a fork."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def is_alive(folder: Path, name: str) -> bool:
    """Whether the owner holds its lock; the file of a dead one is cleared away."""
    path = folder / Path(name).name
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # shared, so that two who look at once do not take each other for the owner
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    with suppress(PermissionError):  # another user's; it is dead all the same
        path.unlink(missing_ok=True)
    return False


def _drop_all() -> None:
    """A forked child would keep its parent alive."""
    for owner in list(_HELD):
        owner.drop()


os.register_at_fork(after_in_child=_drop_all)
