"""Vectors of texts and chunks, and the cosines between them."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from qa_pipeline.models.base import NO_VECTORS, Encoder, Vectors


class TextVectors:
    """Vectors of a set of texts; equal texts share a vector."""

    def __init__(self, texts: Iterable[str], encoder: Encoder) -> None:
        distinct = list(dict.fromkeys(texts))
        self._row = {text: row for row, text in enumerate(distinct)}
        self._vectors = encoder.encode(distinct) if distinct else np.zeros((0, 1), dtype=np.float32)

    def of(self, text: str) -> Vectors:
        """Return the vector of a text."""
        return np.asarray(self._vectors[self._row[text]])

    def cosines(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine between a text and each other text."""
        if not others:
            return []
        rows = [self._row[other] for other in others]
        return [float(value) for value in self._vectors[rows] @ self.of(text)]


class ChunkVectors:
    """Vectors of chunks, from the embeddings table or computed by `load`."""

    def __init__(self, embeddings: pl.DataFrame | None, texts: Mapping[str, str], encoder: Encoder) -> None:
        self._texts, self._encoder = texts, encoder
        self._vectors: dict[str, Vectors] = {}
        if embeddings is not None and embeddings.height:
            matrix = np.array(embeddings["vector"].to_list(), dtype=np.float32)
            self._vectors = dict(zip(embeddings["chunk_id"].to_list(), matrix, strict=True))

    def load(self, chunk_ids: Iterable[str]) -> None:
        """Embed the chunks without a vector, in a single call."""
        lacking = [i for i in dict.fromkeys(chunk_ids) if i not in self._vectors]
        if lacking:
            texts = TextVectors([self._texts[i] for i in lacking], self._encoder)
            self._vectors.update((i, texts.of(self._texts[i])) for i in lacking)

    def cosines(self, vector: Vectors, chunk_ids: Sequence[str]) -> list[float]:
        """Return the cosine between a vector and each chunk."""
        return [float(value) for value in self.matrix(chunk_ids) @ vector] if chunk_ids else []

    def matrix(self, chunk_ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, a row per chunk."""
        return np.stack([self._vectors[i] for i in chunk_ids]) if chunk_ids else NO_VECTORS
