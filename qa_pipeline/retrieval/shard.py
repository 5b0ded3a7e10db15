"""The vectors of a batch: as a table, and as a FAISS index that compares every vector."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.errors import StorageError
from qa_pipeline.models.devices import TorchPrecision
from qa_pipeline.models.encoder import Embedder, Vectors
from qa_pipeline.models.vector_cache import CachedEmbedder
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.retrieval.chunks import index_text
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.tables import EMBEDDINGS

_TOGETHER = 16
"""Queries per faiss call. From 20 queries on faiss multiplies matrices, and the last bits of a score depend
on the other queries. Below that each score is a separate dot product."""
_WORTH_SHARING = 20_000
"""Number of vectors from which an exact search uses several threads. With less work, threads spend more time
waiting for each other: five times the work itself if other processes keep the cores busy."""


def embed_chunks(
    chunks: pl.DataFrame, embedder: CachedEmbedder, notify: ProgressCallback = no_progress
) -> pl.DataFrame:
    """Embed section path and text of each chunk.

    Vectors are cached in batches, so that a killed run resumes.

    Returns:
        EMBEDDINGS frame with a row per chunk, in the order of the chunks.
    """
    texts = [index_text(path, text) for path, text in chunks.select("section_path", "text").iter_rows()]
    vectors = embedder.encode(texts, notify)
    return EMBEDDINGS.conform(
        chunks.select(
            "chunk_id",
            "batch",
            pl.Series("text_sha256", [hash_text(text) for text in texts], dtype=pl.String()),
            pl.lit(embedder.model).alias("model"),
            pl.lit(embedder.revision).alias("model_revision"),
            pl.lit(embedder.precision).alias("precision"),
            pl.Series("vector", vectors).cast(pl.List(pl.Float32())),
        )
    )


_INTERCHANGEABLE = frozenset(get_args(TorchPrecision))
"""Precisions whose vectors differ by less than 1e-3 in cosine, so that they can search each other."""


@dataclass(frozen=True, eq=False)
class Shard:
    """The FAISS index of a batch, with its chunks and its model.

    Args:
        chunk_ids: id of each vector's chunk.
        vectors: the unit-length vectors, a row per chunk.
        index: a faiss `IndexFlatIP` of the vectors.
        model: name of the model.
    """

    chunk_ids: tuple[str, ...]
    vectors: Vectors
    index: Any
    model: str

    def search(self, vectors: Vectors, k: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        """Find the `k` nearest chunks of each query, a row of `vectors`; fewer if the shard has fewer.

        Returns:
            Positions in `chunk_ids` and cosines, a row per query, best first, with ties in chunk order. Each
            row is independent of the other queries.
        """
        count = len(self.chunk_ids)
        k = min(k, count)
        if k == 0 or not len(vectors):
            empty = (len(vectors), k)
            return np.empty(empty, dtype=np.int64), np.empty(empty, dtype=np.float32)
        queries = np.ascontiguousarray(vectors, dtype=np.float32)
        # One extra result shows if equal cosines are on both sides of the cut. Faiss picks any
        # of them, so these few queries rank every chunk.
        positions, scores = self._ranked(queries, min(k + 1, count))
        if k < count:
            tied = np.flatnonzero(scores[:, k - 1] == scores[:, k])
            positions, scores = positions[:, :k], scores[:, :k]
            for row in tied:
                all_positions, all_scores = self._ranked(queries[row : row + 1], count)
                positions[row], scores[row] = all_positions[0, :k], all_scores[0, :k]
        return positions, scores

    def _ranked(self, queries: Vectors, k: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        """Search a few queries at a time, and sort each row by score and position."""
        with faiss_threads(1 if len(self.chunk_ids) < _WORTH_SHARING else None):
            parts = [
                self.index.search(queries[start : start + _TOGETHER], k)
                for start in range(0, len(queries), _TOGETHER)
            ]
        scores = np.concatenate([part[0] for part in parts])
        positions = np.concatenate([part[1] for part in parts])
        order = np.lexsort((positions, -scores), axis=1)
        return np.take_along_axis(positions, order, axis=1), np.take_along_axis(scores, order, axis=1)


@contextmanager
def faiss_threads(number: int | None) -> Iterator[None]:
    """Limit the threads of faiss within the context; None keeps the current limit."""
    import faiss

    usual = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(number or usual)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(usual)


def build_index(embeddings: pl.DataFrame) -> Shard:
    """Build a shard from the rows of a batch, in their order; an empty frame gives an empty shard.

    Raises:
        StorageError: the rows come from several models, or their vectors differ in length.
    """
    import faiss

    origins = embeddings.select("model", "model_revision", "precision").unique(maintain_order=True)
    lengths = embeddings["vector"].list.len().unique(maintain_order=True).to_list() or [1]
    if origins.height > 1 or len(lengths) > 1:
        raise StorageError(
            f"vectors of a shard must come from a single model, but these come from {origins.rows()} "
            f"with lengths {lengths}; compute the embeddings of the batch again"
        )
    vectors = np.array(embeddings["vector"].list.to_array(lengths[0]).to_numpy(), dtype=np.float32)
    vectors = vectors.reshape(embeddings.height, lengths[0])
    index: Any = faiss.IndexFlatIP(lengths[0])
    index.add(vectors)
    model = origins["model"][0] if origins.height else ""
    return Shard(tuple(embeddings["chunk_id"]), vectors, index, model)


def dump_index(shard: Shard) -> bytes:
    """Return the index as a file that `faiss.read_index` reads; equal shards give equal bytes."""
    import faiss

    content: bytes = faiss.serialize_index(shard.index).tobytes()
    return content


def load_index(content: bytes, embeddings: pl.DataFrame, embedder: Embedder, source: str) -> Shard:
    """Read the index of a batch, and check that it fits its embeddings and the model of the queries.

    Vectors of float32 and bfloat16 can search each other. `content` are the bytes of the file that messages
    call `source`.

    Raises:
        StorageError: the embeddings have another model, revision or precision, or the file is damaged
            or has other vectors.
    """
    shard = build_index(embeddings)
    if dump_index(shard) != content:
        raise StorageError(
            f"{source} is damaged or lacks vectors of the table embeddings; build the index again"
        )
    origins = embeddings.select("model", "model_revision", "precision").unique()
    for model, revision, precision in origins.iter_rows():
        precisions = {precision, embedder.precision}
        fits = len(precisions) == 1 or precisions <= _INTERCHANGEABLE
        if (model, revision) != (embedder.model, embedder.revision) or not fits:
            raise StorageError(
                f"{source} was built with {model} at {revision} ({precision}), but the settings ask for "
                f"{embedder.model} at {embedder.revision} ({embedder.precision}); compute embeddings and "
                "index of the batch again, or set the embedding model back"
            )
    return shard
