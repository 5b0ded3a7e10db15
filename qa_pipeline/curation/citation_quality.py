"""Measure the citations of a pair: do they exist, and do they support claims?

The accuracy follows the specification: if two of three citations support a claim, it is 0.67.
"""

import polars as pl

from qa_pipeline.text.references import RESOLVED
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, evidence_passages, join_by_pair

MEASURES = ("citation_existence", "citation_accuracy", "citation_quality")
WEIGHT_EXISTENCE, WEIGHT_ACCURACY, WEIGHT_GROUNDING = 0.4, 0.3, 0.3  # as the specification fixes them
HIGH, MIDDLE = 0.8, 0.5  # as the specification fixes them

_DIGITS = 9
_BY_CHUNK, _BY_DOCUMENT = ["pair_id", "chunk_id"], ["pair_id", "document_id"]


def citation_quality(pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Measure the citations of every pair, in the order of `pairs`.

    A measure is null if the pair lacks the citations or claims to divide by. A citation points to a passage,
    or to a document if it gives only that. It supports a claim if the claim is supported and its evidence is
    in that passage or document. If two passages state the same, only the passage that verification chose as
    evidence counts.

    Returns:
        pair_id and `MEASURES`, shares from 0 to 1.
        citation_existence: share of citations that point to a passage or document of the batch.
        citation_accuracy: share of citations that support a claim.
        citation_quality: 0.4 of existence, 0.3 of accuracy and 0.3 of the share of supported claims. The
        last counts in bands: 1 above 0.8, 0.7 above 0.5, otherwise 0.
    """
    decided = decided_claims(claims, claim_verdicts)
    is_supported = pl.col("verdict") == SUPPORTED
    grounding = decided.group_by("pair_id").agg(is_supported.mean().alias("grounding"))
    supported = decided.filter(is_supported).select("pair_id", "claim_id")
    evidence = evidence_passages(claims, claim_verdicts).select(
        "claim_id", chunk_id="evidence_chunk_id", document_id="evidence_document_id"
    )
    cited = _citations(pairs, supported.join(evidence, on="claim_id"))
    resolved = pl.col("resolution").is_in(RESOLVED)
    exists = (resolved | (pl.col("resolution") == "no_text")).mean()
    accurate = (resolved & pl.col("proves")).mean()
    measured = cited.group_by("pair_id").agg(citation_existence=exists, citation_accuracy=accurate)
    joined = join_by_pair(pairs.select("pair_id"), measured, grounding)
    accuracy = pl.when(pl.col("grounding").is_not_null()).then("citation_accuracy")  # null without claims
    quality = (
        WEIGHT_EXISTENCE * pl.col("citation_existence")
        + WEIGHT_ACCURACY * accuracy
        + WEIGHT_GROUNDING * _banded(pl.col("grounding"))
    )
    measures = {"citation_accuracy": accuracy, "citation_quality": quality.round(_DIGITS)}
    return joined.with_columns(**measures).select("pair_id", *MEASURES)


def _citations(pairs: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """Return a row per citation, with the column proves."""
    by_chunk = evidence.select(_BY_CHUNK).unique().with_columns(chunk_proves=True)
    by_document = evidence.select(_BY_DOCUMENT).unique().with_columns(document_proves=True)
    proves = pl.when(pl.col("chunk_id").is_null()).then("document_proves").otherwise("chunk_proves")
    return (
        pairs.select("pair_id", pl.col("citations").alias("citation"))
        .explode("citation", empty_as_null=True)
        .drop_nulls("citation")
        .unnest("citation")
        .join(by_chunk, on=_BY_CHUNK, how="left")
        .join(by_document, on=_BY_DOCUMENT, how="left")
        .with_columns(proves=proves.fill_null(value=False))
    )


def _banded(share: pl.Expr) -> pl.Expr:
    """Return 1 above 0.8, 0.7 above 0.5, otherwise 0. Null stays null."""
    rounded = share.round(_DIGITS)
    low = pl.when(rounded.is_not_null()).then(0.0)
    return pl.when(rounded > HIGH).then(1.0).when(rounded > MIDDLE).then(0.7).otherwise(low)
