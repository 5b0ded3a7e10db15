"""Waiting for one's turn: a place in the window of this process and a slot in the pace that all share.

What belongs here: admitting calls one after the other and telling pace and window how they went. What does
not: trying again (`hosted.py`), what a refusal teaches (`pace.py`, `window.py`).

While nothing limits a model, a turn costs no look at the shared book; the book is read once in
LOOK_SECONDS, so that a limit another process met is heard of.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from qa_pipeline.llm.base import Request
from qa_pipeline.llm.clock import Clock
from qa_pipeline.llm.limits.book import Change, PaceBook, Told
from qa_pipeline.llm.limits.pace import Declared, Pace
from qa_pipeline.llm.limits.window import Window
from qa_pipeline.llm.money.tokens import request_tokens

LOOK_SECONDS = 1.0
GRANT_SECONDS = 0.25
"""Slots are taken from the book for so long at a time: many at high rates, one by one at low ones."""
_MOST_SLOTS = 256
_NEVER = float("-inf")


@dataclass(slots=True)
class Turn:
    """One call that may leave; `sent_at` is wall time."""

    sent_at: float
    tokens: int


@dataclass(slots=True)
class _Slots:
    """Slots taken from the book and not used yet."""

    next_at: float = 0.0
    interval: float = 0.0
    left: int = 0


@dataclass(slots=True)
class _Since:
    """What happened since the rate last fell, and when calls left of late."""

    sent: deque[float] = field(default_factory=lambda: deque(maxlen=2048))
    served: int = 0
    refused: int = 0

    def rate(self, now: float) -> float:
        """Calls that left in the last second."""
        return float(max(1, sum(1 for at in self.sent if at > now - 1.0)))

    def share(self) -> float:
        """Refusals among replies."""
        return self.refused / max(1, self.served + self.refused)


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
        self._lock = threading.Lock()
        self._in_flight = 0
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._slots = _Slots()
        self._since = _Since()
        self._free = not declared.any
        self._looked_at = _NEVER
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
        await self._enter()
        try:
            await self._wait_for_slot(tokens)
            turn = Turn(self._clock.now(), tokens)
            self._since.sent.append(turn.sent_at)
            yield turn
        finally:
            self._leave()

    async def served(self, turn: Turn, used: int | None) -> None:
        """The call was answered, and took so many tokens."""
        with self._lock:
            self.window.succeeded()
            self._since.served += 1
        if self._declared.tokens_per_minute is not None and used is not None:
            await self._change(lambda pace: (pace.settle(turn.tokens, used, self._declared), None))

    async def refused(self, turn: Turn, wait_seconds: float) -> None:
        """The server says it is asked too much."""
        now = self._clock.now()
        with self._lock:
            self.refusals += 1
            self._since.refused += 1
            self.window.refused(now, turn.sent_at)
            rate, share = self._since.rate(now), self._since.share()

        def learn(pace: Pace) -> tuple[Pace, Pace]:
            after = pace.refused(now, turn.sent_at, wait_seconds, rate, share)
            return after, after

        after = await self._change(learn)
        with self._lock:
            self._free = False
            self._held_until = max(self._held_until, after.held_until)
            if after.changed_at == now:
                self._since.served = self._since.refused = 0
                self._slots.left = 0

    def failed(self, turn: Turn) -> None:
        """The server is at fault, or the connection is."""
        with self._lock:
            self.window.failed(self._clock.now(), turn.sent_at)

    async def _enter(self) -> None:
        with self._lock:
            if self._in_flight < self.window.limit:
                self._in_flight += 1
                return
            loop = asyncio.get_running_loop()
            place: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, place))
        try:
            await place  # whoever wakes it has counted it in
        except asyncio.CancelledError:
            self._give_back(place)
            raise

    def _give_back(self, place: asyncio.Future[None]) -> None:
        with self._lock:
            still_waiting = [waiter for waiter in self._waiting if waiter[1] is not place]
            was_waiting = len(still_waiting) < len(self._waiting)
            self._waiting = deque(still_waiting)
        if not was_waiting:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._in_flight -= 1
            while self._waiting and self._in_flight < self.window.limit:
                loop, place = self._waiting.popleft()
                if not loop.is_closed():
                    self._in_flight += 1
                    loop.call_soon_threadsafe(_wake, place)

    async def _wait_for_slot(self, tokens: int) -> None:
        if self._free and self._looked_of_late():
            return
        at = self._own_slot()
        if at is None:
            at = await self._take(tokens)
        while (wait := max(at, self._held_until) - self._clock.now()) > 0:
            await self._clock.sleep(wait)

    def _looked_of_late(self) -> bool:
        """Whether somebody looked of late; when it is time again, one caller looks and the others go on."""
        now = self._clock.now()
        with self._lock:
            first, due = self._looked_at == _NEVER, now >= self._looked_at + LOOK_SECONDS
            if due and not first:
                self._looked_at = now
        return not due

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
        now = self._clock.now()
        declared = self._declared

        def take(pace: Pace) -> tuple[Pace, tuple[Pace, int, float, float]]:
            rate = pace.allowed(now, declared)
            alone = declared.tokens_per_minute is not None or rate is None
            count = 1 if alone or rate is None else max(1, min(_MOST_SLOTS, int(rate * GRANT_SECONDS)))
            taken, at, interval = pace.take(now, count, tokens, declared)
            return taken, (taken, count, at, interval)

        after, count, at, interval = await self._change(take)
        with self._lock:
            self._looked_at = now
            self._held_until = after.held_until
            self._free = not declared.any and after.rate(now) is None
            self._slots = _Slots(at + interval, interval, count - 1)
        return at

    async def _change(self, change: Change[Told]) -> Told:
        # the book may be a database elsewhere: never wait for it in the loop
        return await asyncio.to_thread(self._book.change, self._model, change)


def _wake(place: "asyncio.Future[None]") -> None:
    if not place.done():
        place.set_result(None)
