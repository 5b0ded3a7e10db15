"""Answers become claims, each with its best evidence and every local score.

Every local step always runs and is stored, also for a claim whose citation fails. No threshold is applied
here: what the scores mean is `deciding.py`.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.records import Notify, silent
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.tables import CLAIMS
from qa_pipeline.text.injection import blank_orders
from qa_pipeline.text.references import FOUND_BY_SEARCH, Sources
from qa_pipeline.text.words import content_stems, recall
from qa_pipeline.verification.citations import ClaimCitations, QuoteCheck, cite_claims
from qa_pipeline.verification.combined import load_model, with_combined
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.evidence import (
    Candidate,
    ChunkVectors,
    ChunkWords,
    Encoder,
    TextVectors,
    best_by_words,
    candidates,
    verbatim_place,
    whole_sentences,
)
from qa_pipeline.verification.evidence_choice import Batch, Task, prove
from qa_pipeline.verification.pronouns import self_contained
from qa_pipeline.verification.splitting import Claim, is_fragment, split_claims

Row = dict[str, Any]
_GROUP = 1024
_MOST_CANDIDATE_CHUNKS = 16
_SEARCHED_CHUNKS = 8


def find_claims(
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embedder: Encoder,
    settings: VerificationSettings,
    notify: Notify = silent,
    *,
    embeddings: pl.DataFrame | None = None,
    finer: Mapping[str, Sequence[Claim]] | None = None,
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
        finer: claims by pair, where a model cut the answer; the others are cut by the rules.

    Raises:
        SettingsError: the file of verification.combined_model cannot be used, or the embedding model gives
            vectors without a direction.
    """
    combined = load_model(settings.combined_model)
    batch = _batch(documents, chunks)
    vectors = ChunkVectors(embeddings, batch.texts, embedder)
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    rows: list[Row] = []
    done = 0
    for group in answered.iter_slices(_GROUP):
        rows_of = group.iter_rows(named=True)
        tasks = [task for pair in rows_of for task in _tasks(pair, batch, settings, finer or {})]
        lacking = vectors.lacking(i for task in tasks for i in task.cited_documents)
        texts = TextVectors([*_texts(tasks), *(batch.texts[i] for i in lacking)], embedder)
        vectors.take(lacking, texts)
        rows.extend(_row(task, batch, texts, vectors, settings) for task in tasks)
        done += group.height
        notify(done, answered.height)
    claims = CLAIMS.frame(rows)
    return with_combined(claims, combined, embedder.model, embedder.revision, settings.longest_claim)


def _batch(documents: pl.DataFrame, chunks: pl.DataFrame) -> Batch:
    rows = {row["chunk_id"]: row for row in chunks.iter_rows(named=True)}
    # an order to the checker proves nothing, whatever words it shares with a claim
    texts = {chunk_id: blank_orders(row["text"], row["language"]) for chunk_id, row in rows.items()}
    return Batch(
        sources=Sources(documents, chunks),
        documents={row["document_id"]: row for row in documents.iter_rows(named=True)},
        chunks=rows,
        texts=texts,
        words=ChunkWords(texts, {chunk_id: row["language"] for chunk_id, row in rows.items()}),
    )


def _tasks(
    pair: Row, batch: Batch, settings: VerificationSettings, finer: Mapping[str, Sequence[Claim]]
) -> Iterator[Task]:
    claims = finer.get(pair["pair_id"]) or split_claims(
        pair["answer"], pair["language"], settings.most_claims
    )
    claims = self_contained(claims, pair["question"], pair["language"])
    cited = cite_claims(pair, claims, batch.sources, batch.texts, settings.quote_repair)
    for position, (claim, given) in enumerate(zip(claims, cited, strict=True)):
        terms = read(claim.self_contained or claim.text, pair["language"]).terms
        fragment = is_fragment(claim.text, len(set(terms)), settings.fragment_words)
        wanted = (*terms, *content_stems(pair["question"], pair["language"])) if fragment else terms
        citations = _searched(pair, given, wanted, batch)
        pool = _pool(claim, citations, wanted, fragment, pair["language"], batch, settings)
        others = _others(pair, citations, wanted, batch, settings)
        documents = dict.fromkeys(batch.chunks[i]["document_id"] for i in citations.chunk_ids)
        yield Task(
            pair=pair,
            position=position,
            claim=claim,
            citations=citations,
            fragment=fragment,
            pool=pool,
            others=others,
            cited_documents=tuple(i for document in documents for i in batch.sources.chunks_of(document)),
        )


def _searched(pair: Row, citations: ClaimCitations, wanted: Sequence[str], batch: Batch) -> ClaimCitations:
    """The passages of the batch that hold most words of a claim, where its pair came without any citation.

    A pair that was drafted here was told to cite, and stays uncited.
    """
    if citations.status != "uncited" or pair["citations"] or pair["origin"] == "generated":
        return citations
    found = tuple(chunk_id for chunk_id, _ in batch.words.best(wanted, _SEARCHED_CHUNKS))
    return ClaimCitations(FOUND_BY_SEARCH, None, found)


def _pool(
    claim: Claim,
    citations: ClaimCitations,
    wanted: Sequence[str],
    fragment: bool,
    language: str,
    batch: Batch,
    settings: VerificationSettings,
) -> tuple[Candidate, ...]:
    """Candidates worth embedding: the claim's own words and its quotes first, then by shared words."""
    texts = [(chunk_id, batch.texts[chunk_id]) for chunk_id in citations.chunk_ids]
    places = (None if fragment else verbatim_place(claim.text, *text, language) for text in texts)
    quoted = (
        whole_sentences(chunk_id, batch.texts[chunk_id], (start, end), language)
        for chunk_id, start, end in citations.quotes
    )
    every = [one for i, text in texts for one in candidates(i, text, language, settings.window_sentences)]
    chosen = best_by_words(wanted, every, language, settings.candidates_per_claim)
    return batch.verbatim([*(place for place in places if place), *quoted, *chosen])


def _others(
    pair: Row,
    citations: ClaimCitations,
    wanted: Sequence[str],
    batch: Batch,
    settings: VerificationSettings,
) -> tuple[Candidate, ...]:
    """The best candidates of passages that are not cited: the pair's, and those of the batch by words."""
    passages = [i for i in pair["passage_ids"] if i in batch.texts and i not in citations.chunk_ids]
    found = batch.words.best(wanted, settings.other_passages, without=(*citations.chunk_ids, *passages))
    ids = (*passages, *(chunk_id for chunk_id, _ in found))
    every = [
        one for i in ids for one in candidates(i, batch.texts[i], pair["language"], settings.window_sentences)
    ]
    return batch.verbatim(best_by_words(wanted, every, pair["language"], settings.other_passages))


def _texts(tasks: Sequence[Task]) -> Iterator[str]:
    for task in tasks:
        yield task.compared_text
        for candidate in (*task.pool, *task.others):
            yield candidate.text


def _row(
    task: Task, batch: Batch, texts: TextVectors, vectors: ChunkVectors, settings: VerificationSettings
) -> Row:
    cosines = texts.cosines(task.compared_text, [one.text for one in task.pool])
    other_cosines = texts.cosines(task.compared_text, [one.text for one in task.others])
    terms = task.terms
    vector = texts.of(task.compared_text)
    in_chunks = vectors.best(vector, task.citations.chunk_ids)
    return {
        **_identity(task),
        **prove(task, batch, cosines, settings),
        "citation_status": task.citations.status,
        "citation_reason": task.citations.reason,
        "similarity": max([*cosines, in_chunks]) if cosines and in_chunks is not None else in_chunks,
        "chunk_similarity": vectors.best(vector, task.cited_documents),
        **best_elsewhere(terms, task.others, other_cosines, task.pair["language"]),
        "quotes": quote_rows(task.citations, batch.chunks),
        "candidate_chunk_ids": _candidate_chunks(task),
    }


def _candidate_chunks(task: Task) -> list[str]:
    """Cited chunks in the order of their best candidates, then those without any."""
    ids = dict.fromkeys([*(one.chunk_id for one in task.pool), *task.citations.chunk_ids])
    return list(ids)[:_MOST_CANDIDATE_CHUNKS]


def _identity(task: Task) -> Row:
    claim, pair_id = task.claim, task.pair["pair_id"]
    own = "" if claim.self_contained is None else f"\x1f{claim.self_contained}"
    content = f"{pair_id}\x1f{claim.start}\x1f{claim.end}\x1f{claim.text}{own}"
    return {
        "claim_id": hashlib.sha256(content.encode()).hexdigest()[:32],
        "pair_id": pair_id,
        "batch": task.pair["batch"],
        "position": task.position,
        "text": claim.text,
        "self_contained": claim.self_contained,
        "split_by": claim.split_by,
        "split_reason": claim.split_reason,
        "start": claim.start,
        "end": claim.end,
        "fragment": task.fragment,
    }


def best_elsewhere(
    terms: Sequence[str], others: Sequence[Candidate], cosines: Sequence[float], language: str
) -> Row:
    """The columns other_similarity, other_recall and other_chunk_id.

    The passage is the one that holds most of the claim's terms, the first of equals: the pair's own passages
    stand before those of the batch.

    Args:
        terms: the claim's.
        others: pieces of passages that are not cited.
        cosines: of the claim to each of them.
        language: the pair's.
    """
    shares = [recall(terms, read(one.text, language).terms) or 0.0 for one in others]
    best = max(range(len(others)), key=lambda place: (shares[place], -place), default=None)
    return {
        "other_similarity": max(cosines, default=None),
        "other_recall": None if best is None else shares[best],
        "other_chunk_id": None if best is None else others[best].chunk_id,
    }


def quote_rows(citations: ClaimCitations, chunks: Mapping[str, Row]) -> list[Row]:
    """The column quotes: offsets point into the document's text."""
    return [_quote_row(check, chunks) for check in citations.checks]


def _quote_row(check: QuoteCheck, chunks: Mapping[str, Row]) -> Row:
    row: Row = {"given": check.given, "kind": check.kind}
    if check.chunk_id is None or check.start is None or check.end is None:
        return row
    chunk = chunks[check.chunk_id]
    return {
        **row,
        "found": chunk["text"][check.start : check.end],
        "document_id": chunk["document_id"],
        "chunk_id": check.chunk_id,
        "start": chunk["char_start"] + check.start,
        "end": chunk["char_start"] + check.end,
    }
