"""Check the canaries of a batch, and decide if its verifier and judge can be trusted.

Canaries do not estimate the number of wrong rows in a release, because real errors differ from canaries. A
gate fails only if the whole 95 % interval of a share is beyond the limit. This avoids failures by chance in
small batches. A reviewing model that makes too many errors is no longer trusted. Rows that it did not decide
are kept.
"""

from typing import Literal

import polars as pl

from qa_pipeline.curation.gate import Gate
from qa_pipeline.verification.canaries import EDITED, JOINED, VERBATIM, canary_rates

MIN_RECALL = 0.7
"""Minimum share of changed sentences that the local steps must reject."""
MAX_ACCEPTS = 0.02
"""Maximum share of falsehoods that the local steps may accept."""
MAX_ALARMS = 0.05
"""Maximum share of unchanged sentences that the local steps may reject."""
MAX_TRUSTED = 0.1
"""Maximum share of falsehoods that a model may accept. A few falsehoods made by rules happen to be true."""
MODEL = "llm"
VERIFIER_NOT_TRUSTED, JUDGE_NOT_TRUSTED = "verifier_not_trusted", "judge_not_trusted"
"""Reason codes of pairs that wait because a model accepted canaries that are wrong on purpose."""
Reviewer = Literal["verifier", "judge"]

_BY_MODEL = (pl.col("asks") == "judge") | (pl.col("decided_by") == MODEL)
_IS_FALSE = pl.col("expected") == "rejected"
_BY_LOCAL_STEPS = (pl.col("asks") == "verifier") & ~_BY_MODEL
_IS_SINGLE_SENTENCE = ~pl.col("mechanism").str.ends_with(JOINED)


def canary_recall_gate(*, canaries: pl.DataFrame) -> Gate:
    """Check that changed sentences are rejected, by the upper bound of their share."""
    changed = canaries.filter(_BY_LOCAL_STEPS & _IS_SINGLE_SENTENCE & (pl.col("kind") == EDITED))
    return _rate_gate("canary_recall", changed, "rejected", MIN_RECALL, at_least=True)


def canary_accepts_gate(*, canaries: pl.DataFrame) -> Gate:
    """Check that changed sentences are not accepted, by the lower bound of their share."""
    return _rate_gate("canary_accepts", canaries.filter(_BY_LOCAL_STEPS & _IS_FALSE), "accepted", MAX_ACCEPTS)


def canary_alarms_gate(*, canaries: pl.DataFrame) -> Gate:
    """Check that unchanged sentences are not rejected, by the lower bound of their share."""
    unchanged = canaries.filter(_BY_LOCAL_STEPS & (pl.col("kind") == VERBATIM))
    return _rate_gate("canary_alarms", unchanged, "rejected", MAX_ALARMS, may_block=False)


def verifier_canaries_gate(*, canaries: pl.DataFrame, verdicts: pl.DataFrame) -> Gate:
    """Check that the verifying model rejects false claims, so that pairs need not wait."""
    return _reviewer_gate("verifier", VERIFIER_NOT_TRUSTED, canaries, verdicts)


def judge_canaries_gate(*, canaries: pl.DataFrame, verdicts: pl.DataFrame) -> Gate:
    """Check that the judge rejects wrong answers, so that pairs need not wait."""
    return _reviewer_gate("judge", JUDGE_NOT_TRUSTED, canaries, verdicts)


def reviewer_trust(canaries: pl.DataFrame, reviewer: Reviewer) -> Gate:
    """Return a gate that fails if the share of falsehoods a model accepts is surely over the limit.

    Missing and unreadable replies are ignored. A model without any replies is trusted.
    """
    falsehoods = canaries.filter(_BY_MODEL & _IS_FALSE & (pl.col("asks") == reviewer))
    return _rate_gate(f"{reviewer}_canaries", falsehoods, "accepted", MAX_TRUSTED, may_block=False)


def _rate_gate(
    name: str,
    canaries: pl.DataFrame,
    outcome: Literal["rejected", "accepted"],
    threshold: float,
    *,
    at_least: bool = False,
    may_block: bool = True,
) -> Gate:
    """Return a gate that fails if the whole 95 % interval of a share is beyond the threshold.

    `at_least` makes the threshold a lower limit. For an upper limit, a single canary never fails the gate,
    because a few falsehoods happen to be true. With the policy `similarity_only` the gate only warns,
    because that policy accepts falsehoods by design.
    """
    rates = _rates(canaries)
    if rates is None:
        nothing = "the batch has no such canaries: too little text, or none are made"
        return Gate(name, True, may_block, None, threshold, 0, nothing)
    blocking = may_block and canaries.filter(pl.col("decided_by") == "similarity_only").is_empty()
    low, high, share = (float(rates[f"{outcome}_{part}"]) for part in ("low", "high", "share"))
    passed = high >= threshold if at_least else low <= threshold or rates[outcome] <= 1
    count = int(rates["canaries"])
    counts_by_kind = canary_rates(canaries, ("kind",)).select("kind", outcome, "canaries").iter_rows()
    kinds = ", ".join(f"{kind} {part} of {total}" for kind, part, total in counts_by_kind)
    detail = f"{rates[outcome]} of {count} {outcome}, 95 % interval {low:.3f} to {high:.3f} ({kinds})"
    return Gate(name, passed, blocking, share, threshold, count, detail)


def _rates(canaries: pl.DataFrame) -> dict[str, float] | None:
    """Return counts, shares and bounds over all these canaries; None if all of them failed."""
    one_group = canaries.with_columns(expected=pl.lit("all"))
    rates = canary_rates(one_group, ("expected",)).drop("expected")
    return rates.row(0, named=True) if rates.height else None


def _reviewer_gate(reviewer: Reviewer, reason: str, canaries: pl.DataFrame, verdicts: pl.DataFrame) -> Gate:
    """Return a gate that warns if pairs wait for a distrusted model, or if it rejects all true canaries."""
    reviewed = canaries.filter(_BY_MODEL, pl.col("asks") == reviewer)
    trust, true_rates = reviewer_trust(canaries, reviewer), _rates(reviewed.filter(~_IS_FALSE))
    waiting = verdicts.filter(pl.col("reason") == reason).height
    unreadable = reviewed.filter(verdict="failed").height
    rejects_all = true_rates is not None and true_rates["canaries"] > 1 and not true_rates["accepted"]
    parts = [f"wrong ones: {trust.detail}"]
    if rejects_all:
        parts.append("no right one is accepted")
    if unreadable:
        parts.append(f"{unreadable} without a reply that can be read")
    if waiting:
        parts.append(f"{waiting} pairs wait: name another model (llm.{reviewer}.model)")
    passed = not waiting and not rejects_all
    detail, counts = "; ".join(parts), {"waiting": waiting}
    return Gate(trust.name, passed, False, trust.value, MAX_TRUSTED, trust.n, detail, counts)
