"""Parsing files in worker processes that a hostile file may hang, fill or crash.

Whatever becomes of a worker is the outcome of its file like any other. Where a worker had read other files
before, those may have been to blame: the file gets a second try in a new worker.

A worker is an interpreter in a bare environment: `multiprocessing` would pass the environment with all keys
on to it, and run the caller's main module in it.
"""

import json
import math
import os
import resource
import signal
import site
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from threading import Condition, Lock
from time import monotonic
from typing import TypeVar

from pydantic import SecretStr

import qa_pipeline
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.parsing import ContentRow, ParseOutcome, ParseRequest
from qa_pipeline.documents.sandbox.replies import (
    read_columns,
    read_head,
    timed_out,
    unusable_reply,
    why_it_died,
    why_not_started,
)
from qa_pipeline.errors import SandboxError
from qa_pipeline.settings.documents import DocumentSettings

ReplyT = TypeVar("ReplyT")
# -P keeps the working folder, which may be the corpus, off the import path
COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "qa_pipeline.documents.sandbox.worker")
PAGE_COMMAND = (*COMMAND[:-1], "qa_pipeline.documents.sandbox.page_worker")

_MOST_WORKERS = 8  # by default: each takes the memory of an interpreter and of the parsers' libraries
_START_SECONDS = 120.0  # a worker loads models of languages, on a slow disk or a busy machine
GRACE_SECONDS = 5.0
"""A worker keeps the time of its file itself; one that does not is killed so much later."""
_PATIENCE_SECONDS = 0.2
"""The time the last worker must have been ready before the next starts: few small files need only one."""
_RETRY_SECONDS = 30.0  # until memory may be free again that a worker could not start without
_WATCH_SECONDS = 0.25  # between two looks: a worker that grows fast is seen before it dies
PERHAPS_ANOTHERS = frozenset({"parser_crashed", "out_of_memory"})
"""The failures that other files may cause, by what they left behind in the worker."""
_LONGEST_HEAD = 1 << 16  # bytes of a reply's head: a worker is not trusted to be short
_MOST_MESSAGES = 1 << 16  # bytes of what a worker wrote as errors
_MOST_WAITING = 1000  # outcomes behind a slow file
_MOST_BYTES_WAITING = 100_000_000  # of them: memory of this process, which has all the rest of the run
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
_PASSED_ON = {
    "PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH",
    "TESSDATA_PREFIX",
}  # fmt: skip
_ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
"""One thread and one heap: workers share the cores, and every thread's stack and heap counts as memory."""


class ParsingPool:
    """Workers that start when they are first needed, are kept between calls and end with `close`.

    A worker without work ends by itself after a while. Calls may come from several threads.
    """

    def __init__(self, environ: Mapping[str, str], command: Sequence[str] = COMMAND) -> None:
        self.environ = environ
        self.command = command
        self.idle: list[Worker] = []
        self.changed = Condition()
        """Guards what changes, and is notified of it."""
        self._owner = os.getpid()

    def parse(self, requests: Iterable[ParseRequest], settings: DocumentSettings) -> Iterator[ParseOutcome]:
        """Parse files in up to `parse_workers` processes; outcomes come in the order of the requests.

        Raises:
            SandboxError: no worker can be started.
        """
        if self._owner != os.getpid():  # a forked copy: the workers are its parent's
            self.idle, self.changed, self._owner = [], Condition(), os.getpid()
        call = _Call(self, settings)
        with ThreadPoolExecutor(call.most_workers) as threads:
            try:
                yield from call.outcomes(requests, threads)
            finally:
                call.end()

    def new_worker(self) -> "Worker":
        """Start a worker.

        Raises:
            SandboxError: it cannot be started.
        """
        return Worker(self.command, self.environ)

    def close(self) -> None:
        """End the workers that have nothing to do."""
        while self.idle and self._owner == os.getpid():
            self.idle.pop().end()


class _Call:
    """A call with as many threads as there may be workers, each of which attends to one at a time."""

    def __init__(self, pool: ParsingPool, settings: DocumentSettings) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.most_workers = settings.parse_workers or min(cores, _MOST_WORKERS)
        self._pool = pool
        self._settings = settings
        self._busy: set[Worker] = set()
        self._next_start = -math.inf
        self._bytes_waiting = 0
        self._ended = False
        self._changed = pool.changed

    def outcomes(
        self, requests: Iterable[ParseRequest], threads: ThreadPoolExecutor
    ) -> Iterator[ParseOutcome]:
        """Yield the outcomes in order; a request is taken when a worker may soon be free for it.

        A slow file lets the outcomes of those after it wait, up to a number and size of them.
        """
        coming, watched = iter(requests), -math.inf
        waiting: deque[Future[tuple[ParseOutcome, int]]] = deque()
        unfinished: set[Future[tuple[ParseOutcome, int]]] = set()
        while True:
            unfinished = {future for future in unfinished if not future.done()}
            while (
                len(unfinished) <= self.most_workers
                and len(waiting) < _MOST_WAITING
                and self._bytes_waiting < _MOST_BYTES_WAITING
                and (request := next(coming, None)) is not None
            ):
                waiting.append(threads.submit(self._outcome, request))
                unfinished.add(waiting[-1])
            if not waiting:
                return
            if waiting[0].done():
                outcome, size = waiting.popleft().result()
                with self._changed:
                    self._bytes_waiting -= size
                yield outcome
            else:
                wait(unfinished, _WATCH_SECONDS, FIRST_COMPLETED)
                if monotonic() > watched + _WATCH_SECONDS:
                    watched = monotonic()
                    for worker in list(self._busy):
                        worker.watch()

    def end(self) -> None:
        """Kill workers that are still parsing, their files with them."""
        with self._changed:
            self._ended = True
            for worker in self._busy:
                worker.kill()
            self._changed.notify_all()

    def _outcome(self, request: ParseRequest) -> tuple[ParseOutcome, int]:
        worker = self._take()
        outcome, size = worker.parse(request, self._settings)
        if isinstance(outcome, DocumentFailure) and outcome.reason in PERHAPS_ANOTHERS and worker.files > 1:
            worker.end()
            self._put(worker)
            worker = self._take(unused=True)
            outcome, size = worker.parse(request, self._settings)
        self._put(worker, size)
        return outcome, size

    def _take(self, *, unused: bool = False) -> "Worker":
        """Return an idle worker, or a new one; `unused` asks for a new one where possible."""
        while True:
            with self._changed:
                if self._ended:
                    raise CancelledError
                while self._pool.idle and not unused:
                    worker = self._pool.idle.pop()
                    if worker.awaits_file:
                        self._busy.add(worker)
                        return worker
                    worker.end()
                patience = self._next_start - monotonic()
                if patience > 0:
                    self._changed.wait(min(patience, _START_SECONDS))
                    continue
                self._next_start = math.inf  # one at a time
            started, patience = None, _PATIENCE_SECONDS
            try:
                started = self._pool.new_worker()
            except SandboxError:
                if not (self._busy or self._pool.idle):
                    raise
                unused, patience = False, _RETRY_SECONDS
            with self._changed:
                self._next_start = monotonic() + patience
                self._changed.notify_all()
                if started is not None:
                    self._busy.add(started)
                    if self._ended:
                        started.kill()
                    return started

    def _put(self, worker: "Worker", size: int = 0) -> None:
        with self._changed:
            self._bytes_waiting += size
            self._busy.discard(worker)
            if not worker.ended:
                self._pool.idle.append(worker)
            self._changed.notify_all()


class Worker:
    """A worker process, which parses one file after another.

    `files` counts what it was given: only in a worker given nothing before is a crash surely the file's own.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self.files = 0
        self.peak = self._peak_when_ready = 0
        self._late = False
        self._deadline = math.inf
        self.ended: tuple[int, int, bytes] | None = None
        """The result of `end`, once it was called."""
        self._lock = Lock()
        try:
            self._connection, theirs = Pipe()
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [*command, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env=bare_environment(environ),
                    bufsize=0,
                    process_group=0,
                    pass_fds=(theirs.fileno(),),
                )
        except OSError as error:
            raise _not_started(f"the system refuses it ({error.strerror})") from error
        # not before: what this process takes at the fork is counted as the worker's, see getrusage(2)
        self._inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert self._process.stderr  # noqa: S101
        self._errors = self._process.stderr
        os.set_blocking(self._errors.fileno(), False)
        if not self._connection.poll(_START_SECONDS):
            self.end()
            raise _not_started(f"it was not ready after {_START_SECONDS:g} seconds")
        try:
            self._connection.recv_bytes(0)
        except (EOFError, OSError) as error:
            status, _, messages = self.end()
            raise _not_started(why_not_started(status, messages)) from error
        self.watch()
        self._peak_when_ready = self.peak

    @property
    def awaits_file(self) -> bool:
        """Return whether the worker is alive and has sent nothing without a request."""
        return not self._connection.poll()

    def parse(self, request: ParseRequest, settings: DocumentSettings) -> tuple[ParseOutcome, int]:
        """Return the outcome of a file, and the size of the reply in bytes; a fault ends the worker."""
        head = {"path": request.source.path, "format": request.format}
        longest = 8 * settings.max_characters + (1 << 20)  # a document within the limits and its sections

        def read(body: bytes) -> tuple[ContentRow, int]:
            return read_columns(body), len(body)

        outcome = self.ask(head, request.source.content, settings, longest, read)
        return (outcome, 0) if isinstance(outcome, DocumentFailure) else outcome

    def ask(
        self,
        head: Mapping[str, object],
        content: bytes,
        settings: DocumentSettings,
        longest: int,
        read: Callable[[bytes], ReplyT],
    ) -> ReplyT | DocumentFailure:
        """Return what the worker makes of a file, or why it makes nothing; a fault ends the worker.

        Args:
            head: what is asked, as its module takes it.
            content: the file.
            settings: the limits.
            longest: bytes of the reply.
            read: reads the reply, and raises ValueError where it cannot be one.
        """
        self.files += 1
        self._errors.read(_MOST_MESSAGES)  # what was written before this file
        shared = {
            "settings": json.dumps(settings.model_dump(), default=_reveal),
            "longest_reply": longest,
        }
        self._deadline = monotonic() + settings.parse_seconds + GRACE_SECONDS
        try:
            self._connection.send_bytes(json.dumps({**head, **shared}).encode())
            self._connection.send_bytes(content)
            failure = read_head(self._connection.recv_bytes(_LONGEST_HEAD))
            return failure or read(self._connection.recv_bytes(longest))
        except (EOFError, OSError, ValueError) as error:
            status, grown, messages = self.end()
            if self._late:
                return timed_out(settings)
            if isinstance(error, EOFError | ConnectionError):
                return why_it_died(status, grown, messages, settings)
            return unusable_reply(error)
        finally:
            self._deadline = math.inf

    def watch(self) -> None:
        """Kill it if it is late, and note the most memory it has had so far: a dead one's cannot be read."""
        if monotonic() > self._deadline:
            self._late = True
            self.kill()
        with suppress(OSError):  # it has just ended, or the system has no proc(5)
            lines = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii").splitlines()
            peak = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)
            self.peak = max(self.peak, peak * 1024)

    def kill(self) -> None:
        """Kill it and what it started; any thread may."""
        with self._lock:
            if self._process.returncode is None:  # it was not waited for, so its number is still its own
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> tuple[int, int, bytes]:
        """Kill it, if it has not ended; it holds nothing that could be lost.

        Returns:
            Exit status (a signal is negative); the most memory it was seen to take beyond what it took when
            it got ready, in bytes; and what was written as errors since it got its last file.
        """
        if self.ended is None:
            self.kill()
            with self._lock:
                _, status, used = os.wait4(self._process.pid, 0)
                self._process.returncode = os.waitstatus_to_exitcode(status)
            peak = used.ru_maxrss * _RSS_UNIT if used.ru_maxrss > self._inherited else 0
            grown = max(peak, self.peak) - self._peak_when_ready
            self.ended = self._process.returncode, grown, self._errors.read(_MOST_MESSAGES) or b""
            self._errors.close()
            self._connection.close()
        return self.ended


def _not_started(cause: str) -> SandboxError:
    return SandboxError(
        f"no process can be started to parse files in: {cause}; if memory is short, end other programs or "
        "set documents.parse_workers to 1"
    )


def bare_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a worker: places of programs and modules, and no key of any service."""
    environment = {
        name: value for name, value in environ.items() if name in _PASSED_ON or name.startswith("LC_")
    }
    root = str(Path(qa_pipeline.__file__).parents[1])
    if root not in (*site.getsitepackages(), site.getusersitepackages()):  # a checkout
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), root)))
    return environment | _ALONE


def _reveal(value: object) -> str:
    """Return a secret of the settings in plain text, which goes over the connection and nowhere else."""
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
