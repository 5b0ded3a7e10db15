"""The sheet on which people rate rows of a report: a simple random sample, without verdicts and scores."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.reports.stored_report import read_report

STATEMENTS = "statements.parquet"
STATEMENT_COLUMNS = ("text", "document", "quote")
"""Columns of a statement that a rater sees."""
CATEGORIES = ("yes", "partly", "no")
"""Ratings that fit every criterion."""


def rating_sheet(
    report: Path, count: int, criterion: str, seed: int = 0, categories: Sequence[str] = CATEGORIES
) -> pl.DataFrame:
    """Draw rows of a report for people to rate, annotator and rating left open.

    Rows are drawn at random because no other choice calibrated a score with fewer ratings
    (docs/annotations.md). Verdicts and scores are left out: who sees them agrees with them too readily
    (Tversky and Kahneman 1974).

    Args:
        report: folder that `eval run` wrote.
        count: rows to draw; a larger sheet with the same seed begins with the rows of a smaller one.
        criterion: what is to be rated.
        seed: of the draw.
        categories: the ratings there may be, which the review app offers.

    Raises:
        InputError: the report cannot be read.
    """
    rows = read_report(report, ("query", "answer")).rows
    drawn = rows.sample(fraction=1, shuffle=True, seed=seed).head(count)
    path = report / STATEMENTS
    try:
        statements = pl.read_parquet(path, columns=["id", "position", *STATEMENT_COLUMNS])
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read; write the report again with eval run") from error
    by_row = statements.sort("position").group_by("id").agg(statements=pl.struct(STATEMENT_COLUMNS))
    empty = pl.lit(None, pl.String())
    return drawn.join(by_row, on="id", how="left", maintain_order="left").select(
        *("id", "group", "query", "answer", "statements"),
        criterion=pl.lit(criterion),
        categories=pl.lit(list(categories)),
        annotator=empty,
        rating=empty,
    )
