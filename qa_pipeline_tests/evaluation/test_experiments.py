from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.experiments import ab_decision, rows_needed


@pytest.mark.parametrize(
    ("effect", "paired", "rows"),
    [
        (0.5, False, 64),
        (0.2, False, 394),
        (0.8, False, 26),
        (0.5, True, 34),
        (0.2, True, 199),
        (0.1, True, 787),
    ],
)
def test_rows_needed_are_those_of_the_published_tables(effect: float, paired: bool, rows: int) -> None:
    """Cohen 1988, two-sided at 0.05 with power 0.8; the paired ones as G*Power gives them."""
    assert rows_needed(effect, 1, paired=paired) == rows


@given(st.floats(0.02, 3), st.floats(0.01, 3), st.booleans())
def test_more_is_needed_for_a_smaller_difference_and_more_power(
    difference: float, deviation: float, paired: bool
) -> None:
    usual = rows_needed(difference, deviation, paired=paired)
    assert usual is not None
    for harder in (
        rows_needed(difference / 2, deviation, paired=paired),
        rows_needed(difference, deviation, paired=paired, power=0.95),
        rows_needed(difference, deviation, paired=paired, significance=0.01),
    ):
        assert harder is not None
        assert harder >= usual >= 2


def test_so_many_rows_find_the_difference_as_often_as_asked() -> None:
    rows = rows_needed(0.05, 0.2, power=0.9)
    assert rows is not None
    samples = np.random.default_rng(0).normal(0.05, 0.2, (4000, rows))
    assert (ttest_1samp(samples, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.9, abs=0.015)


def test_a_difference_nobody_can_find_has_no_number_and_an_obvious_one_needs_two_rows() -> None:
    assert rows_needed(1e-9, 1) is None
    assert rows_needed(1e9, 1) == 2


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ({"difference": 0}, "difference"),
        ({"difference": float("nan")}, "difference"),
        ({"deviation": 0}, "deviation"),
        ({"deviation": float("inf")}, "deviation"),
        ({"power": 1}, "power"),
        ({"power": 0.01}, "power"),
        ({"significance": 0}, "significance"),
    ],
)
def test_numbers_without_a_meaning_are_refused(numbers: dict[str, float], told: str) -> None:
    given_numbers: dict[str, Any] = {"difference": 0.1, "deviation": 1, **numbers}
    with pytest.raises(InputError, match=told):
        rows_needed(**given_numbers)


@pytest.mark.parametrize(
    ("p", "effect", "decision", "why"),
    [
        (0.049, 0.101, "deploy", "below 0.05"),
        (0.05, 0.5, "keep", "chance"),
        (0.001, 0.1, "keep", "too little"),
        (0.001, -0.5, "keep", "not better"),
        (None, 0.5, "keep", "no test"),
        (0.001, None, "keep", "no test"),
    ],
)
def test_what_is_tried_is_deployed_only_if_surely_and_enough_better(
    p: float | None, effect: float | None, decision: str, why: str
) -> None:
    found = ab_decision({"p": p, "cohens_d": effect})
    assert found["decision"] == decision
    assert why in found["why"]
