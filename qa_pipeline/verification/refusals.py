"""Check if a batch contains an answer to a refused question.

The sentences of the likeliest chunks are compared individually. On public sets of answerable and unanswerable
questions the best sentence predicts better than the best chunk.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from qa_pipeline.models.encoder import Encoder
from qa_pipeline.models.vector_cache import ChunkVectors, TextVectors
from qa_pipeline.retrieval.chunks import index_text
from qa_pipeline.storage.tables import REFUSALS
from qa_pipeline.text.injection import blank_injections
from qa_pipeline.text.language import in_other_language
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.verification.sources import Source, SourceIndex, units_of

_LOOKED_INTO = 5  # chunks by words, and as many by vectors, whose sentences may answer the question
_SEARCHED = 0.9  # minimum share of the batch's text in the language of the question for a search by words
_ALIEN = 0.20  # a refusal is correct if every chunk contains less than this share of the question's words
_FAR, _FEW = 0.40, 0.50
"""It is also correct if every chunk and sentence is below this cosine, and few words are shared."""
_NEAR, _NEARLY_ALL = 0.70, 0.80
"""It is wrong if a sentence reaches this cosine and contains this share of the question's words."""
_QUESTION_WORDS = 2  # minimum number of content words for a clear question


def judge_refusals(
    pairs: pl.DataFrame, chunks: pl.DataFrame, embedder: Encoder, *, embeddings: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Compare every refusal (a drafted pair of coverage "none") with all chunks of a batch."""
    refused = pairs.filter(
        pl.col("status") == "drafted", pl.col("coverage") == "none", pl.col("question").is_not_null()
    )
    if not refused.height:
        return REFUSALS.empty()
    batch = _Batch(chunks, embedder, embeddings)
    questions = refused.select("pair_id", "batch", "question", "language").iter_rows()
    rows = (
        {"pair_id": pair_id, "batch": name, **batch.score(read(question, language))}
        for pair_id, name, question, language in questions
    )
    return REFUSALS.frame(list(rows))


class _Batch:
    """The chunks of a batch, indexed for search without their injections."""

    def __init__(self, chunks: pl.DataFrame, embedder: Encoder, embeddings: pl.DataFrame | None) -> None:
        self._embedder = embedder
        self._lengths: Counter[str] = Counter()
        self._sentences: dict[str, list[Reading]] = {}
        sources = {}
        columns = chunks.select("chunk_id", "section_path", "text", "language")
        for chunk_id, path, text, language in columns.iter_rows():
            visible = blank_injections(text, language)
            indexed = index_text(path, visible)
            sources[chunk_id] = Source(chunk_id, "", indexed, language, (), indexed)
            self._lengths[language] += len(visible)
            self._sentences[chunk_id] = [unit.reading for unit in units_of(chunk_id, visible, language)]
        self._index = SourceIndex(sources)
        self._vectors = ChunkVectors(embeddings, self._index.texts, embedder)
        self._vectors.load(sources)

    def score(self, question: Reading) -> dict[str, Any]:
        """Return the highest scores of chunks and sentences for a question, and the outcome.

        The best chunk and sentence are the best by words; the similarities may be those of others.
        `token_recall` is null unless nearly all chunks are in the language of the question.
        """
        ids, text = list(self._sentences), question.written
        vector = TextVectors([text], self._embedder).of(text)
        cosines = dict(zip(ids, self._vectors.cosines(vector, ids), strict=True))
        by_vector = sorted(ids, key=lambda i: -cosines[i])[:_LOOKED_INTO]
        by_words = dict(self._index.best_chunks(question.stems, _LOOKED_INTO))
        likeliest = dict.fromkeys([*by_words, *by_vector])
        sentences = [sentence for chunk_id in likeliest for sentence in self._sentences[chunk_id]]
        written = [sentence.written for sentence in sentences]
        similarities = TextVectors([text, *written], self._embedder).cosines(text, written)
        shares = self._word_shares(question, sentences)
        # the index of the best sentence, the first of equal sentences
        best = max(range(len(sentences)), key=lambda n: (shares[n], similarities[n], -n), default=None)
        language_share = self._lengths[question.language] / max(self._lengths.total(), 1)
        # words are compared only if nearly all text is in the language of the question
        is_searchable = language_share >= _SEARCHED and in_other_language(text, question.language) is None
        word_share = max(by_words.values(), default=0.0) if is_searchable and question.stem_set else None
        scores: dict[str, Any] = {
            "best_chunk_id": next(iter(likeliest), None),
            "similarity": max(cosines.values(), default=None),
            "token_recall": word_share,
            "best_sentence": None if best is None else written[best],
            "sentence_recall": None if best is None else shares[best],
            "sentence_similarity": max(similarities, default=None),
        }
        return {**scores, "outcome": _outcome(scores, len(question.stem_set))}

    def _word_shares(self, question: Reading, sentences: Sequence[Reading]) -> list[float]:
        """Return the share of the question's words in each sentence, weighted by rarity in the batch."""
        weights = {stem: self._index.rarity(stem) for stem in sorted(question.stem_set)}
        total = sum(weights.values()) or 1.0
        return [
            round(sum(weights[stem] for stem in weights if stem in sentence.stem_set) / total, 9)
            for sentence in sentences
        ]


def _outcome(scores: dict[str, Any], question_words: int) -> str:
    """Return the outcome of a refusal. A missing score leaves it unproved."""
    word_share, similarity = scores["token_recall"], scores["similarity"]
    if similarity is None or scores["sentence_similarity"] is None:
        return "unproved_refusal"
    is_far = max(similarity, scores["sentence_similarity"]) < _FAR
    is_alien = question_words >= _QUESTION_WORDS and word_share is not None and word_share < _ALIEN
    if is_alien or (is_far and word_share is not None and word_share < _FEW):
        return "correct_refusal"
    if scores["sentence_similarity"] >= _NEAR and scores["sentence_recall"] >= _NEARLY_ALL:
        return "refused_answerable"
    return "unproved_refusal"
