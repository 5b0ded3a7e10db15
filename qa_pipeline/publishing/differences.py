"""What tells two releases apart, row by row: added, retired with the reason, moved between splits."""

from pathlib import Path

import polars as pl

from qa_pipeline.publishing.manifest import DATA, LEFT_OUT, Manifest, read_manifest
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table, readable, scan_rows
from qa_pipeline.storage.tables import VERDICTS
from qa_pipeline.text.rendering import render_markdown

DIFFERENCES = pl.Schema(
    dict.fromkeys(
        ("pair_id", "batch", "change", "split_before", "split_after", "reason", "question"), pl.String()
    )
)
MOST_ROWS = 200
"""Rows on the page, as many as a person may still look through; all are counted, and in the table."""
NOT_ACCEPTED, BATCH_LEFT_OUT, NOT_MADE = "no_longer_accepted", "batch_left_out", "no_longer_made"


def compare_releases(before: Path, after: Path) -> pl.DataFrame:
    """Return the rows of which two releases say different things: DIFFERENCES, by change, batch and id.

    A row is its id, which hashes question, passages and answer: an answer that changed is one row retired and
    another added. A row is retired for what the later release says of it in `left_out`, since its batch was
    left out, or since it is not accepted any more.

    Raises:
        ReleaseError: one of them is no whole release.
    """
    first, second = read_manifest(before), read_manifest(after)
    old, new = _rows(before, first), _rows(after, second)
    left_out = pl.read_parquet(readable(after / LEFT_OUT)).select("pair_id", "reason")
    both = old.join(new, on="pair_id", how="full", suffix="_after", coalesce=True)
    both = both.join(left_out, on="pair_id", how="left")
    before_split, after_split = pl.col("split"), pl.col("split_after")
    batch = pl.coalesce("batch_after", "batch")
    is_left_out = batch.is_in(list(second.batches_left_out))
    why = (
        pl.when(is_left_out).then(pl.lit(BATCH_LEFT_OUT)).otherwise(pl.col("reason").fill_null(NOT_ACCEPTED))
    )
    changes = both.select(
        "pair_id",
        batch=batch,
        change=pl.when(before_split.is_null()).then(pl.lit("added"))
        .when(after_split.is_null()).then(pl.lit("retired"))
        .when(before_split != after_split).then(pl.lit("moved")),
        split_before="split",
        split_after="split_after",
        reason=pl.when(after_split.is_null()).then(why),
        question=pl.coalesce("question_after", "question"),
    )  # fmt: skip
    return changes.drop_nulls("change").sort("change", "batch", "pair_id").cast(DIFFERENCES)


def with_verdicts(rows: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Return the rows with their present verdict for a reason, where they are no longer accepted.

    Args:
        rows: as `compare_releases` gives them.
        layout: the output folder that the releases were made from. A pair that its batch does not make any
            more is `NOT_MADE`; of a batch without verdicts nothing more is known.

    Raises:
        TableError: verdicts of a batch cannot be read.
    """
    lost = rows.filter(pl.col("reason") == NOT_ACCEPTED)
    ledgers = [
        read_table(path, VERDICTS).select(
            "pair_id", "batch", now=pl.concat_str("verdict", "reason", separator=": ", ignore_nulls=True)
        )
        for batch in sorted(set(lost["batch"]))
        if (path := layout.table(VERDICTS.name, batch)).is_file()
    ]
    if not ledgers:
        return rows
    verdicts = pl.concat(ledgers)
    is_decided = pl.col("batch").is_in(verdicts["batch"].unique().implode())
    now = pl.when(is_decided).then(pl.col("now").fill_null(NOT_MADE)).otherwise("reason")
    return (
        rows.join(verdicts.drop("batch"), on="pair_id", how="left", maintain_order="left")
        .with_columns(reason=pl.when(pl.col("reason") == NOT_ACCEPTED).then(now).otherwise("reason"))
        .drop("now")
    )


def differences_page(rows: pl.DataFrame, before: str, after: str) -> str:
    """Return the differences as Markdown: counts, and the first `MOST_ROWS` rows.

    Args:
        rows: as `compare_releases` gives them.
        before: name of the first release.
        after: of the second.
    """
    keys = ("change", "batch", "reason")
    first = rows.head(MOST_ROWS)
    return render_markdown(
        "publishing/differences.md.j2",
        before=before,
        after=after,
        counts=rows.group_by(keys).agg(rows=pl.len()).sort(keys).to_dicts(),
        rows=first.to_dicts(),
        more=rows.height - first.height,
    )


def _rows(folder: Path, manifest: Manifest) -> pl.DataFrame:
    parts = [
        scan_rows(folder / DATA / f"{name}.parquet").select(
            "pair_id", "batch", "question", split=pl.lit(name)
        )
        for name in manifest.splits
    ]
    return pl.concat(parts).collect()
