"""How well scores tell supported answers from unsupported ones: all figures, for many weightings at once.

What belongs here: figures of one scorer over one set of items, vectorised over rows of weights, so that a
thousand resamples cost a few passes. What does not: drawing resamples (`resampling.py`) and reports.

Equal scores stand in one step: no threshold parts them. Everything follows from the weight of supported and
unsupported items at each step, from the highest score down.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
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
        """Items with a score."""
        return ~np.isnan(self.scores)


@dataclass(frozen=True)
class _Steps:
    """Weights up to each step: shape (resamples, steps), and the score of each step, falling."""

    scores: Floats
    supported: Floats
    unsupported: Floats

    @property
    def totals(self) -> tuple[Floats, Floats]:
        return self.supported[:, -1], self.unsupported[:, -1]

    def above(self, threshold: float) -> tuple[Floats, Floats]:
        """Weight of supported and unsupported items with at least this score."""
        place = int(np.searchsorted(-self.scores, -threshold, side="right"))
        if place == 0:
            nothing = np.zeros(len(self.supported))
            return nothing, nothing
        return self.supported[:, place - 1], self.unsupported[:, place - 1]


def measure(task: Task, weights: Floats, target: float) -> dict[str, Floats]:
    """Every figure of `METRICS` for every row of weights; NaN where it has no meaning.

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
    known = task.known
    blank = np.full(len(weights), np.nan)
    found = dict.fromkeys(METRICS, blank)
    if not known.any():
        return found
    steps = _steps(task.scores[known], task.supported[known], weights[:, known])
    every = weights.sum(axis=1)
    found["auroc"] = _auroc(steps)
    found["balanced_accuracy_best"] = _best_balance(task, steps)
    found["coverage_at_target"] = _coverage_at(steps, target, every)
    if task.accept is not None and task.reject is not None:
        found |= _of_rule(steps, task.accept, task.reject, every)
    if task.probability:
        found["calibration_error"] = _calibration_error(task, weights[:, known])
    return found


def _steps(scores: Floats, supported: Flags, weights: Floats) -> _Steps:
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    ends = np.flatnonzero(np.append(np.diff(falling) != 0, True))
    weighted = weights[:, order]
    of_supported = np.cumsum(weighted * supported[order], axis=1)[:, ends]
    return _Steps(falling[ends], of_supported, np.cumsum(weighted, axis=1)[:, ends] - of_supported)


def _ratio(part: Floats, whole: Floats) -> Floats:
    blank = np.full(np.shape(part), np.nan)
    shares: Floats = np.divide(part, whole, out=blank, where=whole > 0)
    return shares


def _auroc(steps: _Steps) -> Floats:
    """Area under the ROC curve by trapezoids, which counts ties by half (Hanley and McNeil 1982)."""
    hits, alarms = _from_zero(steps.supported), _from_zero(steps.unsupported)
    area = ((hits[:, 1:] + hits[:, :-1]) * np.diff(alarms, axis=1)).sum(axis=1) / 2
    supported, unsupported = steps.totals
    return _ratio(area, supported * unsupported)


def _from_zero(rising: Floats) -> Floats:
    return np.concatenate([np.zeros((len(rising), 1)), rising], axis=1)


def _best_balance(task: Task, steps: _Steps) -> Floats:
    """Balanced accuracy at the threshold that is best for the items as they are.

    It is chosen on the very items it is measured on, so this is an upper bound; resamples keep it, since
    choosing anew in each would add to the bound.
    """
    plain = _steps(task.scores[task.known], task.supported[task.known], np.ones((1, int(task.known.sum()))))
    gain = _gain(plain)[0]
    if np.isnan(gain).any() or gain.max() < 0:
        return np.full(len(steps.supported), np.nan if np.isnan(gain).any() else 0.5)
    halves: Floats = (_gain(steps)[:, int(gain.argmax())] + 1) / 2
    return halves


def _gain(steps: _Steps) -> Floats:
    """Share of supported items less share of unsupported ones, above each step."""
    supported, unsupported = (
        np.broadcast_to(total[:, None], steps.supported.shape) for total in steps.totals
    )
    gain: Floats = _ratio(steps.supported, supported) - _ratio(steps.unsupported, unsupported)
    return gain


def _coverage_at(steps: _Steps, target: float, every: Floats) -> Floats:
    accepted = steps.supported + steps.unsupported
    enough = (steps.supported >= target * accepted - _ROUNDING) & (accepted > 0)
    return _ratio(np.where(enough, accepted, 0.0).max(axis=1), every)


def _of_rule(steps: _Steps, accept: float, reject: float, every: Floats) -> dict[str, Floats]:
    supported, unsupported = steps.totals
    right, wrong = steps.above(accept)
    kept_right, kept_wrong = steps.above(reject)
    missed, caught = supported - kept_right, unsupported - kept_wrong
    accepted, rejected = right + wrong, missed + caught
    return {
        "balanced_accuracy": (_ratio(right, supported) + _ratio(unsupported - wrong, unsupported)) / 2,
        "f1_unsupported": _ratio(2 * caught, rejected + unsupported),
        "precision": _ratio(right, accepted),
        "coverage": _ratio(accepted, every),
        "reject_precision": _ratio(caught, rejected),
        "reject_coverage": _ratio(rejected, every),
    }


def reliability_bins(scores: Floats) -> npt.NDArray[np.int64]:
    """The bin of each score: bins of about equally many items, equal scores never parted.

    A bin of few items is far off by chance, so a small set has fewer bins.
    """
    bins = max(1, min(BINS, len(scores) // LEAST_IN_BIN))
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, bins + 1)[1:-1]))
    return np.searchsorted(edges, scores, side="right").astype(np.int64)


def _calibration_error(task: Task, weights: Floats) -> Floats:
    """Mean distance of score and share supported over adaptive bins (Nguyen and O'Connor 2015)."""
    known = task.known
    scores, supported = task.scores[known], task.supported[known]
    places = reliability_bins(scores)
    member = np.zeros((len(scores), int(places.max()) + 1))
    member[np.arange(len(scores)), places] = scores - supported
    return _ratio(np.abs(weights @ member).sum(axis=1), weights.sum(axis=1))


_BLOCK = 512


class Cells:
    """Two values of each item, gathered by equal pairs.

    Args:
        x: n numbers.
        y: n numbers.
    """

    def __init__(self, x: Floats, y: Floats) -> None:
        _, self._x_of = np.unique(x, return_inverse=True)
        _, self._y_of = np.unique(y, return_inverse=True)
        codes = self._x_of * (int(self._y_of.max(initial=0)) + 1) + self._y_of
        _, first, self._cell = np.unique(codes, return_index=True, return_inverse=True)
        self.x, self.y = self._x_of[first], self._y_of[first]

    def gathered(self, weights: Floats) -> Floats:
        """Weight of each cell, from weights of shape (resamples, n)."""
        order = np.argsort(self._cell, kind="stable")
        starts = np.searchsorted(self._cell[order], np.arange(len(self.x)))
        gathered: Floats = np.add.reduceat(weights[:, order], starts, axis=1)
        return gathered


def spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Spearman's rho for each row of weights: the correlation of mid-ranks; NaN if one side is constant."""
    if not len(x):
        return np.full(len(weights), np.nan)
    cells = Cells(x, y)
    gathered = cells.gathered(weights)
    return _pearson(_ranks(cells.x, gathered), _ranks(cells.y, gathered), gathered)


def _ranks(levels: npt.NDArray[np.intp], gathered: Floats) -> Floats:
    """Mid-rank of each cell: half of its own level's weight above all lower ones."""
    member = np.zeros((len(levels), int(levels.max()) + 1))
    member[np.arange(len(levels)), levels] = 1.0
    of_level = gathered @ member
    ranks: Floats = (np.cumsum(of_level, axis=1) - of_level / 2)[:, levels]
    return ranks


def _pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    left, right = (side - (side * weights).sum(axis=1, keepdims=True) / total for side in (x, y))
    shared = (left * right * weights).sum(axis=1)
    spread = np.sqrt((left**2 * weights).sum(axis=1) * (right**2 * weights).sum(axis=1))
    blank = np.full(len(weights), np.nan)
    found: Floats = np.divide(shared, spread, out=blank, where=spread > 1e-9 * total[:, 0])
    return found


def kendall(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Kendall's tau-b for each row of weights (Kendall 1945); NaN where one side is constant."""
    if not len(x):
        return np.full(len(weights), np.nan)
    cells = Cells(x, y)
    gathered = cells.gathered(weights)
    sums = np.zeros((3, len(weights)))
    for block, signs in _signs(cells):
        for place, sign in enumerate(signs):
            sums[place] += ((gathered @ sign) * gathered[:, block]).sum(axis=1)
    agreeing, untied_x, untied_y = sums
    spread = np.sqrt(untied_x * untied_y)
    found: Floats = np.divide(agreeing, spread, out=np.full(len(weights), np.nan), where=spread > 0)
    return found


def _signs(cells: Cells) -> Iterator[tuple[slice, tuple[Floats, Floats, Floats]]]:
    """Block by block, for each two cells: do they agree in order, and does each side tell them apart?"""
    for start in range(0, len(cells.x), _BLOCK):
        block = slice(start, start + _BLOCK)
        x = np.sign(cells.x[:, None] - cells.x[None, block]).astype(np.float64)
        y = np.sign(cells.y[:, None] - cells.y[None, block]).astype(np.float64)
        yield block, (x * y, np.abs(x), np.abs(y))


def partial(of: Floats, first: Floats, second: Floats) -> Floats:
    """Correlation of two things with a third held still.

    Args:
        of: correlation of the two.
        first: of one with the third.
        second: of the other with the third.
    """
    left = (1 - first**2) * (1 - second**2)
    blank = np.full(np.shape(of), np.nan)
    found: Floats = np.divide(
        of - first * second, np.sqrt(np.maximum(left, 0)), out=blank, where=left > 1e-12
    )
    return found


Span = dict[str, Any]


def annotated(items: pl.DataFrame) -> pl.Series:
    """Whether people's spans of an item are known: it has some, or is supported in a set that has some.

    An unsupported item without a span in such a set says nothing of where its fault is.
    """
    has = pl.col("spans").list.len() > 0
    in_set = has.any().over("dataset")
    return items.select(known=in_set & (has | (pl.col("label") == 1)))["known"]


def overlaps(items: pl.DataFrame, scorer: str) -> tuple[Floats, Floats, Floats]:
    """Of each item, characters marked by both, by the scorer, and by people; nothing where not annotated."""
    found = items[f"spans_{scorer}"].to_list()
    rows = zip(
        items["spans"].to_list(),
        found,
        items["characters"].to_list(),
        annotated(items).to_list(),
        strict=True,
    )
    counts = [
        _counts(marked or [], of_scorer or [], length) if known else (0, 0, 0)
        for marked, of_scorer, length, known in rows
    ]
    both, scored, people = np.array(counts, dtype=np.float64).reshape(-1, 3).T
    return both, scored, people


def _counts(marked: Sequence[Span], found: Sequence[Span], length: int) -> tuple[int, int, int]:
    people, scorer = _mask(marked, length), _mask(found, length)
    return int((people & scorer).sum()), int(scorer.sum()), int(people.sum())


def _mask(spans: Sequence[Span], length: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros(length, dtype=np.bool_)
    for span in spans:
        mask[span["start"] : span["end"]] = True
    return mask


def span_f1(counts: tuple[Floats, Floats, Floats], weights: Floats) -> Floats:
    """F1 over all characters of the items for each row of weights; NaN where people marked nothing."""
    both, scored, people = (weights @ one for one in counts)
    blank = np.full(len(weights), np.nan)
    shares: Floats = np.divide(2 * both, scored + people, out=blank, where=people > 0)
    return shares
