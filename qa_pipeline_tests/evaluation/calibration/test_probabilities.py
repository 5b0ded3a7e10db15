import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.calibration.probabilities import (
    FITS,
    FitName,
    Flags,
    calibration_figures,
    fit_isotonic,
    fit_logistic,
    held_out,
)
from qa_pipeline.evaluation.statistics import Floats


def labelled(count: int = 400, seed: int = 0) -> tuple[Floats, Flags, list[str]]:
    """Overconfident probabilities: the log-odds of the right ones, three times as large; two to a group."""
    drawn = np.random.default_rng(seed)
    odds = drawn.normal(size=count)
    right = drawn.random(count) < 1 / (1 + np.exp(-odds))
    return 1 / (1 + np.exp(-3 * odds)), right, [str(place // 2) for place in range(count)]


scores = st.lists(st.floats(-5, 5, allow_nan=False), min_size=12, max_size=30)


@given(scores, st.sampled_from(list(FITS)), st.integers(0, 99))
def test_probabilities_are_within_bounds_and_keep_the_order_of_scores_one_way(
    given_scores: list[float], kind: FitName, seed: int
) -> None:
    values = np.array(given_scores)
    right = np.arange(len(values)) % 2 == seed % 2
    found = FITS[kind](values, right)(np.sort(values))
    assert found.min() >= 0
    assert found.max() <= 1
    steps = np.diff(found)
    assert (steps >= -1e-12).all() or (kind == "logistic" and (steps <= 1e-12).all())


@given(scores, st.integers(0, 99))
def test_isotonic_is_that_of_scikit_learn(given_scores: list[float], seed: int) -> None:
    values = np.round(np.array(given_scores), 3)
    right = np.random.default_rng(seed).permutation(np.arange(len(values)) % 2 == 0)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(values, right)
    asked = np.linspace(-6, 6, 41)
    assert fit_isotonic(values, right)(asked) == pytest.approx(theirs.predict(asked), abs=1e-9)


def test_logistic_finds_the_curve_that_made_the_labels() -> None:
    drawn = np.random.default_rng(0)
    values = drawn.normal(2, 3, 20_000)
    right = drawn.random(20_000) < 1 / (1 + np.exp(-(0.8 * values - 1)))
    asked = np.array([-4.0, 0.0, 1.25, 4.0])
    wanted = 1 / (1 + np.exp(-(0.8 * asked - 1)))
    assert fit_logistic(values, right)(asked) == pytest.approx(wanted, abs=0.02)


def test_labels_that_a_score_parts_without_error_and_scores_that_are_all_the_same_are_fitted() -> None:
    right = np.arange(20) >= 10
    parted = fit_logistic(np.arange(20.0), right)(np.arange(20.0))
    assert np.isfinite(parted).all()
    assert parted[0] < 0.2 < 0.8 < parted[-1]
    assert fit_logistic(np.ones(20), right)(np.ones(3)) == pytest.approx([0.5] * 3)


def test_an_unknown_score_has_an_unknown_probability() -> None:
    values, right, _ = labelled()
    for fit in FITS.values():
        assert np.isnan(fit(values, right)(np.array([np.nan, 0.5]))).tolist() == [True, False]


@pytest.mark.parametrize("kind", FITS)
def test_calibration_helps_on_groups_it_did_not_see(kind: FitName) -> None:
    values, right, groups = labelled(1000)
    found = calibration_figures(values, right, groups, FITS[kind], resamples=200)
    assert found["calibration_error"]["before"]["value"] > 0.1
    assert found["calibration_error"]["after"]["value"] < 0.06
    assert found["brier"]["change"]["high"] < 0
    assert (found["items"], found["groups"]) == (1000, 500)


def test_no_item_is_calibrated_by_labels_of_its_group() -> None:
    values, right, groups = labelled(60)
    before = held_out(values, right, groups, fit_logistic)
    turned = right.copy()
    turned[:2] = ~turned[:2]
    after = held_out(values, turned, groups, fit_logistic)
    assert (before[:2] == after[:2]).all()
    assert (before != after).any()


def test_a_score_that_is_no_probability_has_no_error_before() -> None:
    values, right, groups = labelled()
    found = calibration_figures(-values, right, groups, resamples=0)
    assert found["calibration_error"]["before"]["value"] is None
    assert found["calibration_error"]["change"]["value"] is None
    assert found["calibration_error"]["after"]["value"] is not None


def test_too_few_labels_of_a_kind_are_refused_and_too_few_groups_have_no_figure() -> None:
    values, right, groups = labelled(100)
    with pytest.raises(InputError, match="needs 5 of each"):
        fit_logistic(values, np.arange(100) < 3)
    with pytest.raises(InputError, match="0 wrong"):
        calibration_figures(values, np.ones(100, dtype=bool), groups)
    found = calibration_figures(values, right, ["one"] * 100, resamples=10)
    assert found["calibration_error"]["after"]["value"] is None
