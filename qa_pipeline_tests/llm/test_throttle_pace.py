"""The pace: laws first, then whole quotas played in a simulated minute."""

import heapq
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.throttle import FALLS, RETURN_SECONDS, Pace

TIMES = st.floats(0, 1e9)


@given(TIMES)
def test_nothing_is_held_back_while_nothing_limits(now: float) -> None:
    pace = Pace()
    for _ in range(3):
        pace, at = pace.take(now, None)
        assert at == now


@given(st.integers(1, 6000), st.lists(st.floats(0, 5), min_size=1, max_size=200))
def test_no_minute_holds_more_requests_than_were_declared(rpm: int, pauses: list[float]) -> None:
    pace, now, sent = Pace(), 1000.0, []
    for pause in pauses:
        now += pause
        for _ in range(3):
            pace, at = pace.take(now, rpm)
            sent.append(at)
    for start in sent:
        assert sum(start <= at < start + 60 for at in sent) <= rpm + 1


@given(st.floats(0.1, 1000))
def test_a_refusal_lowers_the_rate_and_time_brings_it_back_and_beyond(rate: float) -> None:
    pace = Pace().refused(1000.0, 999.0, 0.0, 0.0, rate)
    after = [pace.rate(1000.0 + seconds) for seconds in (0, 5, 15, RETURN_SECONDS, 50)]
    assert all(value is not None for value in after)
    assert after == sorted(after, key=lambda value: value or 0)
    assert after[0] is not None
    assert after[0] < rate <= (after[3] or 0) * 1.000001
    assert pace.rate(2000.0) is None


def test_a_refusal_of_a_request_that_left_under_another_pace_says_nothing_of_this_one() -> None:
    pace = Pace().refused(1000.0, 999.0, 0.0, 0.0, 100.0)
    assert pace.refused(1000.5, 1000.2, 0.0, 0.0, 100.0) == replace(pace, held_until=1000.5)


def test_a_server_is_left_alone_for_as_long_as_it_asks() -> None:
    pace = Pace().refused(1000.0, 999.0, 0.0, 30.0, 10.0)
    _, at = pace.take(1001.0, None)
    assert at == 1030.0


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


def test_the_rate_falls_deeper_each_time_that_was_not_enough_and_little_after_a_quiet_time() -> None:
    pace, now, falls = Pace().refused(1000.0, 999.0, 0.0, 0.0, 100.0), 1000.0, []
    for pause in (100.0, 1.0, 1.0, 1.0, 1.0, 1.0, 100.0):
        now += pause
        before = pace.rate(now) or 0
        pace = pace.refused(now, now, pace.changed_at, 0.0, 100.0)
        falls.append(round((pace.rate(now) or 0) / before, 2))
    assert falls == [*FALLS, FALLS[-1], FALLS[0]]


@pytest.mark.parametrize("burst", [1, 10, 600])
@pytest.mark.parametrize("latency", [0.05, 1.0])
@pytest.mark.parametrize("callers", [16, 64])
def test_an_unknown_quota_is_found_and_used(burst: int, latency: float, callers: int) -> None:
    """Callers without end against 600 requests a minute; a reply, or a refusal, comes after the latency."""
    quota, pace, now = Quota(10.0, burst), Pace(), 1000.0
    flying: list[tuple[float, float, float, bool]] = []
    sent: list[tuple[float, bool]] = []
    warm = 1000.0 + (120 if burst < 600 else 480)  # a bucket of a whole minute hides the limit for long
    while now < warm + 300:
        full = len(flying) == callers
        if full:
            now = max(now, flying[0][0])
        else:
            pace, now = pace.take(now, None)
        while flying and flying[0][0] <= now:
            done, left, version, granted = heapq.heappop(flying)
            if not granted:
                rate = sum(abs(at - left) <= 0.5 for at, _ in sent[-200:])
                pace = pace.refused(done, left, version, 0.1, rate)
        if not full:
            granted = quota.grants(now)
            sent.append((now, granted))
            heapq.heappush(flying, (now + latency, now, pace.changed_at, granted))
    late = [granted for at, granted in sent if at > warm]
    assert sum(late) >= 0.95 * 10 * 300
    assert late.count(False) <= 0.02 * len(late)
