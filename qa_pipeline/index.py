"""One batch's vectors as a searchable shard, and the single file it is kept in.

What belongs here: building, storing, reading and searching a shard. What does not: computing vectors
(`embedding.py`) and combining rankings (`retrieval.py`).

The file: a magic line with the SHA-256 of all that follows, one line of JSON (model, revision, precision,
dimension, chunk ids), then the vectors as little-endian float32. An `IndexFlatIP` is nothing but its
vectors, so storing them raw loses nothing, and a hostile file meets no C++ parser: every size is checked
against the file's own length before anything is built.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.storage import write_bytes

Vectors = npt.NDArray[np.float32]

MAGIC = b"qa-pipeline shard 1 sha256:"
MAX_BYTES = 8 * 2**30
_LITTLE_ENDIAN = np.dtype("<f4")
_TOGETHER = 16
"""Queries searched in one call. From 20 on faiss multiplies matrices, and then the last bits of a score
depend on the other queries; below, each score is a dot product of its own."""


class _Header(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    model: str
    revision: str
    precision: str
    dimension: int = Field(ge=0, le=65_536)
    chunk_ids: list[str]


@dataclass(frozen=True, eq=False)
class Shard:
    """Unit-length vectors of one batch's chunks and what they were computed with."""

    chunk_ids: tuple[str, ...]
    vectors: Vectors
    model: str
    revision: str
    precision: str

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def index(self) -> Any:
        """The vectors as an exact inner-product index (cosine, as they have unit length)."""
        import faiss

        index = faiss.IndexFlatIP(self.dimension)
        index.add(self.vectors)
        return index

    def search(self, vectors: Vectors, k: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        """Find the nearest chunks of each query.

        Args:
            vectors: one query a row.
            k: how many to find; fewer where the shard holds fewer.

        Returns:
            Positions in `chunk_ids` and cosines, one row a query, best first; equal cosines in the order
            of the chunks. A query's row does not depend on the other queries.
        """
        k = min(k, len(self.chunk_ids))
        if k == 0 or not len(vectors):
            empty = (len(vectors), k)
            return np.empty(empty, dtype=np.int64), np.empty(empty, dtype=np.float32)
        queries = np.ascontiguousarray(vectors, dtype=np.float32)
        # One more than asked for shows where equal cosines stand on both sides of the cut. Faiss picks any
        # of those, so these few queries rank every chunk.
        positions, scores = self._ranked(queries, min(k + 1, len(self.chunk_ids)))
        if k < len(self.chunk_ids):
            tied = np.flatnonzero(scores[:, k - 1] == scores[:, k])
            positions, scores = positions[:, :k], scores[:, :k]
            for row in tied:
                every_position, every_score = self._ranked(queries[row : row + 1], len(self.chunk_ids))
                positions[row], scores[row] = every_position[0, :k], every_score[0, :k]
        return positions, scores

    def _ranked(self, queries: Vectors, k: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        starts = range(0, len(queries), _TOGETHER)
        parts = [self.index.search(queries[start : start + _TOGETHER], k) for start in starts]
        scores = np.concatenate([part[0] for part in parts])
        positions = np.concatenate([part[1] for part in parts])
        order = np.lexsort((positions, -scores), axis=1)
        return np.take_along_axis(positions, order, axis=1), np.take_along_axis(scores, order, axis=1)


def build_index(embeddings: pl.DataFrame) -> Shard:
    """Gather the rows of one batch into a shard, in their order; no rows make an empty shard.

    Args:
        embeddings: EMBEDDINGS frame.

    Raises:
        IndexMismatchError: the rows come from more than one model, or their vectors differ in length.
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
    vectors = embeddings["vector"].list.to_array(lengths[0]).to_numpy()
    model, revision, precision = origins.row(0)
    return Shard(tuple(embeddings["chunk_id"]), np.array(vectors, np.float32), model, revision, precision)


def dump_shard(shard: Shard) -> bytes:
    """Serialise a shard; equal shards give equal bytes."""
    header = _Header(
        model=shard.model,
        revision=shard.revision,
        precision=shard.precision,
        dimension=shard.dimension,
        chunk_ids=list(shard.chunk_ids),
    )
    body = header.model_dump_json().encode() + b"\n" + shard.vectors.astype(_LITTLE_ENDIAN).tobytes()
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def load_shard(
    content: bytes, *, model: str, revision: str, dimension: int, source: str = "index shard"
) -> Shard:
    """Read a serialised shard and hold it to the model whose queries will search it.

    An empty shard fits every model. Precision is recorded but not compared: bfloat16 and float32 vectors
    of one model differ by less than 1e-3 in cosine and may search each other.

    Raises:
        IndexMismatchError: another model, revision or dimension, or bytes that are not a whole shard.
    """
    header, payload = _checked(content, source)
    if not header.chunk_ids:
        empty = np.zeros((0, header.dimension), dtype=np.float32)
        return Shard((), empty, header.model, header.revision, header.precision)
    found, wanted = (header.model, header.revision, header.dimension), (model, revision, dimension)
    if found != wanted:
        raise IndexMismatchError(
            f"{source} was built with {_origin(*found)}, but the settings ask for {_origin(*wanted)}; "
            f"compute embeddings and index of the batch again, or set the embedding model back"
        )
    flat = np.frombuffer(payload, dtype=_LITTLE_ENDIAN).astype(np.float32)
    vectors = flat.reshape(len(header.chunk_ids), header.dimension)
    if not np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3):
        raise _damaged(source, "its vectors do not have unit length")
    return Shard(tuple(header.chunk_ids), vectors, header.model, header.revision, header.precision)


def write_shard(path: Path, shard: Shard) -> None:
    """Store a shard at `path` in one step: readers see the old file or the new one.

    Raises:
        StorageError: the file could not be written; the old one is untouched.
    """
    write_bytes(path, dump_shard(shard))


def read_shard(path: Path, *, model: str, revision: str, dimension: int) -> Shard:
    """Read a shard file, as `load_shard` does.

    Raises:
        IndexMismatchError: no such file, too large a file, or one that `load_shard` refuses.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise _damaged(str(path), f"it has {size} bytes, and {MAX_BYTES} are the most a shard may have")
        content = path.read_bytes()
    except OSError as error:
        raise IndexMismatchError(
            f"index shard {path} cannot be read: {error.strerror or error}; build the index of the batch"
        ) from error
    return load_shard(content, model=model, revision=revision, dimension=dimension, source=str(path))


def _checked(content: bytes, source: str) -> tuple[_Header, memoryview]:
    """Header and vectors of a whole file whose parts fit each other."""
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
    expected = len(header.chunk_ids) * header.dimension * _LITTLE_ENDIAN.itemsize
    if len(payload) != expected:
        raise _damaged(source, f"it holds {len(payload)} bytes of vectors instead of {expected}")
    if len(set(header.chunk_ids)) != len(header.chunk_ids):
        raise _damaged(source, "a chunk id repeats")
    return header, payload


def _origin(model: str, revision: str, dimension: int) -> str:
    return f"{model or 'no model'} at {revision or 'no revision'} ({dimension} dimensions)"


def _damaged(source: str, what: str) -> IndexMismatchError:
    return IndexMismatchError(f"{source} is not a usable index shard: {what}; build the index again")
