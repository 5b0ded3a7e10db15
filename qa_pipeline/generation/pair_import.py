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


class BatchSources:
    """The documents and chunks that pairs of a batch may cite, and their languages."""

    def __init__(self, documents: pl.DataFrame, chunks: pl.DataFrame) -> None:
        self._sources, self._texts = Sources(documents, chunks), Texts(documents, chunks)
        self._language_of = dict(documents.select("document_id", "language").iter_rows())
        lengths = chunks.group_by("language", maintain_order=True).agg(pl.col("text").str.len_chars().sum())
        supported = lengths.filter(pl.col("language").is_in(list(LANGUAGES)), pl.col("text") > 0)
        # the language with most characters first
        self._languages = supported.sort("text", descending=True, maintain_order=True)["language"].to_list()

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
        """Return the language that a pair names, else that of its sources, else that of its text.

        Only languages with a lexicon count. The language of a text must occur in the batch.
        """
        source_languages = (self._language_of.get(resolution.document_id or "") for resolution in cited)
        for language in (pair.language, *source_languages):
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
    sources = BatchSources(documents, chunks)
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
    """Return a hash of question, answer and citations, or of the bytes of an unusable pair."""
    if pair.reason:
        return hash_parts(batch, pair.file, pair.sha256)[:32]
    # None was a field that is gone; ids must not change, since people's decisions refer to them
    citations = [f"{citation.raw}\x1e{citation.quote}\x1eNone" for citation in pair.citations]
    return hash_parts(batch, pair.question, pair.answer or "", *citations)[:32]


def _failed(pair: RawPair) -> PairColumns:
    """Return the columns of an unusable pair."""
    return {
        "language": "en",  # the column needs a value
        "passage_ids": [],
        "used_chunk_ids": [],
        "citations": [],
        "status": "failed",
        "reason": pair.reason,
        "detail": f"{pair.file} {unit_of(pair.file)} {pair.line}: {pair.detail}",
    }


def _drafted(pair: RawPair, sources: BatchSources) -> PairColumns:
    """Return the columns of a usable pair, with its citations resolved."""
    answer = pair.answer or ""
    marked = [RawCitation(raw=reference, reference=reference) for reference in mark_references(answer)]
    cited = {citation: sources.resolve(citation) for citation in _distinct([*pair.citations, *marked])}
    chunk_ids = list(dict.fromkeys(i for resolution in cited.values() for i in resolution.chunk_ids))
    is_searched = not cited and not is_refusal(answer)
    return {
        "language": sources.language_of(pair, cited.values()),
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
    """Return the citations in order; a repeated reference is kept only with a new quote or number."""
    distinct: dict[tuple[str, str | None, int | None], RawCitation] = {}
    references = set[str]()
    for citation in citations:
        # "[Source: Guide.md]" and "guide.md" are the same reference
        reference = (citation.reference or "").casefold().replace("source:", "").strip("[] ")
        is_reference_only = citation.quote is None and citation.number is None
        if not (is_reference_only and reference in references):
            references.add(reference)
            distinct.setdefault((reference, citation.quote, citation.number), citation)
    return list(distinct.values())


MaskTexts = Callable[[Sequence[str]], list[str]]
"""Masks related texts together, because words in a text may explain a number in another."""
MaskReference = Callable[[str], str]
"""Masks a document reference, so that it still matches the document with the masked path."""
_TEXTS = ("question", "answer", "expected_kind", "expected_verdict", "detail", "id")
_LEAF = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|-?\d[\d.eE+-]*')  # \Z: linear even if a quote stays open
"""Field names, texts and numbers of a JSON object: "tel" and 4670123 in {"tel": 4670123}."""


def mask_pairs(raw: Iterable[RawPair], mask_texts: MaskTexts, mask_reference: MaskReference) -> list[RawPair]:
    """Mask the texts, quotes and references of raw pairs. Failed entries have only a detail."""
    return [_masked(pair, mask_texts, mask_reference) for pair in raw]


def _masked(pair: RawPair, mask_texts: MaskTexts, mask_reference: MaskReference) -> RawPair:
    """Mask the texts of a pair together: its own, then quotes, then the leaves of its further fields."""
    texts = [getattr(pair, name) for name in _TEXTS]
    quotes = [citation.quote for citation in pair.citations]
    # {"tel": 4670123} has the leaves "tel" and "4670123", and may become {"tel": "[phone]"}
    leaves = [str(json.loads(leaf)) for leaf in _LEAF.findall(pair.fields or "")]
    # an iterator, from which the next three statements take the masked texts, quotes and leaves
    masked = _mask_fields([*texts, *quotes, *leaves], mask_texts, mask_reference)
    masked_texts: dict[str, Any] = {name: next(masked) for name in _TEXTS}
    citations = tuple(_mask_citation(citation, next(masked), mask_reference) for citation in pair.citations)
    fields = pair.fields and _LEAF.sub(lambda leaf: _masked_leaf(leaf[0], next(masked)), pair.fields)
    return replace(pair, **masked_texts, file=mask_reference(pair.file), citations=citations, fields=fields)


def _masked_leaf(leaf: str, masked: str | None) -> str:
    """Return a masked text as JSON, or the leaf as written if masking had no effect."""
    return leaf if masked == str(json.loads(leaf)) else json.dumps(masked, ensure_ascii=False)


def _mask_citation(citation: RawCitation, quote: str | None, mask_reference: MaskReference) -> RawCitation:
    """Return a masked citation with its masked quote. Without a reference, its raw form is its quote."""
    if citation.reference is None:
        return replace(citation, raw=quote or citation.raw, quote=quote)
    raw, reference = mask_reference(citation.raw), mask_reference(citation.reference)
    return replace(citation, raw=raw, reference=reference, quote=quote)


def _mask_fields(
    fields: Sequence[str | None], mask_texts: MaskTexts, mask_reference: MaskReference
) -> Iterator[str | None]:
    """Yield all fields, masked together. Source marks in them are masked as references."""
    parts_by_field = [_split_at_marks(field or "") for field in fields]
    masked = iter(mask_texts([text for parts in parts_by_field for text in parts[::2]]))
    for field, parts in zip(fields, parts_by_field, strict=True):
        parts[::2] = [next(masked) for _ in parts[::2]]
        parts[1::2] = map(mask_reference, parts[1::2])
        yield None if field is None else "".join(parts)


def _split_at_marks(text: str) -> list[str]:
    """Split a text into texts and source marks by turns: ["See ", "[source: a.md]", "."]."""
    edges = [0, *(edge for mark in SOURCE_MARK.finditer(text) for edge in mark.span()), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def with_edited_pairs(
    pairs: pl.DataFrame, decisions: pl.DataFrame, documents: pl.DataFrame, chunks: pl.DataFrame, batch: str
) -> pl.DataFrame:
    """Add the pairs that people's edits create, including edits of edited pairs.

    Added rows have the origin "edited". If a pair has several decisions, the last counts. A new text cites
    the resolved sources of the old text, its own marks, and the person's evidence.
    """
    last_edits = standing(decisions).filter(pl.col("claim_id").is_null(), pl.col("decision") == EDITED)
    edits = {row["pair_id"]: row for row in typed_rows(last_edits, DecisionRow)}
    frames = [pairs]  # the given pairs, then the pairs that each round adds
    copied = ["question_type", "difficulty", *(name for name in pairs.columns if name.startswith("source_"))]
    while edits and frames[-1].height:  # each round edits the pairs that the round before added
        edited = frames[-1].filter(pl.col("pair_id").is_in(list(edits)))
        rows = list(typed_rows(edited, DraftedPairRow))
        row_edits = [edits.pop(row["pair_id"]) for row in rows]
        raw = [_edited_entry(row, edit, documents, chunks) for row, edit in zip(rows, row_edits, strict=True)]
        pair_ids = [_edited_id(row, edit) for row, edit in zip(rows, row_edits, strict=True)]
        added = import_pairs(raw, documents, chunks, batch).with_columns(
            pl.Series("pair_id", pair_ids, pl.String()),
            pl.lit(EDITED).alias("origin"),
            *(edited[name] for name in copied),
        )
        frames.append(added)
    return pl.concat(frames)


def _edited_id(pair: DraftedPairRow, edit: DecisionRow) -> str:
    """Return a hash of the old pair and its new texts."""
    parts = {name: edit[name] for name in ("question", "evidence_quote", "evidence_document_id")}
    more = [f"{name}={value}" for name, value in parts.items() if value is not None]
    return hash_parts(EDITED, pair["pair_id"], edit["answer"] or pair["answer"], *more)[:32]


def _edited_entry(
    pair: DraftedPairRow, edit: DecisionRow, documents: pl.DataFrame, chunks: pl.DataFrame
) -> RawPair:
    """Return an edited pair as an entry of a pairs file, with the citations that apply to its new text."""
    answer = edit["answer"] or pair["answer"]
    resolved = [citation for citation in pair["citations"] if citation["resolution"] in RESOLVED]
    citations = []
    for citation in resolved:
        reference: str | None
        if citation["chunk_id"]:  # the source has a single chunk
            reference = citation["chunk_id"]
        elif citation["resolution"] == "section":  # "guide.md#Setup"; the whole document would cite too much
            reference = citation["raw"]
        else:  # a document, also if its named section was not found
            reference = citation["document_id"]
        citations.append(RawCitation(citation["raw"] or "", reference, number=citation["number"]))
    if not citations:  # then the passages of the old answer are cited
        citations = [RawCitation(chunk_id, chunk_id) for chunk_id in pair["used_chunk_ids"]]
    if edit["evidence_quote"] is not None:
        citations.append(_evidence(edit["evidence_quote"], edit["evidence_document_id"], documents, chunks))
    # numbers of the answer without a resolved citation, new or old, become citations without a source
    unresolved = set(marked_numbers(answer)) - {citation["number"] for citation in resolved}
    return RawPair(
        file=f"person:{edit['who']}",
        line=edit["sequence"],
        sha256=edit["decision_id"],  # there are no bytes to hash
        question=edit["question"] or pair["question"],
        answer=answer,
        language=pair["language"],
        citations=(*citations, *(RawCitation(f"[{n}]", number=n) for n in sorted(unresolved))),
    )


def _evidence(
    quote: str, document_id: str | None, documents: pl.DataFrame, chunks: pl.DataFrame
) -> RawCitation:
    """Cite a quote by its chunk in a document, else by the document; by the quote if no document is given."""
    if document_id is None:
        return RawCitation(quote, quote=quote)
    of_document = chunks.filter(pl.col("document_id") == document_id)
    chunk_id, _ = Texts(documents.clear(), of_document).holder(quote)  # cleared: only chunks are searched
    return RawCitation(quote, chunk_id or document_id, quote=quote)
