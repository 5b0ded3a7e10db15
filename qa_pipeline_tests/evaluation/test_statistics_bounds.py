import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.statistics import check_levels, interval, lower_bound, trials_needed

levels = st.floats(0.5, 0.995)


@pytest.mark.parametrize(
    ("target", "confidence", "trials"),
    [(0.98, 0.95, 149), (0.95, 0.95, 59), (0.99, 0.95, 299), (0.98, 0.975, 183)],
)
def test_so_many_trials_without_an_error_show_a_target(target: float, confidence: float, trials: int) -> None:
    assert trials_needed(target, confidence) == trials
    assert lower_bound(trials, trials, confidence) >= target > lower_bound(trials - 1, trials - 1, confidence)


@given(levels, levels, st.floats(0.001, 0.2))
def test_the_trials_needed_are_the_least_that_do(target: float, confidence: float, wrong: float) -> None:
    needed = trials_needed(target, confidence, wrong)
    assert (needed is None) == (1 - wrong <= target) or needed is None or needed > 0
    if needed is not None:
        errors = -int(-(wrong * needed) // 1)
        assert lower_bound(needed - errors, needed, confidence) >= target


@given(st.integers(0, 500), st.integers(0, 500), levels)
def test_a_bound_lies_below_what_was_seen_and_falls_with_confidence(
    right: int, wrong: int, confidence: float
) -> None:
    trials = right + wrong
    low = lower_bound(right, trials, confidence)
    assert 0 <= low <= (right / trials if trials else 1)
    assert lower_bound(right, trials, min(0.999, confidence + 0.004)) <= low + 1e-12
    found = interval(right, trials)
    assert 0 <= found.low <= (found.value or 0) <= found.high <= 1 or found.value is None


@pytest.mark.parametrize(("target", "confidence"), [(0, 0.95), (1, 0.95), (1.2, 0.95), (0.98, 0), (0.98, 1)])
def test_levels_no_bound_can_reach_are_refused(target: float, confidence: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        check_levels(target, confidence)
