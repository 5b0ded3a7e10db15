"""A process that parses hostile files one after another: `python -m qa_pipeline.documents.sandbox.worker`.

What belongs here: what this process may take and do, and turning whatever a parser does into a reply. What
does not: the parent's side (`pool`) and parsing itself (`parsing`).

It reads requests from its standard input and writes replies to its standard output, as `messages` frames
them; both are moved away before a library could write there. Its argument is the number of a pipe to which
the parent writes nothing: when that closes it ends, whatever it is doing.
"""

import fcntl
import gc
import json
import math
import os
import resource
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.parsing import ParseRequest, parse_file
from qa_pipeline.documents.sandbox.protocol import READ_AT_ONCE, Message, MessageReader, framed
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.records import SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import load_models

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


_IDLE_SECONDS = 60.0
_LONGEST_DETAIL = 1000
_ANY_LENGTH = 1 << 40
"""The parent has bounded what it sends."""
_PACKAGE = "qa_pipeline."
_NO_ROOM = ("failed to map segment", "Cannot allocate memory")
"""What the loader of the system says of memory."""


def main() -> None:
    """Serve until the parent closes the pipe, or nothing has come for a while."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and says what is to end
    line = _Line.taken_over()
    try:
        load_models()
    except QAPipelineError as error:
        sys.exit(str(error))
    rights, memory = Rights(), MemoryLimit()
    line.say("ready")
    for message in line.requests():
        with ending_on_close(int(sys.argv[1])):
            reply, last = _answer(message, rights, memory)
        line.send(reply)
        if last:
            return


def _answer(message: Message, rights: Rights, memory: MemoryLimit) -> tuple[list[bytes], bool]:
    """The reply to a request, and whether this process should end with it."""
    head = json.loads(message.head)
    settings = _settings(head["settings"])
    request = ParseRequest(SourceFile(head["path"], message.body), head["format"])
    rights_lent = rights.of(programs=settings.ocr)  # Tesseract is a program
    with within_time(settings.parse_seconds), memory.of(settings.parse_memory), rights_lent:
        outcome = _attempt(request, settings, head["longest_reply"])
        if isinstance(outcome, DocumentFailure) and memory.reached:
            outcome = _out_of_memory(settings)  # many a library calls a file damaged when memory runs out
    last = memory.outgrown
    if isinstance(outcome, DocumentFailure):
        detail = outcome.detail[:_LONGEST_DETAIL]
        last = last or outcome.reason == "out_of_memory"
        return framed({"says": "failed", "reason": outcome.reason, "detail": detail, "last": last}), last
    return framed({"says": "parsed", "last": last}, outcome), last


@lru_cache(maxsize=1)
def _settings(written: str) -> DocumentSettings:
    """Settings come with every request and seldom change."""
    return DocumentSettings.model_validate_json(written)


def _attempt(request: ParseRequest, settings: DocumentSettings, longest: int) -> bytes | DocumentFailure:
    """The columns of a file as JSON, or why there are none, whatever its parser raises."""
    try:
        columns = json.dumps(parse_file(request, settings), ensure_ascii=False).encode()
    except DocumentFailure as failure:
        return failure
    except BaseException as error:  # noqa: BLE001 - this process is there to hold whatever a parser throws
        return _named(error, settings)
    if len(columns) > longest:  # every section repeats the headings above it
        return DocumentFailure(
            "too_long", f"text and headings of all sections take more than {longest} bytes"
        )
    return columns


def _named(error: BaseException, settings: DocumentSettings) -> DocumentFailure:
    """What an exception means for a file; its message is left out, since it may quote the document."""
    causes = list(_causes(error))
    if any(isinstance(cause, MemoryError) or _found_no_room(cause) for cause in causes):
        return _out_of_memory(settings)
    if any(isinstance(cause, RecursionError) for cause in causes):
        return DocumentFailure("nested_too_deep", "the file is nested deeper than its parser can follow")
    if isinstance(error, SystemExit):
        return DocumentFailure("parser_crashed", "the parser asked its process to end")
    kind, place = type(error).__qualname__, _place(error.__traceback__)
    return DocumentFailure("parser_error", f"the parser failed with {kind} in {place}")


def _found_no_room(error: BaseException) -> bool:
    """Whether a library could not be loaded because there was no memory for it."""
    return isinstance(error, ImportError) and any(words in str(error) for words in _NO_ROOM)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and those it came from; a chain may be led in a circle."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _place(trace: TracebackType | None) -> str:
    """Module and line where it was raised, and the last ones of this package on the way there."""
    places: list[str] = []
    while trace is not None:
        places.append(f"{trace.tb_frame.f_globals.get('__name__', 'unknown')} line {trace.tb_lineno}")
        trace = trace.tb_next
    ours = [place for place in places if place.startswith(_PACKAGE)]
    if not places:
        return "an unknown place"
    return places[-1] if not ours or ours[-1] == places[-1] else f"{places[-1]}, called in {ours[-1]}"


def _out_of_memory(settings: DocumentSettings) -> DocumentFailure:
    limit = f"documents.parse_memory = {settings.parse_memory} bytes"
    return DocumentFailure("out_of_memory", f"parsing took more than {limit}")


@dataclass(frozen=True, slots=True)
class _Line:
    """The two pipes to the parent."""

    incoming: int
    outgoing: int

    @classmethod
    def taken_over(cls) -> "_Line":
        """Move the pipes to numbers no library knows; what is printed goes to the pipe for errors.

        That pipe takes what the parent has room for and loses the rest; libraries never wait for it.
        """
        line = cls(os.dup(0), os.dup(1))
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        os.set_blocking(2, False)
        return line

    def requests(self) -> Iterator[Message]:
        """Requests until the parent closes the pipe, or lets this process wait for too long."""
        reader = MessageReader(_ANY_LENGTH, _ANY_LENGTH)
        waiting = select.poll()
        waiting.register(self.incoming, select.POLLIN)
        while True:
            if not waiting.poll(_IDLE_SECONDS * 1000):
                self.say("left")
                return
            data = os.read(self.incoming, READ_AT_ONCE)
            if not data:
                return
            message = reader.add(data)
            if message is not None:
                yield message

    def say(self, what: str) -> None:
        """Send a message without a file."""
        self.send(framed({"says": what}))

    def send(self, pieces: list[bytes]) -> None:
        """Write a message; when nobody reads it any more, there is nothing left to do here."""
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                try:
                    rest = rest[os.write(self.outgoing, rest) :]
                except BrokenPipeError:
                    os._exit(1)


if __name__ == "__main__":
    main()
