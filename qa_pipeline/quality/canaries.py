"""Gates over a batch's canaries: a tripwire against a broken or drifting verifier.

They never say how many wrong rows a release holds: real errors are not drawn from the generators. They block
only what a working verifier cannot produce: a recall whose upper bound lies under its limit, false claims
accepted in a share whose lower bound lies over its limit. The policy `similarity_only` knowingly lets swaps
pass; there they warn.
"""

from collections.abc import Sequence

import polars as pl

from qa_pipeline.quality.gate import Gate
from qa_pipeline.settings.verification import QualitySettings
from qa_pipeline.verification.canaries.outcomes import canary_rates

SWAPS = ("number", "unit", "date", "name", "negation")
"""Kinds that the local steps are made to reject; the others are counted for what is accepted."""


def canary_recall_gate(*, canaries: pl.DataFrame, settings: QualitySettings) -> Gate:
    """Swapped numbers, units, dates, names and negations are rejected, as far as the interval can tell."""
    found = canaries.filter(pl.col("kind").is_in(SWAPS))
    limit = settings.min_canary_recall
    if not found.height:
        return _nothing("canary_recall", limit, blocking=True)
    rates = _rates(found)
    passed = float(rates["rejected_high"]) >= limit
    detail = _message("rejected", rates, found)
    blocking = _cascade(canaries)
    return Gate("canary_recall", passed, blocking, rates["rejected_share"], limit, found.height, detail)


def canary_accepts_gate(*, canaries: pl.DataFrame, settings: QualitySettings) -> Gate:
    """False claims of any kind are not accepted."""
    found = canaries.filter(pl.col("expected") == "rejected")
    limit = settings.max_canary_accepts
    if not found.height:
        return _nothing("canary_accepts", limit, blocking=True)
    rates = _rates(found)
    passed = float(rates["accepted_low"]) <= limit
    detail = _message("accepted", rates, found)
    return Gate(
        "canary_accepts", passed, _cascade(canaries), rates["accepted_share"], limit, found.height, detail
    )


def canary_alarms_gate(*, canaries: pl.DataFrame, settings: QualitySettings) -> Gate:
    """True claims in other words than the source's are not rejected."""
    found = canaries.filter(pl.col("expected") == "supported")
    limit = settings.max_canary_alarms
    if not found.height:
        return _nothing("canary_alarms", limit, blocking=False)
    rates = _rates(found)
    passed = float(rates["rejected_low"]) <= limit
    detail = _message("rejected", rates, found)
    return Gate("canary_alarms", passed, False, rates["rejected_share"], limit, found.height, detail)


def canary_drift_gate(
    *, canaries: pl.DataFrame, earlier: Sequence[tuple[int, int]], settings: QualitySettings
) -> Gate:
    """The recall of swaps has not fallen far below that of earlier batches together."""
    rejected, held = swap_counts(canaries)
    before, all_before = (sum(counts) for counts in zip(*earlier, strict=True)) if earlier else (0, 0)
    limit = before / all_before - settings.max_canary_drop if all_before else None
    counts = {"rejected": rejected, "canaries": held, "earlier_canaries": all_before}
    if not held:
        return Gate("canary_drift", True, False, None, limit, 0, _NONE, counts)
    value = rejected / held
    if limit is None:
        detail = f"{rejected} of {held} swaps rejected; there is no earlier batch to compare with"
        return Gate("canary_drift", True, False, value, None, held, detail, counts)
    detail = f"{rejected} of {held} swaps rejected, earlier batches {before} of {all_before}"
    return Gate("canary_drift", value >= limit, False, value, limit, held, detail, counts)


def swap_counts(canaries: pl.DataFrame) -> tuple[int, int]:
    """Rejected and all swapped canaries of a batch."""
    found = canaries.filter(pl.col("kind").is_in(SWAPS))
    return (int(_rates(found)["rejected"]), found.height) if found.height else (0, 0)


_NONE = "the batch has no such canaries: too little text, or none are seeded"


def _nothing(name: str, limit: float, *, blocking: bool) -> Gate:
    return Gate(name, True, blocking, None, limit, 0, _NONE)


def _rates(canaries: pl.DataFrame) -> dict[str, float]:
    """Counts, shares and bounds over all given canaries."""
    row = canary_rates(canaries.with_columns(expected=pl.lit("all")), ("expected",)).row(0, named=True)
    return {name: value for name, value in row.items() if name != "expected"}


def _message(word: str, rates: dict[str, float], canaries: pl.DataFrame) -> str:
    """The share with its interval, and the kinds beside it."""
    by_kind = canary_rates(canaries, ("kind",)).select("kind", word, "canaries").iter_rows()
    kinds = ", ".join(f"{kind} {count} of {held}" for kind, count, held in by_kind)
    low, high = rates[f"{word}_low"], rates[f"{word}_high"]
    return f"{rates[word]:.0f} of {canaries.height} {word}, 95 % interval {low:.3f} to {high:.3f} ({kinds})"


def _cascade(canaries: pl.DataFrame) -> bool:
    """Whether the cascade decided, which is made to see swaps."""
    return canaries.filter(pl.col("decided_by") == "similarity_only").is_empty()
