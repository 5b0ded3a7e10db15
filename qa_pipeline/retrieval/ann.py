"""Searching a large batch without comparing every vector: an HNSW index of faiss, and the trial it must pass.

Malkov and Yashunin 2018. `faiss.index_factory` builds it, faiss keeps and reads its bytes. The trial
searches for vectors of the batch moved by random noise. Unmoved ones flatter the index: they find
themselves and then their neighbours, along links that were made for just that (recall 0.98 where real
questions had 0.93). With the noise below, recall in the trial was that of real questions or lower
(`bench_index.py`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qa_pipeline.models.base import Vectors
from qa_pipeline.settings.generation import IndexSettings

FACTORY = "HNSW16,Flat"
"""16 links of a vector in each layer (M), twice as many in the lowest one."""
BUILD_BREADTH = 100
"""Candidates held while a vector is linked (efConstruction)."""
EFFORTS = (64, 128, 256, 512, 1024)
"""Candidates held while searching (efSearch), tried in this order; beyond, comparing all is no slower."""
TRIAL_NOISE = 1.6
"""The distance to move a vector of length 1 that makes it as hard to search for as a question."""
TRIAL_QUERIES = 256  # searched in an index before it is taken
TRIAL_DEPTH = 10  # true nearest vectors that a trial query should find
SEED = 7  # any would do; the same one gives the same bytes
SAME_COSINE = 1e-6
"""Vectors whose cosines differ by less count as equal: equal texts have equal vectors."""
_MOST_LAYERS = 64  # an index of 16 links has one layer more for 16 times the vectors, so no true one has more


class BadIndexError(ValueError):
    """Bytes that faiss cannot read, or an index that does not belong to these vectors."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The index of a batch; without one every vector is compared.

    Args:
        index: links of faiss, without vectors.
        effort: candidates held while searching.
        recall: share of the true ten nearest that it found in the trial; None for exact search.
        note: why a large batch is compared whole all the same.
    """

    index: bytes | None = None
    effort: int | None = None
    recall: float | None = None
    note: str | None = None


ALL_COMPARED = Choice()


def choose_index(vectors: Vectors, settings: IndexSettings) -> Choice:
    """Build an index from `exact_below` vectors on.

    The effort is doubled until the trial finds enough; where not even the highest does, search stays exact.
    """
    if len(vectors) < settings.exact_below:
        return ALL_COMPARED
    import faiss

    index: Any = faiss.index_factory(vectors.shape[1], FACTORY, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = BUILD_BREADTH
    index.add(np.ascontiguousarray(vectors, dtype=np.float32))
    queries = trial_queries(vectors, TRIAL_NOISE)
    depth = min(TRIAL_DEPTH, len(vectors))
    nearest = faiss.knn(queries, vectors, depth, metric=faiss.METRIC_INNER_PRODUCT)[0]
    recall = 0.0
    for effort in EFFORTS:
        index.hnsw.efSearch = effort
        scores, _ = index.search(queries, depth)
        recall = float((scores >= nearest[:, -1:] - SAME_COSINE).mean())
        if recall >= settings.min_recall:
            index.hnsw.efSearch = EFFORTS[0]
            links = faiss.serialize_index(index, faiss.IO_FLAG_SKIP_STORAGE).tobytes()
            return Choice(links, effort, round(recall, 4))
    return Choice(
        note=f"{FACTORY} at effort {EFFORTS[-1]} found {recall:.3f} of the true {TRIAL_DEPTH} nearest, less "
        f"than index.min_recall {settings.min_recall}; every vector is compared"
    )


def trial_queries(vectors: Vectors, length: float) -> Vectors:
    """Return some of the vectors, each moved by noise of its own; the same ones for the same vectors."""
    random = np.random.default_rng(SEED)
    chosen = random.choice(len(vectors), min(TRIAL_QUERIES, len(vectors)), replace=False)
    noise = random.standard_normal((len(chosen), vectors.shape[1]))
    noise *= length / np.linalg.norm(noise, axis=1, keepdims=True)
    moved = vectors[chosen] + noise
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def read_index(content: bytes, vectors: Vectors, effort: int) -> Any:
    """Return the faiss index of these vectors, ready to search.

    Faiss checks where links lead; here it is kept from filling the memory, and what else a search relies on
    is checked: whoever can write the file can give it a valid checksum.

    Raises:
        BadIndexError: the bytes are none of faiss, or of another index.
    """
    import faiss

    try:
        with _bounded_reading(len(content)):
            index: Any = faiss.deserialize_index(
                np.frombuffer(content, dtype=np.uint8), faiss.IO_FLAG_SKIP_STORAGE
            )
    except (RuntimeError, MemoryError) as error:
        raise BadIndexError("faiss cannot read its links") from error
    count, dimension = vectors.shape
    if type(index) is not faiss.IndexHNSWFlat or (index.ntotal, index.d) != (count, dimension):
        raise BadIndexError("its links are of other vectors")
    if index.metric_type != faiss.METRIC_INNER_PRODUCT or not _is_sound(index.hnsw, count):
        raise BadIndexError("its links are not those of an index of cosines")
    storage: Any = faiss.IndexFlatIP(dimension)
    storage.add(np.ascontiguousarray(vectors, dtype=np.float32))
    storage.this.disown()
    index.storage, index.own_fields = storage, True
    index.hnsw.efSearch = effort
    return index


def _is_sound(links: Any, count: int) -> bool:
    """Return whether the layers are those of so many vectors, and the search begins in the highest."""
    import faiss

    layers: npt.NDArray[np.int32] = faiss.vector_to_array(links.levels)
    near: npt.NDArray[np.int32] = faiss.vector_to_array(links.neighbors)
    entry = links.entry_point
    if len(layers) != count or not len(near) or not 0 <= entry < count:
        return False
    return bool(
        layers.min() >= 1
        and layers.max() <= _MOST_LAYERS
        and layers[entry] == layers.max() == links.max_level + 1
        and near.min() >= -1
        and near.max() < count
    )


@contextmanager
def _bounded_reading(most_bytes: int) -> Iterator[None]:
    """Limit what faiss takes for any one list of numbers while it reads."""
    import faiss

    usual = faiss.get_deserialization_vector_byte_limit(), faiss.get_deserialization_loop_limit()
    faiss.set_deserialization_vector_byte_limit(most_bytes)
    faiss.set_deserialization_loop_limit(most_bytes)
    try:
        yield
    finally:
        faiss.set_deserialization_vector_byte_limit(usual[0])
        faiss.set_deserialization_loop_limit(usual[1])
