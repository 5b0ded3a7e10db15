"""What coroutines ask of the store, and how they are answered in their own event loops.

What belongs here: jobs and their delivery. What does not: deciding what the answer is (`rounds.py`).
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from qa_pipeline.calls import CallRecord
from qa_pipeline.llm.store.records import Outcome, Paid, RequestId

Answer = Outcome | BaseException | None
"""An outcome; an error to raise; or None: it is yours to ask, or nothing is stored, or it is done."""


@dataclass(eq=False, slots=True)
class Job:
    """One thing that one coroutine asks.

    Args:
        request_id: about what.
        future: of the coroutine's own loop; None where nobody waits.
        documents: ids of those that the request shows.
    """

    request_id: RequestId
    future: "asyncio.Future[Outcome | None] | None" = None
    documents: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class FindJob(Job):
    """Tell what is stored."""


@dataclass(eq=False, slots=True)
class ClaimJob(Job):
    """Tell what is stored, or let me ask."""


@dataclass(eq=False, slots=True, kw_only=True)
class PutJob(Job):
    """Store what was paid."""

    paid: Paid


@dataclass(eq=False, slots=True, kw_only=True)
class ReleaseJob(Job):
    """Nothing came of a claim. Its error is raised for those who wait; without one, the next may ask."""

    calls: tuple[CallRecord, ...] = ()
    error: BaseException | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class ForgetJob(Job):
    """The coroutine of a claim was cancelled, maybe after it was answered."""

    claim: ClaimJob


class Answers:
    """Answers of one round, delivered with one wake-up of each loop."""

    def __init__(self) -> None:
        self._by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Job, Answer]]] = {}

    def give(self, jobs: Iterable[Job], answer: Answer) -> None:
        """Note one answer for one job or many."""
        for job in jobs:
            if job.future is not None:
                self._by_loop.setdefault(job.future.get_loop(), []).append((job, answer))

    def deliver(self) -> list[Job]:
        """Wake the loops; returns the jobs whose loop has ended."""
        unheard: list[Job] = []
        for loop, answers in self._by_loop.items():
            try:
                loop.call_soon_threadsafe(_settle, answers)
            except RuntimeError:  # the loop is closed
                unheard += [job for job, _ in answers]
        self._by_loop.clear()
        return unheard


def _settle(answers: list[tuple[Job, Answer]]) -> None:
    for job, answer in answers:
        if job.future is None or job.future.done():  # cancelled; its coroutine says so in a job of its own
            continue
        if isinstance(answer, BaseException):
            job.future.set_exception(answer)
        else:
            job.future.set_result(answer)


def jobs_of(waiting: Iterable[Iterable[Job]]) -> list[Job]:
    """All of them in one list."""
    return [job for jobs in waiting for job in jobs]
