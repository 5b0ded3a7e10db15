"""Where Dagster puts tables and index shards: the layout of `layout.py`, locally or on an object store."""

from pathlib import Path
from typing import cast

import dagster as dg
import polars as pl
from upath import UPath

from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.retrieval.shard import Shard, dump_shard, load_shard_for
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.parquet import read_earlier, read_table, write_table
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import STORED


class ParquetTables(dg.UPathIOManager):
    """A Parquet file for each table and batch: `<base>/<table>/<batch>.parquet`."""

    extension = ".parquet"

    def dump_to_path(self, context: dg.OutputContext, obj: pl.DataFrame, path: UPath) -> None:
        """Check the frame by its table's schema and store it."""
        write_table(cast("Path", path), obj, _table(context))

    def load_from_path(self, context: dg.InputContext, path: UPath) -> pl.DataFrame:
        """Read a frame and hold it to its table's schema."""
        return _read(path, _table(context))

    def read(self, table: Table, batch: str) -> pl.DataFrame:
        """Return the table of a batch."""
        return _read(self._file(table, batch), table)

    def previous(self, table: Table, batch: str) -> pl.DataFrame | None:
        """Return the table as the last run of the batch left it; None without one that can be read.

        A step cannot declare its own output as an input, so it asks here.
        """
        return read_earlier(cast("Path", self._file(table, batch)), table)

    def _file(self, table: Table, batch: str) -> UPath:
        return self._base_path / table.name / f"{batch}{self.extension}"


class Shards(dg.UPathIOManager):
    """A file for each batch's index: `<base>/<batch>.faiss`, whatever the asset is called."""

    extension = ".faiss"

    def __init__(self, base_path: UPath, resources: Resources) -> None:
        super().__init__(base_path)
        self._parts = resources

    def get_asset_relative_path(self, context: dg.InputContext | dg.OutputContext) -> UPath:
        """Return the base itself: there is one index asset."""
        return UPath()

    def dump_to_path(self, context: dg.OutputContext, obj: Shard, path: UPath) -> None:
        """Store the shard."""
        write_bytes(cast("Path", path), dump_shard(obj))

    def load_from_path(self, context: dg.InputContext, path: UPath) -> Shard:
        """Read a shard and hold it to the embedding model of the settings."""
        return load_shard_for(self._parts.embedder, path.read_bytes(), str(path))


def _read(path: UPath, table: Table) -> pl.DataFrame:
    # A remote path is no pathlib.Path, but reads its bytes and names itself like one.
    return read_table(cast("Path", path), table)


def _table(context: dg.InputContext | dg.OutputContext) -> Table:
    return STORED[context.asset_key.path[-1]]
