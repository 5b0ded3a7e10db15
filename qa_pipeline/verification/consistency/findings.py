"""What a check may say of a claim: it conflicts with the evidence, or something stays open.

What belongs here: the record the checks return, and adding two up. What does not: the checks.
"""

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
