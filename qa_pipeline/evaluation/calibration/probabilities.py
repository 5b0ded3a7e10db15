"""Probabilities from scores of a judge or metric, fitted to what people said; and what that is worth.

What a calibration is worth is measured on groups that it was not fitted on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, log_expit

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.detection import Task, measure
from qa_pipeline.evaluation.statistics import Resamples, estimate

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
LEAST_OF_CLASS = 5
"""Labels of each kind below which nothing is fitted."""
FOLDS = 5


class Calibration(Protocol):
    """Scores to probabilities of being right; unknown scores have unknown ones."""

    def __call__(self, scores: Floats) -> Floats:
        """Probabilities: shape (n,)."""


Fit = Callable[[Floats, Flags], Calibration]


@dataclass(frozen=True)
class Logistic:
    """Logistic curve over standardised scores: shape (scorers,) each, and where it crosses a half."""

    centre: Floats
    scale: Floats
    slope: Floats
    offset: float

    def __call__(self, scores: Floats) -> Floats:
        """Probabilities of scores of shape (n,) or (n, scorers)."""
        standard = (scores.reshape(len(scores), -1) - self.centre) / self.scale
        return np.asarray(expit(standard @ self.slope + self.offset))


def fit_logistic(scores: Floats, right: Flags) -> Logistic:
    """Platt scaling: a logistic curve fitted to softened labels (Platt 1999), so that it is always finite.

    Args:
        scores: of one scorer, shape (n,), or of several, (n, scorers); all known.
        right: what people said.

    Raises:
        InputError: there are fewer than `LEAST_OF_CLASS` labels of a kind.
    """
    check_labels(right)
    wide = scores.reshape(len(scores), -1)
    centre, scale = wide.mean(axis=0), wide.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    standard = np.column_stack([(wide - centre) / scale, np.ones(len(wide))])
    yes, no = right.sum(), (~right).sum()
    target = np.where(right, (yes + 1) / (yes + 2), 1 / (no + 2))

    def loss(weights: Floats) -> tuple[float, Floats]:
        reached = standard @ weights
        lost = -(target * log_expit(reached) + (1 - target) * log_expit(-reached)).mean()
        return float(lost), standard.T @ (expit(reached) - target) / len(target)

    found = minimize(loss, np.zeros(standard.shape[1]), jac=True, method="L-BFGS-B").x
    return Logistic(centre, scale, found[:-1], float(found[-1]))


@dataclass(frozen=True)
class Isotonic:
    """The nearest curve that never falls: probabilities at scores, straight between, level beyond."""

    scores: Floats
    probabilities: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Probabilities of scores of shape (n,)."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities))


def fit_isotonic(scores: Floats, right: Flags) -> Isotonic:
    """Isotonic regression (Zadrozny and Elkan 2002) of labels on the scores of one scorer; all known.

    Raises:
        InputError: there are fewer than `LEAST_OF_CLASS` labels of a kind.
    """
    check_labels(right)
    distinct, place, many = np.unique(scores, return_inverse=True, return_counts=True)
    shares = np.bincount(place, weights=right) / many
    return Isotonic(distinct, np.asarray(isotonic_regression(shares, weights=many).x))


FITS: dict[str, Fit] = {"logistic": fit_logistic, "isotonic": fit_isotonic}


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
    _, group = np.unique(np.array(groups, dtype=object).astype(str), return_inverse=True)
    count = int(group.max()) + 1 if len(group) else 0
    found = np.full(len(right), np.nan)
    if count < FOLDS:
        return found
    fold = np.random.default_rng(seed).permutation(count)[group] % FOLDS
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
        scores: of labelled items; NaN is unknown, and such items say nothing.
        right: what people said.
        groups: of the items.
        fit: the kind of calibration.
        resamples: of the intervals, over groups.
        seed: of the folds and draws.

    Returns:
        items, groups, auroc of the score, and `calibration_error` and `brier` as `before`, `after` and
        `change`, each an estimate with its interval. Before is unknown for a score that is no probability:
        with a value below 0 or above 1.

    Raises:
        InputError: there are fewer than `LEAST_OF_CLASS` labels of a kind.
    """
    known = np.isfinite(scores)
    score, label = scores[known], right[known]
    of = [group for group, keep in zip(groups, known, strict=True) if keep]
    check_labels(label)
    after = held_out(score, label, of, fit, seed)
    before = score if score.min() >= 0 and score.max() <= 1 else np.full(len(score), np.nan)
    both = np.isfinite(after)
    draws = Resamples(of, "calibration", resamples, seed)
    found = draws.over(
        lambda weights: {
            "auroc": measure(Task(score, label, None, None, False), weights, 1.0)["auroc"],
            **_errors(before, label, both, weights, "before"),
            **_errors(after, label, both, weights, "after"),
        }
    )
    for name in ("calibration_error", "brier"):
        found[f"{name}_change"] = found[f"{name}_after"] - found[f"{name}_before"]
    told = {
        name: {when: estimate(found[f"{name}_{when}"]) for when in ("before", "after", "change")}
        for name in ("calibration_error", "brier")
    }
    return {"items": len(label), "groups": len(set(of)), "auroc": estimate(found["auroc"]), **told}


def _errors(said: Floats, right: Flags, both: Flags, weights: Floats, when: str) -> dict[str, Floats]:
    """Both errors over the same items."""
    usable = both & np.isfinite(said)
    blank = np.full(len(weights), np.nan)
    if not usable.any():
        return {f"calibration_error_{when}": blank, f"brier_{when}": blank}
    of = weights[:, usable]
    task = Task(said[usable], right[usable], None, None, probability=True)
    total = of.sum(axis=1)
    squared = np.divide(of @ (said - right)[usable] ** 2, total, out=blank.copy(), where=total > 0)
    return {
        f"calibration_error_{when}": measure(task, of, 1.0)["calibration_error"],
        f"brier_{when}": squared,
    }
