"""Measure the citations of a pair: do they exist, do they support claims, and do they suffice?

Accuracy follows the specification: if two of three citations support a claim, it is 0.67. Precision and
completeness follow Gao et al., "Enabling large language models to generate text with citations" (EMNLP 2023).
They use decided claims instead of an entailment model.
"""

import polars as pl

from qa_pipeline.text.references import RESOLVED
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, evidence_passages, join_by_pair

MEASURES = (
    "citation_existence",
    "citation_accuracy",
    "citation_quality",
    "citation_precision",
    "citation_completeness",
    "source_coverage",
    "cited_documents",
)
WEIGHT_EXISTENCE, WEIGHT_ACCURACY, WEIGHT_GROUNDING = 0.4, 0.3, 0.3  # as the specification fixes them
HIGH, MIDDLE = 0.8, 0.5  # as the specification fixes them

_DIGITS = 9
_QUOTE_KINDS = ("exact", "spelling", "ellipsis")
_BY_CHUNK, _BY_DOCUMENT = ["pair_id", "chunk_id"], ["pair_id", "document_id"]


def citation_quality(pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Measure the citations of every pair, in the order of `pairs`.

    A measure is null if the pair lacks the citations or claims to divide by. A citation points to a passage,
    or to a document if it gives only that. It supports a claim if the claim is supported and its evidence is
    in that passage or document. If two passages state the same, only the passage that verification chose as
    evidence counts.

    Returns:
        pair_id and `MEASURES`. All are shares from 0 to 1, except the number cited_documents.
        citation_existence: share of citations that point to a passage or document of the batch.
        citation_accuracy: share of citations that support a claim. If a citation has a quote, the quote
        must also be in its source, unchanged or repaired.
        citation_quality: 0.4 of existence, 0.3 of accuracy and 0.3 of the share of supported claims. The
        last counts in bands: 1 above 0.8, 0.7 above 0.5, otherwise 0.
        citation_precision: share of the distinct cited passages and documents that support a claim.
        citation_completeness: share of claims that are supported by cited passages or documents alone.
        source_coverage: share of the cited documents that support a claim.
    """
    evidence_rows = _claim_evidence(claims, claim_verdicts)
    cited = _citations(pairs, claims, evidence_rows.filter("supported"))
    measured = join_by_pair(
        pairs.select("pair_id"), _measure_citations(cited), _measure_claims(cited, evidence_rows)
    )
    accuracy = pl.when(pl.col("grounding").is_not_null()).then("citation_accuracy")  # null without claims
    quality = weighted_quality(pl.col("citation_existence"), accuracy, pl.col("grounding"))
    return measured.with_columns(citation_accuracy=accuracy, citation_quality=quality).select(
        "pair_id", *MEASURES
    )


def _claim_evidence(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each quote of each claim: pair_id, claim_id, supported, chunk_id and document_id."""
    supported = decided_claims(claims, claim_verdicts).select(
        "pair_id", "claim_id", supported=pl.col("verdict") == SUPPORTED
    )
    evidence = evidence_passages(claims, claim_verdicts).select(
        "claim_id", chunk_id="evidence_chunk_id", document_id="evidence_document_id"
    )
    return supported.join(evidence, on="claim_id", maintain_order="left")


def _citations(pairs: pl.DataFrame, claims: pl.DataFrame, evidence_rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row per citation, with columns resolved, quote_found, document_proves and proves."""
    by_chunk = evidence_rows.select(_BY_CHUNK).unique().with_columns(chunk_proves=True)
    by_document = evidence_rows.select(_BY_DOCUMENT).unique().with_columns(document_proves=True)
    proves = pl.when(pl.col("chunk_id").is_null()).then("document_proves").otherwise("chunk_proves")
    return (
        pairs.select("pair_id", pl.col("citations").alias("citation"))
        .explode("citation", empty_as_null=True)
        .drop_nulls("citation")
        .unnest("citation")
        .join(_quotes(claims), on=["pair_id", "quote"], how="left")
        .join(by_chunk, on=_BY_CHUNK, how="left")
        .join(by_document, on=_BY_DOCUMENT, how="left")
        .with_columns(
            pl.col("resolution").is_in(RESOLVED).alias("resolved"),
            (pl.col("quote").is_null() | pl.col("quote_found").fill_null(value=False)).alias("quote_found"),
            pl.col("document_proves").fill_null(value=False),
            proves.fill_null(value=False).alias("proves"),
        )
    )


def _quotes(claims: pl.DataFrame) -> pl.DataFrame:
    """Return pair_id, quote and quote_found: True if every use of the quote is in the cited source."""
    is_verbatim = pl.col("quotes").struct.field("kind").is_in(_QUOTE_KINDS)
    return (
        claims.select("pair_id", "quotes")
        .explode("quotes", empty_as_null=True)
        .drop_nulls("quotes")
        .group_by("pair_id", pl.col("quotes").struct.field("given").alias("quote"))
        .agg(is_verbatim.all().alias("quote_found"))
    )


def _measure_citations(cited: pl.DataFrame) -> pl.DataFrame:
    """Return the measures of each pair with citations."""
    resolved, proves = pl.col("resolved"), pl.col("proves")
    thing, document = pl.struct("document_id", "chunk_id"), pl.col("document_id")
    return cited.group_by("pair_id").agg(
        (resolved | (pl.col("resolution") == "no_text")).mean().alias("citation_existence"),
        (resolved & proves & pl.col("quote_found")).mean().alias("citation_accuracy"),
        _share(thing, resolved & proves, resolved).alias("citation_precision"),
        _share(document, resolved & pl.col("document_proves"), resolved).alias("source_coverage"),
        document.filter(resolved).n_unique().cast(pl.Int32).alias("cited_documents"),
    )


def _share(things: pl.Expr, part: pl.Expr, is_counted: pl.Expr) -> pl.Expr:
    """Return the share of the distinct counted things that are in `part`; null if that divides by 0."""
    total = things.filter(is_counted).n_unique()
    return pl.when(total > 0).then(things.filter(part).n_unique() / total)


def _measure_claims(cited: pl.DataFrame, evidence_rows: pl.DataFrame) -> pl.DataFrame:
    """Return citation_completeness and grounding, the share of supported claims, for pairs with claims."""
    resolved = cited.filter("resolved")
    chunks = resolved.filter(pl.col("chunk_id").is_not_null()).select(_BY_CHUNK).unique()
    documents = resolved.filter(pl.col("chunk_id").is_null()).select(_BY_DOCUMENT).unique()
    is_cited = pl.any_horizontal(pl.col("in_chunk", "in_document").fill_null(value=False))
    return (
        evidence_rows.join(chunks.with_columns(in_chunk=True), on=_BY_CHUNK, how="left")
        .join(documents.with_columns(in_document=True), on=_BY_DOCUMENT, how="left")
        .group_by("pair_id", "claim_id")
        .agg(pl.col("supported").first(), all_cited=is_cited.all())
        .group_by("pair_id")
        .agg(
            (pl.col("supported") & pl.col("all_cited")).mean().alias("citation_completeness"),
            pl.col("supported").mean().alias("grounding"),
        )
    )


def weighted_quality(existence: pl.Expr, accuracy: pl.Expr, grounding: pl.Expr) -> pl.Expr:
    """Return 0.4 of existence, 0.3 of accuracy and 0.3 of banded grounding."""
    weighted = (
        WEIGHT_EXISTENCE * existence + WEIGHT_ACCURACY * accuracy + WEIGHT_GROUNDING * banded(grounding)
    )
    return weighted.round(_DIGITS)


def banded(share: pl.Expr) -> pl.Expr:
    """Return 1 above 0.8, 0.7 above 0.5, otherwise 0. Null stays null."""
    rounded = share.round(_DIGITS)
    low = pl.when(rounded.is_not_null()).then(0.0)
    return pl.when(rounded > HIGH).then(1.0).when(rounded > MIDDLE).then(0.7).otherwise(low)
