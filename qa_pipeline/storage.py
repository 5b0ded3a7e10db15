"""Local files that appear whole or not at all, and tables that know their own schema version."""

import errno
import fcntl
import hashlib
import io
import os
import unicodedata
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.errors import CorpusError, StorageError, TableError, TableVersionError
from qa_pipeline.table_schema import Table
from qa_pipeline.tables import SCHEMA_VERSION

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_IN_THE_WAY = {errno.EEXIST, errno.ENOTDIR}
_NO_RIGHT = {errno.EACCES, errno.EPERM, errno.EROFS}


def write_bytes(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step: readers see the old file or the new one, never a part.

    The bytes go to a hidden sibling, reach the disk, and take the name. A writer that is killed leaves
    the old file whole and at most one `.*.tmp` beside it, which no reader looks at.

    Raises:
        StorageError: the file could not be written; the old one is untouched.
    """
    # The name's own length is left out: a name at the file system's limit must still have a sibling.
    sibling = path.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_synced(sibling, content)
            sibling.replace(path)
        except BaseException:
            sibling.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise _failed(f"write {path}", error) from error


def move_file(source: Path, target: Path) -> None:
    """Move a file on the same disk in one step; one that does not exist is left out.

    Raises:
        StorageError: it could not be moved; it is where it was.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)
        for folder in (target.parent, source.parent):
            _sync_folder(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _failed(f"move {source}", error) from error


def prepare_folder(folder: Path) -> None:
    """Make a folder that can be written, before hours of work go towards it.

    Raises:
        StorageError: it cannot be made or written.
    """
    probe = folder / f".{uuid.uuid4().hex}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _failed(f"write to {folder}", error) from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time read and rewrite what lies in a folder.

    Raises:
        StorageError: it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise StorageError(f"cannot write to {folder}: {error.strerror or error}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def works_on(out: Path, *, alone: bool = False) -> Iterator[None]:
    """Hold an output folder while a command works on it: with others, or alone.

    Raises:
        StorageError: the folder cannot be opened, or another command works on it.
    """
    try:
        handle = os.open(out, os.O_RDONLY)
    except OSError as error:
        raise _failed(f"open {out}", error) from error
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise StorageError(f"another command works on {out}; run this one again when it has ended") from error
    finally:
        os.close(handle)


def write_table(path: Path, frame: pl.DataFrame, table: Table) -> None:
    """Write a conforming frame as Parquet, named and versioned in the file's metadata.

    Raises:
        TableError: the frame breaks the schema of `table`; nothing is written.
        StorageError: the file could not be written; the old one is untouched.
    """
    write_bytes(path, table_bytes(frame, table))


def table_bytes(frame: pl.DataFrame, table: Table) -> bytes:
    """Return the Parquet file of a conforming frame: equal frames give equal bytes."""
    metadata = {"table": table.name, "schema_version": str(SCHEMA_VERSION)}
    return _parquet(table.conform(frame), metadata)


def read_table(path: Path, table: Table) -> pl.DataFrame:
    """Read a table back and hold it to its schema.

    Raises:
        TableError: the file is missing, damaged, of another table or version, or breaks the schema.
    """
    try:
        # One read, so that metadata and rows are of the same file even while a writer replaces it.
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise TableError(f"{path} is not there; run the step that writes table {table.name}") from error
    except OSError as error:
        raise TableError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        metadata = pl.read_parquet_metadata(io.BytesIO(content))
        frame = pl.read_parquet(io.BytesIO(content))
    except pl.exceptions.PolarsError as error:
        raise TableError(
            f"{path} is not a readable Parquet file; delete it and run its step again"
        ) from error
    _check_origin(path, metadata, table)
    try:
        return table.conform(frame)
    except TableError as error:
        raise TableError(f"{path}: {error}; delete it and run its step again") from error


def read_earlier(path: Path, table: Table) -> pl.DataFrame | None:
    """Read what an earlier run left, None where it left nothing or an earlier release wrote it.

    An earlier table only saves work: what it holds is computed again, or found among the stored replies.

    Raises:
        TableError: the file is damaged, of another table, or breaks the schema.
    """
    try:
        return read_table(path, table) if path.is_file() else None
    except TableVersionError:
        return None


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Write a frame that is no table of the pipeline as Parquet; equal frames give equal bytes.

    Raises:
        StorageError: the file could not be written; the old one is untouched.
    """
    write_bytes(path, _parquet(frame, {}))


ROW_GROUP = 2000
"""Rows of a row group but for the last: a reader that filters leaves whole ones out by their statistics."""


@contextmanager
def appended_parquet(
    path: Path, schema: pl.Schema, group: int = ROW_GROUP
) -> Iterator[Callable[[pl.DataFrame], None]]:
    """A new Parquet file that frames are appended to; what is held are the rows of one row group.

    Raises:
        OSError: it cannot be written.
    """
    import pyarrow.parquet as pq

    arrow = schema.to_frame().to_arrow().schema
    waiting: list[pl.DataFrame] = []

    def flush() -> None:
        if waiting:
            writer.write_table(pl.concat(waiting).to_arrow().cast(arrow))
            waiting.clear()

    def append(frame: pl.DataFrame) -> None:
        if frame.height:
            waiting.append(frame.select(schema.names()).cast(schema))
        if sum(frame_waiting.height for frame_waiting in waiting) >= group:
            flush()

    with pq.ParquetWriter(path, arrow, compression="zstd") as writer:
        yield append
        flush()


def row_groups(path: Path, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
    """The row groups of a Parquet file, one in memory at a time; scans and iter_batches read ahead."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as opened:
        for number in range(opened.num_row_groups):
            yield pl.DataFrame(pl.from_arrow(opened.read_row_group(number, columns=columns)))


def frame_hash(frame: pl.DataFrame) -> str:
    """Hash column names, types, values and row order: the data version of a table.

    It does not depend on how a frame was put together (chunks, slices, bytes below nulls). Another
    release of polars may write other bytes; that costs a recomputation and is never wrong.
    """
    return hashlib.sha256(_parquet(frame, {})).hexdigest()


def _parquet(frame: pl.DataFrame, metadata: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    # Pages follow the frame's memory chunks unless it is made contiguous first.
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=True, metadata=metadata)
    return buffer.getvalue()


def _check_origin(path: Path, metadata: dict[str, str], table: Table) -> None:
    """Hold the file's own words about itself against what is wanted."""
    name, version = metadata.get("table"), metadata.get("schema_version")
    if name != table.name:
        raise TableError(f"{path} holds table {name or 'of no name'}, expected {table.name}")
    if version != str(SCHEMA_VERSION):
        raise TableVersionError(
            f"{path} has schema version {version}, this release reads {SCHEMA_VERSION}; "
            f"run the step that writes table {table.name} again"
        )


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _failed(what: str, error: OSError) -> StorageError:
    advice = "check that the folder exists and can be written, then run again"
    if error.errno in _NO_ROOM:
        advice = "free some space there or point `out` to another disk, then run again"
    if error.errno in _NO_RIGHT:
        advice = "give this user the right to write there or point `out` elsewhere, then run again"
    if error.errno in _IN_THE_WAY:
        advice = "a file is where a folder must be: move it, or point `out` elsewhere"
    return StorageError(f"cannot {what}: {error.strerror or error}; {advice}")


_LONGEST_NAME = 200
_FORBIDDEN = frozenset('/\\:*?"<>|,[]')


def check_batch_name(name: str) -> None:
    """Refuse a name that is no plain folder name on every system, or no partition key.

    Raises:
        CorpusError: with the rule that is broken.
    """
    problem = name_problem(name)
    if problem:
        raise CorpusError(refusal(name, problem))


def refusal(name: str, problem: str) -> str:
    """The message about a name that cannot be used."""
    return f"batch name {name!r} cannot be used: {problem}; rename the folder"


def name_problem(name: str) -> str | None:
    """The rule a name breaks; None for a name that can be used."""
    length = len(name.encode("utf-8", "surrogatepass"))
    rules = (
        (not name, "it is empty"),
        (length > _LONGEST_NAME, f"it is longer than {_LONGEST_NAME} bytes"),
        (name.startswith("."), "it starts with a dot"),
        (name.endswith(".") or "..." in name, "it ends with a dot or holds three in a row"),
        (name != name.strip(), "it starts or ends with a space"),
        (not name.isprintable(), "it holds control or invisible characters"),
        (not _FORBIDDEN.isdisjoint(name), f"it holds one of {' '.join(sorted(_FORBIDDEN))}"),
        (not unicodedata.is_normalized("NFC", name), "its accents are not composed (NFC)"),
    )
    return next((problem for broken, problem in rules if broken), None)


@dataclass(frozen=True, slots=True)
class Layout:
    """The output folder.

    Args:
        out: the folder.
        shared: the output folder whose stores of replies, vectors and logits are used; None for its own.
    """

    out: Path
    shared: Path | None = None

    def _of_batch(self, folder: Path, batch: str, suffix: str) -> Path:
        check_batch_name(batch)
        return folder / f"{batch}{suffix}"

    def table(self, name: str, batch: str) -> Path:
        """Parquet file of one table of one batch."""
        return self._of_batch(self.out / "tables" / name, batch, ".parquet")

    def tables(self, name: str) -> list[Path]:
        """The files of one table, of every batch that has it."""
        return sorted((self.out / "tables" / name).glob("*.parquet"))

    def index(self, batch: str) -> Path:
        """FAISS shard of one batch."""
        return self._of_batch(self.out / "indexes", batch, ".faiss")

    def export(self, name: str, batch: str) -> Path:
        """JSONL export of one batch."""
        return self._of_batch(self.out / "exports" / name, batch, ".jsonl")

    def deciding(self, thresholds_id: str) -> Path:
        """The settings that the verdicts of this id were decided by."""
        name = hashlib.sha256(thresholds_id.encode()).hexdigest()[:16]
        return self.out / "settings" / f"{name}.json"

    @property
    def exports_card(self) -> Path:
        """Dataset card of the exports folder."""
        return self.out / "exports" / "README.md"

    @property
    def withdrawals(self) -> Path:
        """What is moved aside, a folder a batch."""
        return self.out / "withdrawn"

    def tombstone(self, batch: str) -> Path:
        """Why and since when a batch is withdrawn; what was moved aside lies beside it."""
        return self._of_batch(self.withdrawals, batch, "") / "tombstone.json"

    @property
    def origins(self) -> Path:
        """Which corpus each batch was read from."""
        return self.out / "origins"

    def origin(self, batch: str) -> Path:
        """Location of the corpus that a batch was read from."""
        return self._of_batch(self.origins, batch, ".txt")

    def decisions(self, batch: str) -> Path:
        """What people decided about a batch: apart from the tables, which may be deleted and made anew."""
        return self._of_batch(self.out / "decisions", batch, ".jsonl")

    @property
    def forgotten(self) -> Path:
        """Hashes of the documents that must not come back, one JSON line each."""
        return self.out / "forgotten.jsonl"

    @property
    def forgetting(self) -> Path:
        """What is being forgotten, while it is: ids alone, so that a killed command can be finished."""
        return self.out / "forgetting.json"

    @property
    def releases(self) -> Path:
        """The published releases, a folder each, and the pointer to the latest."""
        return self.out / "releases"

    @property
    def monitoring(self) -> Path:
        """Scores of production, a file a day."""
        return self.out / "monitoring"

    @property
    def _cache(self) -> Path:
        return (self.shared or self.out) / "cache"

    @property
    def replies(self) -> Path:
        """Store of model replies."""
        return self._cache / "replies.sqlite"

    @property
    def findings(self) -> Path:
        """What the automation concluded about each batch; made anew when it is deleted."""
        return self.out / "cache" / "findings.json"

    @property
    def vectors(self) -> Path:
        """Store of chunk and sentence vectors."""
        return self._cache / "vectors.sqlite"

    @property
    def logits(self) -> Path:
        """Store of what models said that read a passage and a claim together."""
        return self._cache / "logits.sqlite"
