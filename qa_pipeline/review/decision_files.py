"""Files of people's decisions: CSV or JSONL, as spreadsheets and scripts write them, and their template.

What belongs here: formats, fields, and what is wrong with a line. What does not: whether a decision fits the
tables (`taking.py`). A file is hostile text: cells that a spreadsheet would compute are written as text.
"""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from qa_pipeline.errors import InputError

MAX_BYTES = 200_000_000
MAX_TEXT = 100_000
TEMPLATE = (
    "batch", "pair_id", "claim_id", "content_sha256", "reason", "detail", "question", "answer", "claims",
    "evidence", "decision", "edited_answer", "who", "why", "decided_at",
)  # fmt: skip
"""Columns of the template; those behind `evidence` are for the person to fill."""
_COMPUTED = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet takes for a formula."""
_SEPARATORS = (",", ";", "\t")


def _blank_is_none(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = unicodedata.normalize("NFC", value).strip()
    text.encode()  # half a character is no text
    return text or None


def _one_line(value: object) -> object:
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", value).split()) if isinstance(value, str) else value


def _utc(value: object) -> object:
    if not isinstance(value, str):
        return value
    moment = datetime.fromisoformat(value)
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)).isoformat()


def _small(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


_Id = Annotated[str | None, Field(max_length=200), BeforeValidator(_blank_is_none)]
_Note = Annotated[
    str | None, Field(max_length=2_000), BeforeValidator(_one_line), BeforeValidator(_blank_is_none)
]


class DecisionLine(BaseModel):
    """One decision as its file has it; the other columns of the template are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    batch: _Id = None
    pair_id: _Id = None
    claim_id: _Id = None
    content_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$"), BeforeValidator(_blank_is_none)]
    decision: Annotated[
        Literal["accepted", "rejected", "edited"], BeforeValidator(_small), BeforeValidator(_blank_is_none)
    ]
    edited_answer: Annotated[str | None, Field(max_length=MAX_TEXT), BeforeValidator(_blank_is_none)] = None
    who: Annotated[str, Field(max_length=200), BeforeValidator(_one_line), BeforeValidator(_blank_is_none)]
    why: _Note = None
    decided_at: Annotated[str | None, BeforeValidator(_utc), BeforeValidator(_blank_is_none)] = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the decision of a line is not taken."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The decisions of a file by line number, lines that cannot be read, and how many are not filled in."""

    lines: dict[int, DecisionLine]
    problems: list[Problem]
    blank: int


def read_decision_file(path: Path) -> ReadFile:
    """Read a file of decisions; a line without a decision is one that nobody has filled in yet.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    text = _text(path)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        rows = list(_csv_rows(text, path.name))
    elif suffix in (".jsonl", ".ndjson"):
        rows = list(_json_rows(text))
    else:
        raise InputError(f"{path.name}: decisions come as .csv or .jsonl")
    lines, problems, blank = {}, [], 0
    for number, row in rows:
        found = row if isinstance(row, str) else _line(row)
        if isinstance(found, DecisionLine):
            lines[number] = found
        elif found is None:
            blank += 1
        else:
            problems.append(Problem(number, found))
    return ReadFile(lines, problems, blank)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path.name} is larger than {MAX_BYTES} bytes; split it")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path.name} is not UTF-8 (line {place}); save it as UTF-8, in Excel as 'CSV UTF-8'"
        ) from error
    if "\0" in text:
        raise InputError(f"{path.name} is not UTF-8 text; save it as UTF-8, in Excel as 'CSV UTF-8'")
    return text


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Rows by the line they begin on, their cells as they were before they were made safe."""
    lines = io.StringIO(text, newline="")
    separator = _separator(text)
    if text.startswith("sep="):
        lines.readline()
    csv.field_size_limit(MAX_TEXT * 10)
    reader = csv.reader(lines, delimiter=separator)
    skipped = 1 if text.startswith("sep=") else 0
    try:
        header = [cell.strip().lower() for cell in next(reader, [])]
        if missing := [one for one in ("content_sha256", "decision", "who") if one not in header]:
            raise InputError(f"{name} has no column {', '.join(missing)}; make one with --template")
        begin = reader.line_num + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                row = dict(zip(header, map(_as_written, cells), strict=False))
                yield begin + skipped, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{name} is no CSV file, near line {reader.line_num + skipped}: {error}") from error


def _separator(text: str) -> str:
    """Comma, semicolon or tab: whichever parts the column names."""
    if text.startswith("sep=") and text[4:5] in _SEPARATORS:
        return text[4]
    header = text.split("\n", 1)[0]
    return max(_SEPARATORS, key=header.count)


def _json_rows(text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"not JSON: {error}"
            continue
        yield number, value if isinstance(value, dict) else "expected a JSON object"


def _line(row: Mapping[str, Any]) -> DecisionLine | str | None:
    """The decision of a row, what is wrong with it, or None where there is none yet."""
    if _blank_is_none(row.get("decision")) is None:
        return None
    try:
        return DecisionLine.model_validate({name: value for name, value in row.items() if value is not None})
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = str(problem["loc"][0])
        return _ADVICE.get(field, f"{field}: {problem['msg']}")


_ADVICE = {
    "decision": "the decision must be accepted, rejected or edited",
    "who": "it does not say who decided (column who, at most 200 characters)",
    "content_sha256": "it has no content_sha256 of 64 hexadecimal digits; copy it from the template",
    "decided_at": "decided_at is no date and time such as 2026-03-01T14:00:00+01:00",
}


def template_csv(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """A CSV file that spreadsheets open as text, with empty columns for the decisions."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(TEMPLATE)
    writer.writerows([_safe(row.get(name)) for name in TEMPLATE] for row in rows)
    return buffer.getvalue().encode("utf-8-sig")


def template_jsonl(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The same as JSON lines."""
    lines = (json.dumps({name: row.get(name) for name in TEMPLATE}, ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _safe(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith((*_COMPUTED, "'")) else text


def _as_written(cell: str) -> str:
    """Undo `_safe`: someone who copies an answer to edit it copies the sign in front of it too."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in (*_COMPUTED, "'") and len(cell) > 1 else cell
