"""Labelled files: read for benchmarks, and written for tests as short items about one heat pump."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.evaluation.labelled_files import (
    LIMITS,
    Item,
    Labelled,
    labelled_files,
    read_file,
)
from qa_pipeline.storage.row_files import Limits

Row = dict[str, Any]
CONTEXT = [
    "The pump was built in Lund. It weighs 42 kilograms.",
    "Service is due every second year. The pump is filled with water and glycol.",
]
CLAIMS = [
    ("The pump was built in Lund.", 1),
    ("It weighs 42 kilograms.", 1),
    ("Service is due every second year.", 1),
    ("The pump weighs 84 kilograms.", 0),
    ("Service is due every week and costs nothing at all.", 0),
    ("Penguins sail over quiet mountains.", 0),
]


def item(number: int, **changes: Any) -> Row:
    """One item; every second one is of another group."""
    answer, label = CLAIMS[number % len(CLAIMS)]
    return {
        "id": f"i{number}",
        "dataset": "pumps",
        "language": "en",
        "question": None,
        "context": CONTEXT,
        "answer": answer,
        "label": label,
        "group_id": f"g{number // 2}",
        **changes,
    }


def items(count: int = 12, **changes: Any) -> list[Row]:
    """The first items."""
    return [item(number, **changes) for number in range(count)]


def write_lines(path: Path, rows: list[Any]) -> Path:
    """A JSONL file; a text is written as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_parquet(path: Path, rows: list[Row], **columns: pl.Expr) -> Path:
    """A Parquet file, columns changed at will."""
    pl.DataFrame(rows, schema_overrides={"question": pl.String()}).with_columns(**columns).write_parquet(path)
    return path


def read_labelled(places: Sequence[Path], limits: Limits = LIMITS) -> Labelled:
    """Read labelled files, or the Parquet and JSONL files of folders.

    Args:
        places: files and folders.
        limits: bytes and rows of a file, bytes of a line.

    Raises:
        InputError: a file cannot be read as a whole, lacks a column or holds no item that can be used.
    """
    read = [read_file(path, Item, limits) for path in labelled_files(places)]
    return Labelled(pl.concat([file.items for file in read]), pl.concat([file.left_out for file in read]))
