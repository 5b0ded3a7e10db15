"""What a check may say of a claim, and which stretches of a text are spoken for already."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings in words for people.

    A conflict refutes a claim that is close to its evidence; an open point only keeps it from being accepted
    without a model.
    """

    conflicts: tuple[str, ...] = ()
    open_points: tuple[str, ...] = ()

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(self.conflicts + other.conflicts, self.open_points + other.open_points)


class Occupied:
    """The characters of a text that belong to something already."""

    def __init__(self, length: int, spans: Iterable[tuple[int, int]] = ()) -> None:
        self._taken = bytearray(length)
        for start, end in spans:
            self.take(start, end)

    def take(self, start: int, end: int) -> None:
        """Mark a span as occupied."""
        self._taken[start:end] = b"\x01" * (end - start)

    def free(self, start: int, end: int) -> bool:
        """Whether no character of a span is occupied."""
        return self._taken.find(1, start, end) < 0
