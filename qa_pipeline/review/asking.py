"""Answers to questions about a batch, verified step by step by the stages of the pipeline.

The offline rules can only answer their own questions. For others the answer is a sentence of the passages
that source verification accepts, or the refusal text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.curation.ledger import build_verdicts
from qa_pipeline.errors import InputError, TableError
from qa_pipeline.generation.answer_quality import mark_flawed
from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.generation.passages import Unit, sentences_of, units_of
from qa_pipeline.pipeline import stages
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import Passage, passages_by_id
from qa_pipeline.retrieval.chunks import ChunkRow
from qa_pipeline.retrieval.search import Retriever, load_index
from qa_pipeline.review.answer import Answer, sources_of
from qa_pipeline.review.batches import AskedBatch
from qa_pipeline.review.pair import answer_spans, claim_views
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage import tables
from qa_pipeline.storage.files import version_of
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.table_schema import PairRow, typed_rows
from qa_pipeline.text.language import segment_language
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.verification.llm_verifier import verify_claims

ASKED = "asked"
"""Batch of these calls in the store of replies, so that they do not count as costs of another batch."""
MOST_CHARACTERS = 1_000
"""Characters of a question."""
_WAIT_MINUTES = 0.5
"""Time to wait for a model server that is away, shorter than in a run."""
_MOST_OPEN = 4
"""Batches whose search index stays in memory."""
_MOST_TRIED = 16
"""Most similar sentences to verify; each costs about 25 ms."""


@dataclass(frozen=True, slots=True)
class _OpenBatch:
    """A batch in memory."""

    documents: pl.DataFrame
    chunks: pl.DataFrame
    embeddings: pl.DataFrame
    retriever: Retriever


class Asking:
    """Hold the models, and the search indexes of recent batches."""

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self._read_cached = lru_cache(_MOST_OPEN)(self._read)

    def open(self, batch: AskedBatch) -> _OpenBatch:
        """Return the tables and the search index of a batch, read again when they change."""
        layout, name = batch.layout, batch.name
        versions = version_of(layout.index(name)), version_of(layout.table(tables.CHUNKS.name, name))
        return self._read_cached(layout, name, versions)

    def _read(self, layout: Layout, batch: str, _versions: tuple[object, ...]) -> _OpenBatch:
        """Read the tables and the index of a batch; the versions are part of the key of the cache."""
        index, embedder = layout.index(batch), self.resources.embedder
        try:
            documents, chunks, embeddings = (
                read_table(layout.table(table.name, batch), table)
                for table in (tables.DOCUMENTS, tables.CHUNKS, tables.EMBEDDINGS)
            )
            shard = load_index(index.read_bytes(), embeddings, embedder, str(index))
        except (TableError, OSError) as error:
            raise InputError(
                f"batch {batch!r} of {layout.out} cannot be searched ({error}); run qa-pipeline run first"
            ) from error
        retriever = Retriever(chunks, shard, embedder, self.resources.settings.retrieval)
        return _OpenBatch(documents, chunks, embeddings, retriever)


def impatient(settings: Settings) -> Settings:
    """Return settings with a short wait for a model server that is away."""
    minutes = min(settings.llm.wait_minutes, _WAIT_MINUTES)
    return settings.model_copy(update={"llm": settings.llm.model_copy(update={"wait_minutes": minutes})})


def checked_question(text: str) -> str:
    """Return a question on one line, or raise InputError if it is empty or too long."""
    question = " ".join(text.split())
    if not question:
        raise InputError("the question is empty; write a question")
    if len(question) > MOST_CHARACTERS:
        raise InputError(
            f"the question has {len(question):,} characters, but at most {MOST_CHARACTERS:,} are allowed; "
            "upload a longer text as a document"
        )
    return question


def answer_question(asking: Asking, batch: AskedBatch, question: str) -> Iterator[Answer]:
    """Yield a draft answer, then the answer after local verification, the verifying model, and the judge."""
    resources, settings = asking.resources, asking.resources.settings
    opened = asking.open(batch)
    question_row = _question_row(opened, question)
    # claims are compared with the whole documents of the retrieved passages
    is_passage = pl.col("chunk_id").is_in(question_row["passage_ids"])
    document_ids = opened.chunks.filter(is_passage)["document_id"].unique()
    documents, chunks = (
        frame.filter(pl.col("document_id").is_in(document_ids.implode()))
        for frame in (opened.documents, opened.chunks)
    )
    vectors = opened.embeddings.join(chunks, on="chunk_id", how="semi", maintain_order="left")
    retrieved = _RetrievedDocuments(resources, batch, documents, chunks, vectors)
    pair = _draft(retrieved, opened.chunks, question_row)
    yield retrieved.answer(pair)
    if pair["status"][0] != "drafted" or pair["coverage"][0] == "none":  # a refusal makes no claims
        return
    claims = retrieved.claims(pair)
    verdicts = verify_claims(claims, pair, sources={}, settings=settings.verification)
    yield retrieved.answer(pair, claims, verdicts)
    if "undecided" in verdicts["verdict"] and resources.reviewer("verifier") is not None:
        verdicts = stages.decide_claims(
            retrieved.run, claims, pair, tables.DECISIONS.empty(), documents=documents, chunks=chunks
        )
        yield retrieved.answer(pair, claims, verdicts)
    assessments = stages.judge_pairs(
        retrieved.run, pairs=pair, claims=claims, claim_verdicts=verdicts, chunks=chunks
    )
    yield retrieved.answer(pair, claims, verdicts, assessments)


def _question_row(opened: _OpenBatch, question: str) -> dict[str, Any]:
    """Return a question as a row of questions, with its language and the retrieved passages."""
    commonest = opened.documents["language"].drop_nulls().mode().sort()  # several in a tie
    detected = segment_language(question, commonest[0] if commonest.len() else "en")
    language = detected if detected in LANGUAGES else "en"
    (retrieved,) = opened.retriever.retrieve([question], [language])
    chunk_ids = [chunk_id for chunk_id, _ in retrieved]
    return {
        "question_id": "0",
        "batch": ASKED,
        "question": question,
        "question_type": "imported",  # as of all questions that no model asked
        "target_chunk_ids": chunk_ids[:1],  # one: it is no question of two hops
        "passage_ids": chunk_ids,
        "passage_scores": [score for _, score in retrieved],
        "language": language,
        "status": "kept",
        "prompt_hash": "",
        "model": ASKED,
    }


def _draft(
    retrieved: "_RetrievedDocuments", chunks: pl.DataFrame, question_row: Mapping[str, Any]
) -> pl.DataFrame:
    """Draft the answer of a question; if the offline rules refuse, answer by a sentence of its passages."""
    from qa_pipeline.generation.extractive import ExtractiveModel

    settings, rules = retrieved.resources.settings, ExtractiveModel()
    model = retrieved.resources.generator or rules
    pair = draft_answers(
        tables.QUESTIONS.frame([question_row]),
        chunks,
        model,
        settings.generation.model_copy(update={"drafts_per_question": 1}),
        settings.llm,
        **stages.drafting_rules(retrieved.resources),
    )
    if model.name == rules.name and pair["coverage"][0] == "none":  # the rules refuse
        return _answer_by_sentence(retrieved, pair, question_row["passage_ids"])
    return pair


@dataclass(frozen=True)
class _RetrievedDocuments:
    """The documents of retrieved passages, and their tables."""

    resources: Resources
    batch: AskedBatch
    documents: pl.DataFrame
    chunks: pl.DataFrame
    embeddings: pl.DataFrame

    @property
    def run(self) -> stages.StageRun:
        """Return the run for the stages of these documents."""
        return stages.StageRun(self.resources, ASKED)

    def claims(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return the claims of answers, compared with these documents."""
        return stages.split_and_score(self.run, pairs, self.documents, self.chunks, self.embeddings)

    def answer(
        self,
        pair: pl.DataFrame,
        claims: pl.DataFrame | None = None,
        claim_verdicts: pl.DataFrame | None = None,
        assessments: pl.DataFrame | None = None,
    ) -> Answer:
        """Return the answer of a pair, with the verdict that it gets by these tables."""
        assessments = tables.ASSESSMENTS.empty() if assessments is None else assessments
        row = next(typed_rows(pair, PairRow))
        chunks = {chunk["chunk_id"]: chunk for chunk in typed_rows(self.chunks, ChunkRow)}
        paths = dict(self.documents.select("document_id", "path").iter_rows())
        views, verdict = [], None
        if claims is not None and claim_verdicts is not None:
            views = list(claim_views(claims, claim_verdicts, chunks, paths))
            empty_tables = ("refusals", "round_trips", "canaries", "decisions")  # of a new pair
            verdict = build_verdicts(
                pairs=pair,
                claims=claims,
                claim_verdicts=claim_verdicts,
                assessments=assessments,
                **{name: tables.STORED[name].empty() for name in empty_tables},
                verification=self.resources.settings.verification,
                judging=self.resources.settings.judging,
            ).row(0, named=True)
        upload = self.batch.title if self.batch.is_upload else None
        texts = [row["question"] or "", row["answer"] or ""]
        question_vector, answer_vector = self.resources.embedder.encode(texts)
        return Answer(
            sources=sources_of(views, self.documents, chunks, row, upload=upload),
            similarity=max(float(question_vector @ answer_vector), 0.0),
            batch=self.batch,
            pair=row,
            passages=[chunks[chunk_id] for chunk_id in row["passage_ids"]],
            documents=self.documents,
            claims=views,
            spans=list(answer_spans(row["answer"] or "", views)),
            verdict=verdict,
            assessment=next(assessments.iter_rows(named=True), None),
        )


def _answer_by_sentence(
    retrieved: _RetrievedDocuments, refused: pl.DataFrame, passage_ids: Sequence[str]
) -> pl.DataFrame:
    """Return the pair with the first of `_likely_sentences` that verification accepts, or the refusal."""
    refused_pair = next(typed_rows(refused, PairRow))
    passages_of_documents = passages_by_id(retrieved.chunks)
    passages = {chunk_id: passages_of_documents[chunk_id] for chunk_id in passage_ids}
    likely = _likely_sentences(retrieved.resources, refused_pair["question"] or "", passages)
    rows = [_quoting_pair(refused_pair, chunk_id, sentence, passages) for chunk_id, sentence in likely]
    pairs = tables.PAIRS.frame(rows)  # each with a sentence as its answer, the most similar first
    # a person's question is answered as it is; only the sentences are checked
    pairs = mark_flawed(pairs, retrieved.chunks, ignore=("not_standalone", "copied_passage"))
    claims = retrieved.claims(pairs)
    verdicts = verify_claims(claims, pairs, sources={}, settings=retrieved.resources.settings.verification)
    by_pair = claims.join(verdicts.select("claim_id", "verdict"), on="claim_id").group_by("pair_id")
    # a flawed pair is not split into claims, so it has no row here and is not proved
    proved = by_pair.agg(is_proved=(pl.col("verdict") == "supported").all()).filter("is_proved")
    best = pairs.join(proved, on="pair_id", how="semi", maintain_order="left").head(1)
    return best if best.height else refused


def _likely_sentences(
    resources: Resources, question: str, passages: Mapping[str, Passage]
) -> list[tuple[str, Unit]]:
    """Return the sentences most similar to a question, the best first, with the ids of their chunks.

    Their cosine to the question is at least `generation.guard.similarity`.
    """
    candidates = list(_sentences(passages))
    vectors = resources.embedder.encode([question, *(sentence.text for _, sentence in candidates)])
    similarity = vectors[1:] @ vectors[0]  # of each sentence to the question
    most_similar = np.argsort(-similarity, kind="stable")[:_MOST_TRIED].tolist()
    least = resources.settings.generation.guard.similarity
    return [candidates[index] for index in most_similar if similarity[index] >= least]


def _sentences(passages: Mapping[str, Passage]) -> Iterator[tuple[str, Unit]]:
    """Yield the whole sentences of passages with the ids of their chunks."""
    for chunk_id, passage in passages.items():
        for unit in units_of(passage.text):
            if unit.kind not in ("prose", "item"):
                continue
            for sentence in sentences_of(unit, passage):
                # another beginning means the rest of a sentence
                if sentence.text[0].isupper() or sentence.text[0].isdigit():
                    yield chunk_id, sentence


def _quoting_pair(
    refused: PairRow, chunk_id: str, sentence: Unit, passages: Mapping[str, Passage]
) -> PairRow:
    """Return a refused pair with a sentence of a passage as its answer."""
    passage = passages[chunk_id]
    return {
        **refused,
        "pair_id": hash_parts(ASKED, refused["question"] or "", sentence.text)[:32],
        "answer": sentence.text,
        "coverage": "full",  # it answers the question
        "used_chunk_ids": [chunk_id],
        "citations": [
            {
                # the mark of the passage by its rank, as the prompt numbers passages
                "raw": f"[c{list(passages).index(chunk_id) + 1}]",
                "document_id": passage.document_id,
                "chunk_id": chunk_id,
                "quote": passage.text[sentence.start : sentence.end],  # with its line breaks
                "number": None,
                "resolution": "chunk",
            }
        ],
    }
