"""The rules of the cascade: conditions over the stored scores of a claim, and the outcome each has.

First those that are not fitted, up to what is accepted word for word or by agreement, and the policy
`similarity_only`; then those with fitted thresholds, which `qa_pipeline.calibration` finds over the very
scores defined here. Their order is `deciding.py`. A missing score decides nothing: a comparison with null is
not true.
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

# A difference is a contradiction only in evidence that says nearly the same: it holds so much of the claim
# besides what differs. Measured on canaries and labelled sets; what suits one corpus suited all.
_CONFLICT_RECALL = 0.60
_CONFLICT_RECALL_ROW = 0.50
"""A table row names few of a claim's words."""
_CONFLICT_RECALL_APART = 0.90
"""Several sentences make several statements."""
_CONFLICT_CHARACTERS = 400
"""So does a longer piece."""
_WRONG_CITATION_MARGIN = 0.30
"""Share of the claim's words by which an uncited passage must hold more to be its source."""

Rule = tuple[pl.Expr, pl.Expr]
"""A condition, and the outcome (a struct of verdict, decided_by, reason, detail) of the rows that meet it."""

_CONFLICTS = (
    ("polarity_conflicts", "negation_mismatch"),
    ("date_conflicts", "date_mismatch"),
    ("number_conflicts", "number_mismatch"),
    ("name_conflicts", "name_mismatch"),
    ("quantifier_conflicts", "quantifier_mismatch"),
)


_DIFFERENCES = (*_CONFLICTS, ("cell_conflicts", "cell_mismatch"))


def outcome(
    verdict: str, decided_by: str, reason: str | pl.Expr | None, detail: pl.Expr | None = None
) -> pl.Expr:
    """What a rule makes of a claim, as a struct."""
    code = pl.lit(reason, pl.String()) if reason is None or isinstance(reason, str) else reason
    words = pl.lit(None, pl.String()) if detail is None else detail
    return pl.struct(verdict=pl.lit(verdict), decided_by=pl.lit(decided_by), reason=code, detail=words)


def _contradicted(column: str, reason: str) -> pl.Expr:
    return outcome("contradicted", "consistency", reason, pl.col(column).list.join("; "))


def local_rules(settings: VerificationSettings) -> list[Rule]:
    """The rules in order, the first that applies deciding."""
    rules: list[Rule] = [*_citation_rules()]
    unfound = _searched() & (pl.col("evidence_quote").is_null() | _far(settings))
    rules.append((unfound, outcome("undecided", "similarity", "no_evidence_found", _scores())))
    rules.append((pl.col("evidence_quote").is_null(), outcome("failed", "no_step", "no_evidence_text")))
    near = _near()
    clear = (pl.col("similarity") >= settings.conflict_similarity) | pl.col("verbatim")
    rules += [(_wrong_citation(settings), outcome("unsupported", "similarity", "wrong_citation", _other()))]
    rules += [
        (
            near & clear & (_count(column) > 0),
            _contradicted(column, reason),
        )
        for column, reason in _CONFLICTS
    ]
    rules.append((_count("cell_conflicts") > 0, _contradicted("cell_conflicts", "cell_mismatch")))
    rules.append((_far(settings), outcome("unsupported", "similarity", "dissimilar", _scores())))
    sure = settled(settings)
    rules.append((sure & pl.col("verbatim"), outcome("supported", "verbatim", None)))
    rules.append((sure & _agrees(settings), outcome("supported", "consistency", None)))
    return rules


def settled(settings: VerificationSettings) -> pl.Expr:
    """Nothing differs, nothing stays unconfirmed, and a fragment's evidence speaks of what was asked."""
    return no_conflicts() & (_count("open_points") == 0) & answers_question(settings)


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


def _near() -> pl.Expr:
    """The evidence says nearly the same, so that a difference in it is a contradiction."""
    same = pl.coalesce("wording_recall", "token_recall")
    short = pl.col("evidence_quote").str.len_chars() <= _CONFLICT_CHARACTERS
    row = pl.col("evidence_is_row").fill_null(value=False)
    needed = pl.when(row).then(_CONFLICT_RECALL_ROW).otherwise(_CONFLICT_RECALL)
    one = (same >= needed) & (pl.col("evidence_sentences") == 1)
    return short & (one | (same >= _CONFLICT_RECALL_APART) | pl.col("verbatim"))


def _searched() -> pl.Expr:
    """Nothing was cited: what a search by words did not find may stand in the batch in other words."""
    return pl.col("citation_status") == FOUND_BY_SEARCH


def _far(settings: VerificationSettings) -> pl.Expr:
    low_recall = pl.col("token_recall").is_null() | (pl.col("token_recall") < settings.recall_reject)
    return (pl.col("similarity") < settings.similarity_reject) & low_recall & ~pl.col("verbatim")


def _wrong_citation(settings: VerificationSettings) -> pl.Expr:
    """An uncited passage holds clearly more of the claim and is closer to it than what is cited.

    What stands word for word in the cited text is cited rightly, wherever else it stands.
    """
    elsewhere = pl.col("uncited_recall") >= settings.recall_accept
    more = pl.col("uncited_recall") - pl.col("token_recall") >= _WRONG_CITATION_MARGIN
    closer = pl.col("uncited_similarity") > pl.col("similarity")
    return elsewhere & more & closer & ~pl.col("verbatim")


def _agrees(settings: VerificationSettings) -> pl.Expr:
    """One sentence says nearly all of it in nearly the same order.

    A claim pieced together from neighbouring sentences can join the subject of one with the statement of
    another, which no count of words reveals; that is left to a model.
    """
    return (
        (pl.col("token_recall") >= settings.recall_accept)
        & (pl.col("similarity") >= settings.accept_similarity)
        & (pl.col("similarity") >= settings.similarity_reject)
        & (pl.col("evidence_sentences") == 1)
        & (pl.col("order_agreement").is_null() | (pl.col("order_agreement") >= settings.accept_order))
    )


def answers_question(settings: VerificationSettings) -> pl.Expr:
    """A fragment proves nothing unless its evidence also speaks of what was asked.

    A table row names few of a question's words, but those it names are its keys.
    """
    row = pl.col("evidence_is_row").fill_null(value=False)
    needed = pl.when(row).then(settings.accept_question_recall_row).otherwise(settings.accept_question_recall)
    asked = pl.col("question_recall") >= needed
    return ~pl.col("fragment").fill_null(value=False) | (asked & (pl.col("evidence_sentences") == 1))


def _count(column: str) -> pl.Expr:
    return pl.col(column).list.len().fill_null(0)


def no_conflicts() -> pl.Expr:
    """The consistency checks found no difference."""
    return pl.all_horizontal(_count(column) == 0 for column, _ in _DIFFERENCES)


def _scores() -> pl.Expr:
    return pl.format(
        "similarity {}, share of words found {}",
        pl.col("similarity").round(2),
        pl.col("token_recall").round(2).fill_null(0.0),
    )


def _other() -> pl.Expr:
    return pl.format(
        "another passage ({}) contains {} of the claim's words, the cited one {}",
        pl.col("uncited_chunk_id").fill_null("not kept"),
        pl.col("uncited_recall").round(2),
        pl.col("token_recall").round(2),
    )


def _doubts() -> pl.Expr:
    """What kept the claim from being accepted: differences found, else the scores."""
    columns = [column for column, _ in _DIFFERENCES] + ["open_points"]
    doubts = pl.concat_list([pl.col(column).fill_null([]) for column in columns])
    return pl.when(doubts.list.len() > 0).then(doubts.list.join("; ")).otherwise(_scores())


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


StepName = Literal["combined", "entailment"]
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


def fitted_thresholds(settings: VerificationSettings) -> tuple[FittedThreshold, ...]:
    """Every way, in the order in which they decide.

    A difference that the consistency checks found keeps a claim from being accepted by a score, which a
    swapped number hardly moves. What they could only not confirm keeps `combined` from it, which sees no
    more than they do, and not entailment, which reads the passages.
    """
    combined, entailment, denied = (pl.col(n) for n in ("combined", "entailment", "contradiction"))
    undenied = pl.when(denied.fill_null(0.0) < CONTRADICTION_GUARD).then(entailment)
    uncontested = pl.when(no_conflicts() & answers_question(settings)).then(undenied)
    ge, lt, le = operator.ge, operator.lt, operator.le
    return (
        FittedThreshold(
            "combined",
            "accept",
            pl.when(settled(settings)).then(combined),
            ge,
            outcome("supported", "combined", None, _score_text("combined")),
        ),
        FittedThreshold(
            "combined",
            "reject",
            combined,
            lt,
            outcome("unsupported", "combined", "combined_low", _score_text("combined")),
        ),
        FittedThreshold(
            "entailment",
            "contradict",
            denied,
            ge,
            outcome("contradicted", "entailment", "entailment_contradiction", _score_text("contradiction")),
        ),
        FittedThreshold(
            "entailment",
            "accept",
            uncontested,
            ge,
            outcome("supported", "entailment", None, _score_text("entailment")),
        ),
        FittedThreshold(
            "entailment",
            "reject",
            undenied,
            le,
            outcome("unsupported", "entailment", "not_entailed", _score_text("entailment")),
        ),
    )


def fitted_rules(settings: VerificationSettings, thresholds: Thresholds) -> list[Rule]:
    """The rules of both steps, in order; a threshold of null is no rule.

    A fitted threshold holds for scores of the model it was fitted for. One set by hand is a person's own
    choice and holds for any.
    """
    rules: list[Rule] = []
    for side in fitted_thresholds(settings):
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
    counts = {}
    for step in ("combined", "entailment"):
        strange = pl.col(step).is_not_null() & ~_of_model(step, thresholds)
        counts[step] = claims.filter(strange).height if has_thresholds(thresholds, step) else 0
    return counts


def _of_model(step: str, thresholds: Thresholds) -> pl.Expr:
    model = getattr(thresholds.models, step)
    return (pl.col(f"{step}_model") == pl.lit(model, pl.String())).fill_null(value=False)


def _score_text(score: str) -> pl.Expr:
    return pl.format(f"{score} {{}}", pl.col(score).round(3))
