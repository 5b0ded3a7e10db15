"""Figures of production that are too bad: means against their limits, by the day or by the hour.

A mean raises an alert where its score interval (`statistics.mean_bounds`) excludes the limit. It takes rows
as independent: many requests of one user, or about one document, are fewer than they seem. A figure that
likeness alone decided for the most part proves nothing, good or bad, and is told as not decided.
"""

from datetime import date
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.summaries import describe_deciders, rests_on_likeness
from qa_pipeline.monitoring.days import decisions_of
from qa_pipeline.monitoring.drift import LEAST_ROWS
from qa_pipeline.settings.monitoring import MonitoringSettings
from qa_pipeline.statistics import Floats, Sums, mean_bounds

LEVELS = pl.Schema(
    {
        "metric": pl.String(),
        "day": pl.Date(),
        "hour": pl.Int8(),
        "rows": pl.Int64(),
        "mean": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "limit": pl.Float64(),
        "side": pl.String(),
        "decided_by": pl.String(),
        "state": pl.String(),
        "message": pl.String(),
    }
)
"""One row for each mean that is held against its limit: of a day, or of an hour of it (UTC). `rows` are those
whose score is known, `low` and `high` the interval of their mean, null where there are not enough of them.
`side` is the one of the limit on which a mean is bad, below or above. `state` is alert where the whole
interval is there, uncertain where the mean alone is, fine, not decided, or not enough rows."""
NOT_DECIDED = "not decided"
_ERROR = 0.01
"""Chance that the interval of a day misses its mean; the hours of a day share it."""
_HOURS = 24
"""Tests a day of a metric that is looked at by the hour: they share the chance of a false alert."""


def alerts_of(levels: pl.DataFrame, drift: pl.DataFrame, since: date = date.min) -> list[dict[str, Any]]:
    """Return alerts as JSON objects in order of time.

    Their kinds are level (a bad mean), drift, and undecided (a mean that likeness alone decided); of the
    last there is one for each day of a metric.

    Args:
        levels: means held against limits (`LEVELS`).
        drift: days held against the reference (`DRIFT`).
        since: the first day that is told of.
    """
    undecided = levels.filter(state=NOT_DECIDED).unique(["metric", "day"], keep="first", maintain_order=True)
    kinds = {
        "level": levels.filter(state="alert"),
        "drift": drift.filter(state="drift"),
        "undecided": undecided,
    }
    alerts = [
        {"kind": kind, **row, "day": row["day"].isoformat()}
        for kind, rows in kinds.items()
        for row in rows.filter(pl.col("day") >= since).iter_rows(named=True)
    ]
    return sorted(alerts, key=lambda alert: (alert["day"], alert.get("hour") or 0))


def find_levels(rows: pl.DataFrame, settings: MonitoringSettings) -> pl.DataFrame:
    """Return every mean that has a limit (`LEVELS`), by metric and then by time.

    A day of the hourly ones shares its chance of error among 24 hours (Bonferroni). A row without a time
    counts in its day and in no hour.

    Args:
        rows: scored rows (`days.BASE` and metrics).
        settings: of alerts.

    Raises:
        InputError: a metric with a limit has a score outside 0 to 1.
    """
    sides = {"below": settings.alerts.below, "above": settings.alerts.above}
    limits = [(side, metric, limit) for side in sides for metric, limit in sides[side].items()]
    unscored = [pl.lit(None, pl.Float64()).alias(name) for _, name, _ in limits if name not in rows.columns]
    ordered = rows.sort("day", "time", "id", nulls_last=True).with_columns(
        *unscored, hour=pl.col("time").dt.hour()
    )
    levels: list[dict[str, Any]] = []
    for side, metric, limit in limits:
        hourly = metric in settings.alerts.hourly
        parts = ordered.drop_nulls("hour") if hourly else ordered.with_columns(hour=None)
        for (day, hour), part in parts.group_by("day", "hour", maintain_order=True):
            scores = part[metric].drop_nulls().to_numpy()
            if len(scores) and not 0 <= scores.min() <= scores.max() <= 1:
                raise InputError(
                    f"{metric} has scores from {scores.min():g} to {scores.max():g} on {day}, and a limit "
                    "needs scores between 0 and 1; leave it out of monitoring.alerts"
                )
            steps = decisions_of(part, metric)
            level = {
                "metric": metric,
                "day": day,
                "hour": hour,
                "limit": limit,
                "side": side,
                **_state(scores, limit, side, _ERROR / (_HOURS if hourly else 1)),
                "decided_by": describe_deciders(steps),
            }
            if "low" in level and rests_on_likeness(steps):
                level["state"] = NOT_DECIDED
            levels.append(level | {"message": _message(level)})
    return pl.DataFrame(levels, schema=LEVELS)


def _state(scores: Floats, limit: float, side: str, error: float) -> dict[str, Any]:
    """Return the mean of some scores compared with its limit."""
    mean = float(scores.mean()) if len(scores) else None
    level_state: dict[str, Any] = {"rows": len(scores), "mean": mean, "state": "not enough rows"}
    if mean is None or len(scores) < LEAST_ROWS:
        return level_state
    each_alone = Sums(scores[:, None], np.ones((len(scores), 1)))
    low, high = (float(end[0]) for end in mean_bounds(each_alone, np.zeros(1), np.ones(1), 1 - error))
    # turned round, so that low values are bad ones
    nearest, middle, bad = (high, mean, limit) if side == "below" else (-low, -mean, -limit)
    state = "alert" if nearest < bad else "uncertain" if middle < bad else "fine"
    return {**level_state, "low": low, "high": high, "state": state}


def _message(row: dict[str, Any]) -> str:
    """Return a row of `LEVELS` as one sentence."""
    hour = "" if row["hour"] is None else f" {row['hour']}–{row['hour'] + 1} h UTC"
    where = f"{row['metric']} on {row['day']}{hour}"
    if "low" not in row:
        return f"{where}: {row['state']} ({row['rows']})"
    bounds = f"{row['mean']:.3f} ({row['low']:.3f}–{row['high']:.3f}, {row['rows']} rows)"
    limit = f"limit: not {row['side']} {row['limit']:g}"
    return f"{where} is {bounds}; {limit}: {row['state']}; decided by {row['decided_by']}"
