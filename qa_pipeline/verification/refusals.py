"""Was it right to refuse? Whether a set of chunks holds an answer to a question that was refused.

A chunk on the question's subject need not answer it, so the sentences of the likeliest chunks are looked at
one by one: on public sets of answerable and unanswerable questions the best sentence tells more than the best
chunk.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.models.base import Encoder, Vectors
from qa_pipeline.models.text_vectors import ChunkVectors, TextVectors
from qa_pipeline.records import index_text
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.tables import REFUSALS
from qa_pipeline.text.injection import blank_injections
from qa_pipeline.text.language import in_other_language
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.verification.sources import Source, SourceIndex
from qa_pipeline.verification.units import units_of

_LOOKED_INTO = 5
"""Chunks by words and by vectors each whose sentences may answer the question: an answer that the batch holds
is rarely further down, and every sentence is compared."""
_SEARCHED = 0.9
"""Share of a batch's text in the language of a question from which its words were looked for in the batch.

A manual has a few pieces in another language; a batch in two languages may answer in the other one.
"""
_RECALL_NONE = 0.20
"""A refusal is correct when no chunk holds this share of the question's words."""
_SIMILARITY_LOW = 0.40
"""A refusal is also correct when every chunk and sentence stays below this cosine, with few shared words."""
_SIMILARITY_HIGH = 0.70
"""A refusal is wrong when a sentence reaches this cosine and holds nearly all of the question's words."""
_RECALL_LOW = 0.50
"""A chunk with fewer of a question's words is about something else, if no vector is near either."""
_RECALL_HIGH = 0.80
"""A sentence with so many of a question's words answers it, where one is near by vector too."""
_QUESTION_WORDS = 2
"""Content words without which it is unclear what a question asks."""


class _Searched:
    """The chunks made ready to be searched; injections in them count for nothing."""

    def __init__(self, chunks: pl.DataFrame, embedder: Encoder, embeddings: pl.DataFrame | None) -> None:
        self.readings: dict[str, Reading] = {}
        indexed: dict[str, str] = {}
        columns = chunks.select("chunk_id", "section_path", "text", "language")
        for chunk_id, path, text, language in columns.iter_rows():
            self.readings[chunk_id] = read(blank_injections(text, language), language)
            indexed[chunk_id] = index_text(path, self.readings[chunk_id].written)
        self._lengths: Counter[str] = Counter()
        for reading in self.readings.values():
            self._lengths[reading.language] += len(reading.written)
        sources = {i: Source(i, "", text, self.readings[i].language, (), text) for i, text in indexed.items()}
        self.words = SourceIndex(sources)
        vectors = ChunkVectors(embeddings, indexed, embedder)
        vectors.load(indexed)
        self._ids = list(indexed)
        self._matrix = vectors.matrix(self._ids)

    def speaks(self, question: Reading) -> bool:
        """Return True if a question and nearly all chunks are in one language."""
        share = self._lengths[question.language] / max(self._lengths.total(), 1)
        return share >= _SEARCHED and in_other_language(question.written, question.language) is None

    def sentences(self, chunk_id: str) -> list[Reading]:
        """Return the sentences of a chunk."""
        reading = self.readings[chunk_id]
        return [unit.reading for unit in units_of(chunk_id, reading.written, reading.language)]

    def nearest(self, vector: Vectors, most: int) -> list[tuple[str, float]]:
        """Return the chunks with the best cosines to a vector, best first, and their cosines."""
        if not self._ids:
            return []
        cosines = self._matrix @ vector
        places = np.argsort(-cosines, kind="stable")[:most]
        return [(self._ids[place], float(cosines[place])) for place in places]


def _signals(
    questions: Sequence[Reading], searched: _Searched, embedder: Encoder
) -> Iterator[dict[str, Any]]:
    """Yield what was searched for each question and how near it came: the columns that are computed.

    Words that were looked for in chunks of another language have no recall: it would prove nothing.
    """
    vectors = TextVectors([question.written for question in questions], embedder)
    near = [searched.nearest(vectors.of(question.written), _LOOKED_INTO) for question in questions]
    by_words = [searched.words.best_chunks(question.stems, _LOOKED_INTO) for question in questions]
    sentences = [
        [sentence for i in dict.fromkeys(i for i, _ in likeliest) for sentence in searched.sentences(i)]
        for likeliest in (first + second for first, second in zip(near, by_words, strict=True))
    ]
    of_sentences = TextVectors((sentence.written for sentence in chain.from_iterable(sentences)), embedder)
    for question, nearest, worded, candidates in zip(questions, near, by_words, sentences, strict=True):
        weights = {term: searched.words.rarity(term) for term in sorted(question.stem_set)}
        shares = [_share(sentence, weights) for sentence in candidates]
        cosines = [
            float(of_sentences.of(sentence.written) @ vectors.of(question.written)) for sentence in candidates
        ]
        best = max(range(len(shares)), key=lambda n: (shares[n], cosines[n], -n), default=None)
        best_chunks = worded or nearest
        recall = worded[0][1] if worded else 0.0 if weights and searched.readings else None
        yield {
            "best_chunk_id": best_chunks[0][0] if best_chunks else None,
            "similarity": nearest[0][1] if nearest else None,
            "token_recall": recall if searched.speaks(question) else None,
            "best_sentence": None if best is None else candidates[best].written,
            "sentence_recall": None if best is None else shares[best],
            "sentence_similarity": max(cosines, default=None),
            "question_words": len(weights),
            "chunks_searched": len(searched.readings),
            "sentences_looked_at": len(candidates),
        }


def _share(sentence: Reading, weights: Mapping[str, float]) -> float:
    """Return the share of the question's words, weighted by rarity, that a sentence holds."""
    total = sum(weights.values())
    shared = sum(weight for term, weight in weights.items() if term in sentence.stem_set)
    return round(shared / total, 9) if total else 0.0


def _outcome() -> pl.Expr:
    """Return the outcome that the signals amount to; a missing one proves nothing.

    Nothing near, in chunks or in single sentences, and most of the question's words in no chunk, or next to
    no shared words: `correct_refusal`. One sentence near with nearly all the words: `refused_answerable`.
    Anything else is `unproved_refusal`, a matter for people. So is the refusal of a question of so few words
    that it is unclear what it asks.
    """
    words = pl.col("token_recall")
    far = (pl.col("similarity") < _SIMILARITY_LOW) & (pl.col("sentence_similarity") < _SIMILARITY_LOW)
    alien = (words < _RECALL_NONE) & (pl.col("question_words") >= _QUESTION_WORDS)
    low = alien | (far & (words < _RECALL_LOW))
    high = (pl.col("sentence_similarity") >= _SIMILARITY_HIGH) & (pl.col("sentence_recall") >= _RECALL_HIGH)
    return (
        pl.when(low)
        .then(pl.lit("correct_refusal"))
        .when(high)
        .then(pl.lit("refused_answerable"))
        .otherwise(pl.lit("unproved_refusal"))
    )


SCORED = {n: t for n, t in REFUSALS.schema.items() if n not in ("outcome", "thresholds_id")}
"""The columns that are computed, and not decided."""


def judge_refusals(
    pairs: pl.DataFrame,
    chunks: pl.DataFrame,
    embedder: Encoder,
    settings: VerificationSettings,
    *,
    embeddings: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Weigh every refusal against all chunks of a batch.

    Only drafted pairs of coverage none are refusals.
    """
    refused = pairs.filter(
        pl.col("status") == "drafted", pl.col("coverage") == "none", pl.col("question").is_not_null()
    )
    if not refused.height:
        return REFUSALS.empty()
    questions = [read(*of) for of in refused.select("question", "language").iter_rows()]
    signals = _signals(questions, _Searched(chunks, embedder, embeddings), embedder)
    ids = refused.select("pair_id", "batch").iter_rows(named=True)
    rows = [{**of_pair, **columns} for of_pair, columns in zip(ids, signals, strict=True)]
    return decide_refusals(pl.DataFrame(rows, schema=SCORED), settings)


def decide_refusals(scored: pl.DataFrame, settings: VerificationSettings) -> pl.DataFrame:
    """Return the outcome of each refusal from its stored scores; a missing score proves nothing."""
    decided = scored.select(SCORED.keys()).with_columns(
        outcome=_outcome(), thresholds_id=pl.lit(settings.thresholds_id)
    )
    return REFUSALS.conform(decided.select(REFUSALS.schema.names()))
