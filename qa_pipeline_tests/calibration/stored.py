"""A batch as a run leaves it, from claims with scores and models that know what to say."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.curation.ledger import build_verdicts
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.storage.tables import (
    ASSESSMENTS,
    CANARIES,
    CLAIMS,
    DECISIONS,
    PAIRS,
    REFUSALS,
    ROUND_TRIPS,
)
from qa_pipeline.verification.deciding import REPLIES, borderline, decide_claims
from qa_pipeline.verification.outcomes import grounded_pairs
from qa_pipeline_tests.verdict_replies import SCORES
from qa_pipeline_tests.verification.rows import pair
from qa_pipeline_tests.verification.test_deciding import claim

Frames = dict[str, pl.DataFrame]
Rows = list[list[dict[str, Any]]]


def tables(answers: Rows, refused: Sequence[str] = ()) -> Frames:
    """Pairs of claims with the given fields, and refusals with the given outcomes."""
    claims = [
        claim(
            place,
            claim_id=f"{number}-{place}",
            pair_id=f"pair-{number}",
            **({"proved_by": "quotation"} | fields),
        )
        for number, of_pair in enumerate(answers)
        for place, fields in enumerate(of_pair)
    ]
    rows = [
        {
            **pair(f"Answer {number}.", cites="a.md", question=f"Question {number}?"),
            "pair_id": f"pair-{number}",
        }
        for number in range(len(answers))
    ]
    refusals = [
        {"pair_id": f"no-{number}", "batch": "b", "outcome": outcome}
        for number, outcome in enumerate(refused)
    ]
    rows += [
        {
            **pair("No.", cites="a.md", question=f"Which {row['pair_id']}?", coverage="none"),
            "pair_id": row["pair_id"],
        }
        for row in refusals
    ]
    return {
        "pairs": PAIRS.frame(rows),
        "claims": CLAIMS.frame(claims),
        "refusals": REFUSALS.frame(refusals),
    }


def run(
    made: Frames,
    verification: VerificationSettings,
    judging: JudgingSettings,
    *,
    verifier: Mapping[str, str] | None = None,
    judge: Mapping[str, float] | None = None,
    canaries: pl.DataFrame | None = None,
) -> Frames:
    """What a run stores; `verifier` answers by claim, `judge` by pair, and both know all they are asked."""
    pairs, claims = made["pairs"], made["claims"]
    decided = decide_claims(claims, pairs, verification)
    if verifier is not None:
        asked = borderline(claims, decided)["claim_id"].to_list()
        decided = decide_claims(claims, pairs, verification, _replies({one: verifier[one] for one in asked}))
    grounded = grounded_pairs(pairs, claims, decided, accept_grounding=verification.accept_grounding)
    assessments = ASSESSMENTS.frame([_assessment(one, judge) for one in grounded["pair_id"]])
    frames = {
        "pairs": pairs,
        "claims": claims,
        "claim_verdicts": decided,
        "refusals": made["refusals"],
        "assessments": assessments,
        "round_trips": ROUND_TRIPS.empty(),
        "canaries": CANARIES.empty() if canaries is None else canaries,
        "decisions": DECISIONS.empty(),
    }
    verdicts = build_verdicts(**frames, verification=verification, judging=judging)
    return {**frames, "verdicts": verdicts}


def _replies(said: Mapping[str, str]) -> pl.DataFrame:
    rows = [
        {"claim_id": one, "decision": word, "detail": "Because.", "model": "m", "prompt_hash": "h"}
        if word in ("accept", "reject", "unsure")
        else {"claim_id": one, "reason": word, "detail": f"{word}: oops", "prompt_hash": "h"}
        for one, word in said.items()
    ]
    return pl.DataFrame(rows, schema=REPLIES)


def _assessment(pair_id: str, judge: Mapping[str, float] | None) -> dict[str, Any]:
    row = {"pair_id": pair_id, "batch": "b"}
    if judge is None:
        return {**row, "status": "not_judged", "reason": "no_judge", "detail": "no judge is configured"}
    scores = dict.fromkeys(SCORES, judge[pair_id])
    return {**row, "status": "judged", **scores, "judge": "j", "prompt_hash": "h"}
