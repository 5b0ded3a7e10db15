"""Which kind of index a batch gets, and how hard it must search.

What belongs here: the choice by size, and the trial that an approximate kind must stand. What does not: the
kinds themselves (`lists.py`, `graph.py`).

The trial searches for vectors of the batch moved by random noise. Unmoved ones flatter both kinds: they find
themselves and then their neighbours, along links or in lists that were made for just that (recall 0.98 where
real questions had 0.93). How much noise each kind needs to be found out was measured against real questions:
with it, recall in the trial was theirs or lower, for real vectors and for mixtures (`bench_index.py`).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from qa_pipeline.settings.generation import IndexSettings

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


SEED = 1
"""Of the k-means; everything else is deterministic by itself, whatever the number of threads."""
LISTS_PER_ROOT = 4
"""Lists for each unit of the square root of the number of vectors."""
ROUNDS = 10
SAMPLES_PER_LIST = 64
_AT_ONCE = 10_000


@dataclass(frozen=True, eq=False)
class InvertedLists:
    """Vectors by their nearest centroid; `effort` is the number of lists looked into (nprobe).

    Args:
        parameters: number of lists, and effort.
        centroids: one a row.
        members: the list of each vector.
    """

    parameters: IvfParameters
    centroids: Vectors
    members: Integers

    least_effort: ClassVar[int] = 32
    trial_noise: ClassVar[float] = 2.5  # with less, a vector and all it looks for stand in one list

    @classmethod
    def build(cls, vectors: Vectors) -> "InvertedLists":
        """Train the centroids and put each vector into its list."""
        import faiss

        count, dimension = vectors.shape
        lists = max(1, min(int(LISTS_PER_ROOT * count**0.5), count // SAMPLES_PER_LIST))
        # Fewer points than faiss would like are a matter of recall, which is measured, not of a warning.
        options = {"min_points_per_centroid": 1, "max_points_per_centroid": SAMPLES_PER_LIST}
        means = faiss.Kmeans(dimension, lists, niter=ROUNDS, seed=SEED, spherical=True, **options)
        means.train(vectors)
        starts = range(0, count, _AT_ONCE)
        nearest = [means.index.search(vectors[start : start + _AT_ONCE], 1)[1] for start in starts]
        effort = min(cls.least_effort, lists)
        return cls(
            IvfParameters(lists=lists, effort=effort),
            np.ascontiguousarray(means.centroids, dtype=np.float32),
            np.concatenate(nearest)[:, 0].astype(np.int32),
        )

    @classmethod
    def read(
        cls, parameters: IvfParameters, content: memoryview, count: int, dimension: int
    ) -> "InvertedLists":
        """Read the arrays back.

        Raises:
            BadBytesError: a vector belongs to no list, or a centroid is no vector.
        """
        split = 4 * parameters.lists * dimension
        centroids = (
            np.frombuffer(content[:split], dtype="<f4")
            .astype(np.float32)
            .reshape(parameters.lists, dimension)
        )
        members = np.frombuffer(content[split:], dtype="<i4").astype(np.int32)
        if not np.isfinite(centroids).all():
            raise BadBytesError("its centroids are not finite")
        if len(members) and not (members.min() >= 0 and members.max() < parameters.lists):
            raise BadBytesError("a vector belongs to a list that is not there")
        return cls(parameters, centroids, members)

    @property
    def most_effort(self) -> int:
        """A quarter of the lists, or all where they are few."""
        return min(max(self.least_effort, self.parameters.lists // 4), self.parameters.lists)

    def arrays(self) -> list[npt.NDArray[Any]]:
        """Centroids, then the list of each vector."""
        return [self.centroids.astype("<f4", copy=False), self.members.astype("<i4", copy=False)]

    def searcher(self, vectors: Vectors) -> Any:
        """A faiss index whose lists are filled as they were."""
        import faiss

        count, dimension = vectors.shape
        coarse = faiss.IndexFlatIP(dimension)
        coarse.add(self.centroids)
        index: Any = faiss.IndexIVFFlat(coarse, dimension, self.parameters.lists, faiss.METRIC_INNER_PRODUCT)
        index.is_trained = True
        numbers, members = np.arange(count, dtype=np.int64), self.members.astype(np.int64)
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        pointers = [faiss.swig_ptr(values) for values in (vectors, numbers, members)]
        index.add_core(count, *pointers)
        self.tune(index)
        return index

    def tune(self, searcher: Any) -> None:
        """Look into as many lists as the effort says."""
        searcher.nprobe = self.parameters.effort

    def reordered(self, order: Order) -> "InvertedLists":
        """The same for `vectors[order]`."""
        return InvertedLists(self.parameters, self.centroids, self.members[order])

    def with_effort(self, effort: int) -> "InvertedLists":
        """The same, looking into so many lists."""
        return InvertedLists(
            self.parameters.model_copy(update={"effort": effort}), self.centroids, self.members
        )


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


TRIAL_QUERIES = 256
TRIAL_DEPTH = 10
CHOICE_SEED = 7
SAME_COSINE = 1e-6
"""Vectors whose cosines differ by less stand for each other: equal texts have equal vectors."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a batch gets; no finder means that every vector is compared.

    Args:
        finder: the approximate kind.
        recall: share of the true ten nearest that it found in the trial; None for exact search.
        note: why an approximate kind that was asked for is not used.
    """

    finder: Finder | None = None
    recall: float | None = None
    note: str | None = None


def choose_finder(vectors: Vectors, settings: IndexSettings) -> Choice:
    """Build the kind that the settings name, or that the number of vectors asks for.

    The effort is doubled until the trial finds enough; where not even the highest does, search stays exact.
    """
    if settings.kind == "flat" or not len(vectors):
        return Choice()
    if settings.kind == "auto" and len(vectors) < settings.exact_below:
        return Choice()
    finder: Finder = (InvertedLists if settings.kind == "ivf" else NavigableGraph).build(vectors)
    return _with_enough_effort(finder, vectors, settings.min_recall)


def _with_enough_effort(finder: Finder, vectors: Vectors, wanted: float) -> Choice:
    queries = trial_queries(vectors, finder.trial_noise)
    nearest = exact_cosines(vectors, queries)
    searcher = finder.searcher(vectors)
    while True:
        recall = recall_of(finder, searcher, queries, nearest)
        if recall >= wanted:
            return Choice(finder, recall=round(recall, 4))
        if finder.parameters.effort >= finder.most_effort:
            kind, effort = finder.parameters.kind, finder.parameters.effort
            found = f"{kind} at effort {effort} found {recall:.3f} of the true {TRIAL_DEPTH} nearest"
            return Choice(note=f"{found}, less than index.min_recall {wanted}; every vector is compared")
        finder = finder.with_effort(min(2 * finder.parameters.effort, finder.most_effort))


def trial_queries(vectors: Vectors, length: float) -> Vectors:
    """Some of the vectors, each moved by noise of its own; the same ones for the same vectors.

    Args:
        vectors: those of the batch.
        length: of the noise; the vectors have length 1.
    """
    random = np.random.default_rng(CHOICE_SEED)
    chosen = random.choice(len(vectors), min(TRIAL_QUERIES, len(vectors)), replace=False)
    noise = random.standard_normal((len(chosen), vectors.shape[1]))
    noise *= length / np.linalg.norm(noise, axis=1, keepdims=True)
    moved = vectors[chosen] + noise
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def exact_cosines(vectors: Vectors, queries: Vectors) -> Vectors:
    """Cosines of each query's true nearest, best first."""
    import faiss

    depth = min(TRIAL_DEPTH, len(vectors))
    scores: Vectors = faiss.knn(queries, vectors, depth, metric=faiss.METRIC_INNER_PRODUCT)[0]
    return scores


def recall_of(finder: Finder, searcher: Any, queries: Vectors, nearest: Vectors) -> float:
    """Share of the true nearest, or of others just as near, that are found.

    Args:
        finder: what is tried.
        searcher: what it made of the vectors.
        queries: what is searched for.
        nearest: the result of `exact_cosines`.
    """
    finder.tune(searcher)
    scores, _ = searcher.search(queries, nearest.shape[1])
    return float((scores >= nearest[:, -1:] - SAME_COSINE).mean())
