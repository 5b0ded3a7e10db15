"""Read entries of files of existing pairs: question and answer with citations, or a chat of a single turn."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from qa_pipeline.documents.corpus.files import PAIRS_FILES, BatchFiles, DocumentFailure, read_bytes
from qa_pipeline.errors import InputError
from qa_pipeline.records import Coverage
from qa_pipeline.storage.row_files import Fault, Limits, open_rows, too_long
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.text.references import NUMBER_MARK, mark_references, marked_numbers
from qa_pipeline.text.rendering import first_names

EXPECTED = "expected question + answer or messages"
_MOST_FIELDS, _LONGEST_NAME = 12, 40  # fields of an entry in a detail, and characters of each, for one line


@dataclass(frozen=True, slots=True)
class RawCitation:
    """A citation as written, before its source is looked up. `number` is its number in the answer."""

    raw: str
    reference: str | None = None
    quote: str | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class RawPair:
    """An entry of a pairs file. `reason` and `detail` are set if it cannot be used.

    `line` is its number in the file: of its line, entry or row. `sha256` is the hash of the entry as
    written. `fields` is a JSON object of further fields without a column in `pairs`.
    """

    file: str
    line: int
    sha256: str
    question: str | None = None
    answer: str | None = None
    citations: tuple[RawCitation, ...] = ()
    language: str | None = None
    coverage: str | None = None
    expected_verdict: str | None = None
    expected_kind: str | None = None
    id: str | None = None
    fields: str | None = None
    reason: str | None = None
    detail: str | None = None


def _text(value: Any) -> Any:
    return unicodedata.normalize("NFC", value).strip() if isinstance(value, str) else value


def _listed(value: object) -> object:
    """Split a text of citations at source marks, numbered marks, line breaks or semicolons."""
    if not isinstance(value, str):
        return value
    if not NUMBER_MARK.sub("", value).strip(" ,;."):
        return NUMBER_MARK.findall(value)
    return mark_references(value) or [part for part in re.split(r"[;\n]", value) if part.strip()]


def _joined(content: object) -> object:
    """Return the text of a message, which may come in parts."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    written = [text for text in texts if isinstance(text, str)]
    return "\n".join(written) if len(written) == len(texts) else content


Text = Annotated[str, BeforeValidator(_text), Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class CitedSource(_Strict):
    """A citation written as an object."""

    document: Text | None = None
    section: Text | None = None
    chunk_id: Text | None = None
    quote: Text | None = None


class Message(_Strict):
    """A message of a chat, with the field names of OpenAI."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[str, BeforeValidator(_joined)]


class PairLine(_Strict):
    """The fields of an entry. Further fields are stored unchanged.

    Numbers such as [2] refer to `citations`, or else to `sources`. Sources without a number in the text are
    not cited.
    """

    question: Text | None = None
    answer: Text | None = None
    messages: list[Message] | None = None
    citations: Annotated[list[Text | CitedSource], BeforeValidator(_listed)] = []
    sources: object = None
    language: str | None = Field(None, pattern=f"^(?:{'|'.join(LANGUAGES)})$")
    coverage: Coverage | None = None
    id: str | int | None = None
    expected_verdict: Text | None = None
    expected_kind: Text | None = None


COLUMNS = frozenset(PairLine.model_fields)
"""Names that columns of CSV files may have in any case."""
_PAIR_FIELDS = COLUMNS - {"sources"}  # sources are also stored unchanged, as a further field
_ENTRIES = TypeAdapter(list[Text | CitedSource])


def read_entry(entry: object, unread: RawPair) -> RawPair:
    """Return `unread` (file, line and hash) with the content of an entry, or why it cannot be used."""
    if isinstance(entry, Fault):
        return replace(unread, reason=entry.reason, detail=entry.detail)
    if not isinstance(entry, dict):
        detail = f"expected an object, found {type(entry).__name__}"
        return replace(unread, reason="broken_line", detail=detail)
    try:
        _text_of(entry).encode()
    except UnicodeEncodeError:
        return replace(unread, reason="broken_line", detail="contains half a character (a lone surrogate)")
    further = {str(name): value for name, value in entry.items() if name not in _PAIR_FIELDS}
    read = _read_fields({name: value for name, value in entry.items() if value is not None})
    columns = asdict(read) if isinstance(read, Fault) else read  # of a fault: reason and detail
    if system := columns.pop("system", ""):
        further["system"] = system
    pair_id = None if entry.get("id") is None else _text_of(entry["id"])
    return replace(unread, id=pair_id, fields=_text_of(further) if further else None, **columns)


def _read_fields(fields: dict[str, Any]) -> dict[str, Any] | Fault:
    """Return fields of a `RawPair` and the message `system`, or the fault of an entry."""
    try:
        line = PairLine.model_validate(fields)
    except ValidationError as error:
        return _explain(error)
    question, answer, system = line.question, line.answer, ""
    if line.messages is not None:
        turn = _turn(line)
        if isinstance(turn, Fault):
            return turn
        question, answer, system = turn
    if not question or not answer:
        return fault_of_names(fields) or Fault("missing_field", "question or answer is empty")
    if "\0" in question + answer:
        return Fault("broken_line", "contains a NUL character")
    stated = line.model_dump(include={"language", "coverage", "expected_verdict", "expected_kind"})
    citations = tuple(_citations(line, answer))
    return {**stated, "question": question, "answer": answer, "system": system, "citations": citations}


def _turn(line: PairLine) -> tuple[str, str, str] | Fault:
    """Return question, answer and system message of a chat, or its fault if it is not a single turn."""
    if line.question or line.answer:
        return Fault("two_layouts", "it has question or answer as well as messages; leave one out")
    turns = [message for message in line.messages or () if message.role in ("user", "assistant")]
    if len(turns) > 2:
        detail = "a later question may depend on earlier turns: write each as a standalone pair"
        return Fault("several_turns", f"{len(turns)} messages of user and assistant; {detail}")
    if [message.role for message in turns] != ["user", "assistant"]:
        roles = " then ".join(message.role for message in turns) or "none"
        return Fault("missing_field", f"expected messages of user then assistant, found {roles}")
    system = [message.content for message in line.messages or () if message not in turns]
    question, answer = (_text(message.content) for message in turns)
    return question, answer, "\n".join(system)


def fault_of_names(names: Collection[str]) -> Fault | None:
    """Return the reason why an entry with these field names cannot be a pair, if any."""
    missing = {"question", "answer"}.difference(names)
    if "messages" in names or not missing:
        return None
    if len(missing) == 1:
        return Fault("missing_field", f"field {missing.pop()} is missing or empty")
    fields = first_names([str(name)[:_LONGEST_NAME] for name in names], _MOST_FIELDS)
    return Fault("unknown_layout", f"found {fields or 'only empty fields'}; {EXPECTED}")


def _explain(error: ValidationError) -> Fault:
    """Return the first problem as a reason code and a sentence."""
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = str(problem["loc"][0])
    if problem["type"] in ("too_short", "string_too_short") and field in ("question", "answer"):
        return Fault("missing_field", f"field {field} is missing or empty")
    if field == "language":
        return Fault("unsupported_language", f"language must be one of {', '.join(LANGUAGES)}")
    return Fault("wrong_type", f"field {field}: {problem['msg']}")


def _text_of(value: object) -> str:
    """Return a text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _citations(line: PairLine, answer: str) -> list[RawCitation]:
    """Return the citations of a line: the sources it names, and the targets of its numbers.

    [2] or [c2] is the second entry of `citations` if this field names sources, else of `sources`. For the
    answer "See [2] and [9].":

    - with a.md and b.md in `citations`: a.md, b.md as number 2, number 9 without a source
    - with a.md and b.md in `sources`: b.md as number 2, number 9 without a source
    """
    marks = [raw for raw in line.citations if isinstance(raw, str) and NUMBER_MARK.fullmatch(raw)]  # "[2]"
    named = [_citation(raw) for raw in line.citations if raw not in marks]
    numbers = dict.fromkeys(number for text in (*marks, answer) for number in marked_numbers(text))
    entries = named or _entries(line.sources)
    entry_numbers = range(1, len(entries) + 1)
    if named:  # all are cited, with their number if the text uses it
        cited = [replace(raw, number=n) if n in numbers else raw for n, raw in enumerate(named, start=1)]
    else:  # only sources whose number the text uses are cited
        cited = [replace(entries[n - 1], number=n) for n in numbers if n in entry_numbers]
    return [*cited, *(RawCitation(f"[{n}]", number=n) for n in numbers if n not in entry_numbers)]


def _entries(value: object) -> list[RawCitation]:
    """Return the entries of a list that numbers refer to, or an empty list for other values."""
    try:
        return [_citation(entry) for entry in _ENTRIES.validate_python(_listed(value))]
    except ValidationError:
        return []


def _citation(citation: str | CitedSource) -> RawCitation:
    """Return a citation as written, such as "source:guide.md#Setup" for a document and section."""
    if isinstance(citation, str):
        return RawCitation(citation, citation)
    section = f"#{citation.section}" if citation.section else ""
    reference = citation.chunk_id or (f"{citation.document}{section}" if citation.document else None)
    raw = f"source:{reference}" if citation.document and not citation.chunk_id else reference
    return RawCitation(raw or citation.quote or "", reference, citation.quote)


LIMITS = Limits()
SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")


def read_pairs(path: Path, limits: Limits = LIMITS) -> list[RawPair]:
    """Read a pairs file, with unusable entries too; raises an InputError if it is unreadable or empty."""
    raw = parse_pairs(None, path, limits)
    if not raw:
        raise InputError(f"{path} has no pairs; name a file with at least one pair")
    return raw


def read_pairs_beside(files: BatchFiles) -> list[RawPair]:
    """Read the files of existing pairs next to the documents of a batch.

    Raises an InputError if a file cannot be read. Links that lead out of the batch are not followed.
    """
    pairs = []
    for file in filter(None, map(files.find, PAIRS_FILES)):
        try:
            content = read_bytes(file, LIMITS.max_bytes, "the limit of files of pairs")
        except DocumentFailure as failure:
            raise InputError(f"{file.path} cannot be read ({failure.reason}): {failure.detail}") from failure
        pairs += parse_pairs(content, file.path)
    return pairs


def parse_pairs(content: bytes | None, name: str | Path, limits: Limits = LIMITS) -> list[RawPair]:
    """Read the rows of a pairs file as raw pairs; raises an InputError if it cannot be read.

    `name` is the path to open, or with `content` the path within the batch. Its suffix gives the format.
    """
    path = Path(name)
    file = open_rows(path, limits, SUFFIXES, content=content, known_columns=COLUMNS)
    is_parquet = path.suffix.lower() == ".parquet"
    fault = fault_of_names(file.columns) if file.columns else None  # CSV and Parquet have columns
    if fault is not None:
        location = str(path) if is_parquet else f"{path} row 1"
        raise InputError(f"{location}: {fault.detail}; rename or add columns")
    # of a file outside the batch only its name is stored, so that a moved file gives the same rows
    stored_name = path.name if content is None else str(path)
    pairs = []
    for row in file.rows:
        entry, row_bytes = row.value, row.written
        if is_parquet:  # `written` is empty, so `open_rows` has not checked the length
            row_bytes = repr(sorted(entry.items())).encode("utf-8", "surrogatepass")
            if len(row_bytes) > limits.max_line_bytes:
                entry = too_long(limits)  # `read_entry` records the fault
        unread = RawPair(stored_name, row.number, hashlib.sha256(row_bytes).hexdigest())
        pairs.append(read_entry(entry, unread))
    return pairs
