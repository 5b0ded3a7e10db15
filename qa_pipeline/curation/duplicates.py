"""Pairs of one batch that say the same, or answer the same question differently."""

import polars as pl

from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims

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


_OTHER = {"first": "second", "second": "first"}


def find_one_sided(
    claims: pl.DataFrame, claim_verdicts: pl.DataFrame, contradictions: pl.DataFrame
) -> pl.DataFrame:
    """Pairs with a supported claim on one side of a contradiction and none on the other.

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
    """Where the evidence of each supported claim is: pair_id, document_id, start, end."""
    place = {name: pl.col(f"evidence_{name}") for name in ("document_id", "start", "end")}
    supported = decided_claims(claims, claim_verdicts).filter(pl.col("verdict") == SUPPORTED)
    return claims.select("claim_id", "pair_id", **place).join(
        supported.select("claim_id"), on="claim_id", how="semi", maintain_order="left"
    )


def _standing(proofs: pl.DataFrame, contradictions: pl.DataFrame, side: str) -> pl.DataFrame:
    """Pairs that state this side of a contradiction, and what the other side says."""
    other = _OTHER[side]
    said = pl.format(
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
        denied_by=said,
    )
    return (
        proofs.join(sides, on="document_id", maintain_order="left")
        .filter(pl.col("start") < pl.col("last"), pl.col("first") < pl.col("end"))
        .select("pair_id", "contradiction_id", "denied_by", side=pl.lit(side))
    )
