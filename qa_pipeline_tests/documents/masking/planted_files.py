"""A batch with items of personal data in every place where a file can hold text, and a reader of outputs."""

import gzip
import io
import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline_tests.documents.masking.drawn import Draw
from qa_pipeline_tests.documents.masking.planted import KINDS, Planted, plant

Files = dict[str, str | bytes]
TOLD = "The boiler of unit {n} is drained at {n} bar, and {said} was told so."


def items(draw: Draw, *, held_out: bool = False, one_line: bool = True) -> list[Planted]:
    """An item of every kind in every known or held-out way."""
    every = [item for kind in KINDS for item in plant(draw, kind, held_out=held_out)]
    return [item for item in every if not (one_line and "\n" in item.written)]


def counted(found: Sequence[Planted], more: Sequence[Planted] = ()) -> dict[str, int]:
    return dict(Counter(item.kind for item in [*found, *more]))


def one_each(draw: Draw) -> list[Planted]:
    """An item of every kind in its first way."""
    return [plant(draw, kind, held_out=False)[0] for kind in KINDS]


def sentences(found: Sequence[Planted]) -> list[str]:
    return [TOLD.format(n=number + 2, said=item.said) for number, item in enumerate(found)]


def markdown(found: Sequence[Planted], title: Planted, origin: Planted, licence: Planted) -> str:
    head, row, code, link, entry, *rest = found
    body = "\n\n".join(sentences(rest))
    address = f"https://host.example/?mail={origin.written.replace('@', '%40')}"
    return (
        f"---\ntitle: Manual for {title.said}\nsource: {address}\nlicence: asked of {licence.said}\n---\n"
        f"# Boiler of {head.said}\n\nText [{link.said}](https://host.example/).\n\n"
        f"| Name | Number |\n|---|---|\n| Boiler | {row.said} |\n\n- first {entry.said}\n\n"
        f"```\nvalue {code.said}\n```\n\n## Filling\n\n{body}\n"
    )


def text_file(found: Sequence[Planted]) -> str:
    return "\n\n".join(sentences(found)) + "\n"


def lines_of(value: object) -> Iterator[str]:
    """Every text inside a value of a table or a JSON line, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from lines_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from lines_of(inner)
    elif isinstance(value, pl.Series):
        yield from lines_of(value.to_list())


def texts_of(path: Path) -> Iterator[str]:
    """All that a file says: its bytes, and what its format unpacks to."""
    content = path.read_bytes()
    yield content.decode("latin-1")
    yield content.decode("utf-8", "replace")
    if content.startswith(b"PAR1"):
        for row in pl.read_parquet(io.BytesIO(content)).iter_rows():
            yield from lines_of(row)
    elif content.startswith(b"SQLite format 3\0"):
        yield from _stored(path)
    elif path.suffix == ".jsonl":
        for line in content.decode().splitlines():
            yield from lines_of(json.loads(line))
    elif content.startswith(b"\x1f\x8b"):
        yield gzip.decompress(content).decode("utf-8", "replace")
    elif content.startswith(b"x\x9c"):
        yield zlib.decompress(content).decode("utf-8", "replace")


def _stored(path: Path) -> Iterator[str]:
    connection = sqlite3.connect(path)
    try:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in tables:
            rows: list[Any] = connection.execute(f"SELECT * FROM '{table}'").fetchall()
            yield from lines_of(rows)
    finally:
        connection.close()
