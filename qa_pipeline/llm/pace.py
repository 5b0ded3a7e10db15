"""How fast a model may be asked: a pure state of one process.

Slots are given out as in the generic cell rate algorithm (ITU-T I.371): one time, `next_at`, moves on by the
interval of each slot. The rate is learned: after a refusal it starts below the rate that was refused and
comes back to it along CUBIC's curve (Ha, Rhee, Xu 2008), fast at first, slowly near what was refused, and
beyond it ever faster, so that a quota that was raised is found. Times are seconds of one clock.
"""

import math
from dataclasses import dataclass, replace

CATCH_UP_SECONDS = 0.25
"""Slots missed by up to so long are made up for; a process that was busy elsewhere is not slowed twice."""
FALLS = (0.97, 0.94, 0.88, 0.75, 0.5)
"""Share of the refused rate to fall to: little at first, more each time that was not enough."""
RETURN_SECONDS = 30.0
"""How long the rate takes back to the one that was refused."""
QUIET_SECONDS = 3.0
"""A refusal of a request that left so soon after the rate fell says that it did not fall far enough."""
_SEARCHING = len(FALLS) - 1
_FORGET_AT = 6.0
"""After so many times RETURN_SECONDS without a refusal nothing holds the rate any more."""
_FARTHEST = 3600.0
_SLOWEST = 1 / 60


@dataclass(frozen=True, slots=True)
class Declared:
    """Limits somebody set; None where nobody did."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return self.requests_per_minute is not None or self.tokens_per_minute is not None


@dataclass(frozen=True, slots=True)
class Pace:
    """The state of one model.

    Args:
        next_at: when the next request may leave.
        tokens_at: the same, held back by tokens.
        held_until: the server asked to be left alone until then.
        refused_rate: requests per second at which the server last refused; None if it never did.
        streak: how often in a row the rate was refused again soon after it fell; the more, the deeper it
            falls.
        changed_at: when it fell.
    """

    next_at: float = 0.0
    tokens_at: float = 0.0
    held_until: float = 0.0
    refused_rate: float | None = None
    streak: int = _SEARCHING
    changed_at: float = 0.0

    def rate(self, now: float) -> float | None:
        """Requests per second that were learned; None when nothing limits them."""
        if self.refused_rate is None:
            return None
        elapsed = (now - self.changed_at) / RETURN_SECONDS
        if elapsed > _FORGET_AT:
            return None
        depth = 1 - FALLS[self.streak if elapsed < 1 else 0]  # beyond what was refused it always grows gently
        return max(_SLOWEST, self.refused_rate * (1 + depth * (elapsed - 1) ** 3))

    def allowed(self, now: float, declared: Declared) -> float | None:
        """The lower of the learned and the declared rate; None when there is neither."""
        learned, rpm = self.rate(now), declared.requests_per_minute
        stated = None if rpm is None else rpm / 60 / (1 + CATCH_UP_SECONDS / 60)
        rates = [rate for rate in (learned, stated) if rate is not None]
        return min(rates) if rates else None

    def take(self, now: float, count: int, tokens: int, declared: Declared) -> "tuple[Pace, float, float]":
        """Reserve slots.

        Args:
            now: present time.
            count: how many slots.
            tokens: what all of them are expected to take.
            declared: limits somebody set.

        Returns:
            The new state, when the first slot begins, and the seconds between slots.
        """
        pace = self._after_a_jump(now)
        rate = pace.allowed(now, declared)
        interval = 0.0 if rate is None else 1 / rate
        start = max(pace.next_at, now - CATCH_UP_SECONDS)
        tokens_at = pace.tokens_at
        if declared.tokens_per_minute is not None:
            tokens_at = max(tokens_at, now - CATCH_UP_SECONDS)
            start = max(start, tokens_at)
            tokens_at += tokens * 60 / declared.tokens_per_minute
        taken = replace(pace, next_at=start + interval * count, tokens_at=tokens_at)
        return taken, max(start, pace.held_until, now), interval

    def settle(self, estimated: int, used: int, declared: Declared) -> "Pace":
        """Correct what was expected of a call's tokens by what it took."""
        if declared.tokens_per_minute is None:
            return self
        return replace(self, tokens_at=self.tokens_at + (used - estimated) * 60 / declared.tokens_per_minute)

    def refused(self, now: float, sent_at: float, version: float, wait: float, sent_rate: float) -> "Pace":
        """Learn from a refusal.

        Args:
            now: present time.
            sent_at: when the refused request left.
            version: `changed_at` of the pace it left under; one that left before
                the rate fell says nothing of this pace.
            wait: seconds the server asks to wait.
            sent_rate: requests per second this process sent then, for a rate that is not known yet.
        """
        pace = self._after_a_jump(now)
        held = replace(pace, held_until=max(pace.held_until, now + wait))
        if version != pace.changed_at:
            return held
        learned = pace.rate(sent_at)
        soon = pace.streak + 1 if sent_at < pace.changed_at + QUIET_SECONDS else 0
        return replace(
            held,
            refused_rate=max(learned or sent_rate, _SLOWEST),
            streak=_SEARCHING if learned is None else min(soon, _SEARCHING),
            changed_at=now,
            next_at=max(pace.next_at, now),
        )

    def _after_a_jump(self, now: float) -> "Pace":
        """Times that lie far ahead were noted by a clock that has been set back since."""
        times = (self.next_at, self.tokens_at, self.held_until, self.changed_at)
        if max(times) <= now + _FARTHEST and all(math.isfinite(time) for time in times):
            return self
        return replace(self, next_at=now, tokens_at=now, held_until=now, changed_at=now)
