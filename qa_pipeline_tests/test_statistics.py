import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, t, ttest_1samp

from qa_pipeline.statistics import (
    Floats,
    Sums,
    holm,
    mean_bounds,
    t_bounds,
    t_p,
    wilson_bounds,
    wilson_interval,
)

GROUPS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=20)


def sums_of(groups: list[str], values: Floats) -> Sums:
    """Of one figure or several, rows × figures; NaN is unknown."""
    values = values.reshape(len(groups), -1)
    is_known = ~np.isnan(values)
    members = [np.array(groups) == name for name in sorted(set(groups))]
    totals = np.array([np.nan_to_num(values)[rows].sum(axis=0) for rows in members])
    return Sums(totals, np.array([is_known[rows].sum(axis=0) for rows in members], dtype=np.float64))


def bounds_of(groups: list[str], values: Floats, lowest: float = 0, highest: float = 1) -> list[float]:
    low, high = mean_bounds(sums_of(groups, values), np.array([lowest]), np.array([highest]))
    return [float(low[0]), float(high[0])]


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.floats(0, 1)), min_size=1, max_size=20))
def test_the_interval_of_a_mean_holds_it_and_stays_in_its_range(rows: list[tuple[str, float]]) -> None:
    groups, values = [group for group, _ in rows], np.array([value for _, value in rows])
    low, high = bounds_of(groups, values)
    if len(set(groups)) < 2:
        assert np.isnan([low, high]).all()
    else:
        assert 0 <= low <= values.mean() + 1e-9
        assert values.mean() - 1e-9 <= high <= 1


@given(GROUPS.filter(lambda groups: len(set(groups)) > 1), st.integers(0, 100))
def test_the_error_is_that_of_means_without_one_group(groups: list[str], seed: int) -> None:
    values, names = np.random.default_rng(seed).random(len(groups)), sorted(set(groups))
    means = np.array([values[np.array(groups) != name].mean() for name in names])
    expected = ((means - values.mean()) ** 2).sum() * (len(names) - 1) / len(names)
    assert sums_of(groups, values).errors[0] ** 2 == pytest.approx(expected)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30).filter(lambda values: np.ptp(values) > 1e-6))
def test_of_single_rows_interval_and_p_are_those_of_students_t(values: list[float]) -> None:
    sums = sums_of([f"{row:02d}" for row in range(len(values))], np.array(values))
    for confidence in (0.95, 0.99):
        low, high = t_bounds(sums, confidence)
        of_scipy = ttest_1samp(values, 0)
        assert (low[0], high[0]) == pytest.approx(tuple(of_scipy.confidence_interval(confidence)))
        assert t_p(sums)[0] == pytest.approx(of_scipy.pvalue)


@given(GROUPS, st.integers(0, 100), st.floats(-5, 5), st.floats(0.1, 9))
def test_a_mean_on_another_scale_or_turned_round_has_the_same_interval(
    groups: list[str], seed: int, least: float, span: float
) -> None:
    values = np.random.default_rng(seed).random(len(groups))
    low, high = bounds_of(groups, values)
    scaled = bounds_of(groups, least + span * values, least, least + span)
    assert scaled == pytest.approx([least + span * low, least + span * high], nan_ok=True)
    assert bounds_of(groups, 1 - values) == pytest.approx([1 - high, 1 - low], nan_ok=True)


def test_intervals_of_means_cover_what_they_say_with_few_unequal_documents_where_a_plain_t_does_not() -> None:
    """600 skewed sets of ten documents at once; three documents have eight times the rows of others."""
    drawn = np.random.default_rng(3)
    groups = [str(number) for number in range(10) for _ in range(4 if number < 7 else 32)]
    effects = drawn.normal(0, 0.7, (10, 600))[[int(group) for group in groups]]
    values = 1 / (1 + np.exp(-(1 + effects + drawn.normal(0, 1, (len(groups), 600)))))
    true = float((1 / (1 + np.exp(-(1 + drawn.normal(0, np.hypot(0.7, 1), 1_000_000))))).mean())
    sums = sums_of(groups, values)

    def covered(low: Floats, high: Floats) -> float:
        return float(((low <= true) & (true <= high)).mean())

    assert 0.93 <= covered(*mean_bounds(sums, np.zeros(600), np.ones(600))) <= 0.97
    reach = t.ppf(0.975, 9) * sums.errors
    assert covered(sums.means - reach, sums.means + reach) < 0.93


def test_a_mean_without_a_greatest_value_is_bounded_by_t_and_its_least_value() -> None:
    values = np.array([0.0, 0.0, 0.0, 3.0])
    low, high = t_bounds(sums_of(list("abcd"), values))
    assert low[0] < 0
    assert bounds_of(list("abcd"), values, 0, np.inf) == pytest.approx([0, high[0]])


@given(st.dictionaries(st.text(max_size=3), st.one_of(st.none(), st.floats(0, 1)), max_size=8))
def test_adjusted_p_values_keep_their_order_and_none_is_smaller(p_values: dict[str, float | None]) -> None:
    adjusted = holm(p_values)
    tested = sorted((p, adjusted[name]) for name, p in p_values.items() if p is not None)
    assert [after for _, after in tested] == sorted(after for _, after in tested if after is not None)
    assert all(after is not None and p <= after <= 1 for p, after in tested)
    assert {name for name, p in adjusted.items() if p is None} == {
        name for name, p in p_values.items() if p is None
    }


def test_the_worked_example_of_holm() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    )


def columns_interval(successes: int, trials: int) -> tuple[float | None, float | None]:
    low, high = wilson_interval(pl.col("k"), pl.col("n"))
    frame = pl.DataFrame({"k": [successes], "n": [trials]})
    return frame.select(low.alias("low"), high.alias("high")).row(0)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_the_wilson_interval_of_scipy(counts: tuple[int, int]) -> None:
    successes, trials = counts
    reference = binomtest(successes, trials).proportion_ci(confidence_level=0.95, method="wilson")
    assert columns_interval(successes, trials) == pytest.approx((reference.low, reference.high), abs=1e-12)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_a_column_is_that_of_an_array_to_the_last_bit(counts: tuple[int, int]) -> None:
    assert wilson_bounds(*counts) == columns_interval(*counts)
