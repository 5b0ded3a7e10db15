"""Answers become claims, each with its best evidence and every local score.

A claim is compared with the units of the chunks that it cites (`proof.py`). No threshold is applied here:
`deciding.py` decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import polars as pl

from qa_pipeline.models.base import Encoder
from qa_pipeline.models.text_vectors import ChunkVectors, TextVectors
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.rows import ClaimColumns, DraftedPairRow, QuoteStruct
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CLAIMS
from qa_pipeline.text.language import in_other_language
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.text.references import FOUND_BY_SEARCH, Sources
from qa_pipeline.text.words import recall
from qa_pipeline.verification.citations import ClaimCitations, QuoteCheck, cite_claims
from qa_pipeline.verification.model_quotes import missing_figures
from qa_pipeline.verification.proof import Context, Proof, prove
from qa_pipeline.verification.sources import SourceIndex, sources_of
from qa_pipeline.verification.splitting import AnswerRow, Claim, is_fragment, split_claims
from qa_pipeline.verification.units import Unit, best_units

_GROUP = 1024
"""Answers whose texts are embedded in one call: larger groups share more texts and need more memory."""
_MOST_CANDIDATE_CHUNKS = 16
"""Chunks stored with a claim for the steps that read whole passages, which read fewer still."""
_CANDIDATES = 12
"""Units embedded for a claim: embedding is what costs, and the best is nearly always among the first."""
_SEARCHED_CHUNKS = 8
"""Chunks searched for a claim that nothing was cited for, as many as the cross-encoder reads."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer cut into claims, and what each claim cites."""

    row: AnswerRow
    claims: Sequence[Claim]
    cited: Sequence[ClaimCitations]


@dataclass(frozen=True, slots=True)
class _Compared:
    """A claim of an answer and what the sources say of it.

    `units` may be its evidence, the best by words first; where one proves or denies it, that one alone.
    `elsewhere` is a chunk that is not cited and says the claim word for word.
    """

    answered: AnswerRow
    position: int
    claim: Claim
    citations: ClaimCitations
    stated: Reading
    fragment: bool
    proof: Proof
    units: Sequence[Unit]
    elsewhere: str | None

    @property
    def embedded_text(self) -> str:
        """Return the text that is embedded: a fragment follows its question."""
        alone = not self.fragment or self.claim.self_contained is not None
        return self.claim.stated if alone else f"{self.answered['question']} {self.claim.stated}"


@dataclass(frozen=True, slots=True)
class _Cosines:
    """Cosines of a claim to its units, the chunks it cites and those of their documents; empty if unknown."""

    units: Sequence[float] = ()
    chunks: Sequence[float] = ()
    documents: Sequence[float] = ()


def find_claims(
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embedder: Encoder | None,
    notify: ProgressCallback = no_progress,
    *,
    embeddings: pl.DataFrame | None = None,
    model_claims: Mapping[str, Sequence[Claim]] | None = None,
) -> pl.DataFrame:
    """Split the answers of drafted pairs that do not refuse and compare every claim with what it cites.

    Without an embedder similarities stay unknown. `embeddings` has vectors of chunks that are not embedded
    again, `model_claims` the claims of the pairs whose answers a model cut.

    Raises:
        SettingsError: the embedding model gives vectors without a direction.
    """
    index, references = SourceIndex(sources_of(documents, chunks)), Sources(documents, chunks)
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    rows = [
        _answered(pair, (model_claims or {}).get(pair["pair_id"]), index, references)
        for pair in typed_rows(answered, DraftedPairRow)
    ]
    return compare_claims(rows, index, embedder, notify, embeddings=embeddings)


def _answered(
    pair: DraftedPairRow, model_claims: Sequence[Claim] | None, index: SourceIndex, references: Sources
) -> Answered:
    """Return a pair with its claims and their citations; passages are searched where nothing is cited."""
    language = pair["language"]
    claims = model_claims or split_claims(pair["answer"], language)
    cited = cite_claims(pair, claims, references, index.texts)
    # a pair that was drafted here was asked to cite, and stays uncited
    if not pair["citations"] and pair["origin"] != "generated":
        for place, claim in enumerate(claims):
            if cited[place].status == "uncited":
                wanted = [*read(claim.text, language).stems, *read(pair["question"], language).stems]
                nearest = index.best_chunks(wanted, _SEARCHED_CHUNKS)
                cited[place] = ClaimCitations(FOUND_BY_SEARCH, None, tuple(i for i, _ in nearest))
    return Answered(pair, claims, cited)


def compare_claims(
    answered: Sequence[Answered],
    index: SourceIndex,
    embedder: Encoder | None,
    notify: ProgressCallback = no_progress,
    *,
    embeddings: pl.DataFrame | None = None,
    one_corpus: bool = True,
    to_the_question: bool = True,
) -> pl.DataFrame:
    """Compare every claim of answers with the sources that it cites; return the claims table.

    In `one_corpus` a chunk that another answer cites may show that a citation is wrong. With
    `to_the_question` a source must speak of what is asked; that of a fragment always must.
    """
    vectors = None if embedder is None else ChunkVectors(embeddings, index.texts, embedder)
    rows: list[ClaimColumns] = []
    for start in range(0, len(answered), _GROUP):
        group = answered[start : start + _GROUP]
        compared = [
            claim
            for answer in group
            for claim in _compared(answer, index, one_corpus=one_corpus, to_the_question=to_the_question)
        ]
        cosines = [_Cosines()] * len(compared)
        if embedder is not None and vectors is not None:
            cosines = _cosines(compared, index, embedder, vectors)
        rows += [_row(claim, index, near) for claim, near in zip(compared, cosines, strict=True)]
        notify(start + len(group), len(answered))
    return CLAIMS.frame(rows)


def _compared(
    answered: Answered, index: SourceIndex, *, one_corpus: bool, to_the_question: bool
) -> list[_Compared]:
    row, language = answered.row, answered.row["language"]
    question = read(row["question"], language)
    context = Context(question, read(row["answer"], language), to_the_question)
    foreign = in_other_language(row["answer"], language)
    compared = []
    for position, (claim, citations) in enumerate(zip(answered.claims, answered.cited, strict=True)):
        stated = read(claim.stated, language)
        fragment = is_fragment(claim.text, len(stated.stem_set))
        proof = prove(stated.written, fragment, context, index, citations.chunk_ids)
        if foreign is not None:
            proof = Proof(proof.unit, None, (f"the answer is in another language ({foreign})",))
        units: Sequence[Unit] = [] if proof.unit is None else [proof.unit]
        elsewhere = None
        if proof.unit is None:
            wanted = stated.stem_set | question.stem_set
            of_chunks = chain.from_iterable(index.units(chunk_id) for chunk_id in citations.chunk_ids)
            units = best_units(wanted, list(of_chunks), _CANDIDATES)
            if one_corpus:
                # a chunk that is not cited and proves the claim: the citation is wrong then
                equal = dict.fromkeys(unit.chunk_id for unit in index.equal_to(stated))
                others = (i for i in equal if i not in citations.chunk_ids)
                proving = (i for i in others if prove(stated.written, False, context, index, [i]).is_proved)
                elsewhere = next(proving, None)
        compared.append(_Compared(row, position, claim, citations, stated, fragment, proof, units, elsewhere))
    return compared


def _cosines(
    compared: Sequence[_Compared], index: SourceIndex, embedder: Encoder, vectors: ChunkVectors
) -> list[_Cosines]:
    """Return the cosines of claims, whose texts are embedded in one call."""
    documents = [
        [
            chunk_id
            for document in dict.fromkeys(index.sources[i].document_id for i in claim.citations.chunk_ids)
            for chunk_id in index.chunks_by_document[document]
        ]
        for claim in compared
    ]
    vectors.load(chain.from_iterable(documents))
    pools = [[unit.text for unit in claim.units] for claim in compared]
    texts = TextVectors(chain((claim.embedded_text for claim in compared), *pools), embedder)
    return [
        _Cosines(
            texts.cosines(claim.embedded_text, pool),
            vectors.cosines(texts.of(claim.embedded_text), claim.citations.chunk_ids),
            vectors.cosines(texts.of(claim.embedded_text), chunk_ids),
        )
        for claim, pool, chunk_ids in zip(compared, pools, documents, strict=True)
    ]


def _row(compared: _Compared, index: SourceIndex, cosines: _Cosines) -> ClaimColumns:
    claim, answered, citations = compared.claim, compared.answered, compared.citations
    alone = "" if claim.self_contained is None else f"\x1f{claim.self_contained}"
    content = f"{answered['pair_id']}\x1f{claim.start}\x1f{claim.end}\x1f{claim.text}{alone}"
    return {
        "claim_id": hash_text(content)[:32],
        "pair_id": answered["pair_id"],
        "batch": answered["batch"],
        "position": compared.position,
        "text": claim.text,
        "self_contained": claim.self_contained,
        "split_by": claim.split_by,
        "split_reason": claim.split_reason,
        "start": claim.start,
        "end": claim.end,
        "fragment": compared.fragment,
        **_evidence_columns(compared, index, cosines.units),
        "citation_status": citations.status,
        "citation_reason": citations.reason,
        "similarity": max([*cosines.units, *cosines.chunks], default=None) if cosines.chunks else None,
        "chunk_similarity": max(cosines.documents, default=None),
        "quotes": [_quote_row(check, index) for check in citations.checks],
        "candidate_chunk_ids": _candidates(compared, cosines)[:_MOST_CANDIDATE_CHUNKS],
    }


def _candidates(compared: _Compared, cosines: _Cosines) -> list[str]:
    """Return the chunks cited, the likeliest first: by words and by cosine, their ranks fused."""
    cited = compared.citations.chunk_ids
    near = sorted(range(len(cosines.chunks)), key=lambda place: -round(cosines.chunks[place], 6))
    orders = list(dict.fromkeys(unit.chunk_id for unit in compared.units)), [cited[place] for place in near]
    scores: dict[str, float] = dict.fromkeys(cited, 0.0)
    for order in orders:
        for rank, chunk_id in enumerate(order):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1 / (rank + 1)
    return sorted(scores, key=lambda chunk_id: -scores[chunk_id])


def _quote_row(check: QuoteCheck, index: SourceIndex) -> QuoteStruct:
    """Return a row of the column quotes for a quote."""
    source = None if check.chunk_id is None else index.sources[check.chunk_id]
    placed = {} if source is None else source.placed(check.start, check.end)
    return {
        "given": check.quote,
        "found": placed.get("quote"),
        "document_id": placed.get("document_id"),
        "chunk_id": check.chunk_id,
        "start": placed.get("start"),
        "end": placed.get("end"),
        "kind": check.kind,
    }


def _evidence_columns(compared: _Compared, index: SourceIndex, cosines: Sequence[float]) -> ClaimColumns:
    """Return the columns of the evidence and of what it proves of the claim.

    The evidence of a claim that no unit proves or denies is the unit nearest by words and cosine.
    """
    if not compared.units:
        return {"unproved": list(compared.proof.doubts)}
    stated, proof = compared.stated, compared.proof
    unit, _ = max(
        zip(compared.units, cosines or [0.0] * len(compared.units), strict=True),
        key=lambda item: round((recall(stated.stem_set, item[0].reading.stem_set) or 0.0) + item[1], 6),
    )
    source = index.sources[unit.chunk_id]
    headings = read("\n".join(source.headings), source.language)
    denied = [] if proof.denial is None else [f"{proof.denial.reason}: {proof.denial.words}"]
    placed = source.placed(unit.start, unit.end)
    return {
        "token_recall": recall(stated.stem_set, unit.reading.stem_set | headings.stem_set),
        "proved_by": proof.kind if proof.is_proved else None,
        "unproved": list(proof.doubts),
        "denied": denied,
        "scope_differs": bool(missing_figures(stated, [unit.reading, headings])),
        "proved_by_chunk_id": compared.elsewhere,
        "evidence_doubt": source.doubt(unit.start, unit.end),
        **{f"evidence_{name}": value for name, value in placed.items()},
    }
