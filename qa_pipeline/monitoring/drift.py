"""Drift: the scores of each day against the first days, by the test of Kolmogorov and Smirnov.

Benjamini-Hochberg keeps the false discovery rate among the metrics of a day. Drift is a difference on two
tested days in a row, or on one day at a level that is rare in a year.
"""

from datetime import date
from typing import Any

import polars as pl

from qa_pipeline.evaluation.summaries import describe_deciders
from qa_pipeline.monitoring.days import decisions_of, metrics_of
from qa_pipeline.statistics import Floats

DRIFT = pl.Schema(
    {
        "day": pl.Date(),
        "metric": pl.String(),
        "rows": pl.Int64(),
        **dict.fromkeys(("mean", "reference_mean", "ks", "p"), pl.Float64()),
        "differs": pl.Boolean(),
        **dict.fromkeys(("decided_by", "state", "message"), pl.String()),
    }
)
"""A row for each day and metric. `ks` is the largest distance of the distribution functions and `p` its
probability by chance, null if rows are too few. `differs` is True for a discovery of its day, null if
untested. `state` is reference, not enough rows, steady, differs (unconfirmed) or drift."""
LEAST_ROWS = 20
"""Fewest rows of known score; days and hours with fewer are untested."""
REFERENCE_DAYS = 28
"""First days with rows, the reference: whole weeks."""
_RATE = 0.01
"""False discovery rate among the metrics of a day."""
_YEAR = 365


def find_drift(rows: pl.DataFrame) -> pl.DataFrame:
    """Compare each day of each metric in scored rows with the reference (`DRIFT`, by day and metric)."""
    from scipy.stats import false_discovery_control

    days: list[date] = rows["day"].unique().sort().to_list()
    reference_days = days[:REFERENCE_DAYS]
    reference_rows = rows.filter(pl.col("day").is_in(reference_days))
    metrics = metrics_of(rows)
    references = {name: reference_rows[name].drop_nulls().sort().to_numpy() for name in metrics}
    differed_before = dict.fromkeys(metrics, False)  # on the last tested day
    drift_rows: list[dict[str, Any]] = []
    for day in days:
        of_day = rows.filter(pl.col("day") == day)
        is_reference = day in reference_days
        untested = {"day": day, "state": "reference" if is_reference else "not enough rows"}
        compared = [untested | _compared(of_day, name, references[name]) for name in metrics]
        tested = [row for row in compared if "p" in row and not is_reference]
        adjusted = false_discovery_control([row["p"] for row in tested]) if tested else ()
        for row, adjusted_p in zip(tested, adjusted, strict=True):
            name, differs = row["metric"], bool(adjusted_p <= _RATE)
            if differs and (differed_before[name] or adjusted_p <= _RATE / _YEAR):
                row["state"] = "drift"
            else:
                row["state"] = "differs" if differs else "steady"
            row["differs"] = differs
            differed_before[name] = differs
        drift_rows += [{**row, "message": _message(row)} for row in compared]
    return pl.DataFrame(drift_rows, schema=DRIFT)


def _compared(rows: pl.DataFrame, metric: str, reference: Floats) -> dict[str, Any]:
    """Compare the scores of a day with the reference, with a test if both have enough rows."""
    from scipy.stats import ks_2samp

    values = rows[metric].drop_nulls().sort().to_numpy()  # sorted, so that sums are reproducible
    compared: dict[str, Any] = {
        "metric": metric,
        "rows": len(values),
        "mean": float(values.mean()) if len(values) else None,
        "reference_mean": float(reference.mean()) if len(reference) else None,
        "decided_by": describe_deciders(decisions_of(rows, metric)),
    }
    if min(len(values), len(reference)) < LEAST_ROWS:
        return compared
    tested = ks_2samp(values, reference, method="asymp")
    return {**compared, "ks": float(tested.statistic), "p": float(tested.pvalue)}


def _message(row: dict[str, Any]) -> str:
    """Return a row of `DRIFT` as a sentence."""
    about = f"{row['metric']} on {row['day']}: {row['state']}"
    if "differs" not in row:
        return f"{about} ({row['rows']} rows)"
    moved = f"mean {row['reference_mean']:.3f} to {row['mean']:.3f}, KS {row['ks']:.3f}"
    return f"{about}: {moved}, p {row['p']:.2g}, {row['rows']} rows, decided by {row['decided_by']}"
