"""One HTML page of production: a picture of each metric over its days, and its alerts and drift.

It holds everything itself, runs no script and asks no other host; names of metrics are data and are escaped
by the template engine. The same scores give the same page.
"""

from collections.abc import Sequence
from datetime import date
from importlib import resources
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.evaluation.report_page import STYLE, rendered
from qa_pipeline.monitoring.alerts import Findings
from qa_pipeline.monitoring.days import describe_decisions, metrics_of
from qa_pipeline.settings.monitoring import ERRORS, MonitoringSettings
from qa_pipeline.statistics import betting_interval

MOST_SHOWN = 100
"""Alerts that are listed, the latest first; all are counted."""
_ERROR = 0.05
_SEVERITY = ("not enough rows", "fine", "uncertain", "by likeness", "alert")
_LEFT, _RIGHT, _TOP, _FLOOR, _BARS = 40, 920, 8, 168, 200
"""Borders of a picture: of the means, and below them of the bars of rows, which end at `_BARS`."""
_DATES = 6
Row = dict[str, Any]


def drift_page(rows: pl.DataFrame, found: Findings, settings: MonitoringSettings) -> str:
    """The page as HTML.

    Args:
        rows: scored rows of all days shown.
        found: what they say.
        settings: limits and reference, for the words of the page.
    """
    days: list[date] = rows["day"].unique().sort().to_list()
    alerts = found.alerts()
    own = resources.files("qa_pipeline.monitoring")
    return rendered(
        own.joinpath("drift_page.html").read_text("utf-8"),
        STYLE + own.joinpath("drift_page.css").read_text("utf-8"),
        days=days,
        rows=rows.height,
        metrics=[_metric(name, rows, found, days) for name in metrics_of(rows)] if days else [],
        alerts=alerts[::-1][:MOST_SHOWN],
        count=len(alerts),
        settings=settings,
        errors=ERRORS,
    )


def _metric(name: str, rows: pl.DataFrame, found: Findings, days: Sequence[date]) -> Row:
    """What is shown of a metric: its last day in numbers, and all of them in a picture."""
    scores = {day: of["day", name] for (day,), of in rows.group_by("day", maintain_order=True)}
    of_days = [_of_day(scores[day][name].drop_nulls().to_numpy()) for day in days]
    levels = found.levels.filter(pl.col("metric") == name).to_dicts()
    drift = found.drift.filter(pl.col("metric") == name).select("day", "state")
    states: dict[date, str] = dict(drift.iter_rows())
    on_last = [level["state"] for level in levels if level["day"] == days[-1]]
    return {
        "name": name,
        "last": of_days[-1],
        "limit": f"{levels[0]['side']} {levels[0]['limit']:g}" if levels else None,
        "level": max(on_last, key=_SEVERITY.index, default=None),
        "drift": states.get(days[-1]),
        "decided_by": describe_decisions(rows.filter(pl.col("day") == days[-1]), name),
        "picture": _picture(of_days, levels, [states.get(day) for day in days], days),
    }


def _of_day(values: np.ndarray[Any, np.dtype[np.float64]]) -> Row:
    """Rows, mean and its interval; none where scores do not lie between 0 and 1, or there are none."""
    mean = float(values.mean()) if len(values) else None
    bounded = len(values) and values.min() >= 0 and values.max() <= 1
    low, high = betting_interval(values, _ERROR) if bounded else (mean, mean)
    return {"rows": len(values), "mean": mean, "low": low, "high": high, "bounded": bounded}


def _picture(
    of_days: Sequence[Row], levels: Sequence[Row], states: Sequence[str | None], days: Sequence[date]
) -> Row:
    """Where the template draws what, in units of the picture."""
    bad = [level for level in levels if level["state"] == "alert"]
    known = [(place, one) for place, one in enumerate(of_days) if one["rows"]]
    values = [one[key] for _, one in known for key in ("low", "high")]
    values += [level["mean"] for level in bad] + [level["limit"] for level in levels[:1]]
    low = float(np.floor(min(values, default=0.0) * 10) / 10)
    high = max(float(np.ceil(max(values, default=0.0) * 10) / 10), low + 0.1)
    most = max(1, *(one["rows"] for one in of_days))
    step = (_RIGHT - _LEFT) / len(days)

    def x(place: float) -> float:
        return round(_LEFT + step * place, 1)

    def y(value: float) -> float:
        return round(_FLOOR - (_FLOOR - _TOP) * (value - low) / (high - low), 1)

    def points(key: str) -> list[tuple[float, float]]:
        return [(x(place + 0.5), y(one[key])) for place, one in known]

    zones = {"reference": "reference", "drift": "drifting", "drifted": "drifting"}
    runs = groupby(range(len(days)), key=lambda place: zones.get(states[place] or ""))
    return {
        "zones": [
            (kind, x(places[0]), x(places[-1] + 1)) for kind, of in runs if (places := list(of)) and kind
        ],
        "mean": points("mean"),
        "band": points("high") + points("low")[::-1],
        "limit": y(levels[0]["limit"]) if levels else None,
        "alerts": [
            (
                x(days.index(one["day"]) + (0.5 if one["hour"] is None else (one["hour"] + 0.5) / 24)),
                y(one["mean"]),
            )
            for one in bad
        ],
        "bars": [(x(place), round((_BARS - _FLOOR - 8) * one["rows"] / most, 1)) for place, one in known],
        "width": round(step * 0.85, 1),
        "values": [(y(value), f"{value:.3g}") for value in (low, (low + high) / 2, high)],
        "dates": [
            (x(place + 0.5), days[place].isoformat())
            for place in sorted(set(np.linspace(0, len(days) - 1, _DATES).astype(int).tolist()))
        ],
        "most": most,
    }
