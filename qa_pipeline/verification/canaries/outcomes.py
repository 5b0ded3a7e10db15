"""What verification made of the canaries: the stored table, and recall and false alarms by kind.

The figures are a tripwire. They say whether the verifier still does on this batch what it did before; they
say nothing about how many wrong rows a release holds, whose errors are not drawn from these generators.
"""

from collections.abc import Sequence

import polars as pl

from qa_pipeline.statistics import wilson_interval
from qa_pipeline.storage.tables import CANARIES
from qa_pipeline.verification.canaries.seeding import Canary

REJECTED = ("contradicted", "unsupported", "rejected")
ACCEPTED = ("supported", "accepted")
"""Verdicts of claims, and of a judge's pairs."""
_WORST_FIRST = ("contradicted", "unsupported", "failed", "undecided", "supported")
_DRAWN = CANARIES.schema.names().index("verdict")
"""The columns of a canary before it is verified are the first ones."""
_SCORES = ("similarity", "token_recall", "entailment")


def canary_rows(
    canaries: Sequence[Canary], batch: str, claims: pl.DataFrame, claim_verdicts: pl.DataFrame
) -> pl.DataFrame:
    """Return the canaries table: each canary with its worst claim's verdict and scores.

    One in which no claim was found has the verdict `no_claims`.
    """
    drawn_columns = list(CANARIES.schema.items())[:_DRAWN]
    drawn = pl.DataFrame([_row(canary, batch) for canary in canaries], schema=dict(drawn_columns))
    rank = pl.col("verdict").replace_strict(
        {verdict: place for place, verdict in enumerate(_WORST_FIRST)}, return_dtype=pl.Int8
    )
    decided = (
        claim_verdicts.select("claim_id", "verdict", "decided_by", "reason", "detail", "thresholds_id")
        .join(claims.select("claim_id", "pair_id", "position", *_SCORES), on="claim_id")
        .sort(rank, "position")
        .unique("pair_id", keep="first", maintain_order=True)
    )
    joined = drawn.join(decided, left_on="canary_id", right_on="pair_id", how="left", maintain_order="left")
    thresholds = claim_verdicts["thresholds_id"].first() if claim_verdicts.height else ""
    filled = joined.with_columns(
        pl.col("verdict").fill_null("no_claims"),
        pl.col("decided_by").fill_null("no_step"),
        pl.col("thresholds_id").fill_null(pl.lit(thresholds)),
    )
    return CANARIES.conform(filled.select(CANARIES.schema.names()))


def _row(canary: Canary, batch: str) -> dict[str, str]:
    generator, sentence = canary.generator, canary.sentence
    return {
        "canary_id": canary.canary_id,
        "batch": batch,
        "kind": generator.kind,
        "family": generator.family,
        "mechanism": generator.mechanism,
        "expected": generator.expected,
        "language": sentence.language,
        "chunk_id": canary.draft.chunk_id,
        "source": sentence.text,
        "claim": " ".join(filter(None, (canary.draft.question, canary.draft.claim))),
    }


def replied(judge_canaries: pl.DataFrame) -> pl.DataFrame:
    """Return the canaries that the judge scored; a reply that is lacking neither passes nor fails one."""
    return judge_canaries.filter(pl.col("verdict") != "failed")


def canary_rates(canaries: pl.DataFrame, by: Sequence[str] = ("expected", "kind")) -> pl.DataFrame:
    """Return the rates at which verification accepted and rejected the canaries of each group.

    Returns:
        the grouping columns, canaries, rejected, accepted, rejected_share with its 95 % Wilson interval
        (rejected_low, rejected_high), and accepted_share likewise. Of false canaries the rejected share is
        recall and the accepted share what slipped through; of true ones the rejected share is false alarms.
    """
    counted = canaries.group_by(by, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("canaries"),
        pl.col("verdict").is_in(REJECTED).sum().cast(pl.Int64).alias("rejected"),
        pl.col("verdict").is_in(ACCEPTED).sum().cast(pl.Int64).alias("accepted"),
    )
    shares = []
    for word in ("rejected", "accepted"):
        low, high = wilson_interval(pl.col(word), pl.col("canaries"))
        share = pl.col(word) / pl.col("canaries")
        shares += [share.alias(f"{word}_share"), low.alias(f"{word}_low"), high.alias(f"{word}_high")]
    return counted.with_columns(shares)
