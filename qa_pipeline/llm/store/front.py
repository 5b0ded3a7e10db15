"""The store as coroutines see it: await what many ask, written in one transaction a round.

What belongs here: the thread that owns the store, starting and ending it. What does not: what a round does
(`rounds.py`).

The thread works while coroutines of any number of event loops ask; whatever comes in the meantime is the next
round. So the store's work takes no time of an event loop, and the more is asked at once, the cheaper each is.
"""

import asyncio
import os
import queue
import threading
import time
import weakref
from pathlib import Path
from typing import Any

from qa_pipeline.calls import CallRecord
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.database import Database
from qa_pipeline.llm.store.jobs import ClaimJob, FindJob, ForgetJob, Job, PutJob, ReleaseJob
from qa_pipeline.llm.store.records import Outcome, Paid, ReplyStore
from qa_pipeline.llm.store.rounds import Rounds
from qa_pipeline.llm.store.sql import SqlReplyStore

_MOST_A_ROUND = 2_000
_MANY_IN_FLIGHT = 16
_GATHERING_SECONDS = 0.005
"""How long a round waits for more while many calls are in flight: little to a call, much to its cost here."""


class ReplyFront:
    """A store that any thread and any event loop may ask. Nothing is opened before the first use.

    Every method raises ReplyStoreError when the store cannot be used.
    """

    def __init__(self, store: ReplyStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    @property
    def place(self) -> str:
        """The file or address, for messages."""
        return self._store.place

    async def find(self, asked_model: str, request: Request[Any]) -> Outcome | None:
        """What is stored, without waiting for anybody who asks."""
        return await self._ask(FindJob((asked_model, request.key), _future(), request.documents))

    async def claim(self, asked_model: str, request: Request[Any]) -> Outcome | None:
        """What is stored; None when it is yours to ask.

        Waits as long as another coroutine or process asks the same. Whoever gets None must `put`, `release`
        or `hand_over`, whatever happens.

        Raises:
            ModelError: what the coroutine released that asked the same.
        """
        job = ClaimJob((asked_model, request.key), _future(), request.documents)
        try:
            return await self._ask(job)
        except Exception:
            raise
        except BaseException:  # cancelled, maybe just when it became this coroutine's
            self._send(ForgetJob(job.request_id, claim=job))
            raise

    async def put(
        self, asked_model: str, request: Request[Any], outcome: Outcome, calls: tuple[CallRecord, ...]
    ) -> Outcome:
        """Store an outcome durably; what is stored now, which may be what another process stored before."""
        request_id = (asked_model, request.key)
        paid = Paid(request_id, request.role, request.batch, request.documents, outcome, calls)
        stored = await self._ask(PutJob(request_id, _future(), paid=paid))
        return outcome if stored is None else stored

    async def release(
        self,
        asked_model: str,
        request: Request[Any],
        error: Exception,
        calls: tuple[CallRecord, ...] = (),
    ) -> None:
        """Give up a claim because of an error; it is raised for all of this process who wait for the same."""
        request_id = (asked_model, request.key)
        await self._ask(ReleaseJob(request_id, _future(), request.documents, error=error, calls=calls))

    def hand_over(self, asked_model: str, request: Request[Any]) -> None:
        """Give up a claim for a reason of one's own: the next who waits may ask. Waits for nothing."""
        self._send(ReleaseJob((asked_model, request.key)))

    def close(self) -> None:
        """End the thread when all that was asked is written; a later use opens the store again."""
        with self._lock:
            if self._worker is not None:
                self._worker.end()
                self._worker = None

    async def _ask(self, job: Job) -> Outcome | None:
        self._send(job)
        if job.future is None:
            return None
        return await job.future

    def _send(self, job: Job) -> None:
        with self._lock:
            if self._worker is None:
                self._worker = _Worker(self._store)
                weakref.finalize(self, self._worker.end)
            self._worker.take(job)


class _Worker:
    """The thread; it knows nothing of the front, so that a forgotten front ends it."""

    def __init__(self, store: ReplyStore) -> None:
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._process = os.getpid()
        self._store = store
        self._rounds = Rounds(store, time.monotonic)
        self._thread = threading.Thread(target=self._work, name="qa-pipeline-replies", daemon=True)
        self._thread.start()

    def take(self, job: Job) -> None:
        """Do it in the next round."""
        if self._process != os.getpid():
            raise RuntimeError("a forked process has no thread of its parent: let it open the replies itself")
        self.jobs.put(job)

    def end(self) -> None:
        """Let it finish what was asked."""
        if self._process != os.getpid():
            return
        self.jobs.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self) -> None:
        late: list[Job] = []
        while True:
            jobs, ended = self._taken(0.0 if late else self._rounds.rest)
            late = self._rounds.play([*late, *jobs])
            if ended:
                break
        try:
            self._rounds.end()
        finally:
            self._store.close()

    def _taken(self, rest: float | None) -> tuple[list[Job], bool]:
        """What has come, waiting for it at most `rest` seconds; and whether that is all."""
        jobs: list[Job] = []
        try:
            job = self.jobs.get(timeout=rest)
            if job is not None and self._rounds.in_flight > _MANY_IN_FLIGHT:
                time.sleep(_GATHERING_SECONDS)
            while job is not None and len(jobs) < _MOST_A_ROUND:
                jobs.append(job)
                job = self.jobs.get_nowait()
        except queue.Empty:
            return jobs, False
        if job is not None:
            jobs.append(job)
        return jobs, job is None


def open_replies(place: Path | str) -> ReplyFront:
    """The store in a SQLite file, or at a postgresql:// address."""
    return ReplyFront(SqlReplyStore(Database(place)))


def _future() -> "asyncio.Future[Outcome | None]":
    return asyncio.get_running_loop().create_future()
