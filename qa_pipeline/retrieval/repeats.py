"""Chunks that say again what other documents of the batch say already."""

import polars as pl

_SHORTEST = 40
"""Characters of the shortest block that counts: shorter ones, such as "See also:", recur by chance."""
_SHARE = 0.8
"""Share of a chunk's text that must stand in repeated blocks: the rest is too little to ask about."""

NEAR_DUPLICATE = "near_duplicate"
REPEATED_BLOCK = "repeated_block"


REPEATED_IN = 3
"""Documents that must contain a block for it to count as repeated: two may well say the same by chance."""


def mark_repeated_blocks(chunks: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Mark chunks that say again what others say, in `passed_over`.

    A chunk of a near duplicate is marked as such. Of the rest a chunk is a repeated block when most of it
    consists of blocks which at least `REPEATED_IN` documents hold and which an earlier document held before:
    so the first document that says something is still asked about it.

    Args:
        chunks: CHUNKS frame in the order of documents.
        documents: DOCUMENTS frame with its near duplicates marked.
    """
    near = documents.filter(pl.col("near_duplicate_of").is_not_null())["document_id"]
    is_near = pl.col("document_id").is_in(near.implode())
    repeated = _repeated_chunks(chunks.filter(~is_near))
    mark = (
        pl.when(is_near)
        .then(pl.lit(NEAR_DUPLICATE))
        .when(pl.col("chunk_id").is_in(repeated.implode()))
        .then(pl.lit(REPEATED_BLOCK))
    )
    return chunks.with_columns(mark.alias("passed_over"))


def _repeated_chunks(chunks: pl.DataFrame) -> pl.Series:
    """Return ids of chunks most of whose text an earlier document has, in blocks that several have."""
    size = pl.col("block").str.len_chars()
    counted = (
        _blocks(chunks)
        .with_columns(
            pl.col("document_id").n_unique().over("block").alias("holders"),
            pl.col("document").min().over("block").alias("first"),
        )
        .with_columns(
            (pl.col("holders").ge(REPEATED_IN) & pl.col("document").gt(pl.col("first"))).alias("again")
        )
    )
    weighed = counted.group_by("chunk_id", maintain_order=True).agg(
        size.sum().alias("all"), size.filter(pl.col("again") & size.ge(_SHORTEST)).sum().alias("repeated")
    )
    return weighed.filter(pl.col("repeated") >= _SHARE * pl.col("all"), pl.col("all") > 0)["chunk_id"]


def _blocks(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return one row a block of a chunk: headings left out, white space and case normalised."""
    return (
        chunks.select(
            "chunk_id",
            "document_id",
            pl.col("document_id").rle_id().alias("document"),
            pl.col("text").str.split("\n\n").alias("block"),
        )
        .explode("block")
        .with_columns(
            pl.col("block").str.replace_all(r"\s+", " ").str.strip_chars().str.to_lowercase().alias("block")
        )
        .filter(pl.col("block") != "", ~pl.col("block").str.starts_with("#"))
    )
