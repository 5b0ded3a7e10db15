"""The ledger: one verdict for every pair, from what the stages before it found.

Everything is pure: other thresholds over the same tables cost no model call.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from qa_pipeline.curation.citation_quality import citation_quality
from qa_pipeline.curation.decisions import EDITED, PERSON, applied
from qa_pipeline.curation.duplicates import find_conflicts, find_duplicates, find_one_sided
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.tables import UNSUPPORTED, VERDICTS
from qa_pipeline.text.injection import INJECTION_IN_SOURCE
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, ground_pairs

WELL_SUPPORTED, PARTIALLY_SUPPORTED = 0.75, 0.40
DIMENSIONS = ("relevance", "correctness", "completeness")

# Scores are shown and compared to nine digits, so that 0.7 reached by addition is 0.7.
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Rule:
    """The verdict of the rows that meet `when` and no rule before it; `reason` is a code or a column."""

    when: pl.Expr
    verdict: str
    stage: str
    reason: str | pl.Expr
    detail: pl.Expr


def build_verdicts(
    *,
    pairs: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    assessments: pl.DataFrame,
    refusals: pl.DataFrame,
    contradictions: pl.DataFrame,
    decisions: pl.DataFrame,
    verification: VerificationSettings,
    judging: JudgingSettings,
) -> pl.DataFrame:
    """Give every pair exactly one verdict, in the order of `pairs`.

    Partial coverage is no reason of its own: such a pair meets the same share of supported claims and the
    same floors, of which completeness is the lowest. Where `accept_grounding` is below 1, answers with
    unproved statements meet the floor of grounding and the composite score; without a judge they wait for a
    person.

    Args:
        pairs: the pairs table; decides which rows exist. Rows of other tables about other pairs are ignored.
        claims: the claims table.
        claim_verdicts: the claim_verdicts table.
        assessments: the assessments table.
        refusals: pair_id and outcome for the pairs of coverage none.
        contradictions: the contradictions table.
        decisions: the decisions table.
        verification: whose `accept_grounding` a pair's share of supported claims meets.
        judging: weights, threshold and floors.

    Returns:
        The verdicts table.
    """
    grounds = ground_pairs(pairs, claims, claim_verdicts, accept_grounding=verification.accept_grounding)
    people = applied(decisions, pairs, claims).filter(pl.col("claim_id").is_null())
    facts = _gather(pairs, grounds, assessments, refusals, people).with_columns(_composite(judging))
    against = find_one_sided(claims, claim_verdicts, contradictions)
    flagged = _flag_one_sided(_apply(_rules(judging), facts), against, verification.one_sided)
    decided = _settle_repeats(flagged)
    return VERDICTS.conform(
        decided.join(
            _unsupported_spans(claims, claim_verdicts), on="pair_id", how="left", maintain_order="left"
        )
        .join(
            citation_quality(pairs, claims, claim_verdicts), on="pair_id", how="left", maintain_order="left"
        )
        .with_columns(
            pl.col("unsupported_spans").fill_null([]),
            _support_level(),
            pl.when(pl.col("stage") == PERSON)
            .then(pl.lit(PERSON))
            .otherwise(pl.lit("pipeline"))
            .alias("decided_by"),
            pl.lit(f"{verification.thresholds_id}/{judging.thresholds_id}").alias("thresholds_id"),
        )
        .select(VERDICTS.schema.names())
    )


def _gather(
    pairs: pl.DataFrame,
    grounds: pl.DataFrame,
    assessments: pl.DataFrame,
    refusals: pl.DataFrame,
    people: pl.DataFrame,
) -> pl.DataFrame:
    """One row for each pair with all that is known of it."""
    assessed = assessments.select(
        "pair_id",
        *DIMENSIONS,
        pl.col("status").alias("judge_status"),
        pl.col("reason").alias("judge_reason"),
        pl.col("detail").alias("judge_detail"),
    )
    return (
        pairs.select("pair_id", "batch", "question", "answer", "expected_verdict", "origin", "generator")
        .join(people.select("pair_id", "decision", "said"), on="pair_id", how="left", maintain_order="left")
        .join(grounds, on="pair_id", how="left", maintain_order="left")
        .join(assessed, on="pair_id", how="left", maintain_order="left")
        .join(
            refusals.select("pair_id", pl.col("outcome").alias("refusal")),
            on="pair_id",
            how="left",
            maintain_order="left",
        )
        .with_columns(_judged_only(name) for name in DIMENSIONS)
    )


def _judged_only(dimension: str) -> pl.Expr:
    """A score of a row that reached the judge; what stands beside other rows is not a score of theirs."""
    reached = (pl.col("outcome") == "grounded") & (pl.col("judge_status") == "judged")
    return pl.when(reached).then(pl.col(dimension).fill_nan(None)).alias(dimension)


def _composite(judging: JudgingSettings) -> pl.Expr:
    """Weighted mean of the grounding score and the judge's dimensions; null unless all four exist."""
    weights = {
        "grounding": judging.weight_source,
        "relevance": judging.weight_relevance,
        "correctness": judging.weight_correctness,
        "completeness": judging.weight_completeness,
    }
    weighted = [pl.col(name) * weight for name, weight in weights.items()]
    total = weighted[0] + weighted[1] + weighted[2] + weighted[3]
    return (total / sum(weights.values())).round(_DIGITS).alias("composite")


def _rules(judging: JudgingSettings) -> list[Rule]:
    """Every way to a verdict, first match wins; the last one meets whatever is left."""
    return [
        *_person_rules(),
        *_source_rules(),
        *_refusal_rules(),
        _below("grounding", judging.floor_source),
        *_unjudged_rules(accept=bool(judging.accept_unjudged)),
        *_score_rules(judging),
        Rule(
            pl.col("judge_reason") == INJECTION_IN_SOURCE,
            "needs_review",
            "quality_assessment",
            INJECTION_IN_SOURCE,
            pl.lit("the judge read a passage, question or answer that gives orders to whoever checks it"),
        ),
        Rule(~_fully_supported(), "accepted", "accepted", "partially_supported", _NO_DETAIL),
        Rule(pl.lit(value=True), "accepted", "accepted", "passed", _NO_DETAIL),
    ]


_NO_DETAIL = pl.lit(None, dtype=pl.String())


def _fully_supported() -> pl.Expr:
    """Whether every claim is supported; what is accepted without a judge must be."""
    return pl.col("supported_claims") == pl.col("claims")


def _person_rules() -> list[Rule]:
    """What a person decided comes first; but nothing is accepted that lacks its proof.

    Who edits an answer says that it is a good one. Whether the documents prove it is verified.
    """
    decision, said = pl.col("decision"), pl.col("said")
    proved = pl.col("outcome").is_in(["grounded", "refusal"])
    edited = (pl.col("origin") == EDITED) & (pl.col("outcome") == "grounded")
    return [
        Rule(decision == "rejected", "rejected", PERSON, "person_rejected", said),
        Rule(decision == EDITED, "rejected", PERSON, "superseded_by_edit", said),
        Rule((decision == "accepted") & proved, "accepted", PERSON, "person_accepted", said),
        Rule(edited, "accepted", PERSON, "person_edited", pl.format("by {}", "generator")),
    ]


def _source_rules() -> list[Rule]:
    outcome, reason, detail = pl.col("outcome"), pl.col("reason"), pl.col("detail")
    source = "source_verification"
    return [
        Rule(outcome == "not_drafted", "failed", "pairs", reason, detail),
        Rule(outcome == "no_claims", "failed", source, "no_claims", _NO_DETAIL),
        Rule(outcome == "failed", "failed", source, reason, detail),
        Rule(outcome == "rejected", "rejected", source, reason, detail),
        Rule(outcome == "undecided", "needs_review", source, reason, detail),
    ]


def _refusal_rules() -> list[Rule]:
    """A refusal is judged by whether the batch could have answered, never by claims."""
    refused, found = pl.col("outcome") == "refusal", pl.col("refusal")
    unproved = "answerability of the question was not examined"
    return [
        Rule(refused & (found == "correct_refusal"), "accepted", "accepted", found, _NO_DETAIL),
        Rule(refused & (found == "refused_answerable"), "rejected", "refusal", found, _NO_DETAIL),
        Rule(refused & (found == "unproved_refusal"), "needs_review", "refusal", found, _NO_DETAIL),
        Rule(refused, "failed", "refusal", "no_refusal_evidence", pl.lit(unproved)),
    ]


def _unjudged_rules(*, accept: bool) -> list[Rule]:
    status, reason, detail = pl.col("judge_status"), pl.col("judge_reason"), pl.col("judge_detail")
    quality = "quality_assessment"
    missing = pl.lit("the pair passed source verification and no assessment of it exists")
    not_judged = status == "not_judged"
    return [
        Rule(not_judged & _fully_supported() & accept, "accepted", "accepted", "unjudged", detail),
        Rule(not_judged, "needs_review", quality, "not_judged", detail),
        Rule(status == "failed", "failed", quality, pl.coalesce(reason, pl.lit("judge_failed")), detail),
        Rule(status.is_null() | (status != "judged"), "failed", quality, "no_assessment", missing),
    ]


def _score_rules(judging: JudgingSettings) -> list[Rule]:
    scored = pl.all_horizontal(
        pl.col(name).is_between(0.0, 1.0).fill_null(value=False) for name in DIMENSIONS
    )
    return [
        Rule(~scored, "failed", "quality_assessment", "no_scores", pl.col("judge_detail")),
        _below("relevance", judging.floor_relevance),
        _below("correctness", judging.floor_correctness),
        _below("completeness", judging.floor_completeness),
        _below("composite", judging.threshold),
    ]


def _below(score: str, limit: float) -> Rule:
    """Reject what lies under a floor and say by how much."""
    said = pl.format("{} {} is below {}", pl.lit(score), pl.col(score).round(3), pl.lit(limit))
    return Rule(pl.col(score).round(_DIGITS) < limit, "rejected", "quality_assessment", f"low_{score}", said)


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


def _flag_one_sided(decided: pl.DataFrame, against: pl.DataFrame, setting: str) -> pl.DataFrame:
    """Send what would be accepted to a person where the documents disagree and the answer does not say so."""
    if setting == "ignore":
        return decided
    marked = decided.join(against, on="pair_id", how="left", maintain_order="left")
    accepted = (pl.col("verdict") == "accepted") & ~_by_person()
    denied = pl.col("denied_by").is_not_null()
    rule = Rule(accepted & denied, "needs_review", "source_verification", "one_sided", pl.col("denied_by"))
    return _apply([rule], marked)


def _by_person() -> pl.Expr:
    """A person has seen it already: nobody is asked about it again."""
    return pl.col("reason") == "person_accepted"


def _settle_repeats(decided: pl.DataFrame) -> pl.DataFrame:
    """Keep one of equal accepted pairs, and send different answers to one question to a person.

    Known-answer pairs stand aside: they never train, and half of them repeat a question on purpose.
    """
    candidates = decided.filter(pl.col("verdict") == "accepted", pl.col("expected_verdict").is_null())
    marked = decided.join(find_duplicates(candidates), on="pair_id", how="left", maintain_order="left").join(
        find_conflicts(candidates), on="pair_id", how="left", maintain_order="left"
    )
    repeats = pl.col("duplicate_of").is_not_null()
    conflicts = pl.col("answers").is_not_null() & ~_by_person()
    said = pl.format("the question has {} different accepted answers", pl.col("answers"))
    return _apply(
        [
            Rule(repeats, "rejected", "deduplication", "duplicate", _NO_DETAIL),
            Rule(conflicts, "needs_review", "deduplication", "conflicting_answers", said),
        ],
        marked,
    )


def _support_level() -> pl.Expr:
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
    """Spans of the claims nothing supports, in the order of the answer, one list for each pair."""
    span = pl.struct("start", "end", pl.coalesce("reason", "verdict").alias("reason")).cast(UNSUPPORTED)
    return (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") != SUPPORTED)
        .sort("pair_id", "start", "position", "claim_id")
        .group_by("pair_id", maintain_order=True)
        .agg(span.alias("unsupported_spans"))
    )
