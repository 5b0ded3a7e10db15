"""The single file a shard is kept in, and refusing what is not one.

A magic line with the SHA-256 of all that follows, one line of JSON (model, revision, precision, dimension,
bytes of the index, chunk ids), then the vectors as little-endian float32, then the bytes of faiss, if there
are any. Nothing is unpickled; checksum, header and sizes are checked before faiss reads a byte.
"""

import hashlib
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.retrieval.ann import EFFORTS, BadIndexError, Choice
from qa_pipeline.retrieval.shard import Shard
from qa_pipeline.storage import write_bytes

MAGIC = b"qa-pipeline shard 2 sha256:"
MAX_BYTES = 8 * 2**30
_LITTLE_ENDIAN = np.dtype("<f4")
_INTERCHANGEABLE = frozenset({"float32", "bfloat16"})
"""Precisions whose vectors differ by less than 1e-3 in cosine and may search each other."""


class _Header(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    model: str
    revision: str
    precision: str
    dimension: int = Field(ge=0, le=65_536)
    index_bytes: int = Field(0, ge=0)
    effort: int | None = Field(None, ge=1, le=EFFORTS[-1])
    recall: float | None = None
    note: str | None = None
    chunk_ids: list[str]


def dump_shard(shard: Shard) -> bytes:
    """Serialise a shard; equal shards give equal bytes.

    Raises:
        ValueError: its chunks are in another order than its index.
    """
    if shard.order is not None and shard.choice.index is not None:
        raise ValueError("a shard is kept in the order it was built in")
    index = shard.choice.index or b""
    header = _Header(
        model=shard.model,
        revision=shard.revision,
        precision=shard.precision,
        dimension=shard.dimension,
        index_bytes=len(index),
        effort=shard.choice.effort,
        recall=shard.choice.recall,
        note=shard.choice.note,
        chunk_ids=list(shard.chunk_ids),
    )
    vectors = np.ascontiguousarray(shard.vectors.astype(_LITTLE_ENDIAN, copy=False))
    # A view, not a copy: a shard may be large.
    view = vectors.reshape(-1).view(np.uint8).data
    body: list[bytes | memoryview] = [header.model_dump_json().encode(), b"\n", view, index]
    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    return b"".join([MAGIC, digest.hexdigest().encode(), b"\n", *body])


def load_shard(
    content: bytes,
    *,
    model: str,
    revision: str,
    precision: str,
    dimension: int,
    source: str = "index shard",
) -> Shard:
    """Read a serialised shard and hold it to the model whose queries will search it.

    An empty shard fits every model. Vectors of float32 and bfloat16 may search each other, those in
    integers only their like.

    Raises:
        IndexMismatchError: another model, revision, precision or dimension, or bytes that are not a whole
            shard.
    """
    header, payload = _checked(content, source)
    origin = (header.model, header.revision, header.precision)
    if not header.chunk_ids:
        return Shard((), np.zeros((0, header.dimension), dtype=np.float32), *origin)
    found, wanted = (*origin, header.dimension), (model, revision, precision, dimension)
    if {header.precision, precision} <= _INTERCHANGEABLE:
        found = (header.model, header.revision, precision, header.dimension)
    if found != wanted:
        raise IndexMismatchError(
            f"{source} was built with {_origin(*found)}, but the settings ask for {_origin(*wanted)}; "
            f"compute embeddings and index of the batch again, or set the embedding model back"
        )
    split = _vector_bytes(header)
    flat = np.frombuffer(payload[:split], dtype=_LITTLE_ENDIAN).astype(np.float32)
    vectors = flat.reshape(len(header.chunk_ids), header.dimension)
    if not np.allclose(np.einsum("ij,ij->i", vectors, vectors), 1.0, atol=2e-3):
        raise _damaged(source, "its vectors do not have unit length")
    index = payload[split:].tobytes() or None
    choice = Choice(index, header.effort, header.recall, header.note)
    shard = Shard(tuple(header.chunk_ids), vectors, *origin, choice)
    try:
        _ = shard.links
    except BadIndexError as error:
        raise _damaged(source, str(error)) from error
    return shard


def write_shard(path: Path, shard: Shard) -> None:
    """Store a shard at `path` in one step: readers see the old file or the new one.

    Raises:
        StorageError: the file could not be written; the old one is untouched.
    """
    write_bytes(path, dump_shard(shard))


def read_shard(path: Path, *, model: str, revision: str, precision: str, dimension: int) -> Shard:
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
    asked = {"model": model, "revision": revision, "precision": precision}
    return load_shard(content, **asked, dimension=dimension, source=str(path))


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
    expected = _vector_bytes(header) + header.index_bytes
    if len(payload) != expected or (header.index_bytes and not header.chunk_ids):
        raise _damaged(source, f"it holds {len(payload)} bytes of vectors and links instead of {expected}")
    if (header.effort is None) == bool(header.index_bytes):
        raise _damaged(source, "its effort and its links do not go together")
    if len(set(header.chunk_ids)) != len(header.chunk_ids):
        raise _damaged(source, "a chunk id repeats")
    return header, payload


def _vector_bytes(header: _Header) -> int:
    return len(header.chunk_ids) * header.dimension * _LITTLE_ENDIAN.itemsize


def _origin(model: str, revision: str, precision: str, dimension: int) -> str:
    return (
        f"{model or 'no model'} at {revision or 'no revision'} ({dimension} dimensions, "
        f"{precision or 'no precision'})"
    )


def _damaged(source: str, what: str) -> IndexMismatchError:
    return IndexMismatchError(f"{source} is not a usable index shard: {what}; build the index again")
