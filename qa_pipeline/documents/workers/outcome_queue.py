"""Outcomes that are put back into the order of their files.

What belongs here: holding the few that came before their turn. What does not: where they come from
(`contained_run`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from qa_pipeline.documents.parsing import ParseOutcome

_MOST = 1000
_MOST_BYTES = 100_000_000


@dataclass(slots=True)
class OutcomeQueue:
    """Outcomes by the number of their file, of which each leaves when all before it have left.

    A slow file lets those after it wait; how many, and of how many bytes, is bounded by whoever asks `full`.
    """

    _waiting: dict[int, tuple[ParseOutcome, int]] = field(default_factory=dict)
    _size: int = 0
    _following: int = 0

    @property
    def full(self) -> bool:
        """Whether so much waits that no further file should be begun."""
        return len(self._waiting) >= _MOST or self._size >= _MOST_BYTES

    def add(self, number: int, outcome: ParseOutcome, size: int) -> None:
        """Take the outcome of a file, counted from 0, and how many bytes it came in."""
        self._waiting[number] = (outcome, size)
        self._size += size

    def in_order(self) -> Iterator[ParseOutcome]:
        """Give out what has its turn."""
        while self._following in self._waiting:
            outcome, size = self._waiting.pop(self._following)
            self._size -= size
            self._following += 1
            yield outcome
