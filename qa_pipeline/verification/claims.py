"""Answers become claims, each with its best evidence and every local score.

Every local step always runs and is stored, also for a claim whose citation fails. No threshold is applied
here: what the scores mean is `deciding.py`.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from qa_pipeline.models.base import Encoder
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.rows import DraftedPairRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CLAIMS
from qa_pipeline.text.words import recall
from qa_pipeline.verification.citations import ClaimCitations, QuoteCheck, cite_claims
from qa_pipeline.verification.consistency.proof import Proof, prove
from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.context import label_of, restrictions, surroundings
from qa_pipeline.verification.evidence import Batch, Candidate, ChunkVectors, TextVectors
from qa_pipeline.verification.pronouns import self_contained
from qa_pipeline.verification.splitting import Claim, is_fragment, split_claims

Row = dict[str, Any]
_GROUP = 1024
_MOST_CANDIDATE_CHUNKS = 16
_ELSEWHERE = 20
_TRIED = 4
"""Candidates held against the claim: the best by words may lack what the next one says."""
_WORTH_TRYING = 0.5
"""Share of the claim's words that a piece needs beside the best one to be held against it."""
_OTHERS = 3
"""Pieces of passages that are not cited, held against a claim that the cited ones do not prove."""
ENOUGH_ALONE = 0.80
"""Share of a claim's words from which one passage is looked at alone."""
GAIN = 0.20
"""Share of the claim's words that a second passage must add, or it is there by chance."""


@dataclass(slots=True)
class _Task:
    """A claim, read once, with everything it will be compared with.

    `stated` is the reading of the claim as it is understood alone: what evidence must hold of it, the words
    that replace its pronouns included. `compared_text` is what is embedded: the same text, or a fragment
    with its question.
    """

    pair: DraftedPairRow
    position: int
    claim: Claim
    reading: Reading
    stated: Reading
    question: Reading
    answer: Reading
    to_the_question: bool
    citations: ClaimCitations
    fragment: bool
    compared_text: str
    pool: tuple[Candidate, ...]
    cited_documents: tuple[str, ...]
    proof: Proof | None = None
    """That of the only candidate, where the claim stands in it word for word and is proved."""


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
    one_corpus: bool = True,
    to_the_question: bool = True,
) -> pl.DataFrame:
    """Split the answers of drafted pairs and score every claim against what it cites.

    Args:
        pairs: refusals (coverage none) and failed pairs have no claims.
        documents: the batch's documents; evidence offsets point into their text.
        chunks: the batch's chunks.
        embedder: embeds claims and pieces of evidence, in one call for a group of pairs.
        settings: sizes of the search; no threshold is applied here.
        notify: called with how many pairs are done.
        embeddings: vectors of chunks already computed, so that none is embedded twice.
        model_claims: claims by pair, where a model cut the answer; the others are cut by the rules.
        one_corpus: whether a passage that another pair cites may show that a citation is wrong.
        to_the_question: whether evidence must speak of what was asked; that of a fragment always must,
            unless it is all of the evidence.

    Raises:
        SettingsError: the embedding model gives vectors without a direction.
    """
    batch = Batch.of(documents, chunks, one_corpus)
    vectors = ChunkVectors(embeddings, batch.texts, embedder)
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    rows: list[Row] = []
    done = 0
    for group in answered.iter_slices(_GROUP):
        tasks = [
            task
            for pair in typed_rows(group, DraftedPairRow)
            for task in _tasks(pair, batch, model_claims or {}, to_the_question)
        ]
        vectors.load(i for task in tasks for i in task.cited_documents)
        texts = TextVectors(
            (
                text
                for task in tasks
                for text in (task.compared_text, *(candidate.text for candidate in task.pool))
            ),
            embedder,
        )
        rows.extend(_row(task, batch, texts, vectors) for task in tasks)
        done += group.height
        notify(done, answered.height)
    return CLAIMS.frame(rows)


def _tasks(
    pair: DraftedPairRow, batch: Batch, model_claims: Mapping[str, Sequence[Claim]], to_the_question: bool
) -> Iterator[_Task]:
    language = pair["language"]
    claims = model_claims.get(pair["pair_id"]) or _claims_of(pair["answer"], language)
    claims = self_contained(claims, pair["question"], language)
    cited = cite_claims(pair, claims, batch.sources, batch.texts)
    question, answer = read(pair["question"], language), read(pair["answer"], language)
    for position, (claim, claim_citations) in enumerate(zip(claims, cited, strict=True)):
        reading = read(claim.text, language)
        stated = reading if claim.self_contained is None else read(claim.self_contained, language)
        fragment = is_fragment(claim.text, len(stated.term_set))
        search_terms = (*stated.terms, *question.stems) if fragment else stated.terms
        citations = batch.searched(pair, claim_citations, search_terms)
        with_question = fragment and claim.self_contained is None
        task = _Task(
            pair=pair,
            position=position,
            claim=claim,
            reading=reading,
            stated=stated,
            question=question,
            answer=answer,
            to_the_question=to_the_question,
            citations=citations,
            fragment=fragment,
            compared_text=f"{pair['question']} {claim.text}" if with_question else stated.written,
            pool=() if fragment and to_the_question else batch.repeating(stated, citations),
            cited_documents=batch.documents_of(citations),
        )
        proof = _proof(task, task.pool[0], batch) if task.pool else None
        if proof is not None and not proof.unproved:
            task.proof = proof
        else:
            task.pool = batch.pool(reading, citations, search_terms, fragment=fragment)
        yield task


@functools.lru_cache(maxsize=1024)
def _claims_of(answer: str, language: str) -> tuple[Claim, ...]:
    """Return the claims of an answer, cached: an evaluation compares each with several texts."""
    return tuple(split_claims(answer, language))


def _row(task: _Task, batch: Batch, texts: TextVectors, vectors: ChunkVectors) -> Row:
    claim, pair_id, citations = task.claim, task.pair["pair_id"], task.citations
    text_alone = "" if claim.self_contained is None else f"\x1f{claim.self_contained}"
    content = f"{pair_id}\x1f{claim.start}\x1f{claim.end}\x1f{claim.text}{text_alone}"
    cosines = texts.cosines(task.compared_text, [candidate.text for candidate in task.pool])
    vector = texts.of(task.compared_text)
    in_chunks = in_documents = vectors.best(vector, citations.chunk_ids)
    if task.cited_documents != citations.chunk_ids:
        in_documents = vectors.best(vector, task.cited_documents)
    candidate_chunks = dict.fromkeys([*(candidate.chunk_id for candidate in task.pool), *citations.chunk_ids])
    return {
        "claim_id": hash_text(content)[:32],
        "pair_id": pair_id,
        "batch": task.pair["batch"],
        "position": task.position,
        "text": claim.text,
        "self_contained": claim.self_contained,
        "split_by": claim.split_by,
        "split_reason": claim.split_reason,
        "start": claim.start,
        "end": claim.end,
        **_evidence_columns(task, batch, cosines),
        "citation_status": citations.status,
        "citation_reason": citations.reason,
        "similarity": max([*cosines, in_chunks]) if cosines and in_chunks is not None else in_chunks,
        "chunk_similarity": in_documents,
        "quotes": [_quote_row(check, batch) for check in citations.checks],
        "candidate_chunk_ids": list(candidate_chunks)[:_MOST_CANDIDATE_CHUNKS],
    }


def _quote_row(check: QuoteCheck, batch: Batch) -> Row:
    """Return a row of the column quotes for a quote: offsets point into the document's text."""
    row: Row = {"given": check.quote, "kind": check.kind}
    if check.chunk_id is None:
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


def _evidence_columns(task: _Task, batch: Batch, cosines: Sequence[float]) -> Row:
    """Return the columns of the chosen evidence and of what it proves of the claim."""
    ranked = [*task.pool] if task.proof else _ranked(task, batch, cosines)[:_TRIED]
    if not ranked:
        return {"fragment": task.fragment}
    ranked = [ranked[0], *(other_place for other_place in ranked[1:] if _may_prove(task, other_place, batch))]
    proofs = [task.proof or _proof(task, ranked[0], batch)]
    while proofs[-1].unproved and len(proofs) < len(ranked):
        proofs.append(_proof(task, ranked[len(proofs)], batch))
    proved = (at for at, piece_proof in enumerate(proofs) if not piece_proof.unproved)
    place = next(proved, next((at for at, piece_proof in enumerate(proofs) if piece_proof.denied), 0))
    evidence, proof = ranked[place], proofs[place]
    is_settled = not proof.unproved or proof.denied or proof.restricted
    elsewhere = None if is_settled else _proved_elsewhere(task, batch)
    evidence_terms = evidence.terms | batch.headings(evidence.chunk_id, task.reading.language).term_set
    second = _second_piece(task.stated.terms, evidence_terms, evidence, task.pool, cosines)
    return {
        "token_recall": recall(task.stated.terms, evidence_terms),
        "unproved": list(proof.unproved),
        "denied": [f"{denial.reason}: {denial.words}" for denial in proof.denied],
        "scope_differs": proof.scope_differs,
        "proved_by_chunk_id": elsewhere,
        "fragment": task.fragment and not task.reading.repeats(evidence.reading),
        **_placed("evidence", evidence, batch),
        **({} if second is None else _placed("second_evidence", second, batch)),
    }


def _proof(task: _Task, evidence: Candidate, batch: Batch) -> Proof:
    """Return what a piece proves of a claim, where nothing around it in its document takes it back."""
    proof = _proof_alone(task, evidence, batch)
    if proof.unproved:
        return proof
    chunk = batch.chunks[evidence.chunk_id]
    parts = [span for span in evidence.reading.sentences if _shares(evidence.text[slice(*span)], task.stated)]
    start, end = (parts[0][0], parts[-1][1]) if parts else (0, len(evidence.text))
    at = chunk["char_start"] + evidence.start
    around = surroundings(
        batch.documents[chunk["document_id"]]["text"] or "", task.reading.language, at + start, at + end
    )
    headings = (chunk["title"], *chunk["section_path"])
    doubts = tuple(restrictions(around, headings, (task.question, task.stated), task.reading.language))
    return replace(proof, unproved=doubts, scope_differs=True, restricted=True) if doubts else proof


def _shares(sentence: str, claim: Reading) -> bool:
    return not claim.term_set.isdisjoint(read(sentence, claim.language).term_set)


def _proof_alone(task: _Task, evidence: Candidate, batch: Batch) -> Proof:
    language = task.reading.language
    # what the claim says in a slot may be in the evidence's own chunk, then in the others cited
    nearest_first = list(dict.fromkeys((evidence.chunk_id, *task.citations.chunk_ids)))[:_ELSEWHERE]
    # a line of its own states what it says whatever was asked: "Status: Base"
    leans_on_question = task.fragment and not task.reading.repeats(evidence.reading)
    return prove(
        task.stated,
        evidence.reading,
        question=task.question,
        answer=task.answer if task.to_the_question or leans_on_question else None,
        headings=batch.headings(evidence.chunk_id, language),
        elsewhere=[batch.reading(i, language) for i in nearest_first],
        fragment=task.fragment,
        is_row=evidence.is_row,
        label=label_of(batch.texts[evidence.chunk_id], evidence.start),
    )


def _may_prove(task: _Task, evidence: Candidate, batch: Batch) -> bool:
    """Return whether a piece has enough of the claim's words to be compared: a proof has nearly all."""
    headings = batch.headings(evidence.chunk_id, task.reading.language).term_set
    return (recall(task.stated.terms, evidence.terms | headings) or 0.0) >= _WORTH_TRYING


def _proved_elsewhere(task: _Task, batch: Batch) -> str | None:
    """Return a passage that is not cited and proves the claim: the citation is wrong then."""
    others = batch.others(task.pair, task.citations, task.stated.terms, _OTHERS)
    candidates = (candidate for candidate in others if _may_prove(task, candidate, batch))
    return next(
        (candidate.chunk_id for candidate in candidates if not _proof(task, candidate, batch).unproved), None
    )


def _ranked(task: _Task, batch: Batch, cosines: Sequence[float]) -> list[Candidate]:
    """Return the candidates, the best first: half recall, half cosine, a little for being short.

    The claim's own words, where they are in one piece, come first; for a fragment, which may be in many
    places, the question's words decide as well.
    """
    claim_terms = task.stated.term_set
    question_stems = task.question.stems if task.fragment else ()

    def score(place: int) -> tuple[float, int]:
        candidate = task.pool[place]
        candidate_terms = candidate.terms | batch.headings(candidate.chunk_id, task.reading.language).term_set
        exact = candidate.reading.holds(task.reading)
        asked_share = recall(question_stems, candidate_terms) or 0.0
        total = (
            (recall(claim_terms, candidate_terms) or 0.0)
            + cosines[place]
            + exact
            + asked_share
            - 0.1 * (candidate.sentences - 1)
        )
        return (round(total, 6), -place)

    return [task.pool[place] for place in sorted(range(len(task.pool)), key=score, reverse=True)]


def _second_piece(
    terms: Sequence[str],
    covered: Set[str],
    evidence: Candidate,
    pool: Sequence[Candidate],
    cosines: Sequence[float],
) -> Candidate | None:
    """Return the piece of another passage that holds most of what the evidence lacks.

    None where the evidence alone holds enough of the claim's terms, or where no other piece adds enough. To
    accept by two pieces is left to a step that reads both: words can be pieced together from anywhere.
    """
    alone = recall(terms, covered)
    if alone is None or alone >= ENOUGH_ALONE:
        return None
    missing = frozenset(terms)
    have = missing & covered
    ranked = [
        (len(have | (missing & candidate.terms)), cosine, -candidate.sentences, -place)
        for place, (candidate, cosine) in enumerate(zip(pool, cosines, strict=True))
        if candidate.chunk_id != evidence.chunk_id
    ]
    best = max(ranked, default=None)
    if best is None or best[0] / len(missing) - alone < GAIN:
        return None
    return pool[-best[3]]


def _placed(name: str, piece: Candidate, batch: Batch) -> Row:
    """Return the columns of a piece of evidence: where in its document it is."""
    chunk = batch.chunks[piece.chunk_id]
    document = batch.documents[chunk["document_id"]]
    start = chunk["char_start"] + piece.start
    pages = (page["number"] for page in document["pages"] if page["start"] <= start < page["end"])
    return {
        f"{name}_document_id": chunk["document_id"],
        f"{name}_content_sha256": document["content_sha256"],
        f"{name}_chunk_id": piece.chunk_id,
        f"{name}_start": start,
        f"{name}_end": start + len(piece.text),
        f"{name}_page": next(pages, None),
        f"{name}_quote": piece.text,
    }
