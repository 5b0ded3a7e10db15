"""What the loopback server saw, counted.

What belongs here: counts, and what was asked last. What does not: deciding anything on them.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from qa_pipeline.llm.fake_server.play import Asked


@dataclass
class Stats:
    """Counts since the start.

    Args:
        last: the requests that were asked last, all of them or as many as it is bounded to.
        asked: well-formed requests for a reply that came with the right key.
        refused: those over the quota.
        granted: all others.
        answered: those that were sent a reply, usable or not.
        answered_again: those of them whose very same request had been sent one before.
        invalid: requests with a wrong key, path, model or body.
        batched: requests inside batch jobs.
        in_flight: requests that wait for their reply now.
        most_in_flight: the most that ever waited at once.
        faults: drawn faults by name.
        prompt_tokens: of answered requests.
    """

    last: deque[Asked]
    asked: int = 0
    refused: int = 0
    granted: int = 0
    answered: int = 0
    answered_again: int = 0
    invalid: int = 0
    batched: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    prompt_tokens: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    _arrivals: Counter[bytes] = field(default_factory=Counter)
    _answered: set[bytes] = field(default_factory=set)

    @property
    def repeats(self) -> int:
        """Requests that were asked more than once, for whatever reason, counted without their first time."""
        return self._arrivals.total() - len(self._arrivals)

    def arrives(self, request: bytes) -> int:
        """Count a request; how often the very same one came before."""
        before = self._arrivals[request]
        self._arrivals[request] = before + 1
        return before

    def is_answered(self, request: bytes) -> None:
        """Count a reply."""
        self.answered += 1
        if request in self._answered:
            self.answered_again += 1
        self._answered.add(request)

    def enters(self) -> None:
        """Count a request that waits."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def leaves(self) -> None:
        """Count one that waits no more."""
        self.in_flight -= 1

    def as_dict(self) -> dict[str, Any]:
        """All counts by name."""
        names = (
            "asked",
            "granted",
            "refused",
            "answered",
            "answered_again",
            "repeats",
            "invalid",
            "batched",
            "in_flight",
            "most_in_flight",
            "prompt_tokens",
        )
        return {**{name: getattr(self, name) for name in names}, "faults": dict(self.faults)}
