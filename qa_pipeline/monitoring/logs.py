"""Logs of answered requests, JSON lines, as rows that can be evaluated; what cannot be used is counted.

Read are the lines of an `Observer`; those of other services may have the names that evaluation knows.
"""

import hashlib
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.answered_questions import RAG_ROWS, RagRow
from qa_pipeline.evaluation.datasets.labelled_files import LIMITS, Faults, Labelled, Row, check, left_out
from qa_pipeline.storage.row_files import Fault, FileRow, Limits, json_lines

LOGGED = pl.Schema({**RAG_ROWS, "time": pl.Datetime("us", "UTC"), "model": pl.String(), "error": pl.String()})
"""One row for each request; of a failed one only id, time, model and error are known."""
_TIME = TypeAdapter(datetime)


class Logs:
    """A folder of logs: a sub-folder of JSON lines for each UTC day, as an `Observer` writes them.

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
        names = pl.Series([entry.name for entry in self._folder.iterdir() if entry.is_dir()], dtype=pl.String)
        days = names.str.to_date("%Y-%m-%d", strict=False).drop_nulls().sort().to_list()
        if not days:
            raise InputError(
                f"{self._folder} has no logs of any day; name the folder that an Observer writes to"
            )
        return days

    def read(self, day: date) -> Labelled:
        """Return the requests of a day (`LOGGED`), and what is left out; empty without any file."""
        rows: dict[str, Row] = {}
        faults: Faults = {}

        def leave_out(place: int, fault: Fault) -> None:
            first = {"file": name, "reason": fault.reason, "first_row": place, "detail": fault.detail}
            faults.setdefault((name, fault.reason), {**first, "rows": 0})["rows"] += 1

        for file in self._files(day):
            name = str(_plain(file.name))
            try:
                for line in json_lines(file, self._limits, tolerant=True):
                    row = _request(line)
                    if not isinstance(row, Fault) and row["id"] in rows:
                        row = Fault("duplicate_id", f"id {row['id'][:80]!r} is in an earlier row")
                    if isinstance(row, Fault):
                        leave_out(line.number, row)
                    else:
                        rows[row["id"]] = row
            except InputError as error:
                leave_out(1, Fault("unreadable_file", str(_plain(error))))
        return Labelled(pl.DataFrame(list(rows.values()), schema=LOGGED), left_out(faults))

    def has_news(self, day: date, scores: Path) -> bool:
        """Return True if a file of the day was written after its scores."""
        if not scores.is_file():
            return True
        return any(file.stat().st_mtime_ns > scores.stat().st_mtime_ns for file in self._files(day))

    def _files(self, day: date) -> list[Path]:
        return sorted((self._folder / day.isoformat()).glob("*.jsonl"))


def _request(line: FileRow) -> Row | Fault:
    """Return a line as a row of `LOGGED`; lines without an id are known by their content."""
    values = line.value
    if not isinstance(values, dict):
        return check(values, RagRow)
    fields = RagRow.from_values(values)
    row_id = fields.get("id")
    row: Row = {
        "id": (_plain(row_id) if isinstance(row_id, str | int) else "")
        or hashlib.sha256(line.written).hexdigest()[:32],
        "time": _moment(values.get("time")),
        "model": _plain(values.get("model")),
        "error": _plain(values.get("error") or None),
    }
    texts = {} if row["error"] else check(fields | {"id": row["id"]}, RagRow)
    return texts if isinstance(texts, Fault) else row | texts


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
