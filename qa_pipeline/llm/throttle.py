"""Waiting for one's turn: a place in the window of this process and a slot in the pace that all share.

What belongs here: admitting calls one after the other and telling pace and window how they went. What does
not: trying again (`sending.py`), what a refusal teaches (`pace.py`, `window.py`).

While nothing limits a model, a turn costs no look at the shared book; the book is read once in
LOOK_SECONDS, so that a limit another process met is heard of. Where something does, calls take their slots
one after the other, just before they leave: slots taken long ahead would keep to a rate of the past.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from qa_pipeline.llm.base import Request
from qa_pipeline.llm.budget.tokens import request_tokens
from qa_pipeline.llm.pace import Change, Declared, Pace, PaceBook, Told
from qa_pipeline.llm.provider import Clock


class Places:
    """So many places; `limit` is asked anew each time one may be free, since it may change."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._taken = 0
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def enter(self) -> None:
        """Take a place, and wait for it if need be. Whoever is cancelled meanwhile has none."""
        with self._lock:
            if not self._waiting and self._taken < self._limit():
                self._taken += 1
                return
            loop = asyncio.get_running_loop()
            place: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, place))
        try:
            await place  # whoever wakes it has counted it in
        except asyncio.CancelledError:
            self._give_back(place)
            raise

    def leave(self) -> None:
        """Give a place up; those who wait get what is free."""
        with self._lock:
            self._taken -= 1
            self._fill()

    def _fill(self) -> None:
        while self._waiting and self._taken < self._limit():
            loop, place = self._waiting.popleft()
            if not loop.is_closed():
                self._taken += 1
                loop.call_soon_threadsafe(_wake, place)

    def _give_back(self, place: "asyncio.Future[None]") -> None:
        """A cancelled waiter may have been given its place just before."""
        with self._lock:
            others = deque(waiter for waiter in self._waiting if waiter[1] is not place)
            was_given = len(others) == len(self._waiting)
            self._waiting = others
            self._taken -= was_given
            self._fill()


def _wake(place: "asyncio.Future[None]") -> None:
    if not place.done():
        place.set_result(None)


FALL = 0.75
FAULT_FALL = 0.5
PERSISTENT = 8
"""Server faults in a row, with no success between, after which the server counts as overloaded."""


@dataclass(slots=True)
class Window:
    """A window of at most `most` calls."""

    most: int
    size: float = 0.0
    narrowed_at: float = float("-inf")
    faults: int = 0

    def __post_init__(self) -> None:
        self.size = float(self.most)

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return max(1, int(self.size))

    def succeeded(self) -> None:
        """Widen after a success."""
        self.faults = 0
        if self.size < self.most:
            self.size = min(float(self.most), self.size + 1 / max(self.size, 1.0))

    def refused(self, now: float, sent_at: float) -> None:
        """Narrow after the server refused; once for all requests that left before it was last narrowed."""
        self._narrow(now, sent_at, FALL)

    def failed(self, now: float, sent_at: float) -> None:
        """Narrow only when faults persist: a single one says nothing about load."""
        self.faults += 1
        if self.faults >= PERSISTENT:
            self._narrow(now, sent_at, FAULT_FALL)

    def _narrow(self, now: float, sent_at: float, fall: float) -> None:
        if sent_at > self.narrowed_at:
            self.size = max(1.0, self.size * fall)
            self.narrowed_at = now


LOOK_SECONDS = 1.0
GRANT_SECONDS = 0.25
"""Slots are taken from the book for so long at a time: many at high rates, one by one at low ones."""
_MOST_SLOTS = 256
_REMEMBERED = 2048
_NEVER = float("-inf")


@dataclass(slots=True)
class Turn:
    """One call that may leave, under the pace that changed last at `version`; `sent_at` is wall time."""

    sent_at: float
    tokens: int
    version: float


@dataclass(slots=True)
class _Slots:
    """Slots taken from the book and not used yet."""

    next_at: float = 0.0
    interval: float = 0.0
    left: int = 0


class Throttle:
    """Admits calls to one model; any number of loops and threads may share it.

    Args:
        model: the name under which the pace is kept.
        most: calls in flight at most.
        declared: limits somebody set.
        book: where the pace is kept.
        clock: wall time, which all machines have in common, and waiting.
    """

    def __init__(
        self, model: str, most: int, declared: Declared, book: PaceBook, clock: Clock | None = None
    ) -> None:
        self._model, self._declared, self._book = model, declared, book
        self._clock = clock or Clock()
        self.window = Window(most)
        self._places = Places(lambda: self.window.limit)
        self._head = Places(lambda: 1)
        self._lock = threading.Lock()
        self._slots = _Slots()
        self._sent: deque[float] = deque(maxlen=_REMEMBERED)
        self._free = not declared.any
        self._looked_at = _NEVER
        self._version = Pace().changed_at
        self._held_until = 0.0
        self.refusals = 0

    @asynccontextmanager
    async def turn(self, request: Request[Any]) -> AsyncIterator[Turn]:
        """Wait for a place and a slot; the place is given up on leaving.

        Args:
            request: whose tokens are estimated where a limit counts them.

        Raises:
            ReplyStoreError: the shared book cannot be used.
        """
        tokens = 0 if self._declared.tokens_per_minute is None else request_tokens(request)
        await self._places.enter()
        try:
            if not (self._free and self._looked_of_late()):
                await self._wait_for_slot(tokens)
            turn = Turn(self._clock.now(), tokens, self._version)
            self._sent.append(turn.sent_at)
            yield turn
        finally:
            self._places.leave()

    async def served(self, turn: Turn, used: int | None) -> None:
        """The call was answered, and took so many tokens."""
        with self._lock:
            self.window.succeeded()
        if self._declared.tokens_per_minute is not None and used is not None:
            await self._change(lambda pace: (pace.settle(turn.tokens, used, self._declared), None))

    async def refused(self, turn: Turn, wait_seconds: float) -> None:
        """The server says it is asked too much."""
        now = self._clock.now()
        with self._lock:
            self.refusals += 1
            self.window.refused(now, turn.sent_at)
            rate = self._rate(turn.sent_at)

        def learn(pace: Pace) -> tuple[Pace, Pace]:
            after = pace.refused(now, turn.sent_at, turn.version, wait_seconds, rate)
            return after, after

        after = await self._change(learn)
        with self._lock:
            self._free = False
            self._held_until = max(self._held_until, after.held_until)
            if after.changed_at != self._version:
                self._version, self._slots.left = after.changed_at, 0

    def failed(self, turn: Turn) -> None:
        """The server is at fault, or the connection is."""
        with self._lock:
            self.window.failed(self._clock.now(), turn.sent_at)

    def _rate(self, at: float) -> float:
        """Calls of this process in the second around a time."""
        return float(max(1, sum(abs(sent - at) <= 0.5 for sent in self._sent)))

    def _looked_of_late(self) -> bool:
        """Whether somebody looked of late; when it is time again, one caller looks and the others go on."""
        now = self._clock.now()
        with self._lock:
            first, due = self._looked_at == _NEVER, now >= self._looked_at + LOOK_SECONDS
            if due and not first:
                self._looked_at = now
        return not due

    async def _wait_for_slot(self, tokens: int) -> None:
        await self._head.enter()
        try:
            if self._free and self._looked_of_late():  # whoever was before this one found nothing that limits
                return
            at = self._own_slot()
            if at is None:
                at = await self._take(tokens)
            while (wait := max(at, self._held_until) - self._clock.now()) > 0:
                await self._clock.sleep(wait)
        finally:
            self._head.leave()

    def _own_slot(self) -> float | None:
        with self._lock:
            if not self._slots.left:
                return None
            self._slots.left -= 1
            at = self._slots.next_at
            self._slots.next_at += self._slots.interval
            return at

    async def _take(self, tokens: int) -> float:
        """Take slots from the book, the first for this call; those of tokens are taken one by one."""
        now, declared = self._clock.now(), self._declared

        def take(pace: Pace) -> tuple[Pace, tuple[Pace, int, float, float]]:
            rate = pace.allowed(now, declared)
            one_by_one = rate is None or declared.tokens_per_minute is not None
            count = 1 if one_by_one or rate is None else max(1, min(_MOST_SLOTS, int(rate * GRANT_SECONDS)))
            taken, at, interval = pace.take(now, count, tokens, declared)
            return taken, (taken, count, at, interval)

        after, count, at, interval = await self._change(take)
        with self._lock:
            self._looked_at = now
            self._version = after.changed_at
            self._held_until = after.held_until
            self._free = not declared.any and after.rate(now) is None
            self._slots = _Slots(at + interval, interval, count - 1)
        return at

    async def _change(self, change: Change[Told]) -> Told:
        # the book may be a database elsewhere: never wait for it in the loop
        return await asyncio.to_thread(self._book.change, self._model, change)
