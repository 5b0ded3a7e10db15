"""Logs of answered requests, as JSON lines, read as rows to evaluate; unusable lines are counted.

An `Observer` writes them. Logs of other services may use any names that evaluation knows.
"""

import hashlib
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.answered_questions import RAG_ROWS, RagRow
from qa_pipeline.evaluation.labelled_files import LEFT_OUT, LIMITS, Labelled, Row, check
from qa_pipeline.storage.row_files import Fault, FileRow, Limits, json_lines

LOGGED = pl.Schema({**RAG_ROWS, "time": pl.Datetime("us", "UTC"), "model": pl.String(), "error": pl.String()})
"""A row for each request; of a failed request only id, time, model and error are known."""
_TIME = TypeAdapter(datetime)


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
            first = {"file": file, "reason": fault.reason, "first_row": number, "detail": fault.detail}
            faults.setdefault((file, fault.reason), {**first, "rows": 0})["rows"] += 1

        for file in self._files(day):
            name = str(_plain(file.name))
            try:
                for line in json_lines(file, self._limits):
                    row = _request(line)
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
    """Return a line as a row of `LOGGED`; without an id its hash is used."""
    values = line.value
    if not isinstance(values, dict):
        return check(values, RagRow)
    fields = RagRow.from_values(values)
    row_id = _plain(fields.get("id")) if isinstance(fields.get("id"), str | int) else ""
    row: Row = {
        "id": row_id or hashlib.sha256(line.written).hexdigest()[:32],
        "time": _moment(values.get("time")),
        "model": _plain(values.get("model")),
        "error": _plain(values.get("error") or None),
    }
    texts = {} if row["error"] else check(fields | {"id": row["id"]}, RagRow)
    return texts if isinstance(texts, Fault) else row | texts


def _plain(value: Any) -> str | None:
    """Return a value as text without lone surrogates."""
    return None if value is None else str(value).encode("utf-8", "replace").decode()


def _moment(value: Any) -> datetime | None:
    """Return the time of ISO 8601, or of seconds or milliseconds since 1970; UTC without a zone."""
    try:
        read = _TIME.validate_python(value)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValidationError, OverflowError):
        return None
