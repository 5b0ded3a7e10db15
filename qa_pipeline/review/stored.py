"""Tables of an output folder in memory, read again when their files change."""

import functools
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock

import polars as pl

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.errors import InputError
from qa_pipeline.storage.files import Version, version_of
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.table_schema import Table

_MOST_TABLES = 24
"""Tables in memory, enough for two batches."""


class StoredTables:
    """The current tables of an output folder."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._frames: OrderedDict[Path, tuple[Version, pl.DataFrame]] = OrderedDict()
        self._lock = Lock()

    def frame(self, table: Table, batch: str) -> pl.DataFrame:
        """Return a table of a batch, or raise InputError if it is missing."""
        path = self.layout.table(table.name, batch)
        if not path.is_file():
            raise InputError(f"{self.layout.out} has no table {table.name} of a batch {batch[:40]!r}")
        return self._remembered(path, functools.partial(read_table, table=table))

    def optional(self, table: Table, batch: str) -> pl.DataFrame:
        """Return a table of a batch, empty if it is missing."""
        return self.frame(table, batch) if self.layout.table(table.name, batch).is_file() else table.empty()

    def decisions(self, batch: str) -> pl.DataFrame:
        """Return the recorded decisions of a batch."""
        return self._remembered(self.layout.decisions(batch), read_decisions)

    def _remembered(self, path: Path, read: Callable[[Path], pl.DataFrame]) -> pl.DataFrame:
        """Return the content of a file, read again if it has changed."""
        version = version_of(path)
        with self._lock:
            entry = self._frames.get(path)
            if entry is not None and entry[0] == version:
                self._frames.move_to_end(path)
                return entry[1]
        frame = read(path)
        with self._lock:
            self._frames[path] = (version or (0, 0), frame)
            while len(self._frames) > _MOST_TABLES:
                self._frames.popitem(last=False)
        return frame
