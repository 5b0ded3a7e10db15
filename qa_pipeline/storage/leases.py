"""Locks of folders on object stores: an object for each holder, which ends with the process that renews it.

Who wants the lock writes its object first and looks for those of others after. Of two who do so at once each
sees the other or the first one only, since what is written is listed at once on these stores; so never both
hold it. Ages are differences between times that the store itself gives, whatever the clocks of machines say.
"""

import itertools
import json
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qa_pipeline.errors import StorageError
from qa_pipeline.storage.object_stores import ObjectStore, store_of

LEASE = 60.0
"""Seconds after which an object that nobody renewed counts for nothing: longer than most faults of stores,
and what the next command waits for after a kill."""
RENEWALS = 4
"""Renewals in the time of a lease: three may fail."""
ATTEMPTS = 3
"""Of who does not wait: two who ask at once both step back, and one of them is first the next time."""
_LONGEST_WAIT = 1.0
"""Seconds before asking again; a random part of it, so that two do not meet again."""
_ALONE, _SHARED = "alone", "shared"


@contextmanager
def leased(folder: Path, *, shared: bool, wait: bool) -> Iterator[None]:
    """Lock a folder on an object store, against all machines.

    Args:
        folder: what to lock.
        shared: let others in who share it too.
        wait: wait for whoever holds it instead of failing.

    Raises:
        StorageError: another command works on it, the store cannot be used, or the lease was lost meanwhile.
    """
    remote = store_of(folder / ".lock")
    if remote is None:
        raise ValueError(f"{folder} is local")
    store, place = remote
    name = f"{place}/{_SHARED if shared else _ALONE}-{uuid.uuid4().hex}"
    holder = json.dumps({"host": socket.gethostname(), "process": os.getpid()}).encode()
    _acquire(store, place, name, holder, folder, wait=wait)
    ended, lost = threading.Event(), threading.Event()
    renewal = threading.Thread(target=_renew, args=(store, name, holder, ended, lost), daemon=True)
    renewal.start()
    try:
        yield
    finally:
        ended.set()
        renewal.join()
        store.discard(name)
    if lost.is_set():
        raise StorageError(f"the lock of {folder} was lost, as its store did not answer in time; run again")


def _acquire(store: ObjectStore, place: str, name: str, holder: bytes, folder: Path, *, wait: bool) -> None:
    for attempt in itertools.count(1):
        store.pipe_file(name, holder)
        try:
            rival = _rival(store, place, name)
        except BaseException:
            store.discard(name)
            raise
        if rival is None:
            return
        store.discard(name)
        if attempt >= ATTEMPTS and not wait:
            raise StorageError(
                f"another command works on {folder} ({rival}); run this one again when it has ended. The "
                f"lock of a command that was killed ends after {LEASE:.0f} seconds"
            )
        time.sleep(random.uniform(0, _LONGEST_WAIT))  # noqa: S311 - no secret


def _rival(store: ObjectStore, place: str, name: str) -> str | None:
    """Return who holds a lock that bars this one; None without one. Dead ones are removed."""
    own_kind = name.rpartition("/")[2].partition("-")[0]
    now = store.modified(name)
    for other in sorted(entry["name"] for entry in store.listdir(place)):
        kind = other.rpartition("/")[2].partition("-")[0]
        if other == name or kind not in (_ALONE, _SHARED) or _ALONE not in (kind, own_kind):
            continue
        try:
            if (now - store.modified(other)).total_seconds() <= LEASE:
                return _words(store.cat_file(other))
            store.discard(other)
        except FileNotFoundError:  # it has just ended
            continue
    return None


def _words(holder: bytes) -> str:
    try:
        fields = json.loads(holder)
        return f"process {int(fields['process'])} on {str(fields['host'])[:100]!r}"
    except (ValueError, KeyError, TypeError):
        return "of unknown holder"


def _renew(
    store: ObjectStore, name: str, holder: bytes, ended: threading.Event, lost: threading.Event
) -> None:
    renewed = time.monotonic()
    while not ended.wait(LEASE / RENEWALS):
        with suppress(StorageError):  # the next renewal may come through
            was_there = store.exists(name)
            store.pipe_file(name, holder)
            if not was_there:
                lost.set()
            renewed = _noted(renewed, lost)
    _noted(renewed, lost)


def _noted(renewed: float, lost: threading.Event) -> float:
    """Return the time of now, and note a renewal that came too late: others may have taken the lock."""
    now = time.monotonic()
    if now - renewed > LEASE:
        lost.set()
    return now
