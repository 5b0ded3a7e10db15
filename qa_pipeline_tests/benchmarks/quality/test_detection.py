import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_score, roc_auc_score

from qa_pipeline.statistics import Floats
from qa_pipeline_tests.benchmarks.quality.detection import METRICS, Task, measure, reliability_bins

RARE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
SCORES = st.one_of(RARE, st.floats(0, 1).map(lambda value: round(value, 3)))
ROWS = st.lists(st.tuples(SCORES, st.booleans(), st.integers(0, 3)), min_size=1, max_size=30)


def task_of(
    rows: list[tuple[float, bool, int]], accept: float = 0.5, reject: float | None = None
) -> tuple[Task, Floats]:
    scores, supported, weights = (np.array(column) for column in zip(*rows, strict=True))
    task = Task(scores.astype(float), supported, accept, accept if reject is None else reject, True)
    return task, weights[None, :].astype(float)


def figures_of(task: Task, weights: Floats | None = None, target: float = 0.98) -> dict[str, float]:
    used = np.ones((1, len(task.scores))) if weights is None else weights
    return {name: float(values[0]) for name, values in measure(task, used, target).items()}


def same(found: float, expected: float | None) -> bool:
    return math.isnan(found) if expected is None else found == pytest.approx(expected, abs=1e-9)


@given(ROWS)
def test_figures_are_those_of_scikit_learn_whatever_the_weights(rows: list[tuple[float, bool, int]]) -> None:
    task, weights = task_of(rows)
    w = weights[0]
    found = figures_of(task, weights)
    accepted, supported = task.scores >= 0.5, task.supported
    if w[supported].sum() and w[~supported].sum():
        assert same(found["auroc"], roc_auc_score(supported, task.scores, sample_weight=w))
        expected = balanced_accuracy_score(supported, accepted, sample_weight=w)
        assert same(found["balanced_accuracy"], expected)
    else:
        assert same(found["auroc"], None)
        assert same(found["balanced_accuracy"], None)
    if w[accepted].sum():
        assert same(found["precision"], precision_score(supported, accepted, sample_weight=w))
    if w[~accepted].sum() or w[~supported].sum():
        assert same(found["f1_unsupported"], f1_score(~supported, ~accepted, sample_weight=w))


@given(ROWS)
def test_the_best_threshold_is_at_least_as_good_as_any_other(rows: list[tuple[float, bool, int]]) -> None:
    task, weights = task_of(rows)
    found = figures_of(task)
    if not math.isnan(found["balanced_accuracy"]):
        tried = {
            balanced_accuracy_score(task.supported, task.scores >= threshold)
            for threshold in {*task.scores.tolist(), 2.0}
        }
        assert same(found["balanced_accuracy_best"], max(tried))
        weighted = figures_of(task, weights)["balanced_accuracy_best"]
        assert math.isnan(weighted) or 0 <= weighted <= 1


@given(ROWS, st.sampled_from([0.5, 0.9, 0.98, 1.0]))
def test_coverage_at_a_precision_is_the_largest_a_threshold_reaches(
    rows: list[tuple[float, bool, int]], target: float
) -> None:
    task, weights = task_of(rows)
    w = weights[0]
    best = 0.0
    for threshold in task.scores:
        chosen = task.scores >= threshold
        if w[chosen].sum() and w[chosen & task.supported].sum() >= target * w[chosen].sum() - 1e-9:
            best = max(best, w[chosen].sum())
    if w.sum():
        assert same(figures_of(task, weights, target)["coverage_at_target"], best / w.sum())


@given(ROWS)
def test_a_weight_is_as_good_as_so_many_copies(rows: list[tuple[float, bool, int]]) -> None:
    copied = [row for row in rows for _ in range(row[2])]
    if not copied:
        return
    task, weights = task_of(rows)
    weighted = figures_of(task, weights)
    plain = figures_of(task_of(copied)[0])
    chosen_once = {"calibration_error", "balanced_accuracy_best"}  # on the items as they are
    for name in set(METRICS) - chosen_once:
        assert same(weighted[name], None if math.isnan(plain[name]) else plain[name]), name


def test_items_without_a_score_are_neither_accepted_nor_rejected_nor_forgotten() -> None:
    task = Task(np.array([0.9, 0.1, np.nan, np.nan]), np.array([True, False, True, False]), 0.5, 0.5, True)
    found = figures_of(task)
    assert (found["coverage"], found["reject_coverage"]) == (0.25, 0.25)
    assert (found["auroc"], found["balanced_accuracy"]) == (1.0, 1.0)


def test_scores_that_are_all_unknown_give_no_figure() -> None:
    task = Task(np.array([np.nan, np.nan]), np.array([True, False]), 0.5, 0.5, True)
    assert all(math.isnan(value) for value in figures_of(task).values())


def test_a_rule_that_leaves_items_open_accepts_and_rejects_apart() -> None:
    task = Task(
        np.array([1.0, 1.0, 0.5, 0.5, 0.0, 0.0]),
        np.array([True, True, True, False, False, True]),
        1.0,
        0.5,
        False,
    )
    found = figures_of(task)
    assert [found["precision"], found["coverage"]] == pytest.approx([1.0, 1 / 3])
    assert [found["reject_precision"], found["reject_coverage"]] == pytest.approx([0.5, 1 / 3])
    assert found["balanced_accuracy"] == pytest.approx((2 / 4 + 2 / 2) / 2)
    assert found["f1_unsupported"] == pytest.approx(2 * 1 / (2 + 2))
    assert math.isnan(found["calibration_error"])


@given(st.lists(SCORES, min_size=1, max_size=100))
def test_equal_scores_share_a_bin_and_bins_rise_with_scores(scores: list[float]) -> None:
    bins = reliability_bins(np.array(scores))
    by_score = sorted(zip(scores, bins.tolist(), strict=True))
    assert all(low[1] <= high[1] for low, high in itertools.pairwise(by_score))
    assert len(dict(by_score)) == len(set(by_score))


def test_probabilities_that_hold_have_no_calibration_error_and_bold_ones_do() -> None:
    supported = np.array(([True] * 8 + [False] * 2) * 10)
    honest = Task(np.full(100, 0.8), supported, 0.5, 0.5, True)
    bold = Task(np.full(100, 0.99), supported, 0.5, 0.5, True)
    assert figures_of(honest)["calibration_error"] == pytest.approx(0.0)
    assert figures_of(bold)["calibration_error"] == pytest.approx(0.19)
