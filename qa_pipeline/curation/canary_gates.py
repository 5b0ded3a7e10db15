"""Check the canaries of a batch, and decide if its verifier and judge can be trusted.

Canaries do not estimate the number of wrong rows in a release, because real errors differ from canaries. A
gate fails only if the whole 95 % interval of a share is beyond the limit. This avoids failures by chance in
small batches. A reviewing model that makes too many errors is no longer trusted. Rows that it did not decide
are kept.
"""

from functools import partial
from typing import Literal

import polars as pl

from qa_pipeline.curation.gate import Gate
from qa_pipeline.verification.canaries import EDITED, JOINED, VERBATIM, canary_rates
from qa_pipeline.verification.deciding import NOT_TRUSTED

MIN_RECALL = 0.7
"""Minimum share of changed sentences that the local steps must reject."""
MAX_ACCEPTS = 0.02
"""Maximum share of falsehoods that the local steps may accept."""
MAX_ALARMS = 0.05
"""Maximum share of unchanged sentences that the local steps may reject."""
MAX_TRUSTED = 0.1
"""Maximum share of falsehoods that a model may accept. A few falsehoods made by rules happen to be true."""
MODEL = "llm"
VERIFIER_NOT_TRUSTED, JUDGE_NOT_TRUSTED = NOT_TRUSTED, "judge_not_trusted"
"""Reason codes of pairs that wait because a model accepted canaries that are wrong on purpose."""
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
    """Return a gate that fails if the whole 95 % interval of a share is beyond the threshold.

    `at_least` makes the threshold a lower limit. For an upper limit, a single canary never fails the gate,
    because a few falsehoods happen to be true. With the policy `similarity_only` the gate only warns,
    because that policy accepts falsehoods by design.
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
    """Return counts, shares and bounds over all these canaries; None if all of them failed."""
    rates = canary_rates(canaries.with_columns(expected=pl.lit("all")), ("expected",)).drop("expected")
    return rates.row(0, named=True) if rates.height else None


def _figures(canaries: pl.DataFrame, outcome: str) -> str:
    """Describe in words the number of accepted or rejected canaries, its 95 % interval and its kinds."""
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
    """Return a gate that fails if the share of falsehoods a model accepts is surely over the limit.

    Missing and unreadable replies are ignored. A model without any replies is trusted.
    """
    wrong = _BY_MODEL & _WRONG & (pl.col("asks") == reviewer)
    return _rate_gate(
        f"{reviewer}_canaries", wrong, "accepted", MAX_TRUSTED, canaries=canaries, may_block=False
    )


def _reviewer_gate(
    reviewer: Reviewer, reason: str, *, canaries: pl.DataFrame, verdicts: pl.DataFrame
) -> Gate:
    """Return a gate that warns if pairs wait for a distrusted model, or if it rejects all true canaries."""
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
