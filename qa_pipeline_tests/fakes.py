"""Hand-written stand-ins for heavy parts, shared by the tests of many modules."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from qa_pipeline.models.encoder import Embedder, Vectors
from qa_pipeline.models.files import FileTokenCounter, load_token_counter
from qa_pipeline.models.vector_cache import CachedEmbedder, VectorCache
from qa_pipeline.settings.generation import EmbeddingSettings


@dataclass
class HashEmbedder:
    """Bags of hashed words as vectors: texts that share words are similar, without torch.

    Tokens are counted with the packaged model's real tokenizer. `encoded` lists every text that was
    encoded, call by call.
    """

    dimension: int = 64
    model: str = "hash"
    revision: str = "1"
    precision: str = "float32"
    encoded: list[str] = field(default_factory=list)

    @property
    def window(self) -> int:
        return _counter().window

    @property
    def tokenizer(self) -> Tokenizer:
        return _counter().tokenizer

    def count(self, texts: Sequence[str]) -> list[int]:
        return _counter().count(texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.encoded.extend(texts)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()) or [""]:
                digest = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
                vectors[row, digest % self.dimension] += 1.0
        norms: Vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / norms


@cache
def _counter() -> FileTokenCounter:
    """Read once: a tokenizer takes 25 ms, and most tests make an embedder."""
    return load_token_counter(EmbeddingSettings())


def memory_cache() -> VectorCache:
    return VectorCache(Path(":memory:"))


def cached(embedder: Embedder) -> CachedEmbedder:
    return CachedEmbedder(embedder, memory_cache())
