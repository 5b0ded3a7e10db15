"""A cache of vectors by text hash, shared between processes, and an embedder that uses it.

A stored vector is final: a later vector for the same key is ignored, so that all readers see the same value.
The file can be deleted at any time, which only costs computing time.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from qa_pipeline.errors import StorageError
from qa_pipeline.models.encoder import NO_VECTORS, Embedder, Encoder, Vectors
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.storage.hashes import hash_text

STORE_EVERY = 256
"""Inputs computed between two commits to the cache, the most that a killed process loses."""

_LITTLE_ENDIAN = np.dtype("<f4")
_LOOKUP = 500
"""Keys per query, since SQLite limits the parameters of a statement."""
_BUSY_SECONDS = 60.0  # another process locks the file for at most one batch of vectors
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL, revision TEXT NOT NULL, precision TEXT NOT NULL, text_sha256 TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, revision, precision, text_sha256)
)"""
_INSERT = "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?, ?)"
_SELECT = (
    "SELECT text_sha256, vector FROM vectors "
    "WHERE model = ? AND revision = ? AND precision = ? AND text_sha256 IN ({marks})"
)


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """Identifies comparable vectors: the same weights in the same arithmetic."""

    model: str
    revision: str
    precision: str


@dataclass(eq=False)
class VectorCache:
    """A SQLite file in WAL mode, for many processes on the same machine.

    The file is created with its folder if missing (`:memory:` keeps it in memory). It must not be on a
    network file system, where the shared memory of WAL does not work.
    """

    path: Path
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _connection: sqlite3.Connection | None = field(default=None, init=False, repr=False)

    def get_many(self, space: VectorSpace, hashes: Sequence[str]) -> dict[str, Vectors]:
        """Return the stored vectors for these hashes; raises a StorageError."""
        vectors: dict[str, Vectors] = {}
        distinct = list(dict.fromkeys(hashes))
        with self._connected() as connection:
            for start in range(0, len(distinct), _LOOKUP):
                part = distinct[start : start + _LOOKUP]
                marks = ", ".join("?" * len(part))  # such as "?, ?, ?"
                for key, blob in connection.execute(_SELECT.format(marks=marks), (*astuple(space), *part)):
                    vectors[key] = np.frombuffer(blob, dtype=_LITTLE_ENDIAN).astype(np.float32)
        return vectors

    def put_many(self, space: VectorSpace, vectors: Mapping[str, Vectors]) -> None:
        """Store vectors by hash and keep existing vectors; raises a StorageError."""
        key = astuple(space)
        rows = [(*key, name, vector.astype(_LITTLE_ENDIAN).tobytes()) for name, vector in vectors.items()]
        with self._connected() as connection, connection:  # the second begins and ends a transaction
            connection.executemany(_INSERT, rows)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection under a lock, and turn errors of SQLite into StorageError."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._open()
                yield self._connection
            except (sqlite3.Error, ValueError) as error:  # ValueError: a vector is truncated
                raise StorageError(
                    f"vector cache {self.path} cannot be used: {error}; if it is damaged, delete it "
                    f"(vectors are then computed again)"
                ) from error

    def _open(self) -> sqlite3.Connection:
        """Connect to the file, and create it with its folder and table if they are missing."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        # A power cut may lose the last commit, one batch of computing; a sync per commit is not worth it.
        connection.execute("PRAGMA synchronous = NORMAL")
        with connection:
            connection.execute(_SCHEMA)
        return connection


T = TypeVar("T")


def compute_cached(
    space: VectorSpace,
    inputs: Mapping[str, T],
    length: Callable[[T], int],
    compute: Callable[[list[T]], Iterable[Vectors]],
    cache: VectorCache,
    notify: ProgressCallback = no_progress,
) -> dict[str, Vectors]:
    """Return the vectors of inputs by key; each input is computed at most once.

    `compute` returns a vector per input, and `length` the size of an input. New vectors are read back from
    the cache, so that two processes that compute the same input at once return the same vector.
    """
    cached = cache.get_many(space, list(inputs))
    missing = [key for key in inputs if key not in cached]
    # Short inputs first, for full batches of equal length in an order that depends on the inputs alone.
    missing.sort(key=lambda key: (length(inputs[key]), key))
    for start in range(0, len(missing), STORE_EVERY):
        keys = missing[start : start + STORE_EVERY]
        notify(len(inputs) - len(missing) + start, len(inputs))
        computed = compute([inputs[key] for key in keys])
        cache.put_many(space, dict(zip(keys, computed, strict=True)))
        cached |= cache.get_many(space, keys)
    notify(len(inputs), len(inputs))
    return cached


class CachedEmbedder:
    """An embedder that computes each text at most once, for chunks, questions and claims."""

    def __init__(self, inner: Embedder, cache: VectorCache) -> None:
        self.inner, self.cache = inner, cache
        self.model, self.revision, self.precision = inner.model, inner.revision, inner.precision
        self.window, self.tokenizer, self.count = inner.window, inner.tokenizer, inner.count

    def encode(self, texts: Sequence[str], notify: ProgressCallback = no_progress) -> Vectors:
        """Return unit-length vectors, a row per text, in the same order."""
        space = VectorSpace(self.model, self.revision, self.precision)
        hashes = [hash_text(text) for text in texts]
        inputs = dict(zip(hashes, texts, strict=True))
        vectors = compute_cached(space, inputs, len, self.inner.encode, self.cache, notify)
        return np.stack([vectors[name] for name in hashes]) if hashes else NO_VECTORS


class TextVectors:
    """Vectors of a set of texts; equal texts share a vector."""

    def __init__(self, texts: Iterable[str], encoder: Encoder) -> None:
        distinct = list(dict.fromkeys(texts))
        self._row = {text: row for row, text in enumerate(distinct)}
        self._vectors = encoder.encode(distinct) if distinct else np.zeros((0, 1), dtype=np.float32)

    def of(self, text: str) -> Vectors:
        """Return the vector of a text."""
        return np.asarray(self._vectors[self._row[text]])

    def cosines(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine between a text and each other text."""
        if not others:
            return []
        rows = [self._row[other] for other in others]
        return [float(value) for value in self._vectors[rows] @ self.of(text)]


class ChunkVectors:
    """Vectors of chunks, from the embeddings table or computed by `load` from `texts`, by chunk id."""

    def __init__(self, embeddings: pl.DataFrame | None, texts: Mapping[str, str], encoder: Encoder) -> None:
        self._texts, self._encoder = texts, encoder
        self._vectors: dict[str, Vectors] = {}
        if embeddings is not None and embeddings.height:
            matrix = np.array(embeddings["vector"].to_list(), dtype=np.float32)
            self._vectors = dict(zip(embeddings["chunk_id"].to_list(), matrix, strict=True))

    def load(self, chunk_ids: Iterable[str]) -> None:
        """Embed the chunks without a vector, in a single call."""
        missing = {i: self._texts[i] for i in chunk_ids if i not in self._vectors}  # texts by chunk id
        if missing:
            vectors = TextVectors(missing.values(), self._encoder)
            self._vectors.update((chunk_id, vectors.of(text)) for chunk_id, text in missing.items())

    def cosines(self, vector: Vectors, chunk_ids: Sequence[str]) -> list[float]:
        """Return the cosine between a vector and each chunk."""
        if not chunk_ids:
            return []
        return [float(value) for value in np.stack([self._vectors[i] for i in chunk_ids]) @ vector]
