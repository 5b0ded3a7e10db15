"""Waiting for one's turn: a slot in the pace of the model, which one process learns.

Calls take their slots just before they leave: slots taken long ahead would keep to a rate of the past. How
many are in flight, `complete_all` bounds.
"""

import threading
from collections import deque
from dataclasses import dataclass

from qa_pipeline.llm.pace import Pace
from qa_pipeline.llm.provider import Clock

_REMEMBERED = 2048


@dataclass(frozen=True, slots=True)
class Turn:
    """One call that may leave, under the pace that changed last at `version`; `sent_at` is steady time."""

    sent_at: float
    version: float


class Throttle:
    """Admits calls to one model; any number of loops and threads may share it.

    Args:
        requests_per_minute: a limit somebody set; None where nobody did.
        clock: steady time and waiting.
    """

    def __init__(self, requests_per_minute: int | None = None, clock: Clock | None = None) -> None:
        self._requests_per_minute = requests_per_minute
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._pace = Pace()
        self._sent: deque[float] = deque(maxlen=_REMEMBERED)

    async def turn(self) -> Turn:
        """Wait for a slot and take it."""
        while True:
            now = self._clock.steady()
            with self._lock:
                taken, at = self._pace.take(now, self._requests_per_minute)
                if at <= now:
                    self._pace = taken
                    self._sent.append(now)
                    return Turn(now, taken.changed_at)
            await self._clock.sleep(at - now)

    def refused(self, turn: Turn, wait_seconds: float) -> None:
        """The server says it is asked too much."""
        with self._lock:
            rate = float(max(1, sum(abs(sent - turn.sent_at) <= 0.5 for sent in self._sent)))
            self._pace = self._pace.refused(
                self._clock.steady(), turn.sent_at, turn.version, wait_seconds, rate
            )
