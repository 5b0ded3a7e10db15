"""What an index needs of a kind of search that does not compare all vectors.

What belongs here: the protocol both kinds keep, and what they share. What does not: the kinds
(`lists.py`, `graph.py`), choosing one (`choice.py`), the file (`file.py`).

The kinds are built and searched by faiss, but kept as plain arrays of numbers rather than in its own format:
a hostile file meets no C++ parser. Each kind holds foreign arrays to the rules without which searching them
would read beyond their ends.
"""

from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

Vectors = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int32]
Order = npt.NDArray[np.int64]


class BadBytesError(ValueError):
    """Arrays of a file that are not what its header says."""


class IvfParameters(BaseModel):
    """What a file says of inverted lists."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    kind: Literal["ivf"] = "ivf"
    lists: int = Field(ge=1, le=1_000_000)
    effort: int = Field(ge=1, le=1_000_000)

    def size(self, count: int, dimension: int) -> int:
        """Bytes of the arrays."""
        return 4 * (self.lists * dimension + count)


class HnswParameters(BaseModel):
    """What a file says of a graph."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    kind: Literal["hnsw"] = "hnsw"
    slots: int = Field(ge=1)
    entry: int = Field(ge=0)
    effort: int = Field(ge=1, le=1_000_000)

    def size(self, count: int, dimension: int) -> int:
        """Bytes of the arrays."""
        return 4 * (count + self.slots)


class Finder(Protocol):
    """One of the kinds."""

    @property
    def parameters(self) -> IvfParameters | HnswParameters:
        """What must be known to read the arrays, and how hard to search."""

    @property
    def most_effort(self) -> int:
        """Beyond it, comparing all vectors is no slower."""

    @property
    def trial_noise(self) -> float:
        """How far a vector must be moved to be as hard to search for as a question."""

    def arrays(self) -> list[npt.NDArray[Any]]:
        """What is kept besides the vectors."""

    def searcher(self, vectors: Vectors) -> Any:
        """The faiss index over the vectors it was built for."""

    def tune(self, searcher: Any) -> None:
        """Have a searcher, of this finder at any effort, search with this finder's effort."""

    def reordered(self, order: Order) -> "Finder":
        """The same for `vectors[order]`."""

    def with_effort(self, effort: int) -> "Finder":
        """The same, searching harder or less hard."""
