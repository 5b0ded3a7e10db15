"""How the scores of an evaluation are spread: overall, and by category, difficulty and language."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.statistics import Floats, Sums, mean_bounds, number

Range = tuple[float, float | None]
"""Least and greatest value of a metric; None where nothing bounds it from above."""
Document = dict[str, Any]

PARTS = ("category", "difficulty", "language")
"""Columns by which rows are summarised apart."""
MOST_PARTS = 100
"""Values of such a column that have a summary of their own, the most frequent ones: a column of free text
would make the report as long as the data."""
OTHERS = "(others)"
BINS = 10
"""Bars of a histogram: tenths of a score from 0 to 1."""
_TOLERANCE = 1e-6
"""How far rounding may carry a score out of its range, as cosines of 1.0000001."""
_FIGURES = ("mean", "median", "std", "min", "max", "percentile_95", "low", "high")


def summarise(rows: pl.DataFrame, ranges: Mapping[str, Range]) -> Document:
    """Return summaries of metrics over all rows and over each category, difficulty and language.

    `low` and `high` bound the mean with 95 % confidence, rows of one group counting as rising and falling
    together (`statistics.mean_bounds`); `interval` names how: `wilson`, or `t` where nothing bounds the
    metric from above. They are None where all known rows are of one group. `std` is that of a sample, None
    of one row. The bins of a metric span its range, or up to the greatest score where nothing bounds it;
    they are those of all rows in every part. A score that is NaN or infinite is unknown.

    Args:
        rows: group, a numeric column of each metric, and of category, difficulty and language what is there.
        ranges: the range of each metric.

    Returns:
        metrics, per_category, per_difficulty and per_language; of a metric mean, median, std, min, max,
        percentile_95, low, high, interval, histogram, known and unknown. Rows without a category are in no
        part; beyond `MOST_PARTS` parts the rarest are one, `OTHERS`.

    Raises:
        InputError: a metric has no column, or a score outside its range.
    """
    names = list(ranges)
    scored = rows.with_columns(known_scores(rows, names))
    check_ranges(scored, ranges)
    edges = {name: _edges(scored[name], *ranges[name]) for name in names}

    def of(part: pl.DataFrame) -> Document:
        bounds = _bounds(part, ranges)
        return {name: _summary(part[name], edges[name]) | bounds[name] for name in names}

    summary = {"metrics": of(scored)}
    for column in PARTS:
        summary[f"per_{column}"] = {name: of(part) for name, part in _parts(scored, column)}
    return summary


def known_scores(rows: pl.DataFrame, names: Iterable[str]) -> list[pl.Expr]:
    """Return the scores as floats; what is no number is unknown.

    Raises:
        InputError: there is no such column, or it holds no numbers.
    """
    for name in names:
        if name not in rows.columns or not (rows[name].dtype.is_numeric() or rows[name].dtype == pl.Null()):
            problem = f"holds {rows[name].dtype}" if name in rows.columns else "is missing"
            raise InputError(f"the column of metric {name} {problem}; evaluate again")
    column = {name: pl.col(name).cast(pl.Float64) for name in names}
    return [pl.when(score.is_finite()).then(score).alias(name) for name, score in column.items()]


def check_ranges(rows: pl.DataFrame, ranges: Mapping[str, Range]) -> None:
    """Refuse scores that a metric cannot have.

    Raises:
        InputError: naming the metric, the first such row and its score.
    """
    for name, (low, high) in ranges.items():
        above = pl.col(name) > (np.inf if high is None else high + _TOLERANCE)
        outside = rows.with_row_index("place").filter((pl.col(name) < low - _TOLERANCE) | above)
        if outside.height:
            between = f"at least {low}" if high is None else f"between {low} and {high}"
            place, score = outside["place"][0], outside[name][0]
            raise InputError(f"row {place + 1} has {name} {score}; it should be {between}: evaluate again")


def group_sums(rows: pl.DataFrame, names: Iterable[str]) -> Sums:
    """Return sums and counts of known scores by `group`, groups by name."""
    names = list(names)
    totals = [pl.col(name).sum().alias(f"total {name}") for name in names]
    counts = [pl.col(name).count().alias(f"count {name}") for name in names]
    sums = rows.group_by("group").agg(*totals, *counts).sort("group")
    of = {kind: [f"{kind} {name}" for name in names] for kind in ("total", "count")}
    matrices = (sums.select(columns).to_numpy().astype(np.float64) for columns in of.values())
    return Sums(*(matrix.reshape(sums.height, len(names)) for matrix in matrices))


def _bounds(rows: pl.DataFrame, ranges: Mapping[str, Range]) -> dict[str, Document]:
    lowest, highest = (
        np.array([value_range[end] for value_range in ranges.values()], dtype=np.float64) for end in (0, 1)
    )
    bounds = mean_bounds(group_sums(rows, ranges), lowest, np.nan_to_num(highest, nan=np.inf))
    return {
        name: {"low": number(low), "high": number(high), "interval": "t" if end is None else "wilson"}
        for (name, (_, end)), low, high in zip(ranges.items(), *bounds, strict=True)
    }


_PLACES = 4
"""Decimals of figures in documents: what lies behind them differs between machines."""


def rounded(value: Any) -> Any:
    """Return a document with its fractions rounded to four places."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, _PLACES) if isinstance(value, float) else value


def _edges(scores: pl.Series, low: float, high: float | None) -> Floats:
    greatest = scores.max() if high is None else high
    top = float(greatest) if isinstance(greatest, float | int) and greatest > low else low + 1
    # rounded, so that a score of 0.3 is in the bin that begins there
    return np.round(np.linspace(low, top, BINS + 1), 12)


def _summary(scores: pl.Series, edges: Floats) -> Document:
    present = scores.drop_nulls()
    values = np.clip(present.to_numpy(), edges[0], edges[-1])
    figures = (
        present.mean(), present.median(), present.std(), present.min(), present.max(),
        present.quantile(0.95, interpolation="linear"),
    )  # fmt: skip
    return {
        **dict(zip(_FIGURES, figures, strict=False)),
        "histogram": {
            "edges": edges.tolist(),
            "counts": np.histogram(values, bins=edges)[0].tolist(),
        },
        "known": len(present),
        "unknown": len(scores) - len(present),
    }


def _parts(rows: pl.DataFrame, column: str) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows by the value of a column, by name; the rarest values beyond `MOST_PARTS` as one."""
    if column not in rows.columns or rows[column].dtype == pl.Null():
        return []
    sizes = rows.drop_nulls(column).group_by(column).len().sort("len", column, descending=[True, False])
    largest = sizes[column].head(MOST_PARTS if sizes.height <= MOST_PARTS else MOST_PARTS - 1)
    part_name = (
        pl.when(pl.col(column).is_in(largest.implode())).then(pl.col(column)).otherwise(pl.lit(OTHERS))
    )
    split = rows.drop_nulls(column).with_columns(part_name).partition_by(column, as_dict=True)
    return sorted((str(name), part) for (name,), part in split.items())
