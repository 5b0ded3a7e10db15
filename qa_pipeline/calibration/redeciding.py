"""Verdicts anew from stored tables, by other thresholds and weights and without a call to any model.

What belongs here: what is taken over from the tables (scores, replies, assessments), and which rows would
take a model. What does not: counting and comparing (`comparing.py`), printing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from qa_pipeline.curation.decisions import overrule_claims
from qa_pipeline.curation.ledger import build_verdicts
from qa_pipeline.grounding import grounded_pairs
from qa_pipeline.judging.judge import not_judged
from qa_pipeline.settings.checking import JudgingSettings, VerificationSettings
from qa_pipeline.tables import ASSESSMENTS
from qa_pipeline.verification.bands import strange_scores
from qa_pipeline.verification.deciding import REPLIES, UNDECIDED_WITHOUT_MODEL, decide_claims
from qa_pipeline.verification.refusals import decide_refusals

INPUTS = (
    "pairs", "claims", "claim_verdicts", "refusals", "assessments", "contradictions", "verdicts", "decisions",
)  # fmt: skip
"""The tables that deciding anew needs."""

DECISIONS = ("accept", "reject", "unsure")
NOT_ASKED = "judge_not_asked"


@dataclass(frozen=True, slots=True)
class Models:
    """Which models the batch's rows are put to: those of the settings, or those that have replied before."""

    verifier: bool
    judge: bool


@dataclass(frozen=True, slots=True)
class Redecided:
    """The tables anew, and what only a model could tell.

    `open_claims` are ids of claims that are borderline now and were not, so that no reply is stored;
    `unjudged_pairs` those of pairs that pass source verification now and were never judged; `open_pairs`
    those of all pairs whose verdict may rest on either, those that other claims refute left out. `strange`
    counts, by step, scores of another model than the thresholds were fitted for: they decide nothing.
    """

    claim_verdicts: pl.DataFrame
    refusals: pl.DataFrame
    verdicts: pl.DataFrame
    open_claims: pl.Series
    unjudged_pairs: pl.Series
    open_pairs: pl.Series
    strange: dict[str, int]


def redecide(
    frames: Mapping[str, pl.DataFrame],
    verification: VerificationSettings,
    judging: JudgingSettings,
    models: Models,
) -> Redecided:
    """Decide the claims, refusals and pairs of a batch anew.

    Stored replies speak for claims that are borderline still or again; a claim that the local steps decide
    now has none of them. With the settings of the run the tables come out as they are stored.

    Args:
        frames: the tables of `INPUTS` by name.
        verification: policy and thresholds.
        judging: weights and floors.
        models: whom rows without a stored reply would be put to.
    """
    pairs, claims = frames["pairs"], frames["claims"]
    replies, decisions = stored_replies(frames["claim_verdicts"]), frames["decisions"]
    decided = overrule_claims(decide_claims(claims, pairs, verification, replies), claims, pairs, decisions)
    refusals = decide_refusals(frames["refusals"], verification)
    grounded = grounded_pairs(pairs, claims, decided, accept_grounding=verification.accept_grounding)
    unjudged = grounded.join(frames["assessments"], on="pair_id", how="anti", maintain_order="left")
    verdicts = build_verdicts(
        pairs=pairs,
        claims=claims,
        claim_verdicts=decided,
        refusals=refusals,
        contradictions=frames["contradictions"],
        decisions=decisions,
        assessments=pl.concat([frames["assessments"], _unassessed(unjudged, models)]),
        verification=verification,
        judging=judging,
    )
    asking = _newly_open(decided, frames["claim_verdicts"]) if models.verifier else decided.clear()
    unjudged_pairs = unjudged["pair_id"] if models.judge else unjudged["pair_id"].clear()
    refuted = (pl.col("verdict") == "rejected") & (pl.col("stage") == "source_verification")
    waiting = verdicts.filter(pl.col("pair_id").is_in(asking["pair_id"].to_list()), ~refuted)
    return Redecided(
        claim_verdicts=decided,
        refusals=refusals,
        verdicts=verdicts,
        open_claims=asking["claim_id"],
        unjudged_pairs=unjudged_pairs,
        open_pairs=pl.concat([waiting["pair_id"], unjudged_pairs]).unique(maintain_order=True),
        strange=strange_scores(claims, verification.fitted),
    )


def stored_replies(claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """What a verifying model said of claims (`REPLIES`), from the verdicts it left."""
    said = claim_verdicts.filter(pl.col("llm_decision").is_not_null())
    known = pl.col("llm_decision").is_in(DECISIONS)
    distrusted = (pl.col("llm_decision") == "accept") & (pl.col("verdict") != "supported")
    return said.select(
        "claim_id",
        pl.when(known).then("llm_decision").alias("decision"),
        pl.when(~known).then("llm_decision").when(distrusted).then("reason").alias("reason"),
        "detail",
        "model",
        "prompt_hash",
    ).match_to_schema(REPLIES)


def _newly_open(decided: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Claims that no reply decides and that were no such before."""
    unasked = pl.col("reason") == UNDECIDED_WITHOUT_MODEL
    return decided.filter(unasked).join(
        stored.filter(unasked), on="claim_id", how="anti", maintain_order="left"
    )


def _unassessed(pairs: pl.DataFrame, models: Models) -> pl.DataFrame:
    """Assessments of pairs that were never put to a judge: not judged where there is none, else missing."""
    detail = "the pair passes source verification by these thresholds, and no judge has seen it"
    missing = {"status": "failed", "reason": NOT_ASKED, "detail": detail}
    return ASSESSMENTS.frame(
        [
            {**not_judged(pair), **(missing if models.judge else {})}
            for pair in pairs.select("pair_id", "batch").iter_rows(named=True)
        ]
    )
