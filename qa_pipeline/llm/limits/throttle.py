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
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from qa_pipeline.llm.base import Request
from qa_pipeline.llm.clock import Clock
from qa_pipeline.llm.limits.book import Change, PaceBook, Told
from qa_pipeline.llm.limits.pace import Declared, Pace
from qa_pipeline.llm.limits.places import Places
from qa_pipeline.llm.limits.window import Window
from qa_pipeline.llm.money.tokens import request_tokens

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
