"""Rows drawn from an output folder for a person to read and label: worth training on, or not."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.review.pair import pair_view
from qa_pipeline.review.queue import Filters, Queue
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import DOCUMENTS

CRITERION = "worth training on"
CATEGORIES = ("good", "thin", "bad")
"""Would be trained on; true, and teaches next to nothing; should not be in the data."""
_STRATA = ("language", "question_type", "batch", "document")


def draw_rows(
    layout: Layout, count: int, filters: Filters, document: str | None = None, seed: str = "0"
) -> list[dict[str, Any]]:
    """Draw rows of an output folder with their evidence, spread over languages, types and documents.

    The draw is systematic: rows are ordered by stratum, by lot within each, and every k-th is taken from a
    start by lot. Each row is as likely as any other, so shares need no weights (Cochran, "Sampling
    Techniques", 1977, chapter 8).

    Args:
        layout: the output folder.
        count: rows to draw; all where there are fewer.
        filters: what narrows the rows down.
        document: path of the only document whose rows are drawn.
        seed: another one draws other rows.

    Returns:
        Rows with a place for rating, annotator and why, in the order of their strata.

    Raises:
        InputError: no row meets the filters, or the tables of a batch cannot be read.
    """
    queue = Queue(layout, seed)
    rows = queue.rows()
    if queue.problems:
        raise InputError("; ".join(queue.problems.values()))
    chosen = rows.filter(*filters.conditions().values())
    chosen = chosen.with_columns(document=pl.col("documents").list.first())
    if document is not None:
        chosen = chosen.filter(pl.col("document") == document)
    if not chosen.height:
        raise InputError(f"no row of {layout.out} meets the filters; qa-pipeline status shows what there is")
    drawn = every_kth(chosen.sort(*_STRATA, "lot", nulls_last=True), count, seed)
    tables = StoredTables(layout)
    return [_sample_row(tables, row) for row in drawn.iter_rows(named=True)]


def every_kth(rows: pl.DataFrame, count: int, seed: str) -> pl.DataFrame:
    """Return so many rows at equal distances from a start by lot."""
    if count >= rows.height:
        return rows
    start = int(hash_parts(seed, "start")[:12], 16) / 16**12
    return rows[[int((place + start) * rows.height / count) for place in range(count)]]


def _sample_row(tables: StoredTables, row: Mapping[str, Any]) -> dict[str, Any]:
    view = pair_view(tables, row["batch"], row["pair_id"])
    documents = tables.frame(DOCUMENTS, row["batch"])
    statements = [
        {
            "text": claim.text,
            "document": place.path,
            "section": place.section,
            "page": place.page,
            "quote": place.quote,
        }
        for claim in view.claims
        for place in claim.places
    ]
    columns = ("batch", "language", "question_type", "document", "verdict", "question", "answer")
    return {
        "id": row["pair_id"],
        **{name: row[name] for name in columns},
        "format": documents.filter(pl.col("path") == row["document"])["format"].first(),
        "statements": statements,
        "criterion": CRITERION,
        "categories": [*CATEGORIES],
        "rating": None,
        "annotator": None,
        "why": None,
    }
