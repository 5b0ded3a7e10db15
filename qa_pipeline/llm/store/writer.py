"""The store as coroutines see it: await what many ask, written in one transaction a round.

The thread works while coroutines of any number of event loops ask; whatever comes in the meantime is the next
round. So the store's work takes no time of an event loop, and the more is asked at once, the cheaper each is.
"""

import asyncio
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.store import Outcome, Paid, RequestId, Round, SqlReplyStore, Written
from qa_pipeline.records import CallRecord

Answer = Outcome | BaseException | None
"""An outcome; an error to raise; or None: it is yours to ask, or nothing is stored, or it is done."""


@dataclass(eq=False, slots=True)
class Job:
    """One thing that one coroutine asks.

    Args:
        kind: `find` what is stored; `claim`: the same, or let me ask; `put` what was paid; `release`: nothing
            came of a claim; `abandon`: the coroutine of a claim was cancelled, maybe after it was answered.
        request_id: about what.
        future: of the coroutine's own loop; None where nobody waits.
        documents: ids of those that the request shows.
        paid: what is put.
        calls: those that a released claim took.
        error: why it is released, raised for those who wait; without one, the next may ask.
        claim: the one that is abandoned.
    """

    kind: Literal["find", "claim", "put", "release", "abandon"]
    request_id: RequestId
    future: "asyncio.Future[Outcome | None] | None" = None
    documents: tuple[str, ...] = ()
    paid: Paid | None = None
    calls: tuple[CallRecord, ...] = ()
    error: BaseException | None = None
    claim: "Job | None" = None


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


_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.02, 1.0, 1.5


@dataclass(slots=True)
class _Held:
    """A request that `holder` asks."""

    holder: Job
    behind: deque[Job]


@dataclass(slots=True)
class _Awaited:
    """A request that another process asks; it is looked at again at `due`."""

    jobs: list[Job]
    due: float
    pause: float


@dataclass(slots=True)
class _Asked:
    """What the jobs of one round ask, sorted by kind."""

    finds: list[Job] = field(default_factory=list)
    claims: dict[RequestId, list[Job]] = field(default_factory=dict)
    puts: list[Job] = field(default_factory=list)
    releases: list[Job] = field(default_factory=list)
    released: list[RequestId] = field(default_factory=list)

    @property
    def readers(self) -> list[Job]:
        """Jobs that may be answered with what is stored."""
        return [*self.finds, *chain.from_iterable(self.claims.values())]

    def shown(self, found: Container[RequestId]) -> dict[RequestId, set[str]]:
        """Documents of the requests whose replies are stored; they may be others than when it was asked."""
        shown: dict[RequestId, set[str]] = {}
        for job in self.readers:
            if job.documents and job.request_id in found:
                shown.setdefault(job.request_id, set()).update(job.documents)
        return shown

    def round(self, found: Container[RequestId], seen: Iterable[tuple[RequestId, str]]) -> Round:
        """What of it is written."""
        called = [(job.request_id, one) for job in self.releases if job.calls for one in job.documents]
        return Round(
            paid=[job.paid for job in self.puts if job.paid is not None],
            released=self.released,
            calls=[call for job in self.releases for call in job.calls],
            seen=[*seen, *called],
            wanted=[request_id for request_id in self.claims if request_id not in found],
        )


class Rounds:
    """The state between rounds. One thread uses it.

    Args:
        store: what is asked.
        clock: seconds that never run back.
    """

    def __init__(self, store: SqlReplyStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._held: dict[RequestId, _Held] = {}
        self._awaited: dict[RequestId, _Awaited] = {}
        self._left: set[RequestId] = set()  # of rounds that failed: maybe claimed, and asked by nobody
        self._answers = Answers()
        self._beaten = clock()

    @property
    def in_flight(self) -> int:
        """Requests that coroutines of this process ask at present."""
        return len(self._held)

    @property
    def rest(self) -> float | None:
        """Seconds until there is something to do though nobody asks; None for never."""
        due = [awaited.due for awaited in self._awaited.values()]
        if self._held and self._store.beat_seconds is not None:
            due.append(self._beaten + self._store.beat_seconds)
        if self._left:
            due.append(self._clock() + _LONGEST_PAUSE)
        return max(0.0, min(due) - self._clock()) if due else None

    def run_round(self, jobs: Iterable[Job]) -> list[Job]:
        """Do everything that is asked; returns what is to be done next because of loops that have ended."""
        asked = self._sorted(jobs)
        try:
            self._exchange(asked)
        except Exception as error:  # noqa: BLE001 - raised by every coroutine that waits, instead of here
            self._fail(asked, error)
        self._beat()
        unheard = self._answers.deliver()
        return [Job("abandon", job.request_id, claim=job) for job in unheard if job.kind == "claim"]

    def end(self) -> None:
        """Give up what is held, and answer those who wait that nothing comes any more."""
        gone = ReplyStoreError(f"the reply store {self._store.place} was closed while it was being asked")
        self._answers.give(chain.from_iterable(held.behind for held in self._held.values()), gone)
        self._answers.give(chain.from_iterable(awaited.jobs for awaited in self._awaited.values()), gone)
        held = list(self._held)
        self._held.clear()
        self._awaited.clear()
        self._answers.deliver()
        if held or self._left:
            # whoever waits sees by the owner's file or lease as well that nobody asks any more
            with suppress(ReplyStoreError):
                self._store.write(Round(released=[*held, *self._left]))

    def _sorted(self, jobs: Iterable[Job]) -> _Asked:
        asked = _Asked()
        for job in jobs:
            match job.kind:
                case "find":
                    asked.finds.append(job)
                case "claim":
                    self._line_up(job, asked)
                case "put":
                    asked.puts.append(job)
                case "release":
                    asked.releases.append(job)
                    self._release(job, asked)
                case "abandon":
                    self._abandon(job, asked)
        return asked

    def _line_up(self, job: Job, asked: _Asked) -> None:
        if held := self._held.get(job.request_id):
            held.behind.append(job)
        elif awaited := self._awaited.get(job.request_id):
            awaited.jobs.append(job)
        else:
            asked.claims.setdefault(job.request_id, []).append(job)

    def _release(self, job: Job, asked: _Asked) -> None:
        held = self._held.get(job.request_id)
        if job.error is not None and held is not None:
            self._answers.give(held.behind, job.error)
            held.behind.clear()
        self._hand_over(job.request_id, asked)

    def _hand_over(self, request_id: RequestId, asked: _Asked) -> None:
        """Let the next one ask who waits; the claim is given up where nobody does."""
        held = self._held.get(request_id)
        if held is not None and held.behind:
            held.holder = held.behind.popleft()
            self._answers.give([held.holder], None)
        else:
            self._held.pop(request_id, None)
            asked.released.append(request_id)

    def _abandon(self, job: Job, asked: _Asked) -> None:
        claim, request_id = job.claim, job.request_id
        held, awaited = self._held.get(request_id), self._awaited.get(request_id)
        if held is not None and held.holder is claim:
            self._hand_over(request_id, asked)
            return
        for waiting in (held and held.behind, awaited and awaited.jobs, asked.claims.get(request_id)):
            if waiting and claim is not None and claim in waiting:
                waiting.remove(claim)
        if awaited is not None and not awaited.jobs:
            del self._awaited[request_id]
        if not asked.claims.get(request_id, [claim]):
            del asked.claims[request_id]

    def _exchange(self, asked: _Asked) -> None:
        """Ask the store, and answer."""
        now = self._clock()
        # once more what other processes asked when last looked at
        asked.claims |= {one: awaited.jobs for one, awaited in self._awaited.items() if awaited.due <= now}
        asked.released += self._left
        found = self._store.find({job.request_id for job in asked.finds} | asked.claims.keys())
        round_ = asked.round(found, self._store.unseen(asked.shown(found)))
        written = self._store.write(round_) if round_ else Written({}, frozenset())
        self._left.clear()
        stored = found | written.stored
        for find in asked.finds:
            self._answers.give([find], stored.get(find.request_id))
        for put in asked.puts:
            held = self._held.pop(put.request_id, None)
            self._answers.give([put, *(held.behind if held else ())], stored[put.request_id])
        self._answers.give(asked.releases, None)
        for request_id, jobs in asked.claims.items():
            self._settle_claim(request_id, jobs, stored.get(request_id), mine=request_id in written.claimed)

    def _settle_claim(
        self, request_id: RequestId, jobs: list[Job], outcome: Outcome | None, *, mine: bool
    ) -> None:
        awaited = self._awaited.pop(request_id, None)
        if outcome is not None:
            self._answers.give(jobs, outcome)
        elif mine:
            self._held[request_id] = _Held(jobs[0], deque(jobs[1:]))
            self._answers.give(jobs[:1], None)
        else:
            pause = min(awaited.pause * _GROWTH, _LONGEST_PAUSE) if awaited else _FIRST_PAUSE
            self._awaited[request_id] = _Awaited(jobs, self._clock() + pause, pause)

    def _fail(self, asked: _Asked, error: Exception) -> None:
        """Nobody asks any more what the round was about; its claims are given up in the next."""
        self._left.update(asked.released)
        for request_id in (*asked.claims, *(job.request_id for job in asked.puts)):
            self._awaited.pop(request_id, None)
            held = self._held.pop(request_id, None)
            self._answers.give(held.behind if held else (), error)
            self._left.add(request_id)
        self._answers.give([*asked.readers, *asked.puts, *asked.releases], error)

    def _beat(self) -> None:
        every = self._store.beat_seconds
        if every is None or self._clock() - self._beaten < every:
            return
        if self._held:
            # the next exchange meets the same error and tells it to those who ask
            with suppress(ReplyStoreError):
                self._store.beat()
        self._beaten = self._clock()


_MOST_A_ROUND = 2_000
_MANY_IN_FLIGHT = 16
_GATHERING_SECONDS = 0.005
"""How long a round waits for more while many calls are in flight: little to a call, much to its cost here."""


class ReplyFront:
    """A store that any thread and any event loop may ask. Nothing is opened before the first use.

    Every method raises ReplyStoreError when the store cannot be used.
    """

    def __init__(self, store: SqlReplyStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    @property
    def place(self) -> str:
        """The file or address, for messages."""
        return self._store.place

    async def find(self, asked_model: str, request: Request[Any]) -> Outcome | None:
        """What is stored, without waiting for anybody who asks."""
        return await self._ask(Job("find", (asked_model, request.key), _future(), request.documents))

    async def claim(self, asked_model: str, request: Request[Any]) -> Outcome | None:
        """What is stored; None when it is yours to ask.

        Waits as long as another coroutine or process asks the same. Whoever gets None must `put`, `release`
        or `hand_over`, whatever happens.

        Raises:
            ModelError: what the coroutine released that asked the same.
        """
        job = Job("claim", (asked_model, request.key), _future(), request.documents)
        try:
            return await self._ask(job)
        except Exception:
            raise
        except BaseException:  # cancelled, maybe just when it became this coroutine's
            self._send(Job("abandon", job.request_id, claim=job))
            raise

    async def put(
        self, asked_model: str, request: Request[Any], outcome: Outcome, calls: tuple[CallRecord, ...]
    ) -> Outcome:
        """Store an outcome durably; what is stored now, which may be what another process stored before."""
        request_id = (asked_model, request.key)
        paid = Paid(request_id, request.role, request.batch, request.documents, outcome, calls)
        stored = await self._ask(Job("put", request_id, _future(), paid=paid))
        return outcome if stored is None else stored

    async def release(
        self,
        asked_model: str,
        request: Request[Any],
        error: Exception,
        calls: tuple[CallRecord, ...] = (),
    ) -> None:
        """Give up a claim because of an error; it is raised for all of this process who wait for the same."""
        job = Job("release", (asked_model, request.key), _future(), request.documents)
        job.error, job.calls = error, calls
        await self._ask(job)

    def hand_over(self, asked_model: str, request: Request[Any]) -> None:
        """Give up a claim for a reason of one's own: the next who waits may ask. Waits for nothing."""
        self._send(Job("release", (asked_model, request.key)))

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

    def __init__(self, store: SqlReplyStore) -> None:
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
            late = self._rounds.run_round([*late, *jobs])
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
