"""Existing pairs: a file of them becomes rows of the pairs table.

An entry that cannot be used is a failed row; the others go on.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from qa_pipeline.documents.corpus.files import PAIRS_FILES, DocumentFailure, read_bytes
from qa_pipeline.documents.corpus.places import BatchFiles
from qa_pipeline.errors import InputError
from qa_pipeline.generation.pair_layouts import (
    COLUMNS,
    LAYOUT_FIELDS,
    PAIR,
    Entry,
    UnusableEntry,
    check_layout,
    read_pair,
)
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import Coverage
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.row_files import Fault, Limits, open_rows, too_long, unit_of
from qa_pipeline.storage.rows import CitationStruct, PairColumns
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline.text.characters import clean, fold
from qa_pipeline.text.language import in_other_language
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
from qa_pipeline.text.refusals import coverage_of, is_refusal


@dataclass(frozen=True, slots=True)
class RawCitation:
    """A citation as it is written, before anybody looks whether what it names exists.

    Args:
        raw: what is shown of it.
        reference: the name of a document, section or chunk.
        quote: words it quotes.
        passage: the text it rests on, where no name is given.
        number: its number in the answer.
    """

    raw: str
    reference: str | None = None
    quote: str | None = None
    passage: str | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class RawPair:
    """An entry of a pairs file; of one that cannot be used, `reason` and `detail` say why.

    Args:
        file: its name; `line` is the place of the entry there, counted as `unit_of` says.
        sha256: hash of the entry as it is written.
        fields: the fields that no column of `pairs` holds, as a JSON object.
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


def _read_entry(entry: object, unread: RawPair) -> RawPair:
    """Return `unread` with what an entry holds, or with the reason why it cannot be used."""
    if isinstance(entry, Fault):
        return replace(unread, reason=entry.reason, detail=entry.detail)
    if not isinstance(entry, dict):
        detail = f"expected an object, found {type(entry).__name__}"
        return replace(unread, reason="broken_line", detail=detail)
    value = entry
    try:
        value = read_pair(entry)
        read = _read_fields({name: field for name, field in value.items() if field is not None})
    except UnusableEntry as error:
        read = {"reason": error.reason, "detail": error.detail}
    absent = {name: None for name, field in entry.items() if field is None and name not in LAYOUT_FIELDS}
    pair_id = None if value.get("id") is None else _text_of(value["id"])
    return replace(unread, id=pair_id, fields=_further(value | absent), **read)


def _read_fields(fields: Entry) -> Entry:
    """Return the fields of a `RawPair`.

    Raises:
        UnusableEntry: one is missing, or of another kind.
    """
    try:
        line = PairLine.model_validate(fields)
    except ValidationError as error:
        raise UnusableEntry(*_explain(error)) from error
    texts = "".join(str(part) for part in (line.question, line.answer, line.citations))
    if not _encodable(texts):
        raise UnusableEntry("broken_line", "contains half a character (a lone surrogate)")
    if "\0" in line.question + (line.answer or ""):
        raise UnusableEntry("broken_line", "contains a NUL character")
    read = line.model_dump(exclude={"citations", "sources", "contexts", "id"})
    return {**read, "citations": tuple(_citations(line))}


def _further(value: Entry) -> str | None:
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


def _citations(line: PairLine) -> list[RawCitation]:
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
    by_number = {n: replace(entries[n - 1], number=n) for n in numbers if 1 <= n <= len(entries)}
    missing = [RawCitation(f"[{n}]", number=n) for n in numbers if n not in by_number]
    cited = (
        [by_number.get(place, citation) for place, citation in enumerate(unnumbered, 1)]
        if unnumbered
        else list(by_number.values())
    )
    return [*cited, *missing]


_ENTRIES = TypeAdapter(list[Text | CitedSource])


def _entries(value: object, *, passages: bool) -> list[RawCitation]:
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


def _citation(citation: str | CitedSource) -> RawCitation:
    if isinstance(citation, str):
        return RawCitation(citation, citation)
    section = f"#{citation.section}" if citation.section else ""
    reference = citation.chunk_id or (f"{citation.document}{section}" if citation.document else None)
    raw = f"source:{reference}" if citation.document and not citation.chunk_id else reference
    raw = raw or citation.passage or citation.quote or ""
    return RawCitation(raw, reference, citation.quote, citation.passage)


def _explain(error: ValidationError) -> tuple[str, str]:
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


LIMITS = Limits()


SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
_LISTS = frozenset({"citations", "sources", "contexts", "messages"})


def read_pairs(path: Path, limits: Limits = LIMITS) -> list[RawPair]:
    """Read a pairs file, with the entries that cannot be used.

    Raises:
        InputError: the file as a whole cannot be read, or holds nothing.
    """
    raw = _raw_pairs(path, None, limits)
    if not raw:
        raise InputError(f"{path} holds no pair; name a file with at least one")
    return raw


def read_pairs_beside(files: BatchFiles) -> list[RawPair]:
    """Read the files of existing pairs beside the documents of a batch.

    Raises:
        InputError: one cannot be read; like a document, it is not followed out of the batch.
    """
    pairs = []
    for file in filter(None, map(files.find, PAIRS_FILES)):
        try:
            content = read_bytes(file, LIMITS.max_bytes, "the limit of files of pairs")
        except DocumentFailure as failure:
            message = f"{file.path} cannot be read ({failure.reason}): {failure.detail}"
            raise InputError(message) from failure
        pairs += parse_pairs(content, file.path)
    return pairs


def parse_pairs(content: bytes, name: str, limits: Limits = LIMITS) -> list[RawPair]:
    """Parse the bytes of a pairs file; `name` tells the format and appears in messages.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    return _raw_pairs(Path(name), content, limits)


def _raw_pairs(path: Path, content: bytes | None, limits: Limits) -> list[RawPair]:
    file = open_rows(path, limits, SUFFIXES, content=content, columns_known=COLUMNS)
    is_csv = unit_of(path.name) == "row" and not file.types
    if file.columns and (is_csv or file.types):
        _check_columns(file.columns, f"{path} row 1" if is_csv else str(path))
    name = path.name if content is None else str(path)
    pairs = []
    for row in file.rows():
        value, written = row.value, row.written
        if file.types and not written:
            written = repr(sorted(value.items())).encode("utf-8", "surrogatepass")
            if len(written) > limits.max_line_bytes:
                value = too_long(limits)
        elif is_csv and isinstance(value, dict):
            value = {column: _cell(column, cell) for column, cell in value.items()}
        unread = RawPair(name, row.place, hashlib.sha256(written).hexdigest())
        pairs.append(_read_entry(value, unread))
    return pairs


def _check_columns(columns: Sequence[str], place: str) -> None:
    """Report a column that no row can do without once, not in every row."""
    try:
        check_layout(columns)
    except UnusableEntry as error:
        if error.reason == "missing_field":
            missing = next(name for name in PAIR if name not in columns)
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
    raw: Iterable[RawPair], documents: pl.DataFrame, chunks: pl.DataFrame, batch: str
) -> pl.DataFrame:
    """Resolve the citations of raw pairs and give each pair its row; those that cannot be used keep theirs.

    A pair may cite in its `citations` field and inside its answer; the same reference counts once.
    """
    sources = Sources(documents, chunks)
    texts = Texts(documents, chunks)
    languages = _Languages(documents, chunks)
    seen: dict[str, int] = {}
    rows: list[PairColumns] = []
    for pair in raw:
        row = _failed(pair) if pair.reason else _drafted(pair, sources, texts, languages)
        identity = _identity(batch, pair)
        ordinal = seen[identity] = seen.get(identity, -1) + 1
        rows.append({**row, "batch": batch, "pair_id": hash_parts(identity, ordinal or "")[:32]})
    return PAIRS.frame(rows)


def _failed(pair: RawPair) -> PairColumns:
    return {
        **_base(pair),
        "language": "en",
        "passage_ids": [],
        "used_chunk_ids": [],
        "citations": [],
        "status": "failed",
        "reason": pair.reason,
        "detail": f"{pair.file} {unit_of(pair.file)} {pair.line}: {pair.detail}",
    }


def _base(pair: RawPair) -> PairColumns:
    return {
        "question": pair.question,
        "answer": pair.answer,
        "expected_verdict": pair.expected_verdict,
        "expected_kind": pair.expected_kind,
        "question_type": "imported",
        "origin": "imported",
        "generator": pair.file,
        "source_line": pair.line,
        "source_id": pair.id,
        "source_fields": pair.fields,
    }


def _drafted(pair: RawPair, sources: Sources, texts: "Texts", languages: "_Languages") -> PairColumns:
    inside = [RawCitation(reference, reference) for reference in mark_references(pair.answer or "")]
    cited = [
        (citation, _resolve(citation, sources, texts)) for citation in _distinct([*pair.citations, *inside])
    ]
    chunk_ids = list(dict.fromkeys(i for _, resolution in cited for i in resolution.chunk_ids))
    owners = [resolution.document_id for _, resolution in cited if resolution.document_id]
    language = pair.language or languages.of_cited(owners) or languages.of_text(pair)
    answer = pair.answer or refusal(language)
    is_searched = not cited and not is_refusal(answer)
    return {
        **_base(pair),
        "answer": answer,
        "language": language,
        "passage_ids": chunk_ids,
        "used_chunk_ids": chunk_ids,
        "citations": [_stored(citation, resolution) for citation, resolution in cited],
        "coverage": coverage_of(answer, pair.coverage),
        "status": "drafted",
        "reason": FOUND_BY_SEARCH if is_searched else None,
        "detail": "it cites nothing: evidence is searched for in its batch" if is_searched else None,
    }


def _distinct(citations: Iterable[RawCitation]) -> list[RawCitation]:
    """Return the citations in order, without repeated references that have no quote of their own."""
    distinct: list[RawCitation] = []
    seen: set[tuple[Any, ...]] = set()
    for citation in citations:
        reference = (citation.reference or "").casefold().replace("source:", "").strip("[] ")
        key = (reference, citation.quote, citation.passage, citation.number)
        bare = (reference, None, None, None)
        if key not in seen and not (key == bare and any(entry[0] == reference for entry in seen)):
            distinct.append(citation)
            seen.add(key)
    return distinct


def _resolve(citation: RawCitation, sources: Sources, texts: "Texts") -> Resolution:
    if citation.reference:
        return sources.resolve(citation.reference)
    quoted = citation.passage or citation.quote
    if quoted is None:
        return Resolution("unknown_number" if citation.number else "unknown_document")
    chunk_id, document_id = texts.holder(quoted)
    if chunk_id is not None:
        return sources.chunk(chunk_id)
    return Resolution("unknown_document") if document_id is None else sources.resolve(document_id)


class _Languages:
    """The languages of a batch, of which a pair that names none is in one."""

    def __init__(self, documents: pl.DataFrame, chunks: pl.DataFrame) -> None:
        self._documents = dict(documents.select("document_id", "language").iter_rows())
        lengths: Counter[str] = Counter()
        for language, text in chunks.select("language", "text").iter_rows():
            lengths[language] += len(text) if language in LANGUAGES else 0
        self._of_batch = [language for language, length in lengths.most_common() if length]

    def of_cited(self, document_ids: Iterable[str]) -> str | None:
        """Return the language of the first cited document in a handled one."""
        return next((self._documents[i] for i in document_ids if self._documents.get(i) in LANGUAGES), None)

    def of_text(self, pair: RawPair) -> str:
        """Return the language of the question, else of the answer; the main one where the batch lacks it."""
        main = self._of_batch[0] if self._of_batch else "en"
        other = in_other_language(pair.question or pair.answer or "", main)
        return other if other in self._of_batch else main


class Texts:
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


def _folded(text: str) -> str:
    return fold(clean(text)).casefold()


def _stored(citation: RawCitation, resolution: Resolution) -> CitationStruct:
    return {
        "raw": citation.raw,
        "document_id": resolution.document_id,
        "chunk_id": resolution.chunk_ids[0] if len(resolution.chunk_ids) == 1 else None,
        "quote": citation.quote,
        "number": citation.number,
        "resolution": resolution.kind,
    }


def _identity(batch: str, pair: RawPair) -> str:
    if pair.reason:
        return hash_parts(batch, pair.file, pair.sha256)[:32]
    citations = [f"{citation.raw}\x1e{citation.quote}\x1e{citation.passage}" for citation in pair.citations]
    return hash_parts(batch, pair.question, pair.answer or "", *citations)[:32]


MaskTexts = Callable[[Sequence[str]], list[str]]
"""Masks texts that belong together: one may say what the number in another is."""
MaskReference = Callable[[str], str]
"""Masks what names a document, so that it still names the document whose path was masked."""

_TEXTS = ("question", "answer", "expected_kind", "expected_verdict", "detail", "id")
_LEAF = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|-?\d[\d.eE+-]*')
"""Texts and numbers of a JSON object, the names of its fields included: a number may be a telephone's."""


def mask_pairs(raw: Iterable[RawPair], texts: MaskTexts, reference: MaskReference) -> list[RawPair]:
    """Mask the texts, quotes and references of raw pairs; entries that failed hold none but their detail."""
    return [_masked(pair, texts, reference) for pair in raw]


def _masked(pair: RawPair, texts: MaskTexts, reference: MaskReference) -> RawPair:
    leaves = [str(json.loads(leaf)) for leaf in _LEAF.findall(pair.fields or "")]
    quotes = [text for citation in pair.citations for text in (citation.quote, citation.passage)]
    written = [getattr(pair, name) for name in _TEXTS]
    masked = iter(_mask_fields([*written, *quotes, *leaves], texts, reference))
    masked_texts: dict[str, Any] = {name: next(masked) for name in _TEXTS}
    cited = [_mask_citation(citation, next(masked), next(masked), reference) for citation in pair.citations]
    further = pair.fields and _LEAF.sub(lambda leaf: _leaf(leaf[0], next(masked)), pair.fields)
    return replace(pair, **masked_texts, file=reference(pair.file), citations=tuple(cited), fields=further)


def _leaf(leaf: str, masked: str | None) -> str:
    """Return a text or number of a JSON value, unchanged where nothing in it was masked."""
    return leaf if masked == str(json.loads(leaf)) else json.dumps(masked, ensure_ascii=False)


def _mask_citation(
    citation: RawCitation, quote: str | None, passage: str | None, reference: MaskReference
) -> RawCitation:
    """Return a masked citation; one without a reference was written as its passage or its quote."""
    if citation.reference is None:
        return replace(citation, raw=passage or quote or citation.raw, quote=quote, passage=passage)
    raw, name = reference(citation.raw), reference(citation.reference)
    return replace(citation, raw=raw, reference=name, quote=quote, passage=passage)


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
