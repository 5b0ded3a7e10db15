"""The ledger: one verdict for every pair, from what the stages before it found.

`build_verdicts` is pure: other thresholds over the same tables cost no model call. The settings that decided
are kept beside the tables, by the `thresholds_id` of the verdicts.
"""

import functools
import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.curation.citation_quality import citation_quality
from qa_pipeline.curation.decisions import EDITED, PERSON, applied
from qa_pipeline.curation.duplicates import (
    find_alternatives,
    find_conflicts,
    find_duplicates,
    find_same_wording,
)
from qa_pipeline.curation.gates.canaries import (
    JUDGE_NOT_TRUSTED,
    MODEL,
    VERIFIER_NOT_TRUSTED,
    reviewer_trust,
)
from qa_pipeline.curation.gates.gate import Gate
from qa_pipeline.errors import InputError
from qa_pipeline.generation.deduplication import find_twins
from qa_pipeline.records import HOP_SCOPES, QuestionType
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import UNSUPPORTED, VERDICTS
from qa_pipeline.text.injection import INJECTION_IN_SOURCE
from qa_pipeline.verification.outcomes import FLAWED, SUPPORTED, decided_claims, ground_pairs

WELL_SUPPORTED, PARTIALLY_SUPPORTED = 0.75, 0.40
"""Grounding from which an answer has these support levels, as the specification fixes them."""
DIMENSIONS = ("relevance", "correctness", "completeness")
"""Scores of the answer, which have weights in the composite score."""
SCORES = (*DIMENSIONS, "question_quality")
"""Every score of a judge; each has a floor."""

# Scores are shown and compared to nine digits, so that 0.7 reached by addition is 0.7.
_DIGITS = 9


_TRIP = ("pair_id", "agrees", "fewer_chunks_answer", "solved_answer")
_EVERY = pl.lit(value=True)
_NO_DETAIL = pl.lit(None, dtype=pl.String())


@dataclass(frozen=True, slots=True)
class Rule:
    """The verdict of the rows that meet `when` and no rule before it; `reason` is a code or a column."""

    when: pl.Expr
    verdict: str
    stage: str
    reason: str | pl.Expr
    detail: pl.Expr = _NO_DETAIL


def build_verdicts(
    *,
    pairs: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    assessments: pl.DataFrame,
    refusals: pl.DataFrame,
    round_trips: pl.DataFrame,
    canaries: pl.DataFrame,
    decisions: pl.DataFrame,
    verification: VerificationSettings,
    judging: JudgingSettings,
) -> pl.DataFrame:
    """Give every pair exactly one verdict, in the order of `pairs`.

    Partial coverage is no reason of its own: such a pair meets the same share of supported claims and the
    same floors, of which completeness is the lowest. Where `accept_grounding` is below 1, answers with
    unproved statements meet the floor of grounding and the composite score; without a judge they wait for a
    person.

    Args are the tables of their names; `refusals` has pair_id and outcome for the pairs of coverage none.
    `pairs` decides which rows exist: rows of other tables about other pairs are ignored.
    """
    accept_grounding = verification.accept_grounding
    grounds = ground_pairs(pairs, claims, claim_verdicts, accept_grounding=accept_grounding)
    open_pairs = _open_without_model(pairs, claims, claim_verdicts, accept_grounding=accept_grounding)
    people = applied(decisions, pairs, claims).filter(pl.col("claim_id").is_null())
    facts = _gather(pairs, grounds, assessments, refusals, people, round_trips).with_columns(
        _composite(judging), pl.col("pair_id").is_in(open_pairs.implode()).alias("open_without_model")
    )
    rules = _rules(judging, reviewer_trust(canaries, "verifier"), reviewer_trust(canaries, "judge"))
    decided = _settle_repeats(_apply(rules, facts), find_twins(pairs))
    spans = _unsupported_spans(claims, claim_verdicts)
    by_person = pl.when(pl.col("stage") == PERSON).then(pl.lit(PERSON)).otherwise(pl.lit("pipeline"))
    return VERDICTS.conform(
        _joined(decided, spans, citation_quality(pairs, claims, claim_verdicts))
        .with_columns(
            pl.col("unsupported_spans").fill_null([]),
            support_level(),
            by_person.alias("decided_by"),
            pl.lit(f"{verification.thresholds_id}/{judging.thresholds_id}").alias("thresholds_id"),
        )
        .select(VERDICTS.schema.names())
    )


def _open_without_model(
    pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame, *, accept_grounding: float
) -> pl.Series:
    """Return the pairs that source verification would leave open without what a model decided."""
    by_model = (pl.col("decided_by") == MODEL) & (pl.col("verdict") != "failed")
    verdict = pl.when(by_model).then(pl.lit("undecided")).otherwise("verdict").alias("verdict")
    without = claim_verdicts.with_columns(verdict)
    outcomes = ground_pairs(pairs, claims, without, accept_grounding=accept_grounding)
    return outcomes.filter(pl.col("outcome") == "undecided")["pair_id"]


def _gather(
    pairs: pl.DataFrame,
    grounds: pl.DataFrame,
    assessments: pl.DataFrame,
    refusals: pl.DataFrame,
    people: pl.DataFrame,
    round_trips: pl.DataFrame,
) -> pl.DataFrame:
    """Return one row for each pair with all its grounds."""
    columns = pairs.select(
        *("pair_id", "batch", "question_id", "draft", "question", "answer", "question_type"),
        *("expected_verdict", "origin", "generator"),
    )
    judged = {f"judge_{name}": name for name in ("status", "reason", "detail")}
    reached = (pl.col("outcome") == "grounded") & (pl.col("judge_status") == "judged")
    return _joined(
        columns,
        people.select("pair_id", "decision", "said"),
        grounds,
        assessments.select("pair_id", *SCORES, **judged),
        refusals.select("pair_id", refusal="outcome"),
        round_trips.select(*_TRIP, **{f"trip_{name}": name for name in ("status", "reason", "detail")}),
    ).with_columns(pl.when(reached).then(pl.col(name).fill_nan(None)).alias(name) for name in SCORES)


def _joined(frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the columns that others have for its pairs."""
    for other in others:
        frame = frame.join(other, on="pair_id", how="left", maintain_order="left")
    return frame


def _composite(judging: JudgingSettings) -> pl.Expr:
    """Return the weighted mean of grounding score and judge's dimensions; null unless all four exist."""
    weights = {name: getattr(judging, f"weight_{name}") for name in DIMENSIONS}
    weights = {"grounding": judging.weight_source} | weights
    weighted = [pl.col(name) * weight for name, weight in weights.items()]
    total: pl.Expr = functools.reduce(operator.add, weighted)
    return (total / sum(weights.values())).round(_DIGITS).alias("composite")


def _rules(judging: JudgingSettings, verifier: Gate, judge: Gate) -> list[Rule]:
    """Return every way to a verdict; the first match wins, and the last rule matches all.

    What a person decided comes first; but nothing is accepted that lacks its proof. Who edits an answer holds
    it to be a good one; whether the documents prove it is verified. A refusal is judged by whether the batch
    could have answered, never by claims. What is accepted without a judge has every claim supported. Where
    the gates do not trust `verifier` or `judge`, it neither accepts nor rejects.
    """

    def asked_for(*types: QuestionType) -> pl.Expr:
        return pl.col("question_type").is_in(types) & (pl.col("origin") == "generated")

    outcome, reason, detail = pl.col("outcome"), pl.col("reason"), pl.col("detail")
    decision, decision_detail = pl.col("decision"), pl.col("said")
    proved = outcome.is_in(["grounded", "refusal"])
    edited = (pl.col("origin") == EDITED) & (outcome == "grounded")
    refused, refusal = outcome == "refusal", pl.col("refusal")
    answered = pl.lit("the question was meant to have no answer, and the documents answer it")
    no_denial = pl.lit("the answer should say what is right in place of what the question takes for granted")
    hops, fewer = asked_for(*HOP_SCOPES), pl.col("fewer_chunks_answer")
    unproved_hops = pl.lit("whether each chunk is needed for the answer is not known")
    unexamined = pl.lit("answerability of the question was not examined")
    status, judged_detail = pl.col("judge_status"), pl.col("judge_detail")
    not_judged = status == "not_judged"
    all_supported = pl.col("supported_claims") == pl.col("claims")
    unjudged = not_judged & all_supported & pl.lit(judging.accept_unjudged)
    judge_failed = pl.coalesce(pl.col("judge_reason"), pl.lit("judge_failed"))
    missing = pl.lit("the pair passed source verification and no assessment of it exists")
    of_verifier, of_judge = (pl.lit(f"wrong on purpose: {gate.detail}") for gate in (verifier, judge))
    by_verifier = pl.col("open_without_model") & (outcome != "undecided")
    injected = pl.lit("the judge read a passage, question or answer that gives orders to whoever checks it")
    source, quality, done = "source_verification", "quality_assessment", "accepted"
    return [
        Rule(decision == "rejected", "rejected", PERSON, "person_rejected", decision_detail),
        Rule(decision == EDITED, "rejected", PERSON, "superseded_by_edit", decision_detail),
        Rule((decision == "accepted") & proved, "accepted", PERSON, "person_accepted", decision_detail),
        Rule(
            by_verifier & ~pl.lit(verifier.passed), "needs_review", source, VERIFIER_NOT_TRUSTED, of_verifier
        ),
        Rule(edited, "accepted", PERSON, "person_edited", pl.format("by {}", "generator")),
        Rule(outcome == FLAWED, "rejected", "pairs", reason, detail),
        Rule(outcome == "not_drafted", "failed", "pairs", reason, detail),
        Rule(outcome == "no_claims", "failed", source, "no_claims"),
        Rule(outcome == "failed", "failed", source, reason, detail),
        Rule(outcome == "rejected", "rejected", source, reason, detail),
        Rule(outcome == "undecided", "needs_review", source, reason, detail),
        Rule(asked_for("false_premise") & refused, "rejected", "pairs", "premise_not_denied", no_denial),
        Rule(asked_for("unanswerable") & ~refused, "rejected", "pairs", "question_answered", answered),
        Rule(refused & (refusal == "correct_refusal"), "accepted", done, refusal),
        Rule(refused & (refusal == "refused_answerable"), "rejected", "refusal", refusal),
        Rule(refused & (refusal == "unproved_refusal"), "needs_review", "refusal", refusal),
        Rule(refused, "failed", "refusal", "no_refusal_evidence", unexamined),
        _below("grounding", judging.floor_source),
        Rule(
            pl.col("trip_status") == "failed",
            "failed",
            "round_trip",
            pl.col("trip_reason"),
            pl.col("trip_detail"),
        ),
        Rule(hops & fewer, "rejected", "round_trip", "fewer_chunks_answer"),
        Rule(hops & fewer.is_null(), "needs_review", "round_trip", "hops_unproved", unproved_hops),
        Rule(~pl.col("agrees"), "needs_review", "round_trip", "solver_disagrees", pl.col("solved_answer")),
        Rule(unjudged, "accepted", done, "unjudged", judged_detail),
        Rule(not_judged, "needs_review", quality, "not_judged", judged_detail),
        Rule(status == "failed", "failed", quality, judge_failed, judged_detail),
        Rule(status.is_null() | (status != "judged"), "failed", quality, "no_assessment", missing),
        Rule(~pl.lit(judge.passed), "needs_review", quality, JUDGE_NOT_TRUSTED, of_judge),
        *_scoring(judging, judged_detail),
        Rule(
            pl.col("judge_reason") == INJECTION_IN_SOURCE,
            "needs_review",
            quality,
            INJECTION_IN_SOURCE,
            injected,
        ),
        Rule(~all_supported, "accepted", done, "partially_supported"),
        Rule(_EVERY, "accepted", done, "passed"),
    ]


def _scoring(judging: JudgingSettings, detail: pl.Expr) -> list[Rule]:
    """Return the rules by which a judge's scores stop a pair; `detail` is of the assessment."""
    scored = pl.all_horizontal(pl.col(name).is_between(0, 1).fill_null(value=False) for name in SCORES)
    return [
        Rule(~scored, "failed", "quality_assessment", "no_scores", detail),
        *(_below(name, getattr(judging, f"floor_{name}")) for name in SCORES),
        _below("composite", judging.threshold),
    ]


def judged_verdicts(assessments: pl.DataFrame, judging: JudgingSettings) -> pl.DataFrame:
    """Return assessments with the verdicts of pairs whose claims are all supported, and thresholds_id."""
    facts = assessments.with_columns(pl.col(SCORES).fill_nan(None), grounding=1.0).with_columns(
        _composite(judging)
    )
    unread = Rule(pl.col("status") != "judged", "failed", "quality_assessment", "judge_failed")
    decided = _apply([unread, *_scoring(judging, pl.col("detail")), Rule(_EVERY, "accepted", "", "")], facts)
    return assessments.with_columns(decided["verdict"], thresholds_id=pl.lit(judging.thresholds_id))


def _below(score: str, limit: float) -> Rule:
    """Reject what lies under a floor and say by how much."""
    detail = pl.format("{} {} is below {}", pl.lit(score), pl.col(score).round(3), pl.lit(limit))
    return Rule(
        pl.col(score).round(_DIGITS) < limit, "rejected", "quality_assessment", f"low_{score}", detail
    )


def _apply(rules: Sequence[Rule], facts: pl.DataFrame) -> pl.DataFrame:
    """Set what a row's first matching rule says; a row that meets none keeps what it has."""

    def chosen(part: str) -> pl.Expr:
        branch = pl.col(part) if part in facts.columns else pl.lit(None, dtype=pl.String())
        for rule in reversed(rules):
            value = getattr(rule, part)
            then = pl.lit(value) if isinstance(value, str) else value
            branch = pl.when(rule.when).then(then).otherwise(branch)
        return branch.alias(part)

    return facts.with_columns(chosen(part) for part in ("verdict", "stage", "reason", "detail"))


_SEEN = pl.col("reason") == "person_accepted"
"""A person has seen it already: nobody is asked about it again."""


def _settle_repeats(decided: pl.DataFrame, twins: pl.DataFrame) -> pl.DataFrame:
    """Keep one of accepted twins, and send different answers to one question to a person.

    Known-answer pairs stand aside: they never train, and half of them repeat a question on purpose.
    """
    candidates = decided.filter(pl.col("verdict") == "accepted", pl.col("expected_verdict").is_null())
    alternatives = find_alternatives(candidates)
    best = candidates.join(alternatives, on="pair_id", how="anti")
    duplicates = pl.concat([alternatives, find_duplicates(best, twins)])
    single = candidates.join(duplicates, on="pair_id", how="anti")
    duplicates = pl.concat([duplicates, find_same_wording(single)])
    remaining = candidates.join(duplicates, on="pair_id", how="anti")
    marked = _joined(decided, duplicates, find_conflicts(remaining))
    conflicts = pl.col("answers").is_not_null() & ~_SEEN
    detail = pl.format("the question has {} different accepted answers", pl.col("answers"))
    return _apply(
        [
            Rule(pl.col("duplicate_of").is_not_null(), "rejected", "deduplication", pl.col("repeated")),
            Rule(conflicts, "needs_review", "deduplication", "conflicting_answers", detail),
        ],
        marked,
    )


def support_level() -> pl.Expr:
    """Return the level that follows from the column grounding; null where that is."""
    share = pl.col("grounding").round(_DIGITS)
    return (
        pl.when(share >= WELL_SUPPORTED)
        .then(pl.lit("well_supported"))
        .when(share >= PARTIALLY_SUPPORTED)
        .then(pl.lit("partial"))
        .when(share.is_not_null())
        .then(pl.lit("weak"))
        .alias("support_level")
    )


def _unsupported_spans(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the spans of unsupported claims, in the order of the answer, one list for each pair."""
    span = pl.struct("start", "end", pl.coalesce("reason", "verdict").alias("reason")).cast(UNSUPPORTED)
    return (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") != SUPPORTED)
        .sort("pair_id", "start", "position", "claim_id")
        .group_by("pair_id", maintain_order=True)
        .agg(span.alias("unsupported_spans"))
    )


def record_deciding(layout: Layout, verification: VerificationSettings, judging: JudgingSettings) -> None:
    """Keep the settings that decide, so that a what-if starts from them and not from those of another day.

    Raises:
        StorageError: they cannot be written.
    """
    values = {
        "verification": verification.model_dump(mode="json", include=set(VerificationSettings.deciding())),
        "judging": judging.model_dump(mode="json", include=set(JudgingSettings.deciding())),
    }
    thresholds_ids = f"{verification.thresholds_id}/{judging.thresholds_id}"
    write_bytes(layout.deciding(thresholds_ids), json.dumps(values, indent=1, sort_keys=True).encode())


def recorded_deciding(layout: Layout, thresholds_id: str) -> dict[str, dict[str, Any]]:
    """Return the settings behind verdicts of this `thresholds_id`; empty where they are not recorded.

    Raises:
        InputError: the file is damaged.
    """
    path = layout.deciding(thresholds_id)
    if not path.is_file():
        return {}
    try:
        values: dict[str, dict[str, Any]] = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is damaged; delete it and run the batch again") from error
    return values
