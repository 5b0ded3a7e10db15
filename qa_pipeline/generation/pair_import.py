"""Import existing pairs into the pairs table and resolve their citations."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import polars as pl

from qa_pipeline.curation.decisions import EDITED, standing
from qa_pipeline.generation.pair_entries import RawCitation, RawPair
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.row_files import unit_of
from qa_pipeline.storage.table_schema import DecisionRow, DraftedPairRow, PairColumns, typed_rows
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline.text.language import in_other_language
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.text.references import (
    FOUND_BY_SEARCH,
    RESOLVED,
    SOURCE_MARK,
    Resolution,
    Sources,
    mark_references,
    marked_numbers,
)
from qa_pipeline.text.refusals import coverage_of, is_refusal
from qa_pipeline.text.words import clean, fold


class Texts:
    """The chunks and documents of a batch, to find the first that contains a passage."""

    def __init__(self, documents: pl.DataFrame, chunks: pl.DataFrame) -> None:
        self._documents, self._chunks = documents, chunks

    @cached_property
    def _folded(self) -> tuple[dict[str, str], dict[str, str]]:
        parsed = self._documents.filter(pl.col("status") == "parsed")
        chunks = self._chunks.select("chunk_id", "text").iter_rows()
        texts = parsed.select("document_id", "text").iter_rows()
        return {i: _folded(text) for i, text in chunks}, {i: _folded(text) for i, text in texts}

    @cache  # noqa: B019 - lives as long as one import, where many questions share a context
    def holder(self, passage: str) -> tuple[str | None, str | None]:
        """Return the first chunk and the first document that contain a passage, each None if missing."""
        folded = _folded(passage)
        chunk_id, document_id = (
            next((i for i, text in texts.items() if folded in text), None) for texts in self._folded
        )
        return chunk_id, document_id


def _folded(text: str) -> str:
    return fold(clean(text)).casefold()


class Batch:
    """The documents and chunks that pairs of a batch may cite, and their languages."""

    def __init__(self, documents: pl.DataFrame, chunks: pl.DataFrame) -> None:
        self._sources, self._texts = Sources(documents, chunks), Texts(documents, chunks)
        self._language_of = dict(documents.select("document_id", "language").iter_rows())
        lengths = chunks.group_by("language", maintain_order=True).agg(pl.col("text").str.len_chars().sum())
        written = lengths.filter(pl.col("language").is_in(list(LANGUAGES)), pl.col("text") > 0)
        self._languages = written.sort("text", descending=True, maintain_order=True)["language"].to_list()

    def resolve(self, citation: RawCitation) -> Resolution:
        """Find the source that a citation names, else the source that contains its quote."""
        if citation.reference:
            return self._sources.resolve(citation.reference)
        if citation.quote is None:
            return Resolution("unknown_number" if citation.number else "unknown_document")
        chunk_id, document_id = self._texts.holder(citation.quote)
        if chunk_id is not None:
            return self._sources.chunk(chunk_id)
        return Resolution("unknown_document") if document_id is None else self._sources.resolve(document_id)

    def language_of(self, pair: RawPair, cited: Iterable[Resolution]) -> str:
        """Return the language that a pair names, else of its sources, else of its text if in the batch."""
        owners = (self._language_of.get(resolution.document_id or "") for resolution in cited)
        for language in (pair.language, *owners):
            if language and language in LANGUAGES:
                return language
        main = self._languages[0] if self._languages else "en"
        other = in_other_language(pair.question or pair.answer or "", main)
        return other if other and other in self._languages else main


def import_pairs(
    raw: Iterable[RawPair], documents: pl.DataFrame, chunks: pl.DataFrame, batch: str
) -> pl.DataFrame:
    """Resolve the citations of raw pairs and return a row for each, including unusable pairs.

    A pair may cite in its `citations` field and inside its answer. The same reference counts once.
    """
    sources = Batch(documents, chunks)
    seen: Counter[str] = Counter()
    rows: list[PairColumns] = []
    for pair in raw:
        identity = _identity(batch, pair)
        repetition = seen[identity] or ""  # the first pair of equal pairs is hashed without a number
        seen[identity] += 1
        rows.append(
            {
                "pair_id": hash_parts(identity, repetition)[:32],
                "batch": batch,
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
                **(_failed(pair) if pair.reason else _drafted(pair, sources)),
            }
        )
    return PAIRS.frame(rows)


def _identity(batch: str, pair: RawPair) -> str:
    if pair.reason:
        return hash_parts(batch, pair.file, pair.sha256)[:32]
    # None was a field that is gone; ids must not change, since people's decisions refer to them
    citations = [f"{citation.raw}\x1e{citation.quote}\x1eNone" for citation in pair.citations]
    return hash_parts(batch, pair.question, pair.answer or "", *citations)[:32]


def _failed(pair: RawPair) -> PairColumns:
    return {
        "language": "en",  # the column needs a value
        "passage_ids": [],
        "used_chunk_ids": [],
        "citations": [],
        "status": "failed",
        "reason": pair.reason,
        "detail": f"{pair.file} {unit_of(pair.file)} {pair.line}: {pair.detail}",
    }


def _drafted(pair: RawPair, sources: Batch) -> PairColumns:
    """Return the columns of a usable pair, with its citations resolved."""
    answer = pair.answer or ""
    inside = [RawCitation(reference, reference) for reference in mark_references(answer)]
    cited = {citation: sources.resolve(citation) for citation in _distinct([*pair.citations, *inside])}
    language = sources.language_of(pair, cited.values())
    chunk_ids = list(dict.fromkeys(i for resolution in cited.values() for i in resolution.chunk_ids))
    is_searched = not cited and not is_refusal(answer)
    return {
        "language": language,
        "passage_ids": chunk_ids,
        "used_chunk_ids": chunk_ids,
        "citations": [
            {
                "raw": citation.raw,
                "document_id": resolution.document_id,
                "chunk_id": resolution.chunk_ids[0] if len(resolution.chunk_ids) == 1 else None,
                "quote": citation.quote,
                "number": citation.number,
                "resolution": resolution.kind,
            }
            for citation, resolution in cited.items()
        ],
        "coverage": coverage_of(answer, pair.coverage),
        "status": "drafted",
        "reason": FOUND_BY_SEARCH if is_searched else None,
        "detail": "it cites nothing: evidence is searched for in its batch" if is_searched else None,
    }


def _distinct(citations: Iterable[RawCitation]) -> list[RawCitation]:
    """Return the citations in order, without repeated references that lack a quote of their own."""
    distinct: dict[tuple[object, ...], RawCitation] = {}
    references = set[str]()
    for citation in citations:
        reference = (citation.reference or "").casefold().replace("source:", "").strip("[] ")
        key = (reference, citation.quote, citation.number)
        adds_nothing = citation.quote is None and citation.number is None
        if reference in references and adds_nothing:
            continue
        references.add(reference)
        distinct.setdefault(key, citation)
    return list(distinct.values())


MaskTexts = Callable[[Sequence[str]], list[str]]
"""Masks related texts together, because words in a text may explain a number in another."""
MaskReference = Callable[[str], str]
"""Masks a document reference, so that it still matches the document with the masked path."""

_TEXTS = ("question", "answer", "expected_kind", "expected_verdict", "detail", "id")
_LEAF = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|-?\d[\d.eE+-]*')
"""Texts, numbers and field names of a JSON object. A number may be a telephone number."""


def mask_pairs(raw: Iterable[RawPair], texts: MaskTexts, reference: MaskReference) -> list[RawPair]:
    """Mask the texts, quotes and references of raw pairs. Failed entries have only a detail."""
    return [_masked(pair, texts, reference) for pair in raw]


def _masked(pair: RawPair, texts: MaskTexts, reference: MaskReference) -> RawPair:
    """Mask all texts of a pair together, then take them in the same order: texts, quotes, further fields."""
    leaves = [str(json.loads(leaf)) for leaf in _LEAF.findall(pair.fields or "")]
    quotes = [citation.quote for citation in pair.citations]
    written = [getattr(pair, name) for name in _TEXTS]
    masked = iter(_mask_fields([*written, *quotes, *leaves], texts, reference))
    masked_texts: dict[str, Any] = {name: next(masked) for name in _TEXTS}
    cited = [_mask_citation(citation, next(masked), reference) for citation in pair.citations]
    further = pair.fields and _LEAF.sub(lambda leaf: _leaf(leaf[0], next(masked)), pair.fields)
    return replace(pair, **masked_texts, file=reference(pair.file), citations=tuple(cited), fields=further)


def _leaf(leaf: str, masked: str | None) -> str:
    """Return a text or number of a JSON value, unchanged if masking had no effect."""
    return leaf if masked == str(json.loads(leaf)) else json.dumps(masked, ensure_ascii=False)


def _mask_citation(citation: RawCitation, quote: str | None, reference: MaskReference) -> RawCitation:
    """Return a masked citation. Without a reference, its raw form is its quote."""
    if citation.reference is None:
        return replace(citation, raw=quote or citation.raw, quote=quote)
    return replace(
        citation, raw=reference(citation.raw), reference=reference(citation.reference), quote=quote
    )


def _mask_fields(
    fields: Sequence[str | None], texts: MaskTexts, reference: MaskReference
) -> Iterator[str | None]:
    """Yield all fields, masked together. Source marks in them are masked as references.

    In each list of parts, every second part is a mark: ["See ", "[source: a.md]", "."].
    """
    marks = [SOURCE_MARK.finditer(field or "") for field in fields]
    parts = [_parted(field or "", field_marks) for field, field_marks in zip(fields, marks, strict=True)]
    masked = iter(texts([segment for segments in parts for segment in segments[::2]]))
    for field, segments in zip(fields, parts, strict=True):
        segments[::2] = [next(masked) for _ in segments[::2]]
        segments[1::2] = map(reference, segments[1::2])
        yield None if field is None else "".join(segments)


def _parted(text: str, marks: Iterable[re.Match[str]]) -> list[str]:
    edges = [0, *(edge for mark in marks for edge in mark.span()), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def with_edited_pairs(
    pairs: pl.DataFrame, decisions: pl.DataFrame, documents: pl.DataFrame, chunks: pl.DataFrame, batch: str
) -> pl.DataFrame:
    """Add the pairs that people's edits create, including edits of edited pairs.

    Added rows have the origin "edited". If a pair has several decisions, the last counts. A new text cites
    the resolved sources of the old text, its own marks, and the person's evidence.
    """
    counting = standing(decisions).filter(pl.col("claim_id").is_null(), pl.col("decision") == EDITED)
    edits = {row["pair_id"]: row for row in typed_rows(counting, DecisionRow)}
    frames = [pairs]
    copied = ["question_type", "difficulty", *(name for name in pairs.columns if name.startswith("source_"))]
    while edits and pairs.height:  # each round edits the pairs that the round before added
        is_edited = pl.col("pair_id").is_in(list(edits))
        rows = list(typed_rows(pairs.filter(is_edited), DraftedPairRow))
        row_edits = [edits.pop(row["pair_id"]) for row in rows]
        lines = [_line(row, edit, documents, chunks) for row, edit in zip(rows, row_edits, strict=True)]
        pair_ids = [_edited_id(row, edit) for row, edit in zip(rows, row_edits, strict=True)]
        new = import_pairs(lines, documents, chunks, batch)
        pairs = new.with_columns(
            pl.Series("pair_id", pair_ids, pl.String()),
            pl.lit(EDITED).alias("origin"),
            *(pairs.filter(is_edited)[name] for name in copied),
        )
        frames.append(pairs)
    return pl.concat(frames)


def _edited_id(pair: DraftedPairRow, edit: DecisionRow) -> str:
    parts = {name: edit[name] for name in ("question", "evidence_quote", "evidence_document_id")}
    more = [f"{name}={value}" for name, value in parts.items() if value is not None]
    return hash_parts(EDITED, pair["pair_id"], edit["answer"] or pair["answer"], *more)[:32]


def _line(pair: DraftedPairRow, edit: DecisionRow, documents: pl.DataFrame, chunks: pl.DataFrame) -> RawPair:
    """Return an edited pair as an entry of a pairs file, with the citations that apply to its new text."""
    answer = edit["answer"] or pair["answer"]
    cited = [citation for citation in pair["citations"] if citation["resolution"] in RESOLVED]
    citations = []
    for citation in cited:
        # a section is named as written, since its document alone would cite too much
        name = citation["raw"] if citation["resolution"] == "section" else citation["document_id"]
        reference = citation["chunk_id"] or name
        citations.append(RawCitation(citation["raw"] or "", reference, number=citation["number"]))
    citations = citations or [RawCitation(chunk_id, chunk_id) for chunk_id in pair["used_chunk_ids"]]
    if edit["evidence_quote"] is not None:
        citations.append(_evidence(edit["evidence_quote"], edit["evidence_document_id"], documents, chunks))
    missing = set(marked_numbers(answer)) - {citation["number"] for citation in cited}
    return RawPair(
        file=f"person:{edit['who']}",
        line=edit["sequence"],
        sha256=edit["decision_id"],
        question=edit["question"] or pair["question"],
        answer=answer,
        language=pair["language"],
        citations=(*citations, *(RawCitation(f"[{n}]", number=n) for n in sorted(missing))),
    )


def _evidence(
    quote: str, document_id: str | None, documents: pl.DataFrame, chunks: pl.DataFrame
) -> RawCitation:
    """Cite the evidence that a person gave by the chunk of their document, else by the whole document."""
    if document_id is None:
        return RawCitation(quote, quote=quote)
    of_document = chunks.filter(pl.col("document_id") == document_id)
    chunk_id, _ = Texts(documents.clear(), of_document).holder(quote)
    return RawCitation(quote, chunk_id or document_id, quote=quote)
