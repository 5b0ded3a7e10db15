"""Answers become claims, each with its best evidence and every local score.

Every local step always runs and is stored, also for a claim whose citation fails. No threshold is applied
here: what the scores mean is `deciding.py`.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.tables import CLAIMS
from qa_pipeline.text.words import recall
from qa_pipeline.verification.citations import QuoteCheck, cite_claims
from qa_pipeline.verification.combined import load_model, with_combined
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.evidence import Batch, ChunkVectors, Encoder, TextVectors
from qa_pipeline.verification.evidence_choice import Task, evidence_columns
from qa_pipeline.verification.pronouns import self_contained
from qa_pipeline.verification.splitting import Claim, is_fragment, split_claims

Row = dict[str, Any]
_GROUP = 1024
_MOST_CANDIDATE_CHUNKS = 16


def find_claims(
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embedder: Encoder,
    settings: VerificationSettings,
    notify: ProgressCallback = no_progress,
    *,
    embeddings: pl.DataFrame | None = None,
    model_claims: Mapping[str, Sequence[Claim]] | None = None,
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
        model_claims: claims by pair, where a model cut the answer; the others are cut by the rules.

    Raises:
        SettingsError: the file of verification.combined_model cannot be used, or the embedding model gives
            vectors without a direction.
    """
    combined = load_model(settings.combined_model)
    batch = Batch.of(documents, chunks)
    vectors = ChunkVectors(embeddings, batch.texts, embedder)
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    rows: list[Row] = []
    done = 0
    for group in answered.iter_slices(_GROUP):
        rows_of = group.iter_rows(named=True)
        tasks = [task for pair in rows_of for task in _tasks(pair, batch, settings, model_claims or {})]
        lacking = vectors.lacking(i for task in tasks for i in task.cited_documents)
        texts = TextVectors([*_texts(tasks), *(batch.texts[i] for i in lacking)], embedder)
        vectors.take(lacking, texts)
        rows.extend(_row(task, batch, texts, vectors) for task in tasks)
        done += group.height
        notify(done, answered.height)
    claims = CLAIMS.frame(rows)
    return with_combined(claims, combined, embedder.model, embedder.revision)


def _tasks(
    pair: Row, batch: Batch, settings: VerificationSettings, model_claims: Mapping[str, Sequence[Claim]]
) -> Iterator[Task]:
    language = pair["language"]
    claims = model_claims.get(pair["pair_id"]) or split_claims(pair["answer"], language)
    claims = self_contained(claims, pair["question"], language)
    cited = cite_claims(pair, claims, batch.sources, batch.texts)
    question = read(pair["question"] or "", language)
    for position, (claim, given) in enumerate(zip(claims, cited, strict=True)):
        reading = read(claim.text, language)
        stated = reading if claim.self_contained is None else read(claim.self_contained, language)
        fragment = is_fragment(claim.text, len(stated.term_set))
        wanted = (*stated.terms, *question.stems) if fragment else stated.terms
        citations = batch.searched(pair, given, wanted)
        with_question = fragment and claim.self_contained is None
        yield Task(
            pair=pair,
            position=position,
            claim=claim,
            reading=reading,
            stated=stated,
            question=question,
            citations=citations,
            fragment=fragment,
            compared_text=f"{pair['question']} {claim.text}" if with_question else stated.written,
            pool=batch.pool(reading, citations, wanted, fragment=fragment),
            others=batch.others(pair, citations, wanted, settings.other_passages),
            cited_documents=batch.documents_of(citations),
        )


def _texts(tasks: Sequence[Task]) -> Iterator[str]:
    for task in tasks:
        yield task.compared_text
        for candidate in (*task.pool, *task.others):
            yield candidate.text


def _row(task: Task, batch: Batch, texts: TextVectors, vectors: ChunkVectors) -> Row:
    identity = _identity(task)
    cosines = texts.cosines(task.compared_text, [one.text for one in task.pool])
    vector = texts.of(task.compared_text)
    in_chunks = vectors.best(vector, task.citations.chunk_ids)
    return {
        **identity,
        **evidence_columns(task, batch, cosines),
        "citation_status": task.citations.status,
        "citation_reason": task.citations.reason,
        "similarity": max([*cosines, in_chunks]) if cosines and in_chunks is not None else in_chunks,
        "chunk_similarity": vectors.best(vector, task.cited_documents),
        **_best_elsewhere(task, texts),
        "quotes": [_quote_row(check, batch) for check in task.citations.checks],
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


def _best_elsewhere(task: Task, texts: TextVectors) -> Row:
    """What a passage that is not cited holds of the claim: whether it should have been.

    The passage is the one that holds most of the claim's terms, the first of equals: the pair's own passages
    stand before those of the batch.
    """
    cosines = texts.cosines(task.compared_text, [one.text for one in task.others])
    shares = [recall(task.stated.terms, one.reading.term_set) or 0.0 for one in task.others]
    best = max(range(len(shares)), key=lambda place: (shares[place], -place), default=None)
    return {
        "uncited_similarity": max(cosines, default=None),
        "uncited_recall": None if best is None else shares[best],
        "uncited_chunk_id": None if best is None else task.others[best].chunk_id,
    }


def _quote_row(check: QuoteCheck, batch: Batch) -> Row:
    """A quote in the column quotes: offsets point into the document's text."""
    row: Row = {"given": check.given, "kind": check.kind}
    if check.chunk_id is None or check.start is None or check.end is None:
        return row
    chunk = batch.chunks[check.chunk_id]
    return {
        **row,
        "found": chunk["text"][check.start : check.end],
        "document_id": chunk["document_id"],
        "chunk_id": check.chunk_id,
        "start": chunk["char_start"] + check.start,
        "end": chunk["char_start"] + check.end,
    }
