"""Decide every pair and build the ledger, the table of verdicts.

`build_verdicts` is a pure function: new thresholds can be applied to the same tables without model calls.
"""

import functools
import operator
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.curation import duplicates
from qa_pipeline.curation.batch_gates import JUDGE_NOT_TRUSTED, MODEL, VERIFIER_NOT_TRUSTED, reviewer_trust
from qa_pipeline.curation.decisions import EDITED, PERSON, applied
from qa_pipeline.curation.gate import Gate
from qa_pipeline.curation.measures import citation_quality
from qa_pipeline.generation.deduplication import find_twins
from qa_pipeline.records import HOP_SCOPES
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.storage.tables import UNSUPPORTED, VERDICTS
from qa_pipeline.text.injection import INJECTION_IN_SOURCE
from qa_pipeline.verification.outcomes import FLAWED, SUPPORTED, decided_claims, ground_pairs, join_by_pair

WELL_SUPPORTED, PARTIALLY_SUPPORTED = 0.75, 0.40
"""Minimum grounding of the support levels, as fixed by the specification."""
DIMENSIONS = ("relevance", "correctness", "completeness")
"""Scores of the answer. Each has a weight in the composite score."""
SCORES = (*DIMENSIONS, "question_quality")
"""All scores of a judge. Each has a floor."""

_DIGITS = 9  # of rounded scores, so that a sum of 0.7 equals 0.7
_TRIP = ("pair_id", "agrees", "fewer_chunks_answer", "solved_answer")  # of round_trips
_EVERY = pl.lit(value=True)
_NO_DETAIL = pl.lit(None, dtype=pl.String())
_OUTCOME, _REASON, _DETAIL = pl.col("outcome"), pl.col("reason"), pl.col("detail")
"""The outcome of source verification, with its reason and detail."""
_IS_GENERATED, _QUESTION_TYPE = pl.col("origin") == "generated", pl.col("question_type")
_VERIFICATION, _ASSESSMENT = "source_verification", "quality_assessment"
"""Two of the stages that decide pairs."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for rows that match `when`; the first match of a list counts. `reason` is a code or a column."""

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
    """Decide every pair by the rules of `_rules`, then by its duplicates; a row per pair, in the same order.

    The frames are the tables of these names, except `refusals`: pair_id and outcome of the pairs with
    coverage "none". Rows about pairs that are missing in `pairs` are ignored.
    """
    outcomes = ground_pairs(pairs, claims, claim_verdicts, accept_grounding=verification.accept_grounding)
    locally_undecided = _undecided_without_model(pairs, claims, claim_verdicts, verification)
    pair_decisions = applied(decisions, pairs, claims).filter(pl.col("claim_id").is_null())
    facts = _gather(pairs, outcomes, assessments, refusals, pair_decisions, round_trips).with_columns(
        _composite(judging),
        undecided_without_model=pl.col("pair_id").is_in(locally_undecided.implode()),
    )
    rules = _rules(judging, reviewer_trust(canaries, "verifier"), reviewer_trust(canaries, "judge"))
    decided = _settle_repeats(_apply(rules, facts), find_twins(pairs))
    spans = _unsupported_spans(claims, claim_verdicts)
    by_person = pl.when(pl.col("stage") == PERSON).then(pl.lit(PERSON)).otherwise(pl.lit("pipeline"))
    return VERDICTS.conform(
        join_by_pair(decided, spans, citation_quality(pairs, claims, claim_verdicts))
        .with_columns(
            pl.col("unsupported_spans").fill_null([]),
            support_level(),
            by_person.alias("decided_by"),
            pl.lit(f"{verification.thresholds_id}/{judging.thresholds_id}").alias("thresholds_id"),
        )
        .select(VERDICTS.schema.names())
    )


def _undecided_without_model(
    pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame, settings: VerificationSettings
) -> pl.Series:
    """Return the ids of pairs that are undecided if the model's verdicts on claims are ignored."""
    # a failed call is no verdict: its claim, and so its pair, stays failed
    is_by_model = (pl.col("decided_by") == MODEL) & (pl.col("verdict") != "failed")
    local_verdicts = claim_verdicts.with_columns(
        verdict=pl.when(is_by_model).then(pl.lit("undecided")).otherwise("verdict")
    )
    outcomes = ground_pairs(pairs, claims, local_verdicts, accept_grounding=settings.accept_grounding)
    return outcomes.filter(pl.col("outcome") == "undecided")["pair_id"]


def _gather(
    pairs: pl.DataFrame,
    outcomes: pl.DataFrame,
    assessments: pl.DataFrame,
    refusals: pl.DataFrame,
    pair_decisions: pl.DataFrame,
    round_trips: pl.DataFrame,
) -> pl.DataFrame:
    """Join all facts that the rules read, a row per pair.

    A score becomes null if it is NaN, or if the pair is not both proved and judged.
    """
    about_pairs = pairs.select(
        *("pair_id", "batch", "question_id", "draft", "question", "answer", "question_type"),
        *("expected_verdict", "origin", "generator"),
    )
    renamed = ("status", "reason", "detail")  # names that several tables share
    has_scores = (_OUTCOME == "grounded") & (pl.col("judge_status") == "judged")
    return join_by_pair(
        about_pairs,
        pair_decisions.select("pair_id", "decision", "explanation"),
        outcomes,
        assessments.select("pair_id", *SCORES, **{f"judge_{name}": name for name in renamed}),
        refusals.select("pair_id", refusal="outcome"),
        round_trips.select(*_TRIP, **{f"trip_{name}": name for name in renamed}),
    ).with_columns(pl.when(has_scores).then(pl.col(name).fill_nan(None)).alias(name) for name in SCORES)


def _composite(judging: JudgingSettings) -> pl.Expr:
    """Return the weighted mean of grounding and the judge's dimensions; null unless all four exist."""
    weights = {name: getattr(judging, f"weight_{name}") for name in DIMENSIONS}
    weights = {"grounding": judging.weight_source} | weights
    weighted = [pl.col(name) * weight for name, weight in weights.items()]
    total: pl.Expr = functools.reduce(operator.add, weighted)
    return (total / sum(weights.values())).round(_DIGITS).alias("composite")


def _rules(judging: JudgingSettings, verifier: Gate, judge: Gate) -> list[Rule]:
    """Return the rules for verdicts. The first match wins, and the last rule matches every row.

    A person's decision comes first, but a pair without proof is never accepted. `verifier` and `judge` are
    the gates of these models; a model that fails its gate neither accepts nor rejects pairs.
    """
    decision, explanation = pl.col("decision"), pl.col("explanation")
    is_proved = _OUTCOME.is_in(["grounded", "refusal"])
    by_people = [
        Rule(decision == "rejected", "rejected", PERSON, "person_rejected", explanation),
        Rule(decision == EDITED, "rejected", PERSON, "superseded_by_edit", explanation),
        Rule((decision == "accepted") & is_proved, "accepted", PERSON, "person_accepted", explanation),
    ]
    verification, assessment = _verification_rules(verifier), _assessment_rules(judging, judge)
    # the setting `floor_source` is the floor of grounding; a good round trip cannot make up for it
    low_grounding = _below("grounding", judging.floor_source)
    return [*by_people, *verification, *_refusal_rules(), low_grounding, *_round_trip_rules(), *assessment]


def _verification_rules(verifier: Gate) -> list[Rule]:
    """Return the rules by the outcome of source verification, in order. An edited answer is not judged."""
    # undecided by the local steps and decided now: the model decided
    is_by_model = pl.col("undecided_without_model") & (_OUTCOME != "undecided")
    is_distrusted = is_by_model & ~pl.lit(verifier.passed)  # even if the model rejected the pair
    canary_detail = pl.lit(f"wrong on purpose: {verifier.detail}")  # about the accepted canaries
    is_edited = (pl.col("origin") == EDITED) & (_OUTCOME == "grounded")
    editor = pl.format("by {}", "generator")  # the generator of an edited pair is the person who edited it
    return [
        Rule(is_distrusted, "needs_review", _VERIFICATION, VERIFIER_NOT_TRUSTED, canary_detail),
        Rule(is_edited, "accepted", PERSON, "person_edited", editor),
        Rule(_OUTCOME == FLAWED, "rejected", "pairs", _REASON, _DETAIL),
        Rule(_OUTCOME == "not_drafted", "failed", "pairs", _REASON, _DETAIL),
        Rule(_OUTCOME == "no_claims", "failed", _VERIFICATION, "no_claims"),
        Rule(_OUTCOME == "failed", "failed", _VERIFICATION, _REASON, _DETAIL),
        Rule(_OUTCOME == "rejected", "rejected", _VERIFICATION, _REASON, _DETAIL),
        Rule(_OUTCOME == "undecided", "needs_review", _VERIFICATION, _REASON, _DETAIL),
        # refusals and other grounded answers match no rule here; later rules decide them
    ]


def _refusal_rules() -> list[Rule]:
    """Return the rules for refusals, which are decided by their row in `refusals` and not by claims."""
    is_refusal, refusal = _OUTCOME == "refusal", pl.col("refusal")
    lacks_denial = _IS_GENERATED & (_QUESTION_TYPE == "false_premise") & is_refusal
    advice = pl.lit("the answer should say what is right in place of what the question takes for granted")
    has_answer = _IS_GENERATED & (_QUESTION_TYPE == "unanswerable") & ~is_refusal
    answered_detail = pl.lit("the question was meant to have no answer, and the documents answer it")
    unexamined_detail = pl.lit("answerability of the question was not examined")
    return [
        Rule(lacks_denial, "rejected", "pairs", "premise_not_denied", advice),
        Rule(has_answer, "rejected", "pairs", "question_answered", answered_detail),
        Rule(is_refusal & (refusal == "correct_refusal"), "accepted", stage="accepted", reason=refusal),
        Rule(is_refusal & (refusal == "refused_answerable"), "rejected", "refusal", refusal),
        Rule(is_refusal & (refusal == "unproved_refusal"), "needs_review", "refusal", refusal),
        Rule(is_refusal, "failed", "refusal", "no_refusal_evidence", unexamined_detail),
    ]


def _round_trip_rules() -> list[Rule]:
    """Return the rules by round trips, in which a model answers the question again from less context."""
    trip_failed = pl.col("trip_status") == "failed"
    trip_reason, trip_detail = pl.col("trip_reason"), pl.col("trip_detail")
    needs_two_chunks = _IS_GENERATED & _QUESTION_TYPE.is_in(list(HOP_SCOPES))
    one_chunk_suffices = pl.col("fewer_chunks_answer")  # null: not known
    hops_detail = pl.lit("whether each chunk is needed for the answer is not known")
    # the answer from the quotes alone; null in `agrees`, for pairs not asked, matches no rule
    solved_answer, disagrees = pl.col("solved_answer"), ~pl.col("agrees")
    is_open = needs_two_chunks & one_chunk_suffices.is_null()
    return [
        Rule(trip_failed, "failed", "round_trip", trip_reason, trip_detail),
        Rule(needs_two_chunks & one_chunk_suffices, "rejected", "round_trip", "fewer_chunks_answer"),
        Rule(is_open, "needs_review", "round_trip", "hops_unproved", hops_detail),
        Rule(disagrees, "needs_review", "round_trip", "solver_disagrees", solved_answer),
    ]


def _assessment_rules(judging: JudgingSettings, judge: Gate) -> list[Rule]:
    """Return the rules by the judge, in order. Unjudged pairs need support for all their claims."""
    status, judge_detail = pl.col("judge_status"), pl.col("judge_detail")
    is_unjudged = status == "not_judged"
    all_supported = pl.col("supported_claims") == pl.col("claims")
    is_accepted_unjudged = is_unjudged & all_supported & pl.lit(bool(judging.accept_unjudged))
    judge_reason = pl.coalesce(pl.col("judge_reason"), pl.lit("judge_failed"))
    missing_detail = pl.lit("the pair passed source verification and no assessment of it exists")
    canary_detail = pl.lit(f"wrong on purpose: {judge.detail}")
    is_injected = pl.col("judge_reason") == INJECTION_IN_SOURCE
    injection = pl.lit("the judge read a passage, question or answer that gives orders to whoever checks it")
    return [
        Rule(is_accepted_unjudged, "accepted", stage="accepted", reason="unjudged", detail=judge_detail),
        Rule(is_unjudged, "needs_review", _ASSESSMENT, "not_judged", judge_detail),
        Rule(status == "failed", "failed", _ASSESSMENT, judge_reason, judge_detail),
        Rule(status.is_null() | (status != "judged"), "failed", _ASSESSMENT, "no_assessment", missing_detail),
        Rule(~pl.lit(judge.passed), "needs_review", _ASSESSMENT, JUDGE_NOT_TRUSTED, canary_detail),
        *_scoring(judging, judge_detail),  # pairs that match none of these have sufficient scores
        Rule(is_injected, "needs_review", _ASSESSMENT, INJECTION_IN_SOURCE, injection),
        Rule(~all_supported, "accepted", stage="accepted", reason="partially_supported"),
        Rule(_EVERY, "accepted", stage="accepted", reason="passed"),
    ]


def _scoring(judging: JudgingSettings, detail: pl.Expr) -> list[Rule]:
    """Return the rules by which a judge's scores fail or reject a pair. `detail` explains missing scores."""
    scored = pl.all_horizontal(pl.col(name).is_between(0, 1).fill_null(value=False) for name in SCORES)
    return [
        Rule(~scored, "failed", _ASSESSMENT, "no_scores", detail),
        *(_below(name, getattr(judging, f"floor_{name}")) for name in SCORES),
        _below("composite", judging.threshold),
    ]


def judged_verdicts(assessments: pl.DataFrame, judging: JudgingSettings) -> pl.DataFrame:
    """Add verdict and thresholds_id to assessments, by the scores alone, as if all claims were supported."""
    scores = assessments.with_columns(pl.col(SCORES).fill_nan(None), grounding=1.0)
    unread = Rule(pl.col("status") != "judged", "failed", _ASSESSMENT, "judge_failed")
    passed = Rule(_EVERY, "accepted", stage="", reason="")
    rules = [unread, *_scoring(judging, pl.col("detail")), passed]
    decided = _apply(rules, scores.with_columns(_composite(judging)))
    return assessments.with_columns(decided["verdict"], thresholds_id=pl.lit(judging.thresholds_id))


def _below(score: str, limit: float) -> Rule:
    """Return a rule that rejects pairs with a score below a limit."""
    detail = pl.format("{} {} is below {}", pl.lit(score), pl.col(score).round(3), pl.lit(limit))
    return Rule(pl.col(score).round(_DIGITS) < limit, "rejected", _ASSESSMENT, f"low_{score}", detail)


def _apply(rules: Sequence[Rule], facts: pl.DataFrame) -> pl.DataFrame:
    """Apply the first matching rule to each row. A row without a match keeps its values."""

    def chosen(column: str) -> pl.Expr:
        """Return the value for a column by the first matching rule, by default its old value."""
        value = pl.col(column) if column in facts.columns else pl.lit(None, dtype=pl.String())
        for rule in reversed(rules):  # each rule wraps the later rules, so the first match wins
            of_rule = getattr(rule, column)
            then = pl.lit(of_rule) if isinstance(of_rule, str) else of_rule
            value = pl.when(rule.when).then(then).otherwise(value)
        return value.alias(column)

    return facts.with_columns(chosen(column) for column in ("verdict", "stage", "reason", "detail"))


def _settle_repeats(decided: pl.DataFrame, twins: pl.DataFrame) -> pl.DataFrame:
    """Keep the best of accepted duplicates, and send different answers to a question to a person.

    `decided` has a row per pair, and `twins` is the result of `find_twins`. Known-answer pairs are left out:
    they never train, and half of them repeat a question on purpose.
    """
    candidates = decided.filter(pl.col("verdict") == "accepted", pl.col("expected_verdict").is_null())
    alternatives = duplicates.find_alternatives(candidates)
    # each step looks only at the pairs that the steps before it kept: the best draft of a question, then
    # one of equal pairs (twins), then ten of a wording
    best_drafts = candidates.join(alternatives, on="pair_id", how="anti")
    repeats = pl.concat([alternatives, duplicates.find_duplicates(best_drafts, twins)])
    distinct = candidates.join(repeats, on="pair_id", how="anti")
    repeats = pl.concat([repeats, duplicates.find_same_wording(distinct)])
    remaining = candidates.join(repeats, on="pair_id", how="anti")
    marked = join_by_pair(decided, repeats, duplicates.find_conflicts(remaining))
    # a pair that a person accepted is not sent to a person again
    conflicts = pl.col("answers").is_not_null() & (pl.col("reason") != "person_accepted")
    detail = pl.format("the question has {} different accepted answers", pl.col("answers"))
    return _apply(
        [
            Rule(pl.col("duplicate_of").is_not_null(), "rejected", "deduplication", pl.col("repeat_reason")),
            Rule(conflicts, "needs_review", "deduplication", "conflicting_answers", detail),
        ],
        marked,
    )


def support_level() -> pl.Expr:
    """Return the support level for the column grounding; null if grounding is null."""
    share = pl.col("grounding").round(_DIGITS)
    return (
        pl.when(share >= WELL_SUPPORTED).then(pl.lit("well_supported"))
        .when(share >= PARTIALLY_SUPPORTED).then(pl.lit("partial"))
        .when(share.is_not_null()).then(pl.lit("weak"))
        .alias("support_level")
    )  # fmt: skip


def _unsupported_spans(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return pair_id and the list of spans of unsupported claims, in the order of the answer."""
    # an unsupported claim without a reason has its verdict as the reason
    span = pl.struct("start", "end", pl.coalesce("reason", "verdict").alias("reason")).cast(UNSUPPORTED)
    return (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") != SUPPORTED)
        .sort("pair_id", "start", "position", "claim_id")
        .group_by("pair_id", maintain_order=True)
        .agg(span.alias("unsupported_spans"))
    )


_REASONS = tomllib.loads(Path(__file__).with_name("reasons.toml").read_text("utf-8"))


def in_words(reason: str, detail: str | None = None) -> str:
    """Describe a reason code in words, followed by its stored detail."""
    words = _REASONS.get(reason, reason.replace("_", " "))
    rest = (detail or "").replace(f"{reason}: ", "").strip()
    return f"{words}: {rest}" if rest else words
