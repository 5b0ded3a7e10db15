"""Waiting for one's turn: what one process learns of a server's pace, its room and its health.

Calls take their slots just before they leave: slots taken long ahead would keep to a rate of the past. How
many are in flight, `complete_all` bounds; a server that refuses so many lowers the bound by additive increase
and multiplicative decrease (Chiu, Jain 1989).
"""

import math
import threading
from collections import deque
from dataclasses import dataclass

from qa_pipeline.llm.pace import Pace
from qa_pipeline.llm.provider import Clock

_REMEMBERED = 2048
_PAUSE = 0.05
"""Seconds between two looks whether a call in flight has ended."""
_DECREASE = 0.7  # of the calls in flight, when the server is crowded
_REPLIES_AN_INCREASE = 4
"""Replies for each call in flight until one more is tried: a refusal costs a round trip each time."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A call that may leave, under the pace that changed last at `version`; `sent_at` is steady time."""

    sent_at: float
    version: float


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
        self._requests_per_minute = requests_per_minute
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._pace = Pace()
        self._sent: deque[float] = deque(maxlen=_REMEMBERED)
        self._in_flight = 0
        self._most_in_flight = math.inf
        self._lowered_at = -math.inf
        self.has_replied = False
        self.failing_since: float | None = None
        self.failed_calls = 0

    async def turn(self) -> Turn:
        """Wait for a slot and take it; `end` gives it back."""
        while True:
            now = self._clock.steady()
            with self._lock:
                taken, at = self._pace.take(now, self._requests_per_minute)
                has_room = self._in_flight + 1 <= self._most_in_flight
                if at <= now and has_room:
                    self._pace = taken
                    self._sent.append(now)
                    self._in_flight += 1
                    return Turn(now, taken.changed_at)
            await self._clock.sleep(at - now if has_room else _PAUSE)

    def end(self) -> None:
        """Count a call that took its turn as ended."""
        with self._lock:
            self._in_flight -= 1

    def replied(self) -> None:
        """Note that the server answered, whatever it said: it is there."""
        with self._lock:
            self.has_replied = True
            self.failing_since = None
            self.failed_calls = 0
            self._most_in_flight += 1 / (_REPLIES_AN_INCREASE * self._most_in_flight)

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

    def crowded(self, turn: Turn) -> None:
        """Lower the number of calls in flight; the server refused a call because of it."""
        with self._lock:
            if turn.sent_at <= self._lowered_at:
                return  # it left among more than are let out now
            self._most_in_flight = max(1, min(self._in_flight - 1, int(self._in_flight * _DECREASE)))
            self._lowered_at = self._clock.steady()

    def refused(self, turn: Turn, wait_seconds: float) -> None:
        """Slow down; the server says that it is asked too much."""
        with self._lock:
            rate = float(max(1, sum(abs(sent - turn.sent_at) <= 0.5 for sent in self._sent)))
            self._pace = self._pace.refused(
                self._clock.steady(), turn.sent_at, turn.version, wait_seconds, rate
            )
