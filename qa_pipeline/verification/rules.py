"""The rules of the cascade: conditions over the stored scores of a claim, and the outcome each has.

First those that are not fitted: citations, what is proved word by word and what is denied in a slot, and the
policy `similarity_only`; then those with fitted thresholds, which `qa_pipeline.evaluation.calibration` finds
over the very scores defined here. Their order is `deciding.py`. A missing score decides nothing: a comparison
with null is not true.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from qa_pipeline.settings.thresholds import Thresholds, has_thresholds
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.text.references import FOUND_BY_SEARCH
from qa_pipeline.verification.splitting import TOO_MANY

BORDERLINE = "borderline"
ALIGNMENT = "alignment"
"""The step that lays a claim beside its evidence, unit by unit."""
_SHOWN = 3

Rule = tuple[pl.Expr, pl.Expr]
"""A condition, and the outcome (a struct of verdict, decided_by, reason, detail) of the rows that meet it."""


def outcome(
    verdict: str, decided_by: str, reason: str | pl.Expr | None, detail: pl.Expr | None = None
) -> pl.Expr:
    """What a rule makes of a claim, as a struct."""
    code = pl.lit(reason, pl.String()) if reason is None or isinstance(reason, str) else reason
    words = pl.lit(None, pl.String()) if detail is None else detail
    return pl.struct(verdict=pl.lit(verdict), decided_by=pl.lit(decided_by), reason=code, detail=words)


def local_rules() -> list[Rule]:
    """The rules in order, the first that applies deciding."""
    missing = pl.col("evidence_quote").is_null()
    searched = pl.col("citation_status") == FOUND_BY_SEARCH
    reason = pl.col("denied").list.first().str.extract(r"^(\w+): ")
    return [
        *_citation_rules(),
        (searched & missing, outcome("undecided", "similarity", "no_evidence_found", _scores())),
        (missing, outcome("failed", "no_step", "no_evidence_text")),
        (_count("unproved") == 0, outcome("supported", ALIGNMENT, None)),
        (
            pl.col("proved_by_chunk_id").is_not_null(),
            outcome("unsupported", ALIGNMENT, "wrong_citation", _proved_elsewhere()),
        ),
        (_count("denied") > 0, outcome("contradicted", ALIGNMENT, reason, pl.col("denied").list.join("; "))),
    ]


def _citation_rules() -> list[Rule]:
    status, reason = pl.col("citation_status"), pl.col("citation_reason")
    unresolved = status == "unresolved"
    return [
        (pl.col("split_reason") == TOO_MANY, outcome("failed", "no_step", TOO_MANY)),
        (
            unresolved & (reason == "cited_document_without_text"),
            outcome("failed", "citation", "cited_document_without_text"),
        ),
        (
            unresolved & (reason == "ambiguous_citation"),
            outcome("undecided", "citation", "ambiguous_citation"),
        ),
        (unresolved, outcome("unsupported", "citation", reason)),
        (status == "quote_not_found", outcome("unsupported", "citation", "quote_not_found")),
        (status == "uncited", outcome("unsupported", "citation", "uncited")),
    ]


def first_of(rules: Sequence[Rule], otherwise: pl.Expr) -> pl.Expr:
    """The outcome of the first rule that a row meets."""
    for condition, found in reversed(rules):
        otherwise = pl.when(condition).then(found).otherwise(otherwise)
    return otherwise


def _count(column: str) -> pl.Expr:
    return pl.col(column).list.len()


def _scores() -> pl.Expr:
    return pl.format(
        "similarity {}, share of words found {}",
        pl.col("similarity").round(2),
        pl.col("token_recall").round(2).fill_null(0.0),
    )


def _proved_elsewhere() -> pl.Expr:
    return pl.format("proved by another passage ({}), not by the cited one", "proved_by_chunk_id")


def _doubts() -> pl.Expr:
    """What kept the claim from being accepted: the first differences, else the scores."""
    doubts = pl.col("unproved").list.head(_SHOWN).list.join("; ")
    return pl.when(_count("unproved") > 0).then(doubts).otherwise(_scores())


def similarity_rules(settings: VerificationSettings) -> list[Rule]:
    """The simple policy: the mean over a pair's claims of the best cosine to a chunk of what it cites."""
    mean, words = _pair_mean()
    missing = pl.col("chunk_similarity").is_null()
    return [
        *_citation_rules(),
        (missing, outcome("failed", "no_step", "no_evidence_text")),
        (mean >= settings.similarity_pass, outcome("supported", "similarity_only", None, words)),
        (mean < settings.similarity_fail, outcome("unsupported", "similarity_only", "dissimilar", words)),
    ]


def open_outcome(settings: VerificationSettings) -> pl.Expr:
    """What becomes of a claim that no rule decides: it is passed on to a model."""
    words = _pair_mean()[1] if settings.policy == "similarity_only" else _doubts()
    return outcome("undecided", "no_step", BORDERLINE, words)


def _pair_mean() -> tuple[pl.Expr, pl.Expr]:
    mean = pl.col("chunk_similarity").mean().over("pair_id")
    return mean, pl.format("mean similarity of the pair {}", mean.round(3))


StepName = Literal["entailment"]
SideName = Literal["accept", "reject", "contradict"]

CONTRADICTION_GUARD = 0.5
"""Contradiction from which entailment neither accepts nor rejects: a passage that rather denies the claim.

It is fixed, and no threshold of contradiction lies below it: what entailment accepts does not depend on where
that one is, so that each can be fitted by itself.
"""


@dataclass(frozen=True, slots=True)
class FittedThreshold:
    """One way in which a fitted step decides: `score` held against a threshold, null deciding nothing."""

    step: StepName
    side: SideName
    score: pl.Expr
    meets: Callable[[pl.Expr, float], pl.Expr]
    outcome: pl.Expr


def fitted_thresholds() -> tuple[FittedThreshold, ...]:
    """Every way, in the order in which they decide.

    A number, name, negation, quantifier, modal or condition that differs keeps a claim from being accepted
    by a score, which hardly moves with it.
    """
    entailment, denied = pl.col("entailment"), pl.col("contradiction")
    undenied = pl.when(denied.fill_null(0.0) < CONTRADICTION_GUARD).then(entailment)
    uncontested = pl.when(~pl.col("scope_differs")).then(undenied)
    contradicted = outcome(
        "contradicted", "entailment", "entailment_contradiction", _score_text("contradiction")
    )
    score = _score_text("entailment")
    accepted = outcome("supported", "entailment", None, score)
    rejected = outcome("unsupported", "entailment", "not_entailed", score)
    return (
        FittedThreshold("entailment", "contradict", denied, operator.ge, contradicted),
        FittedThreshold("entailment", "accept", uncontested, operator.ge, accepted),
        FittedThreshold("entailment", "reject", undenied, operator.le, rejected),
    )


def fitted_rules(settings: VerificationSettings, thresholds: Thresholds) -> list[Rule]:
    """The rules of both steps, in order; a threshold of null is no rule.

    A fitted threshold holds for scores of the model it was fitted for. One set by hand is a person's own
    choice and holds for any.
    """
    rules: list[Rule] = []
    for side in fitted_thresholds():
        chosen = getattr(settings, f"{side.step}_{side.side}")
        fitted = getattr(getattr(thresholds.bands, side.step), side.side)
        if chosen is not None:
            rules.append((side.meets(side.score, chosen), side.outcome))
        elif fitted is not None:
            rules.append((side.meets(side.score, fitted) & _of_model(side.step, thresholds), side.outcome))
    return rules


def scores_of_other_models(claims: pl.DataFrame, thresholds: Thresholds) -> dict[str, int]:
    """Count for each step the scores of other models than the thresholds were fitted for.

    Fitted thresholds are not applied to them. A step without fitted thresholds has no such scores.
    """
    strange = pl.col("entailment").is_not_null() & ~_of_model("entailment", thresholds)
    known = has_thresholds(thresholds, "entailment")
    return {"entailment": claims.filter(strange).height if known else 0}


def _of_model(step: str, thresholds: Thresholds) -> pl.Expr:
    model = getattr(thresholds.models, step)
    return (pl.col(f"{step}_model") == pl.lit(model, pl.String())).fill_null(value=False)


def _score_text(score: str) -> pl.Expr:
    return pl.format(f"{score} {{}}", pl.col(score).round(3))
