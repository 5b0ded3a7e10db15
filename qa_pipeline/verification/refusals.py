"""Was it right to refuse? Whether a set of chunks holds an answer to a question that was refused.

A chunk on the question's subject need not answer it, so the sentences of the likeliest chunks are looked at
one by one: on public sets of answerable and unanswerable questions the best sentence tells more than the best
chunk. Recognising a refusal is `qa_pipeline.text.refusals`, the pair's verdict the ledger's business.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.models.base import Encoder, Vectors
from qa_pipeline.records import index_text
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.tables import REFUSALS
from qa_pipeline.text.injection import blank_injections
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.evidence import ChunkVectors, ChunkWords, TextVectors, windows

Row = dict[str, Any]
_LOOKED_INTO = 5
_RECALL_LOW = 0.50
"""A chunk with fewer of a question's words is about something else, if no vector is near either."""
_RECALL_HIGH = 0.80
"""A sentence with so many of a question's words answers it, where one is near by vector too."""
_QUESTION_WORDS = 2
"""Content words without which it is unclear what a question asks."""


class Searched:
    """Chunks made ready to be searched; injections in them count for nothing."""

    def __init__(self, chunks: pl.DataFrame, embedder: Encoder, embeddings: pl.DataFrame | None) -> None:
        columns = chunks.select("chunk_id", "section_path", "text", "language")
        self.texts: dict[str, str] = {}
        indexed: dict[str, str] = {}
        for chunk_id, path, text, language in columns.iter_rows():
            self.texts[chunk_id] = blank_injections(text, language)
            indexed[chunk_id] = index_text(path, self.texts[chunk_id])
        self.languages: Mapping[str, str] = dict(chunks.select("chunk_id", "language").iter_rows())
        self.words = ChunkWords(indexed, self.languages)
        vectors = ChunkVectors(embeddings, indexed, embedder)
        vectors.load(indexed)
        self._ids = list(indexed)
        self._matrix = vectors.matrix(self._ids)

    def nearest(self, vector: Vectors, most: int) -> list[tuple[str, float]]:
        """Chunks with the best cosines to a vector, best first, of equals the first; and the cosines."""
        if not self._ids:
            return []
        cosines = self._matrix @ vector
        places = np.argsort(-cosines, kind="stable")[:most]
        return [(self._ids[place], float(cosines[place])) for place in places]

    def sentences(self, chunk_id: str) -> list[str]:
        """The sentences of a chunk."""
        text, language = self.texts[chunk_id], self.languages[chunk_id]
        return [text[start:end] for start, end, _ in windows(text, language, 1)]


def answer_signals(questions: Sequence[tuple[str, str]], searched: Searched, embedder: Encoder) -> list[Row]:
    """Signals of each question, given with its language, in order.

    Returns:
        The columns of the refusals table that tell what was looked at and how near it came.
    """
    vectors = TextVectors([text for text, _ in questions], embedder)
    likely = [_likely(text, language, searched, vectors) for text, language in questions]
    pieces = {i: searched.sentences(i) for one in likely for i in one}
    sentence_vectors = TextVectors([text for one in pieces.values() for text in one], embedder)
    return [
        _signals(text, language, one, pieces, searched, vectors, sentence_vectors)
        for (text, language), one in zip(questions, likely, strict=True)
    ]


def _likely(question: str, language: str, searched: Searched, vectors: TextVectors) -> list[str]:
    """The chunks worth looking into: the nearest by vector, and those that hold most of its rare words."""
    near = searched.nearest(vectors.of(question), _LOOKED_INTO)
    held = searched.words.best(read(question, language).terms, _LOOKED_INTO)
    return list(dict.fromkeys([*(i for i, _ in near), *(i for i, _ in held)]))


def _signals(
    question: str,
    language: str,
    likely: Sequence[str],
    pieces: Mapping[str, Sequence[str]],
    searched: Searched,
    vectors: TextVectors,
    sentence_vectors: TextVectors,
) -> Row:
    terms = read(question, language).terms
    found = searched.words.best(terms, 1)
    near = searched.nearest(vectors.of(question), 1)
    sentences = [(i, text) for i in likely for text in pieces[i]]
    weights = {term: searched.words.rarity(term) for term in set(terms)}
    shares = [_share(text, searched.languages[i], weights) for i, text in sentences]
    cosines = [float(sentence_vectors.of(text) @ vectors.of(question)) for _, text in sentences]
    best = max(range(len(shares)), key=lambda n: (shares[n], cosines[n], -n), default=None)
    return {
        "best_chunk_id": found[0][0] if found else (near[0][0] if near else None),
        "similarity": near[0][1] if near else None,
        "token_recall": found[0][1] if found else (0.0 if terms and searched.texts else None),
        "best_sentence": None if best is None else sentences[best][1],
        "sentence_recall": None if best is None else shares[best],
        "sentence_similarity": max(cosines, default=None),
        "question_words": len(set(terms)),
        "chunks_searched": len(searched.texts),
        "sentences_looked_at": len(sentences),
    }


def _share(sentence: str, language: str, weights: Mapping[str, float]) -> float:
    """Share of the question's words, weighted by rarity, that a sentence holds."""
    total = sum(weights[term] for term in sorted(weights))
    held = read(sentence, language).term_set
    shared = sum(weights[term] for term in sorted(weights) if term in held)
    return round(shared / total, 9) if total else 0.0


def outcome(settings: VerificationSettings) -> pl.Expr:
    """What the signals amount to; a missing one proves nothing.

    Nothing near, in chunks or in single sentences, and most of the question's words in no chunk, or next to
    no shared words: `correct_refusal`. One sentence near with nearly all the words: `refused_answerable`.
    Anything else is `unproved_refusal`, a matter for people. So is the refusal of a question of so few words
    that it is unclear what it asks.
    """
    words = pl.col("token_recall")
    far = (pl.col("similarity") < settings.refusal_similarity_low) & (
        pl.col("sentence_similarity") < settings.refusal_similarity_low
    )
    alien = (words < settings.refusal_recall_none) & (pl.col("question_words") >= _QUESTION_WORDS)
    low = alien | (far & (words < _RECALL_LOW))
    high = (pl.col("sentence_similarity") >= settings.refusal_similarity_high) & (
        pl.col("sentence_recall") >= _RECALL_HIGH
    )
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

    Args:
        pairs: the pairs table; only drafted pairs of coverage none are looked at.
        chunks: the chunks of the batch that is searched.
        embedder: embeds the questions, likely sentences, and the chunks that `embeddings` lacks.
        settings: thresholds.
        embeddings: vectors of chunks already computed.
    """
    refused = refused_pairs(pairs)
    if not refused.height:
        return REFUSALS.empty()
    questions = list(refused.select("question", "language").iter_rows())
    signals = answer_signals(questions, Searched(chunks, embedder, embeddings), embedder)
    known = {name: dtype for name, dtype in REFUSALS.schema.items() if name in signals[0]}
    scored = pl.concat(
        [refused.select("pair_id", "batch"), pl.DataFrame(signals, schema=known)], how="horizontal"
    )
    return decide_refusals(scored, settings)


def decide_refusals(scored: pl.DataFrame, settings: VerificationSettings) -> pl.DataFrame:
    """The outcome of each refusal from its stored scores; a missing score proves nothing.

    Args:
        scored: rows of the refusals table, whose outcomes are decided anew.
        settings: thresholds.
    """
    decided = scored.select(SCORED.keys()).with_columns(
        outcome=outcome(settings), thresholds_id=pl.lit(settings.thresholds_id)
    )
    return REFUSALS.conform(decided.select(REFUSALS.schema.names()))


def refused_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs that refuse to answer a question."""
    return pairs.filter(
        pl.col("status") == "drafted", pl.col("coverage") == "none", pl.col("question").is_not_null()
    )
