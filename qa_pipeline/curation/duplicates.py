"""Find duplicate pairs of a batch, and different answers to the same question."""

import polars as pl

from qa_pipeline.generation.deduplication import normalised

DUPLICATE, NEAR_DUPLICATE = "duplicate", "near_duplicate"
ALTERNATIVE, SAME_WORDING = "alternative", "same_wording"
"""Reason codes: another draft for the same question is better, or enough other pairs differ only in numbers.
An alternative can serve as the worse answer in preference training."""


def find_duplicates(candidates: pl.DataFrame, twins: pl.DataFrame) -> pl.DataFrame:
    """Find duplicates. The best pair of each group of twins is kept.

    Candidates have pair_id and composite (null without a judge's scores). `twins` has the group of equal
    texts (exact_group) and of equal terms (near_group) of pairs; equal texts share a near_group, too.
    A candidate without a row there is unique.

    Returns:
        pair_id, duplicate_of (the kept pair) and repeat_reason (a code), a row for each duplicate.
    """
    grouped = candidates.select("pair_id", "composite").join(twins, on="pair_id", how="left")
    grouped = grouped.with_columns(pl.col("exact_group", "near_group").fill_null(pl.col("pair_id")))
    # evaluated by `_repeats` over rows with the best first, so the first of a near group is the kept pair
    equals_kept = pl.col("exact_group") == pl.col("exact_group").first().over("near_group")
    reason = pl.when(equals_kept).then(pl.lit(DUPLICATE)).otherwise(pl.lit(NEAR_DUPLICATE))
    return _repeats(grouped, ["near_group"], reason)


def find_alternatives(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find all drafts for a question except the best. If scores are equal, the earlier draft is better.

    Candidates and result have the columns of `find_duplicates`; candidates have question_id and draft too.
    """
    return _repeats(candidates.drop_nulls("question_id"), ["question_id"], pl.lit(ALTERNATIVE), "draft")


MOST_OF_ONE_WORDING = 10
"""Maximum number of generated rows whose questions and answers differ only in numbers. More rows of the same
form add little and would outweigh the rest of the batch."""


def find_same_wording(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find generated pairs that differ only in numbers from `MOST_OF_ONE_WORDING` better pairs.

    Candidates are pairs without duplicates, with question_id, question and answer. The result has the columns
    of `find_duplicates`.
    """
    wording = (_normalised(name).str.replace_all(r"\d+", "0") for name in ("question", "answer"))
    worded = candidates.drop_nulls("question_id").with_columns(wording)  # imported pairs lack the id
    return _repeats(worded, ["question", "answer"], pl.lit(SAME_WORDING), keep=MOST_OF_ONE_WORDING)


def _repeats(
    candidates: pl.DataFrame, key: list[str], reason: pl.Expr, *tie_breakers: str, keep: int = 1
) -> pl.DataFrame:
    """Return pair_id, duplicate_of and repeat_reason of all but the best `keep` rows of each `key`.

    The best row has the highest composite, then the lowest tie breakers and pair_id. `reason`, such as
    `pl.lit("alternative")`, is evaluated over rows with the best first.
    """
    order = ["composite", *tie_breakers, "pair_id"]
    is_descending = [name == "composite" for name in order]
    best_first = candidates.sort(order, descending=is_descending, nulls_last=True)
    best_pair_id = pl.col("pair_id").first().over(key)
    rank = pl.int_range(pl.len()).over(key)  # 0 for the best of the rows with equal values
    ranked = best_first.with_columns(duplicate_of=best_pair_id, repeat_reason=reason, rank=rank)
    repeats = ranked.filter(pl.col("rank") >= keep)
    return repeats.select("pair_id", "duplicate_of", "repeat_reason").sort("pair_id")


def find_conflicts(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find pairs whose question has a different answer in another pair, among pairs without duplicates.

    Returns:
        pair_id and answers, the number of different answers to its question (2 or more).
    """
    return (
        candidates.select("pair_id", _normalised("question"), _normalised("answer"))
        .with_columns(pl.col("answer").n_unique().over("question").alias("answers"))
        .filter(pl.col("answers") > 1)
        .select("pair_id", "answers")
        .sort("pair_id")
    )


def _normalised(name: str) -> pl.Expr:
    return normalised(pl.col(name)).alias(name)
