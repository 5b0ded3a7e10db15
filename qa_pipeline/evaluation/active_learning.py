"""Which rows people should rate next: those a score leaves open, scorers dispute, or that are unlike others.

Three ways to value a row, each from 0 to 1, and chance, in a mix of one's choice. docs/annotations.md tells
what each is worth against chance alone: rows chosen for their uncertainty spoil a calibration.
"""

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.spatial import KDTree
from scipy.stats import entropy, rankdata, zscore

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.annotations import GOLD, Panel, panel
from qa_pipeline.evaluation.calibration.probabilities import (
    FITS,
    LEAST_OF_CLASS,
    FitName,
    Flags,
    calibration_figures,
)
from qa_pipeline.evaluation.consensus import consensus
from qa_pipeline.evaluation.statistics import Floats
from qa_pipeline.evaluation.stored_report import StoredReport

RIGHT = ("1", "true", "yes", "supported", "right")
"""Ratings that call a row right, where nobody names others."""


@dataclass(frozen=True)
class Mix:
    """How much each way of valuing a row counts, and chance; only their proportions matter.

    The usual one was no worse than chance alone for a calibration, by docs/annotations.md.

    Raises:
        InputError: one is below 0, or all are 0.
    """

    uncertainty: float = 1.0
    disagreement: float = 1.0
    diversity: float = 1.0
    chance: float = 3.0

    def __post_init__(self) -> None:
        weights = astuple(self)
        if min(weights) < 0 or not 0 < sum(weights) < np.inf:
            raise InputError(f"weights of the mix are {weights}; one must be above 0, and none below")


def uncertainty(probabilities: Floats) -> Floats:
    """How near each probability is to a half: 1 there, 0 at 0 and 1 (Lewis 1994); 1 if it is unknown."""
    return np.asarray(np.nan_to_num(1 - np.abs(2 * probabilities - 1), nan=1.0))


def scorer_disagreement(scores: Floats) -> Floats:
    """How far the ranks that scorers give a row lie apart: 0 for equal ranks, 1 for first and last.

    Ranks are compared since scores of different scorers have no common scale. 0 for a row that fewer than two
    scorers know.

    Args:
        scores: shape (rows, scorers), all in the same direction; NaN is unknown.
    """
    ranks = rankdata(scores, axis=0, nan_policy="omit")
    shares = (ranks - 1) / np.maximum(np.isfinite(scores).sum(axis=0) - 1, 1)
    return np.asarray(np.ma.ptp(np.ma.masked_invalid(shares), axis=1).filled(0.0))


def rating_disagreement(rated: Panel) -> Floats:
    """Entropy of the ratings of each item of a panel, over its largest value: 0 to 1."""
    return np.asarray(entropy(rated.counts, axis=1) / np.log(max(2, len(rated.categories))))


def choose_rows(
    count: int,
    mix: Mix,
    uncertain: Floats,
    disputed: Floats,
    vectors: Floats,
    labelled: Flags,
    seed: int = 0,
) -> pl.DataFrame:
    """The rows to rate next, best first: row, value, uncertainty, disagreement and diversity at its turn.

    Diversity is farthest-first traversal (Gonzalez 1985; as core set Sener and Savarese 2018): the distance
    to the nearest row that is labelled or chosen, over the largest there was at the start. Rows of equal
    value are taken in an order that depends on the seed alone.

    Args:
        count: rows wanted; all there are if these are fewer.
        mix: weights of the three and of chance.
        uncertain: of each row, 0 to 1.
        disputed: of each row, 0 to 1.
        vectors: shape (rows, dimensions), finite.
        labelled: rows that need no rating. They are not chosen, and others should be unlike them.
        seed: of chance, and of the order of equals.
    """
    drawn = np.random.default_rng(seed)
    order = drawn.permutation(len(labelled))
    weights = np.array(astuple(mix)) / sum(astuple(mix))
    still = weights[0] * uncertain + weights[1] * disputed + weights[3] * drawn.random(len(labelled))
    left, largest = ~labelled, 0.0
    near = np.full(len(left), np.inf)
    if labelled.any():
        near = KDTree(vectors[labelled]).query(vectors)[0]
    found = []
    for _ in range(min(count, int(left.sum()))):
        if np.isfinite(near).all():
            largest = largest or float(near[left].max())
            apart = near / (largest or 1.0)
        else:
            apart = np.ones(len(left))
        worth = np.where(left, still + weights[2] * apart, -np.inf)
        row = int(order[worth[order].argmax()])
        found.append((row, worth[row], uncertain[row], disputed[row], apart[row]))
        left[row] = False
        near = np.minimum(near, np.linalg.norm(vectors - vectors[row], axis=1))
    figures = ("value", "uncertainty", "disagreement", "diversity")
    return pl.DataFrame(found, {"row": pl.Int64(), **dict.fromkeys(figures, pl.Float64())}, orient="row")


def next_rows(
    report: StoredReport,
    ratings: pl.DataFrame,
    mix: Mix,
    *,
    count: int,
    metric: str,
    against: Sequence[str] = (),
    right: Collection[str] = RIGHT,
    fit: FitName = "logistic",
    seed: int = 0,
    resamples: int = 1000,
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The rows of a report to rate next, and what the choice rests on.

    A row is labelled by a gold rating, else by more than half of two ratings or more; all others may be
    chosen, those without consensus among them.

    Args:
        report: whose rows are chosen.
        ratings: `RATINGS` of one criterion.
        mix: weights of the ways to value a row; diversity is that of scores.
        count: rows wanted.
        metric: score that is calibrated on the labels, and whose uncertainty counts.
        against: scores whose disagreement with it counts.
        right: ratings that call a row right; all others call it wrong.
        fit: the kind of calibration.
        seed: of chance, and of the order of equals.
        resamples: of the intervals of the calibration.

    Returns:
        What `choose_rows` gives with the rows' columns, best first; and a document: `labelled` rows, of them
        `right`, ratings `beside` the report, `without_consensus`, and the `calibration` (null with fewer than
        `LEAST_OF_CLASS` labels of a kind: the metric itself is then taken for the probability).

    Raises:
        InputError: there is no such metric, all rows are labelled, or what `panel` refuses.
    """
    rows, scores = report.rows, _oriented(report, [metric, *against])
    labels = _labels(rows, ratings)
    labelled = labels["label"].is_not_null().to_numpy()
    if labelled.all():
        raise InputError(f"all {rows.height} rows are labelled; there is none to rate next")
    called_right = labels["label"].is_in(list(right)).fill_null(value=False).to_numpy()
    usable = labelled & np.isfinite(scores[:, 0])
    known, said = scores[usable, 0], called_right[usable]
    probabilities, calibration = np.clip(scores[:, 0], 0, 1), None
    if min(said.sum(), (~said).sum()) >= LEAST_OF_CLASS:
        probabilities = FITS[fit](known, said)(scores[:, 0])
        groups = rows.filter(pl.Series(usable))["group"].to_list()
        calibration = calibration_figures(known, said, groups, FITS[fit], resamples)
    disputed = np.maximum(scorer_disagreement(scores), labels["entropy"].fill_null(0.0).to_numpy())
    # unknown scores, and those of a scorer that says the same of all, lie at the mean
    vectors = np.nan_to_num(zscore(scores, nan_policy="omit"))
    chosen = choose_rows(count, mix, uncertainty(probabilities), disputed, vectors, labelled, seed)
    told = {
        "rows": rows.height,
        "labelled": int(labelled.sum()),
        "right": int(called_right.sum()),
        "without_consensus": labels.filter(pl.col("entropy").is_not_null(), pl.col("label").is_null()).height,
        "beside": ratings.filter(~pl.col("item").is_in(rows["id"].to_list())).height,
        "calibration": calibration,
    }
    of_rows = rows.with_columns(row=pl.int_range(pl.len()))
    return chosen.join(of_rows, on="row", how="left", maintain_order="left"), told


def _oriented(report: StoredReport, names: Sequence[str]) -> Floats:
    """The scores, higher better: shape (rows, scores)."""
    if missing := [name for name in names if name not in report.metrics]:
        raise InputError(f"the report has no metric {missing[0]!r}; it has {', '.join(report.metrics)}")
    lower = [name for name in names if report.metrics[name].direction == "lower"]
    up = [1 - pl.col(name) if name in lower else pl.col(name) for name in names]
    return report.rows.select(up).to_numpy().astype(np.float64)


def _labels(rows: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """The label of each row, and the entropy of its ratings; null where there are none."""
    rated = ratings.filter(pl.col("annotator") != GOLD)
    gold = ratings.filter(pl.col("annotator") == GOLD).select("item", gold="rating")
    agreed = pl.DataFrame(schema={"item": pl.String(), "label": pl.String(), "entropy": pl.Float64()})
    if rated.height:
        people = panel(rated)
        disputed = pl.Series("entropy", rating_disagreement(people))
        agreed = consensus(people).select("item", "label", disputed)
    joined = rows.select(item="id")
    for known in (agreed, gold):
        joined = joined.join(known, on="item", how="left", maintain_order="left")
    return joined.select("entropy", label=pl.coalesce("gold", "label"))


def rating_sheet(folder: Path, chosen: pl.DataFrame, criterion: str) -> pl.DataFrame:
    """Rows as they are put to people, in the order of `chosen`, annotator and rating left open.

    Verdicts and scores are left out: who knows them agrees with them too readily (Tversky and Kahneman 1974).

    Args:
        folder: of the report, whose statements are shown beside the answers.
        chosen: of `next_rows`, with query and answer.
        criterion: what is to be rated.

    Raises:
        InputError: the statements cannot be read.
    """
    path, shown = folder / "statements.parquet", ("text", "document", "quote")
    try:
        statements = pl.read_parquet(path, columns=["id", "position", *shown])
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read; write the report again with eval run") from error
    of_row = statements.sort("position").group_by("id").agg(statements=pl.struct(shown))
    nothing = pl.lit(None, pl.String())
    return chosen.join(of_row, on="id", how="left", maintain_order="left").select(
        *("id", "group", "query", "answer", "statements"),
        criterion=pl.lit(criterion),
        annotator=nothing,
        rating=nothing,
    )
