import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, rankdata, spearmanr

from qa_pipeline_tests.benchmarks.quality.detection import kendall, partial, spearman

VALUES = st.one_of(st.sampled_from([1.0, 2.0, 3.0]), st.floats(-5, 5).map(lambda value: round(value, 2)))
ROWS = st.lists(st.tuples(VALUES, VALUES, st.integers(0, 3)), min_size=2, max_size=25)


@given(ROWS)
def test_correlations_are_those_of_scipy_over_as_many_copies(rows: list[tuple[float, float, int]]) -> None:
    x, y, weights = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    copies = np.repeat(np.arange(len(rows)), weights.astype(int))
    of_ranks, tau = spearman(x, y, weights[None])[0], kendall(x, y, weights[None])[0]
    if len(set(x[copies])) < 2 or len(set(y[copies])) < 2:
        assert math.isnan(of_ranks)
        assert math.isnan(tau)
    else:
        assert of_ranks == pytest.approx(spearmanr(x[copies], y[copies]).statistic, abs=1e-9)
        assert tau == pytest.approx(kendalltau(x[copies], y[copies]).statistic, abs=1e-9)


def test_many_distinct_values_are_compared_block_by_block() -> None:
    drawn = np.random.default_rng(2)
    x = drawn.normal(size=1200)
    y = x + drawn.normal(size=1200)
    assert kendall(x, y, np.ones((1, 1200)))[0] == pytest.approx(kendalltau(x, y).statistic)


def test_a_partial_correlation_is_that_of_what_the_third_leaves_unexplained() -> None:
    drawn = np.random.default_rng(4)
    held = drawn.normal(size=300)
    x, y = held + drawn.normal(size=300), held + drawn.normal(size=300)
    one = np.ones((1, 300))
    found = partial(spearman(x, y, one), spearman(x, held, one), spearman(y, held, one))[0]
    ranks = [rankdata(values) for values in (x, y, held)]
    left, right = (side - np.polyval(np.polyfit(ranks[2], side, 1), ranks[2]) for side in ranks[:2])
    assert found == pytest.approx(pearsonr(left, right).statistic)
    assert abs(found) < 0.2 < spearman(x, y, one)[0]


def test_nothing_correlates_with_nothing() -> None:
    none = np.zeros(0)
    assert math.isnan(spearman(none, none, np.zeros((1, 0)))[0])
    assert math.isnan(kendall(none, none, np.zeros((1, 0)))[0])
