"""The files of a format, written batch by batch."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import polars as pl

from qa_pipeline.curation.exports import json_lines
from qa_pipeline.publishing.formats import FORMATS, File, Tables


class FormatFiles:
    """The files of a format, open while batches are added; every split has its files, without rows too.

    Nothing is held of the rows that were added, but for the ids of a file whose rows stand in it once.

    Args:
        folder: where the format's folder is made.
        name: of the format.
        splits: of the release.
        layout: closed_book, with_context or with_distractors, for formats with messages.
    """

    def __init__(self, folder: Path, name: str, splits: Iterable[str], layout: str) -> None:
        self.rows: dict[str, int] = {}
        """Rows written to each file, by its name below the format's folder; for SQuAD documents."""
        self._format, self._layout, self._splits = FORMATS[name], layout, tuple(splits)
        self._folder = folder / name
        self._opened = ExitStack()
        self._files: dict[str, BinaryIO] = {}
        self._written: set[str] = set()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            for file in self._format.files:
                for name in self._names(file):
                    path = self._folder / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    self._files[name] = opened.enter_context(path.open("xb"))
                    self._files[name].write(file.head)
                    self.rows[name] = 0
            self._opened = opened.pop_all()
        return self

    def add(self, batch: str, tables: Tables, released: pl.DataFrame) -> None:
        """Write the rows of a batch after those of the batches before.

        Args:
            batch: its name.
            tables: all its tables by name.
            released: its released rows: the columns of TRAINING_EXAMPLES, documents, licences, version and
                split.
        """
        del batch  # the rows name it
        if released.is_empty():  # else its chunks would be in a corpus of which no query asks
            return
        frames = self._format.rows(tables, released, self._layout)
        for file, frame in zip(self._format.files, frames, strict=True):
            if "{split}" not in file.name:
                self._write(file, file.name, self._unwritten(frame) if file.once else frame)
                continue
            for split in self._splits:
                rows = frame.filter(pl.col("split") == split).drop("split")
                self._write(file, file.name.format(split=split), rows)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._opened:
            if kind is None:
                for file in self._format.files:
                    for name in self._names(file):
                        self._files[name].write(file.tail)
                        self._files[name].flush()
                        os.fsync(self._files[name].fileno())

    def _names(self, file: File) -> list[str]:
        if "{split}" not in file.name:
            return [file.name]
        return [file.name.format(split=split) for split in self._splits]

    def _write(self, file: File, name: str, rows: pl.DataFrame) -> None:
        blocks = _tab_separated(rows) if name.endswith(".tsv") else json_lines(rows)
        for block in blocks:
            if file.between is None:
                self._files[name].write(block)
            else:
                if self.rows[name]:
                    self._files[name].write(file.between)
                self._files[name].write(block.removesuffix(b"\n").replace(b"\n", file.between))
            self.rows[name] += block.count(b"\n")

    def _unwritten(self, rows: pl.DataFrame) -> pl.DataFrame:
        ids = rows.to_series(0)
        new = rows.filter(
            pl.Series([document_id not in self._written for document_id in ids], dtype=pl.Boolean)
        )
        self._written.update(ids)
        return new


def _tab_separated(rows: pl.DataFrame) -> Iterator[bytes]:
    yield rows.write_csv(include_header=False, separator="\t", quote_style="never").encode()
