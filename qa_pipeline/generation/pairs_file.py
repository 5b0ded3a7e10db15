"""Existing pairs: a file of them becomes rows of the pairs table.

An entry that cannot be used is a failed row; the others go on.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.generation.pair_layouts import (
    COLUMNS,
    LAYOUT_FIELDS,
    LAYOUTS,
    UnusableEntry,
    fitting,
    layout_of,
    read_pair,
    unfolded,
)
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import Coverage
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.row_files import Fault, open_rows, too_long, unit_of
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.text.references import (
    FOUND_BY_SEARCH,
    NUMBER_MARK,
    SOURCE_MARK,
    Resolution,
    Sources,
    mark_references,
    marked_numbers,
)
from qa_pipeline.text.refusals import is_refusal

Row = dict[str, Any]


def _text(value: object) -> object:
    return unicodedata.normalize("NFC", value).strip() if isinstance(value, str) else value


def _listed(value: object) -> object:
    """Return citations in one text: source marks, numbered marks, or references parted by ; or lines."""
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
    """The fields of a line; further fields are kept as they are. Without an answer the sources give none.

    `sources` and `contexts` are what numbers such as [2] count in where `citations` names no source itself;
    what no number refers to in them is not cited, whatever it is.
    """

    question: Text
    answer: Text | None = None
    citations: Annotated[list[Text | CitedSource], BeforeValidator(_listed)] = []
    sources: object = None
    contexts: object = None
    language: str | None = Field(None, pattern=f"^(?:{'|'.join(LANGUAGES)})$")
    coverage: Coverage | None = None
    id: str | int | None = None
    expected_verdict: Text | None = None
    expected_kind: Text | None = None


_READ = PairLine.model_fields.keys() - set(NUMBERED)


def read_entry(entry: object) -> Row:
    """Check one entry of a pairs file; one that cannot be used comes back as a failed row."""
    if isinstance(entry, Fault):
        return _failed(entry.reason, entry.detail)
    if not isinstance(entry, dict):
        return _failed("broken_line", f"expected an object, found {type(entry).__name__}")
    try:
        value = read_pair(entry)
        read = _read_fields({name: field for name, field in value.items() if field is not None})
    except UnusableEntry as error:
        value, read = entry, _failed(error.reason, error.detail)
    absent = {name: None for name, field in entry.items() if field is None and name not in LAYOUT_FIELDS}
    pair_id = None if value.get("id") is None else _text_of(value["id"])
    return {"id": pair_id, "fields": _further(value | absent)} | read


def _read_fields(fields: Row) -> Row:
    try:
        line = PairLine.model_validate(fields)
    except ValidationError as error:
        return _failed(*_explain(error, fields))
    citations = _citations(line)
    texts = "".join(str(part) for part in (line.question, line.answer, line.citations))
    if not _encodable(texts):
        return _failed("broken_line", "contains half a character (a lone surrogate)")
    if "\0" in line.question + (line.answer or ""):
        return _failed("broken_line", "contains a NUL character")
    return {
        "status": "drafted",
        **line.model_dump(exclude={"citations", "sources", "contexts", "id"}),
        "citations": citations,
    }


def _further(value: Row) -> str | None:
    """Return the fields that no column of `pairs` holds, as a JSON object."""
    further = {str(name): entry for name, entry in value.items() if name not in _READ}
    return _text_of(further) if further else None


def _text_of(value: object) -> str:
    """Return a text as it is, any other value as JSON; escaped where it holds half a character."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if text.isascii() or _encodable(text) else json.dumps(value, default=str)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _citations(line: PairLine) -> list[Row]:
    """Return the citations of a line: the sources it names, and those that its numbers stand for.

    [2] or [c2] is the second entry of `citations`; where that names no source itself, of `sources`, else of
    `contexts`, whose texts are passages. A number without an entry is a citation that names nothing.
    """
    numbered = [
        citation
        for citation in line.citations
        if isinstance(citation, str) and NUMBER_MARK.fullmatch(citation)
    ]
    unnumbered = [_citation(citation) for citation in line.citations if citation not in numbered]
    numbers = dict.fromkeys(
        number for text in (*map(str, numbered), line.answer or "") for number in marked_numbers(text)
    )
    if not numbers:
        return unnumbered
    entries = unnumbered or _entries(line.sources, passages=False) or _entries(line.contexts, passages=True)
    by_number = {n: {**entries[n - 1], "number": n} for n in numbers if 1 <= n <= len(entries)}
    missing = [
        {"raw": f"[{n}]", "reference": None, "quote": None, "passage": None, "number": n}
        for n in numbers
        if n not in by_number
    ]
    cited = (
        [by_number.get(place, citation) for place, citation in enumerate(unnumbered, 1)]
        if unnumbered
        else list(by_number.values())
    )
    return [*cited, *missing]


_ENTRIES = TypeAdapter(list[Text | CitedSource])


def _entries(value: object, *, passages: bool) -> list[Row]:
    """Return the entries of a list that numbers count in; none where it is no such list."""
    values = [value] if passages and isinstance(value, str) else _listed(value)
    try:
        entries = _ENTRIES.validate_python(values, strict=True)
    except ValidationError:
        return []
    return [
        _citation(CitedSource(passage=entry) if passages and isinstance(entry, str) else entry)
        for entry in entries
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


def _explain(error: ValidationError, fields: Row) -> tuple[str, str]:
    """Return the first problem as a reason code and a sentence."""
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "missing" or (
        problem["type"] in ("string_too_short", "too_short") and field in ("question", "answer")
    ):
        return "missing_field", f"field {field} is missing or empty"
    if field == "language":
        return "unsupported_language", f"language must be one of {', '.join(LANGUAGES)}"
    return "wrong_type", f"field {field}: {problem['msg']}"


RAW_CITATION = pl.Struct(
    {
        "raw": pl.String(),
        "reference": pl.String(),
        "quote": pl.String(),
        "passage": pl.String(),
        "number": pl.Int32(),
    }
)
RAW_PAIRS = pl.Schema(
    {
        "file": pl.String(),
        "line": pl.Int64(),
        "sha256": pl.String(),
        "id": pl.String(),
        "fields": pl.String(),
        "question": pl.String(),
        "answer": pl.String(),
        "citations": pl.List(RAW_CITATION),
        "language": pl.String(),
        "coverage": pl.String(),
        "expected_verdict": pl.String(),
        "expected_kind": pl.String(),
        "status": pl.String(),
        "reason": pl.String(),
        "detail": pl.String(),
    }
)
LIMITS = PairsFileSettings()


SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
_LISTS = frozenset({"citations", "sources", "contexts", "messages", "conversations", "answers"})


def read_pairs(path: Path, limits: PairsFileSettings = LIMITS) -> pl.DataFrame:
    """Read a pairs file, one row for each pair, usable or not.

    Raises:
        InputError: the file as a whole cannot be read, or holds nothing.
    """
    raw = _raw_pairs(path, None, limits)
    if raw.is_empty():
        raise InputError(f"{path} holds no pair; name a file with at least one")
    return raw


def parse_pairs(content: bytes, name: str, limits: PairsFileSettings = LIMITS) -> pl.DataFrame:
    """Parse the bytes of a pairs file; `name` tells the format and appears in messages.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    return _raw_pairs(Path(name), content, limits)


def _raw_pairs(path: Path, content: bytes | None, limits: PairsFileSettings) -> pl.DataFrame:
    file = open_rows(path, limits.limits, SUFFIXES, content=content, columns_known=COLUMNS, unfold=unfolded)
    is_csv = unit_of(path.name) == "row" and not file.types
    if file.columns and (is_csv or file.types):
        _check_columns(file.columns, f"{path} row 1" if is_csv else str(path))
    name = path.name if content is None else str(path)
    rows = []
    for row in file.rows():
        value, written = row.value, row.written
        if file.types and not written:
            written = repr(sorted(value.items())).encode("utf-8", "surrogatepass")
            if len(written) > limits.max_line_bytes:
                value = too_long(limits.limits)
        elif is_csv and isinstance(value, dict):
            value = {column: _cell(column, cell) for column, cell in value.items()}
        sha256 = hashlib.sha256(written).hexdigest()
        rows.append({"file": name, "line": row.place, "sha256": sha256, **read_entry(value)})
    return pl.DataFrame(rows, schema=RAW_PAIRS)


def _check_columns(columns: Sequence[str], place: str) -> None:
    """Report a column that no row can do without once, not in every row."""
    if fitting(columns) or not {"paragraphs", "qas"}.isdisjoint(columns):
        return
    try:
        layout_of(columns)
    except UnusableEntry as error:
        if error.reason == "missing_field":
            missing = next(name for name in LAYOUTS[0].known_by if name not in columns)
            raise InputError(f"{place} has no column {missing}; rename or add it") from error
        raise InputError(f"{place}: {error.detail}; rename or add columns") from error


def _cell(column: str, cell: str | None) -> Any:
    """Return a cell's text; in columns of lists the list, where it is written as JSON."""
    if cell and column in _LISTS and cell.lstrip().startswith(('["', "[{", "{", "[]")):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def import_pairs(
    raw: pl.DataFrame, documents: pl.DataFrame, chunks: pl.DataFrame, batch: str
) -> pl.DataFrame:
    """Resolve the citations of raw pairs and give each pair its row; failed lines keep theirs.

    A pair may cite in its `citations` field and inside its answer; the same reference counts once.
    """
    sources = Sources(documents, chunks)
    texts = _Texts(documents, chunks)
    languages = dict(documents.select("document_id", "language").iter_rows())
    seen: dict[str, int] = {}
    rows = []
    for line in raw.iter_rows(named=True):
        row = _pair(line, sources, texts, languages) if line["status"] == "drafted" else _broken(line)
        identity = _identity(batch, line)
        ordinal = seen[identity] = seen.get(identity, -1) + 1
        rows.append({**row, "batch": batch, "pair_id": hash_parts(identity, ordinal or "")[:32]})
    return PAIRS.frame(rows)


def _broken(line: Row) -> Row:
    return {
        **_base(line),
        "language": "en",
        "passage_ids": [],
        "used_chunk_ids": [],
        "citations": [],
        "status": "failed",
        "reason": line["reason"],
        "detail": f"{line['file']} {unit_of(line['file'])} {line['line']}: {line['detail']}",
    }


def _base(line: Row) -> Row:
    copied = ("question", "answer", "expected_verdict", "expected_kind")
    return {
        **{name: line[name] for name in copied},
        "question_type": "imported",
        "origin": "imported",
        "generator": line["file"],
        "source_line": line["line"],
        "source_id": line["id"],
        "source_fields": line["fields"],
    }


def _pair(line: Row, sources: Sources, texts: "_Texts", languages: dict[str, str | None]) -> Row:
    stated = line["citations"] or []
    inside = [
        {"raw": reference, "reference": reference} for reference in mark_references(line["answer"] or "")
    ]
    resolved = [(citation, _resolve(citation, sources, texts)) for citation in _distinct([*stated, *inside])]
    cited = list(dict.fromkeys(i for _, resolution in resolved for i in resolution.chunk_ids))
    owners = [resolution.document_id for _, resolution in resolved if resolution.document_id]
    language = line["language"] or next((languages[i] for i in owners if languages.get(i) in LANGUAGES), "en")
    answer = line["answer"] or refusal(language or "en")
    refused = is_refusal(answer, language or "en")
    uncited = {"reason": FOUND_BY_SEARCH, "detail": "it cites nothing: evidence is searched for in its batch"}
    return {
        **_base(line),
        "answer": answer,
        **({} if resolved or refused else uncited),
        "language": language,
        "passage_ids": cited,
        "used_chunk_ids": cited,
        "citations": [_stored(citation, resolution) for citation, resolution in resolved],
        "coverage": line["coverage"] or ("none" if refused else "full"),
        "status": "drafted",
    }


def _distinct(citations: Iterable[Row]) -> list[Row]:
    """Return the citations in order, without repeated references that have no quote of their own."""
    distinct: list[Row] = []
    seen: set[tuple[Any, ...]] = set()
    for citation in citations:
        reference = (citation["reference"] or "").casefold().replace("source:", "").strip("[] ")
        key = (reference, citation.get("quote"), citation.get("passage"), citation.get("number"))
        bare = (reference, None, None, None)
        if key not in seen and not (key == bare and any(entry[0] == reference for entry in seen)):
            distinct.append(citation)
            seen.add(key)
    return distinct


def _resolve(citation: Row, sources: Sources, texts: "_Texts") -> Resolution:
    if citation["reference"]:
        return sources.resolve(citation["reference"])
    quoted = citation.get("passage") or citation.get("quote")
    if quoted is None:
        return Resolution("unknown_number" if citation.get("number") else "unknown_document")
    chunk_id, document_id = texts.holder(quoted)
    if chunk_id is not None:
        return sources.chunk(chunk_id)
    return Resolution("unknown_document") if document_id is None else sources.resolve(document_id)


class _Texts:
    """The chunks and documents of a batch, to find which one holds a passage: the first that does."""

    def __init__(self, documents: pl.DataFrame, chunks: pl.DataFrame) -> None:
        self._documents, self._chunks = documents, chunks

    @cached_property
    def _folded(self) -> tuple[dict[str, str], dict[str, str]]:
        parsed = self._documents.filter(pl.col("status") == "parsed")
        chunks = self._chunks.select("chunk_id", "text").iter_rows()
        texts = parsed.select("document_id", "text").iter_rows()
        return {i: _folded(text) for i, text in chunks}, {i: _folded(text) for i, text in texts}

    @cache  # noqa: B019 - lives as long as one import, in which many questions share a context
    def holder(self, passage: str) -> tuple[str | None, str | None]:
        """Return the chunk that holds a passage, or the document where no single chunk does."""
        folded = _folded(passage)
        chunk_id, document_id = (
            next((i for i, text in texts_of_document.items() if folded in text), None)
            for texts_of_document in self._folded
        )
        return chunk_id, document_id


_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))


def _folded(text: str) -> str:
    return " ".join(text.translate(_INVISIBLE).casefold().split())


def _stored(citation: Row, resolution: Resolution) -> Row:
    return {
        "raw": citation["raw"],
        "document_id": resolution.document_id,
        "chunk_id": resolution.chunk_ids[0] if len(resolution.chunk_ids) == 1 else None,
        "quote": citation.get("quote"),
        "number": citation.get("number"),
        "resolution": resolution.kind,
    }


def _identity(batch: str, line: Row) -> str:
    if line["status"] != "drafted":
        return hash_parts(batch, line["file"], line["sha256"])[:32]
    citations = [
        f"{citation['raw']}\x1e{citation['quote']}\x1e{citation['passage']}"
        for citation in line["citations"] or []
    ]
    return hash_parts(batch, line["question"], line["answer"] or "", *citations)[:32]


MaskTexts = Callable[[Sequence[str]], list[str]]
"""Masks texts that belong together: one may say what the number in another is."""
MaskReference = Callable[[str], str]
"""Masks what names a document, so that it still names the document whose path was masked."""

_TEXTS = ("question", "answer", "expected_kind", "expected_verdict", "detail", "id")
_QUOTES = ("quote", "passage")
_LEAF = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|-?\d[\d.eE+-]*')
"""Texts and numbers of a JSON object, the names of its fields included: a number may be a telephone's."""


def mask_pairs(raw: pl.DataFrame, texts: MaskTexts, reference: MaskReference) -> pl.DataFrame:
    """Mask the texts, quotes and references of raw pairs; lines that failed hold none but their detail."""
    rows = [_masked(line, texts, reference) for line in raw.iter_rows(named=True)]
    return pl.DataFrame(rows, schema=raw.schema)


def _masked(line: Row, texts: MaskTexts, reference: MaskReference) -> Row:
    citations = line["citations"] or []
    leaves = _LEAF.findall(line["fields"] or "")
    fields = [line[name] for name in _TEXTS] + [citation[name] for citation in citations for name in _QUOTES]
    masked = iter(_mask_fields([*fields, *(str(json.loads(leaf)) for leaf in leaves)], texts, reference))
    masked_texts = {name: next(masked) for name in _TEXTS}
    cited = [_mask_citation(citation, next(masked), next(masked), reference) for citation in citations]
    further = line["fields"] and _LEAF.sub(lambda leaf: _leaf(leaf[0], next(masked)), line["fields"])
    return {**line, **masked_texts, "file": reference(line["file"]), "citations": cited, "fields": further}


def _leaf(leaf: str, masked: str | None) -> str:
    """Return a text or number of a JSON value, unchanged where nothing in it was masked."""
    return leaf if masked == str(json.loads(leaf)) else json.dumps(masked, ensure_ascii=False)


def _mask_citation(citation: Row, quote: str | None, passage: str | None, reference: MaskReference) -> Row:
    """Return a masked citation; one without a reference was written as its passage or its quote."""
    if citation["reference"] is None:
        raw = passage or quote or citation["raw"]
        return {**citation, "raw": raw, "quote": quote, "passage": passage}
    masked_names = {name: reference(citation[name]) for name in ("raw", "reference")}
    return {**citation, **masked_names, "quote": quote, "passage": passage}


def _mask_fields(
    fields: Sequence[str | None], texts: MaskTexts, reference: MaskReference
) -> list[str | None]:
    """Return all fields masked at once; source marks in them are masked as references."""
    pieces = [list(_pieces(field)) if field is not None else [] for field in fields]
    masked = iter(texts([piece for of_field in pieces for piece, is_mark in of_field if not is_mark]))
    return [
        "".join(reference(piece) if is_mark else next(masked) for piece, is_mark in of_field)
        if field is not None
        else None
        for field, of_field in zip(fields, pieces, strict=True)
    ]


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text before, in, between and after its source marks, and whether a mark."""
    place = 0
    for mark in SOURCE_MARK.finditer(text):
        yield text[place : mark.start()], False
        yield mark[0], True
        place = mark.end()
    yield text[place:], False
