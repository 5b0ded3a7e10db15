from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.statistics import (
    Floats,
    Resamples,
    Sums,
    check_levels,
    estimate,
    flip_p,
    holm,
    interval,
    lower_bound,
    mean_bounds,
    share_bounds,
    trials_needed,
    wilson,
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


def sums_of(groups: list[str], values: Floats) -> Sums:
    """Of one figure or several, rows × figures; NaN is unknown."""
    values = values.reshape(len(groups), -1)
    names = sorted(set(groups))
    known = ~np.isnan(values)
    of = [np.array(groups) == name for name in names]
    totals = np.array([np.nan_to_num(values)[rows].sum(axis=0) for rows in of])
    return Sums(names, totals, np.array([known[rows].sum(axis=0) for rows in of], dtype=np.float64))


UNIT = (np.zeros(1), np.ones(1))


def bounds_of(sums: Sums, count: int = 500) -> tuple[float, float]:
    low, high = mean_bounds(sums, Resamples(sums.groups, "set", count), *UNIT)
    return float(low[0]), float(high[0])


@settings(deadline=None)
@given(GROUPS, st.integers(0, 100))
def test_the_interval_of_a_mean_holds_it_and_stays_in_its_range(groups: list[str], seed: int) -> None:
    sums = sums_of(groups, np.random.default_rng(seed).random(len(groups)))
    low, high = bounds_of(sums, 100)
    if len(set(groups)) < 2:
        assert np.isnan([low, high]).all()
    else:
        assert 0 <= low <= sums.means[0] <= high <= 1


def test_intervals_of_means_cover_what_they_say_with_few_documents_where_percentiles_do_not() -> None:
    """600 skewed sets of ten documents at once, each a figure of its own."""
    drawn = np.random.default_rng(3)
    groups = [str(number) for number in range(10) for _ in range(8)]
    effects = np.repeat(drawn.normal(0, 1, (10, 600)), 8, axis=0)
    values = 1 / (1 + np.exp(-(1 + effects + drawn.normal(0, 1, (80, 600)))))
    true = float((1 / (1 + np.exp(-(1 + drawn.normal(0, np.sqrt(2), 1_000_000))))).mean())
    sums = sums_of(groups, values)
    low, high = mean_bounds(sums, Resamples(sums.groups, "set", 500), np.zeros(600), np.ones(600))
    covered = ((low <= true) & (true <= high)).mean()
    means = Resamples(sums.groups, "set", 500).over(lambda weights: {"mean": weights @ sums.totals / 80})[
        "mean"
    ][1:]
    ends = np.quantile(means, [0.025, 0.975], axis=0)
    assert ((ends[0] <= true) & (true <= ends[1])).mean() < 0.93
    assert 0.93 <= covered <= 0.97


def test_equal_scores_leave_no_doubt_and_few_resamples_no_interval() -> None:
    same = sums_of(list("abcd"), np.full(4, 0.7))
    assert bounds_of(same) == pytest.approx((0.7, 0.7))
    assert np.isnan(bounds_of(same, 0)).all()


def test_unknown_scores_and_groups_without_any_count_for_nothing() -> None:
    alone = sums_of(list("aabbcc"), np.array([0.1, 0.2, 0.5, 0.6, 0.9, 0.8]))
    more = sums_of(list("aabbccdd"), np.array([0.1, 0.2, 0.5, 0.6, 0.9, 0.8, np.nan, np.nan]))
    assert more.means == pytest.approx(alone.means)
    assert more.errors == pytest.approx(alone.errors)


def test_the_error_of_a_mean_of_single_rows_is_the_usual_one() -> None:
    values = np.random.default_rng(0).random(30)
    sums = sums_of([str(row) for row in range(30)], values)
    assert sums.errors[0] == pytest.approx(values.std(ddof=1) / np.sqrt(30))


@given(st.integers(1, 300), st.data())
def test_a_share_of_rows_of_as_many_documents_has_wilsons_interval(trials: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, trials))
    values = np.array([1.0] * right + [0.0] * (trials - right))
    low, high = share_bounds(sums_of([f"{row:03d}" for row in range(trials)], values))
    found = binomtest(right, trials).proportion_ci(0.95, method="wilson")
    assert (low[0], high[0]) == pytest.approx((found.low, found.high))


def test_rows_of_one_document_are_worth_less_than_as_many_of_others() -> None:
    values = np.array([1.0] * 30 + [0.0] * 10)
    apart = share_bounds(sums_of([f"{row}" for row in range(40)], values))
    together = share_bounds(sums_of([f"{row // 10}" for row in range(40)], values))
    assert together[0] < apart[0]
    assert together[1] > apart[1]
    alike = share_bounds(sums_of([f"{row // 10}" for row in range(40)], np.ones(40)))
    assert alike[0] < share_bounds(sums_of([f"{row}" for row in range(40)], np.ones(40)))[0]


def test_the_printed_interval_is_the_normal_one_and_wilsons_is_another() -> None:
    """0.817 to 0.983 are 45 of 50 by the normal approximation (Wald), which holds 95 % only of many rows."""
    share, rows = 0.9, 50
    reach = 1.96 * np.sqrt(share * (1 - share) / rows)
    assert (round(share - reach, 3), round(share + reach, 3)) == (0.817, 0.983)
    low, high = wilson(np.array([share]), np.array([50.0]), np.array([1.96]))
    assert (round(float(low[0]), 3), round(float(high[0]), 3)) == (0.786, 0.957)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8))
def test_all_ways_to_flip_few_documents_give_the_p_of_scipy(differences: list[float]) -> None:
    totals = np.round(np.array(differences), 3)
    found = permutation_test(
        (totals,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False
    ) if len(totals) > 1 else None  # fmt: skip
    p = flip_p(totals[:, None], 10, 0)[0]
    assert p == pytest.approx(1.0 if found is None else found.pvalue)


def test_the_p_of_many_documents_hardly_differs_from_that_of_all_ways() -> None:
    totals = np.random.default_rng(1).normal(0.3, 1, (12, 6))
    exact = flip_p(totals, 10, 0)
    more = np.vstack([totals, np.zeros((3, 6))])
    assert flip_p(more, 20_000, 0) == pytest.approx(exact, abs=0.02)
    assert (flip_p(more, 500, 1) == flip_p(more, 500, 1)).all()


def test_without_a_difference_p_is_small_as_often_as_it_says() -> None:
    p = flip_p(np.random.default_rng(2).normal(size=(30, 2000)), 500, 0)
    assert 0.03 <= (p < 0.05).mean() <= 0.07
    assert flip_p(np.zeros((20, 1)), 100, 0)[0] == 1


@given(st.dictionaries(st.text(max_size=3), st.one_of(st.none(), st.floats(0, 1)), max_size=8))
def test_adjusted_p_values_keep_their_order_and_none_is_smaller(p_values: dict[str, float | None]) -> None:
    adjusted = holm(p_values)
    known = sorted((p, adjusted[name]) for name, p in p_values.items() if p is not None)
    assert [one for _, one in known] == sorted(one for _, one in known if one is not None)
    assert all(one is not None and p <= one <= 1 for p, one in known)
    assert {name for name, p in adjusted.items() if p is None} == {
        name for name, p in p_values.items() if p is None
    }


def test_the_worked_example_of_holm() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    )
