"""The chunks of all batches in one index on disk, for look-ups over the whole corpus that read no table.

Vectors and chunk ids lie one row after the other in two files that are mapped into memory, batch after batch.
Few are compared one by one. For many, inverted lists (Sivic and Zisserman 2003; `IndexIVFScalarQuantizer` of
faiss, mapped from disk as well) give candidates by bytes of 8 bits a number, and their exact vectors, read by
row, rank these. New batches are appended, those that changed are taken out of the lists; past a share of
them everything is built anew. The manifest is written last, and a row beyond it does not exist.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.models.base import Vectors
from qa_pipeline.retrieval.ann import SAME_COSINE, SEED, TRIAL_DEPTH, trial_queries
from qa_pipeline.retrieval.shard import faiss_threads
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.hashes import hash_file, hash_text

Positions = npt.NDArray[np.int64]

EXACT_BELOW = 100_000
"""Chunks from which on lists are built: comparing so many takes 12 ms of a processor, and misses none."""
TRIAL_NOISE = 3.0
"""The distance to move a vector of length 1 that makes it as hard to find near ones of as a question about
something else than the corpus: both are nearly as far from all lists."""
MIN_RECALL = 0.99
"""Share of the true ten nearest that lists must find in their trial; else every vector is compared. Questions
about something else found 0.975 where the trial found 0.99 to 0.996 (`bench_index.py`)."""
REBUILT_PAST = 0.25
"""Share of rows, added or taken out since the lists were trained, past which they are trained anew: means of
three quarters of the vectors still divide the others well (`bench_index.py`)."""
TRAINED_ON = 64
"""Vectors of a list that k-means sees: faiss asks for at least 39 and takes at most 256."""
CANDIDATES = 10
"""Candidates for each chunk wanted whose exact vectors are read; bytes of 8 bits rank almost as these do."""
LISTS_READ = (16, 32, 64, 96, 128, 192, 256)
"""Lists read for a query (nprobe), tried in this order."""
_BLOCK = 50_000
"""Rows handled together: 77 MB of vectors of 384 numbers."""
_ID_BYTES = 64
"""Bytes of a chunk id, a SHA-256 in hex."""
_MANIFEST = "manifest.json"


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    hash: str
    start: int = Field(ge=0)
    rows: int = Field(ge=0)


class _Lists(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    file: str = Field(pattern=r"^lists-[0-9a-f]{16}\.faiss$")
    sha256: str
    trained_rows: int
    lists_read: int = Field(ge=1)
    recall: float


class Manifest(BaseModel):
    """List what an index holds: parts by batch, and how they are searched.

    `lists` is null where every vector is compared; `note` says why, if there are many of them.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    origin: tuple[str, str, str] = Field(description="model, revision, precision")
    dimension: int = Field(ge=1, le=65_536)
    build: str = Field(pattern=r"^[0-9a-f]{16}$")
    rows: int = Field(ge=0)
    parts: dict[str, _Part]
    lists: _Lists | None
    note: str | None

    @property
    def snapshot(self) -> str:
        """Return the hash that names what is searched."""
        return index_snapshot({batch: part.hash for batch, part in self.parts.items()})


def index_snapshot(shards: Mapping[str, str]) -> str:
    """Hash of the list of shards: each batch with the hash of its vectors."""
    lines = "".join(f"{batch}\x1f{shard}\n" for batch, shard in sorted(shards.items()))
    return hash_text(lines)


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk near to a query, and its cosine."""

    batch: str
    chunk_id: str
    cosine: float


class CorpusIndex:
    """The index in a folder, mapped into memory.

    Raises:
        IndexMismatchError: the folder holds none, or a damaged one.
    """

    def __init__(self, folder: Path) -> None:
        manifest = _read_manifest(folder)
        if manifest is None:
            raise IndexMismatchError(f"{folder} holds no index of the corpus; build it first")
        self.folder, self.manifest = folder, manifest
        files = _files(folder, manifest.build)
        row_bytes = (4 * manifest.dimension, _ID_BYTES)
        for file, size in zip(files, row_bytes, strict=True):
            if not file.is_file() or file.stat().st_size < size * manifest.rows:
                raise _damaged(folder, f"{file.name} is shorter than {manifest.rows} rows")
        self._vectors, self._ids = _mapped(files, manifest.rows, manifest.dimension)
        parts = sorted((part.start, part.rows, batch) for batch, part in manifest.parts.items() if part.rows)
        ends = [start + rows for start, rows, _ in parts]
        if any(start < end for (start, *_), end in zip(parts, [0, *ends], strict=False)):
            raise _damaged(folder, "its batches overlap")
        if ends and ends[-1] > manifest.rows:
            raise _damaged(folder, "a batch ends beyond its rows")
        self._starts, self._batches = [start for start, *_ in parts], [batch for *_, batch in parts]
        self._runs = _runs([(start, end) for (start, *_), end in zip(parts, ends, strict=True)])

    @property
    def rows(self) -> int:
        """Return the number of chunks that are searched."""
        return sum(end - start for start, end in self._runs)

    def search(self, vectors: Vectors, k: int) -> list[list[FoundChunk]]:
        """Find the nearest chunks of each query, best first, equal cosines in the order of the rows.

        A query's chunks do not depend on the other queries. By lists a near chunk may be missed, and the
        next one is in its place.

        Args:
            vectors: one query a row, of unit length, of the model of the index.
            k: how many to find; fewer where the index holds fewer.
        """
        queries = np.ascontiguousarray(vectors, dtype=np.float32)
        return [self._nearest(queries[row : row + 1], k) for row in range(len(queries))]

    def _nearest(self, query: Vectors, k: int) -> list[FoundChunk]:
        positions, cosines = self._by_lists(query, k) if self.lists is not None else self._compared(query, k)
        return [
            FoundChunk(self._batch_of(position), self._ids[position].decode("ascii"), cosine)
            for position, cosine in zip(positions.tolist(), cosines.tolist(), strict=True)
        ]

    def _batch_of(self, position: int) -> str:
        return self._batches[int(np.searchsorted(self._starts, position, side="right")) - 1]

    def _by_lists(self, query: Vectors, k: int) -> tuple[Positions, Vectors]:
        with faiss_threads(1):
            candidates = self.lists.search(query, CANDIDATES * k)[1][0]
        candidates = np.sort(candidates[candidates >= 0])
        return _best(candidates, _cosines(self._vectors[candidates], query[0]), k)

    def _compared(self, query: Vectors, k: int) -> tuple[Positions, Vectors]:
        """Compare all."""
        best = _best(*_nothing(), k)
        for start, end in self._runs:
            for first in range(start, end, _BLOCK):
                last = min(first + _BLOCK, end)
                positions = np.concatenate([best[0], np.arange(first, last)])
                cosines = np.concatenate([best[1], _cosines(self._vectors[first:last], query[0])])
                best = _best(positions, cosines, k)
        return best

    @cached_property
    def lists(self) -> Any:
        """Return the lists of faiss; None where every vector is compared."""
        lists = self.manifest.lists
        return None if lists is None else _read_lists(self.folder, self.manifest, lists, is_mapped=True)


def update_corpus_index(
    folder: Path,
    shards: Mapping[str, str],
    read: Callable[[str], pl.DataFrame],
    *,
    exact_below: int = EXACT_BELOW,
) -> CorpusIndex:
    """Bring the index in a folder to what the batches hold now; nobody else may write there meanwhile.

    Args:
        folder: on the local disk; made where there is none.
        shards: each batch with the hash of its embeddings.
        read: the EMBEDDINGS rows of a batch, asked only for those that are new or changed.
        exact_below: chunks from which on lists are built.

    Raises:
        IndexMismatchError: batches have vectors of different models.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        before = _read_manifest(folder)
        index = None if before is None else CorpusIndex(folder)
        if before is None or index is None or not _can_append(before, shards):
            return _built(folder, shards, read, exact_below)
        if before.snapshot == index_snapshot(shards):
            _ = index.lists  # a damaged file shows here and not in the middle of the searches
            return index
        return _appended(folder, before, shards, read, exact_below) or _built(
            folder, shards, read, exact_below
        )
    except _DamagedIndexError:  # what is derived from tables is made anew
        return _built(folder, shards, read, exact_below)


class _DamagedIndexError(IndexMismatchError):
    """The files of an index do not belong together."""


def _can_append(before: Manifest, shards: Mapping[str, str]) -> bool:
    """Return whether few enough of the rows went; how many come is seen when they are read."""
    stays = sum(part.rows for batch, part in before.parts.items() if shards.get(batch) == part.hash)
    return before.rows > 0 and stays >= (1 - REBUILT_PAST) * before.rows


def _built(
    folder: Path, shards: Mapping[str, str], read: Callable[[str], pl.DataFrame], exact_below: int
) -> CorpusIndex:
    build = index_snapshot(shards)[:16]
    before = _read_manifest(folder, is_damage_ignored=True)
    if before is not None and before.build == build:  # its files are still the ones in use
        build = hash_text(build)[:16]
    writer = _RowWriter(folder, build, 0, None, 0)
    parts = {batch: writer.append(batch, shards[batch], read(batch)) for batch in sorted(shards)}
    return _with_lists(folder, build, writer, parts, exact_below)


def _appended(
    folder: Path,
    before: Manifest,
    shards: Mapping[str, str],
    read: Callable[[str], pl.DataFrame],
    exact_below: int,
) -> CorpusIndex | None:
    """Append to what is there; None where so much is new that all is better built anew."""
    parts = {batch: part for batch, part in before.parts.items() if shards.get(batch) == part.hash}
    taken_out = [part for batch, part in before.parts.items() if batch not in parts]
    writer = _RowWriter(folder, before.build, before.rows, before.origin, before.dimension)
    for batch in sorted(set(shards) - set(parts)):
        parts[batch] = writer.append(batch, shards[batch], read(batch))
    trained = before.lists.trained_rows if before.lists else before.rows
    dead_rows = writer.rows - sum(part.rows for part in parts.values())
    if writer.rows - trained + dead_rows > REBUILT_PAST * trained:
        return None
    if before.lists is None:
        return _with_lists(folder, before.build, writer, parts, exact_below)
    index = _read_lists(folder, before, before.lists, is_mapped=False)
    import faiss

    for part in taken_out:
        index.remove_ids(faiss.IDSelectorRange(part.start, part.start + part.rows))
    vectors, _ = _mapped(_files(folder, before.build), writer.rows, writer.dimension)
    _add(index, vectors, before.rows, writer.rows)
    lists = _write_lists(folder, index, before.lists)
    return _committed(folder, before.build, writer, parts, lists, before.note)


def _with_lists(
    folder: Path, build: str, writer: "_RowWriter", parts: dict[str, _Part], exact_below: int
) -> CorpusIndex:
    """Train lists where there are many rows, try them, and commit."""
    if sum(part.rows for part in parts.values()) < exact_below:
        return _committed(folder, build, writer, parts, None, None)
    import faiss

    vectors, _ = _mapped(_files(folder, build), writer.rows, writer.dimension)
    live = np.concatenate([np.arange(part.start, part.start + part.rows) for part in parts.values()])
    live.sort()
    count = int(np.sqrt(len(live)))  # lists as long as there are lists: both are gone through
    quantizer: Any = faiss.IndexFlatIP(writer.dimension)
    index: Any = faiss.IndexIVFScalarQuantizer(
        quantizer, writer.dimension, count, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    index.cp.seed, index.cp.spherical = SEED, True
    generator = np.random.default_rng(SEED)
    sample = np.sort(generator.choice(live, min(len(live), TRAINED_ON * count), replace=False))
    with faiss_threads(1):  # sums in one order
        index.train(np.ascontiguousarray(vectors[sample]))
    for start, end in _runs([(part.start, part.start + part.rows) for part in _by_place(parts)]):
        _add(index, vectors, start, end)
    lists_read, recall = _trial(index, vectors, live)
    if lists_read is None:
        note = (
            f"{LISTS_READ[-1]} of {count} lists held {recall:.3f} of the true {TRIAL_DEPTH} nearest, less "
            f"than {MIN_RECALL}; every vector is compared"
        )
        return _committed(folder, build, writer, parts, None, note)
    draft = _Lists(
        file="lists-" + "0" * 16 + ".faiss",
        sha256="",
        trained_rows=len(live),
        lists_read=lists_read,
        recall=round(recall, 4),
    )
    return _committed(folder, build, writer, parts, _write_lists(folder, index, draft), None)


def _trial(index: Any, vectors: Vectors, live: Positions) -> tuple[int | None, float]:
    """Return how many lists must be read to find enough, None where no number does, and the share found.

    Queries are vectors of the index, moved by noise.
    """
    import faiss

    drawn = np.random.default_rng(SEED).choice(live, min(len(live), _BLOCK), replace=False)
    queries = trial_queries(np.asarray(vectors[np.sort(drawn)]), TRIAL_NOISE)
    depth = min(TRIAL_DEPTH, len(live))
    nearest = np.full((len(queries), depth), -np.inf, dtype=np.float32)
    for start in range(0, len(live), _BLOCK):
        block = np.ascontiguousarray(vectors[live[start : start + _BLOCK]])
        few = min(depth, len(block))
        scores = faiss.knn(queries, block, few, metric=faiss.METRIC_INNER_PRODUCT)[0]
        nearest = -np.sort(-np.hstack([nearest, scores]), axis=1)[:, :depth]
    recall = 0.0
    for lists_read in LISTS_READ:
        index.nprobe = lists_read
        candidates = index.search(queries, CANDIDATES * depth)[1]
        hits = [
            _best(row[row >= 0], _cosines(vectors[row[row >= 0]], query), depth)[1] >= worst - SAME_COSINE
            for row, query, worst in zip(candidates, queries, nearest[:, -1], strict=True)
        ]
        recall = sum(int(hit.sum()) for hit in hits) / nearest.size
        if recall >= MIN_RECALL:
            return lists_read, recall
    return None, recall


def _add(index: Any, vectors: Vectors, start: int, end: int) -> None:
    for first in range(start, end, _BLOCK):
        last = min(first + _BLOCK, end)
        index.add_with_ids(np.ascontiguousarray(vectors[first:last]), np.arange(first, last))


def _write_lists(folder: Path, index: Any, lists: _Lists) -> _Lists:
    """Write the lists under a name of their own, which no manifest has yet."""
    import faiss

    draft = folder / "lists.tmp"
    index.nprobe = lists.lists_read
    faiss.write_index(index, str(draft))
    digest = hash_file(draft)
    file = f"lists-{digest[:16]}.faiss"
    draft.replace(folder / file)
    return lists.model_copy(update={"file": file, "sha256": digest})


def _read_lists(folder: Path, manifest: Manifest, lists: _Lists, *, is_mapped: bool) -> Any:
    """Return the lists, ready to search; faiss reads no byte before the checksum holds."""
    import faiss

    file = folder / lists.file
    if not file.is_file() or hash_file(file) != lists.sha256:
        raise _damaged(folder, f"{file.name} is missing or altered: its checksum does not match")
    try:
        index = faiss.read_index(str(file), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY if is_mapped else 0)
    except RuntimeError as error:
        raise _damaged(folder, f"faiss cannot read {file.name}") from error
    rows = sum(part.rows for part in manifest.parts.values())
    if type(index) is not faiss.IndexIVFScalarQuantizer or (index.ntotal, index.d) != (
        rows,
        manifest.dimension,
    ):
        raise _damaged(folder, f"{file.name} is of other vectors")
    index.nprobe = lists.lists_read
    return index


def _committed(
    folder: Path,
    build: str,
    writer: "_RowWriter",
    parts: dict[str, _Part],
    lists: _Lists | None,
    note: str | None,
) -> CorpusIndex:
    """Write the manifest, which is the commit, and delete the files that no manifest names any more."""
    manifest = Manifest(
        origin=writer.origin or ("", "", ""),
        dimension=writer.dimension or 1,
        build=build,
        rows=writer.rows,
        parts=dict(sorted(parts.items())),
        lists=lists,
        note=note,
    )
    write_bytes(folder / _MANIFEST, manifest.model_dump_json().encode())
    current = {_MANIFEST, *(file.name for file in _files(folder, build)), *([lists.file] if lists else [])}
    for file in folder.iterdir():
        if file.name not in current and file.name.startswith(("lists", "vectors-", "ids-")):
            file.unlink()
    return CorpusIndex(folder)


class _RowWriter:
    """Vectors and chunk ids appended after the rows that a manifest counts; what lies beyond is cut off."""

    def __init__(
        self, folder: Path, build: str, rows: int, origin: tuple[str, str, str] | None, dimension: int
    ) -> None:
        self.rows, self.origin, self.dimension = rows, origin, dimension
        self._folder, self._files = folder, _files(folder, build)
        for file, size in zip(self._files, (4 * dimension, _ID_BYTES), strict=True):
            with file.open("ab") as opened:
                opened.truncate(rows * size)

    def append(self, batch: str, shard: str, embeddings: pl.DataFrame) -> _Part:
        """Append the rows of a batch.

        Raises:
            IndexMismatchError: its vectors are of another model, or a chunk id is too long.
        """
        part = _Part(hash=shard, start=self.rows, rows=embeddings.height)
        if embeddings.is_empty():
            return part
        lengths = embeddings["vector"].list.len().unique().to_list()
        origins = embeddings.select("model", "model_revision", "precision").unique().rows()
        self.origin, self.dimension = self.origin or origins[0], self.dimension or lengths[0]
        if origins != [self.origin] or lengths != [self.dimension]:
            raise IndexMismatchError(
                f"the vectors of batch {batch} are of {origins} with lengths {lengths}, and those before "
                f"of {self.origin} with length {self.dimension}; name one model in the settings, and run the "
                f"batches of the other again"
            )
        ids = [chunk_id.encode("ascii") for chunk_id in embeddings["chunk_id"]]
        if max(map(len, ids)) > _ID_BYTES:
            raise IndexMismatchError(f"a chunk id of batch {batch} is no hash; run the batch again")
        vectors = embeddings["vector"].list.to_array(self.dimension).to_numpy().astype("<f4")
        for file, content in zip(
            self._files, (vectors.tobytes(), np.array(ids, f"S{_ID_BYTES}").tobytes()), strict=True
        ):
            with file.open("ab") as opened:
                opened.write(content)
        self.rows += embeddings.height
        return part


def _files(folder: Path, build: str) -> tuple[Path, Path]:
    return folder / f"vectors-{build}.f32", folder / f"ids-{build}.txt"


def _mapped(files: tuple[Path, Path], rows: int, dimension: int) -> tuple[Vectors, npt.NDArray[np.bytes_]]:
    if not rows:  # an empty file cannot be mapped
        return np.zeros((0, dimension), dtype=np.float32), np.zeros(0, dtype=f"S{_ID_BYTES}")
    return (
        np.memmap(files[0], dtype="<f4", mode="r", shape=(rows, dimension)),
        np.memmap(files[1], dtype=f"S{_ID_BYTES}", mode="r", shape=(rows,)),
    )


def _read_manifest(folder: Path, *, is_damage_ignored: bool = False) -> Manifest | None:
    try:
        return Manifest.model_validate_json((folder / _MANIFEST).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        if is_damage_ignored:
            return None
        raise _damaged(folder, f"its {_MANIFEST} has {error.error_count()} faults") from error


def _by_place(parts: Mapping[str, _Part]) -> list[_Part]:
    return sorted((part for part in parts.values() if part.rows), key=lambda part: part.start)


def _runs(parts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges of rows that follow on each other."""
    runs: list[tuple[int, int]] = []
    for start, end in parts:
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs


def _nothing() -> tuple[Positions, Vectors]:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)


def _cosines(vectors: Vectors, query: Vectors) -> Vectors:
    """Return dot products, each by itself: the last bits of those of a BLAS hang on the number of rows."""
    return np.asarray(np.einsum("ij,j->i", vectors, query))


def _best(positions: Positions, cosines: Vectors, k: int) -> tuple[Positions, Vectors]:
    """Return the highest cosines, equal ones in the order of the rows."""
    order = np.lexsort((positions, -cosines))[:k]
    return positions[order], cosines[order]


def _damaged(folder: Path, what: str) -> _DamagedIndexError:
    return _DamagedIndexError(f"{folder} is no usable index of the corpus: {what}; delete it and run again")
