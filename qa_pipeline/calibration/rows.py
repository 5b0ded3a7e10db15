"""Labelled rows for calibration: read from files, with their claims and scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.labelled_files import Item, read_file
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.storage.hashes import hash_file, hash_parts
from qa_pipeline.verification.verify import Means, Statement, verify


@dataclass(frozen=True)
class LabelledFile:
    """A file of labelled rows (`labelled_files.ITEMS`)."""

    path: Path
    sha256: str
    items: pl.DataFrame


@dataclass(frozen=True)
class LabelledRows:
    """Scored rows (group as a number, label and pair_id, in random order) and the table of their claims."""

    rows: pl.DataFrame
    claims: pl.DataFrame


def read_all_rows(path: Path) -> LabelledFile:
    """Read a labelled file, whose rows may also be premises and hypotheses, and refuse unusable rows.

    Raises:
        InputError: the file or a row of it cannot be used.
    """
    read = read_file(path, Item)
    if not read.left_out.is_empty():
        row = read.left_out.row(0, named=True)
        raise InputError(f"{path}, row {row['first_row']}: {row['detail']}; correct or remove such rows")
    return LabelledFile(path, hash_file(path), read.items)


def score_rows(resources: Resources, files: Sequence[LabelledFile]) -> LabelledRows:
    """Add the claims of each row with all local scores; rows of equal texts share them."""
    items = pl.concat(
        [
            file.items.with_columns(file=pl.lit(f"{index} {file.path.name}"))
            for index, file in enumerate(files)
        ]
    )
    texts = items.select("answer", "context", "language", "question").iter_rows()
    statements = [
        Statement(answer, tuple(context), language, question or "")
        for answer, context, language, question in texts
    ]
    means = Means(resources.settings.verification, resources.embedder, resources.entailment)
    keys = items.select("file", "group_id", "id").iter_rows()
    order = [hash_parts("row", *key, str(index)) for index, key in enumerate(keys)]
    rows = items.select(
        group=pl.struct("file", "group_id").rank("dense").cast(pl.Int64()),
        label=pl.col("label") == 1,
        pair_id=pl.Series([statement.statement_id for statement in statements]),
        order=pl.Series(order),
    )
    return LabelledRows(rows.sort("order").drop("order"), verify(statements, means).claims)
