"""Compare two releases row by row."""

from pathlib import Path

import polars as pl

from qa_pipeline.errors import ReleaseError
from qa_pipeline.publishing.manifest import LEFT_OUT, load_release, read_manifest
from qa_pipeline.storage.parquet import readable


def compare_releases(before: Path, after: Path) -> pl.DataFrame:
    """Return the rows that were added, removed or moved between splits, sorted by change, batch and id.

    An id hashes question, passages and answer. So a changed answer appears as a removed and an added row.
    `reason` explains why the later release leaves a row out; it is null if the row is not accepted now.

    Raises:
        ReleaseError: a release is incomplete.
    """
    both = _rows(before).join(_rows(after), on="pair_id", how="full", suffix="_after", coalesce=True)
    if not (after / LEFT_OUT).is_file():
        raise ReleaseError(f"{after / LEFT_OUT} is missing; restore the release from a copy")
    left_out = pl.read_parquet(readable(after / LEFT_OUT)).select("pair_id", "reason")
    split_before, split_after = pl.col("split"), pl.col("split_after")
    return (
        both.join(left_out, on="pair_id", how="left")
        .select(
            "pair_id",
            batch=pl.coalesce("batch_after", "batch"),
            change=pl.when(split_before.is_null()).then(pl.lit("came"))
            .when(split_after.is_null()).then(pl.lit("went"))
            .when(split_before != split_after).then(pl.lit("moved")),
            split_before=split_before,
            split_after=split_after,
            reason="reason",
            question=pl.coalesce("question_after", "question"),
        )
        .drop_nulls("change")
        .sort("change", "batch", "pair_id")
    )  # fmt: skip


def _rows(folder: Path) -> pl.DataFrame:
    columns = ("pair_id", "batch", "question")
    splits = read_manifest(folder).splits
    rows = (load_release(folder, name).select(*columns, split=pl.lit(name)) for name in splits)
    return pl.concat(rows).collect()
