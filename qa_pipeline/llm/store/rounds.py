"""The rounds of a store: what all coroutines of all loops ask goes into one transaction, then the next.

What belongs here: who of this process asks, who waits for whom, and when other processes are looked at again.
What does not: threads (`front.py`), SQL (`sql.py`).

A request is in one of three places: nowhere; held, because a coroutine of this process asks it and others
wait behind that one; or awaited, because another process asks it.
"""

from collections import deque
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.store.jobs import (
    Answers,
    ClaimJob,
    FindJob,
    ForgetJob,
    Job,
    PutJob,
    ReleaseJob,
    jobs_of,
)
from qa_pipeline.llm.store.records import Outcome, ReplyStore, RequestId, Round, Written

_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.02, 1.0, 1.5


@dataclass(slots=True)
class _Held:
    """A request that `holder` asks."""

    holder: ClaimJob
    behind: deque[ClaimJob]


@dataclass(slots=True)
class _Awaited:
    """A request that another process asks; it is looked at again at `due`."""

    jobs: list[ClaimJob]
    due: float
    pause: float


@dataclass(slots=True)
class _Asked:
    """What the jobs of one round ask, sorted by kind."""

    finds: list[FindJob] = field(default_factory=list)
    claims: dict[RequestId, list[ClaimJob]] = field(default_factory=dict)
    puts: list[PutJob] = field(default_factory=list)
    releases: list[ReleaseJob] = field(default_factory=list)
    released: list[RequestId] = field(default_factory=list)

    @property
    def jobs(self) -> list[Job]:
        return [*self.finds, *self.puts, *self.releases, *jobs_of(self.claims.values())]

    @property
    def _called(self) -> list[ReleaseJob]:
        return [job for job in self.releases if job.calls]

    def shown(self, found: Container[RequestId]) -> dict[RequestId, set[str]]:
        """Documents of the requests whose replies are stored; they may be others than when it was asked."""
        shown: dict[RequestId, set[str]] = {}
        for job in (*self.finds, *jobs_of(self.claims.values())):
            if job.documents and job.request_id in found:
                shown.setdefault(job.request_id, set()).update(job.documents)
        return shown

    def round(self, found: Container[RequestId], seen: Iterable[tuple[RequestId, str]]) -> Round:
        """What of it is written."""
        return Round(
            paid=[job.paid for job in self.puts],
            released=self.released,
            calls=[call for job in self.releases for call in job.calls],
            seen=[*seen, *((job.request_id, one) for job in self._called for one in job.documents)],
            wanted=[request_id for request_id in self.claims if request_id not in found],
        )


class Rounds:
    """The state between rounds. One thread uses it.

    Args:
        store: what is asked.
        clock: seconds that never run back.
    """

    def __init__(self, store: ReplyStore, clock: Callable[[], float]) -> None:
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

    def play(self, jobs: Iterable[Job]) -> list[Job]:
        """Do everything that is asked; returns what is to be done next because of loops that have ended."""
        asked = self._sorted(jobs)
        try:
            self._exchange(asked)
        except Exception as error:  # noqa: BLE001 - raised by every coroutine that waits, instead of here
            self._fail(asked, error)
        self._beat()
        unheard = self._answers.deliver()
        return [ForgetJob(job.request_id, claim=job) for job in unheard if isinstance(job, ClaimJob)]

    def end(self) -> None:
        """Give up what is held, and tell those who wait that nothing comes any more."""
        gone = ReplyStoreError(f"the reply store {self._store.place} was closed while it was being asked")
        self._answers.give(jobs_of(held.behind for held in self._held.values()), gone)
        self._answers.give(jobs_of(awaited.jobs for awaited in self._awaited.values()), gone)
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
            match job:
                case FindJob():
                    asked.finds.append(job)
                case ClaimJob():
                    self._line_up(job, asked)
                case PutJob():
                    asked.puts.append(job)
                case ReleaseJob():
                    asked.releases.append(job)
                    self._release(job, asked)
                case ForgetJob():
                    self._forget(job, asked)
        return asked

    def _line_up(self, job: ClaimJob, asked: _Asked) -> None:
        if held := self._held.get(job.request_id):
            held.behind.append(job)
        elif awaited := self._awaited.get(job.request_id):
            awaited.jobs.append(job)
        else:
            asked.claims.setdefault(job.request_id, []).append(job)

    def _release(self, job: ReleaseJob, asked: _Asked) -> None:
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

    def _forget(self, job: ForgetJob, asked: _Asked) -> None:
        claim, request_id = job.claim, job.request_id
        held, awaited = self._held.get(request_id), self._awaited.get(request_id)
        if held is not None and held.holder is claim:
            self._hand_over(request_id, asked)
            return
        for waiting in (held and held.behind, awaited and awaited.jobs, asked.claims.get(request_id)):
            if waiting and claim in waiting:
                waiting.remove(claim)
        if awaited is not None and not awaited.jobs:
            del self._awaited[request_id]
        if not asked.claims.get(request_id, [claim]):
            del asked.claims[request_id]

    def _exchange(self, asked: _Asked) -> None:
        """Ask the store, and answer."""
        self._look_again(asked)
        asked.released += self._left
        found = self._store.find({job.request_id for job in asked.finds} | asked.claims.keys())
        round_ = asked.round(found, self._store.unseen(asked.shown(found)))
        written = self._store.write(round_) if round_ else Written({}, frozenset())
        self._left.clear()
        stored = found | written.stored
        for find in asked.finds:
            self._answers.give([find], stored.get(find.request_id))
        for put in asked.puts:
            self._settle_put(put, stored[put.request_id])
        self._answers.give(asked.releases, None)
        for request_id, jobs in asked.claims.items():
            self._settle_claim(request_id, jobs, stored.get(request_id), mine=request_id in written.claimed)

    def _look_again(self, asked: _Asked) -> None:
        """Ask once more for what other processes asked when last looked at."""
        now = self._clock()
        for request_id, awaited in self._awaited.items():
            if awaited.due <= now:
                asked.claims[request_id] = awaited.jobs

    def _settle_put(self, put: PutJob, outcome: Outcome) -> None:
        self._answers.give([put], outcome)
        held = self._held.pop(put.request_id, None)
        if held is not None:
            self._answers.give(held.behind, outcome)

    def _settle_claim(
        self, request_id: RequestId, jobs: list[ClaimJob], outcome: Outcome | None, *, mine: bool
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
        self._answers.give(asked.jobs, error)

    def _beat(self) -> None:
        every = self._store.beat_seconds
        if every is None or self._clock() - self._beaten < every:
            return
        if self._held:
            # the next exchange meets the same error and tells it to those who ask
            with suppress(ReplyStoreError):
                self._store.beat()
        self._beaten = self._clock()
