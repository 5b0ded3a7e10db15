"""What a metric is: a name, what it needs of a row, what its values mean, and how they are computed.

A metric is a pure function of a frame whose columns are those of a data set (`RAG_ROWS`) and signals
(`evaluation/signals/`): what the texts were found to say, each found out once and shared by all metrics. A
row that lacks what a metric needs has no value, and neither has one whose value is no number; both are
counted.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

Direction = Literal["higher", "lower"]
STATEMENTS_VERSION = 3
"""Version of metrics over statements: 3 since the scores are those of verification."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure of an answered question.

    Args:
        name: column of the values, and name in reports.
        needs: columns of the frame without which a row has no value, signals among them.
        of: an expression over a frame, or a function of it, with one value a row, in order; rows that lack
            what it needs may hold anything.
        source: paper, or system, that the formula is from.
        range: least and largest value; None where there is no largest.
        direction: whether more or less is better.
        decided_by: lists of who found out what the metric rests on; None for arithmetic alone.
        version: goes up with each change of the formula, or of how what it counts is decided, so that no two
            reports are compared across it.
    """

    name: str
    needs: tuple[str, ...]
    of: pl.Expr | Callable[[pl.DataFrame], pl.Series]
    source: str
    range: tuple[float, float | None] = (0.0, 1.0)
    direction: Direction = "higher"
    decided_by: pl.Expr | None = None
    version: int = 1

    def scores(self, frame: pl.DataFrame) -> pl.Series:
        """Return the values (Float64, named like the metric), null where unknown, in the frame's order."""
        of = self.of
        values = frame.select(value=of)["value"] if isinstance(of, pl.Expr) else of(frame)
        values = values.cast(pl.Float64).alias(self.name)
        is_measured = (
            pl.all_horizontal(pl.col(name).is_not_null() for name in self.needs) & values.is_finite()
        )
        return frame.select(pl.when(is_measured).then(values).alias(self.name))[self.name]

    def missing(self, frame: pl.DataFrame) -> dict[str, int]:
        """Return how many rows lack each column that it needs."""
        counts = frame.select(pl.col(name).null_count() for name in self.needs).row(0, named=True)
        return {name: int(count) for name, count in counts.items() if count}


def share(of: pl.Expr) -> pl.Expr:
    """Return the share of true elements of each list of booleans, or the mean of each list of numbers.

    Null for an empty list, or with an unknown element.
    """
    return pl.when(all_known(of) & (of.list.len() > 0)).then(
        of.list.eval(pl.element().cast(pl.Float64)).list.mean()
    )


def all_known(of: pl.Expr) -> pl.Expr:
    """Return whether no element of each list is null."""
    return of.list.eval(pl.element().is_null()).list.sum() == 0


def field(of: pl.Expr, name: str) -> pl.Expr:
    """Return a field of each element of lists of structs."""
    return of.list.eval(pl.element().struct.field(name))


def entropy(of: pl.Expr) -> pl.Expr:
    """Return the Shannon entropy in bits of the values of each list; null if empty or with an unknown."""
    counts = pl.element().value_counts().struct.field("count").sort()
    bits = of.list.eval(counts.cast(pl.Float64).entropy(base=2)).list.first()
    return pl.when(all_known(of) & (of.list.len() > 0)).then(bits.clip(lower_bound=0) + 0.0)


def by_name(metrics: Iterable[Metric]) -> Mapping[str, Metric]:
    """Return the metrics by name, in order; a name may appear once."""
    metrics_by_name: dict[str, Metric] = {}
    for metric in metrics:
        if metric.name in metrics_by_name:
            raise ValueError(f"two metrics are called {metric.name}")
        metrics_by_name[metric.name] = metric
    return metrics_by_name
