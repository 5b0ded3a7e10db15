"""The embeddings table: one vector for each chunk."""

import polars as pl

from qa_pipeline.models.base import Embedder
from qa_pipeline.models.vector_cache import VectorCache, encode_cached, text_hash
from qa_pipeline.records import ProgressCallback, index_text, no_progress
from qa_pipeline.tables import EMBEDDINGS


def embed_chunks(
    chunks: pl.DataFrame, embedder: Embedder, cache: VectorCache, notify: ProgressCallback = no_progress
) -> pl.DataFrame:
    """Embed section path and text of each chunk; texts in the cache are not computed again.

    Args:
        chunks: CHUNKS frame.
        embedder: the model.
        cache: where vectors are looked up and stored, batch by batch, so that a killed run resumes.
        notify: called with the number of texts that are done.

    Returns:
        EMBEDDINGS frame, one row for each chunk, in the order of the chunks.
    """
    texts = [index_text(path, text) for path, text in chunks.select("section_path", "text").iter_rows()]
    vectors = encode_cached(texts, embedder, cache, notify)
    return EMBEDDINGS.conform(
        chunks.select(
            "chunk_id",
            "batch",
            pl.Series("text_sha256", [text_hash(text) for text in texts], dtype=pl.String()),
            pl.lit(embedder.model).alias("model"),
            pl.lit(embedder.revision).alias("model_revision"),
            pl.lit(embedder.precision).alias("precision"),
            pl.Series("vector", vectors).cast(pl.List(pl.Float32())),
        )
    )
