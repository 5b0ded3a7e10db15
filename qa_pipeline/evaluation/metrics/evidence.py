"""Metrics of evidence: how good what an answer rests on is, and whether a chain of it holds."""

import polars as pl

from qa_pipeline.evaluation.metrics.base import (
    STATEMENTS_VERSION,
    Metric,
    all_known,
    field,
    share,
)
from qa_pipeline.evaluation.metrics.grounding import DECIDED, faithfulness

WEIGHTS = {"support": 0.4, "independence": 0.3, "recency": 0.2, "authority": 0.1}
HALF_LIFE_DAYS = 365.0
"""Days after which evidence counts half, before the newest context of its row: no clock is read. A year fits
rules and handbooks; news ages faster."""
_SPECIFIED = "specification of this project (docs/metrics.md)"


def _parts() -> dict[str, pl.Expr]:
    """Return the four parts, each null where it is unknown.

    support: share of statements supported. independence: documents / contexts that the supported statements
    rest on. recency: mean of these contexts' halvings before the newest dated one. authority: their mean.
    """
    statement = pl.element()
    used = pl.col("statements").list.eval(
        statement.filter(statement.struct.field("verdict") == "supported")
        .struct.field("context")
        .drop_nulls()
        .unique(maintain_order=True)
        .sort()
    )
    documents, dates, authority = (
        field(pl.col("contexts"), name).list.gather(used) for name in ("document", "date", "authority")
    )
    read = pl.element().str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    days = read.dt.epoch("d").cast(pl.Float64)
    newest = field(pl.col("contexts"), "date").list.eval(days).list.max()
    age = (newest - dates.list.eval(days)) / HALF_LIFE_DAYS
    some = used.list.len() > 0
    return {
        "support": faithfulness(),
        "independence": pl.when(some & all_known(documents)).then(
            documents.list.n_unique() / used.list.len()
        ),
        "recency": share(age.list.eval(pl.lit(2.0).pow(-pl.element()))),
        "authority": share(authority),
    }


def _quality() -> pl.Expr:
    """Return the parts by weight, those that are unknown left out; null without support."""
    parts = _parts()
    weights = {name: pl.when(part.is_not_null()).then(WEIGHTS[name]) for name, part in parts.items()}
    total = pl.sum_horizontal(*weights.values())
    value = pl.sum_horizontal(*(weights[name] * part for name, part in parts.items()))
    return pl.when(parts["support"].is_not_null()).then(value / total)


def _deciders() -> pl.Expr:
    """Return the deciders of the statements, and the parts left out for want of data."""
    missing = [
        pl.when(part.is_null()).then(pl.lit([f"without {name}"])).otherwise(pl.lit([], pl.List(pl.String())))
        for name, part in _parts().items()
        if name != "support"
    ]
    return pl.concat_list(DECIDED, *missing)


def _unbroken() -> pl.Expr:
    """Return the share of the steps, from the second on, at which confidence does not fall."""
    confidences = pl.col("confidences")
    steps = confidences.list.eval(pl.element().diff().slice(1) >= 0)
    finite = confidences.list.eval(pl.element().is_finite()).list.all()
    return pl.when(finite & all_known(confidences)).then(share(steps))


METRICS = (
    Metric(
        "evidence_quality",
        ("statements", "contexts"),
        _quality(),
        f"{_SPECIFIED}: 0.4 support + 0.3 independence + 0.2 recency + 0.1 authority, unknown parts left out",
        decided_by=_deciders(),
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "chain_integrity",
        ("confidences",),
        _unbroken(),
        f"{_SPECIFIED}: steps at which confidence does not fall / steps",
    ),
)
