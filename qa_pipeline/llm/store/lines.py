"""One stored reply as one line of a file, and back.

What belongs here: the format and its checks. What does not: files (`transfer.py`).
A line read is hostile: it may have been written by anybody.
"""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.calls import Repair, Role
from qa_pipeline.errors import InputError
from qa_pipeline.llm.store.records import REPLIED

HEADER = {"format": "qa_pipeline replies", "version": 2}
_MOST_TOKENS = 2**63 - 1
_MOST_DOCUMENTS = 10_000


class Line(BaseModel):
    """One stored reply; texts stand as the database holds them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    asked_model: str = Field(min_length=1, max_length=400)
    request_key: str = Field(pattern=r"^[0-9a-f]{64}$")
    role: Role
    batch: str
    outcome: str = Field(pattern=r"^[a-z_]{1,40}$")
    detail: str | None
    raw: str
    value: str | None
    replied_model: str | None = Field(max_length=400)
    repair: Repair
    input_tokens: int | None = Field(ge=0, le=_MOST_TOKENS)
    output_tokens: int | None = Field(ge=0, le=_MOST_TOKENS)
    cached_tokens: int | None = Field(ge=0, le=_MOST_TOKENS)
    thought_tokens: int | None = Field(ge=0, le=_MOST_TOKENS)
    stored_at: float = Field(ge=0, allow_inf_nan=False)
    documents: list[str] = Field(max_length=_MOST_DOCUMENTS)

    @property
    def row(self) -> dict[str, Any]:
        """The row of table `replies`."""
        return self.model_dump(exclude={"documents"})


def line_of(row: dict[str, Any], documents: list[str]) -> bytes:
    """The line of a row of table `replies`, and of the documents that it saw."""
    return _encoded({**row, "documents": documents})


def header_line() -> bytes:
    """The first line of a file."""
    return _encoded(HEADER)


def check_header(text: bytes) -> None:
    """Hold the first line against what this program reads.

    Raises:
        InputError: it is none of ours, or of another version.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != HEADER["format"]:
        raise InputError("line 1 is no header of replies: name a file of qa-pipeline replies export")
    if found.get("version") != HEADER["version"]:
        raise InputError(
            f"line 1 is of version {str(found.get('version'))[:20]!r}, this program reads version "
            f"{HEADER['version']}: export it with the same release"
        )


def read_line(text: bytes, number: int) -> Line:
    """Read one line.

    Raises:
        InputError: it is no stored reply; says the line and the fields, and repeats none of it.
    """
    try:
        line = Line.model_validate_json(text)
    except ValidationError as error:
        breaches = error.errors(include_url=False, include_context=False, include_input=False)
        raise InputError(f"line {number} is no stored reply: {_told(breaches)}") from None
    _check_value(line, number)
    return line


def _check_value(line: Line, number: int) -> None:
    if (line.outcome == REPLIED) != (line.value is not None):
        raise InputError(f"line {number} is no stored reply: only the outcome {REPLIED} has a value")
    texts = (line.asked_model, line.batch, line.raw, line.value or "", line.detail or "", *line.documents)
    if any("\0" in text for text in texts):
        raise InputError(f"line {number} is no stored reply: it holds the character zero")
    if any(not 0 < len(document) <= 64 for document in line.documents):
        raise InputError(f"line {number} is no stored reply: documents are ids of 1 to 64 characters")
    if line.value is not None:
        _check_json(line.value, number)


def _check_json(value: str, number: int) -> None:
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        raise InputError(f"line {number} is no stored reply: value is not JSON") from None


def _told(breaches: list[Any]) -> str:
    # the name of an unknown field is the file's own text
    named = {
        "an unknown field"
        if breach["type"] == "extra_forbidden"
        else f"{'.'.join(str(part) for part in breach['loc']) or 'the line'} {breach['type']}"
        for breach in breaches[:3]
    }
    return ", ".join(sorted(named))


def _encoded(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, sort_keys=True).encode() + b"\n"
