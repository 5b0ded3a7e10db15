"""Scores of production, one Parquet file for each day: made from its logs, and read as a series.

Texts stay in the logs: a scored row holds an id, a time, whether the request failed, and numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import polars as pl
import polars.selectors as cs

from qa_pipeline.errors import InputError
from qa_pipeline.monitoring.logs import FAULTS, LIMITS, Log, logged_days, read_day
from qa_pipeline.resources import Resources
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline.settings.monitoring import ERRORS, MonitoringSettings
from qa_pipeline.storage import write_frame

Score = Callable[[pl.DataFrame], pl.DataFrame]
"""From rows of a log (`logs.ROWS`) to a column of numbers for each metric, row for row; null is unknown."""
BASE = pl.Schema(
    {
        "id": pl.String(),
        "day": pl.Date(),
        "time": pl.Datetime("us", "UTC"),
        "model": pl.String(),
        "seconds": pl.Float64(),
        ERRORS: pl.Float64(),
    }
)
"""Columns that every scored row has, before those of the metrics. `errors` is 1 where a request failed."""
NO_METRICS = (*(name for name in BASE if name != ERRORS),)


@dataclass(frozen=True)
class ScoredDay:
    """The scored rows of a day and what its logs left out (`FAULTS`).

    Args:
        day: of UTC.
        rows: `BASE` and a Float64 column for each metric.
        faults: as the log has them; also the scores that are no number, by metric.
        dropped: requests that services say they could not log.
    """

    day: date
    rows: pl.DataFrame
    faults: pl.DataFrame
    dropped: int


def metric_scores(rows: pl.DataFrame, resources: Resources) -> pl.DataFrame:
    """The metrics that `monitoring.metrics` names, by the local steps alone; unknown where a row lacks texts.

    Args:
        rows: answered rows (`logs.ROWS`).
        resources: with `evaluation_settings`.

    Raises:
        InputError: there is no such metric.
    """
    from qa_pipeline.evaluation.datasets import Fault, check  # heavy, and only scoring needs them
    from qa_pipeline.evaluation.metrics.registry import chosen_metrics
    from qa_pipeline.evaluation.rag_datasets import RAG_ROWS, RagRow
    from qa_pipeline.evaluation.running import evaluate
    from qa_pipeline.evaluation.signals.base import Means

    metrics = chosen_metrics(resources.settings.monitoring.metrics)
    told = ("query", "answer", "contexts", "citations", "seconds")
    read = [check({name: row[name] for name in told}, RagRow) for row in rows.iter_rows(named=True)]
    places = [place for place, one in enumerate(read) if not isinstance(one, Fault)]
    usable = pl.DataFrame([read[place] | {"id": str(place)} for place in places], schema=RAG_ROWS)  # type: ignore[operator]
    values = evaluate(usable, metrics, Means(resources))[1].with_columns(
        place=pl.Series(places, dtype=pl.Int64)
    )
    every = pl.DataFrame({"place": pl.int_range(rows.height, eager=True)})
    return every.join(values, on="place", how="left", maintain_order="left").drop("place")


def score_day(
    folder: Path,
    day: date,
    score: Score,
    settings: MonitoringSettings,
    limits: PairsFileSettings = LIMITS,
    loose: Log | None = None,
) -> ScoredDay:
    """Read what the logs have of a day and score it; a day without rows has no metrics.

    Requests that failed or have no answer are not scored: they count in `errors` alone.

    Args:
        folder: of the logs.
        day: of UTC.
        score: asked once, about the answered rows.
        settings: where logs hold their fields.
        limits: of files and lines.
        loose: as for `read_day`.

    Raises:
        InputError: there is no such folder, or `score` gives other rows than it was asked about.
    """
    log = read_day(folder, day, settings.fields, limits, loose)
    base = log.rows.select(
        "id",
        pl.lit(day).alias("day"),
        "time",
        "model",
        "seconds",
        pl.col("error").is_not_null().cast(pl.Float64()).alias(ERRORS),
    )
    answered = log.rows.filter(pl.col("error").is_null())
    if not answered.height:
        return ScoredDay(day, base, log.faults, log.dropped)
    scores = _checked(score(answered), answered.height)
    known = scores.with_columns(cs.float().replace([float("inf"), float("-inf")], None).fill_nan(None))
    rows = base.join(
        known.with_columns(answered["id"]), on="id", how="left", maintain_order="left", coalesce=True
    )
    return ScoredDay(day, rows, _with_unknown(log, scores, known, day), log.dropped)


def _checked(scores: pl.DataFrame, rows: int) -> pl.DataFrame:
    taken = sorted(set(scores.columns) & set(BASE))
    if scores.height != rows or taken:
        raise InputError(
            f"the scores of {rows} rows have {scores.height} rows"
            + (f" and columns named {', '.join(taken)}" if taken else "")
            + "; one row each, in columns of the metrics' names, is wanted"
        )
    others = [name for name, dtype in scores.schema.items() if not (dtype.is_numeric() or dtype == pl.Null())]
    if others:
        raise InputError(f"the scores {', '.join(others)} are no numbers")
    return scores.cast(pl.Float64())


def _with_unknown(log: Log, scores: pl.DataFrame, known: pl.DataFrame, day: date) -> pl.DataFrame:
    """The faults of the log, and of each metric how many scores are no numbers."""
    lost = {name: known[name].null_count() - scores[name].null_count() for name in scores.columns}
    found = [
        {
            "file": day.isoformat(),
            "reason": f"not_a_number_{name}",
            "rows": count,
            "first_row": int((known[name].is_null() & scores[name].is_not_null()).arg_max() or 0) + 1,
            "detail": f"the score {name} is no finite number; it is unknown",
            "kept": True,
        }
        for name, count in lost.items()
        if count
    ]
    return pl.concat([log.faults, pl.DataFrame(found, schema=FAULTS)])


def day_file(folder: Path, day: date) -> Path:
    """Where the scores of a day lie."""
    return folder / f"{day.isoformat()}.parquet"


def write_day(folder: Path, scored: ScoredDay) -> Path:
    """Write the scores of a day in one step; equal rows give equal bytes.

    Raises:
        StorageError: it cannot be written; an earlier file is untouched.
    """
    path = day_file(folder, scored.day)
    write_frame(path, scored.rows)
    return path


def read_days(folder: Path, first: date | None = None, last: date | None = None) -> pl.DataFrame:
    """The scored rows of all days, or of those from first to last, in the order of days.

    A metric that a day was not scored by is unknown there.

    Raises:
        InputError: the folder has no day, or a file in it cannot be read.
    """
    low, high = (first or date.min).isoformat(), (last or date.max).isoformat()
    files = sorted(file for file in folder.glob("????-??-??.parquet") if low <= file.stem <= high)
    if not files:
        raise InputError(f"{folder} has no scores of any day; run qa-pipeline monitor check LOGS first")
    return pl.concat([_read(file) for file in files], how="diagonal_relaxed")


def read_reference(file: Path) -> pl.DataFrame:
    """Scores to hold production against: numbers of any Parquet file, such as the rows of a report.

    Raises:
        InputError: it cannot be read, or has no column of numbers.
    """
    try:
        found = pl.read_parquet(file).select(cs.numeric().cast(pl.Float64()))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{file} is no Parquet file that can be read; name one with scores") from error
    if not found.width:
        raise InputError(f"{file} has no column of scores")
    return found.with_columns(cs.float().replace([float("inf"), float("-inf")], None).fill_nan(None))


def stale_days(folder: Path, loose: Log, kept: Path, *, again: bool = False) -> list[date]:
    """The days of a folder of logs that have no scores, or whose logs were written to since; or all.

    Args:
        folder: of the logs.
        loose: `read_loose` of it.
        kept: where scores lie.
        again: whether all days are wanted.

    Raises:
        InputError: the folder has no day.
    """
    days = logged_days(folder, loose)
    return [day for day in days if again or _is_stale(folder, day_file(kept, day), day)]


def _is_stale(folder: Path, scores: Path, day: date) -> bool:
    if not scores.is_file():
        return True
    files = [one for one in (folder, folder / day.isoformat()) if one.is_dir() for one in one.iterdir()]
    written = [one.stat().st_mtime_ns for one in files if one.is_file()]
    return max(written, default=0) > scores.stat().st_mtime_ns


def _read(file: Path) -> pl.DataFrame:
    try:
        found = pl.read_parquet(file)
        base = [pl.col(name).cast(dtype) for name, dtype in BASE.items()]
        return found.select(*base, cs.exclude(list(BASE)).cast(pl.Float64()))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{file} holds no scores that can be read; delete it and score again") from error


def metrics_of(rows: pl.DataFrame) -> Sequence[str]:
    """Names of the columns that are watched: the share of errors, and the metrics in their order."""
    return [name for name in rows.columns if name not in NO_METRICS]
