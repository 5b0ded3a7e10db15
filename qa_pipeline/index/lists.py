"""Inverted lists (`ivf`): k-means puts each vector into one list, and a query looks into the nearest few.

What belongs here: building the lists, their arrays, and checking those of a file. What does not: how many
lists to look into (`choice.py`). Jégou, Douze and Schmid 2011, here with whole vectors in the lists.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from qa_pipeline.index.kinds import BadBytesError, Integers, IvfParameters, Order, Vectors

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
