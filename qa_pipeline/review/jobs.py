"""Work that a page starts and then watches: it runs in a thread of its own, a step of each job in turn.

Nothing of it is written down: after a restart a question is asked again, and its stored replies cost nothing.
"""

import logging
import queue
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from qa_pipeline.errors import QAPipelineError
from qa_pipeline.review.languages import PhrasedError

_MOST_WAITING = 20
"""Jobs that wait at a time: more would be read by nobody before they are forgotten."""
_MOST_KEPT = 200
"""Jobs whose results can still be opened."""
_log = logging.getLogger(__name__)
ValueT = TypeVar("ValueT")


@dataclass
class Job(Generic[ValueT]):
    """Work with what has come of it.

    Args:
        title: what people read of it.
        job_id: its name in addresses, which cannot be guessed.
        value: the latest that was made; None before anything was.
        steps: how often `value` or `progress` changed.
        progress: what is being done, in words.
        is_done: whether nothing more will come.
        problem: why it ended early; None where it did not.
    """

    title: str
    job_id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    value: ValueT | None = None
    steps: int = 0
    progress: str = ""
    is_done: bool = False
    problem: QAPipelineError | None = None

    def report(self, progress: str) -> None:
        """Say what is being done."""
        self.progress = progress
        self.steps += 1


Work = Callable[[Job[ValueT]], Iterator[ValueT]]


class Jobs(Generic[ValueT]):
    """Jobs that share a thread, and so models that one thread may ask.

    A job that yields often lets others have their turn: a file of questions does not hold up a question.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: OrderedDict[str, Job[ValueT]] = OrderedDict()
        self._waiting: queue.SimpleQueue[tuple[Job[ValueT], Iterator[ValueT]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self, title: str, work: Work[ValueT]) -> Job[ValueT]:
        """Start work that yields better and better values.

        Raises:
            InputError: too many wait already.
        """
        job: Job[ValueT] = Job(title)
        with self._lock:
            if sum(not other.is_done for other in self._jobs.values()) >= _MOST_WAITING:
                raise PhrasedError("%(most)s others wait already; try again in a while", most=_MOST_WAITING)
            self._jobs[job.job_id] = job
            while len(self._jobs) > _MOST_KEPT:
                self._jobs.popitem(last=False)
            if self._thread is None:
                # the interpreter does not wait for a daemon: Ctrl-C ends a server whatever is being done
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        self._waiting.put((job, work(job)))
        return job

    def find(self, job_id: str) -> Job[ValueT] | None:
        """Return a job; None where there is none of this name, or no more."""
        with self._lock:
            return self._jobs.get(job_id)

    def get(self, job_id: str) -> Job[ValueT]:
        """Return a job.

        Raises:
            InputError: there is none of this name, or no more.
        """
        job = self.find(job_id)
        if job is None:
            raise PhrasedError(
                "This is no longer in memory: the server was started again, or much was asked since. Ask "
                "again; replies that were stored cost nothing."
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
                job.problem = error.with_traceback(None)  # which holds the tables of the job
            except Exception:  # noqa: BLE001 - the thread has to go on with the other jobs
                _log.exception("%s failed", job.title)
                job.problem = PhrasedError(
                    "The program has a fault here. The terminal of the server says more."
                )
            job.is_done |= job.problem is not None
            job.steps += 1
            if not job.is_done:
                self._waiting.put((job, values))
