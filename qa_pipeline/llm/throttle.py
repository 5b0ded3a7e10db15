"""Waiting for one's turn: the configured rate, what a server asked to wait, and its health.

Calls take their slots just before they leave. Slots are given out as in the generic cell rate algorithm
(ITU-T I.371): one time moves on by the interval of each slot.
"""

import threading

from qa_pipeline.llm.provider import Clock

CATCH_UP_SECONDS = 0.25
"""Slots missed by up to so long are made up for; a process that was busy elsewhere is not slowed twice."""


class Throttle:
    """A throttle that admits calls to one model; any number of loops and threads may share it.

    Args:
        requests_per_minute: a limit somebody set; None where nobody did.
        clock: steady time and waiting.

    Attributes:
        has_replied: whether the server ever answered.
        failing_since: steady time of the first failure since the last answer; None where there is none.
        failed_calls: calls given up since the last answer.
    """

    def __init__(self, requests_per_minute: int | None = None, clock: Clock | None = None) -> None:
        # slots that are caught up on must not lift a minute above the limit
        self._interval = (60 + CATCH_UP_SECONDS) / requests_per_minute if requests_per_minute else 0.0
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._next_at = 0.0
        self._held_until = 0.0
        self.has_replied = False
        self.failing_since: float | None = None
        self.failed_calls = 0

    async def turn(self) -> None:
        """Wait for a slot and take it."""
        while True:
            now = self._clock.steady()
            with self._lock:
                start = max(self._next_at, now - CATCH_UP_SECONDS)
                at = max(start, self._held_until)
                if at <= now:
                    self._next_at = start + self._interval
                    return
            await self._clock.sleep(at - now)

    def replied(self) -> None:
        """Note that the server answered, whatever it said: it is there."""
        with self._lock:
            self.has_replied = True
            self.failing_since = None
            self.failed_calls = 0

    def failed(self) -> float:
        """Note that a try failed; return the steady time since which no try succeeded."""
        with self._lock:
            if self.failing_since is None:
                self.failing_since = self._clock.steady()
            return self.failing_since

    def gave_up(self) -> int:
        """Count a call that no further try is made for; return how many there are since the last reply."""
        with self._lock:
            self.failed_calls += 1
            return self.failed_calls

    def refused(self, wait_seconds: float) -> None:
        """Hold every call back for as long as the server asks."""
        with self._lock:
            self._held_until = max(self._held_until, self._clock.steady() + wait_seconds)
