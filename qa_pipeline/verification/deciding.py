"""What the stored scores of a claim mean: pure rules over frames, under named thresholds.

The rules of each step are `rules.py`; here are their order, which claims a model should look at, and what its
reply does. Deciding again by other thresholds is free.
"""

import polars as pl
import polars.selectors as cs

from qa_pipeline.errors import TableError
from qa_pipeline.settings.thresholds import Thresholds
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.tables import CLAIM_VERDICTS, CLAIMS
from qa_pipeline.verification.rules import (
    BORDERLINE,
    first_of,
    fitted_rules,
    local_rules,
    open_outcome,
    outcome,
    similarity_rules,
)

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

`reason` says why it failed, or why its decision is not taken at its word.
"""


def decide_claims(
    claims: pl.DataFrame,
    pairs: pl.DataFrame | None,
    settings: VerificationSettings,
    replies: pl.DataFrame | None = None,
    thresholds: Thresholds | None = None,
) -> pl.DataFrame:
    """Decide every claim from its stored scores; needs no model, no files of a batch and no Dagster.

    The steps of the cascade, the first that applies deciding: citations; what the evidence proves word by
    word, and what it denies in a slot; `entailment`. What none decides is passed on to a model.

    >>> import polars as pl
    >>> from qa_pipeline.settings.verification import VerificationSettings
    >>> from qa_pipeline.tables import CLAIMS
    >>> from qa_pipeline.verification.deciding import decide_claims
    >>> scores = {"citation_status": "resolved", "evidence_quote": "It opens at 9."}
    >>> found = {"unproved": ['"9" became "ten"'], "denied": ['number_mismatch: "9" became "ten"']}
    >>> place = {"pair_id": "p", "batch": "b", "position": 0, "start": 0, "end": 15}
    >>> claims = CLAIMS.frame([{"claim_id": "c", "text": "It opens at ten.", **place, **scores, **found}])
    >>> decide_claims(claims, None, VerificationSettings()).select("verdict", "decided_by", "reason").row(0)
    ('contradicted', 'alignment', 'number_mismatch')

    Args:
        claims: rows of the claims table; a score that is null or no number decides nothing.
        pairs: the pairs they belong to, whose other claims are left out; None decides every claim.
        settings: policy and thresholds.
        replies: what a model replied about borderline claims (`REPLIES`); None when no model was asked.
        thresholds: fitted bands, those the settings name by default. They are applied only to scores of
            the models they were fitted for (`rules.scores_of_other_models` counts the others).

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
            reason=pl.when(pl.col("reason") == BORDERLINE)
            .then(pl.lit(UNDECIDED_WITHOUT_MODEL))
            .otherwise(pl.col("reason")),
            prompt_hash=pl.lit(None, pl.String()),
            model=pl.lit(None, pl.String()),
            llm_decision=pl.lit(None, pl.String()),
        )
    else:
        decided = _with_replies(decided, replies, settings)
    stored = decided.with_columns(thresholds_id=pl.lit(settings.thresholds_named(thresholds)))
    return CLAIM_VERDICTS.conform(stored.select(CLAIM_VERDICTS.schema.names()))


def borderline(claims: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Claims the local steps left to a model, in stored order."""
    open_ids = verdicts.filter(
        pl.col("verdict") == "undecided", pl.col("reason").is_in([BORDERLINE, UNDECIDED_WITHOUT_MODEL])
    )
    return claims.join(open_ids.select("claim_id"), on="claim_id", how="semi", maintain_order="left")


def _decision(settings: VerificationSettings, thresholds: Thresholds) -> pl.Expr:
    if settings.policy == "similarity_only":
        rules = similarity_rules(settings)
    else:
        rules = [*local_rules(), *fitted_rules(settings, thresholds)]
    return first_of(rules, open_outcome(settings)).alias("decision")


def _with_replies(
    decided: pl.DataFrame, replies: pl.DataFrame, settings: VerificationSettings
) -> pl.DataFrame:
    """Put a model's reply in place of each borderline verdict it was asked about."""
    reply = replies.select(
        "claim_id", "decision", "model", "prompt_hash", reply_reason="reason", reply_detail="detail"
    )
    joined = decided.join(reply, on="claim_id", how="left", maintain_order="left")
    open_claim = (pl.col("reason") == BORDERLINE).fill_null(value=False)
    unsure = "unsupported" if settings.unsure == "unsupported" else "undecided"
    detail = pl.col("reply_detail")
    rules = [
        (~open_claim, pl.struct("verdict", "decided_by", "reason", "detail")),
        (
            (pl.col("decision") == "accept") & pl.col("reply_reason").is_not_null(),
            outcome("undecided", "llm", pl.col("reply_reason"), detail),
        ),
        (pl.col("decision") == "accept", outcome("supported", "llm", None, detail)),
        (pl.col("decision") == "reject", outcome("unsupported", "llm", "llm_rejected", detail)),
        (pl.col("decision") == "unsure", outcome(unsure, "llm", "llm_unsure", detail)),
        (pl.col("reply_reason").is_not_null(), outcome("failed", "llm", pl.col("reply_reason"), detail)),
    ]
    unasked = outcome("undecided", "no_step", UNDECIDED_WITHOUT_MODEL, pl.col("detail"))
    merged = joined.with_columns(first_of(rules, unasked).alias("merged"))
    asked = {
        "model": pl.col("model"),
        "prompt_hash": pl.col("prompt_hash"),
        "llm_decision": pl.coalesce("decision", "reply_reason"),
    }
    model_used = [pl.when(open_claim).then(reply).alias(name) for name, reply in asked.items()]
    return merged.with_columns(model_used).drop("verdict", "decided_by", "reason", "detail").unnest("merged")
