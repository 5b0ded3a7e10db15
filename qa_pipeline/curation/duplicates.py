"""Pairs of one batch that say the same, or answer the same question differently.

What belongs here: comparing pairs by their normalised wording. What does not: similarity by meaning, other
batches (publishing), and what a verdict becomes of it (the ledger).
"""

import polars as pl

# Punctuation is dropped only at the edge of a word, where it carries no meaning: "C++", "-5", "1.5" and
# ".NET" stay what they are, so that different answers never look equal.
_OPENING = r"""(^|\s)["'“”„«»‚‘’(\[¿¡]+"""
_CLOSING = r"""["'“”„«»‚‘’,.;:!?…)\]]+(\s|$)"""


def normalised(text: pl.Expr) -> pl.Expr:
    """Fold Unicode form (NFKC), case, spacing and punctuation at word edges.

    Text of nothing but punctuation stays itself: it must not equal every other such text.
    """
    folded = text.str.normalize("NFKC").str.to_lowercase()
    folded = folded.str.replace_all(_OPENING, "$1").str.replace_all(_CLOSING, "$1")
    folded = folded.str.replace_all(r"\s+", " ").str.strip_chars()
    return pl.when(folded != "").then(folded).otherwise(text)


def find_duplicates(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find pairs whose question and answer another pair has too.

    The kept one is the one with the highest composite score, then the smallest pair_id: the order of rows
    or runs never matters.

    Args:
        candidates: pair_id, question, answer, composite (null where no judge scored).

    Returns:
        pair_id and duplicate_of, one row for each pair that repeats a kept one.
    """
    best_first = _keyed(candidates).sort(
        pl.col("composite"), pl.col("pair_id"), descending=[True, False], nulls_last=True
    )
    return (
        best_first.with_columns(
            pl.col("pair_id").first().over("question_key", "answer_key").alias("duplicate_of")
        )
        .filter(pl.col("pair_id") != pl.col("duplicate_of"))
        .select("pair_id", "duplicate_of")
        .sort("pair_id")
    )


def find_conflicts(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find pairs whose question another pair answers in other words.

    Args:
        candidates: pair_id, question, answer, composite; duplicates may be among them.

    Returns:
        pair_id and answers, the number of different answers its question has (2 or more).
    """
    return (
        _keyed(candidates)
        .with_columns(pl.col("answer_key").n_unique().over("question_key").alias("answers"))
        .filter(pl.col("answers") > 1)
        .select("pair_id", "answers")
        .sort("pair_id")
    )


def _keyed(candidates: pl.DataFrame) -> pl.DataFrame:
    return candidates.select(
        "pair_id",
        "composite",
        normalised(pl.col("question")).alias("question_key"),
        normalised(pl.col("answer")).alias("answer_key"),
    )
