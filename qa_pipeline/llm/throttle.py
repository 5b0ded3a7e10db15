"""What the calls to one model share: the configured rate, what a server asked to wait, and its health."""

import asyncio
from typing import TYPE_CHECKING

from qa_pipeline.llm.provider import Clock, PerLoop

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter


class Throttle:
    """A throttle that admits calls to one model; any number of loops and threads may share it.

    `failing_since` is the steady time of the first failure since the last answer, if there is one;
    `failed_calls` were given up since then. A rate that somebody set is kept in each loop.
    """

    def __init__(self, requests_per_minute: int | None = None, clock: Clock | None = None) -> None:
        self._rate = requests_per_minute
        self._limiters = PerLoop(self._new_limiter)
        self._clock = clock or Clock()
        self._held_until = 0.0
        self.failing_since: float | None = None
        self.failed_calls = 0

    async def turn(self) -> None:
        """Wait until a call may leave."""
        while (wait := self._held_until - self._clock.steady()) > 0:  # noqa: ASYNC110 - an end that moves
            await asyncio.sleep(wait)
        if self._rate:
            await self._limiters.get().acquire()

    def replied(self) -> None:
        """Note that the server answered, whatever it said: it is there."""
        self.failing_since = None
        self.failed_calls = 0

    def failed(self) -> float:
        """Note that a try failed; return the steady time since which no try succeeded."""
        if self.failing_since is None:
            self.failing_since = self._clock.steady()
        return self.failing_since

    def refused(self, wait_seconds: float) -> None:
        """Hold every call back for as long as the server asks."""
        self._held_until = max(self._held_until, self._clock.steady() + wait_seconds)

    def _new_limiter(self) -> "AsyncLimiter":
        from aiolimiter import AsyncLimiter

        # one by one: a limiter of the whole minute would let all of its calls go at once
        return AsyncLimiter(1, 60 / (self._rate or 1))
