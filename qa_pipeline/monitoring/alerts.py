"""Figures of production that are too bad: means against their limits, by the day or by the hour.

A mean raises an alert where its interval excludes the limit. The interval holds for any scores between 0 and
1 and any number of rows, so that a few rows cannot alarm by chance: it is the one of Waudby-Smith and Ramdas,
Estimating means of bounded random variables by betting (JRSS B, 2024), hedged capital with predictable
plug-in bets. It takes rows as independent: many requests of one user, or about one document, are fewer than
they seem.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.monitoring.drift import drift_message, find_drift
from qa_pipeline.settings.monitoring import AlertSettings, MonitoringSettings

Floats = npt.NDArray[np.float64]
State = Literal["alert", "uncertain", "fine", "not enough rows"]
HOURS = 24
_TRUNCATED = 0.75
_STEPS = 14
"""Halvings of an interval's end: it is right to 1/16,384, and on the safe side."""


@dataclass(frozen=True, slots=True)
class Level:
    """The mean of a metric in a day or an hour, held against its limit.

    Args:
        metric: its name.
        begins: of the day or hour, UTC.
        hours: 24 or 1.
        rows: whose score is known.
        value: their mean; None without any.
        low: of the interval of the mean; None where there are not enough rows.
        high: of the interval.
        limit: the mean should be on its other side.
        side: below or above: on which side of the limit a mean is bad.
        state: alert where the whole interval is on the bad side, uncertain where the mean alone is.
    """

    metric: str
    begins: datetime
    hours: int
    rows: int
    value: float | None
    low: float | None
    high: float | None
    limit: float
    side: Literal["below", "above"]
    state: State

    def message(self) -> str:
        """The finding in one sentence."""
        when = f"{self.begins:%Y-%m-%d}"
        if self.hours == 1:
            when += f" {self.begins.hour}–{self.begins.hour + 1} h UTC"
        if self.value is None or self.low is None or self.high is None:
            return f"{self.metric} on {when}: not enough rows ({self.rows})"
        bounds = f"{self.value:.3f} ({self.low:.3f}–{self.high:.3f}, {self.rows} rows)"
        return f"{self.metric} on {when} is {bounds}; limit: {_BAD[self.side]} {self.limit:g}: {self.state}"

    def document(self) -> dict[str, Any]:
        """The finding as one JSON object, for a log or a webhook."""
        ends = self.begins + timedelta(hours=self.hours)
        fields = {**asdict(self), "begins": self.begins.isoformat(), "ends": ends.isoformat()}
        return {"kind": "level", **fields, "message": self.message()}


@dataclass(frozen=True, slots=True)
class _Limit:
    """A limit of the settings."""

    metric: str
    limit: float
    side: Literal["below", "above"]
    hourly: bool


_BAD = {"below": "not below", "above": "not above"}


@dataclass(frozen=True)
class Findings:
    """What the scores of some days say.

    Args:
        levels: means held against limits.
        drift: days held against the reference (`DRIFT`).
    """

    levels: list[Level]
    drift: pl.DataFrame

    def alerts(self, since: date | None = None) -> list[dict[str, Any]]:
        """What somebody should know of, as JSON objects in order of time: bad means, and where drift begins.

        Args:
            since: the first day that is told of; every one by default.
        """
        first = since or date.min
        told = [
            (one.begins.isoformat(), one.document())
            for one in self.levels
            if one.state == "alert" and one.begins.date() >= first
        ]
        begun = self.drift.filter(pl.col("state") == "drift", pl.col("day") >= first)
        for row in begun.iter_rows(named=True):
            day = row["day"].isoformat()
            told.append((day, {"kind": "drift", **row, "day": day, "message": drift_message(row)}))
        return [document for _, document in sorted(told, key=lambda one: one[0])]


def findings(
    rows: pl.DataFrame, settings: MonitoringSettings, reference: pl.DataFrame | None = None
) -> Findings:
    """Hold scored rows against their limits and their reference.

    Args:
        rows: scored rows of some days.
        settings: of alerts and drift.
        reference: as for `find_drift`.

    Raises:
        InputError: a metric with a limit has a score outside 0 to 1.
    """
    return Findings(levels(rows, settings.alerts), find_drift(rows, settings.drift, reference))


def mean_interval(values: Floats, error: float) -> tuple[float, float]:
    """An interval that holds the mean of scores between 0 and 1 but for a chance of `error`.

    It depends on their order, which must not depend on them; that of time does not.

    Args:
        values: the scores, each between 0 and 1; an empty array has the interval 0 to 1.
        error: chance of an interval that lacks the mean, both ends together.
    """
    if not len(values):
        return 0.0, 1.0
    bets = _bets(values, error)
    needed = math.log(2 / error)
    low, high = 0.0, 1.0
    if _excludes(values, bets, 0.0, needed):
        low = _edge(values, bets, needed)
    if _excludes(1 - values, bets, 0.0, needed):
        high = 1 - _edge(1 - values, bets, needed)
    return low, high


def _bets(values: Floats, error: float) -> Floats:
    """How much is bet on each score, from what the ones before it say of their spread."""
    count = np.arange(1, len(values) + 1)
    means = (0.5 + np.cumsum(values)) / (count + 1)
    spread = (0.25 + np.cumsum((values - means) ** 2)) / (count + 1)
    before = np.concatenate([[0.25], spread[:-1]])
    bets: Floats = np.sqrt(2 * math.log(2 / error) / (before * len(values)))
    return bets


def _excludes(values: Floats, bets: Floats, mean: float, needed: float) -> bool:
    """Whether betting that the mean is higher ever makes the capital so large that it cannot be `mean`."""
    most = _TRUNCATED / mean if mean > 0 else np.inf
    return bool(np.cumsum(np.log1p(np.minimum(bets, most) * (values - mean))).max() >= needed)


def _edge(values: Floats, bets: Floats, needed: float) -> float:
    """The highest mean that is excluded as too low."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _excludes(values, bets, middle, needed):
            low = middle
        else:
            high = middle
    return low


def levels(rows: pl.DataFrame, settings: AlertSettings) -> list[Level]:
    """Every mean that has a limit, by the metric and then by time.

    A day of the hourly ones shares its chance of error among 24 hours (Bonferroni). A row without a time
    counts in its day and in no hour.

    Args:
        rows: scored rows (`days.BASE` and metrics).
        settings: limits, confidence and the least number of rows.

    Raises:
        InputError: a metric with a limit has a score outside 0 to 1.
    """
    ordered = rows.sort("day", "time", "id", nulls_last=True)
    rules = [
        *(_Limit(name, limit, "below", name in settings.hourly) for name, limit in settings.below.items()),
        *(_Limit(name, limit, "above", name in settings.hourly) for name, limit in settings.above.items()),
    ]
    return [found for rule in rules for found in _of_metric(ordered, rule, settings)]


def _of_metric(rows: pl.DataFrame, rule: _Limit, settings: AlertSettings) -> Iterator[Level]:
    score = pl.col(rule.metric) if rule.metric in rows.columns else pl.lit(None, pl.Float64())
    known = rows.select("day", "time", score=score)
    wrong = known.filter((pl.col("score") < 0) | (pl.col("score") > 1))
    if wrong.height:
        raise InputError(
            f"{rule.metric} is {wrong['score'][0]}, and a limit needs scores between 0 and 1; "
            "leave it out of monitoring.alerts"
        )
    key = pl.col("time").dt.truncate("1h") if rule.hourly else pl.col("day")
    parts = known.with_columns(begins=key).drop_nulls("begins").partition_by("begins", maintain_order=True)
    for part in parts:
        yield _level(rule, part["begins"][0], part["score"].drop_nulls().to_numpy(), settings)


def _level(rule: _Limit, begins: date | datetime, values: Floats, settings: AlertSettings) -> Level:
    value = float(values.mean()) if len(values) else None
    about: dict[str, Any] = {
        "metric": rule.metric,
        "begins": begins if isinstance(begins, datetime) else datetime.combine(begins, time(), UTC),
        "hours": 1 if rule.hourly else HOURS,
        "rows": len(values),
        "value": value,
        "limit": rule.limit,
        "side": rule.side,
    }
    if value is None or len(values) < settings.least_rows:
        return Level(**about, low=None, high=None, state="not enough rows")
    low, high = mean_interval(values, (1 - settings.confidence) / (HOURS if rule.hourly else 1))
    below = rule.side == "below"
    if high < rule.limit if below else low > rule.limit:
        state: State = "alert"
    else:
        state = "uncertain" if (value < rule.limit if below else value > rule.limit) else "fine"
    return Level(**about, low=low, high=high, state=state)
