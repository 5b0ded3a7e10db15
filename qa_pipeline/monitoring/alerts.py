"""Figures of production that are too bad: means against their limits, by the day or by the hour.

A mean raises an alert where its score interval (`statistics.mean_bounds`) excludes the limit. It takes rows
as independent: many requests of one user, or about one document, are fewer than they seem.
"""

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.reports.deciders import rests_on_likeness
from qa_pipeline.monitoring.days import DECIDED_BY, DECISIONS, decisions_of, describe_decisions
from qa_pipeline.monitoring.drift import BY_LIKENESS, LEAST_ROWS, find_drift
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
interval is there, uncertain where the mean alone is, fine, or not enough rows."""
_ERROR = 0.01
"""Chance that the interval of a day misses its mean; the hours of a day share it."""
_HOURS = 24
"""Tests a day of a metric that is looked at by the hour: they share the chance of a false alert."""


@dataclass(frozen=True)
class Findings:
    """The findings in the scores of some days.

    Args:
        levels: means held against limits (`LEVELS`).
        drift: days held against the reference (`DRIFT`).
    """

    levels: pl.DataFrame
    drift: pl.DataFrame

    def alerts(self, since: date = date.min) -> list[dict[str, Any]]:
        """Return alerts as JSON objects in order of time: bad means, and where drift begins.

        A bad figure that cosines and words in common alone decided is an alert of its own kind, `undecided`.

        Args:
            since: the first day that is told of.
        """
        alert_rows: list[dict[str, Any]] = []
        for kind, rows, state in (
            ("level", self.levels, "alert"),
            ("drift", self.drift, "drift"),
            ("undecided", self.levels, BY_LIKENESS),
            ("undecided", self.drift, BY_LIKENESS),
        ):
            bad = rows.filter(pl.col("state") == state, pl.col("day") >= since).to_dicts()
            alert_rows += [{"kind": kind, **row, "day": row["day"].isoformat()} for row in bad]
        return sorted(alert_rows, key=lambda alert: (alert["day"], alert.get("hour") or 0))


def findings(
    rows: pl.DataFrame, settings: MonitoringSettings, reference: pl.DataFrame | None = None
) -> Findings:
    """Return the findings on scored rows, by their limits and their reference.

    Args:
        rows: scored rows of some days.
        settings: of alerts and drift.
        reference: as for `find_drift`.

    Raises:
        InputError: a metric with a limit has a score outside 0 to 1.
    """
    return Findings(find_levels(rows, settings), find_drift(rows, reference))


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
    ordered = rows.sort("day", "time", "id", nulls_last=True)
    if DECIDED_BY not in rows.columns:
        ordered = ordered.with_columns(pl.lit(None, DECISIONS).alias(DECIDED_BY))
    sides = {"below": settings.alerts.below, "above": settings.alerts.above}
    levels: list[dict[str, Any]] = []
    for side, metric, limit in [(side, *item) for side, limits in sides.items() for item in limits.items()]:
        hourly = metric in settings.alerts.hourly
        error = _ERROR / (_HOURS if hourly else 1)
        score = pl.col(metric) if metric in rows.columns else pl.lit(None, pl.Float64())
        hours = pl.col("time").dt.hour() if hourly else None
        measured = ordered.select("day", DECIDED_BY, hour=hours, score=score)
        timed = measured.drop_nulls("hour") if hourly else measured
        for (day, hour), part in timed.group_by("day", "hour", maintain_order=True):
            about = {"metric": metric, "day": day, "hour": hour, "limit": limit, "side": side}
            scores = part["score"].drop_nulls().to_numpy()
            if len(scores) and not 0 <= scores.min() <= scores.max() <= 1:
                raise InputError(
                    f"{metric} has scores from {scores.min():g} to {scores.max():g} on {day}, and a limit "
                    "needs scores between 0 and 1; leave it out of monitoring.alerts"
                )
            state = _state(scores, limit, side, error)
            by = decisions_of(part).get(metric, {})
            if state["state"] == "alert" and rests_on_likeness(by):
                state["state"] = BY_LIKENESS
            levels.append(about | state | {"decided_by": describe_decisions(part, metric)})
    return pl.DataFrame([{**row, "message": _message(row)} for row in levels], schema=LEVELS)


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
