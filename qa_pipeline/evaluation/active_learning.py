"""Which rows people should rate next: those that a score leaves open, that scorers dispute, unlike the rest.

Three ways to value a row, each from 0 to 1, in a mix of one's choice. What each is worth against rows drawn at
random is measured in docs/annotations.md.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import rankdata

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.annotations import Panel

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
CHOSEN = pl.Schema(
    {
        "row": pl.Int64(),
        "value": pl.Float64(),
        "uncertainty": pl.Float64(),
        "disagreement": pl.Float64(),
        "diversity": pl.Float64(),
    }
)
"""One row for each choice, in the order in which they are worth rating. `diversity` is that at its turn."""


@dataclass(frozen=True)
class Mix:
    """How much each way of valuing a row counts; only their proportions matter.

    Raises:
        InputError: one is below 0, or all are 0.
    """

    uncertainty: float = 1.0
    disagreement: float = 1.0
    diversity: float = 1.0

    def __post_init__(self) -> None:
        if min(self.weights) < 0 or not 0 < sum(self.weights) < np.inf:
            raise InputError(f"weights of the mix are {self.weights}; one must be above 0, and none below")

    @property
    def weights(self) -> tuple[float, float, float]:
        """In the order of the columns of `CHOSEN`."""
        return self.uncertainty, self.disagreement, self.diversity


def uncertainty(probabilities: Floats, threshold: float = 0.5) -> Floats:
    """How near each probability is to the decision: 1 at the threshold, 0 at its farther end (Lewis 1994).

    An unknown probability is as uncertain as can be.

    Args:
        probabilities: of rows; NaN is unknown.
        threshold: from which a row is taken for right, between 0 and 1.
    """
    apart = np.abs(probabilities - threshold) / max(threshold, 1 - threshold)
    return np.nan_to_num(1 - apart, nan=1.0)


def scorer_disagreement(scores: Floats) -> Floats:
    """How far the ranks that scorers give a row lie apart: 0 for equal ranks, 1 for first and last.

    Ranks are compared since scores of different scorers have no common scale. 0 for a row that fewer than two
    scorers know.

    Args:
        scores: shape (rows, scorers), all in the same direction; NaN is unknown.
    """
    if not scores.size:
        return np.zeros(len(scores))
    ranks = rankdata(scores, axis=0, nan_policy="omit")
    most = np.maximum(np.isfinite(scores).sum(axis=0) - 1, 1)
    shares = (ranks - 1) / most
    known = np.isfinite(shares)
    spread = np.where(known, shares, -np.inf).max(axis=1) - np.where(known, shares, np.inf).min(axis=1)
    return np.where(known.sum(axis=1) >= 2, spread, 0.0)


def rating_disagreement(rated: Panel) -> Floats:
    """Entropy of the ratings of each item of a panel, over its largest value: 0 to 1."""
    shares = rated.counts / rated.counts.sum(axis=1, keepdims=True)
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return np.asarray(-(shares * logs).sum(axis=1) / np.log(max(2, len(rated.categories))))


def choose_rows(
    count: int,
    mix: Mix,
    uncertain: Floats,
    disputed: Floats,
    vectors: Floats | None,
    labelled: Flags,
    seed: int = 0,
) -> pl.DataFrame:
    """The rows to rate next (`CHOSEN`), best first.

    Diversity is farthest-first traversal (Gonzalez 1985; as core set Sener and Savarese 2018): the distance
    to the nearest row that is labelled or chosen, over the largest there was at the start. Rows of equal
    value are taken in an order that depends on the seed alone.

    Args:
        count: rows wanted; all there are if these are fewer.
        mix: weights of the three.
        uncertain: of each row, 0 to 1.
        disputed: of each row, 0 to 1.
        vectors: shape (rows, dimensions), finite; None where the mix wants no diversity.
        labelled: rows that need no rating. They are not chosen, and others should be unlike them.
        seed: of the order of equals, and of the first row where nothing else tells.

    Raises:
        InputError: the mix wants diversity, and there are no vectors, or one is not finite.
    """
    if mix.diversity and vectors is None:
        raise InputError("the mix wants diversity, which needs vectors; give them, or set its weight to 0")
    if vectors is not None and not np.isfinite(vectors).all():
        raise InputError("a vector is not finite; embed its row again, or set the weight of diversity to 0")
    shares = np.array(mix.weights) / sum(mix.weights)
    value = shares[0] * uncertain + shares[1] * disputed
    order = np.random.default_rng(seed).permutation(len(value))
    left = np.where(labelled, -np.inf, 0.0)
    far = _Distances(vectors if mix.diversity else None, len(value))
    far.move_to(np.flatnonzero(labelled))
    found = []
    for _ in range(min(count, int((~labelled).sum()))):
        apart = far.shares(np.isfinite(left))
        worth = value + shares[2] * apart + left
        row = order[worth[order].argmax()].item()
        found.append((row, float(worth[row]), float(uncertain[row]), float(disputed[row]), float(apart[row])))
        left[row] = -np.inf
        far.move_to(np.array([row]))
    return pl.DataFrame(found, schema=CHOSEN, orient="row")


_ROWS = 256
"""Rows that all others are compared with at a time."""


class _Distances:
    """Distance of every row to the nearest of those moved to."""

    def __init__(self, vectors: Floats | None, count: int) -> None:
        self._vectors = vectors
        self._squares = np.zeros(0) if vectors is None else (vectors**2).sum(axis=1)
        self._near = np.full(count, np.inf)
        self._largest = 0.0

    def move_to(self, rows: npt.NDArray[np.int64]) -> None:
        if self._vectors is None:
            return
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            products = self._vectors @ self._vectors[some].T
            squared = self._squares[:, None] + self._squares[some] - 2 * products
            self._near = np.minimum(self._near, np.sqrt(np.maximum(squared, 0)).min(axis=1))

    def shares(self, left: Flags) -> Floats:
        """Distances over the largest there was when first asked; all 1 as long as no row is moved to."""
        if self._vectors is None:
            return np.zeros(len(self._near))
        if not np.isfinite(self._near).all():
            return np.ones(len(self._near))
        self._largest = self._largest or float(self._near[left].max(initial=0.0))
        return np.minimum(self._near / self._largest, 1.0) if self._largest else np.zeros(len(self._near))
