"""Whether a metric of production is still what it was: each day's scores against a reference.

The test of a metric and day is that of Kolmogorov and Smirnov. Benjamini-Hochberg keeps the false discovery
rate among the metrics of a day. Drift is reported only where a metric differs on two tested days in a row, or
on one day at a level so small that a year of days has it rarely; and once, until it has been as before for a
week.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.evaluation.reports.deciders import rests_on_likeness
from qa_pipeline.monitoring.days import decisions_of, describe_decisions, metrics_of
from qa_pipeline.statistics import Floats

DRIFT = pl.Schema(
    {
        "day": pl.Date(),
        "metric": pl.String(),
        "rows": pl.Int64(),
        "mean": pl.Float64(),
        "reference_mean": pl.Float64(),
        "ks": pl.Float64(),
        "p": pl.Float64(),
        "differs": pl.Boolean(),
        "decided_by": pl.String(),
        "state": pl.String(),
        "message": pl.String(),
    }
)
"""One row for each day and metric. `ks` is the largest distance of the distribution functions, `p` the chance
of such a one, `differs` whether it is a discovery of its day; null where nothing was tested.
`state` is reference, not enough rows, steady, differs (not yet confirmed), drift (first day) or drifted; by
likeness in the place of drift where likeness alone decided the metric.
`decided_by` says who decided, with shares."""
BY_LIKENESS = "by likeness"
LEAST_ROWS = 20
"""Fewest rows of known score; days and hours with fewer are not tested."""
REFERENCE_DAYS = 28
"""First days with rows that later ones are compared with: whole weeks."""
_RATE, _CONFIRMED = 0.01, 2
"""False discovery rate among a day's metrics, and days in a row that must differ."""
_YEAR = 365
"""Days over which a difference that counts at once is rare."""
_RECOVERED = 7
"""Tested days in a row without a difference that end a drift: one of each day of the week."""


def find_drift(rows: pl.DataFrame, reference: pl.DataFrame | None = None) -> pl.DataFrame:
    """Compare each day of each metric with the reference; `DRIFT`, by day and then by metric.

    Args:
        rows: scored rows of some days.
        reference: scored rows to hold all days against; the first `REFERENCE_DAYS` days of `rows` by default,
            which are not tested themselves.
    """
    days: list[date] = rows["day"].unique().sort().to_list()
    reference_set = set(days[:REFERENCE_DAYS]) if reference is None else set()
    before = rows.filter(pl.col("day").is_in(reference_set)) if reference is None else reference
    metrics = [name for name in metrics_of(rows) if name in before.columns]
    references = {name: np.sort(before[name].drop_nulls().to_numpy()) for name in metrics}
    drift_rows: list[dict[str, Any]] = []
    likely: set[tuple[date, str]] = set()
    for of_day in rows.sort("day", maintain_order=True).partition_by("day", maintain_order=True):
        day = of_day["day"][0]
        is_reference = day in reference_set
        tested = [_tested(day, of_day[name], references[name], is_reference=is_reference) for name in metrics]
        _mark_discoveries(tested)
        by = decisions_of(of_day)
        drift_rows += [{**row, "decided_by": describe_decisions(of_day, row["metric"])} for row in tested]
        likely |= {(day, name) for name, counts in by.items() if rests_on_likeness(counts)}
    _mark_states(drift_rows)
    for row in drift_rows:
        if row["state"] in ("drift", "drifted") and (row["day"], row["metric"]) in likely:
            row["state"] = BY_LIKENESS
    return pl.DataFrame([{**row, "message": _message(row)} for row in drift_rows], schema=DRIFT)


def _tested(day: date, scores: pl.Series, reference: Floats, *, is_reference: bool) -> dict[str, Any]:
    """Return a row of `DRIFT`, without a state where it was tested."""
    from scipy.stats import ks_2samp

    values = np.sort(scores.drop_nulls().to_numpy())  # sums do not depend on the order then
    row: dict[str, Any] = {
        "day": day,
        "metric": scores.name,
        "rows": len(values),
        "mean": float(values.mean()) if len(values) else None,
        "reference_mean": float(reference.mean()) if len(reference) else None,
    }
    if is_reference or min(len(values), len(reference)) < LEAST_ROWS:
        return {**row, "state": "reference" if is_reference else "not enough rows"}
    tested = ks_2samp(values, reference, method="asymp")
    return {**row, "ks": float(tested.statistic), "p": float(tested.pvalue)}


def _mark_discoveries(of_day: Sequence[dict[str, Any]]) -> None:
    """Mark the metrics of one day that differ, at the rate and at that of a whole year."""
    from scipy.stats import false_discovery_control

    tested = [row for row in of_day if "p" in row]
    adjusted = false_discovery_control([row["p"] for row in tested]) if tested else ()
    for row, chance in zip(tested, adjusted, strict=True):
        row["differs"] = bool(chance <= _RATE)
        row["at_once"] = bool(chance <= _RATE / _YEAR)


def _mark_states(rows: Sequence[dict[str, Any]]) -> None:
    """Set the state of each tested row from earlier ones of its metric; untested days change nothing."""
    differing, steady, drifted = Counter[str](), Counter[str](), set[str]()
    for row in rows:
        if "p" not in row:
            continue
        name, at_once = row["metric"], row.pop("at_once")
        differing[name] = differing[name] + 1 if row["differs"] else 0
        steady[name] = 0 if row["differs"] else steady[name] + 1
        if steady[name] >= _RECOVERED:
            drifted.discard(name)
        if name in drifted:
            row["state"] = "drifted"
        elif at_once or differing[name] >= _CONFIRMED:
            drifted.add(name)
            row["state"] = "drift"
        else:
            row["state"] = "differs" if row["differs"] else "steady"


def _message(row: dict[str, Any]) -> str:
    """Return a row of `DRIFT` as one sentence."""
    about = f"{row['metric']} on {row['day']}: {row['state']}"
    if "p" not in row:
        return f"{about} ({row['rows']} rows)"
    moved = f"mean {row['reference_mean']:.3f} to {row['mean']:.3f}, KS {row['ks']:.3f}"
    return f"{about}: {moved}, p {row['p']:.2g}, {row['rows']} rows, decided by {row['decided_by']}"
