"""Split answers into claims, and add the best evidence and all local scores to each.

Each claim is compared with the units of the chunks that it cites (`proof.py`). Thresholds are applied later,
in `deciding.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl

from qa_pipeline import records
from qa_pipeline.models.cross_encoder import EntailmentModel, Scores
from qa_pipeline.models.encoder import Encoder
from qa_pipeline.models.vector_cache import ChunkVectors, TextVectors
from qa_pipeline.retrieval.chunks import index_text
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.table_schema import ClaimColumns, DraftedPairRow, typed_rows
from qa_pipeline.storage.tables import CLAIMS
from qa_pipeline.text.language import in_other_language
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.text.references import FOUND_BY_SEARCH, Sources
from qa_pipeline.text.words import recall
from qa_pipeline.verification.citations import ClaimCitations, cite_claims
from qa_pipeline.verification.deciding import missing_figures
from qa_pipeline.verification.proof import Proof, prove
from qa_pipeline.verification.quotation import Context
from qa_pipeline.verification.sources import SourceIndex, Unit, sources_of
from qa_pipeline.verification.splitting import AnswerRow, Claim, is_fragment, split_claims

_GROUP = 1024  # answers embedded in one call; larger groups share more texts and need more memory
_MOST_CANDIDATE_CHUNKS = 16  # chunks stored with a claim; the steps that read them use fewer still
_SEARCHED_CHUNKS = 8  # chunks retrieved for a claim without citations, as many as the cross-encoder reads


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with its claims, and the citations of each claim."""

    row: AnswerRow
    claims: Sequence[Claim]
    cited: Sequence[ClaimCitations]


@dataclass(frozen=True, slots=True)
class _Compared:
    """Columns of a claim without vector scores, its text to embed, and its chunks, best by words first."""

    columns: ClaimColumns
    text_to_embed: str
    chunk_ids: Sequence[str]


def find_claims(
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embedder: Encoder | None,
    notify: records.ProgressCallback = records.no_progress,
    *,
    entailment: EntailmentModel | None = None,
    embeddings: pl.DataFrame | None = None,
    model_claims: Mapping[str, Sequence[Claim]] | None = None,
) -> pl.DataFrame:
    """Split the answers of drafted pairs and compare every claim with its cited sources.

    Refusals are skipped. Without a model its scores are null. `embeddings` has vectors of chunks that are
    already embedded. `model_claims` has the claims of answers that a model split, by pair.

    Raises:
        SettingsError: the embedding model returns vectors without a direction.
    """
    index, sources = SourceIndex(sources_of(documents, chunks)), Sources(documents, chunks)
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    answers = [
        _split_and_cite(pair, (model_claims or {}).get(pair["pair_id"]), index, sources)
        for pair in typed_rows(answered, DraftedPairRow)
    ]
    progress = notify if entailment is None else records.no_progress  # only the slower count is shown
    claims = compare_claims(answers, index, embedder, progress, embeddings=embeddings)
    return fill_entailment(claims, pairs, records.passages_by_id(chunks), entailment, notify)


def _split_and_cite(
    pair: DraftedPairRow, model_claims: Sequence[Claim] | None, index: SourceIndex, sources: Sources
) -> Answered:
    """Return a pair with its claims and citations, or with retrieved chunks if the pair has no citations."""
    language = pair["language"]
    claims = model_claims or split_claims(pair["answer"], language)
    citations = cite_claims(pair, claims, sources, index.texts)
    for number, claim in enumerate(claims):
        if not pair["citations"] and citations[number].status == "uncited":
            query_stems = [*read(claim.text, language).stems, *read(pair["question"], language).stems]
            nearest_ids = tuple(index.best_chunks(query_stems, _SEARCHED_CHUNKS))
            citations[number] = ClaimCitations(status=FOUND_BY_SEARCH, reason=None, chunk_ids=nearest_ids)
    return Answered(pair, claims, citations)


def compare_claims(
    answered: Sequence[Answered],
    index: SourceIndex,
    embedder: Encoder | None,
    notify: records.ProgressCallback = records.no_progress,
    *,
    embeddings: pl.DataFrame | None = None,
    must_answer: bool = True,
) -> pl.DataFrame:
    """Compare every claim with its cited sources and return the claims table.

    With `must_answer`, a unit proves a claim only if it answers the question. This always applies to a
    fragment, such as "8 kW".
    """
    vectors = None if embedder is None else ChunkVectors(embeddings, index.texts, embedder)
    rows: list[ClaimColumns] = []
    for start in range(0, len(answered), _GROUP):
        group = answered[start : start + _GROUP]
        compared = [claim for answer in group for claim in _compare_answer(answer, index, must_answer)]
        if embedder is not None and vectors is not None:
            _add_cosines(compared, index, embedder, vectors)
        rows += [claim.columns for claim in compared]
        notify(start + len(group), len(answered))
    return CLAIMS.frame(rows)


def _compare_answer(answered: Answered, index: SourceIndex, must_answer: bool) -> Iterator[_Compared]:
    """Yield the columns of each claim of an answer: its proof or denial, evidence and citations."""
    row, language = answered.row, answered.row["language"]
    question = read(row["question"], language)
    context = Context(question, read(row["answer"], language), must_answer=must_answer)
    other_language = in_other_language(row["answer"], language)
    for position, (claim, citations) in enumerate(zip(answered.claims, answered.cited, strict=True)):
        wording = read(claim.wording, language)
        fragment = is_fragment(claim.text, len(wording.stem_set))
        proof = prove(claim.wording, fragment, context, index, citations.chunk_ids)
        if other_language is not None:
            # the rules used the wrong word lists, so their unit is only evidence, without proof or denial
            proof = Proof(proof.unit, doubts=(f"the answer is in another language ({other_language})",))
        topic = wording.stem_set | question.stem_set
        # units that share most words with claim or question first, of equal units the shortest
        units_by_topic = sorted(
            chain.from_iterable(index.units(chunk_id) for chunk_id in citations.chunk_ids),
            key=lambda unit: (-len(topic & unit.reading.stem_set), len(unit.text)),
        )
        unit_chunk_ids = [unit.chunk_id for unit in units_by_topic]
        best_chunk_ids = list(dict.fromkeys([*unit_chunk_ids, *citations.chunk_ids]))
        # the unit that shares most words with the claim alone, of equal units the first by topic
        nearest = max(
            units_by_topic, key=lambda unit: len(wording.stem_set & unit.reading.stem_set), default=None
        )
        rewording = () if claim.self_contained is None else (claim.self_contained,)
        identity = (row["pair_id"], claim.start, claim.end, claim.text, *rewording)
        columns: ClaimColumns = {
            "claim_id": hash_parts(*identity)[:32],
            "pair_id": row["pair_id"],
            "batch": row["batch"],
            "position": position,
            "text": claim.text,
            "self_contained": claim.self_contained,
            "split_by": claim.split_by,
            "split_reason": claim.split_reason,
            "start": claim.start,
            "end": claim.end,
            "fragment": fragment,
            **_evidence_columns(wording, proof, proof.unit or nearest, index),
            "citation_status": citations.status,
            "citation_reason": citations.reason,
            "quotes": list(citations.quotes),
            "candidate_chunk_ids": best_chunk_ids[:_MOST_CANDIDATE_CHUNKS],
        }
        needs_question = fragment and claim.self_contained is None
        text_to_embed = f"{row['question']} {claim.wording}" if needs_question else claim.wording
        yield _Compared(columns, text_to_embed, best_chunk_ids)


def _add_cosines(
    compared: Sequence[_Compared], index: SourceIndex, embedder: Encoder, vectors: ChunkVectors
) -> None:
    """Add the best cosine of each claim to a chunk of the cited documents, with one call to embed claims."""
    document_chunks = []  # of each claim, all chunks of the documents that it cites
    for claim in compared:
        document_ids = dict.fromkeys(index.sources[chunk_id].document_id for chunk_id in claim.chunk_ids)
        document_chunks.append([*chain.from_iterable(index.chunks_by_document[i] for i in document_ids)])
    vectors.load(chain.from_iterable(document_chunks))
    texts = TextVectors((claim.text_to_embed for claim in compared), embedder)
    for claim, all_chunks in zip(compared, document_chunks, strict=True):
        cosines = vectors.cosines(texts.of(claim.text_to_embed), all_chunks)
        claim.columns["similarity"] = max(cosines, default=None)


def _evidence_columns(
    claim: Reading, proof: Proof, evidence: Unit | None, index: SourceIndex
) -> ClaimColumns:
    """Return the columns of a claim about its evidence: the unit of `proof`, or else the nearest unit."""
    if evidence is None:  # the cited chunks have no units
        return {"unproved": list(proof.doubts)}
    source = index.sources[evidence.chunk_id]
    headings = read("\n".join(source.headings), source.language)
    denied = [] if proof.denial is None else [f"{proof.denial.reason}: {proof.denial.words}"]
    location = source.evidence(evidence.start, evidence.end)  # columns such as "page" and "quote"
    return {
        "token_recall": recall(claim.stem_set, evidence.reading.stem_set | headings.stem_set),
        "proved_by": "quotation" if proof.is_proved else None,
        "unproved": list(proof.doubts),
        "denied": denied,
        # here scope means figures: True if a number or identifier of the claim is missing
        "scope_differs": bool(missing_figures(claim, [evidence.reading, headings])),
        "evidence_doubt": source.doubt(evidence.start, evidence.end),
        **{f"evidence_{name}": value for name, value in location.items()},
    }


_MOST_PASSAGES = 8  # passages read for a claim: first its evidence, then by shared words
_WINDOW_TOKENS, _OVERLAP = 320, 64
"""Maximum tokens of a passage in one input, and the overlap of two windows, at most a quarter."""
_LEAST_ROOM = 0.5  # minimum share of an input that a claim must leave to the passage
_SCORED_TOGETHER = 256  # claims; larger groups fill batches of the model better and need more memory
KnownScores = tuple[float | None, float | None]
"""Entailment and contradiction of a claim, None if unknown."""


def score_claims(
    claims: Sequence[tuple[str, Sequence[str]]],
    model: EntailmentModel,
    notify: records.ProgressCallback = records.no_progress,
) -> list[KnownScores]:
    """Score claims, each given as its text and passages, against windows of the passages.

    A claim gets its largest entailment and its largest contradiction over all windows. A score is unknown if
    the claim is empty or too long, there is no passage, or a window has NaN.
    """
    results: list[KnownScores] = []
    for start in range(0, len(claims), _SCORED_TOGETHER):
        group = claims[start : start + _SCORED_TOGETHER]
        windows_by_claim = [_windows(claim, passages, model) for claim, passages in group]
        scores = iter(model.probabilities([*chain.from_iterable(windows_by_claim)]))  # in the same order
        results += [_largest([next(scores) for _ in windows]) for windows in windows_by_claim]
        notify(len(results), len(claims))
    return results


def _windows(claim: str, passages: Sequence[str], model: EntailmentModel) -> list[tuple[str, str]]:
    """Return (window, claim) for each window of the passages, unless the claim leaves too little room."""
    room = model.room_beside(claim)
    if room < _LEAST_ROOM * model.most_tokens or not claim.strip():
        return []
    size = min(room, _WINDOW_TOKENS)
    windows = (model.windows(passage, size, min(_OVERLAP, size // 4)) for passage in passages)
    return [(window, claim) for window in chain.from_iterable(windows)]


def _largest(scores: Sequence[Scores]) -> KnownScores:
    """Return the largest scores over the windows of a claim."""
    if not scores:
        return None, None
    entailment, _, contradiction = np.stack(scores).max(axis=0).tolist()  # the second is neutral
    if np.isnan(entailment):
        return None, None
    return entailment, None if np.isnan(contradiction) else contradiction


def fill_entailment(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    passages: Mapping[str, records.Passage],
    model: EntailmentModel | None,
    notify: records.ProgressCallback = records.no_progress,
) -> pl.DataFrame:
    """Score every claim against the chunk of its evidence and the chunks it cites."""
    if model is None or not claims.height:
        return claims
    # headings name the topic of a passage
    texts = {chunk.chunk_id: index_text(chunk.section_path, chunk.text) for chunk in passages.values()}
    with_question = claims.join(
        pairs.select("pair_id", "question"), on="pair_id", how="left", maintain_order="left"
    )
    # a fragment is only a statement together with its question
    completed = pl.concat_str(pl.col("question").fill_null(""), "text", separator=" ").str.strip_chars()
    claim_text = pl.when("fragment").then(completed).otherwise("text")
    columns = (claim_text.alias("claim"), "evidence_chunk_id", "candidate_chunk_ids")
    claims_with_passages = []
    for claim, evidence_id, candidate_ids in with_question.select(columns).iter_rows():
        chunk_ids = list(dict.fromkeys(filter(None, [evidence_id, *(candidate_ids or [])])))[:_MOST_PASSAGES]
        claims_with_passages.append((claim, [texts[chunk_id] for chunk_id in chunk_ids]))
    results = score_claims(claims_with_passages, model, notify)
    scored = {
        "entailment": [entailment for entailment, _ in results],
        "contradiction": [contradiction for _, contradiction in results],
        "entailment_model": [model.identity] * len(results),
    }
    types = {name: CLAIMS.schema[name] for name in scored}
    return CLAIMS.conform(claims.with_columns(pl.DataFrame(scored, schema=types).get_columns()))
