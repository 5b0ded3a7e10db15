"""The vectors of a batch: as a table, as a searchable shard, and as a file."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.models.devices import TorchPrecision
from qa_pipeline.models.encoder import Embedder, Vectors
from qa_pipeline.models.vector_cache import CachedEmbedder
from qa_pipeline.records import ProgressCallback, index_text, no_progress
from qa_pipeline.retrieval.ann import EXACT_BELOW, BadIndexError, build_links, read_index
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.tables import EMBEDDINGS

_TOGETHER = 16
"""Queries per faiss call. From 20 queries on faiss multiplies matrices, and the last bits of a score depend
on the other queries. Below that each score is a separate dot product."""
_WORTH_SHARING = 20_000
"""Number of vectors from which an exact search uses several threads. With less work, threads spend more time
waiting for each other: five times the work itself if other processes keep the cores busy."""


def embed_chunks(
    chunks: pl.DataFrame, embedder: CachedEmbedder, notify: ProgressCallback = no_progress
) -> pl.DataFrame:
    """Embed section path and text of each chunk.

    Vectors are cached in batches, so that a killed run resumes.

    Returns:
        EMBEDDINGS frame with a row per chunk, in the order of the chunks.
    """
    texts = [index_text(path, text) for path, text in chunks.select("section_path", "text").iter_rows()]
    vectors = embedder.encode(texts, notify)
    return EMBEDDINGS.conform(
        chunks.select(
            "chunk_id",
            "batch",
            pl.Series("text_sha256", [hash_text(text) for text in texts], dtype=pl.String()),
            pl.lit(embedder.model).alias("model"),
            pl.lit(embedder.revision).alias("model_revision"),
            pl.lit(embedder.precision).alias("precision"),
            pl.Series("vector", vectors).cast(pl.List(pl.Float32())),
        )
    )


@dataclass(frozen=True, eq=False)
class Shard:
    """Unit-length vectors of a batch's chunks, with their model and search index.

    Args:
        chunk_ids: id of each vector's chunk.
        vectors: a vector per row.
        model: name of the model.
        revision: revision of the model.
        precision: arithmetic of the vectors.
        index: faiss index without vectors; if absent, every vector is compared.
    """

    chunk_ids: tuple[str, ...]
    vectors: Vectors
    model: str
    revision: str
    precision: str
    index: bytes | None = None

    @property
    def dimension(self) -> int:
        """Return the length of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def kind(self) -> str:
        """Return the kind of search: flat (compares every vector) or hnsw (compares some)."""
        return "flat" if self.index is None else "hnsw"

    def search(self, vectors: Vectors, k: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        """Find the nearest chunks of each query.

        Args:
            vectors: a query per row.
            k: number of chunks per query; fewer if the shard has fewer.

        Returns:
            Positions in `chunk_ids` and cosines, a row per query, best first, with ties in chunk order. Each
            row is independent of the other queries. An hnsw search may miss a near chunk and return the next
            nearest.

        Raises:
            BadIndexError: the index was read from a file and does not fit these vectors.
        """
        k = min(k, len(self.chunk_ids))
        if k == 0 or not len(vectors):
            empty = (len(vectors), k)
            return np.empty(empty, dtype=np.int64), np.empty(empty, dtype=np.float32)
        queries = np.ascontiguousarray(vectors, dtype=np.float32)
        if self.index is None:
            return self._all_compared(queries, k)
        with faiss_threads(1):
            positions, scores = _ranked(queries, lambda part: self.links.search(part, k))
        # Faiss returns -1 if its links end too soon; those queries compare every vector.
        for row in np.flatnonzero((positions < 0).any(axis=1)):
            every_position, every_score = self._all_compared(queries[row : row + 1], k)
            positions[row], scores[row] = every_position[0], every_score[0]
        return positions, scores

    def _all_compared(self, queries: Vectors, k: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        # One extra result shows if equal cosines are on both sides of the cut. Faiss picks any
        # of them, so these few queries rank every chunk.
        count = len(self.chunk_ids)
        positions, scores = self._compared(queries, min(k + 1, count))
        if k < count:
            tied = np.flatnonzero(scores[:, k - 1] == scores[:, k])
            positions, scores = positions[:, :k], scores[:, :k]
            for row in tied:
                every_position, every_score = self._compared(queries[row : row + 1], count)
                positions[row], scores[row] = every_position[0, :k], every_score[0, :k]
        return positions, scores

    def _compared(self, queries: Vectors, k: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        import faiss

        metric = faiss.METRIC_INNER_PRODUCT
        with faiss_threads(1 if len(self.chunk_ids) < _WORTH_SHARING else None):
            return _ranked(queries, lambda part: faiss.knn(part, self.vectors, k, metric=metric))

    @cached_property
    def links(self) -> Any:
        """Return the faiss index; None if every vector is compared."""
        return None if self.index is None else read_index(self.index, self.vectors)


def _ranked(queries: Vectors, search: Callable[[Vectors], Any]) -> tuple[npt.NDArray[np.int64], Vectors]:
    """Search a few queries at a time, and sort each row by score and position."""
    parts = [search(queries[start : start + _TOGETHER]) for start in range(0, len(queries), _TOGETHER)]
    scores = np.concatenate([part[0] for part in parts])
    positions = np.concatenate([part[1] for part in parts])
    order = np.lexsort((positions, -scores), axis=1)
    return np.take_along_axis(positions, order, axis=1), np.take_along_axis(scores, order, axis=1)


@contextmanager
def faiss_threads(number: int | None) -> Iterator[None]:
    """Limit the threads of faiss within the context; None keeps the current limit."""
    import faiss

    usual = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(number or usual)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(usual)


def build_index(embeddings: pl.DataFrame, exact_below: int = EXACT_BELOW) -> Shard:
    """Build a shard from the rows of a batch, in their order; an empty frame gives an empty shard.

    Raises:
        IndexMismatchError: the rows come from several models, or their vectors differ in length.
    """
    if embeddings.is_empty():
        return Shard((), np.zeros((0, 0), dtype=np.float32), model="", revision="", precision="")
    origins = embeddings.select("model", "model_revision", "precision").unique(maintain_order=True)
    lengths = embeddings["vector"].list.len().unique(maintain_order=True).to_list()
    if origins.height > 1 or len(lengths) > 1:
        raise IndexMismatchError(
            f"vectors of one shard must come from one model, but these come from {origins.rows()} "
            f"with lengths {lengths}; compute the embeddings of the batch again"
        )
    vectors = np.array(embeddings["vector"].list.to_array(lengths[0]).to_numpy(), dtype=np.float32)
    model, revision, precision = origins.row(0)
    links = build_links(vectors, exact_below)
    return Shard(tuple(embeddings["chunk_id"]), vectors, model, revision, precision, links)


MAGIC = b"qa-pipeline shard 3 sha256:"
_LITTLE_ENDIAN = np.dtype("<f4")
_INTERCHANGEABLE = frozenset(get_args(TorchPrecision))
"""Precisions whose vectors differ by less than 1e-3 in cosine, so that they can search each other."""


class _Header(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    model: str
    revision: str
    precision: str
    dimension: int = Field(ge=0, le=65_536)
    index_bytes: int = Field(0, ge=0)
    chunk_ids: list[str]


def dump_shard(shard: Shard) -> bytes:
    """Serialise a shard; equal shards give equal bytes.

    The first line is a magic text with the SHA-256 of the rest, and the second is JSON (`_Header`). The
    vectors follow as little-endian float32, and then the bytes of faiss, if any.
    """
    index = shard.index or b""
    header = _Header(
        model=shard.model,
        revision=shard.revision,
        precision=shard.precision,
        dimension=shard.dimension,
        index_bytes=len(index),
        chunk_ids=list(shard.chunk_ids),
    )
    vectors = np.ascontiguousarray(shard.vectors.astype(_LITTLE_ENDIAN, copy=False))
    # a view, since a shard may be large
    view = vectors.reshape(-1).view(np.uint8).data
    body: list[bytes | memoryview] = [header.model_dump_json().encode(), b"\n", view, index]
    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    return b"".join([MAGIC, digest.hexdigest().encode(), b"\n", *body])


def load_shard_for(embedder: Embedder, content: bytes, source: str) -> Shard:
    """Read a serialised shard for an embedding model; see `load_shard`."""
    return load_shard(
        content,
        model=embedder.model,
        revision=embedder.revision,
        precision=embedder.precision,
        source=source,
    )


def load_shard(
    content: bytes,
    *,
    model: str,
    revision: str,
    precision: str,
    source: str = "index shard",
) -> Shard:
    """Read a serialised shard, and check that it fits the model of the queries.

    The file is not unpickled. Checksum, header and sizes are checked before faiss reads it. An empty shard
    fits every model. Vectors of float32 and bfloat16 can search each other.

    Raises:
        IndexMismatchError: the shard has another model, revision or precision, or is damaged.
    """
    header, payload = _checked(content, source)
    origin = (header.model, header.revision, header.precision)
    if not header.chunk_ids:
        return Shard((), np.zeros((0, header.dimension), dtype=np.float32), *origin)
    is_near = {header.precision, precision} <= _INTERCHANGEABLE
    if origin[:2] != (model, revision) or not (is_near or header.precision == precision):
        expected = _origin(model, revision, precision)
        raise IndexMismatchError(
            f"{source} was built with {_origin(*origin)}, but the settings ask for {expected}; "
            f"compute embeddings and index of the batch again, or set the embedding model back"
        )
    split = len(payload) - header.index_bytes
    flat = np.frombuffer(payload[:split], dtype=_LITTLE_ENDIAN).astype(np.float32)
    vectors = flat.reshape(len(header.chunk_ids), header.dimension)
    if not np.allclose(np.einsum("ij,ij->i", vectors, vectors), 1.0, atol=2e-3):
        raise _damaged(source, "its vectors do not have unit length")
    index = payload[split:].tobytes() or None
    shard = Shard(tuple(header.chunk_ids), vectors, *origin, index)
    try:
        _ = shard.links
    except BadIndexError as error:
        raise _damaged(source, str(error)) from error
    return shard


def _checked(content: bytes, source: str) -> tuple[_Header, memoryview]:
    """Return the header and payload of a complete file with consistent parts."""
    first, newline, _ = content[: len(MAGIC) + 65].partition(b"\n")
    if not newline or not first.startswith(MAGIC):
        raise _damaged(source, "it does not begin like a shard")
    body = memoryview(content)[len(first) + 1 :]
    if hashlib.sha256(body).hexdigest().encode() != first[len(MAGIC) :]:
        raise _damaged(source, "it is cut short or altered: its checksum does not match")
    end = content.find(b"\n", len(first) + 1)
    try:
        header = _Header.model_validate_json(content[len(first) + 1 : max(end, 0)])
    except ValidationError as error:
        raise _damaged(source, f"its header has {error.error_count()} faults") from error
    payload = memoryview(content)[end + 1 :]
    size = len(header.chunk_ids) * header.dimension * _LITTLE_ENDIAN.itemsize
    expected = size + header.index_bytes
    if len(payload) != expected or (header.index_bytes and not header.chunk_ids):
        raise _damaged(source, f"it holds {len(payload)} bytes of vectors and links instead of {expected}")
    if len(set(header.chunk_ids)) != len(header.chunk_ids):
        raise _damaged(source, "a chunk id repeats")
    return header, payload


def _origin(model: str, revision: str, precision: str) -> str:
    return f"{model or 'no model'} at {revision or 'no revision'} ({precision or 'no precision'})"


def _damaged(source: str, what: str) -> IndexMismatchError:
    return IndexMismatchError(f"{source} is not a usable index shard: {what}; build the index again")
