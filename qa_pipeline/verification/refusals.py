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
_LEAST_IN_LANGUAGE = 0.9  # share of the batch's text in the language of the question to compare words
_UNRELATED_RECALL = 0.20  # a refusal is correct if every chunk has a smaller share of the question's words
_FEWEST_WORDS = 2  # content words of the question for this rule
_FAR_SIMILARITY, _FAR_RECALL = 0.40, 0.50
"""A refusal is also correct if all chunks and sentences have a smaller cosine, and fewer of the words."""
_ANSWER_SIMILARITY, _ANSWER_RECALL = 0.70, 0.80
"""A refusal is wrong if sentences reach this cosine and this share of the question's words."""


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

        The best chunk and sentence are the best by words, or by vectors if no word is shared. The
        similarities are the highest of all chunks and of all compared sentences. `token_recall` is null
        across languages, and for a question without content words.
        """
        chunk_ids, question = list(self._sentences), read(text, language)
        vector = TextVectors([text], self._embedder).of(text)
        cosines = dict(zip(chunk_ids, self._vectors.cosines(vector, chunk_ids), strict=True))
        best_by_vectors = sorted(chunk_ids, key=lambda chunk_id: -cosines[chunk_id])[:_MOST_CHUNKS]
        best_by_words = self._index.best_chunks(question.stems, _MOST_CHUNKS)  # recall by id, best first
        likeliest_ids = list(dict.fromkeys([*best_by_words, *best_by_vectors]))
        # in another language, the search by words finds only names, and its recall says nothing
        share_in_language = self._lengths[language] / max(self._lengths.total(), 1)
        is_main_language = share_in_language >= _LEAST_IN_LANGUAGE
        is_comparable = is_main_language and in_other_language(text, language) is None
        best_recall = max(best_by_words.values(), default=0.0)
        scores: dict[str, Any] = {
            "best_chunk_id": next(iter(likeliest_ids), None),  # by words, or else by vectors
            "similarity": max(cosines.values(), default=None),
            "token_recall": best_recall if is_comparable and question.stem_set else None,
            **self._score_sentences(question, likeliest_ids),
        }
        return {**scores, "outcome": _outcome(scores, len(question.stem_set))}

    def _score_sentences(self, question: Reading, chunk_ids: Iterable[str]) -> dict[str, Any]:
        """Return the sentence that is best by words, its recall, and the highest similarity of a sentence."""
        sentences = [sentence for chunk_id in chunk_ids for sentence in self._sentences[chunk_id]]
        texts = [sentence.written for sentence in sentences]
        cosines = TextVectors([question.written, *texts], self._embedder).cosines(question.written, texts)
        scored = zip(self._token_recalls(question, sentences), cosines, texts, strict=True)
        recall, _, sentence = max(scored, key=itemgetter(0, 1), default=(None, None, None))
        highest = max(cosines, default=None)
        return {"best_sentence": sentence, "sentence_recall": recall, "sentence_similarity": highest}

    def _token_recalls(self, question: Reading, sentences: Sequence[Reading]) -> list[float]:
        """Return the share of the question's words in each sentence, weighted by rarity in the batch."""
        weights = {stem: self._index.rarity(stem) for stem in sorted(question.stem_set)}
        total = sum(weights.values()) or 1.0
        return [
            round(sum(weights[stem] for stem in weights if stem in sentence.stem_set) / total, 9)
            for sentence in sentences
        ]


def _outcome(scores: dict[str, Any], question_word_count: int) -> str:
    """Return the outcome of a refusal from its score columns, named as in the refusals table."""
    token_recall, similarity = scores["token_recall"], scores["similarity"]
    sentence_similarity = scores["sentence_similarity"]
    if similarity is None or sentence_similarity is None:
        return "unproved_refusal"  # without chunks or sentences
    if token_recall is not None:  # null if the words cannot be compared
        is_unrelated = question_word_count >= _FEWEST_WORDS and token_recall < _UNRELATED_RECALL
        is_far = max(similarity, sentence_similarity) < _FAR_SIMILARITY and token_recall < _FAR_RECALL
        if is_unrelated or is_far:
            return "correct_refusal"
    # high scores count in any language; with a sentence, sentence_recall is not null
    is_answered = sentence_similarity >= _ANSWER_SIMILARITY and scores["sentence_recall"] >= _ANSWER_RECALL
    return "refused_answerable" if is_answered else "unproved_refusal"
