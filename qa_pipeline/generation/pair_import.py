"""Import existing pairs into the pairs table and resolve their citations."""

from collections.abc import Iterable
from functools import cache, cached_property

import polars as pl

from qa_pipeline.generation.pair_entries import RawCitation, RawPair
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.row_files import unit_of
from qa_pipeline.storage.rows import PairColumns
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline.text.characters import clean, fold
from qa_pipeline.text.language import in_other_language
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.text.references import FOUND_BY_SEARCH, Resolution, Sources, mark_references
from qa_pipeline.text.refusals import coverage_of, is_refusal


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
        """Find the source that a citation names, else the source that contains its quoted words."""
        if citation.reference:
            return self._sources.resolve(citation.reference)
        quoted = citation.passage or citation.quote
        if quoted is None:
            return Resolution("unknown_number" if citation.number else "unknown_document")
        chunk_id, document_id = self._texts.holder(quoted)
        if chunk_id is not None:
            return self._sources.chunk(chunk_id)
        return Resolution("unknown_document") if document_id is None else self._sources.resolve(document_id)

    def language_of(self, pair: RawPair, cited: Iterable[Resolution]) -> str:
        """Return the language that a pair names, else that of its sources or of its text, if in the batch."""
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
    seen: dict[str, int] = {}
    rows: list[PairColumns] = []
    for pair in raw:
        identity = _identity(batch, pair)
        ordinal = seen[identity] = seen.get(identity, -1) + 1
        rows.append(
            {
                "pair_id": hash_parts(identity, ordinal or "")[:32],
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
    citations = [f"{citation.raw}\x1e{citation.quote}\x1e{citation.passage}" for citation in pair.citations]
    return hash_parts(batch, pair.question, pair.answer or "", *citations)[:32]


def _failed(pair: RawPair) -> PairColumns:
    return {
        "language": "en",
        "passage_ids": [],
        "used_chunk_ids": [],
        "citations": [],
        "status": "failed",
        "reason": pair.reason,
        "detail": f"{pair.file} {unit_of(pair.file)} {pair.line}: {pair.detail}",
    }


def _drafted(pair: RawPair, sources: Batch) -> PairColumns:
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
        key = (reference, citation.quote, citation.passage, citation.number)
        if reference in references and key[1:] == (None, None, None):
            continue
        references.add(reference)
        distinct.setdefault(key, citation)
    return list(distinct.values())
