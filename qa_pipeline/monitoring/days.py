"""Scores of production, a Parquet file for each day: computed from its logs, and read as a series.

Texts stay in the logs: a scored row has only an id, a time, numbers and the steps that decided them.
"""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import polars as pl
import polars.selectors as cs

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.answered_questions import RAG_ROWS
from qa_pipeline.evaluation.labelled_files import Labelled
from qa_pipeline.models.encoder import Embedder
from qa_pipeline.monitoring.logs import Logs
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import ERRORS, Settings
from qa_pipeline.storage.parquet import readable, write_frame

DECIDED_BY = "_decided_by"
"""Suffix of the columns with the deciding steps of a metric."""
Score = Callable[[pl.DataFrame], pl.DataFrame]
"""From answered rows (`RAG_ROWS`) to a column of each metric, and its steps in METRIC_decided_by."""
BASE = pl.Schema(
    {
        "id": pl.String(),
        "day": pl.Date(),
        "time": pl.Datetime("us", "UTC"),
        "model": pl.String(),
        ERRORS: pl.Float64(),
    }
)
"""Columns of every scored row, before the metrics. `errors` is 1 for a failed request."""


METRICS = ("faithfulness", "grounding", "hallucination", "context_precision", "answer_relevance")
"""Metrics of each logged answer, computed without a language model."""


def metric_scores(settings: Settings, embedder: Embedder | None = None) -> Score:
    """Return a function that scores rows by `METRICS` with the local steps."""
    # heavy, and only scoring needs them
    from qa_pipeline.evaluation.metrics.means import Means
    from qa_pipeline.evaluation.metrics.registry import chosen_metrics
    from qa_pipeline.evaluation.running import evaluate, with_claims_split_by

    metrics = chosen_metrics(METRICS)
    means = Means(Resources(with_claims_split_by(settings), embedder=embedder))

    def score(rows: pl.DataFrame) -> pl.DataFrame:
        evaluated, values = evaluate(rows, metrics, means)
        steps = [
            pl.Series(
                f"{metric.name}{DECIDED_BY}", list(map(metric.deciders, evaluated)), pl.List(pl.String())
            )
            for metric in metrics
        ]
        return values.hstack(steps)

    return score


def score_day(logs: Logs, day: date, score: Score, folder: Path) -> Labelled:
    """Score the logs of a UTC day, store the rows as `day_file`, and return them with the omitted lines.

    The columns are `BASE` and a Float64 column for each metric. Failed requests count only in `errors`.

    Raises:
        StorageError: the scores cannot be written; an earlier file is unchanged.
    """
    log = logs.read(day)
    failed = pl.col("error").is_not_null().cast(pl.Float64())
    rows = log.items.select("id", pl.lit(day).alias("day"), "time", "model", failed.alias(ERRORS))
    answered = log.items.filter(pl.col("error").is_null())
    if answered.height:
        scores = _finite(score(answered.select(RAG_ROWS.names())))
        rows = rows.join(scores.with_columns(answered["id"]), on="id", how="left", maintain_order="left")
    write_frame(day_file(folder, day), rows)
    return Labelled(rows, log.left_out)


def _finite(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the scores as floats, unknown unless finite."""
    number = cs.numeric()
    return scores.cast({number: pl.Float64()}).with_columns(pl.when(number.is_finite()).then(number))


def day_file(folder: Path, day: date) -> Path:
    """Return the path of the scores of a day."""
    return folder / f"{day.isoformat()}.parquet"


def read_days(folder: Path, first: date = date.min, last: date = date.max) -> pl.DataFrame:
    """Return the scored rows from first to last, sorted by day; metrics of other days are unknown.

    Raises:
        InputError: the folder has no day, or a file cannot be read.
    """
    files = sorted(folder.glob("????-??-??.parquet"))
    files = [file for file in files if first.isoformat() <= file.stem <= last.isoformat()]
    if not files:
        raise InputError(f"{folder} has no scores of any day; run qa-pipeline monitor LOGS first")
    days = []
    for file in files:
        try:
            days.append(_finite(pl.read_parquet(readable(file)).cast(BASE)))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{file} has no readable scores; delete it and score again") from error
    return pl.concat(days, how="diagonal")


def metrics_of(rows: pl.DataFrame) -> list[str]:
    """Return the names of the watched columns: the share of errors, and the metrics in order."""
    return rows.select(cs.float()).columns


def decisions_of(rows: pl.DataFrame, metric: str) -> dict[str, int]:
    """Count the deciding steps of the known scores of a metric; empty for arithmetic."""
    steps = f"{metric}{DECIDED_BY}"
    if steps not in rows.columns:
        return {}
    decided = rows.filter(pl.col(metric).is_not_null())[steps].explode().drop_nulls()
    return dict(decided.value_counts().sort(steps).iter_rows())
