"""An evaluation: answered questions in, a value for each metric and row out, block by block."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.evaluation.metrics.base import Metric
from qa_pipeline.evaluation.signals.base import Means
from qa_pipeline.evaluation.signals.registry import add_signals
from qa_pipeline.evaluation.signals.statements import STATEMENT
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.storage import appended_parquet

BLOCK = 256
"""Rows that are looked at together, which bounds memory."""
ROW_COLUMNS = ("id", "group", "query", "answer", "category", "difficulty", "language", "seconds")
_TOLD = ("position", "start", "end", "text", "verdict", "decided_by", "reason", "quote", "score")
STATEMENTS = pl.Schema(
    {
        "id": pl.String(),
        **{name: type_ for name, type_ in STATEMENT.to_schema().items() if name in _TOLD},
        "document": pl.String(),
    }
)
"""A row of `statements.parquet`."""


@dataclass
class Counts:
    """What is counted beside the values: for each metric who decided them, and what rows lacked."""

    rows: int = 0
    decided_by: dict[str, Counter[str]] = field(default_factory=dict)
    missing: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, metric: Metric, frame: pl.DataFrame, values: pl.Series) -> None:
        """Count a block of rows of one metric."""
        self.missing.setdefault(metric.name, Counter()).update(metric.missing(frame))
        by = self.decided_by.setdefault(metric.name, Counter())
        if metric.decided_by is not None:
            who = frame.filter(values.is_not_null()).select(by=metric.decided_by)["by"].explode()
            by.update(dict(who.drop_nulls().value_counts().iter_rows()))


def rows_schema(metrics: Sequence[Metric]) -> pl.Schema:
    """Columns of `rows.parquet`: the row, and one for each metric."""
    texts = dict.fromkeys(ROW_COLUMNS, pl.String()) | {"seconds": pl.Float64()}
    return pl.Schema(texts | {one.name: pl.Float64() for one in metrics})


def evaluate(
    rows: pl.DataFrame, metrics: Sequence[Metric], means: Means
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows with every signal that the metrics need, and the value of each metric.

    Args:
        rows: `RAG_ROWS`.
        metrics: whose needs are columns of the rows, or signals.
        means: what signals are found with.

    Returns:
        The rows with their signals, and a frame with one column for each metric, in the same order.

    Raises:
        PermanentModelError: a model can answer no further request.
    """
    frame = add_signals(rows, dict.fromkeys(name for one in metrics for name in one.needs), means)
    return frame, pl.DataFrame([one.scores(frame) for one in metrics])


def evaluate_into(
    folder: Path,
    rows: pl.DataFrame,
    metrics: Sequence[Metric],
    means: Means,
    notify: ProgressCallback = no_progress,
) -> Counts:
    """Evaluate block by block, and write `rows.parquet` and `statements.parquet`.

    Raises:
        PermanentModelError: a model can answer no further request.
        OSError: the folder cannot be written.
    """
    counts = Counts()
    with ExitStack() as opened:
        write_rows = opened.enter_context(appended_parquet(folder / "rows.parquet", rows_schema(metrics)))
        write_statements = opened.enter_context(appended_parquet(folder / "statements.parquet", STATEMENTS))
        for block in rows.iter_slices(BLOCK):
            frame, values = evaluate(block, metrics, means)
            for metric in metrics:
                counts.add(metric, frame, values[metric.name])
            write_rows(pl.concat([frame.select(ROW_COLUMNS), values], how="horizontal"))
            if "statements" in frame.columns:
                write_statements(pl.DataFrame(list(_statements(frame)), schema=STATEMENTS))
            counts.rows += block.height
            notify(counts.rows, rows.height)
    return counts


def _statements(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for row_id, contexts, statements in frame.select("id", "contexts", "statements").iter_rows():
        for one in statements or ():
            context = one["context"]
            document = None if context is None else contexts[context]["document"]
            yield {
                **{name: one[name] for name in _TOLD},
                "id": row_id,
                "document": document,
            }
