"""How well scores tell supported answers from unsupported ones: all figures, for many weightings at once.

Figures are vectorised over rows of weights, so that a thousand resamples cost a few passes. Equal scores
stand in one step: no threshold parts them. Everything follows from the weight of supported and unsupported
items at each step, from the highest score down.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import kendalltau, spearmanr

from qa_pipeline.statistics import Floats, ratio

Flags = npt.NDArray[np.bool_]

METRICS = (
    "auroc",
    "balanced_accuracy",
    "balanced_accuracy_best",
    "f1_unsupported",
    "precision",
    "coverage",
    "reject_precision",
    "reject_coverage",
    "coverage_at_target",
    "calibration_error",
)
BINS = 15
LEAST_IN_BIN = 30
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Task:
    """One scorer over one set of items.

    Args:
        scores: of the items; NaN is unknown.
        supported: whether people call the item supported.
        accept: from which score on the shipped rule accepts; None where there is no rule.
        reject: below which score it rejects; equal to `accept` but for a rule that leaves items open.
        probability: whether calibration is asked for.
    """

    scores: Floats
    supported: Flags
    accept: float | None
    reject: float | None
    probability: bool

    @property
    def known(self) -> Flags:
        """Return which items have a score."""
        return ~np.isnan(self.scores)


@dataclass(frozen=True)
class Steps:
    """Weights up to each step: shape (resamples, steps), and the score of each step, falling."""

    scores: Floats
    supported: Floats
    unsupported: Floats

    @property
    def totals(self) -> tuple[Floats, Floats]:
        """Return the weight of all supported and of all unsupported items."""
        return self.supported[:, -1], self.unsupported[:, -1]

    def above(self, threshold: float) -> tuple[Floats, Floats]:
        """Return the weight of supported and unsupported items with at least this score."""
        place = int(np.searchsorted(-self.scores, -threshold, side="right"))
        if place == 0:
            nothing = np.zeros(len(self.supported))
            return nothing, nothing
        return self.supported[:, place - 1], self.unsupported[:, place - 1]


def measure(task: Task, weights: Floats, target: float) -> dict[str, Floats]:
    """Compute every figure of `METRICS` for every row of weights; NaN where it has no meaning.

    Args:
        task: scores and labels of n items.
        weights: shape (resamples, n).
        target: precision that `coverage_at_target` asks for.

    Each row of `coverage_at_target` has a threshold of its own, the lowest that reaches the target: over
    resamples it therefore leans upwards.
    `balanced_accuracy` takes what the rule does not accept for unsupported, `f1_unsupported` what it rejects:
    the two differ only for a rule that leaves items open. Shares of coverage are of all items, unknown ones
    included, since those can be neither accepted nor rejected.
    """
    scored = task.known
    blank = np.full(len(weights), np.nan)
    figures = dict.fromkeys(METRICS, blank)
    if not scored.any():
        return figures
    steps = steps_of(task.scores[scored], task.supported[scored], weights[:, scored])
    every = weights.sum(axis=1)
    figures["auroc"] = _auroc(steps)
    figures["balanced_accuracy_best"] = _best_balance(task, steps)
    figures["coverage_at_target"] = _coverage_at(steps, target, every)
    if task.accept is not None and task.reject is not None:
        figures |= _of_rule(steps, task.accept, task.reject, every)
    if task.probability:
        figures["calibration_error"] = _calibration_error(task, weights[:, scored])
    return figures


def steps_of(scores: Floats, supported: Flags, weights: Floats) -> Steps:
    """Sum the weights of items at each distinct score and above."""
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    ends = np.flatnonzero(np.append(np.diff(falling) != 0, True))
    weighted = weights[:, order]
    of_supported = np.cumsum(weighted * supported[order], axis=1)[:, ends]
    return Steps(falling[ends], of_supported, np.cumsum(weighted, axis=1)[:, ends] - of_supported)


def _auroc(steps: Steps) -> Floats:
    """Return the area under the ROC curve; trapezoids count ties by half (Hanley and McNeil 1982)."""
    hits, alarms = (np.pad(side, ((0, 0), (1, 0))) for side in (steps.supported, steps.unsupported))
    supported, unsupported = steps.totals
    area = np.asarray(np.trapezoid(hits, alarms, axis=1))
    return ratio(area, supported * unsupported)


def _best_balance(task: Task, steps: Steps) -> Floats:
    """Return the balanced accuracy at the threshold that is best for the items as they are.

    It is chosen on the very items it is measured on, so this is an upper bound; resamples keep it, since
    choosing anew in each would add to the bound.
    """
    plain = steps_of(task.scores[task.known], task.supported[task.known], np.ones((1, int(task.known.sum()))))
    gain = _gain(plain)[0]
    if np.isnan(gain).any() or gain.max() < 0:
        return np.full(len(steps.supported), np.nan if np.isnan(gain).any() else 0.5)
    halves: Floats = (_gain(steps)[:, int(gain.argmax())] + 1) / 2
    return halves


def _gain(steps: Steps) -> Floats:
    """Return the share of supported items less share of unsupported ones, above each step."""
    supported, unsupported = (
        np.broadcast_to(total[:, None], steps.supported.shape) for total in steps.totals
    )
    return ratio(steps.supported, supported) - ratio(steps.unsupported, unsupported)


def _coverage_at(steps: Steps, target: float, every: Floats) -> Floats:
    accepted = steps.supported + steps.unsupported
    enough = (steps.supported >= target * accepted - _ROUNDING) & (accepted > 0)
    return ratio(np.where(enough, accepted, 0.0).max(axis=1), every)


def _of_rule(steps: Steps, accept: float, reject: float, every: Floats) -> dict[str, Floats]:
    supported, unsupported = steps.totals
    right, wrong = steps.above(accept)
    unrejected_right, unrejected_wrong = steps.above(reject)
    missed, caught = supported - unrejected_right, unsupported - unrejected_wrong
    accepted, rejected = right + wrong, missed + caught
    return {
        "balanced_accuracy": (ratio(right, supported) + ratio(unsupported - wrong, unsupported)) / 2,
        "f1_unsupported": ratio(2 * caught, rejected + unsupported),
        "precision": ratio(right, accepted),
        "coverage": ratio(accepted, every),
        "reject_precision": ratio(caught, rejected),
        "reject_coverage": ratio(rejected, every),
    }


def reliability_bins(scores: Floats) -> npt.NDArray[np.int64]:
    """Return the bin of each score: bins of about equally many items, equal scores never parted.

    A bin of few items is far off by chance, so a small set has fewer bins.
    """
    bins = max(1, min(BINS, len(scores) // LEAST_IN_BIN))
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, bins + 1)[1:-1]))
    return np.searchsorted(edges, scores, side="right").astype(np.int64)


def _calibration_error(task: Task, weights: Floats) -> Floats:
    """Average the distance of score and share supported over bins (Nguyen and O'Connor 2015)."""
    scored = task.known
    scores, supported = task.scores[scored], task.supported[scored]
    places = reliability_bins(scores)
    member = np.zeros((len(scores), int(places.max()) + 1))
    member[np.arange(len(scores)), places] = scores - supported
    return ratio(np.abs(weights @ member).sum(axis=1), weights.sum(axis=1))


def spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Spearman's rho for each row of whole weights; NaN if one side is constant."""
    return _over_copies(lambda *sides: float(spearmanr(*sides).statistic), x, y, weights)


def kendall(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Kendall's tau-b for each row of whole weights (Kendall 1945); NaN if one side is constant."""
    return _over_copies(lambda *sides: float(kendalltau(*sides).statistic), x, y, weights)


def _over_copies(of: Callable[[Floats, Floats], float], x: Floats, y: Floats, weights: Floats) -> Floats:
    """Correlate as many copies of each item as its weight says."""
    correlations = np.full(len(weights), np.nan)
    for place, counts in enumerate(weights.astype(np.int64)):
        sides = np.repeat(x, counts), np.repeat(y, counts)
        if all(len(side) and np.ptp(side) > 0 for side in sides):
            correlations[place] = of(*sides)
    return correlations


def partial(of: Floats, first: Floats, second: Floats) -> Floats:
    """Return the correlation of two things with a third held still.

    Args:
        of: correlation of the two.
        first: of one with the third.
        second: of the other with the third.
    """
    variance = np.maximum((1 - first**2) * (1 - second**2), 0)
    return ratio(of - first * second, np.sqrt(np.where(variance > 1e-12, variance, 0)))


Span = dict[str, Any]


def annotated(items: pl.DataFrame) -> pl.Series:
    """Return which items have spans of people: those with some, and supported ones of a set that has some.

    An unsupported item without a span in such a set says nothing of where its fault is.
    """
    has = pl.col("spans").list.len() > 0
    in_set = has.any().over("dataset")
    return items.select(known=in_set & (has | (pl.col("label") == 1)))["known"]


def overlaps(items: pl.DataFrame, scorer: str) -> tuple[Floats, Floats, Floats]:
    """Count characters of each item that both, the scorer and people mark; 0 where not annotated."""
    counts = np.zeros((items.height, 3))
    rows = items.select("spans", f"spans_{scorer}", "characters", known=annotated(items)).iter_rows()
    for place, (people_spans, scorer_spans, length, is_annotated) in enumerate(rows):
        if is_annotated:
            people, of_scorer = _mask(people_spans or [], length), _mask(scorer_spans or [], length)
            counts[place] = (people & of_scorer).sum(), of_scorer.sum(), people.sum()
    return counts[:, 0], counts[:, 1], counts[:, 2]


def _mask(spans: Sequence[Span], length: int) -> Flags:
    mask = np.zeros(length, dtype=np.bool_)
    for span in spans:
        mask[span["start"] : span["end"]] = True
    return mask


def span_f1(counts: tuple[Floats, Floats, Floats], weights: Floats) -> Floats:
    """Return F1 over all characters of the items for each row of weights; NaN where people marked nothing."""
    both, scored, people = (weights @ count for count in counts)
    return ratio(2 * both, np.where(people > 0, scored + people, 0))
