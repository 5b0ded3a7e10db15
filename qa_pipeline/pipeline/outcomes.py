"""The outcome of a batch's run."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from qa_pipeline.curation.batch_gates import unjudged_pairs

BLOCKED = "a blocking gate failed; the batch has no training examples until it passes"
NO_ROWS = "no pair was accepted"

WARNING = "warning: "
"""Prefix of a message about a gate that does not block."""


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The result of a batch's run.

    Args:
        batch: its name.
        outcome: succeeded, failed, or empty (all pairs were rejected). An unchanged batch was skipped, and a
            waiting batch has verified pairs that still need a decision by people or a judge.
        error: the reason for a failure, or for waiting.
        failed_gates: messages of failed gates, warnings included.
    """

    batch: str
    outcome: Literal["succeeded", "empty", "failed", "unchanged", "waiting"]
    error: str | None = None
    failed_gates: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Return True if the batch's tables are complete and its blocking gates pass."""
        return self.outcome != "failed"


def passed_outcome(batch: str, verdicts: pl.DataFrame, warnings: tuple[str, ...]) -> BatchOutcome:
    """Return the outcome of a batch that passes its blocking gates."""
    is_row = (pl.col("verdict") == "accepted") & pl.col("expected_verdict").is_null()
    unjudged = unjudged_pairs(verdicts)
    if not unjudged and not verdicts.filter(is_row).height:
        return BatchOutcome(batch, "empty", NO_ROWS, warnings)
    if not unjudged:
        return BatchOutcome(batch, "succeeded", failed_gates=warnings)
    pairs = "1 verified pair waits" if unjudged == 1 else f"{unjudged} verified pairs wait"
    advice = "record what people decide with qa-pipeline decide, and run again"
    return BatchOutcome(batch, "waiting", f"{pairs} for a judge; {advice}", warnings)
