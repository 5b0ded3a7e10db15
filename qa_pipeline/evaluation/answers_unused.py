"""Scores of answers out of the scores of their claims.

What belongs here: the rule by which several claims become one answer. What does not: scores of claims.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.evaluation.statements import SCORES

NO_CLAIM = "no_claim"


def scores_of_answers(claims: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """An answer is supported as little as its least supported claim, and contradicted as much as any.

    An answer with a claim that could not be scored is unknown, with that claim's reason; one without any
    claim is unknown as `no_claim`.

    Args:
        claims: `key` of the answer, and the columns of `SCORES`, one row for each claim.
        keys: the answer of each row wanted; an answer may be wanted twice.

    Returns:
        `SCORES` frame, a row for each key, in order.
    """
    unknown = pl.col("supported").is_null()
    least = pl.col("supported").arg_min()
    answers = claims.group_by("key", maintain_order=True).agg(
        pl.when(~unknown.any()).then(pl.col("supported").min()).alias("supported"),
        pl.col("contradicted").max(),
        pl.when(~unknown.any()).then(pl.col("neutral").get(least, null_on_oob=True)).alias("neutral"),
        pl.col("reason").filter(unknown).first(),
    )
    wanted = pl.DataFrame({"key": list(keys)}, schema={"key": pl.String()})
    joined = wanted.join(
        answers.with_columns(found=True), on="key", how="left", maintain_order="left"
    ).with_columns(reason=pl.when(pl.col("found").is_null()).then(pl.lit(NO_CLAIM)).otherwise("reason"))
    return joined.select(pl.col(name).cast(dtype) for name, dtype in SCORES.items())


def claim_scores(keys: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """A frame of claims as `scores_of_answers` takes it; columns not given are null."""
    given = {name: columns.get(name, [None] * len(keys)) for name in SCORES}
    return pl.DataFrame({"key": list(keys), **given}, schema={"key": pl.String(), **SCORES}, strict=False)
