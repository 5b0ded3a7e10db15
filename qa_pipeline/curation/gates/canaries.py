"""Gates over a batch's canaries, and whether its verifier and its judge are to be trusted.

They never say how many wrong rows a release holds: real errors are not drawn like canaries. Shares block and
distrust by their 95 % intervals alone, so that chance in a small batch does neither. What a reviewing model
decides wrongly costs it its trust, and not the batch its other rows.
"""

from functools import partial
from typing import Literal

import polars as pl

from qa_pipeline.curation.gates.gate import Gate
from qa_pipeline.verification.canaries import EDITED, JOINED, VERBATIM, canary_rates
from qa_pipeline.verification.deciding import NOT_TRUSTED

MIN_RECALL = 0.7
"""Least share of changed sentences that the local steps reject."""
MAX_ACCEPTS = 0.02
"""Largest share of falsehoods that the local steps accept."""
MAX_ALARMS = 0.05
"""Largest share of untouched sentences that they reject."""
MAX_TRUSTED = 0.1
"""Largest share of falsehoods that a model may accept: a few of those made by rules happen to be right."""
MODEL = "llm"
VERIFIER_NOT_TRUSTED, JUDGE_NOT_TRUSTED = NOT_TRUSTED, "judge_not_trusted"
"""Reason codes of what waits because a model accepted canaries that are wrong on purpose."""
Reviewer = Literal["verifier", "judge"]

_BY_MODEL = (pl.col("asks") == "judge") | (pl.col("decided_by") == MODEL)
_WRONG = pl.col("expected") == "rejected"
_LOCAL = (pl.col("asks") == "verifier") & ~_BY_MODEL


def _rate_gate(
    name: str,
    which: pl.Expr,
    outcome: Literal["rejected", "accepted"],
    threshold: float,
    *,
    canaries: pl.DataFrame,
    at_least: bool = False,
    may_block: bool = True,
) -> Gate:
    """Fail where all of the 95 % interval of a share lies beyond its limit.

    A single canary never fails a batch: a few of the falsehoods happen to be true. The threshold is a lower
    one with `at_least`. The policy `similarity_only` knowingly lets falsehoods pass, and is only warned.
    """
    rates = _rates(canaries.filter(which))
    if rates is None:
        nothing = "the batch has no such canaries: too little text, or none are made"
        return Gate(name, True, may_block, None, threshold, 0, nothing)
    blocking = may_block and canaries.filter(pl.col("decided_by") == "similarity_only").is_empty()
    low, high, share = (float(rates[f"{outcome}_{part}"]) for part in ("low", "high", "share"))
    passed = high >= threshold if at_least else low <= threshold or rates[outcome] <= 1
    count, detail = int(rates["canaries"]), _figures(canaries.filter(which), outcome)
    return Gate(name, passed, blocking, share, threshold, count, detail)


def _rates(canaries: pl.DataFrame) -> dict[str, float] | None:
    """Return counts, shares and bounds over all these canaries; None if none has a verdict."""
    rates = canary_rates(canaries.with_columns(expected=pl.lit("all")), ("expected",)).drop("expected")
    return rates.row(0, named=True) if rates.height else None


def _figures(canaries: pl.DataFrame, outcome: str) -> str:
    """Return in words how many canaries were accepted or rejected, with the interval, and of each kind."""
    total = _rates(canaries) or {}
    by_kind = canary_rates(canaries, ("kind",)).select("kind", outcome, "canaries").iter_rows()
    kinds = ", ".join(f"{kind} {count} of {number}" for kind, count, number in by_kind)
    interval = f"{total[f'{outcome}_low']:.3f} to {total[f'{outcome}_high']:.3f}"
    return f"{total[outcome]} of {total['canaries']} {outcome}, 95 % interval {interval} ({kinds})"


_ALONE = ~pl.col("mechanism").str.ends_with(JOINED)

canary_recall_gate = partial(
    _rate_gate,
    "canary_recall",
    _LOCAL & _ALONE & (pl.col("kind") == EDITED),
    "rejected",
    MIN_RECALL,
    at_least=True,
)
canary_accepts_gate = partial(_rate_gate, "canary_accepts", _LOCAL & _WRONG, "accepted", MAX_ACCEPTS)
canary_alarms_gate = partial(
    _rate_gate,
    "canary_alarms",
    _LOCAL & (pl.col("kind") == VERBATIM),
    "rejected",
    MAX_ALARMS,
    may_block=False,
)


def reviewer_trust(canaries: pl.DataFrame, reviewer: Reviewer) -> Gate:
    """Return a gate that passes unless a model accepts falsehoods in a share surely over the limit.

    Replies that are lacking or cannot be read say nothing; a model of which nothing is known is trusted.
    """
    wrong = _BY_MODEL & _WRONG & (pl.col("asks") == reviewer)
    return _rate_gate(
        f"{reviewer}_canaries", wrong, "accepted", MAX_TRUSTED, canaries=canaries, may_block=False
    )


def _reviewer_gate(
    reviewer: Reviewer, reason: str, *, canaries: pl.DataFrame, verdicts: pl.DataFrame
) -> Gate:
    """Warn where pairs wait since a model accepts falsehoods, and where it accepts nothing at all."""
    judged = canaries.filter(_BY_MODEL, pl.col("asks") == reviewer)
    trust, right = reviewer_trust(canaries, reviewer), _rates(judged.filter(~_WRONG))
    waiting, unread = (
        verdicts.filter(pl.col("reason") == reason).height,
        judged.filter(verdict="failed").height,
    )
    refuses = right is not None and right["canaries"] > 1 and not right["accepted"]
    parts = [
        f"wrong ones: {trust.detail}",
        f"none of {right['canaries']} right ones is accepted" if right is not None and refuses else "",
        f"{unread} without a reply that can be read" if unread else "",
        f"{waiting} pairs wait: name another model (llm.{reviewer}.model)" if waiting else "",
    ]
    detail, counts = "; ".join(filter(None, parts)), {"waiting": waiting}
    return Gate(
        trust.name, not waiting and not refuses, False, trust.value, MAX_TRUSTED, trust.n, detail, counts
    )


verifier_canaries_gate = partial(_reviewer_gate, "verifier", VERIFIER_NOT_TRUSTED)
judge_canaries_gate = partial(_reviewer_gate, "judge", JUDGE_NOT_TRUSTED)
