"""Interfaces of embedding models, independent of the library that computes the vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

Vectors = npt.NDArray[np.float32]
NO_VECTORS: Vectors = np.zeros((0, 0), dtype=np.float32)


class TokenCounter(Protocol):
    """Counts tokens like the embedding model, without loading its weights."""

    @property
    def window(self) -> int:
        """Return the model's maximum number of tokens, special tokens included."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Return the model's tokenizer, without truncation or padding."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens included and without truncation."""


class Encoder(Protocol):
    """A model with a known revision that turns texts into vectors."""

    @property
    def model(self) -> str:
        """Return the name shown in tables."""

    @property
    def revision(self) -> str:
        """Return the hub's commit, or `sha256:` and a hash of the files."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit-length vectors, a row per text, in the same order."""


class Embedder(TokenCounter, Encoder, Protocol):
    """A sentence embedding model with its tokenizer."""

    @property
    def precision(self) -> str:
        """Return the arithmetic of torch and its device, such as "cuda float32"."""
