"""Mark chunks that repeat text of other documents in the batch."""

import polars as pl

_SHORTEST = 40
"""Characters of the shortest block that counts; shorter blocks such as "See also:" recur by chance."""
_SHARE = 0.8
"""Share of a chunk's text in repeated blocks from which too little new text is left to ask about."""

NEAR_DUPLICATE = "near_duplicate"
REPEATED_BLOCK = "repeated_block"


REPEATED_IN = 3
"""Documents that must contain a repeated block; two may share it by chance."""


def mark_repeated_blocks(chunks: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Mark repeated chunks in the column `passed_over`.

    Chunks of a near-duplicate document are marked as such. Other chunks are marked if most of their text is
    in repeated blocks. A block is repeated if at least `REPEATED_IN` documents contain it, and an earlier
    document has it. So questions are still asked about the first document with the text.

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
    """Return ids of chunks that consist mostly of repeated blocks from earlier documents."""
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
    """Return a row per block of a chunk, without headings, with white space and case normalised."""
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
