"""One HTML page of production: a picture of each metric over its days, and its alerts and drift.

It holds everything itself, runs no script and asks no other host; names of metrics are data and are escaped
by the template engine. The same scores give the same page.
"""

from collections.abc import Sequence
from datetime import date
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.monitoring.alerts import Findings
from qa_pipeline.monitoring.days import describe_decisions, metrics_of
from qa_pipeline.settings.monitoring import ERRORS, MonitoringSettings
from qa_pipeline.statistics import betting_interval
from qa_pipeline.text.rendering import render_page

MOST_SHOWN = 100
"""Alerts that are listed, the latest first, so that the page stays small; all are counted."""
_ERROR = 0.05
"""Chance that the band misses a day's mean, as in the other figures of the package."""
_SEVERITY = ("not enough rows", "fine", "uncertain", "by likeness", "alert")
_LEFT, _RIGHT, _TOP, _FLOOR, _BARS = 40, 920, 8, 168, 200
"""Borders of a picture: of the means, and below them of the bars of rows, which end at `_BARS`."""
_DATES = 6
"""Days named below a picture; more would overlap."""
Row = dict[str, Any]


def drift_page(rows: pl.DataFrame, findings: Findings, settings: MonitoringSettings) -> str:
    """Return the page as HTML.

    Args:
        rows: scored rows of all days shown.
        findings: what they say.
        settings: limits and reference, for the words of the page.
    """
    days: list[date] = rows["day"].unique().sort().to_list()
    alerts = findings.alerts()
    return render_page(
        "monitoring/drift_page.html.j2",
        styles=["monitoring/drift_page.css"],
        days=days,
        rows=rows.height,
        metrics=[_metric(name, rows, findings, days) for name in metrics_of(rows)] if days else [],
        alerts=alerts[::-1][:MOST_SHOWN],
        count=len(alerts),
        settings=settings,
        errors=ERRORS,
    )


def _metric(name: str, rows: pl.DataFrame, findings: Findings, days: Sequence[date]) -> Row:
    """Return what is shown of a metric: its last day in numbers, and all of them in a picture."""
    scores = {day: of["day", name] for (day,), of in rows.group_by("day", maintain_order=True)}
    of_days = [_of_day(scores[day][name].drop_nulls().to_numpy()) for day in days]
    levels = findings.levels.filter(pl.col("metric") == name).to_dicts()
    drift = findings.drift.filter(pl.col("metric") == name).select("day", "state")
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
    """Return rows, mean and its interval; none where scores do not lie between 0 and 1, or there are none."""
    mean = float(values.mean()) if len(values) else None
    bounded = len(values) and values.min() >= 0 and values.max() <= 1
    low, high = betting_interval(values, _ERROR) if bounded else (mean, mean)
    return {"rows": len(values), "mean": mean, "low": low, "high": high, "bounded": bounded}


def _picture(
    of_days: Sequence[Row], levels: Sequence[Row], states: Sequence[str | None], days: Sequence[date]
) -> Row:
    """Return where the template draws what, in units of the picture."""
    bad = [level for level in levels if level["state"] == "alert"]
    measured = [(place, day) for place, day in enumerate(of_days) if day["rows"]]
    values = [day[key] for _, day in measured for key in ("low", "high")]
    values += [level["mean"] for level in bad] + [level["limit"] for level in levels[:1]]
    low = float(np.floor(min(values, default=0.0) * 10) / 10)
    high = max(float(np.ceil(max(values, default=0.0) * 10) / 10), low + 0.1)
    most = max(1, *(day["rows"] for day in of_days))
    step = (_RIGHT - _LEFT) / len(days)

    def x(place: float) -> float:
        return round(_LEFT + step * place, 1)

    def y(value: float) -> float:
        return round(_FLOOR - (_FLOOR - _TOP) * (value - low) / (high - low), 1)

    def points(key: str) -> list[tuple[float, float]]:
        return [(x(place + 0.5), y(day[key])) for place, day in measured]

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
                x(days.index(day["day"]) + (0.5 if day["hour"] is None else (day["hour"] + 0.5) / 24)),
                y(day["mean"]),
            )
            for day in bad
        ],
        "bars": [(x(place), round((_BARS - _FLOOR - 8) * day["rows"] / most, 1)) for place, day in measured],
        "width": round(step * 0.85, 1),
        "values": [(y(value), f"{value:.3g}") for value in (low, (low + high) / 2, high)],
        "dates": [
            (x(place + 0.5), days[place].isoformat())
            for place in sorted(set(np.linspace(0, len(days) - 1, _DATES).astype(int).tolist()))
        ],
        "most": most,
    }
