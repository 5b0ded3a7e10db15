"""Leases: which process asks for what, and how the leases of a dead process are found.

Beside a SQLite file all owners are of one machine, where locked files show at once who lives. On Postgres
an owner renews a lease by the clock of the server. A server that was down kept everybody from renewing, so no
lease ends before it has been up for as long as a lease lasts.
"""

import fcntl
import os
import platform
import uuid
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

import sqlalchemy as sa

from qa_pipeline.llm.store.schema import LEASES, RequestId, insert_missing, is_request, request_parameters

_LOCKS: "WeakSet[ProcessLock]" = WeakSet()


class ProcessLock:
    """A living owner.

    Raises:
        OSError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.name = f"{os.getpid()}-{uuid.uuid4().hex}"
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / self.name
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        os.fchmod(self._handle, 0o644)  # whatever the umask: other users of the store look at it
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        _LOCKS.add(self)

    def close(self) -> None:
        """Delete the file, then release the lock, so that nobody finds the file without its lock."""
        self._path.unlink(missing_ok=True)
        self.drop()

    def drop(self) -> None:
        """Release the file and leave its lock to the other holder, after a fork."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def is_alive(folder: Path, name: str) -> bool:
    """Return whether the owner holds its lock; the file of a dead one is removed."""
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
    # a forked child would keep its parent alive
    for owner in list(_LOCKS):
        owner.drop()


os.register_at_fork(after_in_child=_drop_all)


LEASE_SECONDS = 30.0
"""Others wait so long for what a dead process was asking; a shorter lease ends while a busy one lives."""
_BEATS = 3  # renewals in the time of a lease: one or two may be missed
_LONGEST_OWNER = 100  # characters of the column

_OF_OWNER = LEASES.c.owner == sa.bindparam("of_owner")
_OF_KEY = is_request(LEASES)
_HOLDER = sa.select(LEASES.c.owner).where(_OF_KEY)
_DROP = sa.delete(LEASES).where(_OF_OWNER, _OF_KEY)
_DROP_OWNER = sa.delete(LEASES).where(_OF_OWNER)
_SERVER_NOW = sa.extract("epoch", sa.func.clock_timestamp())
_SERVER_UP_SINCE = sa.extract("epoch", sa.func.pg_postmaster_start_time())
_LEASE = sa.bindparam("lease", type_=sa.Float)
_DROP_EXPIRED = sa.delete(LEASES).where(
    _OF_KEY,
    sa.not_(_OF_OWNER),
    LEASES.c.expires_at < _SERVER_NOW,
    _SERVER_UP_SINCE + _LEASE < _SERVER_NOW,
)
_RENEW = sa.update(LEASES).where(_OF_OWNER).values(expires_at=_SERVER_NOW + _LEASE)
_TAKE_FOR_A_WHILE = insert_missing(LEASES).values(expires_at=_SERVER_NOW + _LEASE)
_TAKE = insert_missing(LEASES).values(expires_at=0.0)


class Leases:
    """The leases of one process.

    Args:
        folder: of the process locks beside a SQLite file; None on Postgres, where leases end by themselves.
        seconds: how long a lease on Postgres lasts after each beat.
    """

    def __init__(self, folder: Path | None, seconds: float = LEASE_SECONDS) -> None:
        self._folder = folder
        self._lease = {"lease": seconds}
        self._lock: ProcessLock | None = None
        self.beat_seconds = seconds / _BEATS if folder is None else None
        host = platform.node()[: _LONGEST_OWNER // 2]
        self._owner = f"{host}-{os.getpid()}-{uuid.uuid4().hex}"[-_LONGEST_OWNER:]

    def close(self) -> None:
        """Let others see at once that this owner is gone, where locks show who lives."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def take(self, connection: sa.Connection, request_id: RequestId) -> bool:
        """Claim a request that no living owner has claimed; return whether it is this owner's now.

        Raises:
            OSError: the folder of the locks cannot be written.
        """
        if self._folder is not None and self._lock is None:
            self._lock = ProcessLock(self._folder)
            self._owner = self._lock.name
        lease_key = self._lease_key(request_id)
        row = {"asked_model": request_id[0], "request_key": request_id[1], "owner": self._owner}
        if self._folder is None:
            connection.execute(_DROP_EXPIRED, lease_key | self._lease)
            connection.execute(_TAKE_FOR_A_WHILE, row | self._lease)
        else:
            holder = connection.scalar(_HOLDER, lease_key)
            if holder is not None and not is_alive(self._folder, holder):
                connection.execute(_DROP_OWNER, {"of_owner": holder})
            connection.execute(_TAKE, row)
        return connection.scalar(_HOLDER, lease_key) == self._owner

    def drop(self, connection: sa.Connection, request_id: RequestId) -> None:
        """Give a claim up."""
        connection.execute(_DROP, self._lease_key(request_id))

    def renew(self, connection: sa.Connection) -> None:
        """Begin every lease anew."""
        connection.execute(_RENEW, {"of_owner": self._owner} | self._lease)

    def _lease_key(self, request_id: RequestId) -> dict[str, object]:
        return {"of_owner": self._owner, **request_parameters(request_id)}
