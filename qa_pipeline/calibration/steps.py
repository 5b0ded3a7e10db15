"""Which labelled rows reach a step of the cascade, and the score by which it would decide each.

What belongs here: from claims and the bands before a step to rows of scores. What does not: the scores of a
claim (`verification.bands`), and choosing thresholds (`sequence.py`).

A row is an answer of one or more claims. It reaches a step when the steps before decided nothing against it
and left at least one claim open. It is accepted when all claims left open are, so by its lowest score, and
not at all when one of them may not be; it is rejected when one of them is.
"""

import polars as pl

from qa_pipeline.calibration.labelled import LabelledRows
from qa_pipeline.calibration.sequence import Direction, ScoredRows
from qa_pipeline.settings.checking import VerificationSettings
from qa_pipeline.verification.bands import Side, SideName, StepName, fitted_sides
from qa_pipeline.verification.deciding import borderline, decide_claims
from qa_pipeline.verification.thresholds.artefact import Thresholds

DIRECTIONS: dict[tuple[StepName, SideName], Direction] = {
    ("combined", "accept"): "from",
    ("combined", "reject"): "below",
    ("entailment", "contradict"): "from",
    ("entailment", "accept"): "from",
    ("entailment", "reject"): "up_to",
}


def rows_of_side(
    labelled: LabelledRows,
    settings: VerificationSettings,
    thresholds: Thresholds,
    step: StepName,
    side: SideName,
    *,
    part: int | None = None,
) -> ScoredRows:
    """The rows that reach a step under the thresholds of the steps before it, scored for one side of it.

    Args:
        labelled: the rows.
        settings: thresholds that are not fitted.
        thresholds: bands of the steps before; that of the step itself must be empty.
        step: combined or entailment.
        side: accept, reject or contradict.
        part: only rows of the groups of this part, 0 or 1; None for all.
    """
    wanted = next(one for one in fitted_sides(settings) if (one.step, one.side) == (step, side))
    scores = _pair_scores(labelled.claims, settings, thresholds, wanted)
    rows = labelled.rows if part is None else labelled.rows.filter(pl.col("part") == part)
    reached = rows.join(scores, on="pair_id", how="inner", maintain_order="left")
    right = reached["label"] if side == "accept" else ~reached["label"]
    return ScoredRows(
        group=reached["group"].to_numpy(),
        right=right.to_numpy(),
        score=reached["score"].fill_null(float("nan")).to_numpy(),
    )


def _pair_scores(
    claims: pl.DataFrame, settings: VerificationSettings, thresholds: Thresholds, side: Side
) -> pl.DataFrame:
    """pair_id and score of the pairs that reach the step of a side."""
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
