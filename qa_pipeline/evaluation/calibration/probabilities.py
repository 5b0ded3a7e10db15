"""Probabilities from scores of a judge or metric, fitted to what people said; and what that is worth.

What a calibration is worth is measured on groups that it was not fitted on.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, log_expit

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.detection import Task, measure, ratio
from qa_pipeline.evaluation.statistics import Estimate, Floats, Resamples, estimate

Flags = npt.NDArray[np.bool_]
Calibration = Callable[[Floats], Floats]
"""Scores, shape (n,), to probabilities of being right; unknown scores have unknown ones."""
Fit = Callable[[Floats, Flags], Calibration]
FitName = Literal["logistic", "isotonic"]
LEAST_OF_CLASS = 5
"""Labels of each kind below which nothing is fitted."""
FOLDS = 5


def fit_logistic(scores: Floats, right: Flags) -> Calibration:
    """Platt scaling: a logistic curve fitted to softened labels (Platt 1999), so that it is always finite.

    Args:
        scores: shape (n,), all known.
        right: what people said.

    Raises:
        InputError: there are fewer than `LEAST_OF_CLASS` labels of a kind.
    """
    check_labels(right)
    centre, scale = scores.mean(), scores.std() or 1.0
    standard = np.column_stack([(scores - centre) / scale, np.ones(len(scores))])
    yes, no = right.sum(), (~right).sum()
    target = np.where(right, (yes + 1) / (yes + 2), 1 / (no + 2))

    def loss(weights: Floats) -> tuple[float, Floats]:
        reached = standard @ weights
        lost = -(target * log_expit(reached) + (1 - target) * log_expit(-reached)).mean()
        return float(lost), standard.T @ (expit(reached) - target) / len(target)

    slope, offset = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B").x
    return lambda asked: np.asarray(expit(slope * (asked - centre) / scale + offset))


def fit_isotonic(scores: Floats, right: Flags) -> Calibration:
    """Isotonic regression (Zadrozny and Elkan 2002): the nearest curve that never falls.

    It is straight between the scores seen, and level beyond them.

    Args:
        scores: shape (n,), all known.
        right: what people said.

    Raises:
        InputError: there are fewer than `LEAST_OF_CLASS` labels of a kind.
    """
    check_labels(right)
    distinct, place, many = np.unique(scores, return_inverse=True, return_counts=True)
    shares = isotonic_regression(np.bincount(place, weights=right) / many, weights=many).x
    return lambda asked: np.asarray(np.interp(asked, distinct, shares))


FITS: dict[FitName, Fit] = {"logistic": fit_logistic, "isotonic": fit_isotonic}


def check_labels(right: Flags) -> None:
    """Refuse labels from which nothing can be fitted.

    Raises:
        InputError: saying how many there are.
    """
    yes, no = int(right.sum()), int((~right).sum())
    if min(yes, no) < LEAST_OF_CLASS:
        raise InputError(
            f"{yes} labels say right and {no} wrong; a calibration needs {LEAST_OF_CLASS} of each: rate more"
        )


def held_out(scores: Floats, right: Flags, groups: Sequence[str], fit: Fit, seed: int = 0) -> Floats:
    """The probability of each item by a calibration that saw no item of its group.

    Groups are dealt to `FOLDS` folds. Unknown where there are fewer groups than folds, or the other folds
    hold too few labels.
    """
    distinct, group = np.unique(np.array(groups, dtype=str), return_inverse=True)
    found = np.full(len(right), np.nan)
    if len(distinct) < FOLDS:
        return found
    fold = np.random.default_rng(seed).permutation(len(distinct))[group] % FOLDS
    for one in range(FOLDS):
        inside, outside = fold == one, fold != one
        try:
            found[inside] = fit(scores[outside], right[outside])(scores[inside])
        except InputError:
            continue
    return found


def calibration_figures(
    scores: Floats,
    right: Flags,
    groups: Sequence[str],
    fit: Fit = fit_logistic,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Any]:
    """Calibration error and Brier score of a scorer before and after calibration, on held-out groups.

    Args:
        scores: of labelled items, all known.
        right: what people said.
        groups: of the items.
        fit: the kind of calibration.
        resamples: of the intervals, over groups.
        seed: of the folds and draws.

    Returns:
        items, groups, and `calibration_error` and `brier` as `before`, `after` and `change`, each an estimate
        with its interval. Before is unknown for a score that is no probability: with a value below 0 or
        above 1.

    Raises:
        InputError: there are fewer than `LEAST_OF_CLASS` labels of a kind.
    """
    check_labels(right)
    after = held_out(scores, right, groups, fit, seed)
    both = np.isfinite(after)
    before = scores if scores.min() >= 0 and scores.max() <= 1 else np.full(len(scores), np.nan)
    draws = Resamples(groups, "calibration", resamples, seed)
    found = {}
    for when, said in (("before", before), ("after", after)):
        if np.isfinite(said[both]).any():
            found[when] = draws.over(partial(_errors, said, right, both))
    if len(found) == 2:
        found["change"] = {name: found["after"][name] - found["before"][name] for name in found["after"]}
    nothing = Estimate(value=None, low=None, high=None)
    told = {
        name: {
            when: estimate(found[when][name]) if when in found else nothing
            for when in ("before", "after", "change")
        }
        for name in ("calibration_error", "brier")
    }
    return {"items": len(right), "groups": len(set(groups)), **told}


def _errors(said: Floats, right: Flags, known: Flags, weights: Floats) -> dict[str, Floats]:
    """Both errors over the items known, for each row of weights."""
    probabilities, labels, of = said[known], right[known], weights[:, known]
    task = Task(probabilities, labels, None, None, probability=True)
    squared = ratio(of @ (probabilities - labels) ** 2, of.sum(axis=1))
    return {"calibration_error": measure(task, of, 1.0)["calibration_error"], "brier": squared}
