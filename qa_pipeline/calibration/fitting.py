"""The band of entailment from labelled rows, each threshold with how it was found.

What is accepted meets the target with the stated confidence; rejecting and contradicting share the error that
is left to them (Bonferroni).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.calibration.rows import LabelledRows
from qa_pipeline.errors import InputError
from qa_pipeline.settings.thresholds import Bands, EntailmentBand, Fit, Thresholds
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.statistics import lower_bound, trials_needed
from qa_pipeline.verification.deciding import (
    FittedThreshold,
    SideName,
    borderline,
    decide_claims,
    fitted_thresholds,
)

_STEPS = np.arange(99, 49, -1) / 100
HIGH = (0.999, 0.998, 0.995, *(float(step) for step in _STEPS))
"""Scores from which a row is decided, strict first."""
LOW = tuple(round(1 - step, 3) for step in HIGH)
"""Scores up to which a row is decided, strict first."""

_STARTS = 3  # the chance of error is shared among as many starts of the sequence
_APART = 4  # a start has so many times the groups of the one before it

Direction = Literal["from", "up_to"]


@dataclass(frozen=True)
class ScoredRows:
    """The rows that reach a step, in the order in which one of a group is drawn.

    `group` holds the group's number, `right` whether deciding the row so is right, `score` NaN where the
    row cannot be decided so.
    """

    group: npt.NDArray[np.int64]
    right: npt.NDArray[np.bool_]
    score: npt.NDArray[np.float64]

    @property
    def groups(self) -> int:
        """Return the number of groups with a row that could be decided."""
        return len(np.unique(self.group[~np.isnan(self.score)]))


@dataclass(frozen=True, slots=True)
class Tested:
    """The decisions of a threshold: one row of each of `n` groups, `right` of them correct."""

    threshold: float
    n: int
    right: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """The end of the sequence: the laxest threshold that passed, else None; the best seen; tests made.

    `most` is the number of groups that the laxest threshold decides, `confidence` that of the passed test.
    """

    passed: Tested | None
    best: Tested | None
    tests: int
    most: int
    confidence: float


def check_levels(target: float, confidence: float) -> None:
    """Refuse levels that no bound can reach, or that ask for nothing.

    Raises:
        InputError: saying which.
    """
    for name, value in (("target precision", target), ("confidence", confidence)):
        if not 0 < value < 1:
            raise InputError(f"the {name} must lie between 0 and 1, and is {value}")


def decided_rows(rows: ScoredRows, threshold: float, direction: Direction) -> Tested:
    """Draw one decided row of each group."""
    score = rows.score
    with np.errstate(invalid="ignore"):
        met = score >= threshold if direction == "from" else score <= threshold
    places = np.flatnonzero(met)
    _, first = np.unique(rows.group[places], return_index=True)
    return Tested(threshold, len(first), int(rows.right[places[first]].sum()))


def choose_threshold(rows: ScoredRows, direction: Direction, *, target: float, confidence: float) -> Chosen:
    """Test the grid from strict to lax and choose the laxest threshold that passes."""
    seen = [decided_rows(rows, limit, direction) for limit in (HIGH if direction == "from" else LOW)]
    starts = _starts(seen[-1].n, target, 1 - confidence)
    worth = [point for point in seen if point.n >= min(starts)]
    passed, level, tests = None, 0.0, 0
    passed_level = 0.0
    for point in worth:
        begun = [start for start in starts if start <= point.n]
        level += sum(starts.pop(start) for start in begun)
        if not level:
            continue
        tests += 1
        if lower_bound(point.right, point.n, 1 - level) >= target:
            passed, passed_level = point, level
        else:
            level = 0.0
    best = max(worth or seen, key=lambda point: lower_bound(point.right, point.n, confidence))
    return Chosen(passed, best if best.n else None, tests, seen[-1].n, 1 - passed_level)


def _starts(most: int, target: float, error: float) -> dict[int, float]:
    """Return the numbers of decided groups at which the sequence starts, with the error level of each.

    As many starts as the laxest threshold has groups for; without errors the first could just be passed.
    """
    for count in range(_STARTS, 0, -1):
        least = trials_needed(target, 1 - error / count) or 0
        if most >= least * _APART ** (count - 1):
            break
    return {least * _APART**place: error / count for place in range(count)}


DIRECTIONS: dict[SideName, Direction] = {"contradict": "from", "accept": "from", "reject": "up_to"}
_DONE = {"accept": "accepted", "reject": "rejected", "contradict": "found contradicted"}


def rows_of_side(
    labelled: LabelledRows,
    settings: VerificationSettings,
    thresholds: Thresholds,
    side: SideName,
) -> ScoredRows:
    """Return the rows that reach entailment, scored for one side of it.

    Args:
        labelled: the rows.
        settings: thresholds that are not fitted.
        thresholds: the artefact, its band still empty.
        side: accept, reject or contradict.
    """
    of_side = next(threshold for threshold in fitted_thresholds() if threshold.side == side)
    scores = _pair_scores(labelled.claims, settings, thresholds, of_side)
    reached = labelled.rows.join(scores, on="pair_id", how="inner", maintain_order="left")
    right = reached["label"] if side == "accept" else ~reached["label"]
    return ScoredRows(
        group=reached["group"].to_numpy(),
        right=right.to_numpy(),
        score=reached["score"].fill_null(float("nan")).to_numpy(),
    )


def _pair_scores(
    claims: pl.DataFrame, settings: VerificationSettings, thresholds: Thresholds, side: FittedThreshold
) -> pl.DataFrame:
    """Return pair_id and score of the pairs that reach the step of a side."""
    verdicts = decide_claims(claims, None, settings, thresholds=thresholds)
    passed_on = borderline(claims, verdicts).select("pair_id", score=side.score.fill_nan(None))
    settled = pl.col("decided_by") != "no_step"
    against = verdicts.filter(
        (settled & (pl.col("verdict") != "supported")) | (pl.col("verdict") == "failed")
    )
    score = pl.col("score")
    of_pair = score.max() if side.side == "contradict" else score.min()
    if side.side == "accept":
        of_pair = pl.when(score.is_not_null().all()).then(of_pair).otherwise(None)
    return (
        passed_on.join(against, on="pair_id", how="anti", maintain_order="left")
        .group_by("pair_id", maintain_order=True)
        .agg(score=of_pair)
    )


def fixed_settings(settings: VerificationSettings) -> VerificationSettings:
    """Return the settings with the cascade on."""
    return settings.model_copy(update={"policy": "cascade"})


def fit_bands(
    labelled: LabelledRows, settings: VerificationSettings, blank: Thresholds
) -> tuple[Thresholds, tuple[Fit, ...]]:
    """Fit every side of the band.

    Args:
        labelled: rows and claims.
        settings: thresholds that are not fitted.
        blank: the artefact without bands, naming the models of the scores, target and confidence.

    Returns:
        The artefact with bands (its id is still that of the blank), and how each threshold was found.

    Raises:
        InputError: all rows have one label, no claim has a score, or there are too few groups for any
            threshold; says how many would do.
    """
    check_levels(blank.target_precision, blank.confidence)
    labels = labelled.rows["label"].unique().to_list()
    if len(labels) == 1:
        raise InputError(
            f"all {labelled.rows.height} rows have the label {int(labels[0])}; a threshold parts supported "
            "rows (1) from others (0) and needs both"
        )
    if not labelled.claims["entailment"].fill_nan(None).drop_nulls().len():
        raise InputError(
            "no claim has a score `entailment`, so there is nothing to calibrate; configure a model for it "
            "(verification.entailment.model)"
        )
    fixed = fixed_settings(settings)
    fits = tuple(_fit_side(labelled, fixed, blank, side) for side in DIRECTIONS)
    if not any(fit.tested for fit in fits):
        fits_text = "; ".join(f"{fit.step} {fit.side}: {fit.why}" for fit in fits)
        raise InputError(f"too few labelled rows to calibrate on: {fits_text}")
    band = EntailmentBand(**{fit.side: fit.threshold for fit in fits})
    return blank.model_copy(update={"bands": Bands(entailment=band)}), fits


def _fit_side(
    labelled: LabelledRows, settings: VerificationSettings, blank: Thresholds, side: SideName
) -> Fit:
    sharing = sum((of == "accept") == (side == "accept") for of in DIRECTIONS)
    target, confidence = blank.target_precision, 1 - (1 - blank.confidence) / sharing
    rows = rows_of_side(labelled, settings, blank, side)
    chosen = choose_threshold(rows, DIRECTIONS[side], target=target, confidence=confidence)
    shown_point, level = chosen.passed or chosen.best, chosen.confidence if chosen.passed else confidence
    return Fit(
        step="entailment",
        side=side,
        threshold=chosen.passed.threshold if chosen.passed else None,
        confidence=confidence,
        tested=chosen.tests,
        n=shown_point.n if shown_point else 0,
        right=shown_point.right if shown_point else 0,
        precision=shown_point.right / shown_point.n if shown_point else None,
        precision_low=lower_bound(shown_point.right, shown_point.n, level) if shown_point else None,
        best_threshold=chosen.best.threshold if chosen.best else None,
        why=None if chosen.passed else _why(chosen, rows.groups, target, confidence, side),
    )


def _why(chosen: Chosen, scored: int, target: float, confidence: float, side: SideName) -> str:
    """Return the reason why no threshold was chosen, and how many groups would do where that is known."""
    best = chosen.best
    if not scored:
        return f"the model gives no score by which a claim could be {_DONE[side]}"
    if best is None or not chosen.tests:
        least = trials_needed(target, confidence) or 0
        return (
            f"a target of {target:g} at a confidence of {confidence:g} takes {least} groups {_DONE[side]} "
            f"without an error, and no threshold has more than {chosen.most}"
        )
    would_do = trials_needed(target, confidence, 1 - best.right / best.n)
    return (
        f"no threshold meets the target: the best, {best.threshold:g}, is right in {best.right} of {best.n} "
        f"groups{f'; with this share of errors {would_do} groups would do' if would_do else ''}"
    )
