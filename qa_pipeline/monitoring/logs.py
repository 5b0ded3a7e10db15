"""Logs of answered requests, JSON lines, as rows that can be evaluated; what cannot be used is counted.

Read are the lines of `observe`; those of other services may have the names that evaluation knows (`RagRow`).
"""

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.answered_questions import RAG_ROWS, RagRow
from qa_pipeline.evaluation.datasets.labelled_files import LEFT_OUT, LIMITS, Labelled, Row, check
from qa_pipeline.storage.row_files import Fault, Limits, json_lines

LOGGED = pl.Schema({**RAG_ROWS, "time": pl.Datetime("us", "UTC"), "model": pl.String(), "error": pl.String()})
"""One row for each request. Where it failed, or its texts cannot be evaluated, the columns of `RAG_ROWS` but
the id are null."""
_TIME = TypeAdapter(datetime)


class Logs:
    """A folder of logs: a sub-folder of JSON lines for each UTC day, as `observe` writes them.

    Args:
        folder: of the logs.
        limits: bytes of a file and of a line.

    Raises:
        InputError: there is no such folder.
    """

    def __init__(self, folder: Path, limits: Limits = LIMITS) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder} is no folder; name one with logs (monitoring.logs)")
        self._folder, self._limits = folder, limits

    def days(self) -> list[date]:
        """Return the days that have a sub-folder, in order.

        Raises:
            InputError: there is none.
        """
        days = {day for entry in self._folder.iterdir() if entry.is_dir() and (day := _day(entry.name))}
        if not days:
            raise InputError(
                f"{self._folder} has no logs of any day; name the folder that observe() writes to"
            )
        return sorted(days)

    def read(self, day: date) -> Labelled:
        """Return the requests of a day (`LOGGED`), and what is left out; empty without any file."""
        reading = _Reading(self._limits)
        for file in self._files(day):
            reading.read_file(file)
        return Labelled(
            pl.DataFrame(list(reading.rows.values()), schema=LOGGED),
            pl.DataFrame(list(reading.faults.values()), schema=LEFT_OUT),
        )

    def has_news(self, day: date, scores: Path) -> bool:
        """Return whether a file of the day was written after its scores."""
        if not scores.is_file():
            return True
        return any(file.stat().st_mtime_ns > scores.stat().st_mtime_ns for file in self._files(day))

    def _files(self, day: date) -> list[Path]:
        return sorted((self._folder / day.isoformat()).glob("*.jsonl"))


@dataclass
class _Reading:
    """The progress of reading some files; `file` and `line` are the present place."""

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
            self.add(value, hashlib.sha256(written).hexdigest()[:32])  # equal lines are one request

    def add(self, values: Row, own_id: str) -> None:
        """Add a request. One that failed, or whose texts cannot be evaluated, counts as a request alone."""
        row_values = RagRow.from_values(values)
        row_id = row_values.get("id")
        row: Row = {
            "id": (_plain(row_id) if isinstance(row_id, (str, int)) else "") or own_id,
            "time": _moment(values.get("time")),
            "model": _plain(values.get("model")),
            "error": _plain(values["error"]) if values.get("error") else None,
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
