"""How fast a model may be asked: a pure state of one process.

Slots are given out as in the generic cell rate algorithm (ITU-T I.371): one time, `next_at`, moves on by the
interval of each slot. The rate is learned: after a refusal it starts below the rate that was refused and
comes back to it along CUBIC's curve (Ha, Rhee, Xu 2008), fast at first, slowly near what was refused, and
beyond it ever faster, so that a quota that was raised is found. Times are seconds of one clock that never
runs back.
"""

from dataclasses import dataclass, replace

CATCH_UP_SECONDS = 0.25
"""Slots missed by up to so long are made up for; a process that was busy elsewhere is not slowed twice."""
FALLS = (0.97, 0.94, 0.88, 0.75, 0.5)
"""Share of the refused rate to fall to: little at first, more each time that was not enough."""
RETURN_SECONDS = 30.0
"""The time the rate takes back to the one that was refused."""
QUIET_SECONDS = 3.0
"""A refusal of a request that left so soon after the rate fell says that it did not fall far enough."""
_SEARCHING = len(FALLS) - 1
_FORGET_AT = 6.0
"""After so many times RETURN_SECONDS without a refusal nothing holds the rate any more."""
_SLOWEST = 1 / 60  # requests a second: the rate never falls below one a minute


@dataclass(frozen=True, slots=True)
class Pace:
    """The state of one model.

    Args:
        next_at: when the next request may leave.
        held_until: the server asked to be left alone until then.
        refused_rate: requests per second at which the server last refused; None if it never did.
        streak: how often in a row the rate was refused again soon after it fell; the more, the deeper it
            falls.
        changed_at: when it fell.
    """

    next_at: float = 0.0
    held_until: float = 0.0
    refused_rate: float | None = None
    streak: int = _SEARCHING
    changed_at: float = 0.0

    def rate(self, now: float) -> float | None:
        """Return the requests per second that were learned; None when nothing limits them."""
        if self.refused_rate is None:
            return None
        elapsed = (now - self.changed_at) / RETURN_SECONDS
        if elapsed > _FORGET_AT:
            return None
        depth = 1 - FALLS[self.streak if elapsed < 1 else 0]  # beyond what was refused it always grows gently
        return max(_SLOWEST, self.refused_rate * (1 + depth * (elapsed - 1) ** 3))

    def allowed(self, now: float, requests_per_minute: int | None) -> float | None:
        """Return the lower of the learned and the configured rate; None when there is neither."""
        learned = self.rate(now)
        if requests_per_minute is None:
            return learned
        stated = requests_per_minute / 60 / (1 + CATCH_UP_SECONDS / 60)
        return stated if learned is None else min(learned, stated)

    def take(self, now: float, requests_per_minute: int | None) -> "tuple[Pace, float]":
        """Reserve the next slot.

        Args:
            now: present time.
            requests_per_minute: a limit somebody set.

        Returns:
            The new state, and when the slot begins.
        """
        rate = self.allowed(now, requests_per_minute)
        start = max(self.next_at, now - CATCH_UP_SECONDS)
        taken = replace(self, next_at=start if rate is None else start + 1 / rate)
        return taken, max(start, self.held_until, now)

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
        slower = replace(self, held_until=max(self.held_until, now + wait))
        if version != self.changed_at:
            return slower
        learned = self.rate(sent_at)
        soon = self.streak + 1 if sent_at < self.changed_at + QUIET_SECONDS else 0
        return replace(
            slower,
            refused_rate=max(learned or sent_rate, _SLOWEST),
            streak=_SEARCHING if learned is None else min(soon, _SEARCHING),
            changed_at=now,
            next_at=max(self.next_at, now),
        )
