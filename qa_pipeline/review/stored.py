"""Tables of an output folder in memory, read again when their files change."""

from functools import lru_cache
from pathlib import Path

import polars as pl

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.errors import InputError
from qa_pipeline.storage.files import Version, version_of
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import STORED

_MOST_TABLES = 24
"""Tables in memory, enough for two batches."""


class StoredTables:
    """The current tables of an output folder."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._read_cached = lru_cache(_MOST_TABLES)(self._read)

    def frame(self, table: Table, batch: str) -> pl.DataFrame:
        """Return a table of a batch, or raise InputError if it is missing."""
        path = self.layout.table(table.name, batch)
        if not path.is_file():
            raise InputError(f"{self.layout.out} has no table {table.name} of a batch {batch[:40]!r}")
        return self._read_cached(path, version_of(path), table.name)

    def optional(self, table: Table, batch: str) -> pl.DataFrame:
        """Return a table of a batch, empty if it is missing."""
        return self.frame(table, batch) if self.layout.table(table.name, batch).is_file() else table.empty()

    def decisions(self, batch: str) -> pl.DataFrame:
        """Return the recorded decisions of a batch."""
        path = self.layout.decisions(batch)
        return self._read_cached(path, version_of(path), None)

    def _read(self, path: Path, _version: Version | None, table: str | None) -> pl.DataFrame:
        """Read a table, or decisions; the version is part of the key of the cache."""
        return read_decisions(path) if table is None else read_table(path, STORED[table])
