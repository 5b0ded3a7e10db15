"""An evaluation: answered questions in, a value for each metric and row out, block by block."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from qa_pipeline.errors import SettingsError
from qa_pipeline.evaluation.metrics.base import Metric
from qa_pipeline.evaluation.metrics.retrieval import CUTOFFS, micro_f1_parts
from qa_pipeline.evaluation.signals.means import Means
from qa_pipeline.evaluation.signals.registry import add_signals
from qa_pipeline.evaluation.signals.statements import STATEMENT
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import appended_parquet

BLOCK = 256
"""Rows that are looked at together: it bounds memory, and readings of their texts are remembered."""
ROW_COLUMNS = ("id", "group", "query", "answer", "category", "difficulty", "language", "seconds")
_STATEMENT_FIELDS = ("position", "start", "end", "text", "verdict", "decided_by", "reason", "quote", "score")
STATEMENTS = pl.Schema(
    {
        "id": pl.String(),
        **{name: type_ for name, type_ in STATEMENT.to_schema().items() if name in _STATEMENT_FIELDS},
        "document": pl.String(),
    }
)
"""A row of `statements.parquet`."""


def evaluation_settings(settings: Settings) -> Settings:
    """Return the settings with claims cut by the rules, or refuse those that want a model for it.

    Every metric then sees the same claims, and no model is paid that nobody named.

    Raises:
        SettingsError: the settings want a model to cut them.
    """
    if settings.verification.split_claims == "model":
        raise SettingsError(
            "verification.split_claims=model: here the rules cut answers into claims, so that every metric "
            "sees the same; set it to auto or rules, or have the model cut with eval run --statements model"
        )
    return cut_by(settings)


def cut_by(settings: Settings, who: Literal["auto", "model", "rules"] = "rules") -> Settings:
    """Return the settings with claims cut by the rules, or by a model, whatever the pipeline does."""
    verification = settings.verification.model_copy(update={"split_claims": who})
    return settings.model_copy(update={"verification": verification})


@dataclass
class Counts:
    """The counts beside the values: for each metric its deciders, and what rows lacked."""

    rows: int = 0
    decided_by: dict[str, Counter[str]] = field(default_factory=dict)
    missing: dict[str, Counter[str]] = field(default_factory=dict)
    hits: Counter[int] = field(default_factory=Counter)
    """Relevant documents among the first K of all rows, by K."""
    listed: Counter[int] = field(default_factory=Counter)
    """K of each row that has a ranking, and its relevant documents, by K."""

    def add(self, metric: Metric, frame: pl.DataFrame, values: pl.Series) -> None:
        """Count a block of rows of one metric."""
        self.missing.setdefault(metric.name, Counter()).update(metric.missing(frame))
        by = self.decided_by.setdefault(metric.name, Counter())
        if metric.decided_by is not None:
            who = frame.filter(values.is_not_null()).select(by=metric.decided_by)["by"].explode()
            by.update(dict(who.drop_nulls().value_counts().iter_rows()))
        k = next((k for k in CUTOFFS if metric.name == f"f1_at_{k}"), None)
        if k is not None:
            hits, listed = micro_f1_parts(frame, k)
            self.hits[k] += hits
            self.listed[k] += listed


def rows_schema(metrics: Sequence[Metric]) -> pl.Schema:
    """Return the columns of `rows.parquet`: the row, and one for each metric."""
    texts = dict.fromkeys(ROW_COLUMNS, pl.String()) | {"seconds": pl.Float64()}
    return pl.Schema(texts | {metric.name: pl.Float64() for metric in metrics})


def evaluate(
    rows: pl.DataFrame, metrics: Sequence[Metric], means: Means
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows with every signal that the metrics need, and the value of each metric.

    Args:
        rows: `RAG_ROWS`.
        metrics: whose needs are columns of the rows, or signals.
        means: what signals are found with.

    Returns:
        The rows with their signals, and a frame with one column for each metric, in the same order.

    Raises:
        PermanentModelError: a model can answer no further request.
    """
    inputs = dict.fromkeys(name for metric in metrics for name in metric.needs)
    blocks = [add_signals(block, inputs, means) for block in rows.iter_slices(BLOCK)]
    frame = pl.concat(blocks) if blocks else add_signals(rows, inputs, means)
    return frame, pl.DataFrame([metric.scores(frame) for metric in metrics])


def evaluate_into(
    folder: Path,
    rows: pl.LazyFrame,
    metrics: Sequence[Metric],
    means: Means,
    notify: ProgressCallback = no_progress,
) -> Counts:
    """Evaluate block by block, and write `rows.parquet` and `statements.parquet`.

    Args:
        folder: where to write.
        rows: `RAG_ROWS`, of which a block is in memory at a time.
        metrics: of the registry, or at another depth.
        means: what signals are found with.
        notify: hears how many rows are done.

    Raises:
        PermanentModelError: a model can answer no further request.
        OSError: the folder cannot be written.
    """
    counts, total = Counts(), rows.select(pl.len()).collect().item()
    with ExitStack() as opened:
        write_rows = opened.enter_context(appended_parquet(folder / "rows.parquet", rows_schema(metrics)))
        write_statements = opened.enter_context(appended_parquet(folder / "statements.parquet", STATEMENTS))
        for block in blocks_of(rows):
            frame, values = evaluate(block, metrics, means)
            counts.rows += block.height
            for metric in metrics:
                counts.add(metric, frame, values[metric.name])
            write_rows(pl.concat([frame.select(ROW_COLUMNS), values], how="horizontal"))
            if "statements" in frame.columns:
                write_statements(pl.DataFrame(list(_statements(frame)), schema=STATEMENTS))
            notify(counts.rows, total)
    return counts


def count_unsplit(rows: pl.LazyFrame, means: Means) -> dict[str, int]:
    """Return how many rows have no statements since the reply of the splitter failed, by reason."""
    if not means.unsplit:
        return {}
    reasons = pl.DataFrame(
        [(query, answer, reason) for (query, answer), reason in means.unsplit.items()],
        {"query": pl.String(), "answer": pl.String(), "reason": pl.String()},
        orient="row",
    )
    counted = rows.join(reasons.lazy(), on=["query", "answer"]).group_by("reason").len().sort("reason")
    return dict(counted.collect().iter_rows())


def blocks_of(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows in blocks, in order; a scan of a Parquet file reads only what each block needs."""
    start = 0
    while (block := rows.slice(start, BLOCK).collect()).height:
        yield block
        start += BLOCK


def _statements(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for row_id, contexts, statements in frame.select("id", "contexts", "statements").iter_rows():
        for statement in statements or ():
            context = statement["context"]
            document = None if context is None else contexts[context]["document"]
            yield {
                **{name: statement[name] for name in _STATEMENT_FIELDS},
                "id": row_id,
                "document": document,
            }
