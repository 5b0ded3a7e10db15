"""Logs of answered requests, JSON lines, as rows that can be evaluated; what cannot be used is counted.

Read are the lines of `observe`, OpenTelemetry spans (`spans.py`), and lines of other services, whose fields
are found by usual names or by those of `monitoring.fields`. Files in a sub-folder named after a day belong to
that day; rows of other files to the UTC day of their time.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets import LEFT_OUT, Fault, decoded
from qa_pipeline.monitoring.observing import DROPPED
from qa_pipeline.monitoring.spans import Span, is_otlp, read_spans, request_of
from qa_pipeline.settings.generation import PairsFileSettings

ROWS = pl.Schema(
    {
        "id": pl.String(),
        "time": pl.Datetime("us", "UTC"),
        "query": pl.String(),
        "answer": pl.String(),
        "contexts": pl.List(
            pl.Struct(
                {"text": pl.String(), "document": pl.String(), "rank": pl.Int64(), "score": pl.Float64()}
            )
        ),
        "citations": pl.List(pl.String()),
        "seconds": pl.Float64(),
        "error": pl.String(),
        "model": pl.String(),
    }
)
"""One row for each answered request; all but the id may be null. The only rows with clock times: a log."""
FAULTS = pl.Schema({**LEFT_OUT, "kept": pl.Boolean()})
"""As `LEFT_OUT`; `kept` where only a value is unknown and the row is used all the same."""
SUFFIXES = (".jsonl", ".ndjson", ".json")
LIMITS = PairsFileSettings()
NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "request_id", "trace_id", "query_id"),
    "time": ("time", "timestamp", "@timestamp", "created_at", "ts"),
    "query": ("query", "question", "user_input", "input", "prompt"),
    "answer": ("answer", "response", "output", "actual_output", "completion"),
    "contexts": ("contexts", "retrieved_contexts", "retrieval_context", "context", "documents", "passages"),
    "citations": ("citations", "sources"),
    "seconds": ("seconds", "latency", "duration"),
    "error": ("error", "exception"),
    "model": ("model",),
}
_PASSAGE: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "content", "page_content"),
    "document": ("document", "document_id", "id", "source"),
    "rank": ("rank",),
    "score": ("score",),
}
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From which number on a time counts nano-, micro- or milliseconds since 1970; smaller ones are seconds."""
Row = dict[str, Any]


@dataclass(frozen=True)
class Log:
    """Rows (`ROWS`), what is left out of them or unknown in them (`FAULTS`), and what was never written.

    `dropped` counts the requests that services say they could not log.
    """

    rows: pl.DataFrame
    faults: pl.DataFrame
    dropped: int = 0


@dataclass
class _Reading:
    """What has been read so far of some files."""

    limits: PairsFileSettings
    rows: dict[str, Row] = field(default_factory=dict)
    traces: dict[str, list[Span]] = field(default_factory=dict)
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    faults: dict[tuple[str, str], Row] = field(default_factory=dict)
    dropped: int = 0

    def fault(self, file: str, number: int, found: Fault, *, kept: bool = False) -> None:
        first = {"file": file, "reason": found.reason, "rows": 0, "first_row": number, "detail": found.detail}
        self.faults.setdefault((file, found.reason), {**first, "kept": kept})["rows"] += 1

    def add(self, file: str, number: int, row: Row) -> None:
        if len(self.rows) >= self.limits.max_pairs:
            most = f"more than {self.limits.max_pairs} rows (pairs_file.max_pairs)"
            self.fault(file, number, Fault("too_many_rows", most))
        elif row["id"] in self.rows:
            self.fault(file, number, Fault("duplicate_id", f"id {row['id'][:80]!r} is in an earlier row"))
        else:
            self.rows[row["id"]] = row


def read_logs(
    files: Sequence[Path], fields: Mapping[str, str] | None = None, limits: PairsFileSettings = LIMITS
) -> Log:
    """Read files of JSON lines; rows are in the order of files and lines, traces behind them.

    Args:
        files: in their order; one that cannot be read, or is too large, is counted.
        fields: where lines of other services hold what, as dotted names; they go before the usual names.
        limits: bytes of a file and of a line, and rows of all files.
    """
    names = {name: ((fields or {}).get(name, name), *others) for name, others in NAMES.items()}
    reading = _Reading(limits)
    for file in files:
        for number, line in enumerate(_lines(file, reading), start=1):
            if line.strip():
                _read_line(file.name, number, line, names, reading)
    for trace, spans in reading.traces.items():
        file_name, number = reading.places[trace]
        found = request_of(spans)
        if found is None:
            reading.fault(file_name, number, Fault("no_content", f"no span of trace {trace[:80]} has texts"))
        else:
            _take(file_name, number, found, reading)
    return Log(
        pl.DataFrame(list(reading.rows.values()), schema=ROWS),
        pl.DataFrame(list(reading.faults.values()), schema=FAULTS),
        reading.dropped,
    )


def _lines(file: Path, reading: _Reading) -> Iterator[bytes]:
    """Lines of a file, of each no more bytes than tell that it is too long."""
    limits = reading.limits
    try:
        if file.stat().st_size > limits.max_bytes:
            most = f"larger than {limits.max_bytes} bytes (pairs_file.max_bytes)"
            reading.fault(file.name, 1, Fault("file_too_large", most))
            return
        with file.open("rb") as opened:
            while line := opened.readline(limits.max_line_bytes + 2):
                yield line.rstrip(b"\r\n")
                while len(line) == limits.max_line_bytes + 2 and not line.endswith(b"\n"):
                    line = opened.readline(limits.max_line_bytes + 2)
    except OSError as error:
        reading.fault(file.name, 1, Fault("unreadable_file", error.strerror or str(error)))


def _read_line(
    file: str, number: int, line: bytes, names: Mapping[str, Sequence[str]], reading: _Reading
) -> None:
    value = decoded(line, reading.limits)
    if isinstance(value, Fault):
        reading.fault(file, number, value)
    elif not isinstance(value, dict):
        reading.fault(file, number, Fault("broken_line", f"not an object but {type(value).__name__}"))
    elif is_otlp(value):
        for span in read_spans(value):
            if isinstance(span, str):
                reading.fault(file, number, Fault("broken_span", span))
            else:
                reading.traces.setdefault(span.trace, []).append(span)
                reading.places.setdefault(span.trace, (file, number))
    elif isinstance(value.get(DROPPED), dict):
        counts = value[DROPPED].values()
        reading.dropped += sum(one for one in counts if isinstance(one, int) and one > 0)
    else:
        found = {name: _first(value, of_name) for name, of_name in names.items()}
        if not isinstance(found["id"], (str, int)) or found["id"] == "":  # equal lines are one request then
            found["id"] = hashlib.sha256(line).hexdigest()[:32]
        _take(file, number, found, reading)


def _take(file: str, number: int, found: Row, reading: _Reading) -> None:
    """Add a row of any origin, its values converted; what is wrong with it is counted."""
    unknown: list[str] = []
    try:
        row = _row(found, unknown)
    except ValueError as error:
        reason, _, detail = str(error).partition(": ")
        reading.fault(file, number, Fault(reason, detail))
        return
    for name in dict.fromkeys(unknown):
        reading.fault(file, number, Fault(f"unknown_{name}", f"{name} is no usable value"), kept=True)
    reading.add(file, number, row)


def _row(found: Row, unknown: list[str]) -> Row:
    """The row in the types of `ROWS`.

    Raises:
        ValueError: a reason and a sentence, where the row cannot be used.
    """
    row: Row = {name: _text(name, found.get(name)) for name in ("query", "answer", "model")}
    row["id"] = str(found["id"])
    row["error"] = _error(found.get("error"))
    row["time"] = _moment(found.get("time"))
    if row["time"] is None and found.get("time") is not None:
        unknown.append("time")
    row["seconds"] = _number(found.get("seconds"), "seconds", unknown)
    row["contexts"] = _passages(found.get("contexts"), unknown)
    row["citations"] = _citations(found.get("citations"))
    if row["error"] is None and row["answer"] is None:
        raise ValueError("no_content: it has neither an answer nor an error")
    texts = [row[name] for name in ("id", "query", "answer", "error", "model")]
    texts += [one[name] for one in row["contexts"] or () for name in ("text", "document")]
    try:
        "".join(text for text in [*texts, *(row["citations"] or ())] if text is not None).encode()
    except UnicodeEncodeError as error:
        raise ValueError("broken_text: it holds half a character (a lone surrogate)") from error
    return row


def _first(values: Row, names: Iterable[str]) -> Any:
    """The value of the first name that has one; a dotted name goes into objects."""
    for name in names:
        value: Any = values.get(name)
        if value is None and "." in name:
            value = values
            for part in name.split("."):
                value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def _text(name: str, value: Any) -> str | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, str):
        raise ValueError(f"wrong_type: {name} should hold a text, and holds {type(value).__name__}")  # noqa: TRY004 - one kind for all
    return value


def _error(value: Any) -> str | None:
    """What went wrong, in words where it is told in words; false and nothing are no error."""
    if not value:
        return None
    return value if isinstance(value, str) else "error"


def _number(value: Any, name: str, unknown: list[str]) -> float | None:
    if value is None:
        return None
    usable = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not usable or abs(value) > 1e300 or not math.isfinite(value):
        unknown.append(name)
        return None
    return float(value)


def _moment(value: Any) -> datetime | None:
    """ISO 8601, or a number since 1970 in the unit its size tells; a time without a zone is UTC."""
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value.strip())
            return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            unit = next((unit for least, unit in _UNITS if abs(value) >= least), 1.0)
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value / unit)
    except (ValueError, OverflowError):
        return None
    return None


def _passages(value: Any, unknown: list[str]) -> list[Row] | None:
    """Passages of texts or objects, with their places as ranks where they have none; null is unknown."""
    if value is None:
        return None
    listed = value if isinstance(value, list) else [value]
    passages = []
    for place, one in enumerate(listed, start=1):
        found = {name: _first(one, of) for name, of in _PASSAGE.items()} if isinstance(one, dict) else {}
        text = one if isinstance(one, str) else found.get("text")
        document, rank = found.get("document"), found.get("rank")
        ranked = isinstance(rank, int) and not isinstance(rank, bool) and 0 < rank < 2**31
        passages.append(
            {
                "text": text if isinstance(text, str) else None,
                "document": str(document) if isinstance(document, (str, int)) else None,
                "rank": rank if ranked else place,
                "score": _number(found.get("score"), "score", unknown),
            }
        )
    return passages


def _citations(value: Any) -> list[str] | None:
    if value is None:
        return None
    listed = value if isinstance(value, list) else [value]
    names = [one.get("document", one.get("id")) if isinstance(one, dict) else one for one in listed]
    return [str(one) for one in names if isinstance(one, (str, int))]


def read_loose(
    folder: Path,
    fields: Mapping[str, str] | None = None,
    limits: PairsFileSettings = LIMITS,
    since: date | None = None,
) -> Log:
    """The files of a folder that are in no day's sub-folder; those last written before `since` are left out.

    Raises:
        InputError: there is no such folder.
    """
    begin = 0.0 if since is None else datetime.combine(since, time(), UTC).timestamp()
    return read_logs([file for file in _files(folder) if file.stat().st_mtime >= begin], fields, limits)


def read_day(
    folder: Path,
    day: date,
    fields: Mapping[str, str] | None = None,
    limits: PairsFileSettings = LIMITS,
    loose: Log | None = None,
) -> Log:
    """What a folder of logs has of one day: the day's sub-folder, and the rows of its time elsewhere.

    A day without any file is empty.

    Args:
        folder: of the logs.
        day: of UTC.
        fields: as for `read_logs`.
        limits: likewise.
        loose: the files beside the sub-folders, where they have been read already.

    Raises:
        InputError: there is no such folder.
    """
    beside = read_loose(folder, fields, limits, day) if loose is None else loose
    own = folder / day.isoformat()
    of_day = read_logs(_files(own) if own.is_dir() else [], fields, limits)
    found = beside.rows.filter(pl.col("time").dt.date() == day)
    # what cannot be read has no day: it is told on each day that its file may belong to
    return Log(
        pl.concat([of_day.rows, found]).unique("id", keep="first", maintain_order=True),
        pl.concat([of_day.faults, beside.faults, _without_time(beside.rows)]),
        of_day.dropped + beside.dropped,
    )


def _without_time(rows: pl.DataFrame) -> pl.DataFrame:
    count = rows["time"].null_count()
    detail = "a row outside a day's sub-folder needs a time"
    row = {"file": "", "reason": "no_time", "rows": count, "first_row": 1, "detail": detail, "kept": False}
    return pl.DataFrame([row] if count else [], schema=FAULTS)


def logged_days(folder: Path, loose: Log) -> list[date]:
    """The days that a folder of logs has sub-folders or rows of, in order.

    Args:
        folder: of the logs.
        loose: `read_loose` of it.

    Raises:
        InputError: there is none.
    """
    days = {day for one in folder.iterdir() if one.is_dir() and (day := _day(one.name))}
    days |= set(loose.rows["time"].drop_nulls().dt.date().to_list())
    if not days:
        raise InputError(
            f"{folder} has no logs of any day; name the folder that observe() writes to, or that .jsonl "
            "files are in"
        )
    return sorted(days)


def _day(name: str) -> date | None:
    try:
        return date.fromisoformat(name) if len(name) == len("2026-01-01") else None
    except ValueError:
        return None


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; name one with logs (monitoring.logs)")
    return sorted(one for one in folder.iterdir() if one.suffix.lower() in SUFFIXES and one.is_file())
