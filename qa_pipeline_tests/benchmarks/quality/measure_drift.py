"""Alarms over undrifted years, and how soon a planted shift is found, by simulation.

    python -m qa_pipeline_tests.benchmarks.quality.measure_drift [--years 50] [--shifts 100] [--seed 0]

A year is 28 days of reference and 365 after them, of a service whose scores come from five metrics: thirds,
continuous ones, and shares of errors, three of them one answer's and so correlated. Undrifted years give the
reports of drift and of limits, with the latter's means at, and 5 points on the good side of, their limits;
also years whose every day has a mean of its own (spread --wobble), which is a change and yet no event.
Planted shifts lower one metric, on one day and from then on: found is what is reported within 30 days, the
delay in days (0 is the first). Beside ours, LORD++ (Ramdas et al. 2017) and every day's p below 0.01, on the
same chances. Prints a JSON line for each setting.
"""

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.monitoring.alerts import find_levels
from qa_pipeline.monitoring.days import BASE
from qa_pipeline.monitoring.drift import find_drift
from qa_pipeline.settings.monitoring import MonitoringSettings
from qa_pipeline.settings.thresholds import Interval
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.monitoring.scored import FIRST

REFERENCE, YEAR, WITHIN = 28, 365, 30
METRICS = ("faithfulness", "grounding", "context_precision", "relevance")
MEANS = {"faithfulness": 0.92, "grounding": 0.88, "context_precision": 0.7, "relevance": 0.6}
SETTINGS = MonitoringSettings()
SHIFTS = ((50, 0.1), (200, 0.05), (200, 0.1), (500, 0.05))
"""Rows a day, and by how much the metric falls."""


def year(
    generator: np.random.Generator,
    rows: int,
    days: int,
    *,
    means: dict[str, float] = MEANS,
    wobble: float = 0.0,
    errors: float = 0.02,
    shift: dict[str, float] | None = None,
    from_day: int = 0,
) -> pl.DataFrame:
    """Scored rows of some days; `shift` is added to the means of its metrics from a day on."""
    count = rows * days
    day = np.repeat(np.arange(days), rows)
    good = generator.normal(size=count)  # how good the answer is, which its metrics share
    columns: dict[str, Any] = {}
    for name, mean in means.items():
        of_day = mean + wobble * generator.normal(size=days)
        of_day[from_day:] += (shift or {}).get(name, 0.0)
        level = np.clip(of_day, 0.02, 0.98)[day]
        if name == "relevance":  # continuous, by a Beta distribution of that mean
            columns[name] = generator.beta(8 * level, 8 * (1 - level))
        else:  # thirds: two statements of their own chance, one that goes with how good the answer is
            own = generator.binomial(2, level)
            shared = good < _normal_quantile(level)
            columns[name] = (own + shared) / 3
    midnight = datetime.combine(FIRST, datetime.min.time(), UTC)
    seconds = day * 86_400 + generator.uniform(0, 86_400, size=count)
    base = {
        "id": [f"{place:07d}" for place in range(count)],
        "day": [FIRST + timedelta(days=int(one)) for one in day],
        "time": [midnight + timedelta(seconds=float(one)) for one in seconds],
        "model": [None] * count,
        "errors": generator.binomial(1, errors, size=count).astype(float),
    }
    return pl.DataFrame({**base, **columns}, schema={**BASE, **dict.fromkeys(means, pl.Float64())})


def _normal_quantile(level: Any) -> Any:
    from scipy.stats import norm

    return norm.ppf(level)


def lord(chances: Sequence[float], rate: float) -> list[bool]:
    """LORD++ with the weights and the initial wealth of half the rate that its authors use."""
    places = np.arange(1, len(chances) + 1)
    weights = np.log(np.maximum(places, 2)) / (places * np.exp(np.sqrt(np.log(places))))
    weights *= 0.07720838  # so that they add up to 1 over all places
    wealth = rate / 2
    found: list[int] = []
    taken: list[bool] = []
    for place, chance in enumerate(chances):
        level = weights[place] * wealth
        if found:
            level += (rate - wealth) * weights[place - found[0] - 1]
            level += rate * sum(weights[place - one - 1] for one in found[1:])
        taken.append(bool(chance <= level))
        if taken[-1]:
            found.append(place)
    return taken


def reports(found: pl.DataFrame) -> dict[str, list[int]]:
    """Days after the reference on which each way reports something."""
    later = found.filter(pl.col("state") != "reference")
    place = later.select((pl.col("day") - pl.lit(FIRST)).dt.total_days() - REFERENCE).to_series()
    tested = later.with_columns(place=place).drop_nulls("p")
    online = lord(tested["p"].to_list(), SETTINGS.drift.rate)
    return {
        "ours": tested.filter(pl.col("state") == "drift")["place"].to_list(),
        "lord": tested.filter(pl.Series(online, dtype=pl.Boolean))["place"].to_list(),
        "each_day": tested.filter(pl.col("p") < SETTINGS.drift.rate)["place"].to_list(),
    }


def undrifted(years: int, rows: int, seed: int, wobble: float = 0.0) -> dict[str, Any]:
    """Reports of undrifted years: how many, the most of a year, and how many years have any."""
    counts: dict[str, list[int]] = {"ours": [], "lord": [], "each_day": []}
    for place in range(years):
        generator = np.random.default_rng([seed, rows, place])
        found = find_drift(year(generator, rows, REFERENCE + YEAR, wobble=wobble), SETTINGS)
        for name, days in reports(found).items():
            counts[name].append(len(days))
    return {"rows_a_day": rows, "years": years, "wobble": wobble} | {
        name: {
            "reports_a_year": round(float(np.mean(of)), 3),
            "most": max(of),
            "years_with_any": dict(Interval.of_counts(sum(one > 0 for one in of), years)),
        }
        for name, of in counts.items()
    }


def planted(shifts: int, rows: int, size: float, seed: int) -> dict[str, Any]:
    """How many shifts of one metric are reported within the time, and after how many days."""
    delays: dict[str, list[int]] = {"ours": [], "lord": [], "each_day": []}
    quiet = 60  # days between the reference and the shift
    for place in range(shifts):
        generator = np.random.default_rng([seed, rows, place, 1])
        length, fall = REFERENCE + quiet + WITHIN, {"faithfulness": -size}
        shifted = year(generator, rows, length, shift=fall, from_day=REFERENCE + quiet)
        for name, days in reports(find_drift(shifted, SETTINGS)).items():
            after = [day - quiet for day in days if day >= quiet]
            if after:
                delays[name].append(min(after))
    return {"rows_a_day": rows, "shift": size, "shifts": shifts} | {
        name: {
            "found": dict(Interval.of_counts(len(of), shifts)),
            "median_delay": None if not of else float(np.median(of)),
            "delay_of_90_percent": None if not of else float(np.quantile(of, 0.9)),
        }
        for name, of in delays.items()
    }


def limits(years: int, rows: int, seed: int) -> list[dict[str, Any]]:
    """Alerts of a year whose means are at their limits, 5 points better and 5 points worse."""
    figures = []
    for name, better in (("at", 0.0), ("better", 0.05), ("worse", -0.05)):
        counts = []
        means = {metric: limit + better for metric, limit in SETTINGS.alerts.below.items()}
        errors = SETTINGS.alerts.above["errors"] - better / 2
        for place in range(years):
            generator = np.random.default_rng([seed, rows, place, 2])
            scored = year(generator, rows, YEAR, means=means, errors=errors)
            found = find_levels(scored, SETTINGS)
            counts.append(int((found["state"] == "alert").sum()))
        figures.append(
            {
                "means": name,
                "rows_a_day": rows,
                "years": years,
                "looks_a_year": found.height,
                "alerts_a_year": round(float(np.mean(counts)), 2),
                "most": max(counts),
            }
        )
    return figures


def main() -> None:
    """Simulate and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--years", type=int, default=50)
    parser.add_argument("--shifts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wobble", type=float, default=0.01)
    arguments = parser.parse_args()
    years, seed = arguments.years, arguments.seed
    runs: list[Callable[[], Any]] = [
        *(partial(planted, arguments.shifts, rows, size, seed) for rows, size in SHIFTS),
        *(partial(undrifted, years, rows, seed) for rows in (50, 200)),
        partial(undrifted, years, 200, seed, arguments.wobble),
        *(partial(limits, max(2, years // 10), rows, seed) for rows in (200, 1200)),
    ]
    print_json({"benchmark": "drift", "seed": seed, "settings": SETTINGS.drift.model_dump()})
    for run in runs:  # one line each, since all of them together take a while
        print_json({run.func.__name__: run()})  # type: ignore[attr-defined]
        sys.stdout.flush()


if __name__ == "__main__":
    main()
