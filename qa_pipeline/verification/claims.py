"""Answers become claims, each with its best evidence and every local score.

What belongs here: which texts a claim is compared with, choosing its evidence, and the rows of the claims
table. What does not: deciding what the scores mean (`deciding.py`). Every local step always runs and is
stored, also for a claim whose citation fails.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.llm.base import Notify, silent
from qa_pipeline.settings import VerificationSettings
from qa_pipeline.sources import Sources
from qa_pipeline.tables import CLAIMS
from qa_pipeline.verification.citations import ClaimCitations, cite_claims
from qa_pipeline.verification.consistency.comparing import Comparison, compare
from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.evidence import (
    Candidate,
    ChunkWords,
    best_by_words,
    candidates,
    verbatim_place,
)
from qa_pipeline.verification.similarity import ChunkVectors, Encoder, TextVectors
from qa_pipeline.verification.splitting import Claim, is_fragment, split_claims
from qa_pipeline.verification.words import content_stems, find_words, order_agreement, recall

Row = dict[str, Any]
_GROUP = 256
_ELSEWHERE = 20


@dataclass(frozen=True)
class _Batch:
    """What every pair of a batch is read against."""

    sources: Sources
    documents: Mapping[str, Row]
    chunks: Mapping[str, Row]
    texts: Mapping[str, str]
    words: ChunkWords


@dataclass(frozen=True)
class _Task:
    """One claim with everything it will be compared with."""

    pair: Row
    position: int
    claim: Claim
    citations: ClaimCitations
    fragment: bool
    pool: tuple[Candidate, ...]
    others: tuple[Candidate, ...]
    cited_documents: tuple[str, ...]

    @property
    def compared_text(self) -> str:
        """What is embedded: a fragment says nothing without its question."""
        return f"{self.pair['question']} {self.claim.text}" if self.fragment else self.claim.text

    @property
    def reading(self) -> Reading:
        """The claim, read."""
        return read(self.claim.text, self.pair["language"])


def find_claims(
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embedder: Encoder,
    settings: VerificationSettings,
    notify: Notify = silent,
    *,
    embeddings: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Split the answers of drafted pairs and score every claim against what it cites.

    Args:
        pairs: refusals (coverage none) and failed pairs have no claims.
        documents: the batch's documents; evidence offsets point into their text.
        chunks: the batch's chunks.
        embedder: embeds claims and pieces of evidence, in one call for a group of pairs.
        settings: sizes of the search; no threshold is applied here.
        notify: hears how many pairs are done.
        embeddings: vectors of chunks already computed, so that none is embedded twice.
    """
    batch = _batch(documents, chunks)
    vectors = ChunkVectors(embeddings, batch.texts, embedder)
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    rows: list[Row] = []
    done = 0
    for group in answered.iter_slices(_GROUP):
        tasks = [task for pair in group.iter_rows(named=True) for task in _tasks(pair, batch, settings)]
        texts = TextVectors(_texts(tasks), embedder)
        vectors.load(i for task in tasks for i in task.cited_documents)
        rows.extend(_row(task, batch, texts, vectors) for task in tasks)
        done += group.height
        notify(done, answered.height)
    return CLAIMS.frame(rows)


def _batch(documents: pl.DataFrame, chunks: pl.DataFrame) -> _Batch:
    rows = {row["chunk_id"]: row for row in chunks.iter_rows(named=True)}
    texts = {chunk_id: row["text"] for chunk_id, row in rows.items()}
    return _Batch(
        sources=Sources(documents, chunks),
        documents={row["document_id"]: row for row in documents.iter_rows(named=True)},
        chunks=rows,
        texts=texts,
        words=ChunkWords(texts, {chunk_id: row["language"] for chunk_id, row in rows.items()}),
    )


def _tasks(pair: Row, batch: _Batch, settings: VerificationSettings) -> Iterator[_Task]:
    claims = split_claims(pair["answer"], pair["language"])
    cited = cite_claims(pair, claims, batch.sources, batch.texts, settings.quote_repair)
    for position, (claim, citations) in enumerate(zip(claims, cited, strict=True)):
        terms = read(claim.text, pair["language"]).terms
        fragment = is_fragment(claim.text, len(set(terms)), settings.fragment_words)
        wanted = (*terms, *content_stems(pair["question"], pair["language"])) if fragment else terms
        pool = _pool(claim, citations, wanted, fragment, pair["language"], batch, settings)
        others = _others(pair, citations, wanted, batch, settings)
        documents = dict.fromkeys(batch.chunks[i]["document_id"] for i in citations.chunk_ids)
        yield _Task(
            pair=pair,
            position=position,
            claim=claim,
            citations=citations,
            fragment=fragment,
            pool=pool,
            others=others,
            cited_documents=tuple(i for document in documents for i in batch.sources.chunks_of(document)),
        )


def _pool(
    claim: Claim,
    citations: ClaimCitations,
    wanted: Sequence[str],
    fragment: bool,
    language: str,
    batch: _Batch,
    settings: VerificationSettings,
) -> tuple[Candidate, ...]:
    """Candidates worth embedding: the claim's own words and its quotes first, then by shared words."""
    texts = [(chunk_id, batch.texts[chunk_id]) for chunk_id in citations.chunk_ids]
    places = (None if fragment else verbatim_place(claim.text, *text, language) for text in texts)
    quoted = (
        Candidate(chunk_id, start, end, batch.texts[chunk_id][start:end])
        for chunk_id, start, end in citations.quotes
    )
    every = [one for i, text in texts for one in candidates(i, text, language, settings.window_sentences)]
    chosen = best_by_words(wanted, every, language, settings.candidates_per_claim)
    return tuple(dict.fromkeys([*(place for place in places if place), *quoted, *chosen]))


def _others(
    pair: Row,
    citations: ClaimCitations,
    wanted: Sequence[str],
    batch: _Batch,
    settings: VerificationSettings,
) -> tuple[Candidate, ...]:
    """The best candidates of passages that are not cited: the pair's, and those of the batch by words."""
    passages = [i for i in pair["passage_ids"] if i in batch.texts and i not in citations.chunk_ids]
    found = batch.words.best(wanted, settings.other_passages, without=(*citations.chunk_ids, *passages))
    ids = (*passages, *(chunk_id for chunk_id, _ in found))
    every = [
        one for i in ids for one in candidates(i, batch.texts[i], pair["language"], settings.window_sentences)
    ]
    return tuple(best_by_words(wanted, every, pair["language"], settings.other_passages))


def _texts(tasks: Sequence[_Task]) -> Iterator[str]:
    for task in tasks:
        yield task.compared_text
        for candidate in (*task.pool, *task.others):
            yield candidate.text


def _row(task: _Task, batch: _Batch, texts: TextVectors, vectors: ChunkVectors) -> Row:
    cosines = texts.cosines(task.compared_text, [one.text for one in task.pool])
    other_cosines = texts.cosines(task.compared_text, [one.text for one in task.others])
    terms = task.reading.terms
    vector = texts.of(task.compared_text)
    in_chunks = vectors.best(vector, task.citations.chunk_ids)
    return {
        **_identity(task),
        **_proof(task, batch, cosines),
        "citation_status": task.citations.status,
        "citation_reason": task.citations.reason,
        "similarity": max([*cosines, in_chunks]) if cosines and in_chunks is not None else in_chunks,
        "chunk_similarity": vectors.best(vector, task.cited_documents),
        "other_similarity": max(other_cosines, default=None),
        "other_recall": _best_recall(terms, task.others, task.pair["language"]),
    }


def _identity(task: _Task) -> Row:
    claim, pair_id = task.claim, task.pair["pair_id"]
    content = f"{pair_id}\x1f{claim.start}\x1f{claim.end}\x1f{claim.text}"
    return {
        "claim_id": hashlib.sha256(content.encode()).hexdigest()[:32],
        "pair_id": pair_id,
        "batch": task.pair["batch"],
        "position": task.position,
        "text": claim.text,
        "start": claim.start,
        "end": claim.end,
        "fragment": task.fragment,
    }


def _proof(task: _Task, batch: _Batch, cosines: Sequence[float]) -> Row:
    """The chosen evidence, and what its comparison with the claim says."""
    place = _choose(task, batch, cosines)
    if place is None:
        return {"verbatim": False, "number_conflicts": [], "name_conflicts": [], "polarity_conflicts": []}
    evidence = task.pool[place]
    chunk = batch.chunks[evidence.chunk_id]
    document = batch.documents[chunk["document_id"]]
    language = task.pair["language"]
    headings = _headings(chunk)
    around = [read(batch.texts[i], language) for i in _nearest_first(evidence.chunk_id, task)]
    found = compare(task.reading, read(evidence.text, language), read(headings, language), around)
    start = chunk["char_start"] + evidence.start
    return {
        **_scores(task, evidence, headings),
        **_findings(found),
        "evidence_sentences": evidence.sentences,
        "evidence_document_id": chunk["document_id"],
        "evidence_content_sha256": document["content_sha256"],
        "evidence_chunk_id": evidence.chunk_id,
        "evidence_start": start,
        "evidence_end": start + len(evidence.text),
        "evidence_page": _page(document["pages"], start),
        "evidence_quote": evidence.text,
    }


def _choose(task: _Task, batch: _Batch, cosines: Sequence[float]) -> int | None:
    """Place of the best candidate: half recall, half cosine, a little for being short.

    The claim's own words, where they stand in one piece, are always the evidence; for a fragment, which may
    stand in many places, the question's words decide as well.
    """
    language = task.pair["language"]
    terms = task.reading.terms
    asked = content_stems(task.pair["question"], language) if task.fragment else ()

    def score(place: int) -> tuple[float, int]:
        one = task.pool[place]
        held = read(one.text, language).terms
        around = (*held, *read(_headings(batch.chunks[one.chunk_id]), language).terms)
        exact = find_words(task.claim.text, one.text, language) is not None
        asked_share = recall(asked, around) or 0.0
        total = (
            (recall(terms, held) or 0.0) + cosines[place] + exact + asked_share - 0.1 * (one.sentences - 1)
        )
        return (round(total, 6), -place)

    return max(range(len(task.pool)), key=score, default=None)


def _scores(task: _Task, evidence: Candidate, headings: str) -> Row:
    language = task.pair["language"]
    held = read(evidence.text, language).terms
    above = read(headings, language).terms
    asked = content_stems(task.pair["question"], language)
    in_order = None if evidence.is_row else order_agreement(task.reading.terms, held)
    return {
        "verbatim": find_words(task.claim.text, evidence.text, language) is not None,
        "token_recall": recall(task.reading.terms, (*held, *above)),
        "context_recall": recall(task.reading.context, (*held, *above)),
        "order_agreement": in_order,
        "question_recall": recall(asked, (*held, *above, *task.reading.terms)),
    }


def _findings(found: Comparison) -> Row:
    return {
        "number_conflicts": list(found.numbers),
        "date_conflicts": list(found.dates),
        "name_conflicts": list(found.names),
        "polarity_conflicts": list(found.polarity),
        "quantifier_conflicts": list(found.quantifiers),
        "open_points": list(found.open_points),
    }


def _headings(chunk: Mapping[str, Any]) -> str:
    return "\n".join((chunk["title"], *chunk["section_path"]))


def _nearest_first(chunk_id: str, task: _Task) -> list[str]:
    """Chunks in which a missing number or name may stand: the evidence's own, then the others cited."""
    others = [i for i in task.citations.chunk_ids if i != chunk_id]
    return [chunk_id, *others][:_ELSEWHERE]


def _page(pages: Sequence[Mapping[str, int]], start: int) -> int | None:
    return next((page["number"] for page in pages if page["start"] <= start < page["end"]), None)


def _best_recall(terms: Sequence[str], pool: Sequence[Candidate], language: str) -> float | None:
    shares = [recall(terms, read(one.text, language).terms) or 0.0 for one in pool]
    return max(shares, default=None)
