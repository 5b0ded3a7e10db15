"""Tables of canaries by kind and verdict."""

import polars as pl

from qa_pipeline.storage.tables import CANARIES, JUDGE_CANARIES
from qa_pipeline.verification.canaries.judge_pairs import GOOD
from qa_pipeline.verification.canaries.seeding import EVERY
from qa_pipeline_tests.curation.rows import assessment

_MADE = {one.kind: one for one in EVERY}


def canaries(decided_by: str = "consistency", **kinds: list[str]) -> pl.DataFrame:
    """One row for each verdict of each kind."""
    return CANARIES.frame(
        [
            {
                "canary_id": f"{kind}-{place}",
                "batch": "b",
                "kind": kind,
                "family": _MADE[kind].family,
                "mechanism": "m",
                "expected": _MADE[kind].expected,
                "language": "en",
                "chunk_id": "c",
                "source": "s",
                "claim": "c",
                "verdict": verdict,
                "decided_by": decided_by,
                "thresholds_id": "t",
            }
            for kind, verdicts in kinds.items()
            for place, verdict in enumerate(verdicts)
        ]
    )


def judge_canaries(**kinds: list[str]) -> pl.DataFrame:
    """One row for each verdict of each kind: accepted, rejected or failed, with scores that lead to it."""
    scores = {"accepted": 1.0, "rejected": 0.0, "failed": None}
    return JUDGE_CANARIES.frame(
        [
            {
                **assessment(f"{kind}-{place}", scores[verdict]),
                "canary_id": f"{kind}-{place}",
                "kind": kind,
                "expected": "accepted" if kind == GOOD else "rejected",
                "language": "en",
                "question": "Q?",
                "answer": "A.",
                "chunk_ids": ["c"],
                "status": "failed" if verdict == "failed" else "judged",
                "verdict": verdict,
                "thresholds_id": "t",
            }
            for kind, verdicts in kinds.items()
            for place, verdict in enumerate(verdicts)
        ]
    )
