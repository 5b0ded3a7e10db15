"""How many calls of a process are in flight: additive increase, multiplicative decrease.

What belongs here: the size of the window and what changes it. What does not: waiting for a place in it.
The rule is TCP's (Chiu, Jain 1989): each window full of successes widens it by one; a refusal narrows it.
"""

from dataclasses import dataclass

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
