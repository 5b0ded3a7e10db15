"""Rows drawn at random from an output folder, to be read or rated."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.review.pair import pair_view
from qa_pipeline.review.queue import PAIR_COLUMNS, Filters, read_pairs
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import DOCUMENTS, VERDICTS

CRITERION = "worth training on"
CATEGORIES = ("good", "thin", "bad")
"""Worth training on; true but trivial; wrong."""
_RATING = ("rating", "annotator", "why")
"""Columns for people to fill."""
_STRATA = ("reason", "language", "question_type", "batch", "document")


def sample_rows(
    layout: Layout, count: int, filters: Filters, document: str = "", seed: str = "0"
) -> list[dict[str, Any]]:
    """Draw rows with their evidence and empty columns for ratings, spread over `_STRATA`.

    The draw is systematic: rows are ordered by stratum, at random within each, and every k-th is taken. So
    each row is equally likely (Cochran, "Sampling Techniques", 1977, chapter 8). With `document`, only rows
    with evidence in the document at this path are drawn.

    Raises:
        InputError: the filters match no row, or the tables of a batch cannot be read.
    """
    batches = [filters.batch] if filters.batch else [path.stem for path in layout.tables(VERDICTS.name)]
    conditions = [*filters.conditions().values()]
    if document:
        conditions.append(pl.col("documents").list.first() == document)
    rating = {"criterion": CRITERION, "categories": [*CATEGORIES], **dict.fromkeys(_RATING)}
    drawn = _draw(layout, batches, conditions, count, seed)
    if not drawn:
        raise InputError(f"{layout.out} has no row that matches; qa-pipeline status lists its contents")
    return [{**row, **rating} for row in drawn]


def draw_rows(
    layout: Layout, batches: Sequence[str], count: int, verdicts: Sequence[str], *, known: bool = False
) -> list[dict[str, Any]]:
    """Draw rows of some batches that have one of the verdicts: generated or known-answer pairs."""
    listed = Filters("known" if known else "all").conditions()
    return _draw(layout, batches, [*listed.values(), pl.col("verdict").is_in(verdicts)], count, "0")


def _draw(
    layout: Layout, batches: Sequence[str], conditions: list[pl.Expr], count: int, seed: str
) -> list[dict[str, Any]]:
    """Draw rows of the batches that meet all conditions."""
    frames = [PAIR_COLUMNS.to_frame()]
    for batch in batches:
        rows, problem = read_pairs(layout, batch, seed)
        if problem:
            raise InputError(problem)
        frames.append(rows.filter(*conditions))
    matching = pl.concat(frames).with_columns(document=pl.col("documents").list.first())
    ordered = matching.sort(*_STRATA, "lot", nulls_last=True)
    tables = StoredTables(layout)
    return [_sample_row(tables, row) for row in every_kth(ordered, count, seed).iter_rows(named=True)]


def every_kth(rows: pl.DataFrame, count: int, seed: str) -> pl.DataFrame:
    """Return rows at equal distances from a random start."""
    if count >= rows.height:
        return rows
    start = int(hash_parts(seed, "start")[:12], 16) / 16**12  # 0 to 1
    return rows[[int((index + start) * rows.height / count) for index in range(count)]]


def _sample_row(tables: StoredTables, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pair with its proved claims, and the document of its first evidence or best passage."""
    view = pair_view(tables, row["batch"], row["pair_id"])
    documents = tables.frame(DOCUMENTS, row["batch"])
    statements = [
        {
            "text": claim.text,
            "document": claim.evidence.path,
            "section": claim.evidence.section,
            "page": claim.evidence.page,
            "quote": claim.evidence.text,
        }
        for claim in view.claims
        if claim.evidence
    ]
    path = row["document"] or next((path for _, path, _ in view.passages), None)
    columns = ("batch", "language", "question_type", "verdict", "reason", "question", "answer")
    return {
        "id": row["pair_id"],
        **{name: row[name] for name in columns},
        "detail": view.verdict["detail"],
        "document": path,
        "format": documents.filter(path=path or "")["format"].first(),
        "statements": statements,
    }
