"""A navigable graph (`hnsw`): vectors linked to near ones, in layers; a query walks along the links.

What belongs here: building the graph, its arrays, and checking those of a file. What does not: how many
candidates a query holds (`choice.py`). Malkov and Yashunin 2018.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from qa_pipeline.index.kinds import BadBytesError, HnswParameters, Integers, Order, Vectors

LINKS = 16
"""Links of a vector in each layer, twice as many in the lowest one (M)."""
BUILD_BREADTH = 100
"""Candidates held while a vector is linked (efConstruction)."""
MOST_LAYERS = 64


@dataclass(frozen=True, eq=False)
class NavigableGraph:
    """Vectors linked to near ones; `effort` is the number of candidates held on the way (efSearch).

    Args:
        parameters: number of slots for links, where to begin, and effort.
        layers: in how many layers each vector stands, at least one.
        links: slots of each vector, of its lowest layer first; -1 where a slot is empty.
    """

    parameters: HnswParameters
    layers: Integers
    links: Integers

    least_effort: ClassVar[int] = 64
    most_effort: ClassVar[int] = 1024
    trial_noise: ClassVar[float] = 1.6

    @classmethod
    def build(cls, vectors: Vectors) -> "NavigableGraph":
        """Link the vectors; faiss from 1.15 on makes the same graph with any number of threads."""
        import faiss

        index: Any = faiss.IndexHNSWFlat(vectors.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = BUILD_BREADTH
        index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        links = faiss.vector_to_array(index.hnsw.neighbors)
        entry = int(index.hnsw.entry_point)
        parameters = HnswParameters(slots=len(links), entry=entry, effort=cls.least_effort)
        return cls(parameters, faiss.vector_to_array(index.hnsw.levels), links)

    @classmethod
    def read(
        cls, parameters: HnswParameters, content: memoryview, count: int, dimension: int
    ) -> "NavigableGraph":
        """Read the arrays back.

        Raises:
            BadBytesError: a link, a layer or the entry leads to where nothing is.
        """
        layers = np.frombuffer(content[: 4 * count], dtype="<i4").astype(np.int32)
        links = np.frombuffer(content[4 * count :], dtype="<i4").astype(np.int32)
        if parameters.entry >= count or layers.min() < 1 or layers.max() > MOST_LAYERS:
            raise BadBytesError("its entry or its layers are not those of a graph")
        if layers[parameters.entry] != layers.max():
            raise BadBytesError("its entry is not in the highest layer")
        if _slots(layers).sum() != len(links):
            raise BadBytesError("its links do not fit its layers")
        if links.min() < -1 or links.max() >= count:
            raise BadBytesError("a link leads to a vector that is not there")
        layer_of_slot = _layer_of_slot(layers)
        if (layers[links] <= layer_of_slot)[links >= 0].any():
            raise BadBytesError("a link leads to a vector that is not in its layer")
        return cls(parameters, layers, links)

    def arrays(self) -> list[npt.NDArray[Any]]:
        """Layers, then links."""
        return [self.layers.astype("<i4", copy=False), self.links.astype("<i4", copy=False)]

    def searcher(self, vectors: Vectors) -> Any:
        """A faiss index with the graph as it was."""
        import faiss

        index: Any = faiss.IndexHNSWFlat(vectors.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        index.storage.add(np.ascontiguousarray(vectors, dtype=np.float32))
        index.ntotal = len(vectors)
        offsets = np.concatenate([[0], np.cumsum(_slots(self.layers))]).astype(np.uint64)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.layers), index.hnsw.levels)
        faiss.copy_array_to_vector(offsets, index.hnsw.offsets)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.links), index.hnsw.neighbors)
        index.hnsw.entry_point = self.parameters.entry
        index.hnsw.max_level = int(self.layers.max()) - 1
        self.tune(index)
        return index

    def tune(self, searcher: Any) -> None:
        """Hold as many candidates as the effort says."""
        searcher.hnsw.efSearch = self.parameters.effort

    def reordered(self, order: Order) -> "NavigableGraph":
        """The same for `vectors[order]`: slots move with their vector, and links follow."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        sizes = _slots(self.layers)
        starts = np.cumsum(sizes) - sizes
        moved = sizes[order]
        within = np.arange(moved.sum()) - np.repeat(np.cumsum(moved) - moved, moved)
        links = self.links[np.repeat(starts[order], moved) + within]
        links = np.where(links >= 0, place[links], -1).astype(np.int32)
        parameters = self.parameters.model_copy(update={"entry": int(place[self.parameters.entry])})
        return NavigableGraph(parameters, self.layers[order], links)

    def with_effort(self, effort: int) -> "NavigableGraph":
        """The same, holding so many candidates."""
        return NavigableGraph(self.parameters.model_copy(update={"effort": effort}), self.layers, self.links)


def _slots(layers: Integers) -> Order:
    """Slots of each vector."""
    return LINKS * (layers.astype(np.int64) + 1)


def _layer_of_slot(layers: Integers) -> Order:
    """The layer each slot belongs to: two shares of slots in the lowest, one in each above."""
    sizes = _slots(layers)
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(np.maximum(within // LINKS - 1, 0), dtype=np.int64)
