"""Answers become claims, each with its best evidence and every local score.

A claim is cut from its answer (`splitting.py`), given its citations (`citations.py`) and the pieces of the
cited passages that may prove it (`evidence.py`); the best is compared with it (`consistency/proof.py`).
Every local step always runs and is stored, also for a claim whose citation fails. No threshold is applied
here: what the scores mean is `deciding.py`.
"""

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, cast

import polars as pl

from qa_pipeline.models.base import Encoder
from qa_pipeline.models.text_vectors import ChunkVectors, TextVectors
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.rows import ChunkRow, ClaimColumns, DocumentRow, DraftedPairRow, QuoteStruct
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CLAIMS
from qa_pipeline.text.doubt import kinds_within
from qa_pipeline.text.injection import blank_injections
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.references import FOUND_BY_SEARCH, Sources
from qa_pipeline.text.words import recall
from qa_pipeline.verification.citations import ClaimCitations, QuoteCheck, cite_claims
from qa_pipeline.verification.consistency.proof import Proof, prove
from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.context import introduction_of, restrictions, surroundings, void_status
from qa_pipeline.verification.evidence import (
    LONGEST_WINDOW,
    Candidate,
    ChunkWords,
    best_by_words,
    candidates,
    whole_sentences,
)
from qa_pipeline.verification.splitting import Claim, is_fragment, resolved, self_contained, split_claims

_GROUP = 1024
"""Pairs whose texts are embedded in one call: larger groups share more texts and need more memory."""
_MOST_CANDIDATE_CHUNKS = 16
"""Chunks stored with a claim for the steps that read whole passages, which read fewer still."""
_MOST_ELSEWHERE = 20
"""Cited passages in which a proof looks for what the claim says in a slot: each costs a reading."""
_CANDIDATES = 12
"""Pieces embedded for a claim: embedding is what costs, and the evidence is nearly always among the first."""
_SEARCHED_CHUNKS = 8
"""Chunks searched for a claim that nothing was cited for, as many as the cross-encoder reads."""
_OCCURRENCES = 20
"""Places of a claim's letters in a passage that are looked at: the first may be in another sentence."""
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


def find_claims(
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embedder: Encoder | None,
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
        embedder: embeds claims and pieces of evidence, in one call for a group of pairs; without it no
            similarity is known, and shared words alone rank the evidence of what is not proved.
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
    vectors = None if embedder is None else ChunkVectors(embeddings, batch.texts, embedder)
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    rows: list[ClaimColumns] = []
    done = 0
    for group in answered.iter_slices(_GROUP):
        tasks = [
            task
            for pair in typed_rows(group, DraftedPairRow)
            for task in _tasks(pair, batch, model_claims or {}, to_the_question)
        ]
        cosines = [_Cosines([0.0] * len(task.pool), None, None) for task in tasks]
        if embedder is not None and vectors is not None:
            cosines = _cosines(tasks, embedder, vectors)
        rows.extend(_row(task, batch, of_task) for task, of_task in zip(tasks, cosines, strict=True))
        done += group.height
        notify(done, answered.height)
    return CLAIMS.frame(rows)


@dataclass(frozen=True)
class Batch:
    """The texts that the pairs of a batch are compared with; `texts` has blanks in place of injections."""

    sources: Sources
    documents: Mapping[str, DocumentRow]
    chunks: Mapping[str, ChunkRow]
    texts: Mapping[str, str]
    words: ChunkWords
    one_corpus: bool

    @classmethod
    def of(cls, documents: pl.DataFrame, chunks: pl.DataFrame, one_corpus: bool = True) -> "Batch":
        """Return the batch of these tables."""
        rows = {row["chunk_id"]: row for row in typed_rows(chunks, ChunkRow)}
        # an injection proves nothing, whatever words it shares with a claim
        texts = {chunk_id: blank_injections(row["text"], row["language"]) for chunk_id, row in rows.items()}
        return cls(
            sources=Sources(documents, chunks),
            documents={row["document_id"]: row for row in typed_rows(documents, DocumentRow)},
            chunks=rows,
            texts=texts,
            words=ChunkWords(texts, {chunk_id: row["language"] for chunk_id, row in rows.items()}),
            one_corpus=one_corpus,
        )

    def reading(self, chunk_id: str, language: str) -> Reading:
        """Return the reading of a chunk."""
        return read(self.texts[chunk_id], language)

    def headings(self, chunk_id: str, language: str) -> Reading:
        """Return the reading of the headings above a chunk, its document's title first."""
        chunk = self.chunks[chunk_id]
        return read("\n".join((chunk["title"], *chunk["section_path"])), language)

    def terms(self, candidate: Candidate) -> Set[str]:
        """Return the terms of a candidate and of the headings above it."""
        return candidate.terms | self.headings(candidate.chunk_id, candidate.reading.language).term_set

    def doubt(self, piece: Candidate) -> str | None:
        """Return the kinds of doubt about a piece; None where its reader is sure of it."""
        chunk = self.chunks[piece.chunk_id]
        return kinds_within(
            chunk["doubts"], chunk["char_start"] + piece.start, chunk["char_start"] + piece.end
        )

    def repeating(self, claim: Reading, chunk_ids: Sequence[str]) -> tuple[Candidate, ...]:
        """Return the first whole sentence that is the claim to the letter, where there is one."""
        for i in chunk_ids:
            at = self.texts[i].find(claim.written)
            for _ in range(_OCCURRENCES):
                if at < 0:
                    break
                chunk = self.reading(i, claim.language)
                sentence = whole_sentences(i, chunk, (at, at + len(claim.written)))
                if sentence.text == claim.written:
                    return self._as_written([sentence])
                at = self.texts[i].find(claim.written, at + 1)
        return ()

    def pool(
        self, claim: Reading, citations: ClaimCitations, terms: Collection[str], *, fragment: bool
    ) -> tuple[Candidate, ...]:
        """Return the candidates worth embedding: the claim's words and quotes first, then by shared words."""
        chunks = {i: self.reading(i, claim.language) for i in citations.chunk_ids}
        spans = {} if fragment else {i: chunk.find(claim) for i, chunk in chunks.items()}
        verbatim = (whole_sentences(i, chunks[i], span) for i, span in spans.items() if span)
        quoted = (
            whole_sentences(i, self.reading(i, claim.language), (check.start, check.end))
            for check in citations.checks
            if (i := check.chunk_id) is not None
        )
        best = self._best_of(citations.chunk_ids, claim.language, terms, _CANDIDATES)
        return self._as_written([*verbatim, *quoted, *best])

    def others(
        self, pair: DraftedPairRow, cited: Sequence[str], terms: Collection[str]
    ) -> tuple[Candidate, ...]:
        """Return the best candidates not cited: of the pair's passages, and of the batch's by words."""
        ids = [i for i in pair["passage_ids"] if i in self.texts and i not in cited]
        if self.one_corpus:
            ids += [i for i, _ in self.words.best(terms, _OTHERS, without={*cited, *ids})]
        return self._as_written(self._best_of(ids, pair["language"], terms, _OTHERS))

    def _best_of(
        self, chunk_ids: Iterable[str], language: str, terms: Collection[str], most: int
    ) -> list[Candidate]:
        pieces = [
            piece for i in chunk_ids for piece in candidates(i, self.reading(i, language), LONGEST_WINDOW)
        ]
        return best_by_words(terms, pieces, most)

    def _as_written(self, pool: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Return each candidate once, if it is in its chunk as written: none reaches over an injection."""
        return tuple(
            candidate
            for candidate in dict.fromkeys(pool)
            if self.chunks[candidate.chunk_id]["text"][candidate.start : candidate.end] == candidate.text
        )


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
    """All chunks of the documents whose chunks are cited."""
    proof: Proof | None = None
    """That of the only candidate, where the claim stands in it word for word and is proved."""


def _tasks(
    pair: DraftedPairRow, batch: Batch, model_claims: Mapping[str, Sequence[Claim]], to_the_question: bool
) -> Iterator[_Task]:
    """Yield the claims of a pair with their citations, and the candidates for the evidence of each."""
    language = pair["language"]
    claims = model_claims.get(pair["pair_id"]) or _claims_of(pair["answer"], language)
    claims = self_contained(claims, pair["question"], language)
    question, answer = read(pair["question"], language), read(pair["answer"], language)
    statements = [
        read(claim.text if claim.self_contained is None else claim.self_contained, language)
        for claim in claims
    ]
    fragments = [
        is_fragment(claim.text, len(stated.term_set))
        for claim, stated in zip(claims, statements, strict=True)
    ]
    cited = cite_claims(pair, claims, batch.sources, batch.texts)
    for position, (claim, stated, fragment, cited_alone) in enumerate(
        zip(claims, statements, fragments, cited, strict=True)
    ):
        terms = (*stated.terms, *question.stems) if fragment else stated.terms
        citations = cited_alone
        if citations.status == "uncited" and not pair["citations"] and pair["origin"] != "generated":
            # a pair that was drafted here was asked to cite, and stays uncited
            nearest = batch.words.best(terms, _SEARCHED_CHUNKS)
            citations = ClaimCitations(FOUND_BY_SEARCH, None, tuple(i for i, _ in nearest))
        documents = dict.fromkeys(batch.chunks[i]["document_id"] for i in citations.chunk_ids)
        with_question = fragment and claim.self_contained is None
        task = _Task(
            pair=pair,
            position=position,
            claim=claim,
            reading=read(claim.text, language),
            stated=stated,
            question=question,
            answer=answer,
            to_the_question=to_the_question,
            citations=citations,
            fragment=fragment,
            compared_text=f"{pair['question']} {claim.text}" if with_question else stated.written,
            pool=() if fragment and to_the_question else batch.repeating(stated, citations.chunk_ids),
            cited_documents=tuple(i for document in documents for i in batch.sources.chunks_of(document)),
        )
        proof = _proof(task, task.pool[0], batch) if task.pool else None
        if proof is not None and not proof.unproved and not batch.doubt(task.pool[0]):
            task.proof = proof
        else:
            task.pool = batch.pool(task.reading, citations, terms, fragment=fragment)
        yield task


@functools.lru_cache(maxsize=1024)
def _claims_of(answer: str, language: str) -> tuple[Claim, ...]:
    """Return the claims of an answer, cached: an evaluation compares each with several texts."""
    return tuple(split_claims(answer, language))


def _proof(task: _Task, evidence: Candidate, batch: Batch) -> Proof:
    """Return what a piece proves of a claim, where nothing around it in its document takes it back."""
    proof = _proof_alone(task, evidence, batch)
    if proof.unproved:
        return proof
    chunk = batch.chunks[evidence.chunk_id]
    start, end = _covering(evidence, task.stated)
    at = chunk["char_start"] + evidence.start
    around = surroundings(
        batch.documents[chunk["document_id"]]["text"] or "", task.reading.language, at + start, at + end
    )
    headings = (chunk["title"], *chunk["section_path"])
    stated = (task.question, task.stated)
    declared = batch.documents[chunk["document_id"]]["declared"]
    doubts = (
        *restrictions(around, headings, stated, task.reading.language, task.answer.text),
        *void_status(None if declared is None else declared["status"], stated),
    )
    return replace(proof, unproved=doubts, scope_differs=True, restricted=True) if doubts else proof


def antecedent_of(text: str, at: int, evidence: Reading) -> str | None:
    """Return what the pronoun that opens a piece of a passage stands for; empty where that is in doubt.

    None where no sentence of the passage is before it, so that it can only stand for what a heading names.
    """
    first, language = (evidence.words[0] if evidence.words else None), evidence.language
    if first is None or first.folded not in lexicon(language).subject_pronouns:
        return None
    before = surroundings(text, language, at, at + 1).before
    if not before:
        return None
    made = resolved(evidence.written, [before], "", language)
    return "" if made is None else made.removesuffix(evidence.written[first.end :])


def _covering(evidence: Candidate, claim: Reading) -> tuple[int, int]:
    """Return the span of the fewest sentences that have all of a claim that the evidence has."""
    spans = {
        span: part.term_set & claim.term_set
        for span, part in zip(evidence.reading.sentences, evidence.parts, strict=False)
    }
    chosen: list[tuple[int, int]] = []
    missing = frozenset().union(*spans.values()) if spans else frozenset()
    while missing:
        chosen.append(max(spans, key=lambda span: len(spans[span] & missing)))
        missing -= spans[chosen[-1]]
    if not chosen:
        return 0, len(evidence.text)
    return min(start for start, _ in chosen), max(end for _, end in chosen)


def _proof_alone(task: _Task, evidence: Candidate, batch: Batch) -> Proof:
    """Return what a candidate proves of a claim by itself."""
    language = task.reading.language
    # what the claim says in a slot may be in the evidence's own chunk, then in the others cited
    nearest_first = list(dict.fromkeys((evidence.chunk_id, *task.citations.chunk_ids)))[:_MOST_ELSEWHERE]
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
        introduction=introduction_of(batch.texts[evidence.chunk_id], evidence.start, language),
        antecedent=antecedent_of(batch.texts[evidence.chunk_id], evidence.start, evidence.reading),
    )


class _Cosines(NamedTuple):
    """Cosines of a claim to each candidate of its pool, and the best to a chunk; None where unknown."""

    candidates: Sequence[float]
    to_cited_chunks: float | None
    to_cited_documents: float | None

    @property
    def best(self) -> float | None:
        """Return the best cosine to a sentence, window or chunk of the cited passages."""
        if self.to_cited_chunks is None:
            return None
        return max([*self.candidates, self.to_cited_chunks])


def _cosines(tasks: Sequence[_Task], embedder: Encoder, vectors: ChunkVectors) -> list[_Cosines]:
    """Return the cosines of claims, whose texts are embedded in one call."""
    vectors.load(i for task in tasks for i in task.cited_documents)
    pools = [[candidate.text for candidate in task.pool] for task in tasks]
    compared = [task.compared_text for task in tasks]
    texts = TextVectors(chain(compared, *pools), embedder)
    return [
        _Cosines(
            texts.cosines(text, pool),
            vectors.best(texts.of(text), task.citations.chunk_ids),
            vectors.best(texts.of(text), task.cited_documents),
        )
        for task, text, pool in zip(tasks, compared, pools, strict=True)
    ]


def _row(task: _Task, batch: Batch, cosines: _Cosines) -> ClaimColumns:
    """Return the row of the claims table."""
    claim, pair_id, citations = task.claim, task.pair["pair_id"], task.citations
    text_alone = "" if claim.self_contained is None else f"\x1f{claim.self_contained}"
    content = f"{pair_id}\x1f{claim.start}\x1f{claim.end}\x1f{claim.text}{text_alone}"
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
        **_evidence_columns(task, batch, cosines.candidates),
        "citation_status": citations.status,
        "citation_reason": citations.reason,
        "similarity": cosines.best,
        "chunk_similarity": cosines.to_cited_documents,
        "quotes": [_quote_row(check, batch) for check in citations.checks],
        "candidate_chunk_ids": list(candidate_chunks)[:_MOST_CANDIDATE_CHUNKS],
    }


def _quote_row(check: QuoteCheck, batch: Batch) -> QuoteStruct:
    """Return a row of the column quotes for a quote: offsets point into the document's text."""
    row: QuoteStruct = {
        "given": check.quote,
        "found": None,
        "document_id": None,
        "chunk_id": None,
        "start": None,
        "end": None,
        "kind": check.kind,
    }
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


def _evidence_columns(task: _Task, batch: Batch, cosines: Sequence[float]) -> ClaimColumns:
    """Return the columns of the chosen evidence and of what it proves of the claim.

    The evidence is the first of the best candidates that proves the claim, one in doubt after the others;
    else the first that denies it, else the best.
    """
    ranked = [*task.pool] if task.proof else _ranked(task, batch, cosines)[:_TRIED]
    if not ranked:
        return {"fragment": task.fragment}
    ranked = [ranked[0], *(candidate for candidate in ranked[1:] if _may_prove(task, candidate, batch))]
    proofs = [task.proof or _proof(task, ranked[0], batch)]
    doubts = [batch.doubt(candidate) for candidate in ranked]
    while (proofs[-1].unproved or doubts[len(proofs) - 1]) and len(proofs) < len(ranked):
        proofs.append(_proof(task, ranked[len(proofs)], batch))
    proved = [at for at, candidate_proof in enumerate(proofs) if not candidate_proof.unproved]
    denied = (at for at, candidate_proof in enumerate(proofs) if candidate_proof.denied)
    place = min(proved, key=lambda at: doubts[at] is not None, default=next(denied, 0))
    evidence, proof = ranked[place], proofs[place]
    elsewhere = None
    if proof.unproved and not proof.denied and not proof.restricted:
        # a passage that is not cited and proves the claim: the citation is wrong then
        others = batch.others(task.pair, task.citations.chunk_ids, task.stated.terms)
        likely = (candidate for candidate in others if _may_prove(task, candidate, batch))
        proving = (candidate for candidate in likely if not _proof(task, candidate, batch).unproved)
        elsewhere = next((candidate.chunk_id for candidate in proving), None)
    evidence_terms = batch.terms(evidence)
    second = _second_piece(task.stated.terms, evidence_terms, evidence, task.pool, cosines)
    columns: ClaimColumns = {
        "token_recall": recall(task.stated.terms, evidence_terms),
        "unproved": list(proof.unproved),
        "denied": [f"{denial.reason}: {denial.words}" for denial in proof.denied],
        "scope_differs": proof.scope_differs,
        "proved_by_chunk_id": elsewhere,
        "fragment": task.fragment and not task.reading.repeats(evidence.reading),
        "evidence_doubt": doubts[place],
        **_placed("evidence", evidence, batch),
    }
    return columns if second is None else {**columns, **_placed("second_evidence", second, batch)}


def _ranked(task: _Task, batch: Batch, cosines: Sequence[float]) -> list[Candidate]:
    """Return the candidates, the best first: half recall, half cosine, a little for being short.

    The claim's own words, where they are in one piece, come first; for a fragment, which may be in many
    places, the question's words decide as well.
    """
    question_stems = task.question.stems if task.fragment else ()

    def score(place: int) -> tuple[float, int]:
        candidate = task.pool[place]
        terms = batch.terms(candidate)
        total = (
            (recall(task.stated.term_set, terms) or 0.0)
            + cosines[place]
            + candidate.reading.holds(task.reading)
            + (recall(question_stems, terms) or 0.0)
            - 0.1 * (candidate.sentences - 1)
        )
        return (round(total, 6), -place)

    return [task.pool[place] for place in sorted(range(len(task.pool)), key=score, reverse=True)]


def _may_prove(task: _Task, candidate: Candidate, batch: Batch) -> bool:
    """Return whether a piece has enough of the claim's words to be compared: a proof has nearly all."""
    return (recall(task.stated.terms, batch.terms(candidate)) or 0.0) >= _WORTH_TRYING


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


def _placed(name: str, piece: Candidate, batch: Batch) -> ClaimColumns:
    """Return the columns of a piece of evidence: where in its document it is."""
    chunk = batch.chunks[piece.chunk_id]
    document = batch.documents[chunk["document_id"]]
    start = chunk["char_start"] + piece.start
    pages = (page["number"] for page in document["pages"] if page["start"] <= start < page["end"])
    columns = {
        f"{name}_document_id": chunk["document_id"],
        f"{name}_content_sha256": document["content_sha256"],
        f"{name}_chunk_id": piece.chunk_id,
        f"{name}_start": start,
        f"{name}_end": start + len(piece.text),
        f"{name}_page": next(pages, None),
        f"{name}_quote": piece.text,
    }
    return cast("ClaimColumns", columns)  # both pieces have the same columns, whose names are composed
