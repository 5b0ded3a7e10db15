"""Parsing in worker processes, so that a file can harm nothing but its own row.

What belongs here: the pool that keeps workers from one batch to the next. What does not: which file goes to
which worker (`contained_run`), the process (`process`) and what happens inside it (`worker`).
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock

from qa_pipeline.documents.parsing import ParseOutcome, ParseRequest
from qa_pipeline.documents.workers.contained_run import ContainedRun
from qa_pipeline.documents.workers.process import COMMAND, WorkerProcess
from qa_pipeline.settings.documents import DocumentSettings


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
