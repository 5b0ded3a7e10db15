"""A quota that refills: so many requests a minute, and so many at once.

What belongs here: letting requests in and saying how long the next must wait. What does not: how a protocol
tells it.
"""

import time
from collections.abc import Callable

_ROUNDING = 1e-9


class Quota:
    """A bucket of tokens, full at first; each request takes one.

    Args:
        per_minute: tokens that flow in.
        burst: tokens the bucket holds.
        clock: seconds that never go back.
    """

    def __init__(self, per_minute: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._at = clock()

    def take(self) -> float:
        """Take a token; 0 if there was one, else the seconds until the next, and none is taken."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens >= 1 - _ROUNDING:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self._rate
