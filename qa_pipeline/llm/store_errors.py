"""What is wrong with a database that cannot be used, and what to do about it.

What belongs here: reading errors of SQLite, Postgres and the system. What does not: waiting (`database.py`).
"""

import errno
import sqlite3

from sqlalchemy.exc import DBAPIError, OperationalError

_RESTARTING = ("starting up", "shutting down", "recovery", "too many clients")
_KEEP = (
    "It holds replies that were paid for: restore it from a copy, or move it away, with its -wal and -shm "
    "files, to start an empty one"
)
_SQLITE_ADVICE = {
    "SQLITE_BUSY": "Another process holds it: end that process, or wait for it, then run again",
    "SQLITE_LOCKED": "Another process holds it: end that process, or wait for it, then run again",
    "SQLITE_FULL": "Free some space there, then run again; nothing that was stored is lost",
    "SQLITE_READONLY": "Give this user the right to write the file and its folder",
    "SQLITE_CANTOPEN": "Check that its folder can be written by this user",
    "SQLITE_CORRUPT": f"It is damaged. {_KEEP}",
    "SQLITE_NOTADB": f"It is damaged, or no store. {_KEEP}",
    "SQLITE_IOERR": "Free space if the disk is full, and check the disk; nothing that was stored is lost",
}
_SYSTEM_ADVICE = {
    errno.EACCES: "Give this user the right to write there",
    errno.EPERM: "Give this user the right to write there",
    errno.EROFS: "It lies on a disk that can only be read: set `out` to another",
    errno.ENOSPC: _SQLITE_ADVICE["SQLITE_FULL"],
    errno.EEXIST: "A file stands where its folder must be: move that file, or set `out` to another folder",
    errno.ENOTDIR: "A file stands where its folder must be: move that file, or set `out` to another folder",
}


def told(place: str, error: Exception, *, postgres: bool) -> str:
    """One message with cause and remedy; no password and no statement is in it."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = " ".join(str(cause).split()) if cause is not error or not isinstance(error, DBAPIError) else "lost"
    return f"the reply store {place} cannot be used: {said.rstrip('.?')}. {_advice(cause, postgres=postgres)}"


def may_return(error: Exception, *, opened: bool) -> bool:
    """Whether a server was shut down, restarted or cut off, rather than asked for something wrong.

    A server that was never reached is more likely misspelt than gone, unless it says that it is starting.
    """
    if not isinstance(error, DBAPIError) or not _of_postgres(error.orig):
        return False
    said = str(error.orig)
    if any(word in said for word in _RESTARTING):
        return True
    if not opened or ("FATAL" in said and not error.connection_invalidated):
        return False
    return error.connection_invalidated or isinstance(error, OperationalError)


def _of_postgres(cause: BaseException | None) -> bool:
    return type(cause).__module__.startswith("psycopg")


def _advice(cause: BaseException, *, postgres: bool) -> str:
    if postgres:
        return (
            "Check llm.store.url, PGPASSWORD or .pgpass, and that the server runs; then run again: what was "
            "stored is kept"
        )
    if isinstance(cause, OSError):
        return _SYSTEM_ADVICE.get(cause.errno or 0, "Check that its folder can be written by this user")
    if isinstance(cause, sqlite3.Error):
        # extended codes begin with the name of the plain one, as SQLITE_IOERR_WRITE does
        name = getattr(cause, "sqlite_errorname", "")
        return next((text for code, text in _SQLITE_ADVICE.items() if name.startswith(code)), _KEEP)
    return _KEEP
