"""Logs of answered requests, JSON lines, as rows that can be evaluated; what cannot be used is counted.

Read are the lines of `observe` and those of other services, whose fields are found by the names that
evaluation knows (`RagRow`) or by those of `monitoring.fields`. Files in a
sub-folder named after a day belong to that day; rows of other files to the UTC day of their time.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.answered_questions import RAG_ROWS, RagRow
from qa_pipeline.evaluation.datasets.labelled_files import LEFT_OUT, LIMITS, Labelled, Row, check
from qa_pipeline.settings.monitoring import LogField
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.row_files import Fault, Limits, json_lines

LOGGED = pl.Schema({**RAG_ROWS, "time": pl.Datetime("us", "UTC"), "model": pl.String(), "error": pl.String()})
"""One row for each request. Where it failed, or its texts cannot be evaluated, the columns of `RAG_ROWS` but
the id are null."""
SUFFIXES = (".jsonl", ".ndjson", ".json")
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("trace_id",),
    "time": ("timestamp", "@timestamp", "created_at"),
    "error": ("exception",),
}
_TIME = TypeAdapter(datetime)


class Logs:
    """A folder of logs, by the day.

    Args:
        folder: of the logs.
        settings: where lines of other services hold what, and how long files and lines may be.

    Raises:
        InputError: there is no such folder.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder} is no folder; name one with logs (monitoring.logs)")
        self._folder, self._settings = folder, settings

    def _read(self, folder: Path) -> Labelled:
        return read_logs(_files(folder), self._settings.monitoring.fields)

    @cached_property
    def _loose(self) -> Labelled:
        """Return the rows in no day's sub-folder."""
        reading = self._read(self._folder)
        count = reading.items["time"].null_count()
        fault = {"reason": "no_time", "rows": count, "detail": "a row outside a day's sub-folder needs one"}
        timeless = pl.DataFrame([fault] if count else [], schema=LEFT_OUT)
        return Labelled(reading.items.drop_nulls("time"), pl.concat([reading.left_out, timeless]))

    def days(self) -> list[date]:
        """Return the days that have a sub-folder or a row, in order.

        Raises:
            InputError: there is none.
        """
        days = {day for entry in self._folder.iterdir() if entry.is_dir() and (day := _day(entry.name))}
        days |= set(self._loose.items["time"].dt.date().to_list())
        if not days:
            raise InputError(
                f"{self._folder} has no logs of any day; name the folder that observe() writes to, or that "
                ".jsonl files are in"
            )
        return sorted(days)

    def read(self, day: date) -> Labelled:
        """Return the requests of a day (`LOGGED`), and what is left out; empty without any file.

        What cannot be read in files outside the sub-folders has no day, and is told of on each one.
        """
        reading = self._read(self._folder / day.isoformat())
        loose = self._loose.items.filter(pl.col("time").dt.date() == day)
        return Labelled(
            pl.concat([reading.items, loose]).unique("id", keep="first", maintain_order=True),
            pl.concat([reading.left_out, self._loose.left_out]),
        )

    def has_news(self, day: date, scores: Path) -> bool:
        """Return whether a file that may have rows of the day was written after its scores."""
        if not scores.is_file():
            return True
        files = [*_files(self._folder), *_files(self._folder / day.isoformat())]
        return any(file.stat().st_mtime_ns > scores.stat().st_mtime_ns for file in files)


def read_logs(
    files: Sequence[Path], fields: Mapping[LogField, str] | None = None, limits: Limits = LIMITS
) -> Labelled:
    """Read files of JSON lines (`LOGGED`); rows are in the order of files and lines.

    Args:
        files: in their order; one that cannot be read, or is too large, is counted.
        fields: where lines of other services hold what, as dotted names; they go before the usual names.
        limits: bytes of a file and of a line.
    """
    reading = _Reading(fields or {}, limits)
    for file in files:
        reading.read_file(file)
    return Labelled(
        pl.DataFrame(list(reading.rows.values()), schema=LOGGED),
        pl.DataFrame(list(reading.faults.values()), schema=LEFT_OUT),
    )


@dataclass
class _Reading:
    """The progress of reading some files; `file` and `line` are the present place."""

    fields: Mapping[LogField, str]
    limits: Limits
    rows: dict[str, Row] = field(default_factory=dict)
    faults: dict[tuple[str, str], Row] = field(default_factory=dict)
    file: str = ""
    line: int = 1

    def fault(self, reason: str, detail: str, rows: int = 1) -> None:
        first = {"file": self.file, "reason": reason, "rows": 0, "first_row": self.line, "detail": detail}
        self.faults.setdefault((self.file, reason), first)["rows"] += rows

    def read_file(self, file: Path) -> None:
        self.file, self.line = _plain(file.name) or "", 1
        try:
            for row in json_lines(file, self.limits, tolerant=True):
                self.line = row.place
                self.read_line(row.value, row.written)
        except InputError as error:
            self.fault("unreadable_file", _plain(error) or "")

    def read_line(self, value: Any, written: bytes) -> None:
        if isinstance(value, Fault):
            self.fault(value.reason, value.detail)
        elif not isinstance(value, dict):
            self.fault("broken_line", f"not an object but {type(value).__name__}")
        else:
            values = {name: _value_at(value, other) for name, other in self.fields.items()}
            named_fields = {**value, **{name: item for name, item in values.items() if item is not None}}
            self.add(named_fields, hashlib.sha256(written).hexdigest()[:32])  # equal lines are one request

    def add(self, values: Row, own_id: str) -> None:
        """Add a request. One that failed, or whose texts cannot be evaluated, counts as a request alone."""
        for name, others in _OTHER_NAMES.items():
            values[name] = next(
                (item for key in (name, *others) if (item := values.get(key)) is not None), None
            )
        row_values = RagRow.from_values(values)
        row_id = row_values.get("id")
        row: Row = {
            "id": (_plain(row_id) if isinstance(row_id, (str, int)) else "") or own_id,
            "time": _moment(values.get("time")),
            "model": _plain(values.get("model")),
            "error": _plain(values["error"]) if values["error"] else None,
        }
        if row["id"] in self.rows:
            self.fault("duplicate_id", f"id {row['id'][:80]!r} is in an earlier row")
            return
        if row["error"] is None:
            texts = check(row_values | {"id": row["id"]}, RagRow)
            if isinstance(texts, Fault):
                self.fault(texts.reason, texts.detail)
            else:
                row |= texts
        self.rows[row["id"]] = row


def _value_at(values: Row, name: str) -> Any:
    """Return the value of a name, or of a dotted name into objects; None where there is none."""
    value: Any = values
    for part in [name] if name in values else name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _plain(value: Any) -> str | None:
    """Return a value as text without half characters."""
    return None if value is None else str(value).encode("utf-8", "replace").decode()


def _moment(value: Any) -> datetime | None:
    """Return the time of ISO 8601, or of seconds or milliseconds since 1970; UTC without a zone."""
    try:
        read = _TIME.validate_python(value)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValidationError, OverflowError):
        return None


def _day(name: str) -> date | None:
    try:
        return date.fromisoformat(name) if len(name) == len("2026-01-01") else None
    except ValueError:
        return None


def _files(folder: Path) -> list[Path]:
    """Return the logs of a folder by name; none where there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())
