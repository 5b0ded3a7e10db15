"""Whether a pair passed source verification: from decided claims to one outcome for each pair.

The only place that counts a pair's claims and holds the share against its threshold: judging asks it whom to
judge, the ledger why a pair stopped, and both must see the same answer.
"""

import polars as pl

from qa_pipeline.statistics import wilson_interval

SUPPORTED = "supported"
FLAWED = "flawed"
"""Status of a pair whose answer is unfit to train on, and its outcome."""
_WORST_FIRST = ("failed", "contradicted", "unsupported", "undecided", SUPPORTED)

SELF_CITATION = "self_citation"
_INVENTED = ("fabricated_citation", "unknown_number", SELF_CITATION)


def decided_claims(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return every claim with its verdict, in order; failed where it is undecided or of unknown verdict."""
    decided = claims.select("claim_id", "pair_id", "position", "start", "end", "text").join(
        claim_verdicts.select("claim_id", "verdict", "reason", "detail"), on="claim_id", how="left"
    )
    is_verdict = pl.col("verdict").is_in(_WORST_FIRST).fill_null(value=False)
    return decided.with_columns(
        pl.when(is_verdict).then("verdict").otherwise(pl.lit("failed")).alias("verdict"),
        pl.when(is_verdict).then("reason").otherwise(pl.lit("no_claim_verdict")).alias("reason"),
    ).sort("pair_id", "position", "claim_id")


def fabricated_citations(pairs: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """Count for each pair the citations of what does not exist: a source, a number, a passage, a quote.

    A pair that cites itself or the file it came from has no source either.

    Returns:
        pair_id, fabricated (1 or more) and self_cited (whether that is among them); pairs without any are
        absent.
    """
    resolution = pl.element().struct.field("resolution").str.starts_with("unknown_")
    cited = pairs.select("pair_id", pl.col("citations").list.eval(resolution).list.sum().alias("fabricated"))
    invented = pl.col("citation_reason").is_in(_INVENTED).fill_null(value=False)
    claimed = claims.select(
        "pair_id",
        ((pl.col("citation_status") == "quote_not_found") | invented).cast(pl.Int64).alias("claimed"),
        (pl.col("citation_reason") == SELF_CITATION).fill_null(value=False).alias("self_cited"),
    )
    by_pair = claimed.group_by("pair_id").agg(pl.col("claimed").sum(), pl.col("self_cited").any())
    return (
        cited.join(by_pair, on="pair_id", how="left", maintain_order="left")
        # one broken citation shows in the pair and again in each claim it counts against
        .select(
            "pair_id",
            pl.max_horizontal(pl.col("fabricated").cast(pl.Int64), "claimed"),
            pl.col("self_cited").fill_null(value=False),
        )
        .filter(pl.col("fabricated") > 0)
    )


def ground_pairs(
    pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame, *, accept_grounding: float
) -> pl.DataFrame:
    """Return how source verification of every pair ended, in the order of `pairs`.

    A contradicted claim and a fabricated citation reject a pair whatever the share of the other claims: a
    threshold below 1 forgives a statement without proof, never one the source denies or a source made up. A
    claim that could not be decided for a fault fails the pair.

    `accept_grounding` is the share of a pair's claims that must be supported.

    Returns:
        pair_id; outcome (not_drafted, flawed, refusal, no_claims, failed, rejected, undecided, grounded);
        reason and detail of the draft, of the worst claim, or of the first undecided one, whichever decided;
        claims, supported_claims, grounding, grounding_low, grounding_high.
    """
    counted = _count_claims(decided_claims(claims, claim_verdicts))
    joined = (
        pairs.select("pair_id", *_drafting())
        .join(counted, on="pair_id", how="left", maintain_order="left")
        .join(fabricated_citations(pairs, claims), on="pair_id", how="left", maintain_order="left")
        .with_columns(pl.col("claims", "supported_claims", "fabricated").fill_null(0))
        .with_columns(pl.coalesce("outcome", _claims_outcome(accept_grounding)))
    )
    supported, total = pl.col("supported_claims"), pl.col("claims")
    low, high = wilson_interval(supported, total)
    return joined.select(
        "pair_id",
        *_explained(),
        pl.col("claims", "supported_claims").cast(pl.Int32),
        grounding=pl.when(total > 0).then(supported / total),
        grounding_low=low,
        grounding_high=high,
    )


def grounded_pairs(
    pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame, *, accept_grounding: float
) -> pl.DataFrame:
    """Return the rows of `pairs` that passed source verification, about which a judge is asked."""
    outcomes = ground_pairs(pairs, claims, claim_verdicts, accept_grounding=accept_grounding)
    passed = outcomes.filter(pl.col("outcome") == "grounded")
    return pairs.join(passed, on="pair_id", how="semi", maintain_order="left")


def _drafting() -> list[pl.Expr]:
    """Return the outcome of pairs whose claims do not matter (null for the others), with its reason."""
    fault = (
        pl.when(pl.col("status") != "drafted")
        .then(pl.coalesce("reason", pl.lit("draft_failed")))
        .when(pl.col("question").is_null())
        .then(pl.lit("no_question"))
        .when(pl.col("answer").is_null())
        .then(pl.lit("no_answer"))
        .when(~pl.col("coverage").is_in(["full", "partial", "none"]).fill_null(value=False))
        .then(pl.lit("no_coverage"))
    )
    refusal = pl.when(pl.col("coverage") == "none").then(pl.lit("refusal"))
    outcome = (
        pl.when(pl.col("status") == FLAWED)
        .then(pl.lit(FLAWED))
        .when(fault.is_not_null())
        .then(pl.lit("not_drafted"))
        .otherwise(refusal)
    )
    return [outcome.alias("outcome"), fault.alias("draft_reason"), pl.col("detail").alias("draft_detail")]


def _count_claims(decided: pl.DataFrame) -> pl.DataFrame:
    """Return each pair's counts by verdict, with reason and detail of its worst and first undecided claim."""
    verdict = pl.col("verdict")
    rank, is_open = verdict.cast(pl.Enum(_WORST_FIRST)).to_physical(), verdict == "undecided"
    is_worst, detail = rank == rank.min(), pl.coalesce("detail", "text")
    open_reason = pl.coalesce("reason", pl.lit("undecided_without_model"))
    return decided.group_by("pair_id", maintain_order=True).agg(
        *((verdict == word).sum().alias(f"{word}_claims") for word in _WORST_FIRST),
        claims=pl.len(),
        worst_reason=pl.coalesce("reason", verdict).filter(is_worst).first(),
        worst_detail=detail.filter(is_worst).first(),
        open_reason=open_reason.filter(is_open).first(),
        open_detail=detail.filter(is_open).first(),
    )


def _claims_outcome(accept_grounding: float) -> pl.Expr:
    # divided, not multiplied out: 4 / 5 is the very number that 0.8 is, whereas 0.07 * 100 is more than 7
    share = pl.col("supported_claims") / pl.col("claims")
    possible = (pl.col("supported_claims") + pl.col("undecided_claims")) / pl.col("claims")
    return (
        pl.when(pl.col("claims") == 0)
        .then(pl.lit("no_claims"))
        .when(pl.col("failed_claims") > 0)
        .then(pl.lit("failed"))
        .when((pl.col("contradicted_claims") > 0) | (possible < accept_grounding))
        .then(pl.lit("rejected"))
        .when(share < accept_grounding)
        .then(pl.lit("undecided"))
        .otherwise(pl.lit("grounded"))
    )


def _explained() -> list[pl.Expr]:
    """Return outcome, reason and detail; a fabricated citation stops what would go on."""
    outcome = pl.col("outcome")
    invented = (pl.col("fabricated") > 0) & outcome.is_in(["grounded", "undecided", "refusal"])
    invented_text = pl.format("citations of sources that do not exist: {}", pl.col("fabricated"))
    itself = pl.lit("the answer cites itself or a file of pairs, which is no source")
    invention = pl.when("self_cited").then(pl.lit(SELF_CITATION)).otherwise(pl.lit("fabricated_citation"))

    def explained(part: str, of_invention: pl.Expr) -> pl.Expr:
        return (
            pl.when(outcome.is_in(["not_drafted", FLAWED]))
            .then(pl.col(f"draft_{part}"))
            .when(invented)
            .then(of_invention)
            .when(outcome == "undecided")
            .then(pl.col(f"open_{part}"))
            .otherwise(pl.col(f"worst_{part}"))
            .alias(part)
        )

    return [
        pl.when(invented).then(pl.lit("rejected")).otherwise(outcome).alias("outcome"),
        explained("reason", invention),
        explained("detail", pl.when("self_cited").then(itself).otherwise(invented_text)),
    ]


def evidence_pieces(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return claim_id and the evidence columns, a row for each piece of evidence.

    The evidence of a claim that the verifying model accepted is what it quotes.
    """
    names = [name for name in claims.columns if name.startswith("evidence_")]
    by_model = claim_verdicts.filter(verdict=SUPPORTED, decided_by="llm").select("claim_id", "llm_quotes")
    quoted = by_model.explode("llm_quotes", empty_as_null=True).drop_nulls("llm_quotes").unnest("llm_quotes")
    quoted = quoted.rename({name: f"evidence_{name}" for name in quoted.columns if name != "claim_id"})
    local = claims.select("claim_id", *names).join(by_model, on="claim_id", how="anti", maintain_order="left")
    pieces = pl.concat([local, quoted], how="diagonal")
    return claims.select("claim_id").join(pieces, on="claim_id", maintain_order="left_right")
