"""Searching a large batch without comparing every vector: an HNSW index of faiss (Malkov, Yashunin 2018)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from qa_pipeline.models.base import Vectors

EXACT_BELOW = 50_000
"""Vectors below which all are compared."""
FACTORY = "HNSW16,Flat"
"""16 links of a vector in each layer (M), twice as many in the lowest one."""
BUILD_BREADTH = 100
"""Candidates held while a vector is linked (efConstruction)."""
EFFORT = 256
"""Candidates held while searching (efSearch)."""
_MOST_LAYERS = 64  # an index of 16 links has one layer more for 16 times the vectors, so no true one has more


class BadIndexError(ValueError):
    """Bytes that faiss cannot read, or an index that does not belong to these vectors."""


def build_links(vectors: Vectors, exact_below: int = EXACT_BELOW) -> bytes | None:
    """Return links of faiss, without vectors; None where all vectors are compared."""
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
    index.hnsw.efSearch = EFFORT
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
