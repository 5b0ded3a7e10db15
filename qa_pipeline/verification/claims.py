"""Answers become claims, each with its best evidence and every local score.

A claim is cut from its answer (`splitting.py`), given its citations (`citations.py`) and compared with the
units of the cited chunks (`proof.py`). No threshold is applied here: `deciding.py` decides.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import polars as pl

from qa_pipeline.models.base import Encoder
from qa_pipeline.models.text_vectors import ChunkVectors, TextVectors
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.rows import ClaimColumns, DocumentRow, DraftedPairRow, QuoteStruct
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
from qa_pipeline.verification.splitting import Claim, is_fragment, split_claims
from qa_pipeline.verification.units import Unit, best_units

_GROUP = 1024
"""Pairs whose texts are embedded in one call: larger groups share more texts and need more memory."""
_MOST_CANDIDATE_CHUNKS = 16
"""Chunks stored with a claim for the steps that read whole passages, which read fewer still."""
_CANDIDATES = 12
"""Units embedded for a claim: embedding is what costs, and the best is nearly always among the first."""
_SEARCHED_CHUNKS = 8
"""Chunks searched for a claim that nothing was cited for, as many as the cross-encoder reads."""


@dataclass(frozen=True)
class Batch:
    """The documents and chunks that the pairs of a batch are compared with."""

    references: Sources
    documents: Mapping[str, DocumentRow]
    index: SourceIndex

    @classmethod
    def of(cls, documents: pl.DataFrame, chunks: pl.DataFrame) -> "Batch":
        """Return the batch of these tables."""
        return cls(
            references=Sources(documents, chunks),
            documents={row["document_id"]: row for row in typed_rows(documents, DocumentRow)},
            index=SourceIndex(sources_of(documents, chunks)),
        )


@dataclass(slots=True)
class _Task:
    """A claim with everything that it is compared with."""

    pair: DraftedPairRow
    position: int
    claim: Claim
    citations: ClaimCitations
    fragment: bool
    proof: Proof
    units: Sequence[Unit]
    """The units that may be its evidence, the best by words first; the one that proves it alone."""
    elsewhere: str | None

    @property
    def stated(self) -> str:
        """Return the claim as it is understood alone."""
        return self.claim.text if self.claim.self_contained is None else self.claim.self_contained

    @property
    def compared_text(self) -> str:
        """Return the text that is embedded: a fragment follows its question."""
        alone = not self.fragment or self.claim.self_contained is not None
        return self.stated if alone else f"{self.pair['question']} {self.stated}"


@dataclass(frozen=True, slots=True)
class _Cosines:
    """Cosines of a claim to its units and the best to a chunk; empty and None where unknown."""

    units: Sequence[float] = field(default_factory=tuple)
    cited_chunks: float | None = None
    cited_documents: float | None = None


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
    """Split the answers of drafted pairs and compare every claim with what it cites.

    Args:
        pairs: refusals (coverage none) and failed pairs have no claims.
        documents: the batch's documents; evidence offsets point into their text.
        chunks: the batch's chunks.
        embedder: embeds claims and units, in one call for a group of pairs; None leaves similarities unknown.
        notify: called with the number of pairs that are done.
        embeddings: vectors of chunks already computed, so that none is embedded twice.
        model_claims: claims by pair, where a model cut the answer; the others are cut by the rules.
        one_corpus: whether a passage that another pair cites may show that a citation is wrong.
        to_the_question: whether evidence must speak of what is asked; that of a fragment always must.

    Raises:
        SettingsError: the embedding model gives vectors without a direction.
    """
    batch = Batch.of(documents, chunks)
    texts = {chunk_id: source.text for chunk_id, source in batch.index.sources.items()}
    vectors = None if embedder is None else ChunkVectors(embeddings, texts, embedder)
    answered = pairs.filter(pl.col("status") == "drafted", pl.col("coverage") != "none")
    rows: list[ClaimColumns] = []
    done = 0
    for group in answered.iter_slices(_GROUP):
        tasks: list[_Task] = []
        for pair in typed_rows(group, DraftedPairRow):
            claims = (model_claims or {}).get(pair["pair_id"]) or _claims_of(pair["answer"], pair["language"])
            tasks += _tasks(pair, claims, batch, one_corpus=one_corpus, to_the_question=to_the_question)
        cosines = [_Cosines() for _ in tasks]
        if embedder is not None and vectors is not None:
            cosines = _cosines(tasks, batch, embedder, vectors)
        rows.extend(_row(task, batch, of_task) for task, of_task in zip(tasks, cosines, strict=True))
        done += group.height
        notify(done, answered.height)
    return CLAIMS.frame(rows)


@functools.lru_cache(maxsize=1024)
def _claims_of(answer: str, language: str) -> tuple[Claim, ...]:
    """Return the claims of an answer, cached: an evaluation compares each with several texts."""
    return tuple(split_claims(answer, language))


def _tasks(
    pair: DraftedPairRow,
    claims: Sequence[Claim],
    batch: Batch,
    *,
    one_corpus: bool,
    to_the_question: bool,
) -> Iterator[_Task]:
    """Yield the claims of a pair with their citations and what proves them."""
    language, index = pair["language"], batch.index
    context = Context(read(pair["question"], language), read(pair["answer"], language), to_the_question)
    foreign = in_other_language(pair["answer"], language)
    texts = {chunk_id: source.text for chunk_id, source in index.sources.items()}
    cited = cite_claims(pair, claims, batch.references, texts)
    for position, (claim, cited_alone) in enumerate(zip(claims, cited, strict=True)):
        citations = cited_alone
        stated = read(claim.text if claim.self_contained is None else claim.self_contained, language)
        fragment = is_fragment(claim.text, len(stated.stem_set))
        wanted = stated.stem_set | (context.question.stem_set if fragment else frozenset())
        if citations.status == "uncited" and not pair["citations"] and pair["origin"] != "generated":
            # a pair that was drafted here was asked to cite, and stays uncited
            nearest = index.best_chunks(wanted, _SEARCHED_CHUNKS)
            citations = ClaimCitations(FOUND_BY_SEARCH, None, tuple(i for i, _ in nearest))
        proof = prove(stated.written, fragment, context, index, citations.chunk_ids)
        if foreign is not None:
            proof = Proof(proof.unit, None, (f"the answer is in another language ({foreign})",))
        units: Sequence[Unit] = [] if proof.unit is None else [proof.unit]
        elsewhere = None
        if proof.unit is None:
            of_chunks = chain.from_iterable(index.units(chunk_id) for chunk_id in citations.chunk_ids)
            units = best_units(wanted, list(of_chunks), _CANDIDATES)
            if one_corpus:
                elsewhere = _proving_chunk(stated, context, index, citations.chunk_ids)
        yield _Task(pair, position, claim, citations, fragment, proof, units, elsewhere)


def _proving_chunk(claim: Reading, context: Context, index: SourceIndex, cited: Sequence[str]) -> str | None:
    """Return a chunk that is not cited and proves the claim: the citation is wrong then."""
    others = dict.fromkeys(unit.chunk_id for unit in index.equal_to(claim) if unit.chunk_id not in cited)
    proving = (i for i in others if prove(claim.written, False, context, index, [i]).is_proved)
    return next(proving, None)


def _cosines(
    tasks: Sequence[_Task], batch: Batch, embedder: Encoder, vectors: ChunkVectors
) -> list[_Cosines]:
    """Return the cosines of claims, whose texts are embedded in one call."""
    documents = [_cited_documents(task, batch) for task in tasks]
    vectors.load(chunk_id for chunk_ids in documents for chunk_id in chunk_ids)
    pools = [[unit.text for unit in task.units] for task in tasks]
    texts = TextVectors(chain((task.compared_text for task in tasks), *pools), embedder)
    return [
        _Cosines(
            texts.cosines(task.compared_text, pool),
            vectors.best(texts.of(task.compared_text), task.citations.chunk_ids),
            vectors.best(texts.of(task.compared_text), chunk_ids),
        )
        for task, pool, chunk_ids in zip(tasks, pools, documents, strict=True)
    ]


def _cited_documents(task: _Task, batch: Batch) -> list[str]:
    """Return all chunks of the documents whose chunks are cited."""
    documents = dict.fromkeys(batch.index.sources[i].document_id for i in task.citations.chunk_ids)
    return [i for document in documents for i in batch.references.chunks_of(document)]


def _row(task: _Task, batch: Batch, cosines: _Cosines) -> ClaimColumns:
    """Return the row of the claims table."""
    claim, pair_id, citations = task.claim, task.pair["pair_id"], task.citations
    text_alone = "" if claim.self_contained is None else f"\x1f{claim.self_contained}"
    content = f"{pair_id}\x1f{claim.start}\x1f{claim.end}\x1f{claim.text}{text_alone}"
    candidates = dict.fromkeys([*(unit.chunk_id for unit in task.units), *citations.chunk_ids])
    best = None
    if cosines.cited_chunks is not None:
        best = max([*cosines.units, cosines.cited_chunks])
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
        "fragment": task.fragment,
        **_evidence_columns(task, batch, cosines.units),
        "citation_status": citations.status,
        "citation_reason": citations.reason,
        "similarity": best,
        "chunk_similarity": cosines.cited_documents,
        "quotes": [_quote_row(check, batch) for check in citations.checks],
        "candidate_chunk_ids": list(candidates)[:_MOST_CANDIDATE_CHUNKS],
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
    source = batch.index.sources[check.chunk_id]
    start, end = source.start + check.start, source.start + check.end
    return {
        **row,
        "found": source.document_text[start:end],
        "document_id": source.document_id,
        "chunk_id": check.chunk_id,
        "start": start,
        "end": end,
    }


def _evidence_columns(task: _Task, batch: Batch, cosines: Sequence[float]) -> ClaimColumns:
    """Return the columns of the evidence and of what it proves of the claim.

    The evidence of a claim that no unit proves or denies is the unit nearest by words and cosine.
    """
    if not task.units:
        return {}
    stated = read(task.stated, task.pair["language"])
    unit = max(
        zip(task.units, cosines or [0.0] * len(task.units), strict=True),
        key=lambda item: round((recall(stated.stem_set, item[0].reading.stem_set) or 0.0) + item[1], 6),
    )[0]
    source = batch.index.sources[unit.chunk_id]
    document = batch.documents[source.document_id]
    start = source.start + unit.start
    pages = (page["number"] for page in document["pages"] if page["start"] <= start < page["end"])
    headings = read("\n".join(source.headings), source.language)
    spoken = unit.reading.stem_set | headings.stem_set
    denial = task.proof.denial
    return {
        "token_recall": recall(stated.stem_set, spoken),
        "proved_by": task.proof.kind if task.proof.is_proved else None,
        "unproved": list(task.proof.doubts),
        "denied": [] if denial is None else [f"{denial.reason}: {denial.words}"],
        "scope_differs": bool(missing_figures(stated, [unit.reading, headings])),
        "proved_by_chunk_id": task.elsewhere,
        "evidence_doubt": source.doubt(unit.start, unit.end),
        "evidence_document_id": source.document_id,
        "evidence_content_sha256": document["content_sha256"],
        "evidence_chunk_id": unit.chunk_id,
        "evidence_start": start,
        "evidence_end": start + len(unit.text),
        "evidence_page": next(pages, None),
        "evidence_quote": unit.text,
    }
