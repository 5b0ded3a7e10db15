"""Check if a batch contains an answer to a refused question.

The sentences of the likeliest chunks are compared individually. On public sets of answerable and unanswerable
questions the best sentence predicts better than the best chunk.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter
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

_MOST_CHUNKS = 5  # by words, and as many by vectors, whose sentences may answer the question
_LEAST_IN_LANGUAGE = 0.9  # share of the batch's text in the language of the question for a search by words
_UNRELATED_WORDS = 0.20  # a refusal is correct if every chunk has a smaller share of the question's words
_FEWEST_WORDS = 2  # content words of the question for this rule
_FAR_COSINE, _FAR_WORDS = 0.40, 0.50
"""A refusal is also correct if all chunks and sentences have a smaller cosine, and fewer of the words."""
_ANSWER_COSINE, _ANSWER_WORDS = 0.70, 0.80
"""A refusal is wrong if a sentence reaches this cosine and has this share of the question's words."""


def judge_refusals(
    pairs: pl.DataFrame, chunks: pl.DataFrame, embedder: Encoder, *, embeddings: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return the scores and outcome (REFUSALS) of every refusal, a drafted pair of coverage "none"."""
    refused = pairs.filter(
        pl.col("status") == "drafted", pl.col("coverage") == "none", pl.col("question").is_not_null()
    )
    if not refused.height:
        return REFUSALS.empty()
    batch_index = _BatchIndex(chunks, embedder, embeddings)
    questions = refused.select("pair_id", "batch", "question", "language").iter_rows()
    rows = [
        {"pair_id": pair_id, "batch": batch, **batch_index.scores_and_outcome(question, language)}
        for pair_id, batch, question, language in questions
    ]
    return REFUSALS.frame(rows)


class _BatchIndex:
    """The chunks of a batch, indexed for search without their injections."""

    def __init__(self, chunks: pl.DataFrame, embedder: Encoder, embeddings: pl.DataFrame | None) -> None:
        self._embedder = embedder
        self._lengths: Counter[str] = Counter()  # characters by language
        self._sentences: dict[str, list[Reading]] = {}  # by chunk id
        sources = {}
        columns = chunks.select("chunk_id", "section_path", "text", "language")
        for chunk_id, path, text, language in columns.iter_rows():
            visible = blank_injections(text, language)
            indexed = index_text(path, visible)
            # a search needs neither document nor headings
            sources[chunk_id] = Source(chunk_id, "", indexed, language, headings=(), document_text=indexed)
            self._lengths[language] += len(visible)
            self._sentences[chunk_id] = [unit.reading for unit in units_of(chunk_id, visible, language)]
        self._index = SourceIndex(sources)
        self._vectors = ChunkVectors(embeddings, self._index.texts, embedder)
        self._vectors.load(sources)

    def scores_and_outcome(self, text: str, language: str) -> dict[str, Any]:
        """Compare a refused question with all chunks, and return the columns of scores and outcome.

        The best chunk and sentence are the best by words; the similarities may be those of others.
        """
        chunk_ids, question = list(self._sentences), read(text, language)
        vector = TextVectors([text], self._embedder).of(text)
        cosines = dict(zip(chunk_ids, self._vectors.cosines(vector, chunk_ids), strict=True))
        by_vector = sorted(chunk_ids, key=lambda chunk_id: -cosines[chunk_id])[:_MOST_CHUNKS]
        word_shares = self._index.best_chunks(question.stems, _MOST_CHUNKS)  # by chunk id, best first
        likeliest_ids = list(dict.fromkeys([*word_shares, *by_vector]))
        # words are compared only if nearly all text is in the language of the question
        share_in_language = self._lengths[language] / max(self._lengths.total(), 1)
        is_main_language = share_in_language >= _LEAST_IN_LANGUAGE
        is_comparable = is_main_language and in_other_language(text, language) is None
        word_share = max(word_shares.values(), default=0.0) if is_comparable and question.stem_set else None
        scores: dict[str, Any] = {
            "best_chunk_id": next(iter(likeliest_ids), None),
            "similarity": max(cosines.values(), default=None),
            "token_recall": word_share,
            **self._score_sentences(question, likeliest_ids),
        }
        return {**scores, "outcome": _outcome(scores, len(question.stem_set))}

    def _score_sentences(self, question: Reading, chunk_ids: Iterable[str]) -> dict[str, Any]:
        """Return the sentence of the chunks that is best by words, its score, and the highest similarity."""
        sentences = [sentence for chunk_id in chunk_ids for sentence in self._sentences[chunk_id]]
        texts = [sentence.written for sentence in sentences]
        cosines = TextVectors([question.written, *texts], self._embedder).cosines(question.written, texts)
        shares = self._word_shares(question, sentences)
        scored = zip(shares, cosines, texts, strict=True)  # the best by words, then by cosine
        share, _, sentence = max(scored, key=itemgetter(0, 1), default=(None, None, None))
        return {
            "best_sentence": sentence,
            "sentence_recall": share,
            "sentence_similarity": max(cosines, default=None),
        }

    def _word_shares(self, question: Reading, sentences: Sequence[Reading]) -> list[float]:
        """Return the share of the question's words in each sentence, weighted by rarity in the batch."""
        weights = {stem: self._index.rarity(stem) for stem in sorted(question.stem_set)}
        total = sum(weights.values()) or 1.0
        return [
            round(sum(weights[stem] for stem in weights if stem in sentence.stem_set) / total, 9)
            for sentence in sentences
        ]


def _outcome(scores: dict[str, Any], question_word_count: int) -> str:
    """Return the outcome of a refusal from its score columns, named as in the refusals table."""
    word_share, cosine = scores["token_recall"], scores["similarity"]
    sentence_cosine = scores["sentence_similarity"]
    if cosine is None or sentence_cosine is None:
        return "unproved_refusal"  # without chunks or sentences
    if word_share is not None:
        is_unrelated = question_word_count >= _FEWEST_WORDS and word_share < _UNRELATED_WORDS
        is_far = max(cosine, sentence_cosine) < _FAR_COSINE and word_share < _FAR_WORDS
        if is_unrelated or is_far:
            return "correct_refusal"
    is_answered = sentence_cosine >= _ANSWER_COSINE and scores["sentence_recall"] >= _ANSWER_WORDS
    return "refused_answerable" if is_answered else "unproved_refusal"
