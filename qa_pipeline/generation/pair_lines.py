"""One line of a pairs file: which fields it may have, and what is wrong with it if it cannot be used.

What belongs here: the fields, their types, and turning one decoded line into a raw row. What does not: files
(`imports.py`) and what the citations refer to (`qa_pipeline.sources`).
"""

import json
import unicodedata
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from qa_pipeline.records import Coverage, Language

Row = dict[str, Any]


def _text(value: object) -> object:
    return unicodedata.normalize("NFC", value).strip() if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_text), Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class CitedSource(_Strict):
    """A citation written as an object."""

    document: Text | None = None
    section: Text | None = None
    chunk_id: Text | None = None
    quote: Text | None = None
    passage: Text | None = None


class PairLine(_Strict):
    """The fields of a line; further fields are kept as they are."""

    question: Text
    answer: Text
    citations: list[Text | CitedSource] = []
    language: Language | None = None
    coverage: Coverage | None = None
    id: str | int | None = None
    expected_verdict: Text | None = None
    expected_kind: Text | None = None


def read_line(line: bytes) -> Row:
    """Decode and check one JSON line; a line that cannot be used comes back as a failed row."""
    try:
        return read_values(json.loads(line.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        return _failed("broken_line", f"not JSON: {error}")


def read_values(value: object) -> Row:
    """Check one decoded line."""
    if not isinstance(value, dict):
        return _failed("broken_line", f"expected an object, found {type(value).__name__}")
    own = {"id": None if value.get("id") is None else _text_of(value["id"]), "fields": _further(value)}
    return own | _read_fields({name: entry for name, entry in value.items() if entry is not None})


def _read_fields(given: Row) -> Row:
    try:
        line = PairLine.model_validate(given)
        encodable = "".join(str(part) for part in (line.question, line.answer, line.citations))
        encodable.encode("utf-8")
    except ValidationError as error:
        return _failed(*_explain(error, given))
    except UnicodeEncodeError:
        return _failed("broken_line", "contains half a character (a lone surrogate)")
    return {
        "status": "drafted",
        **line.model_dump(exclude={"citations", "id"}),
        "citations": [_citation(citation) for citation in line.citations],
    }


def _further(value: Row) -> str | None:
    """The fields that are none of ours, as a JSON object."""
    further = {str(name): entry for name, entry in value.items() if name not in PairLine.model_fields}
    return _text_of(further) if further else None


def _text_of(value: object) -> str:
    """A text as it is, any other value as JSON; escaped where it holds half a character."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if text.isascii() or _encodable(text) else json.dumps(value, default=str)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _citation(citation: str | CitedSource) -> Row:
    if isinstance(citation, str):
        return {"raw": citation, "reference": citation, "quote": None, "passage": None}
    section = f"#{citation.section}" if citation.section else ""
    reference = citation.chunk_id or (f"{citation.document}{section}" if citation.document else None)
    raw = f"source:{reference}" if citation.document and not citation.chunk_id else reference
    return {
        "raw": raw or citation.passage or citation.quote or "",
        "reference": reference,
        "quote": citation.quote,
        "passage": citation.passage,
    }


def _failed(reason: str, detail: str) -> Row:
    return {"status": "failed", "reason": reason, "detail": detail}


def _explain(error: ValidationError, given: Row) -> tuple[str, str]:
    """The first problem as a reason code and a sentence."""
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "missing" or (
        problem["type"] in ("string_too_short", "too_short") and field in ("question", "answer")
    ):
        return "missing_field", f"field {field} is missing or empty"
    if field == "language":
        return "unsupported_language", "language must be en, sv or de"
    return "wrong_type", f"field {field}: {problem['msg']}"
