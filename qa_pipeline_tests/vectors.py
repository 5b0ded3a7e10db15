"""Unit-length vectors and the embeddings of a batch, as the tests of indexes need them."""

import numpy as np
import polars as pl

from qa_pipeline.models.encoder import Vectors
from qa_pipeline.storage.tables import EMBEDDINGS

DIMENSION = 4


def unit(rows: Vectors) -> Vectors:
    """The same directions with unit length."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def random_vectors(count: int, seed: int = 0, dimension: int = DIMENSION) -> Vectors:
    """Directions drawn evenly."""
    normal = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return unit(normal) if count else normal


def embeddings(
    vectors: Vectors, *, model: str = "m", revision: str = "r", precision: str = "float32"
) -> pl.DataFrame:
    """One chunk for each vector."""
    return EMBEDDINGS.frame(
        [
            {
                "chunk_id": f"c{row}",
                "batch": "b",
                "text_sha256": f"{row}",
                "model": model,
                "model_revision": revision,
                "precision": precision,
                "vector": vector,
            }
            for row, vector in enumerate(vectors.tolist())
        ]
    )
