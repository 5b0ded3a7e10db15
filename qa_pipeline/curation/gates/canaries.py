"""Gates over a batch's canaries: a tripwire against a broken or drifting verifier.

They never say how many wrong rows a release holds: real errors are not drawn from the generators. They block
what a working verifier cannot produce: a recall whose upper bound lies under its limit, and foreign
falsehoods accepted in a share whose lower bound lies over its limit. Sentences put to another question only
warn: many of these questions read badly. The policy `similarity_only` knowingly lets swaps pass; there they
warn.
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import polars as pl

from qa_pipeline.curation.gates.gate import Gate
from qa_pipeline.verification.canaries import misplaced
from qa_pipeline.verification.canaries.outcomes import canary_rates, replied

SWAPS = ("number", "unit", "date", "name", "negation")
"""Kinds that the local steps are made to reject; the others are counted for what is accepted."""
MIN_RECALL = 0.7
"""Least share of swaps that a working verifier rejects."""
MAX_ACCEPTS = 0.02
"""Largest share of falsehoods that it accepts."""
MAX_ALARMS = 0.05
"""Largest share of true claims that it rejects, and of good pairs that a judge rejects."""
MAX_DROP = 0.1
"""Largest fall of the share of rejected swaps against earlier batches."""
MAX_JUDGE_ACCEPTS = 0.1
"""Share of wrong pairs that a judge may pass: two of six, for a changed word may leave a right answer."""
_NONE = "the batch has no such canaries: too little text, or none are seeded"
_NO_JUDGE = (
    "no such pair was judged: no judge is configured, the batch has too little text, or none are seeded"
)


def _rate_gate(
    name: str,
    which: pl.Expr,
    outcome: Literal["rejected", "accepted"],
    threshold: float,
    *,
    canaries: pl.DataFrame,
    at_least: bool = False,
    may_block: bool = True,
    without: str = _NONE,
) -> Gate:
    """Fail where all of the 95 % interval of a share lies beyond its limit.

    A single canary never fails a batch: a few of the generated falsehoods happen to be true.

    The threshold is a lower one with `at_least`. A gate that `may_block` does where the cascade
    decided, which is made to see swaps. `without` says what it means that there are no canaries.
    """
    selected = canaries.filter(which)
    if not selected.height:
        return Gate(name, True, may_block, None, threshold, 0, without)
    rates = _rates(selected)
    low, high, share = (float(rates[f"{outcome}_{part}"]) for part in ("low", "high", "share"))
    blocking = may_block and canaries.filter(pl.col("decided_by") == "similarity_only").is_empty()
    passed = high >= threshold if at_least else low <= threshold or rates[outcome] <= 1
    return Gate(name, passed, blocking, share, threshold, selected.height, _figures(selected, outcome))


def _figures(canaries: pl.DataFrame, outcome: Literal["rejected", "accepted"]) -> str:
    """Return in words how many canaries were accepted or rejected, with the interval, and of each kind."""
    rates = _rates(canaries)
    by_kind = canary_rates(canaries, ("kind",)).select("kind", outcome, "canaries").iter_rows()
    kinds = ", ".join(f"{kind} {count} of {total}" for kind, count, total in by_kind)
    interval = f"{rates[f'{outcome}_low']:.3f} to {rates[f'{outcome}_high']:.3f}"
    return f"{rates[outcome]:.0f} of {canaries.height} {outcome}, 95 % interval {interval} ({kinds})"


_SWAPPED = pl.col("kind").is_in(SWAPS)
_MISPLACED = pl.col("kind").is_in(misplaced.KINDS)
_FOREIGN, _TRUE = pl.col("family") == "foreign", pl.col("expected") == "supported"

canary_recall_gate = partial(_rate_gate, "canary_recall", _SWAPPED, "rejected", MIN_RECALL, at_least=True)
canary_accepts_gate = partial(_rate_gate, "canary_accepts", _FOREIGN, "accepted", MAX_ACCEPTS)
canary_misplaced_gate = partial(
    _rate_gate, "canary_misplaced", _MISPLACED, "accepted", MAX_ACCEPTS, may_block=False
)
canary_alarms_gate = partial(_rate_gate, "canary_alarms", _TRUE, "rejected", MAX_ALARMS, may_block=False)


def canary_drift_gate(*, canaries: pl.DataFrame, earlier: Sequence[tuple[int, int]]) -> Gate:
    """Compare the share of rejected swapped canaries with that of other batches."""
    rejected, total = swap_counts(canaries)
    before, all_before = (sum(counts) for counts in zip(*earlier, strict=True)) if earlier else (0, 0)
    limit = before / all_before - MAX_DROP if all_before else None
    counts = {"rejected": rejected, "canaries": total, "earlier_canaries": all_before}
    if not total:
        return Gate("canary_drift", True, False, None, limit, 0, _NONE, counts)
    value = rejected / total
    if limit is None:
        detail = f"{rejected} of {total} swaps rejected; there is no earlier batch to compare with"
        return Gate("canary_drift", True, False, value, None, total, detail, counts)
    detail = f"{rejected} of {total} swaps rejected, earlier batches {before} of {all_before}"
    return Gate("canary_drift", value >= limit, False, value, limit, total, detail, counts)


def swap_counts(canaries: pl.DataFrame) -> tuple[int, int]:
    """Return the number of rejected and of all swapped canaries of a batch."""
    swapped = canaries.filter(_SWAPPED)
    return (int(_rates(swapped)["rejected"]), swapped.height) if swapped.height else (0, 0)


JUDGE_NOT_TRUSTED = "judge_not_trusted"
"""Reason code of what waits because the judge passed pairs that are wrong on purpose."""

_WRONG = pl.col("expected") == "rejected"


def judge_trust(judge_canaries: pl.DataFrame) -> Gate:
    """Return whether a judge may judge: not where it accepts wrong pairs in a share surely over the limit.

    Replies that are lacking or cannot be read say nothing about it; a judge of which nothing is known is
    trusted.
    """
    return _rate_gate(
        "judge_canaries",
        _WRONG,
        "accepted",
        MAX_JUDGE_ACCEPTS,
        canaries=replied(judge_canaries),
        may_block=False,
    )


def judge_canaries_gate(*, judge_canaries: pl.DataFrame, verdicts: pl.DataFrame) -> Gate:
    """Verify that no pair waits because the judge passed wrong ones; the ledger decides whether it may."""
    waiting = verdicts.filter(pl.col("reason") == JUDGE_NOT_TRUSTED).height
    read, counts = replied(judge_canaries).filter(_WRONG), {"waiting": waiting}
    unread = judge_canaries.height - replied(judge_canaries).height
    share = _rates(read)["accepted_share"] if read.height else None
    parts = [
        f"wrong pairs: {_figures(read, 'accepted')}" if read.height else _NO_JUDGE,
        f"{unread} canaries without a reply that can be read" if unread else "",
        f"{waiting} pairs wait: name another model that judges (llm.judge.model)" if waiting else "",
    ]
    detail = "; ".join(part for part in parts if part)
    return Gate("judge_canaries", not waiting, False, share, None, read.height, detail, counts)


def judge_alarms_gate(*, judge_canaries: pl.DataFrame) -> Gate:
    """Verify that the judge accepts pairs of the batch that look right, as far as known without it."""
    return _rate_gate(
        "judge_alarms",
        ~_WRONG,
        "rejected",
        MAX_ALARMS,
        canaries=replied(judge_canaries),
        may_block=False,
        without=_NO_JUDGE,
    )


def _rates(canaries: pl.DataFrame) -> dict[str, float]:
    """Return counts, shares and bounds over all these canaries."""
    row = canary_rates(canaries.with_columns(expected=pl.lit("all")), ("expected",)).row(0, named=True)
    return {name: value for name, value in row.items() if name != "expected"}
