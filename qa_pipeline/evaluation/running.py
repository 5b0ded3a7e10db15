"""An evaluation: answered questions in, a value for each metric and row out, block by block."""

import gc
import multiprocessing
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from qa_pipeline.errors import SettingsError
from qa_pipeline.evaluation.metrics.base import Metric
from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.metrics.retrieval import CUTOFFS, micro_f1_parts
from qa_pipeline.evaluation.signals.base import Means, Undecided
from qa_pipeline.evaluation.signals.registry import add_signals
from qa_pipeline.evaluation.signals.statements import STATEMENT
from qa_pipeline.pipeline.resources import Resources
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

    def include(self, other: "Counts") -> None:
        """Add the counts of other rows."""
        self.rows += other.rows
        self.hits.update(other.hits)
        self.listed.update(other.listed)
        for mine, theirs in ((self.decided_by, other.decided_by), (self.missing, other.missing)):
            for name, counts in theirs.items():
                mine.setdefault(name, Counter()).update(counts)


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
    workers: int = 1,
) -> Counts:
    """Evaluate block by block, and write `rows.parquet` and `statements.parquet`.

    Args:
        folder: where to write.
        rows: `RAG_ROWS`, of which a block is in memory at a time.
        metrics: of the registry, or at another depth.
        means: what signals are found with.
        notify: hears how many rows are done.
        workers: processes; each builds its embedder and cross-encoder from the settings, and there are none
            of them where a language model is asked: its calls go on at the same time as they are.

    Raises:
        PermanentModelError: a model can answer no further request.
        OSError: the folder cannot be written.
    """
    counts, total = Counts(), rows.select(pl.len()).collect().item()
    with ExitStack() as opened:
        write_rows = opened.enter_context(appended_parquet(folder / "rows.parquet", rows_schema(metrics)))
        write_statements = opened.enter_context(appended_parquet(folder / "statements.parquet", STATEMENTS))
        for values, statements, counted in _done(blocks_of(rows), metrics, means, workers):
            write_rows(values)
            if statements is not None:
                write_statements(statements)
            counts.include(counted)
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


_Done = tuple[pl.DataFrame, pl.DataFrame | None, Counts]
"""A block: its part of `rows.parquet` and of `statements.parquet`, and what was counted."""


def _done(
    blocks: Iterator[pl.DataFrame], metrics: Sequence[Metric], means: Means, workers: int
) -> Iterator[_Done]:
    """Yield the evaluated blocks in order; no more of them are in work than the workers need."""
    if workers < 2 or any((means.verifier, means.judge, means.splitter)):
        yield from (_evaluated(block, metrics, means) for block in blocks)
        return
    start = (means.resources.settings, means.undecided, [metric.name for metric in metrics])
    context = multiprocessing.get_context("spawn")  # a fork would copy the threads of polars and torch
    with ProcessPoolExecutor(workers, context, _start, start) as pool:
        under_way: deque[Future[_Done]] = deque()
        for block in blocks:
            under_way.append(pool.submit(_work, block))
            if len(under_way) > workers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


_state_of_worker: dict[str, Any] = {}
"""The arguments that a worker process was started with."""


def _start(settings: Settings, undecided: Undecided, names: Sequence[str]) -> None:
    # what is read and remembered has no cycles: looking for them took a seventh of the time
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    _state_of_worker.update(
        metrics=chosen_metrics(names), means=Means(Resources(settings), undecided=undecided)
    )


def _work(block: pl.DataFrame) -> _Done:
    return _evaluated(block, **_state_of_worker)


def _evaluated(block: pl.DataFrame, metrics: Sequence[Metric], means: Means) -> _Done:
    frame, values = evaluate(block, metrics, means)
    counts = Counts(rows=block.height)
    for metric in metrics:
        counts.add(metric, frame, values[metric.name])
    statements = None
    if "statements" in frame.columns:
        statements = pl.DataFrame(list(_statements(frame)), schema=STATEMENTS)
    return pl.concat([frame.select(ROW_COLUMNS), values], how="horizontal"), statements, counts


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
