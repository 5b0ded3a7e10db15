"""Find duplicate pairs of a batch, and different answers to the same question."""

import polars as pl

from qa_pipeline.generation.deduplication import normalised

DUPLICATE, NEAR_DUPLICATE = "duplicate", "near_duplicate"
ALTERNATIVE = "alternative"
"""Reason code: another draft for the same question is better. It can serve in preference training."""


def find_duplicates(candidates: pl.DataFrame, twins: pl.DataFrame) -> pl.DataFrame:
    """Find duplicates. The best pair of each group of twins is kept.

    Candidates have pair_id and composite (null without a judge's scores). A candidate without a row in the
    result of `find_twins` is unique.

    Returns:
        pair_id, duplicate_of (the kept pair) and repeated (a reason code), a row for each duplicate.
    """
    groups = twins.select("pair_id", "exact_group", "near_group")
    grouped = candidates.select("pair_id", "composite").join(groups, on="pair_id", how="left")
    grouped = grouped.with_columns(pl.col("exact_group", "near_group").fill_null(pl.col("pair_id")))
    equal = pl.col("exact_group") == pl.col("exact_group").first().over("near_group")
    reason = pl.when(equal).then(pl.lit(DUPLICATE)).otherwise(pl.lit(NEAR_DUPLICATE))
    return _repeats(grouped, "near_group", reason)


def find_alternatives(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find all drafts for a question except the best. If scores are equal, the earlier draft is better.

    Candidates and result have the columns of `find_duplicates`; candidates have question_id and draft too.
    """
    return _repeats(candidates.drop_nulls("question_id"), "question_id", pl.lit(ALTERNATIVE), "draft")


def _repeats(candidates: pl.DataFrame, key: str, reason: pl.Expr, *tie_breakers: str) -> pl.DataFrame:
    """Return all but the best row of each key. The result does not depend on the row order."""
    order = ["composite", *tie_breakers, "pair_id"]
    best_first = candidates.sort(order, descending=[True, *[False] * (len(order) - 1)], nulls_last=True)
    marked = best_first.with_columns(duplicate_of=pl.col("pair_id").first().over(key), repeated=reason)
    repeats = marked.filter(pl.col("pair_id") != pl.col("duplicate_of"))
    return repeats.select("pair_id", "duplicate_of", "repeated").sort("pair_id")


def find_conflicts(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find pairs whose question has a different answer in another pair, among pairs without duplicates.

    Returns:
        pair_id and answers, the number of different answers to its question (2 or more).
    """
    return (
        candidates.select("pair_id", _key("question"), _key("answer"))
        .with_columns(pl.col("answer").n_unique().over("question").alias("answers"))
        .filter(pl.col("answers") > 1)
        .select("pair_id", "answers")
        .sort("pair_id")
    )


def _key(name: str) -> pl.Expr:
    return normalised(pl.col(name)).alias(name)
