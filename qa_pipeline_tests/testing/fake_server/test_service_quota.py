"""The quota never lets more in than it has, and says exactly when it lets the next one in."""

from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.testing.fake_server.service import Quota


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.floats(0, 5), max_size=200), st.floats(1, 1000), st.integers(1, 20))
def test_never_more_than_burst_and_refill_are_let_in(steps: list[float], rate: float, burst: int) -> None:
    clock = Clock()
    quota = Quota(rate, burst, clock)
    granted = 0
    for step in steps:
        clock.now += step
        granted += quota.take() == 0
    assert granted <= burst + sum(steps) * rate / 60 + 1e-6


@given(st.floats(1, 1000), st.integers(1, 20))
def test_who_waits_as_long_as_told_is_let_in(rate: float, burst: int) -> None:
    clock = Clock()
    quota = Quota(rate, burst, clock)
    assert [quota.take() for _ in range(burst)] == [0.0] * burst
    for _ in range(50):
        wait = quota.take()
        assert 0 < wait <= 60 / rate + 1e-9
        clock.now += wait
        assert quota.take() == 0.0


def test_it_never_holds_more_than_its_burst() -> None:
    clock = Clock()
    quota = Quota(60, 3, clock)
    clock.now += 1000
    assert [quota.take() == 0 for _ in range(5)] == [True, True, True, False, False]
