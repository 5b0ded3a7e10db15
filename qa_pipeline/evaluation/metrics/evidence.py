"""Metrics of evidence: how good what an answer rests on is, and whether a chain of it holds."""

import math
from datetime import date
from itertools import pairwise

from qa_pipeline.evaluation.metrics.base import SPECIFIED, STATEMENTS_VERSION, metric, share
from qa_pipeline.evaluation.metrics.grounding import faithfulness, supporting_contexts
from qa_pipeline.evaluation.signals.means import Row

WEIGHTS = {"support": 0.4, "independence": 0.3, "recency": 0.2, "authority": 0.1}
HALF_LIFE_DAYS = 365.0
"""Days after which evidence counts half, before the newest context of its row: no clock is read. A year fits
rules and handbooks; news ages faster."""
MOST_FALL = 0.05
"""Loss of confidence that still counts as none: as much as two replies of one model differ."""


def _parts(row: Row) -> dict[str, float | None]:
    """Return the four parts of evidence_quality, each None if unknown.

    support: share of statements supported. independence: documents / contexts that the supported statements
    rest on. recency: mean of these contexts' halvings before the newest dated one. authority: their mean.
    """
    used = supporting_contexts(row)
    documents = [context["document"] for context in used]
    newest = max((day for context in row["contexts"] if (day := _day(context["date"]))), default=None)
    days = [_day(context["date"]) for context in used]
    ages = [None if newest is None or day is None else newest - day for day in days]
    return {
        "support": faithfulness(row),
        "independence": len({*documents}) / len(used) if used and None not in documents else None,
        "recency": share(None if age is None else 2.0 ** (-age / HALF_LIFE_DAYS) for age in ages),
        "authority": share(context["authority"] for context in used),
    }


def _day(text: str | None) -> int | None:
    try:
        return date.fromisoformat((text or "")[:10]).toordinal()
    except ValueError:
        return None


def _without(row: Row) -> list[str]:
    return [f"without {name}" for name, part in _parts(row).items() if part is None]


@metric(
    "statements",
    "contexts",
    source=f"{SPECIFIED}: 0.4 support + 0.3 independence + 0.2 recency + 0.1 authority, unknown parts left "
    "out",
    decided_by=("statements",),
    without=_without,
    version=STATEMENTS_VERSION,
)
def evidence_quality(row: Row) -> float | None:
    """Return the support of the evidence, independence of its sources, their date and authority."""
    parts = {name: part for name, part in _parts(row).items() if part is not None}
    if "support" not in parts:
        return None
    weighted = math.fsum(WEIGHTS[name] * part for name, part in parts.items())
    return weighted / math.fsum(WEIGHTS[name] for name in parts)


@metric(
    "confidences",
    source=f"{SPECIFIED}: steps at which confidence falls by {MOST_FALL} at most / steps",
    version=2,
)
def chain_integrity(row: Row) -> float | None:
    """Return the share of the steps of evidence at which the confidence falls by 0.05 at most."""
    confidences = row["confidences"]
    if None in confidences or not all(map(math.isfinite, confidences)):
        return None
    return share(before - after <= MOST_FALL + 1e-9 for before, after in pairwise(confidences))
