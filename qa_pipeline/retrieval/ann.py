"""Approximate search in large batches by a faiss HNSW index (Malkov, Yashunin 2018)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from qa_pipeline.models.encoder import Vectors

EXACT_BELOW = 50_000
"""Number of vectors from which an index is used; below it every vector is compared."""
FACTORY = "HNSW16,Flat"
"""16 links per vector and layer (M), and 32 in the lowest layer."""
BUILD_BREADTH = 100
"""Candidates kept while linking a vector (efConstruction)."""
EFFORT = 256
"""Candidates kept while searching (efSearch)."""
_MOST_LAYERS = 64  # with 16 links, each further layer takes 16 times as many vectors


class BadIndexError(ValueError):
    """The bytes are not a faiss index, or the index belongs to other vectors."""


def build_links(vectors: Vectors, exact_below: int = EXACT_BELOW) -> bytes | None:
    """Return a serialised faiss index without its vectors; None for fewer than `exact_below` vectors."""
    if len(vectors) < exact_below:
        return None
    import faiss

    index: Any = faiss.index_factory(vectors.shape[1], FACTORY, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = BUILD_BREADTH
    index.add(np.ascontiguousarray(vectors, dtype=np.float32))
    links: bytes = faiss.serialize_index(index, faiss.IO_FLAG_SKIP_STORAGE).tobytes()
    return links


def read_index(content: bytes, vectors: Vectors) -> Any:
    """Return the faiss index of these vectors, ready to search.

    A forged file may have a valid checksum. So memory is limited while reading, and all properties needed for
    a search are checked here, except the targets of links, which faiss checks.

    Raises:
        BadIndexError: the bytes are not a faiss index, or belong to another index.
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
    index.hnsw.efSearch = EFFORT
    return index


def _is_sound(links: Any, count: int) -> bool:
    """Return True if the layers fit the number of vectors, and the search starts in the top layer."""
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
    """Limit the size of any list that faiss reads."""
    import faiss

    usual = faiss.get_deserialization_vector_byte_limit(), faiss.get_deserialization_loop_limit()
    faiss.set_deserialization_vector_byte_limit(most_bytes)
    faiss.set_deserialization_loop_limit(most_bytes)
    try:
        yield
    finally:
        faiss.set_deserialization_vector_byte_limit(usual[0])
        faiss.set_deserialization_loop_limit(usual[1])
