"""Summaries of scores, overall and by category, difficulty and language; and the shares of their deciders."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.statistics import Floats, Sums, mean_bounds, number

Range = tuple[float, float | None]
"""Least and greatest value of a metric; the greatest is None if unbounded."""
Document = dict[str, Any]
PARTS = ("category", "difficulty", "language")
"""Columns by which rows are summarised separately."""
MOST_PARTS = 100
"""Values of such a column with summaries; free text has more."""
BINS = 10
"""Bars of a histogram."""
LIKENESS = "likeness"
MOSTLY = 0.5
"""Share of its decisions above which a figure is said to rest on likeness."""
_TOLERANCE = 1e-6
"""Rounding error that a score may have, as cosines of 1.0000001."""
_DECIMALS = 4
"""Decimals of figures in documents; further ones differ between machines."""
_FAMILIES = {
    **dict.fromkeys(("quotation", "citation", "rules"), "rules"),
    **dict.fromkeys(("similarity", "similarity_only"), LIKENESS),
    **dict.fromkeys(("entailment", "llm"), "model"),
    "person": "people",
}
"""The kind of each deciding step; other steps are kinds of their own."""


def summarise(rows: pl.DataFrame, ranges: Mapping[str, Range]) -> Document:
    """Return summaries of metrics over all rows, and over each category, difficulty and language.

    `low` and `high` bound the mean with 95 % confidence, with rows of one group as one unit
    (`statistics.mean_bounds`). They are None if all known rows are of one group. `interval` is `wilson`, or
    `t` for an unbounded metric. `std` is that of a sample. Histograms span the range of the metric, or up to
    the greatest score, and have the same bins in every part. A score that is not finite is unknown.

    Returns:
        metrics, per_category, per_difficulty and per_language, each with mean, median, std, min, max,
        percentile_95, low, high, interval, histogram, known and unknown of each metric.

    Raises:
        InputError: a metric has no column, or a score outside its range.
    """
    names = list(ranges)
    scored = rows.with_columns(known_scores(rows, names))
    check_ranges(scored, ranges)
    edges = {name: _edges(scored[name], *ranges[name]) for name in names}

    def summaries_of(part: pl.DataFrame) -> Document:
        bounds = _bounds(part, ranges)
        return {name: _summary(part[name], edges[name]) | bounds[name] for name in names}

    summary = {"metrics": summaries_of(scored)}
    for column in PARTS:
        summary[f"per_{column}"] = {value: summaries_of(part) for value, part in _parts(scored, column)}
    return summary


def known_scores(rows: pl.DataFrame, names: Iterable[str]) -> list[pl.Expr]:
    """Return expressions of the scores, null unless finite; `InputError` without a numeric column."""
    for name in names:
        if name not in rows.columns or not (rows[name].dtype.is_numeric() or rows[name].dtype == pl.Null()):
            problem = f"holds {rows[name].dtype}" if name in rows.columns else "is missing"
            raise InputError(f"the column of metric {name} {problem}; evaluate again")
    scores = {name: pl.col(name).cast(pl.Float64) for name in names}
    return [pl.when(score.is_finite()).then(score).alias(name) for name, score in scores.items()]


def check_ranges(rows: pl.DataFrame, ranges: Mapping[str, Range]) -> None:
    """Raise an `InputError` that names the first row with a score outside the range of its metric."""
    for name, (low, high) in ranges.items():
        above = pl.col(name) > (np.inf if high is None else high + _TOLERANCE)
        outside = rows.with_row_index("index").filter((pl.col(name) < low - _TOLERANCE) | above)
        if outside.height:
            between = f"at least {low}" if high is None else f"between {low} and {high}"
            index, score = outside["index"][0], outside[name][0]
            raise InputError(f"row {index + 1} has {name} {score}, but it must be {between}: evaluate again")


def group_sums(rows: pl.DataFrame, names: Collection[str]) -> Sums:
    """Return sums and counts of known scores: two matrices, a row by `group` and a column by name."""
    totals = [pl.col(name).sum().alias(f"total {name}") for name in names]
    counts = [pl.col(name).count().alias(f"count {name}") for name in names]
    sums = rows.group_by("group").agg(*totals, *counts).sort("group")
    columns = ([f"{kind} {name}" for name in names] for kind in ("total", "count"))
    matrices = (sums.select(selected).to_numpy().astype(np.float64) for selected in columns)
    # a selection of no columns would lose its rows
    return Sums(*(matrix.reshape(sums.height, len(names)) for matrix in matrices))


def rounded(value: Any) -> Any:
    """Return a document with its fractions rounded to four decimals."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, _DECIMALS) if isinstance(value, float) else value


def _bounds(rows: pl.DataFrame, ranges: Mapping[str, Range]) -> dict[str, Document]:
    """Return the interval of each mean, such as {"low": 0.6, "high": 0.8, "interval": "wilson"}."""
    lowest = np.array([low for low, _ in ranges.values()], dtype=np.float64)
    highest = np.array([np.inf if high is None else high for _, high in ranges.values()], dtype=np.float64)
    lows, highs = mean_bounds(group_sums(rows, ranges), lowest, highest)
    return {
        name: {"low": number(low), "high": number(high), "interval": "t" if greatest is None else "wilson"}
        for (name, (_, greatest)), low, high in zip(ranges.items(), lows, highs, strict=True)
    }


def _edges(scores: pl.Series, low: float, high: float | None) -> Floats:
    """Return the borders of the bins; an unbounded metric ends at its greatest score."""
    greatest = scores.max() if high is None else high
    top = float(greatest) if isinstance(greatest, float | int) and greatest > low else low + 1
    # rounded, so that a score of 0.3 is in the bin that begins there
    return np.round(np.linspace(low, top, BINS + 1), 12)


def _summary(scores: pl.Series, edges: Floats) -> Document:
    """Return the figures of a metric; its histogram counts scores beyond the edges in the outer bins."""
    present = scores.drop_nulls()
    counts, _ = np.histogram(np.clip(present.to_numpy(), edges[0], edges[-1]), bins=edges)
    return {
        "mean": present.mean(),
        "median": present.median(),
        "std": present.std(),
        "min": present.min(),
        "max": present.max(),
        "percentile_95": present.quantile(0.95, interpolation="linear"),
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
        "known": len(present),
        "unknown": len(scores) - len(present),
    }


def _parts(rows: pl.DataFrame, column: str) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows by the value of a column, sorted; nothing for a column of free text."""
    if column not in rows.columns or rows[column].dtype == pl.Null():
        return []
    parts = rows.drop_nulls(column).partition_by(column, as_dict=True)
    return sorted((str(name), part) for (name,), part in parts.items()) if len(parts) <= MOST_PARTS else []


def decider_shares(decided_by: Mapping[str, int]) -> dict[str, float]:
    """Return the share of rules, likeness, model and people in a figure, the largest first.

    `decided_by` counts decisions by step. Parts that a metric omits ("without …") are not decisions.
    """
    counts = Counter[str]()
    for step, count in decided_by.items():
        if count and not step.startswith("without "):
            counts[_FAMILIES.get(step, step)] += count
    total = sum(counts.values())
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {name: count / total for name, count in ranked}


def rests_on_likeness(decided_by: Mapping[str, int]) -> bool:
    """Return True if likeness alone decided most of a figure."""
    return decider_shares(decided_by).get(LIKENESS, 0.0) > MOSTLY


def has_model(decided_by: Mapping[str, int]) -> bool:
    """Return True if a model or a person made any of the decisions."""
    return bool({"model", "people"} & {*decider_shares(decided_by)})


def is_undecided(decided_by: Mapping[str, int]) -> bool:
    """Return True if likeness made most decisions, or any without a model or person."""
    likeness = decider_shares(decided_by).get(LIKENESS, 0.0)
    return likeness > MOSTLY or (likeness > 0 and not has_model(decided_by))


def describe_deciders(decided_by: Mapping[str, int]) -> str:
    """Describe the deciders of a figure, such as "rules 71 %, likeness 29 %"."""
    shares = decider_shares(decided_by)
    if not shares:
        return "arithmetic"
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
