"""Answers become claims, each with its best evidence and every local score.

Every local step always runs and is stored, also for a claim whose citation fails. No threshold is applied
here: what the scores mean is `deciding.py`.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.models.base import Encoder
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.tables import CLAIMS
from qa_pipeline.text.words import order_agreement, recall
from qa_pipeline.verification.citations import ClaimCitations, QuoteCheck, cite_claims
from qa_pipeline.verification.combined import load_model, with_combined
from qa_pipeline.verification.consistency.comparing import LONGEST_READ, Comparison, compare
from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.evidence import Batch, Candidate, ChunkVectors, TextVectors
from qa_pipeline.verification.pronouns import self_contained
from qa_pipeline.verification.splitting import Claim, is_fragment, split_claims

Row = dict[str, Any]
_GROUP = 1024
_MOST_CANDIDATE_CHUNKS = 16
_ELSEWHERE = 20
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
ENOUGH_ALONE = 0.80
"""Share of a claim's words from which one passage is looked at alone."""
GAIN = 0.20
"""Share of the claim's words that a second passage must add, or it is there by chance."""
_FEW = 2
_COVERAGE = 0.60
"""Share of its evidence that a fragment and its question must make up: more is another statement."""
_UNREAD = Comparison(open_points=("longer than the local checks can read",))


@dataclass(frozen=True)
class _Task:
    """One claim, read once, with everything it will be compared with.

    `stated` is the reading of the claim as it is understood alone: what evidence must hold of it, the words
    that replace its pronouns included. `compared_text` is what is embedded: the same text, or a fragment
    with its question.
    """

    pair: Mapping[str, Any]
    position: int
    claim: Claim
    reading: Reading
    stated: Reading
    question: Reading
    citations: ClaimCitations
    fragment: bool
    compared_text: str
    pool: tuple[Candidate, ...]
    others: tuple[Candidate, ...]
    cited_documents: tuple[str, ...]


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
        notify: called with how many pairs are done.
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
        pairs_of = group.iter_rows(named=True)
        tasks = [task for pair in pairs_of for task in _tasks(pair, batch, settings, model_claims or {})]
        vectors.load(i for task in tasks for i in task.cited_documents)
        texts = TextVectors(
            (
                text
                for task in tasks
                for text in (task.compared_text, *(one.text for one in (*task.pool, *task.others)))
            ),
            embedder,
        )
        rows.extend(_row(task, batch, texts, vectors) for task in tasks)
        done += group.height
        notify(done, answered.height)
    return with_combined(CLAIMS.frame(rows), combined, embedder.model, embedder.revision)


def _tasks(
    pair: Row, batch: Batch, settings: VerificationSettings, model_claims: Mapping[str, Sequence[Claim]]
) -> Iterator[_Task]:
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
        yield _Task(
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


def _row(task: _Task, batch: Batch, texts: TextVectors, vectors: ChunkVectors) -> Row:
    claim, pair_id, citations = task.claim, task.pair["pair_id"], task.citations
    own = "" if claim.self_contained is None else f"\x1f{claim.self_contained}"
    content = f"{pair_id}\x1f{claim.start}\x1f{claim.end}\x1f{claim.text}{own}"
    cosines = texts.cosines(task.compared_text, [one.text for one in task.pool])
    vector = texts.of(task.compared_text)
    in_chunks = vectors.best(vector, citations.chunk_ids)
    candidate_chunks = dict.fromkeys([*(one.chunk_id for one in task.pool), *citations.chunk_ids])
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
        **_evidence_columns(task, batch, cosines),
        "citation_status": citations.status,
        "citation_reason": citations.reason,
        "similarity": max([*cosines, in_chunks]) if cosines and in_chunks is not None else in_chunks,
        "chunk_similarity": vectors.best(vector, task.cited_documents),
        **_best_elsewhere(task, texts),
        "quotes": [_quote_row(check, batch) for check in citations.checks],
        "candidate_chunk_ids": list(candidate_chunks)[:_MOST_CANDIDATE_CHUNKS],
    }


def _best_elsewhere(task: _Task, texts: TextVectors) -> Row:
    """What a passage that is not cited holds of the claim: whether it should have been.

    The passage is the one that holds most of the claim's terms, the first of equals: the pair's own passages
    come before those of the batch.
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
    """Columns of the chosen evidence and of its comparison with the claim."""
    evidence = _choose(task, batch, cosines)
    if evidence is None:
        return {"verbatim": False, "number_conflicts": [], "name_conflicts": [], "polarity_conflicts": []}
    language, cited = task.reading.language, task.citations.chunk_ids
    headings = batch.headings(evidence.chunk_id, language)
    held = evidence.reading.term_set | headings.term_set
    same = task.reading.repeats(evidence.reading)
    found = _UNREAD
    if max(len(task.claim.text), len(evidence.text)) <= LONGEST_READ:
        # a missing number or name may be in the evidence's own chunk, then in the others cited
        nearest_first = list(dict.fromkeys((evidence.chunk_id, *cited)))[:_ELSEWHERE]
        found = compare(
            task.reading,
            evidence.reading,
            headings,
            [batch.reading(i, language) for i in nearest_first],
            in_order=not evidence.is_row,
            question=task.question,
        )
    doubts = [] if same or evidence.is_row or not task.fragment else _fragment_doubts(task, evidence.reading)
    if _UNSEEN.search(task.claim.text):
        doubts.append("contains control characters or marks that reverse its reading order")
    in_order = None if evidence.is_row else order_agreement(task.reading.terms, evidence.reading.terms)
    missing = task.stated.term_set - headings.term_set
    for chunk_id in cited:
        missing = missing - batch.reading(chunk_id, language).term_set
    wanted = len(task.stated.term_set)
    second = _second_piece(task.stated.terms, held, evidence, task.pool, cosines)
    return {
        "verbatim": evidence.reading.holds(task.reading),
        "token_recall": recall(task.stated.terms, held),
        "wording_recall": recall(task.reading.context, held),
        "order_agreement": in_order,
        "question_recall": recall(task.question.stems, held | task.reading.term_set),
        "cited_recall": 1.0 - len(missing) / wanted if wanted else None,
        "number_conflicts": list(found.numbers),
        "date_conflicts": list(found.dates),
        "name_conflicts": list(found.names),
        "polarity_conflicts": list(found.polarity),
        "quantifier_conflicts": list(found.quantifiers),
        "cell_conflicts": list(found.cells),
        "open_points": [*found.open_points, *doubts],
        "fragment": task.fragment and not same,
        "evidence_is_row": evidence.is_row,
        "evidence_sentences": evidence.sentences,
        **_placed("evidence", evidence, batch),
        **({} if second is None else _placed("second_evidence", second, batch)),
    }


def _choose(task: _Task, batch: Batch, cosines: Sequence[float]) -> Candidate | None:
    """The best candidate: half recall, half cosine, a little for being short.

    The claim's own words, where they are in one piece, are always the evidence; for a fragment, which may
    be in many places, the question's words decide as well.
    """
    wanted = task.stated.term_set
    asked = task.question.stems if task.fragment else ()

    def score(place: int) -> tuple[float, int]:
        one = task.pool[place]
        held = one.reading.term_set | batch.headings(one.chunk_id, task.reading.language).term_set
        exact = one.reading.holds(task.reading)
        asked_share = recall(asked, held) or 0.0
        total = (
            (recall(wanted, held) or 0.0) + cosines[place] + exact + asked_share - 0.1 * (one.sentences - 1)
        )
        return (round(total, 6), -place)

    place = max(range(len(task.pool)), key=score, default=None)
    return None if place is None else task.pool[place]


def _second_piece(
    terms: Sequence[str],
    held: Set[str],
    evidence: Candidate,
    pool: Sequence[Candidate],
    cosines: Sequence[float],
) -> Candidate | None:
    """The piece of another passage that holds most of what the evidence lacks.

    None where the evidence alone holds enough of the claim's terms, or where no other piece adds enough. To
    accept by two pieces is left to a step that reads both: words can be pieced together from anywhere.
    """
    alone = recall(terms, held)
    if alone is None or alone >= ENOUGH_ALONE:
        return None
    wanted = frozenset(terms)
    have = wanted & held
    ranked = [
        (len(have | (wanted & one.reading.term_set)), cosine, -one.sentences, -place)
        for place, (one, cosine) in enumerate(zip(pool, cosines, strict=True))
        if one.chunk_id != evidence.chunk_id
    ]
    best = max(ranked, default=None)
    if best is None or best[0] / len(wanted) - alone < GAIN:
        return None
    return pool[-best[3]]


def _placed(name: str, piece: Candidate, batch: Batch) -> Row:
    """Columns of a piece of evidence: where in its document it is."""
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


def _fragment_doubts(task: _Task, evidence: Reading) -> list[str]:
    """Why a fragment may occur in its evidence and still be no answer."""
    question, claim = task.question, task.reading
    doubts = ["too few words to rule out a chance match"] if len(claim.term_set) <= _FEW else []
    if (recall(evidence.terms, question.term_set | claim.term_set) or 0.0) < _COVERAGE:
        doubts.append("the evidence contains more than question and answer")
    asked, answered, written = (any(t.negative for t in one.words) for one in (question, claim, evidence))
    if asked != written and not answered:
        doubts.append("question and evidence differ in a negation")
    return doubts
