"""What the stages need of an embedding model, and the embeddings table.

What belongs here: the two protocols, and embedding each text once. What does not: loading a model
(`model.py`), the store of vectors (`vector_cache.py`).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
from tokenizers import Tokenizer

from qa_pipeline.models.vector_cache import VectorCache, VectorSpace
from qa_pipeline.records import Notify, index_text, silent
from qa_pipeline.tables import EMBEDDINGS

Vectors = npt.NDArray[np.float32]

STORE_EVERY = 256
"""Texts embedded between two commits to the cache: what a kill can cost."""


class TokenCounter(Protocol):
    """Counts tokens the way the embedding model does; needs no weights."""

    @property
    def window(self) -> int:
        """Most tokens the model reads of a text, special tokens included."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, without truncation or padding."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included and nothing cut off."""


class Embedder(TokenCounter, Protocol):
    """A sentence embedding model of a known revision."""

    @property
    def model(self) -> str:
        """Name as the tables show it."""

    @property
    def revision(self) -> str:
        """Commit of the hub, or `sha256:` and a hash of the files."""

    @property
    def precision(self) -> str:
        """float32, bfloat16, int8 or int7: the arithmetic of the weights."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit-length vectors, one row for each text, in the order given."""


def embed_chunks(
    chunks: pl.DataFrame, embedder: Embedder, cache: VectorCache, notify: Notify = silent
) -> pl.DataFrame:
    """Embed section path and text of each chunk; texts in the cache are not computed again.

    Args:
        chunks: CHUNKS frame.
        embedder: the model.
        cache: where vectors are looked up and stored, batch by batch, so that a killed run resumes.
        notify: hears how many texts are done.

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


def encode_cached(
    texts: Sequence[str], embedder: Embedder, cache: VectorCache, notify: Notify = silent
) -> Vectors:
    """Encode through the cache: each distinct text at most once, ever.

    Everything is read back from the cache, so that two processes embedding the same text at the same
    time return the same vector.
    """
    space = VectorSpace(embedder.model, embedder.revision, embedder.precision)
    hashes = [text_hash(text) for text in texts]
    distinct = dict(zip(hashes, texts, strict=True))
    found = cache.get_many(space, list(distinct))
    missing = [name for name in distinct if name not in found]
    # Short texts first, so that batches of one length are full and the order does not depend on `texts`.
    missing.sort(key=lambda name: (len(distinct[name]), name))
    for start in range(0, len(missing), STORE_EVERY):
        names = missing[start : start + STORE_EVERY]
        notify(len(distinct) - len(missing) + start, len(distinct))
        encoded = embedder.encode([distinct[name] for name in names])
        cache.put_many(space, dict(zip(names, encoded, strict=True)))
        found |= cache.get_many(space, names)
    notify(len(distinct), len(distinct))
    if not hashes:
        return np.zeros((0, embedder.dimension), dtype=np.float32)
    return np.stack([found[name] for name in hashes])


def text_hash(text: str) -> str:
    """Key of a text in the cache."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class CachedEmbedder:
    """An embedder that computes each text at most once, ever: for questions and claims as for chunks."""

    inner: Embedder
    cache: VectorCache

    @property
    def window(self) -> int:
        """Most tokens the model reads."""
        return self.inner.window

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, without truncation or padding."""
        return self.inner.tokenizer

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.inner.model

    @property
    def revision(self) -> str:
        """Commit or hash of its files."""
        return self.inner.revision

    @property
    def precision(self) -> str:
        """Arithmetic of its weights."""
        return self.inner.precision

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.inner.dimension

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included and nothing cut off."""
        return self.inner.count(texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit-length vectors, one row for each text, in the order given."""
        return encode_cached(texts, self.inner, self.cache)
