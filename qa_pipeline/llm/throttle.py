"""Waiting for one's turn: what one process learns of a server's pace, its room and its health.

Calls take their slots just before they leave: slots taken long ahead would keep to a rate of the past. How
many are in flight, `complete_all` bounds; a server that refuses so many lowers the bound by additive increase
and multiplicative decrease (Chiu, Jain 1989).

Slots are given out as in the generic cell rate algorithm (ITU-T I.371): one time, `next_at`, moves on by the
interval of each slot. The rate is learned: after a refusal it starts below the rate that was refused and
comes back to it along CUBIC's curve (Ha, Rhee, Xu 2008), fast at first, slowly near what was refused, and
beyond it ever faster, so that a quota that was raised is found. Times are seconds of one clock that never
runs back.
"""

import math
import threading
from collections import deque
from dataclasses import dataclass, replace

from qa_pipeline.llm.provider import Clock

CATCH_UP_SECONDS = 0.25
"""Slots missed by up to so long are made up for; a process that was busy elsewhere is not slowed twice."""
FALLS = (0.97, 0.94, 0.88, 0.75, 0.5)
"""Share of the refused rate to fall to: little at first, more each time that was not enough."""
RETURN_SECONDS = 30.0
"""The time the rate takes back to the one that was refused."""
QUIET_SECONDS = 3.0
"""A refusal of a request that left so soon after the rate fell says that it did not fall far enough."""
_SEARCHING = len(FALLS) - 1  # the deepest fall: how fast the server may be asked is not known yet
_FORGET_AT = 6.0
"""After so many times RETURN_SECONDS without a refusal nothing holds the rate any more."""
_SLOWEST = 1 / 60  # requests a second: the rate never falls below one a minute
_REMEMBERED = 2048  # calls of which the time is kept: the rate of a second is counted from them
_PAUSE = 0.05
"""Seconds between two looks whether a call in flight has ended."""
_DECREASE = 0.7  # of the calls in flight, when the server is crowded: half, as in TCP, would idle slots
_REPLIES_AN_INCREASE = 4
"""Replies for each call in flight until one more is tried: a refusal costs a round trip each time."""


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
