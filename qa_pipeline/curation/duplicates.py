"""Pairs of one batch that say the same, or answer the same question differently."""

import polars as pl

from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims

DUPLICATE, NEAR_DUPLICATE = "duplicate", "near_duplicate"
ALTERNATIVE, SAME_WORDING = "alternative", "same_wording"
"""Another draft for the same question is better, a pair to learn preferences from; or enough others differ in
figures alone."""


def find_duplicates(candidates: pl.DataFrame, twins: pl.DataFrame) -> pl.DataFrame:
    """Find pairs that repeat a kept one.

    The best first, each is kept that is no twin of one kept before. The best has the highest composite
    score, then the smallest pair_id: the order of rows or runs never matters. What is dropped names a kept
    one.

    Args:
        candidates: pair_id and composite (null where no judge scored).
        twins: TWINS frame; a candidate without a row has no twin.

    Returns:
        pair_id, duplicate_of and repeated (a reason code), one row for each pair that repeats a kept one.
    """
    best_first = (
        candidates.select("pair_id", "composite")
        .join(twins.select("pair_id", "exact_group", "near_group"), on="pair_id", how="left")
        .with_columns(pl.col("exact_group", "near_group").fill_null(pl.col("pair_id")))
        .sort("composite", "pair_id", descending=[True, False], nulls_last=True)
    )
    of_groups = best_first.unique("near_group", keep="first", maintain_order=True)
    kept_ids, kept_groups = pl.col("pair_id").alias("duplicate_of"), pl.col("exact_group").alias("kept_group")
    near = best_first.join(of_groups.select("near_group", kept_ids, kept_groups), on="near_group")
    equal = pl.col("exact_group") == pl.col("kept_group")
    return (
        near.filter(pl.col("pair_id") != pl.col("duplicate_of"))
        .select(
            "pair_id",
            "duplicate_of",
            pl.when(equal).then(pl.lit(DUPLICATE)).otherwise(pl.lit(NEAR_DUPLICATE)).alias("repeated"),
        )
        .sort("pair_id")
    )


def find_alternatives(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find drafts of one question beside the best of them: of equal scores the earlier.

    Args:
        candidates: pair_id, question_id, draft and composite (null where no judge scored).

    Returns:
        As `find_duplicates`.
    """
    best_first = candidates.filter(pl.col("question_id").is_not_null()).sort(
        "composite", "draft", "pair_id", descending=[True, False, False], nulls_last=True
    )
    first_pair = pl.col("pair_id").first().over("question_id")
    return (
        best_first.with_columns(duplicate_of=first_pair, repeated=pl.lit(ALTERNATIVE))
        .filter(pl.col("pair_id") != pl.col("duplicate_of"))
        .select("pair_id", "duplicate_of", "repeated")
        .sort("pair_id")
    )


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
    wording = [_key(name).str.replace_all(r"\d+", "0") for name in ("question", "answer")]
    best_first = candidates.filter(pl.col("question_id").is_not_null()).sort(
        "composite", "pair_id", descending=[True, False], nulls_last=True
    )
    beyond = pl.int_range(pl.len()).over(*wording) >= MOST_OF_ONE_WORDING
    first_pair = pl.col("pair_id").first().over(*wording)
    return (
        best_first.select(
            "pair_id", beyond.alias("beyond"), duplicate_of=first_pair, repeated=pl.lit(SAME_WORDING)
        )
        .filter("beyond")
        .drop("beyond")
        .sort("pair_id")
    )


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


_OTHER = {"first": "second", "second": "first"}


def find_one_sided(
    claims: pl.DataFrame, claim_verdicts: pl.DataFrame, contradictions: pl.DataFrame
) -> pl.DataFrame:
    """Return the pairs with a supported claim on one side of a contradiction and none on the other.

    A claim is on the side in whose sentence its evidence is.

    Returns:
        pair_id and denied_by, what the other side says in words for people; pairs without one are absent.
    """
    proofs = _proofs(claims, claim_verdicts)
    placed = pl.concat([_standing(proofs, contradictions, side) for side in _OTHER])
    both = ["pair_id", "contradiction_id"]
    one_sided = pl.col("side").n_unique().over(both) == 1
    return (
        placed.filter(one_sided)
        .sort(both)
        .group_by("pair_id", maintain_order=True)
        .agg(pl.col("denied_by").first())
    )


def _proofs(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the places of evidence of each supported claim: pair_id, document_id, start, end."""
    place = {name: pl.col(f"evidence_{name}") for name in ("document_id", "start", "end")}
    supported = decided_claims(claims, claim_verdicts).filter(pl.col("verdict") == SUPPORTED)
    return claims.select("claim_id", "pair_id", **place).join(
        supported.select("claim_id"), on="claim_id", how="semi", maintain_order="left"
    )


def _standing(proofs: pl.DataFrame, contradictions: pl.DataFrame, side: str) -> pl.DataFrame:
    """Return the pairs that state this side of a contradiction, and the other side's sentence."""
    other = _OTHER[side]
    detail = pl.format(
        "{} differs in document {}: {}",
        "kind",
        pl.col(f"{other}_document_id").str.slice(0, 12),
        f"{other}_quote",
    )
    sides = contradictions.select(
        "contradiction_id",
        document_id=f"{side}_document_id",
        first=f"{side}_start",
        last=f"{side}_end",
        denied_by=detail,
    )
    return (
        proofs.join(sides, on="document_id", maintain_order="left")
        .filter(pl.col("start") < pl.col("last"), pl.col("first") < pl.col("end"))
        .select("pair_id", "contradiction_id", "denied_by", side=pl.lit(side))
    )
