"""One HTML page of production: a picture of each metric over its days, alerts, drift, and what was left out.

It holds everything itself, runs no script and asks no other host; names of metrics and files are data and are
escaped. The same scores give the same bytes under one version of matplotlib.
"""

import base64
import html
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from qa_pipeline.monitoring.alerts import Findings, Level, mean_interval
from qa_pipeline.monitoring.days import metrics_of
from qa_pipeline.settings.monitoring import ERRORS, MonitoringSettings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_METRICS = 24
MOST_SHOWN = 100
"""Alerts that are listed, the latest first; all are counted."""
_ERROR = 0.05
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; background: #fff; max-width: 64rem;
  margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { max-width: 46rem; margin: .4rem 0; } .quiet { color: #57606a; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid #d8dee4;
  vertical-align: top; }
th { font-weight: 600; color: #57606a; } td.number, th.number { text-align: right; }
td.number, td.when { white-space: nowrap; }
td.words { overflow-wrap: anywhere; }
figure { margin: .5rem 0 1.25rem; break-inside: avoid; }
figure img { width: 100%; height: auto; display: block; }
.tag { display: inline-block; padding: 0 .5rem; border-radius: 1rem; border: 1px solid; white-space: nowrap; }
.bad { color: #a40e26; border-color: #a40e26; background: #fff0f1; }
.odd { color: #7a4b00; border-color: #b87500; background: #fff8e5; }
.good { color: #116329; border-color: #4a9c5d; background: #f0fbf2; }
.none { color: #57606a; border-color: #afb8c1; background: #f6f8fa; }
@media print { body { margin: 0; max-width: none; font-size: 10pt; }
  table { font-size: 9pt; } h2 { break-after: avoid; }
  tr { break-inside: avoid; } .tag { background: none; } }
"""
_CLASSES = {
    "alert": "bad", "drift": "bad", "drifted": "bad", "uncertain": "odd", "differs": "odd",
    "fine": "good", "steady": "good",
}  # fmt: skip
_BLUE, _RED, _ORANGE, _GREY = "#1f6feb", "#c9202f", "#d97706", "#8c959f"


def drift_page(
    rows: pl.DataFrame,
    found: Findings,
    settings: MonitoringSettings,
    title: str,
    faults: pl.DataFrame | None = None,
    dropped: int = 0,
) -> str:
    """The page as HTML.

    Args:
        rows: scored rows of all days shown, at least one day.
        found: what they say.
        settings: limits and reference, for the words of the page.
        title: such as the folder of the logs.
        faults: what the logs left out (`FAULTS`), where it is known.
        dropped: requests that services say they could not log.
    """
    days: list[date] = rows["day"].unique().sort().to_list()
    names = metrics_of(rows)
    alerts = found.alerts()
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        _summary(days, rows.height, len(alerts)),
        "<h2>Now</h2>",
        _now(rows, found, names, days[-1]) if days else "",
        "<h2>Over time</h2>",
        (
            '<p class="quiet">Line: mean of a day, and its 95 % interval. Grey days: the reference. Dashed: '
            "limit. Red triangle: alert. Orange: drift, until the metric is as before for a week. Bars: rows "
            "with a known score.</p>"
        ),
        *(_figure(name, rows, found, days) for name in names[:MOST_METRICS]),
        _more(len(names) - MOST_METRICS, "metrics"),
        f"<h2>Alerts ({len(alerts)})</h2>",
        _alerts(alerts),
        _left_out(faults, dropped),
        _method(settings),
    ]
    head = (
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>"
    )
    body = "\n".join(part for part in parts if part)
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


def _summary(days: Sequence[date], rows: int, alerts: int) -> str:
    return (
        f'<p class="quiet">{days[0]} to {days[-1]}: {len(days)} days with {rows:,} rows, {alerts} alerts. '
        "Days and hours are those of UTC.</p>"
        if days
        else "<p>No day has a row.</p>"
    )


def _table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already; of each column its head and its class."""
    head = "".join(f'<th class="{kind}">{html.escape(name)}</th>' for name, kind in columns)
    kinds = [kind for _, kind in columns]
    lines = [
        "".join(f'<td class="{kind}">{cell}</td>' for cell, kind in zip(row, kinds, strict=True))
        for row in rows
    ]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _tag(state: str | None) -> str:
    if state is None:
        return "–"
    return f'<span class="tag {_CLASSES.get(state, "none")}">{html.escape(state)}</span>'


def _more(count: int, what: str) -> str:
    return f'<p class="quiet">{count} more {what} are not shown.</p>' if count > 0 else ""


def _now(rows: pl.DataFrame, found: Findings, names: Sequence[str], last: date) -> str:
    """The last day of each metric: mean, interval, limit and states."""
    drift = {row["metric"]: row for row in found.drift.filter(pl.col("day") == last).iter_rows(named=True)}
    lines = []
    for name in names:
        values = _known(rows.filter(pl.col("day") == last)[name])
        of_day = [one for one in found.levels if one.metric == name and one.begins.date() == last]
        worst = max(of_day, key=lambda one: _SEVERITY[one.state], default=None)
        low, high = _bounds(values)
        interval = "–" if low is None or high is None else f"{low:.3f}–{high:.3f}"
        lines.append(
            (
                html.escape(name),
                f"{values.mean():.3f}" if len(values) else "–",
                interval,
                str(len(values)),
                "–" if worst is None else f"{worst.side} {worst.limit:g}",
                _tag(None if worst is None else worst.state),
                _tag(drift[name]["state"] if name in drift else None),
            )
        )
    columns = (
        ("metric", ""), (f"mean of {last}", "number"), ("95 % interval", "number"), ("rows", "number"),
        ("bad when", ""), ("limit", ""), ("against the reference", ""),
    )  # fmt: skip
    return _table(columns, lines)


_SEVERITY = {"alert": 3, "uncertain": 2, "fine": 1, "not enough rows": 0}


def _known(scores: pl.Series) -> np.ndarray[Any, np.dtype[np.float64]]:
    return scores.drop_nulls().to_numpy()


def _bounds(values: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[float | None, float | None]:
    """The interval of a mean; None where scores do not lie between 0 and 1, or there are none."""
    if not len(values) or values.min() < 0 or values.max() > 1:
        return None, None
    return mean_interval(values, _ERROR)


def _figure(name: str, rows: pl.DataFrame, found: Findings, days: Sequence[date]) -> str:
    drawn = _svg(_picture(name, rows, found, days))
    data = base64.b64encode(drawn).decode("ascii")
    alt = f"{name}: mean of each day with its interval, alerts and drift"
    return (
        f'<figure><img alt="{html.escape(alt, quote=True)}" src="data:image/svg+xml;base64,{data}"></figure>'
    )


def _picture(name: str, rows: pl.DataFrame, found: Findings, days: Sequence[date]) -> "Figure":
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.7), layout="constrained")
    axes, bars = figure.subplots(2, 1, sharex=True, height_ratios=(5, 1))
    by_day = {part["day"][0]: _known(part[name]) for part in rows.partition_by("day")}
    shown = [day for day in days if len(by_day[day])]
    at = [_noon(day) for day in shown]
    means = [float(by_day[day].mean()) for day in shown]
    bounds = [_bounds(by_day[day]) for day in shown]
    _mark_days(axes, found.drift.filter(pl.col("metric") == name), days)
    if shown and all(low is not None for low, _ in bounds):
        low, high = ([bound[side] for bound in bounds] for side in (0, 1))
        axes.fill_between(at, low, high, color=_BLUE, alpha=0.18, linewidth=0)
    dots = "o" if len(shown) <= 45 else ""
    axes.plot(at, means, color=_BLUE, linewidth=1.3, marker=dots, markersize=3)
    _mark_levels(axes, [one for one in found.levels if one.metric == name])
    axes.set_title(_printable(name), fontsize=11, loc="left", parse_math=False)
    axes.grid(visible=True, axis="y", color="#e6e9ec", linewidth=0.7)
    bars.bar(at, [len(by_day[day]) for day in shown], width=0.85, color=_GREY)
    bars.set_ylabel("rows", fontsize=8)
    bars.tick_params(labelsize=8)
    axes.tick_params(labelsize=9)
    for one in (axes, bars):
        one.spines[["top", "right"]].set_visible(False)
    if days:
        axes.set_xlim(_midnight(days[0]), _midnight(days[-1] + timedelta(days=1)))
    locator = AutoDateLocator(minticks=3, maxticks=10)  # type: ignore[no-untyped-call]
    bars.xaxis.set_major_locator(locator)
    bars.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    return figure


def _mark_days(axes: "Axes", drift: pl.DataFrame, days: Sequence[date]) -> None:
    """Grey over the reference, orange from where a drift begins to where it ends."""
    for states, colour, alpha in ((("reference",), _GREY, 0.14), (("drift", "drifted"), _ORANGE, 0.22)):
        marked = set(drift.filter(pl.col("state").is_in(states))["day"].to_list())
        for first, last in _runs([day in marked for day in days]):
            begins, ends = _midnight(days[first]), _midnight(days[last] + timedelta(days=1))
            axes.axvspan(begins, ends, color=colour, alpha=alpha, linewidth=0)  # type: ignore[arg-type]


def _runs(marks: Sequence[bool]) -> list[tuple[int, int]]:
    """First and last place of each run of true marks."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.array(marks, dtype=np.int8), [0]])))
    return [(int(first), int(after) - 1) for first, after in zip(edges[::2], edges[1::2], strict=True)]


def _mark_levels(axes: "Axes", levels: Sequence[Level]) -> None:
    if not levels:
        return
    axes.axhline(levels[0].limit, color=_RED, linewidth=0.9, linestyle=(0, (5, 4)))
    bad = [one for one in levels if one.state == "alert" and one.value is not None]
    at = [one.begins + timedelta(hours=one.hours / 2) for one in bad]
    axes.plot(
        at,  # type: ignore[arg-type]
        [one.value for one in bad if one.value is not None],
        linestyle="",
        marker="v" if levels[0].side == "below" else "^",
        color=_RED,
        markersize=6,
        zorder=5,
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _noon(day: date) -> datetime:
    return _midnight(day) + timedelta(hours=12)


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name)[:80]


def _svg(figure: "Figure") -> bytes:
    """The figure as SVG without a date, its letters as shapes, so that it looks the same everywhere."""
    import matplotlib as mpl

    buffer = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "qa_pipeline", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _alerts(alerts: Sequence[dict[str, Any]]) -> str:
    if not alerts:
        return "<p>None.</p>"
    latest = list(reversed(alerts))[:MOST_SHOWN]
    lines = [
        (
            _when(one),
            html.escape(one["metric"]),
            _tag("drift" if one["kind"] == "drift" else "alert"),
            html.escape(one["message"]),
        )
        for one in latest
    ]
    columns = (("begins", "when"), ("metric", ""), ("kind", ""), ("finding", "words"))
    return _table(columns, lines) + _more(len(alerts) - len(latest), "earlier alerts")


def _when(alert: dict[str, Any]) -> str:
    """The day, and the hour of what was looked at by the hour."""
    begins = alert["begins"] if alert.get("hours") == 1 else alert.get("day", str(alert.get("begins"))[:10])
    return html.escape(begins[:16].replace("T", " "))


def _left_out(faults: pl.DataFrame | None, dropped: int) -> str:
    if faults is None:
        return ""
    counted = (
        faults.group_by("reason", "kept")
        .agg(
            pl.col("rows").sum(),
            pl.col("file").first(),
            pl.col("first_row").first(),
            pl.col("detail").first(),
        )
        .sort(["rows", "reason"], descending=[True, False])
    )
    lines = [
        (
            html.escape(row["reason"]),
            str(row["rows"]),
            "used, value unknown" if row["kept"] else "left out",
            html.escape(f"{row['file']} line {row['first_row']}: {row['detail']}"[:300]),
        )
        for row in counted.iter_rows(named=True)
    ]
    said = f"<p>{dropped} requests were dropped by services before they were logged.</p>" if dropped else ""
    if not lines:
        return f"<h2>What the logs left out</h2>\n{said or '<p>Nothing.</p>'}"
    columns = (("reason", ""), ("rows", "number"), ("what became of them", ""), ("the first", "words"))
    return f"<h2>What the logs left out</h2>\n{said}{_table(columns, lines)}"


def _method(settings: MonitoringSettings) -> str:
    alerts, drift = settings.alerts, settings.drift
    level = (
        f"An alert is a mean whose {alerts.confidence:.0%} interval lies beyond its limit, from at least "
        f"{alerts.least_rows} rows; where it is looked at by the hour, a day's hours share what is left to "
        "100 %. The intervals hold for any scores between 0 and 1 (Waudby-Smith and Ramdas 2024) and take "
        "rows as independent."
    )
    change = (
        f"Drift is a metric whose scores differ from the reference on {drift.confirm_days} days in a row "
        "(Kolmogorov-Smirnov, and population stability index by exchanges; Benjamini-Hochberg at "
        f"{drift.rate:g} among the metrics of a day), or on one day at a level that a year has rarely."
    )
    sample = (
        "Rows are a sample of requests, chosen by hash of their id. The metric "
        f"{ERRORS} is the share of requests that failed; those have no other scores."
    )
    sentences = (level, change, sample)
    return "<h2>How it is decided</h2>\n" + "\n".join(f"<p>{html.escape(one)}</p>" for one in sentences)
