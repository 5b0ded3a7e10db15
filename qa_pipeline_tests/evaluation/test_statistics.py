from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.statistics import (
    Floats,
    Resamples,
    check_levels,
    estimate,
    interval,
    lower_bound,
    trials_needed,
)

GROUPS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=20)


@given(GROUPS, st.integers(0, 3))
def test_items_of_a_group_rise_and_fall_together_and_the_number_of_groups_stays(
    groups: list[str], seed: int
) -> None:
    weights = np.concatenate(list(Resamples(groups, "set", 7, seed).blocks()))
    assert weights.shape == (8, len(groups))
    assert (weights[0] == 1).all()
    first = {group: groups.index(group) for group in groups}
    assert (weights == weights[:, [first[group] for group in groups]]).all()
    assert (weights[:, list(first.values())].sum(axis=1) == len(first)).all()


def test_draws_depend_on_seed_and_set_and_on_nothing_else() -> None:
    def drawn(key: str, seed: int) -> Floats:
        return np.concatenate(list(Resamples(list("aabbccdd"), key, 50, seed).blocks()))

    assert (drawn("one", 0) == drawn("one", 0)).all()
    assert (drawn("one", 0) != drawn("other", 0)).any()
    assert (drawn("one", 0) != drawn("one", 1)).any()


def test_of_no_items_nothing_is_drawn() -> None:
    assert [block.shape for block in Resamples([], "set", 50).blocks()] == [(1, 0)]


def test_large_sets_are_drawn_in_blocks_and_alike() -> None:
    groups = [str(number % 40) for number in range(30_000)]
    blocks = list(Resamples(groups, "set", 150, 0).blocks())
    assert max(len(block) for block in blocks) * len(groups) <= 2_000_000
    assert sum(len(block) for block in blocks) == 151


def mean_of(values: Floats, weights: Floats) -> dict[str, Floats]:
    return {"mean": weights @ values / weights.sum(axis=1)}


def test_an_interval_of_a_mean_covers_what_it_should_about_as_often_as_it_says() -> None:
    """Groups of ten equal items: an interval that took items for independent would be far too narrow."""
    drawn = np.random.default_rng(5)
    covered = 0
    for trial in range(200):
        of_groups = drawn.normal(size=40)
        groups = [str(number) for number in range(40) for _ in range(10)]
        found = Resamples(groups, str(trial), 300, 0).over(partial(mean_of, np.repeat(of_groups, 10)))
        told = estimate(found["mean"])
        assert told["low"] is not None
        assert told["high"] is not None
        covered += told["low"] <= 0 <= told["high"]
    assert 0.88 <= covered / 200 <= 0.99


def test_without_resamples_or_meaning_there_is_no_interval() -> None:
    assert estimate(np.array([0.5]))["low"] is None
    assert estimate(np.array([np.nan, 0.5, 0.5]))["value"] is None
    assert estimate(np.array([0.5, np.nan, np.nan, 0.4]))["low"] is None


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
