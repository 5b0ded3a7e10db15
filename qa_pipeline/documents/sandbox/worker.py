"""A process that parses hostile files one after another: `python -m qa_pipeline.documents.sandbox.worker`.

Its argument is the number of a socket to the parent (`pool`), over which it takes two frames a file, a head
in JSON and the content, and sends a head and, for a document, its columns. What it or a library writes as an
error goes to a pipe that the parent reads.
"""

import fcntl
import gc
import json
import math
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.parsing import ParseRequest, parse_file
from qa_pipeline.documents.sandbox.replies import LONGEST_DETAIL
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.records import SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import load_models

_IDLE_SECONDS = 60.0  # a step between two batches is shorter; then the memory is worth more than the start
_NEARLY = 0.9  # of the memory allowed: a file that took so much met the limit
_TOO_MUCH_HELD = 0.5  # of the memory allowed, held after a file
_COLLECTIONS = (100_000, 20, 100)
"""Rarer than usual: a parser's tree is garbage all at once, and until then a large one was looked through so
often as it grew that this took more than half of the time of a table of 100,000 rows.
"""
_ERRORS = 2  # the file descriptor of standard error
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NETWORK = frozenset({"socket.__new__", "socket.getaddrinfo", "socket.gethostbyname"})
_PROGRAMS_AND_FILES = frozenset({
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen",
    "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink",
    "os.truncate",
})  # fmt: skip
_NO_ROOM = ("failed to map segment", "Cannot allocate memory")
"""The messages of the system's loader about memory."""

Work = Callable[[Mapping[str, Any], bytes, DocumentSettings], bytes]
"""Makes of a request's head and content the body of its reply; what it raises is the failure of the file."""


def main() -> None:
    """Parse files; see `serve`."""
    serve(_columns_of, load_models)


def serve(work: Work, load: Callable[[], object]) -> None:
    """Work until the parent is gone, nothing has come for a while, or too much memory is held.

    Args:
        work: what is done with each file.
        load: loads what that needs, before the rights and the memory of this process are cut.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and decides what is to end
    connection = Connection(int(sys.argv[1]))
    os.set_blocking(_ERRORS, False)  # what the parent has no room for is lost; libraries never wait for it
    try:
        load()
    except QAPipelineError as error:
        sys.exit(str(error))
    rights, memory = Rights(), MemoryLimit()
    connection.send_bytes(b"")
    while connection.poll(_IDLE_SECONDS):
        try:
            head, content = json.loads(connection.recv_bytes()), connection.recv_bytes()
        except EOFError:
            return
        settings = _settings(head["settings"])
        with (
            ending_with_parent(),
            within_time(settings.parse_seconds),
            memory.of(settings.parse_memory),
            rights.of(programs=settings.ocr),  # Tesseract is a program
        ):
            outcome = _attempt(work, head, content, settings)
        if isinstance(outcome, DocumentFailure) and memory.reached:
            outcome = _out_of_memory(settings)  # many a library calls a file damaged when memory runs out
        if isinstance(outcome, bytes) and len(outcome) > head["longest_reply"]:
            detail = f"what was read from it takes more than {head['longest_reply']} bytes"
            outcome = DocumentFailure("too_long", detail)
        failure = outcome if isinstance(outcome, DocumentFailure) else None
        reason, detail = (failure.reason, failure.detail[:LONGEST_DETAIL]) if failure else (None, "")
        connection.send_bytes(json.dumps({"reason": reason, "detail": detail}).encode())
        if isinstance(outcome, bytes):
            connection.send_bytes(outcome)
        if memory.outgrown or reason == "out_of_memory":
            return


@contextmanager
def ending_with_parent() -> Iterator[None]:
    """End this process, while entered, when the parent is killed, whatever it is doing.

    The system sends SIGIO when the parent's end of the pipe for errors closes or is read, and the parent
    reads none while a file is parsed. The socket would not do: the signal of a write can come after what was
    written has been read. A thread that watches would wait while a library in C holds the interpreter.
    """
    flags = fcntl.fcntl(_ERRORS, fcntl.F_GETFL)
    fcntl.fcntl(_ERRORS, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(_ERRORS, fcntl.F_SETFL, flags | os.O_ASYNC)
    yield
    fcntl.fcntl(_ERRORS, fcntl.F_SETFL, flags)


@contextmanager
def within_time(seconds: float) -> Iterator[None]:
    """End this process, while entered, by a signal once a file has used its time on clock or CPU.

    The system does it: an exception would wait until a library in C returns.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set_soft(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + seconds) + 1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


class MemoryLimit:
    """Memory a file may take, as address space: libraries in C cannot go past it either.

    It is counted from what the process takes when the file comes, so that libraries loaded for other files
    take nothing from it, and not at all where the system has no /proc.
    """

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # what is loaded now stays; collections need not look through it again
        gc.set_threshold(*_COLLECTIONS)
        (self._held_before,) = _read_bytes_of("RssAnon")
        self.reached = self.outgrown = False

    @contextmanager
    def of(self, allowed: int) -> Iterator[None]:
        """Set the limit while entered.

        Then `reached` is whether the file has come close to it, and `outgrown` whether so much is held that
        the next file would have too little. Libraries loaded meanwhile do not count: the next worker would
        have to load them too.
        """
        base, peak_before = _read_bytes_of("VmSize", "VmPeak")
        if base:
            _set_soft(resource.RLIMIT_AS, base + allowed)
        yield
        _set_soft(resource.RLIMIT_AS, resource.RLIM_INFINITY)
        peak, resident = _read_bytes_of("VmPeak", "RssAnon")
        most_held = self._held_before + _TOO_MUCH_HELD * allowed
        if resident > most_held:
            gc.collect()
            (resident,) = _read_bytes_of("RssAnon")
        self.reached = peak > max(peak_before, base + _NEARLY * allowed)
        self.outgrown = resident > most_held


class Rights:
    """The rights of this process: to compute. No files, dumps of memory, other programs or network.

    It stops code of Python, a second defence behind parsers that do none of it.
    """

    def __init__(self) -> None:
        nothing = Path(os.devnull)
        sys.stderr = nothing.open("w", encoding="utf-8")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _set_soft(resource.RLIMIT_FSIZE, 0)
        self._may_start_programs = False
        sys.addaudithook(self._refuse)

    @contextmanager
    def of(self, *, programs: bool) -> Iterator[None]:
        """Let programs be started and temporary files written, while entered, if a setting asks for it."""
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
    hard = resource.getrlimit(limit)[1]
    bounded = hard != resource.RLIM_INFINITY and not 0 <= value <= hard
    resource.setrlimit(limit, (hard if bounded else value, hard))


def _read_bytes_of(*names: str) -> list[int]:
    """Return the bytes of this process under names of proc(5); 0 where the system has none."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii", errors="replace").splitlines() if status.is_file() else []
    entries = dict(line.split(":", 1) for line in lines)
    return [int(entries.get(name, "0 kB").split()[0]) * 1024 for name in names]


@lru_cache(maxsize=1)
def _settings(written: str) -> DocumentSettings:
    """Return the settings of a request, cached: they come with each and seldom change."""
    return DocumentSettings.model_validate_json(written)


def _columns_of(head: Mapping[str, Any], content: bytes, settings: DocumentSettings) -> bytes:
    """Return the columns of a file as JSON."""
    request = ParseRequest(SourceFile(head["path"], content), head["format"])
    return json.dumps(parse_file(request, settings), ensure_ascii=False).encode()


def _attempt(
    work: Work, head: Mapping[str, Any], content: bytes, settings: DocumentSettings
) -> bytes | DocumentFailure:
    """Return what becomes of a file, or the reason for nothing, whatever its parser raises."""
    try:
        return work(head, content, settings)
    except DocumentFailure as failure:
        return failure
    except BaseException as error:  # noqa: BLE001 - this process is there to hold whatever a parser throws
        return _failure_of(error, settings)


def _failure_of(error: BaseException, settings: DocumentSettings) -> DocumentFailure:
    """Return the failure that an exception means; its message is left out, as it may quote the document."""
    causes: dict[int, BaseException] = {}
    cause: BaseException | None = error
    while cause is not None and id(cause) not in causes:  # a chain may be a circle
        causes[id(cause)] = cause
        cause = cause.__cause__ or cause.__context__
    no_room = (
        isinstance(cause, ImportError) and any(words in str(cause) for words in _NO_ROOM)
        for cause in causes.values()
    )
    if any(no_room) or any(isinstance(cause, MemoryError) for cause in causes.values()):
        return _out_of_memory(settings)
    if any(isinstance(cause, RecursionError) for cause in causes.values()):
        return DocumentFailure("nested_too_deep", "the file is nested deeper than its parser can follow")
    if isinstance(error, SystemExit):
        return DocumentFailure("parser_crashed", "the parser asked its process to end")
    kind, place = type(error).__qualname__, _place(error.__traceback__)
    return DocumentFailure("parser_error", f"the parser failed with {kind} in {place}")


def _place(trace: TracebackType | None) -> str:
    """Return module and line where it was raised, and the last of this package that led there."""
    places = [f"{frame.f_globals.get('__name__', 'unknown')} line {line}" for frame, line in walk_tb(trace)]
    ours = [place for place in places if place.startswith("qa_pipeline.")]
    return places[-1] if not ours or ours[-1] == places[-1] else f"{places[-1]}, called in {ours[-1]}"


def _out_of_memory(settings: DocumentSettings) -> DocumentFailure:
    limit = f"documents.parse_memory = {settings.parse_memory} bytes"
    return DocumentFailure("out_of_memory", f"parsing took more than {limit}")


if __name__ == "__main__":
    main()
