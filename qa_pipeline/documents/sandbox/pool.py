"""Which file goes to which worker, and in what order outcomes come back.

What belongs here: one call's files and workers: when a worker is started, given up and replaced. What does
not: the pool (`pool`), what a worker is (`process`) and what it says (`replies`).

A file that takes too long, too much memory or its parser's process down is an outcome like any other. Where
a worker had read other files before, those may have been to blame: the file gets a second try in a worker
of its own.
"""

import json
import math
import os
import select
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Protocol

from pydantic import SecretStr

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.parsing import ParseOutcome, ParseRequest
from qa_pipeline.documents.sandbox.process import COMMAND, OutcomeQueue, WorkerProcess
from qa_pipeline.documents.sandbox.protocol import (
    Message,
    MessageError,
    Reply,
    framed,
    longest_body,
    read_reply,
    timed_out,
    unfit,
    what_happened,
    why_not_started,
)
from qa_pipeline.errors import ContainmentError
from qa_pipeline.settings.documents import DocumentSettings

_MOST_WORKERS = 8
_START_SECONDS = 120.0
_PATIENCE_SECONDS = 0.2
"""How long workers must have been at it before one more is started: a few small files need only one."""
_LOOKED_EVERY = 0.25
"""Seconds after which the workers' memory is looked at again: a dead one no longer tells."""
_LATE_SECONDS = 30.0
"""A reply that has begun to come in time may take so much longer: its reader may have been busy elsewhere."""
_PERHAPS_ANOTHERS = frozenset({"parser_crashed", "out_of_memory"})
"""What a file may fail with because of what other files left behind in its worker."""


class Workers(Protocol):
    """Where a run has its workers from."""

    def idle_worker(self) -> WorkerProcess | None:
        """One that runs already."""

    def new_worker(self) -> WorkerProcess:
        """One that is being started."""

    def keep(self, worker: WorkerProcess) -> None:
        """Take one back."""


@dataclass(slots=True)
class _Task:
    """A file on its way; `suspect` once a worker died over it that had read other files."""

    number: int
    request: ParseRequest
    suspect: bool = False


@dataclass(slots=True)
class _Post:
    """What a worker is at, and until when it may be; without a task it is starting or free."""

    task: _Task | None = None
    deadline: float = math.inf


class ContainedRun:
    """One call: its requests, its workers, and the outcomes that wait for their turn."""

    def __init__(
        self, workers: Workers, requests: Iterable[ParseRequest], settings: DocumentSettings
    ) -> None:
        self.workers = workers
        self.settings = settings
        self.written_settings = json.dumps(settings.model_dump(), default=_revealed)
        self.most_workers = settings.parse_workers or min(_cores(), _MOST_WORKERS)
        self.requests = enumerate(requests)
        self.exhausted = False
        self.untried: deque[_Task] = deque()
        self.suspects: deque[_Task] = deque()
        self.posts: dict[WorkerProcess, _Post] = {}
        self.last_ready = self.last_look = -math.inf
        self.queue = OutcomeQueue()

    def outcomes(self) -> Iterator[ParseOutcome]:
        """Drive the workers until every request has its outcome.

        Raises:
            ContainmentError: no worker can be started.
        """
        while self._pull() or self.suspects or any(post.task for post in self.posts.values()):
            self._hand_out()
            self._listen()
            self._hand_out()  # workers go on while whoever asked is busy with what follows
            yield from self.queue.in_order()

    def end(self) -> None:
        """Give workers back; one that is still parsing is ended, its file with it."""
        for worker, post in self.posts.items():
            if post.task is None:
                self.workers.keep(worker)
            else:
                worker.end()
        self.posts.clear()

    def _pull(self) -> bool:
        """Whether a file waits for its first try; takes one request more only if none does."""
        if not (self.untried or self.exhausted or self.queue.full):
            following = next(self.requests, None)
            if following is None:
                self.exhausted = True
            else:
                self.untried.append(_Task(*following))
        return bool(self.untried)

    def _hand_out(self) -> None:
        """Give every free worker a file; where files are left over, take on another worker."""
        self._give_all()
        while (self.untried or self.suspects) and (worker := self._another()):
            self.posts[worker] = _Post(deadline=math.inf if worker.ready else monotonic() + _START_SECONDS)
            self._give_all()

    def _give_all(self) -> None:
        while self.suspects and (worker := self._free(unused=True)):
            self._give(worker, self.suspects.popleft())
        while self._pull() and (worker := self._free()):
            self._give(worker, self.untried.popleft())

    def _free(self, *, unused: bool = False) -> WorkerProcess | None:
        free = (worker for worker, post in self.posts.items() if worker.ready and post.task is None)
        return next((worker for worker in free if not (unused and worker.files)), None)

    def _give(self, worker: WorkerProcess, task: _Task) -> None:
        self.posts[worker] = _Post(task, monotonic() + self.settings.parse_seconds)
        source, longest = task.request.source, longest_body(self.settings)
        head = {
            "path": source.path,
            "format": task.request.format,
            "settings": self.written_settings,
            "longest_reply": longest,
        }
        worker.send(framed(head, source.content), longest)

    def _another(self) -> WorkerProcess | None:
        if len(self.posts) >= self.most_workers:
            return None
        idle = None if self.suspects else self.workers.idle_worker()
        if idle is not None or monotonic() < self._start_from():
            return idle
        try:
            return self.workers.new_worker()
        except OSError as error:
            self._do_without(f"the system refuses it ({error.strerror})")
            return None

    def _start_from(self) -> float:
        """When one more worker may be started: one at a time, and only where files keep those there busy."""
        if len(self.posts) >= self.most_workers or any(not worker.ready for worker in self.posts):
            return math.inf
        if self.suspects or not self.posts:
            return -math.inf
        return self.last_ready + _PATIENCE_SECONDS if self.untried else math.inf

    def _do_without(self, cause: str) -> None:
        """Go on with the workers there are after one could not be started.

        Raises:
            ContainmentError: there are none.
        """
        if not self.posts:
            raise ContainmentError(
                f"no process can be started to parse files in: {cause}; if memory is short, end other "
                "programs or set documents.parse_workers to 1"
            )
        self.most_workers = len(self.posts)
        self.untried.extendleft(reversed(self.suspects))
        self.suspects.clear()

    def _listen(self) -> None:
        """Wait until a worker says something or is out of time, or one more may be started."""
        poll = select.poll()
        for worker in self.posts:
            poll.register(worker.replies, select.POLLIN)
            if worker.sending:
                poll.register(worker.requests, select.POLLOUT)
        heard = {number for number, _ in poll.poll(self._longest_wait() * 1000)}
        self._look_at_memory()
        for worker, post in list(self.posts.items()):
            if worker.sending:
                worker.send_on()
            if worker.replies in heard:
                self._hear(worker)
            if self.posts.get(worker) is post and monotonic() > post.deadline:
                self._late(worker, post, coming=worker.replies in heard)

    def _look_at_memory(self) -> None:
        if monotonic() > self.last_look + _LOOKED_EVERY:
            self.last_look = monotonic()
            for worker in self.posts:
                worker.note_memory()

    def _longest_wait(self) -> float:
        """Seconds until something has to be done although no worker says anything."""
        until = min([self._start_from(), *(post.deadline for post in self.posts.values())])
        return min(max(until - monotonic(), 0.0), _LOOKED_EVERY) + 0.001

    def _hear(self, worker: WorkerProcess) -> None:
        try:
            message = worker.receive()
        except EOFError:
            self._died(worker)
        except MessageError as error:
            self._conclude(worker, unfit(str(error)))
        else:
            if message is not None:
                self._understand(worker, read_reply(message), message)

    def _understand(self, worker: WorkerProcess, reply: Reply, message: Message) -> None:
        task = self.posts[worker].task
        if reply.says == "ready" and not worker.ready:
            worker.got_ready()
            self.last_ready = monotonic()
            self.posts[worker] = _Post()
        elif reply.says == "left":
            self._dismiss(worker)
            if task is not None:
                (self.suspects if task.suspect else self.untried).appendleft(task)
        else:
            self._conclude(worker, reply if reply.outcome and task else unfit("out of turn"), message)

    def _conclude(self, worker: WorkerProcess, reply: Reply, message: Message | None = None) -> None:
        """Take note of what became of a worker's file; the worker is free, or has ended with it."""
        task = self.posts[worker].task
        again = task is not None and self._perhaps_anothers(worker, task, reply.outcome)
        if reply.last or again:
            self._dismiss(worker)
        else:
            self.posts[worker] = _Post()
        if task is not None and again:
            task.suspect = True
            self.suspects.append(task)
        elif task is not None and reply.outcome is not None:
            self.queue.add(task.number, reply.outcome, len(message.body) if message else 0)

    @staticmethod
    def _perhaps_anothers(worker: WorkerProcess, task: _Task, outcome: ParseOutcome | None) -> bool:
        """Whether a file may have failed over what another one left behind in its worker."""
        reason = outcome.reason if isinstance(outcome, DocumentFailure) else None
        return reason in _PERHAPS_ANOTHERS and worker.files > 1 and not task.suspect

    def _died(self, worker: WorkerProcess) -> None:
        death = worker.end()
        if worker.ready:
            self._conclude(worker, Reply("outcome", what_happened(death, self.settings), last=True))
        else:
            self._dismiss(worker)
            self._do_without(why_not_started(death))

    def _late(self, worker: WorkerProcess, post: _Post, *, coming: bool) -> None:
        if coming and monotonic() < post.deadline + _LATE_SECONDS:
            return
        if worker.ready:
            self._conclude(worker, Reply("outcome", timed_out(self.settings), last=True))
        else:
            self._dismiss(worker)
            self._do_without(f"it was not ready after {_START_SECONDS:g} seconds")

    def _dismiss(self, worker: WorkerProcess) -> None:
        worker.end()
        del self.posts[worker]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _revealed(value: object) -> str:
    """A secret among the settings goes to the worker as it is, over the pipe, and nowhere else."""
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


class ParsingPool:
    """Workers that start when they are first needed, are kept between batches and end with `close`.

    Each call of `parse` has its own workers while it lasts, so calls may come from several threads. A worker
    without work ends by itself after a while.
    """

    def __init__(self, environ: Mapping[str, str], command: Sequence[str] = COMMAND) -> None:
        """Take note of how to start workers.

        Args:
            environ: this process' environment; workers get a few harmless names of it.
            command: starts a worker.
        """
        self._environ = environ
        self._command = command
        self._idle: list[WorkerProcess] = []
        self._lock = Lock()
        self._owner = os.getpid()

    def parse(self, requests: Iterable[ParseRequest], settings: DocumentSettings) -> Iterator[ParseOutcome]:
        """Parse files in up to `parse_workers` processes; outcomes come in the order of the requests.

        Raises:
            ContainmentError: no worker can be started.
        """
        run = ContainedRun(self, requests, settings)
        try:
            yield from run.outcomes()
        finally:
            run.end()

    def idle_worker(self) -> WorkerProcess | None:
        """A worker left from an earlier call."""
        with self._lock:
            while self._idle and self._is_mine:
                worker = self._idle.pop()
                if not worker.gone:
                    return worker
                worker.end()
        return None

    def new_worker(self) -> WorkerProcess:
        """Start a worker.

        Raises:
            OSError: the system has no room for it.
        """
        return WorkerProcess(self._command, self._environ)

    def keep(self, worker: WorkerProcess) -> None:
        """Take a worker that has nothing to do."""
        with self._lock:
            self._idle.append(worker)

    def close(self) -> None:
        """End the workers that have nothing to do."""
        with self._lock:
            while self._idle and self._is_mine:
                self._idle.pop().end()

    @property
    def _is_mine(self) -> bool:
        """A forked copy of the process has a copy of the pool, but the workers stay its parent's."""
        return self._owner == os.getpid()
