"""What a metric is, and the one registry that all metrics register in.

A metric is a function of one row, a dictionary: the columns of a data set (`RAG_ROWS`) and signals
(`evaluation/signals/`), the facts about its texts that all metrics share. A row that lacks what a metric
needs has no value, and neither has one whose value is no number; both are counted.
"""

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from qa_pipeline.evaluation.signals.means import Means, Row
from qa_pipeline.evaluation.signals.registry import add_signals

Direction = Literal["higher", "lower"]
Value = Callable[[Row], float | None]
Scores = list[float | None]
STATEMENTS_VERSION = 3
"""Version of metrics over statements: 3 since the scores are those of verification."""
SPECIFIED = "specification of this project (docs/evaluation.md)"
RAGAS = "Es et al. 2024, RAGAS, arXiv:2309.15217"


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure of an answered question.

    Args:
        name: column of the values, and name in reports.
        of: the value of a row that has all it needs.
        needs: columns and signals without which a row has no value.
        meaning: a sentence for readers of reports.
        source: the paper or system that the formula is from.
        range: least and largest value; None where there is no largest.
        direction: whether more or less is better.
        decided_by: signals whose deciders decide the metric; none for arithmetic alone.
        without: what the value of a row had to do without, counted beside the deciders.
        version: goes up with each change of the formula, so that no two reports are compared across it.
    """

    name: str
    of: Value
    needs: tuple[str, ...]
    meaning: str
    source: str
    range: tuple[float, float | None] = (0.0, 1.0)
    direction: Direction = "higher"
    decided_by: tuple[str, ...] = ()
    without: Callable[[Row], list[str]] | None = None
    version: int = 1

    def scores(self, rows: Sequence[Row], means: Means) -> Scores:
        """Return the value of each row, None if unknown; signals are found once and stay in the rows."""
        add_signals(rows, self.needs, means)
        values = (None if self.lacking(row) else self.of(row) for row in rows)
        return [None if value is None or not math.isfinite(value) else float(value) for value in values]

    def lacking(self, row: Row) -> list[str]:
        """Return the columns and signals that a row lacks."""
        return [name for name in self.needs if row.get(name) is None]

    def deciders(self, row: Row) -> list[str]:
        """Return who decided the signals of a row, of each element or of the whole."""
        steps: list[Any] = [] if self.without is None else self.without(row)
        for path in self.decided_by:
            name, _, field = path.partition(".")
            if isinstance(row.get(name), list) and f"{name}_by" not in row:
                steps += [element[field or "decided_by"] for element in row[name]]
            else:
                steps.append(row.get(f"{name}_by"))
        return [who for who in steps if who is not None]


METRICS: dict[str, Metric] = {}
"""All metrics by name, in the order of reports."""


def metric(*needs: str, **about: Any) -> Callable[[Value], Value]:
    """Register a function as the metric of its name; its docstring says what it means."""

    def register(of: Value) -> Value:
        meaning = inspect.getdoc(of) or ""
        meaning = meaning.removeprefix("Return ").removeprefix("the ")
        METRICS[of.__name__] = Metric(of.__name__, of, needs, meaning[:1].upper() + meaning[1:], **about)
        return of

    return register


def share(values: Iterable[float | None]) -> float | None:
    """Return the mean of flags or numbers; None for an empty list, or with an unknown element."""
    numbers = list(values)
    if not numbers or None in numbers:
        return None
    return math.fsum(value for value in numbers if value is not None) / len(numbers)


def entropy(values: Sequence[Any]) -> float | None:
    """Return the Shannon entropy in bits; None of an empty list, or with an unknown element."""
    if not values or None in values:
        return None
    shares = (count / len(values) for count in Counter(values).values())
    return abs(math.fsum(-part * math.log2(part) for part in shares))
