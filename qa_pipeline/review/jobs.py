"""Work that a page starts and then watches: it runs in one thread, a step of each job in turn.

Nothing of it is written down: after a restart a question is asked again, and its stored replies cost nothing.
"""

import logging
import queue
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from qa_pipeline.errors import InputError, QAPipelineError

_MOST_WAITING = 20
"""Jobs that wait at a time: more would be read by nobody before they are forgotten."""
_MOST_KEPT = 200
"""Jobs whose results can still be opened."""
_log = logging.getLogger(__name__)


@dataclass
class Job:
    """Work with what has come of it."""

    title: str
    job_id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    value: Any = None
    steps: int = 0
    progress: str = ""
    is_done: bool = False
    problem: str | None = None

    def report(self, progress: str) -> None:
        """Say what is being done."""
        self.progress = progress
        self.steps += 1


class Jobs:
    """Jobs that share a thread, and so models that one thread may ask."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: queue.SimpleQueue[tuple[Job, Iterator[Any]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self, title: str, work: Callable[[Job], Iterator[Any]]) -> Job:
        """Start work that yields better and better values."""
        job = Job(title)
        with self._lock:
            if sum(not other.is_done for other in self._jobs.values()) >= _MOST_WAITING:
                raise InputError(f"{_MOST_WAITING} others wait already; try again in a while")
            self._jobs[job.job_id] = job
            while len(self._jobs) > _MOST_KEPT:
                self._jobs.popitem(last=False)
            if self._thread is None:
                # the interpreter does not wait for a daemon: Ctrl-C ends a server whatever is being done
                self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
                self._thread.start()
        self._waiting.put((job, work(job)))
        return job

    def get(self, job_id: str) -> Job:
        """Return a job."""
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None:
            raise InputError(
                "this is no longer in memory: the server was started again, or much was asked since. Ask "
                "again; replies that were stored cost nothing"
            )
        return job

    def _run(self) -> None:
        while True:
            job, values = self._waiting.get()
            try:
                job.value = next(values)
            except StopIteration:
                job.is_done = True
            except QAPipelineError as error:
                job.problem = str(error)
            except Exception:  # noqa: BLE001 - the thread has to go on with the other jobs
                _log.exception("%s failed", job.title)
                job.problem = "the program has a fault here; the terminal of the server says more"
            job.is_done |= job.problem is not None
            job.steps += 1
            if not job.is_done:
                self._waiting.put((job, values))
