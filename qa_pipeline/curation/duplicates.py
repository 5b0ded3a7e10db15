"""Pairs of one batch that say the same, or answer the same question differently."""

import polars as pl

from qa_pipeline.generation.deduplication import normalised

DUPLICATE, NEAR_DUPLICATE = "duplicate", "near_duplicate"
ALTERNATIVE, SAME_WORDING = "alternative", "same_wording"
"""Another draft for the same question is better, a pair to learn preferences from; or enough others differ in
figures alone."""


def find_duplicates(candidates: pl.DataFrame, twins: pl.DataFrame) -> pl.DataFrame:
    """Find pairs that repeat a kept one: of twins the best is kept.

    Args:
        candidates: pair_id and composite (null where no judge scored).
        twins: as `find_twins` gives them; a candidate without a row has no twin.

    Returns:
        pair_id, duplicate_of and repeated (a reason code), one row for each pair that repeats a kept one.
    """
    groups = twins.select("pair_id", "exact_group", "near_group")
    grouped = candidates.select("pair_id", "composite").join(groups, on="pair_id", how="left")
    grouped = grouped.with_columns(pl.col("exact_group", "near_group").fill_null(pl.col("pair_id")))
    equal = pl.col("exact_group") == pl.col("exact_group").first().over("near_group")
    reason = pl.when(equal).then(pl.lit(DUPLICATE)).otherwise(pl.lit(NEAR_DUPLICATE))
    return _repeats(grouped, ["near_group"], reason)


def find_alternatives(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find drafts of one question beside the best of them: of equal scores the earlier.

    Args:
        candidates: pair_id, question_id, draft and composite (null where no judge scored).

    Returns:
        As `find_duplicates`.
    """
    return _repeats(candidates.drop_nulls("question_id"), ["question_id"], pl.lit(ALTERNATIVE), "draft")


MOST_OF_ONE_WORDING = 10
"""Generated rows whose questions and answers differ in figures alone: a form filled in teaches no more by
its hundredth row, and outweighs the rest of the batch."""


def find_same_wording(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find generated pairs beyond the best of those that differ in figures alone.

    Args:
        candidates: pair_id, question_id, question, answer and composite of pairs that are no duplicates.

    Returns:
        As `find_duplicates`.
    """
    wording = (_key(name).str.replace_all(r"\d+", "0") for name in ("question", "answer"))
    worded = candidates.drop_nulls("question_id").with_columns(wording)
    return _repeats(worded, ["question", "answer"], pl.lit(SAME_WORDING), kept=MOST_OF_ONE_WORDING)


def _repeats(
    candidates: pl.DataFrame, key: list[str], reason: pl.Expr, *ties: str, kept: int = 1
) -> pl.DataFrame:
    """Return the rows of each key after the best; the order of rows or runs never matters."""
    order = ["composite", *ties, "pair_id"]
    best_first = candidates.sort(order, descending=[True, *[False] * (len(order) - 1)], nulls_last=True)
    best = pl.col("pair_id").first().over(key)
    ranked = best_first.with_columns(
        duplicate_of=best, repeated=reason, rank=pl.int_range(pl.len()).over(key)
    )
    return ranked.filter(pl.col("rank") >= kept).select("pair_id", "duplicate_of", "repeated").sort("pair_id")


def find_conflicts(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find pairs whose question another pair answers in other words.

    Args:
        candidates: pair_id, question and answer of pairs that are no duplicates.

    Returns:
        pair_id and answers, the number of different answers its question has (2 or more).
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
