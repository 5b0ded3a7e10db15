"""Waiting for one's turn: a place in the window of calls in flight, and a slot in the pace of the model.

Both are learned in one process. Calls of a limited model take their slots one after the other, just before
they leave: slots taken long ahead would keep to a rate of the past.
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
from qa_pipeline.llm.pace import Declared, Pace
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


_REMEMBERED = 2048


@dataclass(slots=True)
class Turn:
    """One call that may leave, under the pace that changed last at `version`; `sent_at` is wall time."""

    sent_at: float
    tokens: int
    version: float


class Throttle:
    """Admits calls to one model; any number of loops and threads may share it.

    Args:
        most: calls in flight at most.
        declared: limits somebody set.
        clock: wall time and waiting.
    """

    def __init__(self, most: int, declared: Declared, clock: Clock | None = None) -> None:
        self._declared = declared
        self._clock = clock or Clock()
        self.window = Window(most)
        self._places = Places(lambda: self.window.limit)
        self._head = Places(lambda: 1)
        self._lock = threading.Lock()
        self._pace = Pace()
        self._sent: deque[float] = deque(maxlen=_REMEMBERED)
        self.refusals = 0

    @asynccontextmanager
    async def turn(self, request: Request[Any]) -> AsyncIterator[Turn]:
        """Wait for a place and a slot; the place is given up on leaving.

        Args:
            request: whose tokens are estimated where a limit counts them.
        """
        tokens = 0 if self._declared.tokens_per_minute is None else request_tokens(request)
        await self._places.enter()
        try:
            if self._limited:
                await self._wait_for_slot(tokens)
            with self._lock:
                turn = Turn(self._clock.now(), tokens, self._pace.changed_at)
                self._sent.append(turn.sent_at)
            yield turn
        finally:
            self._places.leave()

    def served(self, turn: Turn, used: int | None) -> None:
        """The call was answered, and took so many tokens; None where that is not known."""
        with self._lock:
            self.window.succeeded()
            if used is not None:
                self._pace = self._pace.settle(turn.tokens, used, self._declared)

    def refused(self, turn: Turn, wait_seconds: float) -> None:
        """The server says it is asked too much."""
        now = self._clock.now()
        with self._lock:
            self.refusals += 1
            self.window.refused(now, turn.sent_at)
            rate = float(max(1, sum(abs(sent - turn.sent_at) <= 0.5 for sent in self._sent)))
            self._pace = self._pace.refused(now, turn.sent_at, turn.version, wait_seconds, rate)

    def failed(self, turn: Turn) -> None:
        """The server is at fault, or the connection is."""
        with self._lock:
            self.window.failed(self._clock.now(), turn.sent_at)

    @property
    def _limited(self) -> bool:
        now = self._clock.now()
        return self._declared.any or self._pace.held_until > now or self._pace.rate(now) is not None

    async def _wait_for_slot(self, tokens: int) -> None:
        await self._head.enter()
        try:
            with self._lock:
                self._pace, at, _ = self._pace.take(self._clock.now(), 1, tokens, self._declared)
            while (wait := max(at, self._pace.held_until) - self._clock.now()) > 0:
                await self._clock.sleep(wait)
        finally:
            self._head.leave()
