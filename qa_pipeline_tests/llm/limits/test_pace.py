"""The pace: laws first, then whole quotas played in a simulated minute."""

import heapq
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.limits.pace import CATCH_UP_SECONDS, Declared, Pace

NONE = Declared()
TIMES = st.floats(0, 1e9)


@given(TIMES, st.integers(1, 100), st.integers(0, 10_000))
def test_nothing_is_held_back_while_nothing_limits(now: float, count: int, tokens: int) -> None:
    _, at, interval = Pace().take(now, count, tokens, NONE)
    assert (at, interval) == (now, 0.0)


@given(st.integers(1, 6000), st.lists(st.floats(0, 5), min_size=1, max_size=200))
def test_no_minute_holds_more_requests_than_were_declared(rpm: int, pauses: list[float]) -> None:
    declared, pace, now, sent = Declared(requests_per_minute=rpm), Pace(), 1000.0, []
    for pause in pauses:
        now += pause
        pace, at, interval = pace.take(now, 3, 0, declared)
        sent += [at, at + interval, at + 2 * interval]
    for start in sent:
        assert sum(start <= at < start + 60 for at in sent) <= rpm + 1


@given(st.lists(st.integers(1, 5000), min_size=2, max_size=50))
def test_tokens_are_spread_over_the_minute(tokens: list[int]) -> None:
    declared, pace, now, left = Declared(tokens_per_minute=60_000), Pace(), 1000.0, []
    for number in tokens:
        pace, at, _ = pace.take(now, 1, number, declared)
        left.append(at)
    assert left == sorted(left)
    assert left[-1] - left[0] >= sum(tokens[:-1]) / 1000 - CATCH_UP_SECONDS - 1e-6


def test_tokens_that_were_not_used_are_given_back() -> None:
    declared = Declared(tokens_per_minute=60_000)
    pace, _, _ = Pace().take(1000.0, 1, 5000, declared)
    assert pace.settle(5000, 1000, declared).tokens_at == pytest.approx(pace.tokens_at - 4)


@given(st.floats(0.1, 1000), st.floats(0, 1))
def test_a_refusal_lowers_the_rate_and_time_brings_it_back_and_beyond(rate: float, share: float) -> None:
    pace = Pace().refused(1000.0, 999.0, 0.0, rate, share)
    after = [pace.rate(1000.0 + seconds) for seconds in (0, 5, 12, 25, 40)]
    assert all(value is not None for value in after)
    assert after == sorted(after, key=lambda value: value or 0)
    assert after[0] is not None
    assert after[0] < rate <= (after[3] or 0) * 1.000001
    assert pace.rate(2000.0) is None


def test_refusals_of_requests_that_left_before_the_rate_fell_say_nothing_new() -> None:
    pace = Pace().refused(1000.0, 999.0, 0.0, 100.0, 1.0)
    assert pace.refused(1000.5, 999.9, 0.0, 100.0, 1.0) == replace(pace, held_until=1000.5)


def test_a_server_is_left_alone_for_as_long_as_it_asks() -> None:
    pace = Pace().refused(1000.0, 999.0, 30.0, 10.0, 0.0)
    _, at, _ = pace.take(1001.0, 1, 0, NONE)
    assert at == 1030.0


@given(st.floats(5000, 1e9))
def test_a_clock_that_was_set_back_holds_nothing_back_for_long(jump: float) -> None:
    pace = Pace().refused(2e9, 2e9 - 1, 60.0, 10.0, 0.5)
    _, at, _ = pace.take(2e9 - jump, 1, 0, NONE)
    assert at <= 2e9 - jump + 61


class Quota:
    """A server's refilling quota, as it refuses."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst, self.left, self.at = rate, burst, burst, 0.0

    def grants(self, now: float) -> bool:
        self.left = min(self.burst, self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@pytest.mark.parametrize("burst", [1, 10, 600])
@pytest.mark.parametrize("latency", [0.05, 1.0])
def test_an_unknown_quota_is_found_and_used(burst: int, latency: float) -> None:
    """Sixteen callers without end against 600 requests a minute."""
    quota, pace = Quota(10.0, burst), Pace()
    events = [(1000.0, number) for number in range(16)]
    answers: list[tuple[float, bool]] = []
    since = [0, 0]
    while events[0][0] < 1000.0 + 420:
        now, caller = heapq.heappop(events)
        pace, at, _ = pace.take(now, 1, 0, NONE)
        granted = quota.grants(at)
        answers.append((at, granted))
        since[granted] += 1
        done = at + latency
        if not granted:
            sent_rate = sum(when > at - 1 for when, _ in answers)
            before = pace
            pace = pace.refused(at, at, 0.1, sent_rate, since[0] / sum(since))
            since = [0, 0] if pace.changed_at != before.changed_at else since
        heapq.heappush(events, (done, caller))
    late = [granted for at, granted in answers if at > 1000.0 + 120]
    assert sum(late) >= 0.95 * 10 * 300 - burst
    assert late.count(False) <= 0.02 * len(late)
