"""What the stages need of an embedding model, whatever computes its vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

Vectors = npt.NDArray[np.float32]
NO_VECTORS: Vectors = np.zeros((0, 0), dtype=np.float32)


class TokenCounter(Protocol):
    """A counter of tokens as in the embedding model; needs no weights."""

    @property
    def window(self) -> int:
        """Return the most tokens the model reads of a text, special tokens included."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Return the model's tokenizer, without truncation or padding."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens included and nothing cut off."""


class Encoder(Protocol):
    """A model of known revision that turns texts into vectors."""

    @property
    def model(self) -> str:
        """Return the name as the tables show it."""

    @property
    def revision(self) -> str:
        """Return the commit of the hub, or `sha256:` and a hash of the files."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit-length vectors, one row for each text, in the order given."""


class Embedder(TokenCounter, Encoder, Protocol):
    """All of a sentence embedding model."""

    @property
    def precision(self) -> str:
        """Return the arithmetic of torch, with its device."""
