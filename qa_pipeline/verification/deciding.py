"""What the stored scores of a claim mean: pure rules over frames, under named thresholds.

First the rules that are not fitted, up to what is accepted word for word or by agreement, and the policy
`similarity_only`; then those with fitted thresholds, which calibration finds over the very scores defined
here; then their order, and what a model's reply does. A missing score decides nothing: a comparison with null
is not true. Deciding again by other thresholds is free.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl
import polars.selectors as cs

from qa_pipeline.errors import TableError
from qa_pipeline.settings.thresholds import Thresholds, has_thresholds
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.tables import CLAIM_VERDICTS, CLAIMS
from qa_pipeline.text.references import FOUND_BY_SEARCH
from qa_pipeline.verification.splitting import TOO_MANY

_BORDERLINE = "borderline"
UNDECIDED_WITHOUT_MODEL = "undecided_without_model"

REPLIES = pl.Schema(
    {
        "claim_id": pl.String(),
        "decision": pl.String(),
        "reason": pl.String(),
        "detail": pl.String(),
        "model": pl.String(),
        "prompt_hash": pl.String(),
    }
)
"""What a verifying model replied: `decision` is accept, reject, unsure, or null where it failed.

`reason` is why it failed, or why its decision is not trusted.
"""

# A difference is a contradiction only in evidence that states nearly the same: it holds so much of the claim
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
_FAR_RECALL = 0.25
"""Share of the claim's words below which evidence of a low cosine is about something else."""
_AGREEING_ORDER = 0.80
"""Share of the claim's words that must be in the same order in the evidence."""
_QUESTION_RECALL = 0.90
"""Share of the question's words that the evidence of a fragment must hold."""
_QUESTION_RECALL_ROW = 0.60
"""The same of a table row, which names few of a question's words, but those it names are its keys."""

Rule = tuple[pl.Expr, pl.Expr]
"""A condition, and the outcome (a struct of verdict, decided_by, reason, detail) of the rows that meet it."""

_DIFFERENCES = {
    "polarity_conflicts": "negation_mismatch",
    "date_conflicts": "date_mismatch",
    "number_conflicts": "number_mismatch",
    "name_conflicts": "name_mismatch",
    "quantifier_conflicts": "quantifier_mismatch",
    "cell_conflicts": "cell_mismatch",
}


def _outcome(
    verdict: str, decided_by: str, reason: str | pl.Expr | None = None, detail: pl.Expr | None = None
) -> pl.Expr:
    code = pl.lit(reason, pl.String()) if reason is None or isinstance(reason, str) else reason
    words = pl.lit(None, pl.String()) if detail is None else detail
    return pl.struct(verdict=pl.lit(verdict), decided_by=pl.lit(decided_by), reason=code, detail=words)


def _first_of(rules: Sequence[Rule], otherwise: pl.Expr) -> pl.Expr:
    """The outcome of the first rule that a row meets."""
    for condition, found in reversed(rules):
        otherwise = pl.when(condition).then(found).otherwise(otherwise)
    return otherwise


def _citation_rules() -> list[Rule]:
    status, reason = pl.col("citation_status"), pl.col("citation_reason")
    unresolved = status == "unresolved"
    no_text, ambiguous = "cited_document_without_text", "ambiguous_citation"
    return [
        (pl.col("split_reason") == TOO_MANY, _outcome("failed", "no_step", TOO_MANY)),
        (unresolved & (reason == no_text), _outcome("failed", "citation", no_text)),
        (unresolved & (reason == ambiguous), _outcome("undecided", "citation", ambiguous)),
        (unresolved, _outcome("unsupported", "citation", reason)),
        (status == "quote_not_found", _outcome("unsupported", "citation", "quote_not_found")),
        (status == "uncited", _outcome("unsupported", "citation", "uncited")),
    ]


def _local_rules(settings: VerificationSettings) -> list[Rule]:
    no_evidence, verbatim = pl.col("evidence_quote").is_null(), pl.col("verbatim")
    low_recall = pl.col("token_recall").is_null() | (pl.col("token_recall") < _FAR_RECALL)
    far = (pl.col("similarity") < settings.similarity_reject) & low_recall & ~verbatim
    # nothing was cited: what a search by words did not find may be in the batch in other words
    searched = pl.col("citation_status") == FOUND_BY_SEARCH
    clear = _near() & ((pl.col("similarity") >= settings.conflict_similarity) | verbatim)
    contradicted = {
        column: _outcome("contradicted", "consistency", reason, pl.col(column).list.join("; "))
        for column, reason in _DIFFERENCES.items()
    }
    other = pl.format(
        "another passage ({}) contains {} of the claim's words, the cited one {}",
        pl.col("uncited_chunk_id").fill_null("not kept"),
        pl.col("uncited_recall").round(2),
        pl.col("token_recall").round(2),
    )
    sure = _settled()
    return [
        *_citation_rules(),
        (searched & (no_evidence | far), _outcome("undecided", "similarity", "no_evidence_found", _scores())),
        (no_evidence, _outcome("failed", "no_step", "no_evidence_text")),
        (_wrong_citation(settings), _outcome("unsupported", "similarity", "wrong_citation", other)),
        *(
            ((_count(column) > 0) & (clear if column != "cell_conflicts" else True), found)
            for column, found in contradicted.items()
        ),
        (far, _outcome("unsupported", "similarity", "dissimilar", _scores())),
        (sure & verbatim, _outcome("supported", "verbatim")),
        (sure & _agrees(settings), _outcome("supported", "consistency")),
    ]


def _near() -> pl.Expr:
    """The evidence states nearly the same, so that a difference in it is a contradiction."""
    same = pl.coalesce("wording_recall", "token_recall")
    short = pl.col("evidence_quote").str.len_chars() <= _CONFLICT_CHARACTERS
    needed = pl.when(_is_row()).then(_CONFLICT_RECALL_ROW).otherwise(_CONFLICT_RECALL)
    one = (same >= needed) & (pl.col("evidence_sentences") == 1)
    return short & (one | (same >= _CONFLICT_RECALL_APART) | pl.col("verbatim"))


def _is_row() -> pl.Expr:
    return pl.col("evidence_is_row").fill_null(value=False)


def _wrong_citation(settings: VerificationSettings) -> pl.Expr:
    """An uncited passage holds clearly more of the claim and is closer to it than what is cited.

    What is word for word in the cited text is cited rightly, wherever else it is.
    """
    elsewhere = pl.col("uncited_recall") >= settings.recall_accept
    more = pl.col("uncited_recall") - pl.col("token_recall") >= _WRONG_CITATION_MARGIN
    closer = pl.col("uncited_similarity") > pl.col("similarity")
    return elsewhere & more & closer & ~pl.col("verbatim")


def _agrees(settings: VerificationSettings) -> pl.Expr:
    """One sentence states nearly all of it in nearly the same order.

    A claim pieced together from neighbouring sentences can join the subject of one with the statement of
    another, which no count of words reveals; that is left to a model.
    """
    return (
        (pl.col("token_recall") >= settings.recall_accept)
        & (pl.col("similarity") >= settings.accept_similarity)
        & (pl.col("similarity") >= settings.similarity_reject)
        & (pl.col("evidence_sentences") == 1)
        & (pl.col("order_agreement").is_null() | (pl.col("order_agreement") >= _AGREEING_ORDER))
    )


def _settled() -> pl.Expr:
    """Nothing differs, nothing stays unconfirmed, and a fragment's evidence is about what was asked."""
    return _no_conflicts() & (_count("open_points") == 0) & _answers_question()


def _answers_question() -> pl.Expr:
    """A fragment proves nothing unless its evidence also holds what was asked."""
    needed = pl.when(_is_row()).then(_QUESTION_RECALL_ROW).otherwise(_QUESTION_RECALL)
    asked = pl.col("question_recall") >= needed
    return ~pl.col("fragment").fill_null(value=False) | (asked & (pl.col("evidence_sentences") == 1))


def _no_conflicts() -> pl.Expr:
    return pl.all_horizontal(_count(column) == 0 for column in _DIFFERENCES)


def _count(column: str) -> pl.Expr:
    return pl.col(column).list.len().fill_null(0)


def _scores() -> pl.Expr:
    return pl.format(
        "similarity {}, share of words found {}",
        pl.col("similarity").round(2),
        pl.col("token_recall").round(2).fill_null(0.0),
    )


def _decision(settings: VerificationSettings, thresholds: Thresholds) -> pl.Expr:
    """The outcome of each claim, `borderline` where no rule decides and a model should look at it."""
    if settings.policy == "cascade":
        rules = [*_local_rules(settings), *_fitted_rules(settings, thresholds)]
        doubts = pl.concat_list([pl.col(column).fill_null([]) for column in (*_DIFFERENCES, "open_points")])
        words = pl.when(doubts.list.len() > 0).then(doubts.list.join("; ")).otherwise(_scores())
    else:
        # the mean over a pair's claims of the best cosine to a chunk of what it cites
        mean = pl.col("chunk_similarity").mean().over("pair_id")
        words = pl.format("mean similarity of the pair {}", mean.round(3))
        rules = [
            *_citation_rules(),
            (pl.col("chunk_similarity").is_null(), _outcome("failed", "no_step", "no_evidence_text")),
            (mean >= settings.similarity_pass, _outcome("supported", "similarity_only", None, words)),
            (
                mean < settings.similarity_fail,
                _outcome("unsupported", "similarity_only", "dissimilar", words),
            ),
        ]
    return _first_of(rules, _outcome("undecided", "no_step", _BORDERLINE, words)).alias("decision")


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


def fitted_thresholds() -> list[FittedThreshold]:
    """Every way, in the order in which they decide.

    A difference that the consistency checks found keeps a claim from being accepted by a score, which a
    swapped number hardly moves. What they could only not confirm keeps `combined` from it, which sees no
    more than they do, and not entailment, which reads the passages.
    """
    combined, entailment, denied = (pl.col(name) for name in ("combined", "entailment", "contradiction"))
    undenied = pl.when(denied.fill_null(0.0) < CONTRADICTION_GUARD).then(entailment)
    uncontested = pl.when(_no_conflicts() & _answers_question()).then(undenied)
    settled = pl.when(_settled()).then(combined)
    denies = "entailment_contradiction"
    ways: list[
        tuple[StepName, SideName, pl.Expr, Callable[[pl.Expr, float], pl.Expr], str, str | None, str]
    ] = [
        ("combined", "accept", settled, operator.ge, "supported", None, "combined"),
        ("combined", "reject", combined, operator.lt, "unsupported", "combined_low", "combined"),
        ("entailment", "contradict", denied, operator.ge, "contradicted", denies, "contradiction"),
        ("entailment", "accept", uncontested, operator.ge, "supported", None, "entailment"),
        ("entailment", "reject", undenied, operator.le, "unsupported", "not_entailed", "entailment"),
    ]
    return [
        FittedThreshold(
            step,
            side,
            score,
            meets,
            _outcome(verdict, step, reason, pl.format(f"{shown} {{}}", pl.col(shown).round(3))),
        )
        for step, side, score, meets, verdict, reason, shown in ways
    ]


def _fitted_rules(settings: VerificationSettings, thresholds: Thresholds) -> list[Rule]:
    """The rules of both steps, in order; a threshold of null is no rule.

    A fitted threshold holds for scores of the model it was fitted for. One set by hand is a person's own
    choice and holds for any.
    """
    rules: list[Rule] = []
    for way in fitted_thresholds():
        chosen = getattr(settings, f"{way.step}_{way.side}")
        fitted = getattr(getattr(thresholds.bands, way.step), way.side)
        if chosen is not None:
            rules.append((way.meets(way.score, chosen), way.outcome))
        elif fitted is not None:
            rules.append((way.meets(way.score, fitted) & _of_model(way.step, thresholds), way.outcome))
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


def decide_claims(
    claims: pl.DataFrame,
    pairs: pl.DataFrame | None,
    settings: VerificationSettings,
    replies: pl.DataFrame | None = None,
    thresholds: Thresholds | None = None,
) -> pl.DataFrame:
    """Decide every claim from its stored scores; needs no model, no files of a batch and no Dagster.

    The steps of the cascade, the first that applies deciding: citations; a wrong citation; differences in
    numbers, dates, names, negations and quantifiers; similarity, which only rejects; what is word for word
    or nearly so in one sentence; `combined`; `entailment`. What none decides is passed on to a model.

    >>> import polars as pl
    >>> from qa_pipeline.settings.verification import VerificationSettings
    >>> from qa_pipeline.tables import CLAIMS
    >>> from qa_pipeline.verification.deciding import decide_claims
    >>> scores = {"citation_status": "resolved", "evidence_quote": "It opens at 9.", "verbatim": False}
    >>> conflicts = {name: [] for name in CLAIMS.schema if name.endswith("_conflicts")}
    >>> place = {"pair_id": "p", "batch": "b", "position": 0, "start": 0, "end": 15}
    >>> claim = {"claim_id": "c", "text": "It opens at ten.", **place, **scores, **conflicts}
    >>> claims = CLAIMS.frame([{**claim, "similarity": 0.9, "combined": 0.03, "combined_model": "mine"}])
    >>> strict = VerificationSettings(combined_reject=0.1)
    >>> decide_claims(claims, None, strict).select("verdict", "decided_by", "reason").row(0)
    ('unsupported', 'combined', 'combined_low')

    Args:
        claims: rows of the claims table; a score that is null or no number decides nothing.
        pairs: the pairs they belong to, whose other claims are left out; None decides every claim.
        settings: policy and thresholds.
        replies: what a model replied about borderline claims (`REPLIES`); None when no model was asked.
        thresholds: fitted bands, those the settings name by default. They are applied only to scores of
            the models they were fitted for (`scores_of_other_models` counts the others).

    Returns:
        The claim_verdicts table, in the order of the claims.

    Raises:
        TableError: the frame lacks columns.
        SettingsError: the thresholds cannot be read.
    """
    if missing := [name for name in CLAIMS.schema if name not in claims.columns]:
        raise TableError(f"claims cannot be decided without the columns {', '.join(missing)}")
    if pairs is not None:
        claims = claims.join(pairs.select("pair_id"), on="pair_id", how="semi", maintain_order="left")
    read = claims.with_columns(cs.float().fill_nan(None))
    thresholds = thresholds or settings.fitted
    decided = read.with_columns(_decision(settings, thresholds)).unnest("decision")
    if replies is None:
        decided = decided.with_columns(
            pl.lit(None, pl.String()).alias(name) for name in ("prompt_hash", "model", "llm_decision")
        ).with_columns(pl.col("reason").replace(_BORDERLINE, UNDECIDED_WITHOUT_MODEL))
    else:
        decided = _with_replies(decided, replies, settings)
    stored = decided.with_columns(thresholds_id=pl.lit(settings.thresholds_named(thresholds)))
    return CLAIM_VERDICTS.conform(stored.select(CLAIM_VERDICTS.schema.names()))


def borderline(claims: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Claims the local steps left to a model, in stored order."""
    open_ids = verdicts.filter(
        pl.col("verdict") == "undecided", pl.col("reason").is_in([_BORDERLINE, UNDECIDED_WITHOUT_MODEL])
    )
    return claims.join(open_ids.select("claim_id"), on="claim_id", how="semi", maintain_order="left")


def _with_replies(
    decided: pl.DataFrame, replies: pl.DataFrame, settings: VerificationSettings
) -> pl.DataFrame:
    """Put a model's reply in place of each borderline verdict it was asked about."""
    reply = replies.select(
        "claim_id", "decision", "model", "prompt_hash", reply_reason="reason", reply_detail="detail"
    )
    joined = decided.join(reply, on="claim_id", how="left", maintain_order="left")
    open_claim = (pl.col("reason") == _BORDERLINE).fill_null(value=False)
    detail = pl.col("reply_detail")
    rules = [
        (~open_claim, pl.struct("verdict", "decided_by", "reason", "detail")),
        (
            (pl.col("decision") == "accept") & pl.col("reply_reason").is_not_null(),
            _outcome("undecided", "llm", pl.col("reply_reason"), detail),
        ),
        (pl.col("decision") == "accept", _outcome("supported", "llm", None, detail)),
        (pl.col("decision") == "reject", _outcome("unsupported", "llm", "llm_rejected", detail)),
        (pl.col("decision") == "unsure", _outcome(settings.unsure, "llm", "llm_unsure", detail)),
        (pl.col("reply_reason").is_not_null(), _outcome("failed", "llm", pl.col("reply_reason"), detail)),
    ]
    unasked = _outcome("undecided", "no_step", UNDECIDED_WITHOUT_MODEL, pl.col("detail"))
    merged = joined.with_columns(_first_of(rules, unasked).alias("merged"))
    asked = {
        "model": pl.col("model"),
        "prompt_hash": pl.col("prompt_hash"),
        "llm_decision": pl.coalesce("decision", "reply_reason"),
    }
    model_used = [pl.when(open_claim).then(reply).alias(name) for name, reply in asked.items()]
    return merged.with_columns(model_used).drop("verdict", "decided_by", "reason", "detail").unnest("merged")
