"""Leases: which process asks for what, and how the leases of a dead process are found.

Beside a SQLite file all owners are of one machine, where locked files show at once who lives. On Postgres
an owner renews a lease by the clock of the server. A server that was down kept everybody from renewing, so no
lease ends before it has been up for as long as a lease lasts.
"""

import fcntl
import os
import platform
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

import sqlalchemy as sa

from qa_pipeline.llm.store.schema import LEASES, insert_missing

_HELD: "WeakSet[ProcessLock]" = WeakSet()


class ProcessLock:
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
    # a forked child would keep its parent alive
    for owner in list(_HELD):
        owner.drop()


os.register_at_fork(after_in_child=_drop_all)


LEASE_SECONDS = 30.0
_BEATS = 3
_LONGEST_OWNER = 100

KeysByModel = Mapping[str, Sequence[str]]
"""Request keys of each asked model, no more of them than a statement takes."""

_OF_OWNER = LEASES.c.owner == sa.bindparam("of_owner")
_OF_KEYS = sa.and_(
    LEASES.c.asked_model == sa.bindparam("of_model"),
    LEASES.c.request_key.in_(sa.bindparam("of_keys", expanding=True)),
)
_MINE = sa.select(LEASES.c.request_key).where(_OF_OWNER, _OF_KEYS)
_OTHERS = sa.select(LEASES.c.owner).distinct().where(sa.not_(_OF_OWNER))
_DROP = sa.delete(LEASES).where(_OF_OWNER, _OF_KEYS)
_DROP_OWNERS = sa.delete(LEASES).where(LEASES.c.owner.in_(sa.bindparam("owners", expanding=True)))
_SERVER_NOW = sa.extract("epoch", sa.func.clock_timestamp())
_SERVER_UP_SINCE = sa.extract("epoch", sa.func.pg_postmaster_start_time())
_LEASE = sa.bindparam("lease", type_=sa.Float)
_DROP_EXPIRED = sa.delete(LEASES).where(
    sa.not_(_OF_OWNER), LEASES.c.expires_at < _SERVER_NOW, _SERVER_UP_SINCE + _LEASE < _SERVER_NOW
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
        self._seconds = seconds
        self._lock: ProcessLock | None = None
        self.beat_seconds = seconds / _BEATS if folder is None else None
        host = platform.node()[: _LONGEST_OWNER // 2]
        self._owner = f"{host}-{os.getpid()}-{uuid.uuid4().hex}"[-_LONGEST_OWNER:]

    def open(self) -> None:
        """Lock a file of its own, where locks show who lives.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._folder is not None and self._lock is None:
            self._lock = ProcessLock(self._folder)
            self._owner = self._lock.name

    def close(self) -> None:
        """Unlock and remove it."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def take(self, connection: sa.Connection, wanted: KeysByModel) -> list[tuple[str, str]]:
        """Claim what nobody living has claimed; what is this owner's now."""
        # in one order for everybody: two transactions that wait for each other's rows would never end
        ids = [(model, key) for model in sorted(wanted) for key in sorted(wanted[model])]
        rows: list[dict[str, str | float]] = [
            {"asked_model": model, "request_key": key, "owner": self._owner} for model, key in ids
        ]
        insert = _TAKE
        if self._folder is None:
            lease = {"lease": self._seconds}
            connection.execute(_DROP_EXPIRED, {"of_owner": self._owner, **lease})
            insert, rows = _TAKE_FOR_A_WHILE, [{**row, **lease} for row in rows]
        else:
            others = connection.execute(_OTHERS, {"of_owner": self._owner}).scalars()
            dead = [other for other in others if not is_alive(self._folder, other)]
            if dead:
                connection.execute(_DROP_OWNERS, {"owners": dead})
        preserve = {"preserve_rowcount": True}
        if connection.execute(insert, rows, execution_options=preserve).rowcount == len(rows):
            return ids
        return [
            (model, key)
            for model, keys in wanted.items()
            for key in connection.scalars(_MINE, self._named(model, keys))
        ]

    def drop(self, connection: sa.Connection, keys: KeysByModel) -> None:
        """Give claims up."""
        for model, of_model in keys.items():
            connection.execute(_DROP, self._named(model, of_model))

    def renew(self, connection: sa.Connection) -> None:
        """Begin every lease anew."""
        connection.execute(_RENEW, {"of_owner": self._owner, "lease": self._seconds})

    def _named(self, model: str, keys: Sequence[str]) -> dict[str, object]:
        return {"of_owner": self._owner, "of_model": model, "of_keys": keys}
