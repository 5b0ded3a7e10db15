"""Canaries tables by kind and verdict."""

import polars as pl

from qa_pipeline.storage.tables import CANARIES
from qa_pipeline.verification.canaries.seeding import EVERY

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
