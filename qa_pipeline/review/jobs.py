"""Background work that a page starts and follows: one thread runs a step of each job in turn.

Jobs are only in memory. After a restart a question is asked again, from stored replies.
"""

import logging
import queue
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from qa_pipeline.errors import InputError, QAPipelineError

_MOST_WAITING = 20
"""Unfinished jobs at a time."""
_MOST_KEPT = 200
"""Jobs in memory."""
_log = logging.getLogger(__name__)


@dataclass
class Job:
    """A job with its latest value."""

    title: str
    job_id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    value: Any = None
    steps: int = 0
    is_done: bool = False
    problem: str | None = None


class Jobs:
    """Jobs that share a thread and its models."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: queue.SimpleQueue[tuple[Job, Iterator[Any]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self, title: str, values: Iterator[Any]) -> Job:
        """Start a job that yields better and better values, or raise InputError if too many jobs wait."""
        job = Job(title)
        with self._lock:
            unfinished = [other for other in self._jobs.values() if not other.is_done]
            if len(unfinished) >= _MOST_WAITING:
                raise InputError(f"{_MOST_WAITING} other questions are waiting; try again later")
            self._jobs[job.job_id] = job
            while len(self._jobs) > _MOST_KEPT:
                self._jobs.popitem(last=False)
            if self._thread is None:
                # the interpreter does not wait for a daemon, so Ctrl-C always ends a server
                self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
                self._thread.start()
        self._waiting.put((job, values))
        return job

    def get(self, job_id: str) -> Job:
        """Return a job, or raise InputError if it is no longer in memory."""
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None:
            raise InputError(
                "this answer is no longer in memory: the server restarted, or many questions followed. Ask "
                "again; stored replies cost nothing"
            )
        return job

    def _run(self) -> None:
        """Run a step of the job that waits longest, and let it wait again unless it is done."""
        while True:
            job, values = self._waiting.get()
            try:
                job.value = next(values)
            except StopIteration:
                job.is_done = True
            except QAPipelineError as error:
                job.problem = str(error)
            except Exception:  # noqa: BLE001 - other jobs must continue
                _log.exception("%s failed", job.title)
                job.problem = "internal error; see the terminal of the server"
            if job.problem is not None:
                job.is_done = True
            job.steps += 1
            if not job.is_done:
                self._waiting.put((job, values))
