"""Rows of the canaries table, one for each given verdict."""

import polars as pl

from qa_pipeline.storage.tables import CANARIES
from qa_pipeline.verification.canaries import GOOD, VERBATIM


def canaries(decided_by: str = "quotation", mechanism: str = "alone", **kinds: list[str]) -> pl.DataFrame:
    """One row of the verifier for each verdict of each kind."""
    return _rows("verifier", decided_by, mechanism, kinds)


def joined(**kinds: list[str]) -> pl.DataFrame:
    """One row that a model decided for each verdict of each kind."""
    return _rows("verifier", "llm", "joined", kinds)


def judged(**kinds: list[str]) -> pl.DataFrame:
    """One row of the judge for each verdict of each kind."""
    return _rows("judge", "judge", "alone", kinds)


def _rows(asks: str, decided_by: str, mechanism: str, kinds: dict[str, list[str]]) -> pl.DataFrame:
    names = dict.fromkeys(("chunk_id", "source", "claim", "thresholds_id"), "x")
    same = {"batch": "b", "language": "en", **names}
    return CANARIES.frame(
        [
            {
                **same,
                "canary_id": f"{asks}-{mechanism}-{kind}-{place}",
                "asks": asks,
                "kind": kind,
                "mechanism": mechanism,
                "expected": "accepted" if kind in (GOOD, VERBATIM) else "rejected",
                "verdict": verdict,
                "decided_by": decided_by,
            }
            for kind, verdicts in kinds.items()
            for place, verdict in enumerate(verdicts)
        ]
    )
