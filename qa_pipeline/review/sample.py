"""Rows drawn from an output folder for a person to read and label: worth training on, or not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.review.pair import pair_view
from qa_pipeline.review.queue import Filters, Queue
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.statistics import wilson_bounds
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.row_files import Limits, json_lines
from qa_pipeline.storage.tables import DOCUMENTS

LIMITS = Limits(max_bytes=50_000_000, max_rows=100_000)
CRITERION = "worth training on"
CATEGORIES: Mapping[str, str] = {
    "good": "would be trained on",
    "thin": "true, and teaches next to nothing",
    "bad": "should not be in the data",
}
_STRATA = ("language", "question_type", "batch", "document")
_PARTS = ("language", "question_type", "format", "batch")
"""Columns by which a report counts apart."""


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
    paths = pl.col("documents").list.first().replace_strict(queue.paths, default=None)
    chosen = rows.filter(*filters.conditions().values()).with_columns(document=paths)
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


def read_labels(files: Sequence[Path]) -> pl.DataFrame:
    """Read samples: part columns (text), `rating` (null where nobody labelled the row), and `why`.

    Raises:
        InputError: a file cannot be read, or is no sample.
    """
    columns = ("id", *_PARTS, "rating", "why")
    rows = []
    for file in files:
        for line in json_lines(file, LIMITS):
            row = line.value
            if not isinstance(row, dict) or row.get("criterion") != CRITERION:
                raise InputError(f"{file}, line {line.place}: no row that qa-pipeline sample drew")
            if row.get("rating") not in (None, *CATEGORIES):
                problem = f"rating {row['rating']!r} is none of {', '.join(CATEGORIES)}"
                raise InputError(f"{file}, line {line.place}: {problem}")
            rows.append({name: row.get(name) for name in columns})
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String))


def label_figures(labels: pl.DataFrame) -> dict[str, Any]:
    """Count the labels of all rows and of parts of them, with 95 % intervals (Wilson) of good and of bad.

    Returns:
        `unlabelled`, `parts` (all first: part, value, rows, counts and intervals) and `reasons` (rating, why,
        rows).
    """
    rated = labels.drop_nulls("rating")
    parts = [_counts("all", None, rated)]
    for part in _PARTS:
        groups = rated.partition_by(part, as_dict=True)
        parts += [_counts(part, value, groups[value,]) for (value,) in sorted(groups, key=str)]
    reasons = Counter(rated.drop_nulls("why").select("rating", "why").iter_rows())
    return {
        "unlabelled": labels.height - rated.height,
        "parts": parts,
        "reasons": [
            {"rating": rating, "why": why, "rows": count} for (rating, why), count in reasons.most_common()
        ],
    }


def _counts(part: str, value: str | None, rated: pl.DataFrame) -> dict[str, Any]:
    counts = {name: rated.filter(rating=name).height for name in CATEGORIES}
    bounds = {
        f"{name}_interval": list(wilson_bounds(counts[name], rated.height)) if rated.height else None
        for name in ("good", "bad")
    }
    return {"part": part, "value": value, "rows": rated.height, **counts, **bounds}
