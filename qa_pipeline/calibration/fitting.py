"""Labelled rows with their claims and scores, and the band of entailment thresholds fitted to them.

Accepted rows meet the target with the stated confidence; the other two sides share the error (Bonferroni).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.labelled_files import Item, read_file
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.verification import Band, Fit, Thresholds, VerificationSettings
from qa_pipeline.storage.hashes import hash_file, hash_parts
from qa_pipeline.verification.deciding import SideName, borderline, decide_claims, side_scores
from qa_pipeline.verification.verify import Statement, VerificationModels, verify


@dataclass(frozen=True)
class LabelledFile:
    """A file of labelled rows (`labelled_files.ITEMS`)."""

    path: Path
    sha256: str
    items: pl.DataFrame


@dataclass(frozen=True)
class LabelledRows:
    """Scored rows (group as a number, label and pair_id, in random order) and the table of their claims."""

    rows: pl.DataFrame
    claims: pl.DataFrame


def read_all_rows(path: Path) -> LabelledFile:
    """Read a labelled file; raises `InputError` if the file or a row of it cannot be used."""
    read = read_file(path, Item)
    if not read.left_out.is_empty():
        row = read.left_out.row(0, named=True)
        raise InputError(f"{path}, row {row['first_row']}: {row['detail']}; correct or remove such rows")
    return LabelledFile(path, hash_file(path), read.items)


def score_rows(resources: Resources, files: Sequence[LabelledFile]) -> LabelledRows:
    """Add the claims of each row with all local scores; rows of equal texts share them."""
    # numbered, since two files may have equal names
    items = pl.concat(
        file.items.with_columns(file=pl.lit(f"{index} {file.path.name}")) for index, file in enumerate(files)
    )
    texts = items.select("answer", "context", "language", "question").iter_rows()
    statements = [
        Statement(answer, tuple(context), language, question or "")
        for answer, context, language, question in texts
    ]
    models = VerificationModels(resources.settings.verification, resources.embedder, resources.entailment)
    keys = items.select("file", "group_id", "id").iter_rows()
    order = [hash_parts("row", *key, str(index)) for index, key in enumerate(keys)]  # random, always the same
    rows = items.select(
        group=pl.struct("file", "group_id").rank("dense").cast(pl.Int64()),
        label=pl.col("label") == 1,
        pair_id=pl.Series([statement.statement_id for statement in statements]),
        order=pl.Series(order),
    )
    return LabelledRows(rows.sort("order").drop("order"), verify(statements, models).claims)


GRID = (0.999, 0.998, 0.995, *(percent / 100 for percent in range(99, 49, -1)))
"""Scores from which a row is accepted, strict first; it is rejected up to 1 minus each of them."""
_MOST_SEQUENCES = 3
"""Most sequences of tests. A sequence tests thresholds with ever more groups until a test fails."""
_GROWTH = 4
"""Each sequence begins with this many times the groups of the one before, to halve the standard error."""
_DECISION_OF_SIDE: dict[SideName, str] = {
    "contradict": "found contradicted",
    "accept": "accepted",
    "reject": "rejected",
}
"""The sides of a band in the order of their rules, each with its decision in words."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A threshold, the number of groups of which it decides a row, and of the right decisions."""

    threshold: float
    groups: int
    right: int


def calibrate(
    resources: Resources, files: Sequence[LabelledFile], *, target: float, confidence: float, name: str
) -> Thresholds:
    """Score labelled files and fit the band of the configured entailment model.

    With `confidence`, the share `target` of the decided rows must be right; both are between 0 and 1.

    Raises:
        InputError: there is too little data or a single label, or no model is configured.
        SettingsError: the model cannot be used.
    """
    if resources.entailment is None:
        raise InputError(
            "calibration needs an entailment model: set verification.entailment.model to a folder, "
            "or to a name of the hub (and verification.entailment.revision to its commit)"
        )
    labelled = score_rows(resources, files)
    scored_claims = labelled.claims.filter(pl.col("entailment").is_not_null())
    # the configured model, or None if no claim has a score, which `fit_band` refuses
    model = next(iter(scored_claims["entailment_model"].unique()), None)
    unfitted = Thresholds(
        name=name, target_precision=target, confidence=confidence, model=model, band=Band(), fits=()
    )
    return fit_band(labelled, resources.settings.verification, unfitted)


def fit_band(labelled: LabelledRows, settings: VerificationSettings, unfitted: Thresholds) -> Thresholds:
    """Fit every side of the band of `unfitted`, which names the model, target and confidence.

    Raises:
        InputError: all rows have one label, no claim has a score, or there are too few groups.
    """
    labels = labelled.rows["label"].unique().to_list()
    if len(labels) == 1:
        raise InputError(
            f"all {labelled.rows.height} rows have the label {int(labels[0])}; a threshold separates "
            "supported rows (1) from other rows (0) and needs both"
        )
    if not labelled.claims["entailment"].fill_nan(None).drop_nulls().len():
        raise InputError("calibration needs claims with a score in `entailment`, and no claim has one")
    fits = []
    for side in _DECISION_OF_SIDE:
        rows = rows_of_side(labelled, settings, unfitted, side)
        # rejecting and contradicting share the error, so each gets half of it
        confidence = unfitted.confidence if side == "accept" else (1 + unfitted.confidence) / 2
        fits.append(fit_side(rows, side, target=unfitted.target_precision, confidence=confidence))
    if not any(fit.tested for fit in fits):
        reasons = "; ".join(f"{fit.side}: {fit.why}" for fit in fits)
        raise InputError(f"too few labelled rows to calibrate on: {reasons}")
    band = Band(**{fit.side: fit.threshold for fit in fits})
    return unfitted.model_copy(update={"band": band, "fits": tuple(fits)})


def rows_of_side(
    labelled: LabelledRows, settings: VerificationSettings, unfitted: Thresholds, side: SideName
) -> pl.DataFrame:
    """Return the rows that reach entailment: group, right (True if this side decides correctly) and score.

    The score of an answer is that of an open claim. Of 0.7 and 0.9 it is 0.7 for `accept`, since all claims
    must pass, 0.7 for `reject`, since a single claim rejects, and 0.9 for `contradict`, since a single claim
    contradicts. If the score of any open claim is unknown, `accept` cannot decide and has null.
    """
    cascade = settings.model_copy(update={"policy": "cascade"})  # the policy with a band
    # the band is still empty and decides nothing, so all claims that reach entailment are undecided
    verdicts = decide_claims(labelled.claims, None, cascade, thresholds=unfitted)  # a row for each claim
    open_claims = borderline(labelled.claims, verdicts)
    # claims that an earlier step denied or could not prove have decided their answers already
    unsupported_claims = verdicts.filter(pl.col("verdict") != "supported")
    claims_decided_against = unsupported_claims.join(open_claims, on="claim_id", how="anti")
    lowest, highest = pl.col("score").min(), pl.col("score").max()  # of the known scores of an answer
    lowest_of_all = pl.when(pl.col("score").is_not_null().all()).then(lowest)
    answer_score = {"accept": lowest_of_all, "reject": lowest, "contradict": highest}
    answer_scores = (  # a row for each pair_id, which is an answer
        open_claims.select("pair_id", score=side_scores()[side].fill_nan(None))
        .join(claims_decided_against, on="pair_id", how="anti")
        .group_by("pair_id")
        .agg(score=answer_score[side])
    )
    is_right = pl.col("label") if side == "accept" else ~pl.col("label")
    # an inner join: it drops the answers that earlier steps decided
    rows = labelled.rows.join(answer_scores, on="pair_id", maintain_order="left")
    return rows.select("group", is_right.alias("right"), "score")


def fit_side(rows: pl.DataFrame, side: SideName, *, target: float, confidence: float) -> Fit:
    """Test the grid from strict to lax, and fit the laxest threshold that passes.

    A test may err with the summed errors of the running sequences; a pass does not spend them, and a failed
    test ends these sequences. With sequences from 72 and 288 groups, each with the error 0.025:
        100 groups are tested at 0.025 and pass; 200 are tested at 0.025, and the first sequence still runs.
        If 200 pass, 300 are tested at 0.05, as both sequences run. If 200 fail, the first sequence ends: 250
        are untested, and 300 are tested at 0.025, the error of the second sequence.
    """
    candidates = [decided_rows(rows, side, threshold) for threshold in GRID]
    most_groups = candidates[-1].groups  # the laxest threshold decides most
    first_groups, error_share = _sequences(most_groups, target, 1 - confidence)
    # with fewer groups a threshold cannot pass
    testable = [candidate for candidate in candidates if candidate.groups >= first_groups[0]]
    passed, passed_error = None, 1 - confidence  # the whole error, until a test passes
    tests = ended = 0  # `begun`, `running` and `ended` are numbers of sequences
    for candidate in testable:
        begun = sum(groups <= candidate.groups for groups in first_groups)
        running = begun - ended
        if running:
            tests += 1
            test_error = running * error_share
            if lower_bound(candidate.right, candidate.groups, 1 - test_error) >= target:
                passed, passed_error = candidate, test_error
            else:
                ended = begun
    best, why = passed, None
    if best is None:
        # the testable threshold nearest to the target explains the failure; without any, groups are too few
        best = max(testable or candidates, key=lambda each: lower_bound(each.right, each.groups, confidence))
        why = _why(best if testable else None, most_groups, side, target, confidence)
    return Fit(
        side=side,
        threshold=passed.threshold if passed else None,
        confidence=confidence,
        tested=tests,
        n=best.groups,
        right=best.right,
        precision_low=lower_bound(best.right, best.groups, 1 - passed_error) if best.groups else None,
        why=why,
    )


def decided_rows(rows: pl.DataFrame, side: SideName, threshold: float) -> Candidate:
    """Decide one row of each group by a threshold of the grid."""
    limit = round(1 - threshold, 3) if side == "reject" else threshold
    decided = rows.filter(pl.col("score") <= limit if side == "reject" else pl.col("score") >= limit)
    drawn = decided.unique("group", keep="first", maintain_order=True)  # rows are in random order
    return Candidate(limit, drawn.height, int(drawn["right"].sum()))


def _sequences(most_groups: int, target: float, error: float) -> tuple[list[int], float]:
    """Return the number of groups from which each sequence tests, and its share of the error.

    In ([72, 288], 0.025) two sequences share the error 0.05. A sequence begins with the fewest groups that
    pass if every decision is right, or with more. There are as many sequences as can begin.
    """
    first_groups, error_share = [trials_needed(target, 1 - error)], error  # a single sequence
    for count in range(2, _MOST_SEQUENCES + 1):
        fewest = trials_needed(target, 1 - error / count)
        growing = [fewest * _GROWTH**index for index in range(count)]
        if growing[-1] <= most_groups:  # the last sequence can begin
            first_groups, error_share = growing, error / count
    return first_groups, error_share


def _why(best: Candidate | None, most_groups: int, side: SideName, target: float, confidence: float) -> str:
    """Explain a missing threshold: the best tested threshold fails, or groups are too few for a test."""
    if best is None:
        return (
            f"a target of {target:g} at a confidence of {confidence:g} needs "
            f"{trials_needed(target, confidence)} groups {_DECISION_OF_SIDE[side]} without an error; no "
            f"threshold has more than {most_groups}"
        )
    right = f"{best.right} of {best.groups} groups"
    return f"no threshold meets the target: the best, {best.threshold:g}, is right in {right}"


def lower_bound(successes: int, trials: int, confidence: float) -> float:
    """Return the one-sided exact lower bound of a share (Clopper and Pearson 1934); 0 without trials."""
    from scipy.stats import beta

    return float(beta.ppf(1 - confidence, successes, trials - successes + 1)) if successes else 0.0


def trials_needed(target: float, confidence: float) -> int:
    """Return the successful trials that `lower_bound` needs to reach a target."""
    return math.ceil(math.log(1 - confidence) / math.log(target) - 1e-9)
