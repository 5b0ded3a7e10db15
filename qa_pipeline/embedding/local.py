"""What every encoder that runs here has in common, whatever computes its vectors.

What belongs here: naming the model, encoding each distinct text once, and unit length. What does not:
computing (`encoder.py` with torch, `onnx.py` without).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from qa_pipeline.embedding.files import FileTokenCounter, ModelFiles
from qa_pipeline.errors import SettingsError

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LocalEncoder(ABC):
    """A model in a folder, and its tokenizer."""

    files: ModelFiles
    counter: FileTokenCounter

    way_out: ClassVar[str] = "set embedding.backend to torch"
    """What to try where the arithmetic is too coarse for the model."""

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.files.name

    @property
    def revision(self) -> str:
        """Commit or hash of its files."""
        return self.files.revision

    @property
    def window(self) -> int:
        """Most tokens it reads."""
        return self.counter.window

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer, without truncation or padding."""
        return self.counter.tokenizer

    @cached_property
    def dimension(self) -> int:
        """Length of a vector; computes one only where the configuration does not say."""
        declared = self.files.dimension
        return self.encode(["?"]).shape[1] if declared is None else declared

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included and nothing cut off."""
        return self.counter.count(texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit-length vectors, one row for each text, in the order given."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        vectors = self._unit_length(self._encode_distinct(list(places)))
        return vectors[[places[text] for text in texts]]

    @abstractmethod
    def _encode_distinct(self, texts: list[str]) -> Vectors:
        """The model's own vectors, one row for each text."""

    def _unit_length(self, vectors: Vectors) -> Vectors:
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise SettingsError(
                f"embedding model {self.model} gives vectors without a direction; {self.way_out}"
            )
        return np.asarray(vectors / norms, dtype=np.float32)
