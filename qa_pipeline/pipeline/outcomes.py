"""What a run of a batch came to."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from qa_pipeline.curation.gates.gates import unjudged_pairs

BLOCKED = "a blocking gate failed; the batch has no training examples until it passes"
NO_ROWS = "no pair was accepted"

WARNING = "warning: "
"""How the message of a gate begins that does not block."""


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Result of a run of a batch.

    Args:
        batch: its name.
        outcome: succeeded; empty, because no pair was accepted; failed; unchanged since its last run and not
            run again; or waiting, because verified pairs wait for people or a model to judge them.
        error: what stopped the batch, or what it waits for.
        failed_gates: what failed and why, warnings among them.
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
    """Return the outcome of a batch whose blocking gates pass."""
    is_row = (pl.col("verdict") == "accepted") & pl.col("expected_verdict").is_null()
    unjudged = unjudged_pairs(verdicts)
    if not unjudged and not verdicts.filter(is_row).height:
        return BatchOutcome(batch, "empty", NO_ROWS, warnings)
    if not unjudged:
        return BatchOutcome(batch, "succeeded", failed_gates=warnings)
    pairs = "1 verified pair waits" if unjudged == 1 else f"{unjudged} verified pairs wait"
    advice = "record what people decide with qa-pipeline decide, and run again"
    return BatchOutcome(batch, "waiting", f"{pairs} for a judge; {advice}", warnings)
