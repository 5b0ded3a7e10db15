"""Days of production: the logs of answered requests, and their scores as a Parquet file for each day.

An `Observer` writes logs as JSON lines; logs of other services may use any names that evaluation knows.
Unusable lines are counted. Texts stay in the logs: a scored row has only an id, a time, numbers and the steps
that decided them.
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs
from pydantic import TypeAdapter, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.answered_questions import RAG_ROWS, RagRow
from qa_pipeline.evaluation.labelled_files import LEFT_OUT, LIMITS, Labelled, Row, check
from qa_pipeline.models.encoder import Embedder
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import ERRORS, Settings
from qa_pipeline.storage.parquet import readable, write_frame
from qa_pipeline.storage.row_files import Fault, FileRow, Limits, json_lines

LOGGED = pl.Schema({**RAG_ROWS, "time": pl.Datetime("us", "UTC"), "model": pl.String(), "error": pl.String()})
"""A row for each request; of a failed request only id, time, model and error are known."""
_TIME = TypeAdapter(datetime)
"""Parses ISO 8601, and seconds or milliseconds since 1970."""


class Logs:
    """A folder of logs with a sub-folder of JSON lines for each UTC day.

    Raises:
        InputError: the folder does not exist.
    """

    def __init__(self, folder: Path | None, limits: Limits = LIMITS) -> None:
        if folder is None or not folder.is_dir():
            raise InputError(f"{folder} is not a folder; name a folder of logs (monitoring.logs)")
        self._folder = folder
        self._limits = limits

    def days(self) -> list[date]:
        """Return the days with a sub-folder, sorted; raises `InputError` without any."""
        names = pl.Series([entry.name for entry in self._folder.iterdir() if entry.is_dir()], dtype=pl.String)
        days = names.str.to_date("%Y-%m-%d", strict=False).drop_nulls().sort().to_list()
        if not days:
            raise InputError(
                f"{self._folder} has no logs of any day; name the folder that an Observer writes to"
            )
        return days

    def read(self, day: date) -> Labelled:
        """Return the requests of a day (`LOGGED`) and the omitted lines; empty without a file."""
        rows: dict[str, Row] = {}
        faults: dict[tuple[str, str], Row] = {}

        def leave_out(file: str, number: int, fault: Fault) -> None:
            """Count an omitted line by file and reason; the first is named."""
            first = {"file": file, "reason": fault.reason, "first_row": number, "detail": fault.detail}
            counted = faults.setdefault((file, fault.reason), {**first, "rows": 0})
            counted["rows"] += 1

        for file in self._files(day):
            name = str(_plain(file.name))
            try:
                for line in json_lines(file, self._limits):
                    row = _request(line)  # or its fault
                    if not isinstance(row, Fault) and row["id"] in rows:
                        row = Fault("duplicate_id", f"id {row['id'][:80]!r} occurs in an earlier row")
                    if isinstance(row, Fault):
                        leave_out(name, line.number, row)
                    else:
                        rows[row["id"]] = row
            except InputError as error:
                leave_out(name, 1, Fault("unreadable_file", str(_plain(error))))
        left_out = pl.DataFrame(list(faults.values()), schema=LEFT_OUT)
        return Labelled(pl.DataFrame(list(rows.values()), schema=LOGGED), left_out)

    def has_news(self, day: date, scores: Path) -> bool:
        """Return True if a file of the day is newer than its scores."""
        if not scores.is_file():
            return True
        return any(file.stat().st_mtime_ns > scores.stat().st_mtime_ns for file in self._files(day))

    def _files(self, day: date) -> list[Path]:
        return sorted((self._folder / day.isoformat()).glob("*.jsonl"))


def _request(line: FileRow) -> Row | Fault:
    """Return a line as a row of `LOGGED`, with its hash as a missing id; or the fault of the line."""
    values = line.value
    if not isinstance(values, dict):
        return check(values, RagRow)  # a fault
    fields = RagRow.from_values(values)
    given_id = fields.get("id")
    row_id = _plain(given_id) if isinstance(given_id, str | int) else None
    row: Row = {
        "id": row_id or hashlib.sha256(line.written).hexdigest()[:32],
        "time": _moment(values.get("time")),
        "model": _plain(values.get("model")),
        "error": _plain(values.get("error") or None),
    }
    # a failed request may lack question and answer, so its other fields are left out
    answered = {} if row["error"] else check(fields | {"id": row["id"]}, RagRow)
    return answered if isinstance(answered, Fault) else row | answered


def _plain(value: Any) -> str | None:
    """Return a value as text without lone surrogates."""
    return None if value is None else str(value).encode("utf-8", "replace").decode()


def _moment(value: Any) -> datetime | None:
    """Return the time of ISO 8601, or of seconds or milliseconds since 1970; UTC without a zone."""
    try:
        moment = _TIME.validate_python(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValidationError, OverflowError):
        return None


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
    from qa_pipeline.evaluation.metrics.base import Setup
    from qa_pipeline.evaluation.metrics.registry import chosen_metrics
    from qa_pipeline.evaluation.running import evaluate, with_claims_split_by_rules

    metrics = chosen_metrics(METRICS)
    setup = Setup(Resources(with_claims_split_by_rules(settings), embedder=embedder))

    def score(rows: pl.DataFrame) -> pl.DataFrame:
        """Return the values of each metric, and for each value the list of steps that decided it."""
        evaluated, values = evaluate(rows, metrics, setup)
        deciders = [  # a column of lists for each metric, such as ["quotation", "similarity"]
            pl.Series(
                f"{metric.name}{DECIDED_BY}", list(map(metric.deciders, evaluated)), pl.List(pl.String())
            )
            for metric in metrics
        ]
        return values.hstack(deciders)

    return score


def score_day(logs: Logs, day: date, score: Score, folder: Path) -> Labelled:
    """Score the logs of a UTC day, store the rows as `day_file`, and return them with the omitted lines.

    The columns are `BASE` and a Float64 column for each metric. Failed requests count only in `errors`.

    Raises:
        StorageError: the scores cannot be written; an earlier file is unchanged.
    """
    log = logs.read(day)
    errors = pl.col("error").is_not_null().cast(pl.Float64()).alias(ERRORS)
    rows = log.items.select("id", pl.lit(day).alias("day"), "time", "model", errors)
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
    """Return the scored rows from first to last by day; a metric is null on days that lack it.

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
    column = f"{metric}{DECIDED_BY}"
    if column not in rows.columns:
        return {}
    steps = rows.filter(pl.col(metric).is_not_null())[column].explode().drop_nulls()
    return dict(steps.value_counts().sort(column).iter_rows())
