"""How good the citations of a pair are: whether they exist, say what they are cited for, and are all needed.

What belongs here: the measures of one pair, from its citations and its decided claims. What does not: what
follows from them (`quality.py`), and deciding a claim (verification). Pure: other verdicts of the claims give
other measures without a model.

Precision and completeness follow the citation precision and recall of Gao et al., "Enabling large language
models to generate text with citations" (EMNLP 2023), with decided claims in place of an entailment model.
"""

import polars as pl

from qa_pipeline.grounding import SUPPORTED, decided_claims
from qa_pipeline.sources import RESOLVED

MEASURES = (
    "citation_existence",
    "citation_accuracy",
    "citation_quality",
    "citation_precision",
    "citation_completeness",
    "source_coverage",
    "cited_documents",
)
WEIGHT_EXISTENCE, WEIGHT_ACCURACY, WEIGHT_GROUNDING = 0.4, 0.3, 0.3
HIGH, MIDDLE = 0.8, 0.5

_DIGITS = 9
_ACCURATE = ("exact", "spelling", "ellipsis", "edited")


def citation_quality(pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Measure the citations of every pair, in the order of `pairs`.

    A measure is null where there is nothing to divide by: without citations, or without claims.

    Args:
        pairs: the pairs table.
        claims: the claims table.
        claim_verdicts: the claim_verdicts table.

    Returns:
        pair_id and `MEASURES`, all shares from 0 to 1 but for the number of cited_documents.
        citation_existence: of the citations, those that name something of the batch.
        citation_accuracy: those that name a text, in which their quote, where they have one, stands
        unchanged or repaired.
        citation_quality: 0.4 of existence, 0.3 of accuracy and 0.3 of the share of claims supported, the
        last in bands: above 0.8 it counts 1, above 0.5 it counts 0.7, else 0.
        citation_precision: of the things cited (a passage, or a document where no passage is named), those
        that are the evidence of a supported claim.
        citation_completeness: of the claims, those whose evidence stands in something cited.
        source_coverage: of the cited documents, those that prove a claim.
    """
    cited = _citations(pairs).join(
        _quotes(claims), on=["pair_id", "quote"], how="left", maintain_order="left"
    )
    proved = _proved(claims, claim_verdicts)
    return (
        pairs.select("pair_id")
        .join(_named(cited), on="pair_id", how="left", maintain_order="left")
        .join(_used(cited, proved), on="pair_id", how="left", maintain_order="left")
        .join(_complete(cited, proved), on="pair_id", how="left", maintain_order="left")
        .with_columns(_quality())
        .select("pair_id", *MEASURES)
    )


def _citations(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row for each citation: pair_id and its fields."""
    return (
        pairs.select("pair_id", pl.col("citations").alias("citation"))
        .explode("citation", empty_as_null=True)
        .drop_nulls("citation")
        .unnest("citation")
    )


def _quotes(claims: pl.DataFrame) -> pl.DataFrame:
    """pair_id, quote, and whether it was found where it is said to stand."""
    accurate = pl.col("quotes").struct.field("kind").is_in(_ACCURATE)
    return (
        claims.select("pair_id", "quotes")
        .explode("quotes", empty_as_null=True)
        .drop_nulls("quotes")
        .group_by("pair_id", pl.col("quotes").struct.field("given").alias("quote"))
        .agg(accurate.all().alias("quote_found"))
    )


def _named(cited: pl.DataFrame) -> pl.DataFrame:
    """Existence, accuracy and the number of documents of each pair that cites anything.

    A pair without claims has no quote looked up, and its accuracy is unknown.
    """
    resolved = pl.col("resolution").is_in(RESOLVED)
    accurate = resolved & (pl.col("quote").is_null() | pl.col("quote_found"))
    known = accurate.is_not_null().all()
    return cited.group_by("pair_id").agg(
        (resolved | (pl.col("resolution") == "no_text")).mean().alias("citation_existence"),
        pl.when(known).then(accurate.mean()).alias("citation_accuracy"),
        pl.col("document_id").filter(resolved).n_unique().cast(pl.Int32).alias("cited_documents"),
    )


def _proved(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """One row for each claim: whether it is supported, and the chunk and document of its evidence."""
    evidence = claims.select("claim_id", chunk_id="evidence_chunk_id", document_id="evidence_document_id")
    return (
        decided_claims(claims, claim_verdicts)
        .select("pair_id", "claim_id", (pl.col("verdict") == SUPPORTED).alias("supported"))
        .join(evidence, on="claim_id", maintain_order="left")
    )


def _used(cited: pl.DataFrame, proved: pl.DataFrame) -> pl.DataFrame:
    """Precision and coverage of sources of each pair that cites something of the batch."""
    proofs = proved.filter("supported")
    things = cited.filter(pl.col("resolution").is_in(RESOLVED)).unique(["pair_id", "document_id", "chunk_id"])
    named = things.filter(pl.col("chunk_id").is_not_null())
    whole = things.filter(pl.col("chunk_id").is_null())
    by_chunk, by_document = ["pair_id", "chunk_id"], ["pair_id", "document_id"]
    useful = pl.concat(
        [named.join(proofs, on=by_chunk, how="semi"), whole.join(proofs, on=by_document, how="semi")]
    )
    documents = things.unique(by_document)
    proving = documents.join(proofs, on=by_document, how="semi")
    return _share(useful, things, "citation_precision").join(
        _share(proving, documents, "source_coverage"), on="pair_id"
    )


def _share(part: pl.DataFrame, whole: pl.DataFrame, name: str) -> pl.DataFrame:
    return (
        whole.group_by("pair_id")
        .len()
        .join(part.group_by("pair_id").agg(pl.len().alias("part")), on="pair_id", how="left")
        .select("pair_id", (pl.col("part").fill_null(0) / pl.col("len")).alias(name))
    )


def _complete(cited: pl.DataFrame, proved: pl.DataFrame) -> pl.DataFrame:
    """Completeness and the share of claims supported of each pair that has claims."""
    resolved = cited.filter(pl.col("resolution").is_in(RESOLVED))
    chunks = resolved.filter(pl.col("chunk_id").is_not_null()).select("pair_id", "chunk_id").unique()
    documents = resolved.filter(pl.col("chunk_id").is_null()).select("pair_id", "document_id").unique()
    held = pl.col("in_chunk").fill_null(value=False) | pl.col("in_document").fill_null(value=False)
    return (
        proved.join(chunks.with_columns(in_chunk=True), on=["pair_id", "chunk_id"], how="left")
        .join(documents.with_columns(in_document=True), on=["pair_id", "document_id"], how="left")
        .group_by("pair_id")
        .agg(
            (pl.col("supported") & held).mean().alias("citation_completeness"),
            pl.col("supported").mean().alias("share"),
        )
    )


def _quality() -> pl.Expr:
    share = pl.col("share").round(_DIGITS)
    banded = (
        pl.when(share > HIGH).then(1.0).when(share > MIDDLE).then(0.7).when(share.is_not_null()).then(0.0)
    )
    weighted = (
        WEIGHT_EXISTENCE * pl.col("citation_existence")
        + WEIGHT_ACCURACY * pl.col("citation_accuracy")
        + WEIGHT_GROUNDING * banded
    )
    return weighted.round(_DIGITS).alias("citation_quality")
