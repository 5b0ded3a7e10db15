"""Combine the verdicts of claims into an outcome of source verification for each pair."""

import polars as pl

from qa_pipeline.statistics import wilson_interval

SUPPORTED = "supported"
FLAWED = "flawed"
"""Status and outcome of a pair whose answer is unfit for training."""
_WORST_FIRST = ("failed", "contradicted", "unsupported", "undecided", SUPPORTED)
_INVENTED = ("fabricated_citation", "unknown_number")


def join_by_pair(pairs: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of other frames with at most one row per pair_id, and keep the order of `pairs`."""
    for other in others:
        pairs = pairs.join(other, on="pair_id", how="left", maintain_order="left")
    return pairs


def decided_claims(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return every claim with its verdict, in order, or "failed" with the reason `no_claim_verdict`."""
    decided = claims.select("claim_id", "pair_id", "position", "start", "end", "text").join(
        claim_verdicts.select("claim_id", "verdict", "reason", "detail"), on="claim_id", how="left"
    )
    is_verdict = pl.col("verdict").is_in(_WORST_FIRST).fill_null(value=False)
    return decided.with_columns(
        pl.when(is_verdict).then("verdict").otherwise(pl.lit("failed")).alias("verdict"),
        pl.when(is_verdict).then("reason").otherwise(pl.lit("no_claim_verdict")).alias("reason"),
    ).sort("pair_id", "position", "claim_id")


def fabricated_citations(pairs: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """Count the invented sources, numbers and passages that each pair cites.

    Returns:
        pair_id and fabricated: the count in the pair's citations, or 1 if only its claims have such a
        citation or an invented quote. Other pairs are absent.
    """
    is_unknown = pl.element().struct.field("resolution").str.starts_with("unknown_")
    in_pair = pl.col("citations").list.eval(is_unknown).list.sum().cast(pl.Int64)
    is_invented = pl.col("citation_reason").is_in(_INVENTED).fill_null(value=False)
    is_fabricated = (pl.col("citation_status") == "quote_not_found") | is_invented
    # not summed up: an unknown [9] of the pair may be in three of its claims
    in_claims = claims.group_by("pair_id").agg(in_claims=is_fabricated.any().cast(pl.Int64))
    joined = join_by_pair(pairs.select("pair_id", in_pair=in_pair), in_claims)
    counted = joined.select("pair_id", fabricated=pl.max_horizontal("in_pair", "in_claims"))
    return counted.filter(pl.col("fabricated") > 0)


def ground_pairs(
    pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame, *, accept_grounding: float
) -> pl.DataFrame:
    """Return the outcome of source verification of every pair, in the order of `pairs`.

    `accept_grounding` is the share of a pair's claims that must be supported. It tolerates unproved claims,
    but never a contradicted claim or a fabricated citation. A failed claim fails the pair.

    Returns:
        pair_id; outcome (not_drafted, flawed, refusal, no_claims, failed, rejected, undecided, grounded);
        reason and detail of the draft, invented sources, the first undecided claim or the worst claim;
        claims, supported_claims, grounding, grounding_low, grounding_high.
    """
    joined = (
        join_by_pair(pairs, _count_claims(claims, claim_verdicts), fabricated_citations(pairs, claims))
        .with_columns(pl.col("claims", "supported_claims", "fabricated").fill_null(0), fault=_draft_fault())
        .with_columns(outcome=_outcome(accept_grounding))
    )
    outcome = pl.col("outcome")
    has_draft_fault = outcome.is_in(["not_drafted", FLAWED])
    # the other outcomes already keep a pair out of the training data
    cites_inventions = (pl.col("fabricated") > 0) & outcome.is_in(["grounded", "undecided", "refusal"])
    inventions = pl.format("citations of sources that do not exist: {}", pl.col("fabricated"))
    supported, total = pl.col("supported_claims"), pl.col("claims")
    low, high = wilson_interval(supported, total)
    reason_and_detail = (
        pl.when(has_draft_fault)
        .then(pl.struct(reason="fault", detail="detail"))
        .when(cites_inventions)
        .then(pl.struct(reason=pl.lit("fabricated_citation"), detail=inventions))
        .when(outcome == "undecided")
        .then(pl.struct(reason="open_reason", detail="open_detail"))
        .otherwise(pl.struct(reason="worst_reason", detail="worst_detail"))  # null without claims
    )
    return joined.select(
        "pair_id",
        outcome=pl.when(cites_inventions).then(pl.lit("rejected")).otherwise(outcome),
        explained=reason_and_detail,
        claims=total.cast(pl.Int32),
        supported_claims=supported.cast(pl.Int32),
        grounding=pl.when(total > 0).then(supported / total),
        grounding_low=low,
        grounding_high=high,
    ).unnest("explained")


def grounded_pairs(
    pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame, *, accept_grounding: float
) -> pl.DataFrame:
    """Return the rows of `pairs` that passed source verification, ready for a judge."""
    outcomes = ground_pairs(pairs, claims, claim_verdicts, accept_grounding=accept_grounding)
    passed = outcomes.filter(pl.col("outcome") == "grounded")
    return pairs.join(passed, on="pair_id", how="semi", maintain_order="left")


def _draft_fault() -> pl.Expr:
    """Return the reason why a pair cannot be verified, or null."""
    has_coverage = pl.col("coverage").is_in(["full", "partial", "none"]).fill_null(value=False)
    rules = [  # the first that applies gives the reason
        (pl.col("status") != "drafted", pl.coalesce("reason", pl.lit("draft_failed"))),  # also "flawed"
        (pl.col("question").is_null(), pl.lit("no_question")),
        (pl.col("answer").is_null(), pl.lit("no_answer")),
        (~has_coverage, pl.lit("no_coverage")),
    ]
    return pl.coalesce(*(pl.when(met).then(reason) for met, reason in rules))


def _count_claims(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return a row per pair with claims: counts by verdict, its worst and first undecided (open) claim."""
    verdict, detail = pl.col("verdict"), pl.coalesce("detail", "text")  # by default the claim itself
    rank = verdict.cast(pl.Enum(_WORST_FIRST)).to_physical()  # 0 for the worst
    is_worst, is_open = rank == rank.min(), verdict == "undecided"
    open_reason = pl.coalesce("reason", pl.lit("undecided_without_model"))
    return (
        decided_claims(claims, claim_verdicts)
        .group_by("pair_id", maintain_order=True)
        .agg(
            *((verdict == name).sum().alias(f"{name}_claims") for name in _WORST_FIRST),
            claims=pl.len(),
            worst_reason=pl.coalesce("reason", verdict).filter(is_worst).first(),  # "supported" if all are
            worst_detail=detail.filter(is_worst).first(),
            open_reason=open_reason.filter(is_open).first(),
            open_detail=detail.filter(is_open).first(),
        )
    )


def _outcome(accept_grounding: float) -> pl.Expr:
    """Return the outcome of a pair by the first rule that applies, else "grounded"."""
    # shares are compared, since 7 / 100 equals 0.07, whereas 0.07 * 100 is more than 7
    share = pl.col("supported_claims") / pl.col("claims")
    highest_share = (pl.col("supported_claims") + pl.col("undecided_claims")) / pl.col("claims")
    rules = [
        (pl.col("status") == FLAWED, FLAWED),
        (pl.col("fault").is_not_null(), "not_drafted"),
        (pl.col("coverage") == "none", "refusal"),
        (pl.col("claims") == 0, "no_claims"),
        (pl.col("failed_claims") > 0, "failed"),
        ((pl.col("contradicted_claims") > 0) | (highest_share < accept_grounding), "rejected"),
        (share < accept_grounding, "undecided"),
    ]
    return pl.coalesce(*(pl.when(met).then(pl.lit(name)) for met, name in rules), pl.lit("grounded"))


def evidence_passages(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return claim_id and the evidence columns, a row per evidence passage, in the order of `claims`."""
    names = [name for name in claims.columns if name.startswith("evidence_")]
    # the evidence of claims that a model accepted is its quotes, and of all others the unit in `claims`
    by_model = claim_verdicts.filter(verdict=SUPPORTED, decided_by="llm").select("claim_id", "llm_quotes")
    quotes = by_model.explode("llm_quotes", empty_as_null=True).drop_nulls("llm_quotes").unnest("llm_quotes")
    quoted = quotes.rename({name: f"evidence_{name}" for name in quotes.columns if name != "claim_id"})
    other = claims.select("claim_id", *names).join(by_model, on="claim_id", how="anti", maintain_order="left")
    evidence = pl.concat([other, quoted], how="diagonal")
    return claims.select("claim_id").join(evidence, on="claim_id", maintain_order="left_right")
