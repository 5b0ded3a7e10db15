"""Share the rate limit, requested waits and server health between the calls to a model."""

import asyncio
from typing import TYPE_CHECKING

from qa_pipeline.llm.provider import Clock, PerLoop

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter


class Throttle:
    """A throttle that admits calls to a model, shared by loops and threads.

    `failing_since` is the monotonic time of the first failure since the last answer, if any. `failed_calls`
    counts the calls given up since then. A configured rate applies to each loop.
    """

    def __init__(self, requests_per_minute: int | None = None, clock: Clock | None = None) -> None:
        self._rate = requests_per_minute
        self._limiters = PerLoop(self._new_limiter)
        self._clock = clock or Clock()
        self._held_until = 0.0
        self.failing_since: float | None = None
        self.failed_calls = 0

    async def turn(self) -> None:
        """Wait until a call may be sent."""
        while (wait := self._held_until - self._clock.steady()) > 0:  # noqa: ASYNC110 - an end that moves
            await asyncio.sleep(wait)
        if self._rate:
            await self._limiters.get().acquire()

    def replied(self) -> None:
        """Record that the server answered, with any reply."""
        self.failing_since = None
        self.failed_calls = 0

    def failed(self) -> float:
        """Record a failed try, and return the monotonic time of the first failure since the last answer."""
        if self.failing_since is None:
            self.failing_since = self._clock.steady()
        return self.failing_since

    def refused(self, wait_seconds: float) -> None:
        """Delay all calls by the time that the server asks for."""
        self._held_until = max(self._held_until, self._clock.steady() + wait_seconds)

    def _new_limiter(self) -> "AsyncLimiter":
        from aiolimiter import AsyncLimiter

        # admit single calls, since a limiter of the whole minute would admit all its calls at once
        return AsyncLimiter(1, 60 / (self._rate or 1))
