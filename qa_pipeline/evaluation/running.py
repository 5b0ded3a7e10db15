"""An evaluation: answered questions in, a value for each metric and row out, block by block."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl

from qa_pipeline.errors import SettingsError
from qa_pipeline.evaluation.metrics.base import Metric
from qa_pipeline.evaluation.metrics.means import Means, Row
from qa_pipeline.evaluation.metrics.retrieval import CUTOFFS, micro_f1_parts
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import appended_parquet

BLOCK = 256
"""Rows that are looked at together: it bounds memory, and readings of their texts are remembered."""
ROW_COLUMNS = ("id", "group", "query", "answer", "category", "difficulty", "language", "seconds")
STATEMENTS = pl.Schema(
    {
        "id": pl.String(),
        **dict.fromkeys(("position", "start", "end"), pl.Int64()),
        **dict.fromkeys(("text", "verdict", "decided_by", "reason", "quote"), pl.String()),
        "score": pl.Float64(),
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

    def add(self, metric: Metric, rows: Sequence[Row], values: pl.Series) -> None:
        """Count a block of rows of one metric."""
        missing = self.missing.setdefault(metric.name, Counter())
        by = self.decided_by.setdefault(metric.name, Counter())
        for row, value in zip(rows, values, strict=True):
            missing.update(metric.lacking(row))
            if value is not None:
                by.update(metric.deciders(row))
        for k in (k for k in CUTOFFS if metric.name == f"f1_at_{k}"):
            for hits, listed in (micro_f1_parts(row, k) for row in rows):
                self.hits[k] += hits
                self.listed[k] += listed


def rows_schema(metrics: Sequence[Metric]) -> pl.Schema:
    """Return the columns of `rows.parquet`: the row, and one for each metric."""
    texts = dict.fromkeys(ROW_COLUMNS, pl.String()) | {"seconds": pl.Float64()}
    return pl.Schema(texts | {metric.name: pl.Float64() for metric in metrics})


def evaluate(frame: pl.DataFrame, metrics: Sequence[Metric], means: Means) -> tuple[list[Row], pl.DataFrame]:
    """Return the rows (`RAG_ROWS`) with the signals that the metrics need, and the values of each metric.

    Raises:
        PermanentModelError: a model can answer no further request.
    """
    rows, values = [], {metric.name: list[float | None]() for metric in metrics}
    for part in frame.iter_slices(BLOCK):
        block = part.rows(named=True)
        for metric in metrics:
            values[metric.name] += metric.scores(block, means)
        rows += block
    return rows, pl.DataFrame(values, schema=dict.fromkeys(values, pl.Float64()))


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
            evaluated, values = evaluate(block, metrics, means)
            counts.rows += block.height
            for metric in metrics:
                counts.add(metric, evaluated, values[metric.name])
            write_rows(pl.concat([block.select(ROW_COLUMNS), values], how="horizontal"))
            write_statements(pl.DataFrame(list(_statements(evaluated)), schema=STATEMENTS))
            notify(counts.rows, total)
    return counts


def count_unsplit(rows: pl.LazyFrame, means: Means) -> dict[str, int]:
    """Return how many rows have no statements since the reply of the splitter failed, by reason."""
    if not means.unsplit:
        return {}
    answered = rows.select("query", "answer").collect().iter_rows()
    reasons = Counter(means.unsplit[key] for key in answered if key in means.unsplit)
    return dict(sorted(reasons.items()))


def blocks_of(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows in blocks, in order; a scan of a Parquet file reads only what each block needs."""
    start = 0
    while (block := rows.slice(start, BLOCK).collect()).height:
        yield block
        start += BLOCK


def _statements(rows: Sequence[Row]) -> Iterator[Row]:
    for row in rows:
        for statement in row.get("statements") or ():
            context = statement["context"]
            document = None if context is None else row["contexts"][context]["document"]
            fields = {name: statement[name] for name in STATEMENTS if name in statement}
            yield fields | {"id": row["id"], "document": document}
