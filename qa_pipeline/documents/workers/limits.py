"""What a parsing worker may take of time and memory, and what it may do, held to it by the system.

What belongs here: limits of the process, the end it comes to with its parent, and rights it gives up. What
does not: what is done within them (`worker`).
"""

import fcntl
import gc
import math
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_GRACE_SECONDS = 5.0
"""The parent counts the time of a file; should it not, the process ends itself so much later."""
_NEARLY = 0.9
_COLLECTIONS = (100_000, 20, 100)
"""Rarer than usual: a parser's tree is garbage all at once, and until then a large one was looked through so
often as it grew that this took more than half of the time of a table of 100,000 rows.
"""
_TOO_MUCH_HELD = 0.5
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NETWORK = frozenset({"socket.__new__", "socket.getaddrinfo", "socket.gethostbyname"})
_PROGRAMS_AND_FILES = frozenset(
    {
        "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen",
        "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink",
        "os.truncate",
    }
)  # fmt: skip


@contextmanager
def within_time(seconds: float) -> Iterator[None]:
    """While entered, end this process by a signal once a file has clearly had its time, on the clock or CPU.

    The system does it: an exception would wait until a library in C returns.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    longest = seconds + _GRACE_SECONDS
    _set_soft(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + longest) + 1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, longest)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def ending_on_close(pipe: int) -> Iterator[None]:
    """While entered, end this process when the other end of a pipe closes, as when its owner is killed.

    The system sends SIGIO when anything happens on the pipe, so nothing may ever be written to it. A pipe of
    requests would not do: the signal of a write can come after what was written has been read.
    A thread that watches would not be heard while a library in C holds the interpreter.
    """
    flags = fcntl.fcntl(pipe, fcntl.F_GETFL)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, flags | os.O_ASYNC)
    yield
    fcntl.fcntl(pipe, fcntl.F_SETFL, flags)


class MemoryLimit:
    """Memory a file may take, as address space: libraries in C cannot go past it either.

    It is counted from what the process takes when the file comes, so that libraries loaded for other files
    take nothing from it, and not at all where the system does not tell.
    """

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # what is loaded now stays; collections need not look through it again
        gc.set_threshold(*_COLLECTIONS)
        self._base = 0
        self._held_before = _bytes_of("RssAnon")
        self._allowed = 0
        self._peak_before = 0

    @contextmanager
    def of(self, allowed: int) -> Iterator[None]:
        """Set the limit; it holds while entered."""
        self._allowed = allowed
        self._base = _bytes_of("VmSize")
        self._peak_before = _bytes_of("VmPeak")
        if self._base:
            _set_soft(resource.RLIMIT_AS, self._base + allowed)
        yield
        _set_soft(resource.RLIMIT_AS, resource.RLIM_INFINITY)

    @property
    def reached(self) -> bool:
        """Whether the last file has come close to its limit."""
        return _bytes_of("VmPeak") > max(self._peak_before, self._base + _NEARLY * self._allowed)

    @property
    def outgrown(self) -> bool:
        """Whether so much is held after a file that the next one would have too little."""
        if not self._holds_much():
            return False
        gc.collect()
        return self._holds_much()

    def _holds_much(self) -> bool:
        """Libraries loaded meanwhile do not count: the next worker would have to load them too."""
        return _bytes_of("RssAnon") > self._held_before + _TOO_MUCH_HELD * self._allowed


class Rights:
    """What this process may do: compute. No output, files, dumps of memory, other programs or network.

    It stops code of Python, a second line behind parsers that do none of it.
    """

    def __init__(self) -> None:
        """Give them up, from here on."""
        nothing = Path(os.devnull)
        sys.stdin = nothing.open(encoding="utf-8")
        sys.stdout = sys.stderr = nothing.open("w", encoding="utf-8")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _set_soft(resource.RLIMIT_FSIZE, 0)
        self._may_start_programs = False
        sys.addaudithook(self._refuse)

    @contextmanager
    def of(self, *, programs: bool) -> Iterator[None]:
        """While entered, programs may be started and temporary files written, if a setting asks for it."""
        if programs:
            _set_soft(resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)
        self._may_start_programs = programs
        yield
        self._may_start_programs = False
        _set_soft(resource.RLIMIT_FSIZE, 0)

    def _refuse(self, event: str, arguments: tuple[Any, ...]) -> None:
        refused = event in _NETWORK
        if not self._may_start_programs:
            writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
            refused = refused or event in _PROGRAMS_AND_FILES or bool(writing)
        if refused:
            raise PermissionError(f"a parser may not do this: {event}")


def _set_soft(limit: int, value: int) -> None:
    """Set a limit as far as the one above it allows, which this process may not raise."""
    hard = resource.getrlimit(limit)[1]
    bounded = hard != resource.RLIM_INFINITY and not 0 <= value <= hard
    resource.setrlimit(limit, (hard if bounded else value, hard))


def _bytes_of(name: str) -> int:
    """Bytes the system counts for this process under a name of proc(5); 0 where it does not say."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return 0
    lines = status.read_text(encoding="ascii", errors="replace").splitlines()
    return int(next((line.split()[1] for line in lines if line.startswith(f"{name}:")), "0")) * 1024
