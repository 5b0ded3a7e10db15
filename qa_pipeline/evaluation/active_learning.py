"""Which rows people should rate next: those a score leaves open, scorers dispute, or that are unlike others.

Three ways to value a row, each from 0 to 1, and chance, in a mix of one's choice. docs/annotations.md tells
what each is worth against chance alone: rows chosen for their uncertainty spoil a calibration.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import rankdata

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.annotations import GOLD, Panel, panel
from qa_pipeline.evaluation.calibration.probabilities import (
    LEAST_OF_CLASS,
    calibration_figures,
    fit_logistic,
)
from qa_pipeline.evaluation.consensus import consensus
from qa_pipeline.models.base import Encoder

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
    """How much each way of valuing a row counts, and chance; only their proportions matter.

    Raises:
        InputError: one is below 0, or all are 0.
    """

    uncertainty: float = 1.0
    disagreement: float = 1.0
    diversity: float = 1.0
    chance: float = 0.0

    def __post_init__(self) -> None:
        if min(self.weights) < 0 or not 0 < sum(self.weights) < np.inf:
            raise InputError(f"weights of the mix are {self.weights}; one must be above 0, and none below")

    @property
    def weights(self) -> tuple[float, float, float, float]:
        """In the order of the fields."""
        return self.uncertainty, self.disagreement, self.diversity, self.chance


MEASURED = Mix(chance=3.0)
"""The mix that was no worse than chance alone for a calibration, by docs/annotations.md."""


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
    """Entropy of the ratings of each item of a panel, over its largest value: 0 to 1; 0 with too many."""
    if not rated.few:
        return np.zeros(len(rated.items))
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
        seed: of chance, and of the order of equals.

    Raises:
        InputError: the mix wants diversity, and there are no vectors, or one is not finite.
    """
    if mix.diversity and vectors is None:
        raise InputError("the mix wants diversity, which needs vectors; give them, or set its weight to 0")
    if vectors is not None and not np.isfinite(vectors).all():
        raise InputError("a vector is not finite; embed its row again, or set the weight of diversity to 0")
    shares = np.array(mix.weights) / sum(mix.weights)
    drawn = np.random.default_rng(seed)
    order = drawn.permutation(len(labelled))
    value = shares[0] * uncertain + shares[1] * disputed + shares[3] * drawn.random(len(labelled))
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


RIGHT = ("1", "true", "yes", "supported", "right")
"""Ratings that call a row right, where nobody names others."""


@dataclass(frozen=True)
class Wanted:
    """What is to be chosen, and by what.

    Args:
        count: rows.
        metric: score that is calibrated on the labels, and whose uncertainty counts.
        against: scores whose disagreement with it counts.
        lower: metrics that are better when lower.
        right: ratings that call a row right; all others call it wrong.
        mix: weights.
        threshold: probability from which a row is taken for right.
        seed: of chance, and of the order of equals.
    """

    count: int
    metric: str
    against: Sequence[str] = ()
    lower: Collection[str] = ()
    right: Collection[str] = RIGHT
    mix: Mix = MEASURED
    threshold: float = 0.5
    seed: int = 0


def next_rows(
    rows: pl.DataFrame, ratings: pl.DataFrame, wanted: Wanted, encoder: Encoder | None, resamples: int = 1000
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The rows of a report to rate next, and what the choice rests on.

    A row is labelled by a gold rating, else by more than half of two ratings or more; all others may be
    chosen, those without consensus among them.

    Args:
        rows: of a report: id, group, query, answer and a column for each metric.
        ratings: `RATINGS` of one criterion.
        wanted: how many, and by what.
        encoder: of query and answer, which diversity then compares; without it, it compares scores.
        resamples: of the intervals of the calibration.

    Returns:
        `CHOSEN` with the rows' columns, best first; and a document: `labelled` rows, of them `right`, ratings
        `beside` the report, `without_consensus`, and the `calibration` (null with fewer than
        `LEAST_OF_CLASS` labels of a kind: the metric itself is then taken for the probability).

    Raises:
        InputError: there is no such metric, all rows are labelled, or what `choose_rows` and `panel` refuse.
    """
    scores = _oriented(rows, wanted)
    labels = _labels(rows, ratings)
    labelled = labels["label"].is_not_null().to_numpy()
    if labelled.all():
        raise InputError(f"all {rows.height} rows are labelled; there is none to rate next")
    right = labels["label"].is_in(list(wanted.right)).fill_null(value=False).to_numpy()
    usable = labelled & np.isfinite(scores[:, 0])
    fitted = min(right[usable].sum(), (~right[usable]).sum()) >= LEAST_OF_CLASS
    probabilities = np.clip(scores[:, 0], 0, 1)
    if fitted:
        probabilities = fit_logistic(scores[usable, 0], right[usable])(scores[:, 0])
    vectors = _standard(scores)
    if wanted.mix.diversity and encoder is not None:
        texts = rows.select(pl.concat_str("query", "answer", separator="\n", ignore_nulls=True))
        vectors = encoder.encode(texts.to_series().to_list()).astype(np.float64)
    disputed = np.maximum(scorer_disagreement(scores), labels["entropy"].fill_null(0.0).to_numpy())
    chosen = choose_rows(
        wanted.count,
        wanted.mix,
        uncertainty(probabilities, wanted.threshold),
        disputed,
        vectors,
        labelled,
        wanted.seed,
    )
    told = {
        "rows": rows.height,
        "labelled": int(labelled.sum()),
        "right": int(right.sum()),
        "without_consensus": int((labels["entropy"].is_not_null().to_numpy() & ~labelled).sum()),
        "beside": ratings.filter(~pl.col("item").is_in(rows["id"].to_list())).height,
        "calibration": calibration_figures(
            scores[usable, 0],
            right[usable],
            rows.filter(pl.Series(usable))["group"].to_list(),
            resamples=resamples,
        )
        if fitted
        else None,
    }
    of_rows = rows.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    return chosen.join(of_rows, on="row", how="left", maintain_order="left"), told


def _oriented(rows: pl.DataFrame, wanted: Wanted) -> Floats:
    """The scores, higher better: shape (rows, scores)."""
    names = [wanted.metric, *wanted.against]
    known = [name for name, dtype in rows.schema.items() if dtype == pl.Float64() and name != "seconds"]
    if missing := [name for name in names if name not in known]:
        raise InputError(f"the report has no metric {missing[0]!r}; it has {', '.join(known)}")
    up = [1 - pl.col(name) if name in wanted.lower else pl.col(name) for name in names]
    return rows.select(up).to_numpy().astype(np.float64)


def _standard(scores: Floats) -> Floats:
    """Each scorer's scores in standard deviations from their mean; unknown ones lie there."""
    known = np.isfinite(scores)
    many = np.maximum(known.sum(axis=0), 1)
    apart = np.where(known, np.where(known, scores, 0) - np.where(known, scores, 0).sum(axis=0) / many, 0)
    spread = np.sqrt((apart**2).sum(axis=0) / many)
    return apart / np.where(spread > 0, spread, 1)


def _labels(rows: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """The label of each row, and the entropy of its ratings; null where there are none."""
    rated = ratings.filter(pl.col("annotator") != GOLD)
    gold = ratings.filter(pl.col("annotator") == GOLD).select("item", gold="rating")
    agreed = pl.DataFrame(schema={"item": pl.String(), "label": pl.String(), "entropy": pl.Float64()})
    if rated.height:
        people = panel(rated)
        entropy = pl.Series("entropy", rating_disagreement(people))
        agreed = consensus(people).select("item", "label", entropy)
    joined = (
        rows.select(item="id")
        .join(agreed, on="item", how="left", maintain_order="left")
        .join(gold, on="item", how="left", maintain_order="left")
    )
    return joined.select("entropy", label=pl.coalesce("gold", "label"))


_SHOWN = ("query", "answer")
_ROWS_NEED = ("id", "group", *_SHOWN)
_STATEMENT = ("position", "text", "document", "quote")


def read_statements(folder: Path) -> pl.DataFrame:
    """The statements of the answers of a report folder: id, position, text, document and quote.

    Raises:
        InputError: the file cannot be read, or lacks a column.
    """
    path = folder / "statements.parquet"
    try:
        return pl.read_parquet(path, columns=["id", *_STATEMENT])
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read; write the report again with eval run") from error


def rating_sheet(chosen: pl.DataFrame, statements: pl.DataFrame, criterion: str) -> pl.DataFrame:
    """Rows as they are put to people, in the order of `chosen`, annotator and rating left open.

    Verdicts and scores are left out: who knows them agrees with them too readily (Tversky and Kahneman 1974).
    """
    of_row = (
        statements.filter(pl.col("id").is_in(chosen["id"].to_list()))
        .sort("id", "position", maintain_order=True)
        .group_by("id", maintain_order=True)
        .agg(statements=pl.struct(_STATEMENT[1:]))
    )
    nothing = pl.lit(None, pl.String())
    return chosen.join(of_row, on="id", how="left", maintain_order="left").select(
        *_ROWS_NEED, "statements", criterion=pl.lit(criterion), annotator=nothing, rating=nothing
    )
