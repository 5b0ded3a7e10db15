import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from qa_pipeline.calibration.fitting import (
    HIGH,
    ScoredRows,
    check_levels,
    choose_threshold,
    decided_rows,
)
from qa_pipeline.errors import InputError
from qa_pipeline.statistics import lower_bound, trials_needed
from qa_pipeline_tests.calibration.populations import (
    Population,
    broken_promises,
    falling_off,
    level,
    rising,
)


@pytest.mark.parametrize(
    "population",
    [
        rising(0.85, rows=4),
        rising(0.6),
        level(0.9499),
        level(0.9499, rows=4),
        falling_off(1.0, 0.85, rows=3),
        falling_off(0.9, 0.97),
    ],
)
def test_at_most_one_calibration_in_twenty_promises_too_much(population: Population) -> None:
    trials = 300
    broken = broken_promises(population, target=0.95, groups=400, trials=trials, seed=1)
    assert binomtest(round(broken * trials), trials, 0.05, alternative="greater").pvalue > 0.05


scored = st.lists(
    st.tuples(st.integers(0, 30), st.booleans(), st.none() | st.floats(0, 1)), max_size=200
).map(
    lambda drawn: ScoredRows(
        np.array([group for group, _, _ in drawn], dtype=np.int64),
        np.array([right for _, right, _ in drawn], dtype=np.bool_),
        np.array([float("nan") if score is None else score for _, _, score in drawn], dtype=np.float64),
    )
)


@given(scored, st.floats(0.5, 0.99), st.sampled_from(["from", "below", "up_to"]))
def test_what_is_chosen_passed_its_own_test(rows: ScoredRows, target: float, direction: str) -> None:
    chosen = choose_threshold(rows, direction, target=target, confidence=0.9)  # type: ignore[arg-type]
    if chosen.passed is not None:
        passed = chosen.passed
        assert passed == decided_rows(rows, passed.threshold, direction)  # type: ignore[arg-type]
        assert lower_bound(passed.right, passed.n, chosen.confidence) >= target
        assert 0.9 <= chosen.confidence <= 1 - 0.1 / 3 + 1e-12
        assert passed.n >= (trials_needed(target, 0.9) or 0)
    assert chosen.most <= len(np.unique(rows.group))


@given(scored)
def test_each_group_is_counted_once_and_an_unscored_row_never(rows: ScoredRows) -> None:
    for limit in (HIGH[0], HIGH[-1], 0.0):
        tested = decided_rows(rows, limit, "from")
        assert tested.n == len(set(rows.group[rows.score >= limit].tolist()))
        assert tested.right <= tested.n


@pytest.mark.parametrize(("target", "confidence"), [(0, 0.95), (1, 0.95), (1.2, 0.95), (0.98, 0), (0.98, 1)])
def test_levels_no_bound_can_reach_are_refused(target: float, confidence: float) -> None:
    with pytest.raises(InputError):
        check_levels(target, confidence)
