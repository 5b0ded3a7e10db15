"""Alerts: production means beyond their limits, drift from the first days, and messages about failures.

A mean raises an alert if its score interval (`statistics.mean_bounds`) excludes the limit. Rows count as
independent, although requests of one user or about one document rarely are. A figure that mostly likeness
decided is reported as not decided.

Drift compares the scores of each day with those of the first days by the test of Kolmogorov and Smirnov.
Benjamini-Hochberg keeps the false discovery rate among the metrics of a day. Drift is a difference on two
tested days in a row, or on one day at a level that is rare in a year.
"""

import logging
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import polars as pl
from pydantic import SecretStr

from qa_pipeline.errors import InputError, SettingsError
from qa_pipeline.evaluation.summaries import describe_deciders, rests_on_likeness
from qa_pipeline.monitoring.days import decisions_of, metrics_of
from qa_pipeline.settings.tree import MonitoringSettings
from qa_pipeline.statistics import Floats, Sums, mean_bounds

LEVELS = pl.Schema(
    {
        "metric": pl.String(),
        "day": pl.Date(),
        "hour": pl.Int8(),
        "rows": pl.Int64(),
        **dict.fromkeys(("mean", "low", "high", "limit"), pl.Float64()),
        **dict.fromkeys(("side", "decided_by", "state", "message"), pl.String()),
    }
)
"""A row for each mean with a limit, of a day or of an hour (UTC). `rows` counts known scores; `low` and
`high` bound the mean, null if rows are too few. `side` is the bad side of the limit, below or above. `state`
is alert if the whole interval is there, uncertain if only the mean is, fine, not decided, or not enough
rows."""
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
_DAYS_OF_YEAR = 365
"""Tests of a metric in a year, which share the rate where one day alone decides."""
NOT_DECIDED, TOO_FEW_ROWS = "not decided", "not enough rows"
_ERROR = 0.01
"""Probability that the interval of a day misses its mean; the hours of a day share it."""
_HOURS = 24
"""Tests a day of an hourly metric."""
HOURLY = frozenset({"grounding"})
"""Metrics that are tested per hour (UTC) instead of per day."""


def alerts_of(levels: pl.DataFrame, drift: pl.DataFrame, since: date = date.min) -> list[dict[str, Any]]:
    """Return the alerts of `LEVELS` and `DRIFT` since a day as JSON objects, sorted by time.

    Their kinds are level (a bad mean), drift, and undecided (at most one for each day of a metric).
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
    """Return every mean with a limit (`LEVELS`), by metric and then by time.

    The hours of a day share its probability of error (Bonferroni). A row without a time counts in its day,
    but not in an hour.

    Raises:
        InputError: a metric with a limit has a score outside 0 to 1.
    """
    sides = {"below": settings.alerts.below, "above": settings.alerts.above}
    limits = [(side, metric, limit) for side in sides for metric, limit in sides[side].items()]
    # a metric that was never scored has levels without rows
    unscored = {metric: pl.lit(None, pl.Float64()) for _, metric, _ in limits if metric not in rows.columns}
    ordered = rows.sort("day", "time", "id", nulls_last=True)
    ordered = ordered.with_columns(**unscored, hour=pl.col("time").dt.hour())
    levels: list[dict[str, Any]] = []
    for side, metric, limit in limits:
        is_hourly = metric in HOURLY
        # without hours, a period is a day
        timed = ordered.drop_nulls("hour") if is_hourly else ordered.with_columns(hour=None)
        for (day, hour), period in timed.group_by("day", "hour", maintain_order=True):
            scores = period[metric].drop_nulls().to_numpy()
            if len(scores) and not 0 <= scores.min() <= scores.max() <= 1:
                raise InputError(
                    f"{metric} has scores from {scores.min():g} to {scores.max():g} on {day}, and a limit "
                    "needs scores between 0 and 1; leave it out of monitoring.alerts"
                )
            decided_by = decisions_of(period, metric)  # number of scores by deciding step
            level = {
                "metric": metric,
                "day": day,
                "hour": hour,
                "limit": limit,
                "side": side,
                **_state(scores, limit, side, _ERROR / (_HOURS if is_hourly else 1)),
                "decided_by": describe_deciders(decided_by),
            }
            # likeness (cosines and words in common) is no proof of a bad or a fine mean
            if level["state"] != TOO_FEW_ROWS and rests_on_likeness(decided_by):
                level["state"] = NOT_DECIDED
            levels.append(level | {"message": _level_message(level)})
    return pl.DataFrame(levels, schema=LEVELS)


def _state(scores: Floats, limit: float, side: str, error: float) -> dict[str, Any]:
    """Compare the mean of some scores with its limit, and return columns of `LEVELS`.

    They are rows, mean and state, and with enough rows low and high. `error` is the probability that the
    interval misses the mean.
    """
    mean = float(scores.mean()) if len(scores) else None
    level_state: dict[str, Any] = {"rows": len(scores), "mean": mean, "state": TOO_FEW_ROWS}
    if mean is None or len(scores) < LEAST_ROWS:
        return level_state
    sums = Sums(scores[:, None], np.ones((len(scores), 1)))  # each row is a group of its own
    bounds = mean_bounds(sums, np.zeros(1), np.ones(1), 1 - error)  # scores are from 0 to 1
    low, high = (float(bound[0]) for bound in bounds)
    is_bad = mean < limit if side == "below" else mean > limit
    is_proved_bad = high < limit if side == "below" else low > limit
    state = "alert" if is_proved_bad else "uncertain" if is_bad else "fine"
    return {**level_state, "low": low, "high": high, "state": state}


def _level_message(row: dict[str, Any]) -> str:
    """Return a row of `LEVELS` as "grounding on 2026-03-01 is 0.7 (…); limit: not below 0.8: alert; …"."""
    hour = "" if row["hour"] is None else f" {row['hour']}–{row['hour'] + 1} h UTC"
    period = f"{row['metric']} on {row['day']}{hour}"
    if row["state"] == TOO_FEW_ROWS:
        return f"{period}: {row['state']} ({row['rows']})"
    bounds = f"{row['mean']:.3f} ({row['low']:.3f}–{row['high']:.3f}, {row['rows']} rows)"
    limit = f"limit: not {row['side']} {row['limit']:g}"
    return f"{period} is {bounds}; {limit}: {row['state']}; decided by {row['decided_by']}"


def find_drift(rows: pl.DataFrame) -> pl.DataFrame:
    """Compare each day of each metric in scored rows with the reference (`DRIFT`, by day and metric).

    A difference is drift if the last tested day differed too, or if it would be rare in a year.
    """
    from scipy.stats import false_discovery_control

    days: list[date] = rows["day"].unique().sort().to_list()
    reference_days = days[:REFERENCE_DAYS]
    reference_rows = rows.filter(pl.col("day").is_in(reference_days))
    metrics = metrics_of(rows)
    reference_scores = {name: reference_rows[name].drop_nulls().sort().to_numpy() for name in metrics}
    differed_before = dict.fromkeys(metrics, False)  # on the last tested day
    drift_rows: list[dict[str, Any]] = []
    for day in days:
        rows_of_day = rows.filter(pl.col("day") == day)
        is_reference = day in reference_days
        untested: dict[str, Any] = {"day": day, "state": "reference" if is_reference else TOO_FEW_ROWS}
        compared = [untested | _compared(rows_of_day, name, reference_scores[name]) for name in metrics]
        tested = [row for row in compared if "p" in row and not is_reference]  # p is missing with few rows
        adjusted = false_discovery_control([row["p"] for row in tested]) if tested else ()
        for row, adjusted_p in zip(tested, adjusted, strict=True):
            name, differs = row["metric"], bool(adjusted_p <= _RATE)
            if differs and (differed_before[name] or adjusted_p <= _RATE / _DAYS_OF_YEAR):
                row["state"] = "drift"
            else:
                row["state"] = "differs" if differs else "steady"
            row["differs"] = differs
            differed_before[name] = differs
        drift_rows += [{**row, "message": _drift_message(row)} for row in compared]
    return pl.DataFrame(drift_rows, schema=DRIFT)


def _compared(rows: pl.DataFrame, metric: str, reference: Floats) -> dict[str, Any]:
    """Compare a day with the reference, in columns of `DRIFT`; `ks` and `p` need enough rows of both."""
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
    test = ks_2samp(values, reference, method="asymp")
    return {**compared, "ks": float(test.statistic), "p": float(test.pvalue)}


def _drift_message(row: dict[str, Any]) -> str:
    """Return a row of `DRIFT` as a sentence."""
    state = f"{row['metric']} on {row['day']}: {row['state']}"
    if "differs" not in row:  # untested: a day of the reference, or too few rows
        return f"{state} ({row['rows']} rows)"
    change = f"mean {row['reference_mean']:.3f} to {row['mean']:.3f}, KS {row['ks']:.3f}"
    return f"{state}: {change}, p {row['p']:.2g}, {row['rows']} rows, decided by {row['decided_by']}"


def notify(urls: Sequence[SecretStr], title: str, body: str) -> None:
    """Send a message to each address through Apprise; some may refuse.

    Raises:
        SettingsError: the extra is missing, Apprise cannot use an address, or every address refused.
    """
    if not urls:
        return
    try:
        import apprise
    except ImportError:
        raise SettingsError(
            "monitoring.alerts.urls needs the alerts extra: pip install 'qa-pipeline[alerts]'"
        ) from None
    # its log lines contain hosts, and parts of malformed addresses
    logging.getLogger("apprise").disabled = True
    is_delivered = False
    for number, url in enumerate(urls, start=1):
        services = apprise.Apprise()
        if not services.add(url.get_secret_value()):
            raise SettingsError(
                f"Apprise cannot use address {number} of monitoring.alerts.urls; it is not shown because it "
                "may contain a password; https://github.com/caronc/apprise/wiki lists the forms"
            )
        is_delivered |= bool(services.notify(body, title, body_format=apprise.NotifyFormat.TEXT))
    if not is_delivered:
        raise SettingsError(
            "no address of monitoring.alerts.urls accepted the message; check that they can be reached "
            "from here and that their passwords are right"
        )
