"""One line of a pairs file: which fields it may have, and what is wrong with it if it cannot be used.

What belongs here: the fields, their types, and turning one decoded line into a raw row. What does not: files
(`imports.py`) and what the citations refer to (`qa_pipeline.sources`).
"""

import json
import re
import unicodedata
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from qa_pipeline.records import Coverage, Language
from qa_pipeline.sources import NUMBER_MARK, mark_references, marked_numbers

Row = dict[str, Any]


def _text(value: object) -> object:
    return unicodedata.normalize("NFC", value).strip() if isinstance(value, str) else value


def _listed(value: object) -> object:
    """Citations written as one text: source marks, numbered marks, or references parted by ; or line ends."""
    if not isinstance(value, str):
        return value
    if not NUMBER_MARK.sub("", value).strip(" ,;."):
        return NUMBER_MARK.findall(value)
    return mark_references(value) or [part for part in re.split(r"[;\n]", value) if part.strip()]


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


NUMBERED = ("sources", "contexts")
"""Fields that numbers in an answer may count in."""


class PairLine(_Strict):
    """The fields of a line; further fields are kept as they are.

    `sources` and `contexts` are what numbers such as [2] count in where `citations` names no source itself;
    what no number refers to in them is not cited, whatever it is.
    """

    question: Text
    answer: Text
    citations: Annotated[list[Text | CitedSource], BeforeValidator(_listed)] = []
    sources: object = None
    contexts: object = None
    language: Language | None = None
    coverage: Coverage | None = None
    id: str | int | None = None
    expected_verdict: Text | None = None
    expected_kind: Text | None = None


_READ = PairLine.model_fields.keys() - set(NUMBERED)


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
        citations = _citations(line)
        encodable = "".join(str(part) for part in (line.question, line.answer, line.citations))
        encodable.encode("utf-8")
    except ValidationError as error:
        return _failed(*_explain(error, given))
    except UnicodeEncodeError:
        return _failed("broken_line", "contains half a character (a lone surrogate)")
    return {
        "status": "drafted",
        **line.model_dump(exclude={"citations", "sources", "contexts", "id"}),
        "citations": citations,
    }


def _further(value: Row) -> str | None:
    """The fields that no column of `pairs` holds, as a JSON object."""
    further = {str(name): entry for name, entry in value.items() if name not in _READ}
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


def _citations(line: PairLine) -> list[Row]:
    """What the line cites: the sources it names, and those that its numbers stand for.

    [2] or [c2] is the second entry of `citations`; where that names no source itself, of `sources`, else of
    `contexts`, whose texts are passages. A number without an entry is a citation that names nothing.
    """
    numbered = [one for one in line.citations if isinstance(one, str) and NUMBER_MARK.fullmatch(one)]
    named = [_citation(one) for one in line.citations if one not in numbered]
    numbers = dict.fromkeys(
        number for text in (*map(str, numbered), line.answer) for number in marked_numbers(text)
    )
    if not numbers:
        return named
    entries = named or _entries(line.sources, passages=False) or _entries(line.contexts, passages=True)
    found = {n: {**entries[n - 1], "number": n} for n in numbers if 1 <= n <= len(entries)}
    missing = [
        {"raw": f"[{n}]", "reference": None, "quote": None, "passage": None, "number": n}
        for n in numbers
        if n not in found
    ]
    cited = [found.get(place, one) for place, one in enumerate(named, 1)] if named else list(found.values())
    return [*cited, *missing]


_ENTRIES = TypeAdapter(list[Text | CitedSource])


def _entries(value: object, *, passages: bool) -> list[Row]:
    """The entries of a list that numbers count in; none where it is no such list."""
    given = [value] if passages and isinstance(value, str) else _listed(value)
    try:
        found = _ENTRIES.validate_python(given, strict=True)
    except ValidationError:
        return []
    return [
        _citation(CitedSource(passage=one) if passages and isinstance(one, str) else one) for one in found
    ]


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
