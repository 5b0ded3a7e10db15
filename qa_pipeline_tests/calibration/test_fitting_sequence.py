import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from qa_pipeline.calibration.fitting import GRID, decided_rows, fit_side, lower_bound, trials_needed
from qa_pipeline.verification.deciding import SideName
from qa_pipeline_tests.calibration.populations import (
    Population,
    broken_promises,
    falling_off,
    level,
    rising,
)


@pytest.mark.parametrize(
    ("target", "confidence", "trials"),
    [(0.98, 0.95, 149), (0.95, 0.95, 59), (0.99, 0.95, 299), (0.98, 0.975, 183)],
)
def test_so_many_trials_without_an_error_show_a_target(target: float, confidence: float, trials: int) -> None:
    assert trials_needed(target, confidence) == trials
    assert lower_bound(trials, trials, confidence) >= target > lower_bound(trials - 1, trials - 1, confidence)


@given(st.integers(0, 500), st.integers(0, 500), st.floats(0.5, 0.995))
def test_a_bound_lies_below_what_was_seen_and_falls_with_confidence(
    right: int, wrong: int, confidence: float
) -> None:
    trials = right + wrong
    low = lower_bound(right, trials, confidence)
    assert 0 <= low <= (right / trials if trials else 1)
    assert lower_bound(right, trials, min(0.999, confidence + 0.004)) <= low + 1e-12


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
    lambda drawn: pl.DataFrame(
        drawn, {"group": pl.Int64, "right": pl.Boolean, "score": pl.Float64}, orient="row"
    )
)
sides = st.sampled_from(["accept", "reject", "contradict"])


@given(scored, st.floats(0.5, 0.99), sides)
def test_what_is_chosen_passed_its_own_test(rows: pl.DataFrame, target: float, side: SideName) -> None:
    fit = fit_side(rows, side, target=target, confidence=0.9)
    if fit.threshold is not None:
        assert (fit.precision_low or 0) >= target
        assert lower_bound(fit.right, fit.n, 0.9) >= target
        assert fit.n >= trials_needed(target, 0.9)
        assert fit.why is None
    assert fit.n <= rows["group"].n_unique()


@given(scored)
def test_each_group_is_counted_once_and_an_unscored_row_never(rows: pl.DataFrame) -> None:
    for limit in (GRID[0], GRID[-1], 0.0):
        tested = decided_rows(rows, "accept", limit)
        assert tested.groups == rows.filter(pl.col("score") >= limit)["group"].n_unique()
        assert tested.right <= tested.groups
