"""Scores of production, one Parquet file for each day: made from its logs, and read as a series.

Texts stay in the logs: a scored row holds an id, a time, whether the request failed, and numbers.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.answered_questions import RAG_ROWS
from qa_pipeline.evaluation.datasets.labelled_files import Labelled, Row
from qa_pipeline.evaluation.reports.deciders import describe_deciders
from qa_pipeline.models.base import Embedder
from qa_pipeline.monitoring.logs import Logs
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.monitoring import ERRORS
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import readable, write_frame

if TYPE_CHECKING:
    from qa_pipeline.evaluation.metrics.base import Metric

DECIDED_BY = "decided_by"
DECISIONS = pl.List(pl.Struct({"metric": pl.String(), "step": pl.String(), "count": pl.Int64()}))
"""The number of decisions of each step about a row's figures, by metric; null where not stored."""
Score = Callable[[pl.DataFrame], pl.DataFrame]
"""From answered rows (`RAG_ROWS`) to a column of numbers for each metric, row for row; null is unknown.

A column `DECIDED_BY` (`DECISIONS`) may stand beside them.
"""
BASE = pl.Schema(
    {
        "id": pl.String(),
        "day": pl.Date(),
        "time": pl.Datetime("us", "UTC"),
        "model": pl.String(),
        ERRORS: pl.Float64(),
    }
)
"""Columns that every scored row has, before those of the metrics. `errors` is 1 where a request failed."""


def metric_scores(settings: Settings, embedder: Embedder | None = None) -> Score:
    """Return a function that scores rows by `monitoring.metrics`, with the local steps alone.

    Args:
        settings: of the metrics and the verifier.
        embedder: in place of the one that the settings name.

    Raises:
        InputError: there is no such metric.
    """
    from qa_pipeline.evaluation.metrics.registry import chosen_metrics  # heavy, and only scoring needs them
    from qa_pipeline.evaluation.running import cut_by, evaluate
    from qa_pipeline.evaluation.signals.means import Means

    metrics = chosen_metrics(settings.monitoring.metrics)
    means = Means(Resources(cut_by(settings), embedder=embedder))

    def score(rows: pl.DataFrame) -> pl.DataFrame:
        evaluated, values = evaluate(rows, metrics, means)
        return values.with_columns(_decisions(evaluated, values, metrics))

    return score


def _decisions(rows: Sequence[Row], values: pl.DataFrame, metrics: Sequence["Metric"]) -> pl.Series:
    """Return who decided the figures of each row (`DECISIONS`)."""
    decisions: list[list[Row]] = [[] for _ in rows]
    for metric in metrics:
        for of_row, row, value in zip(decisions, rows, values[metric.name], strict=True):
            counts = Counter() if value is None else Counter(metric.deciders(row))
            of_row += [
                {"metric": metric.name, "step": step, "count": counts[step]} for step in sorted(counts)
            ]
    return pl.Series(DECIDED_BY, decisions, dtype=DECISIONS)


def score_day(logs: Logs, day: date, score: Score, folder: Path) -> Labelled:
    """Score the logs of a day and store the scores in one step; equal logs give equal bytes.

    Requests that failed, or whose texts cannot be used, count in `errors` alone; a day without others has no
    metrics.

    Args:
        logs: of production.
        day: of UTC.
        score: asked once, about the other rows.
        folder: where scores are kept, as `day_file`.

    Returns:
        The rows, `BASE` and a Float64 column for each metric, and what the logs left out.

    Raises:
        StorageError: the scores cannot be written; an earlier file is untouched.
    """
    log = logs.read(day)
    failed = pl.col("error").is_not_null().cast(pl.Float64())
    rows = log.items.select("id", pl.lit(day).alias("day"), "time", "model", failed.alias(ERRORS))
    answered = log.items.filter(pl.col("query").is_not_null())
    if answered.height:
        scores = _finite(score(answered.select(RAG_ROWS.names())))
        if DECIDED_BY not in scores.columns:
            scores = scores.with_columns(pl.lit([], DECISIONS).alias(DECIDED_BY))
        rows = rows.join(scores.with_columns(answered["id"]), on="id", how="left", maintain_order="left")
    write_frame(day_file(folder, day), rows)
    return Labelled(rows, log.left_out)


def _finite(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the scores as floats beside their deciders; what is no finite number is unknown."""
    number = cs.exclude(DECIDED_BY)
    return scores.cast({number: pl.Float64()}).with_columns(pl.when(number.is_finite()).then(number))


def day_file(folder: Path, day: date) -> Path:
    """Return the path of the scores of a day."""
    return folder / f"{day.isoformat()}.parquet"


def read_days(folder: Path, first: date | None = None, last: date | None = None) -> pl.DataFrame:
    """Return the scored rows of all days, or of those from first to last, in the order of days.

    A metric that a day was not scored by is unknown there.

    Raises:
        InputError: the folder has no day, or a file in it cannot be read.
    """
    low, high = (first or date.min).isoformat(), (last or date.max).isoformat()
    files = sorted(file for file in folder.glob("????-??-??.parquet") if low <= file.stem <= high)
    if not files:
        raise InputError(f"{folder} has no scores of any day; run qa-pipeline monitor check LOGS first")
    days = []
    for file in files:
        try:
            of_day = pl.read_parquet(readable(file)).cast(BASE)
            days.append(of_day.cast({cs.exclude(*BASE, DECIDED_BY): pl.Float64()}))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{file} holds no scores that can be read; delete it and score again") from error
    return pl.concat(days, how="diagonal")


def read_reference(file: Path) -> pl.DataFrame:
    """Return the reference scores: numbers of any Parquet file, such as the rows of a report.

    Raises:
        InputError: it cannot be read, or has no column of numbers.
    """
    try:
        reference = pl.read_parquet(file).select(cs.numeric())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{file} is no Parquet file that can be read; name one with scores") from error
    if not reference.width:
        raise InputError(f"{file} has no column of scores")
    return _finite(reference)


def metrics_of(rows: pl.DataFrame) -> Sequence[str]:
    """Return the names of the watched columns: the share of errors, and the metrics in order."""
    return [ERRORS, *(name for name in rows.columns if name not in BASE and name != DECIDED_BY)]


def describe_decisions(rows: pl.DataFrame, metric: str) -> str:
    """Return who decided a metric of some scored rows, in words."""
    if metric == ERRORS:
        return "logs"
    return describe_deciders(decisions_of(rows).get(metric, {}))


def decisions_of(rows: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Return how many decisions each step took for each metric of some scored rows.

    A metric of arithmetic alone is not in it, and neither are rows that were stored without.
    """
    if DECIDED_BY not in rows.columns:
        return {}
    decided = rows.select(pl.col(DECIDED_BY).explode()).drop_nulls().unnest(DECIDED_BY)
    counts = decided.group_by("metric", "step").agg(pl.col("count").sum()).sort("metric", "step")
    decisions: dict[str, dict[str, int]] = {}
    for metric, step, count in counts.iter_rows():
        decisions.setdefault(metric, {})[step] = count
    return decisions
