"""Read and write Parquet files with a schema version, as a whole or by row group."""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import polars as pl

from qa_pipeline.errors import TableError, TableVersionError
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import SCHEMA_VERSION


def write_table(path: Path, frame: pl.DataFrame, table: Table) -> None:
    """Write a frame as Parquet, with table name and schema version; raises a TableError or StorageError."""
    write_bytes(path, table_bytes(frame, table))


def table_bytes(frame: pl.DataFrame, table: Table) -> bytes:
    """Return the Parquet file of a table, equal for equal frames; raises a TableError for a wrong schema."""
    return _parquet(table.conform(frame), {"table": table.name, "schema_version": str(SCHEMA_VERSION)})


def read_table(path: Path, table: Table, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a table and check its schema; with `columns` read only these, without checking their schema.

    Raises a TableError if the file is missing, damaged, of another table or version, or of a wrong schema.
    """
    try:
        with path.open("rb") as file:  # keeps the same file, even if a writer replaces it
            _check_origin(path, pl.read_parquet_metadata(file), table)
            file.seek(0)
            frame = pl.read_parquet(file, columns=list(columns) if columns else None)
    except FileNotFoundError as error:
        raise TableError(f"{path} does not exist; run its batch first (qa-pipeline run)") from error
    except OSError as error:
        raise TableError(f"cannot read {path}: {error.strerror or error}") from error
    except pl.exceptions.PolarsError as error:
        raise TableError(f"{path} is not a readable Parquet file; delete it and rerun its step") from error
    if columns:
        return frame
    try:
        return table.conform(frame)
    except TableError as error:
        raise TableError(f"{path}: {error}; delete it and run its step again") from error


def read_earlier(path: Path, table: Table) -> pl.DataFrame | None:
    """Read a table of an earlier run; None if it is missing or has another schema version.

    An earlier table only saves work. Without it, its content is computed again or read from stored replies.
    Raises a TableError if the file is damaged, of another table, or of a wrong schema.
    """
    try:
        return read_table(path, table) if path.is_file() else None
    except TableVersionError:
        return None


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Write any frame as Parquet, without a table name; raises a StorageError."""
    write_bytes(path, _parquet(frame, {}))


ROW_GROUP = 2000
"""Number of rows in each row group except the last. Filtering readers skip row groups by their statistics."""


@contextmanager
def appended_parquet(path: Path, schema: pl.Schema) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Open a new Parquet file and yield a function that appends frames; raises OSError.

    About one row group is in memory at a time.
    """
    import pyarrow.parquet as pq

    arrow_schema = schema.to_frame().to_arrow().schema
    buffered: list[pl.DataFrame] = []
    with pq.ParquetWriter(path, arrow_schema, compression="zstd") as writer:

        def flush() -> None:
            if buffered:
                writer.write_table(pl.concat(buffered).to_arrow().cast(arrow_schema))
                buffered.clear()

        def append(frame: pl.DataFrame) -> None:
            if frame.height:
                buffered.append(frame.select(schema.names()).cast(schema))
            if sum(each.height for each in buffered) >= ROW_GROUP:
                flush()

        yield append
        flush()


def row_groups(path: Path, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
    """Yield the row groups of a Parquet file, with only one in memory at a time.

    Scans and `iter_batches` read ahead and need more memory.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(readable(path)) as opened:
        for number in range(opened.num_row_groups):
            yield pl.DataFrame(pl.from_arrow(opened.read_row_group(number, columns=columns)))


def readable(path: Path) -> Path | IO[bytes]:
    """Return a local path, or an open file on an object store, for libraries without object store support."""
    return path if isinstance(path, Path) else path.open("rb")


def frame_hash(frame: pl.DataFrame) -> str:
    """Hash column names, types, values and row order. The hash is the data version of a table.

    It is independent of the memory layout of a frame, but may change with the release of polars.
    """
    return hashlib.sha256(_parquet(frame, {})).hexdigest()


def _parquet(frame: pl.DataFrame, metadata: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    # rechunk, because the pages of the file otherwise follow the frame's memory chunks
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=True, metadata=metadata)
    return buffer.getvalue()


def _check_origin(path: Path, metadata: dict[str, str], table: Table) -> None:
    """Check the table and schema version of a file; raises a TableError or TableVersionError."""
    name, version = metadata.get("table"), metadata.get("schema_version")
    if name != table.name:
        raise TableError(f"{path} contains table {name or '(unnamed)'}, expected {table.name}")
    if version != str(SCHEMA_VERSION):
        raise TableVersionError(
            f"{path} has schema version {version}, but this version reads {SCHEMA_VERSION}; "
            f"run its batch again (qa-pipeline run)"
        )
