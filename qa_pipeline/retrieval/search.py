"""Find the passages of a batch that answer a question, by words and vectors.

BM25 (Robertson and Zaragoza 2009) finds names, numbers and identifiers; vectors find paraphrases. Weighted
reciprocal rank fusion (Cormack, Clarke and Büttcher 2009) combines their rankings:
score(d) = sum over rankings of weight / (rrf_k + rank(d)). A small constant and a weight below 1 for vectors
were best on labelled questions in English, Swedish and German (`bench_retrieval.py`). With the usual constant
of 60 and equal weights, a model that does not know the language overrules the words.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.errors import StorageError
from qa_pipeline.models.encoder import Encoder
from qa_pipeline.retrieval.chunks import index_text
from qa_pipeline.retrieval.shard import Shard
from qa_pipeline.settings.generation import RetrievalSettings
from qa_pipeline.text.lexicon.languages import LEXICONS

Positions = npt.NDArray[np.int64]

TERM_SATURATION = 1.2
LENGTH_NORMALISATION = 0.6
"""k1 and b of BM25. Chunks have similar lengths, so length matters less than for documents."""

DEPTH = 50
"""Candidates per ranking for the fusion: ten times the default number of passages."""
RRF_K = 1
"""Constant of the fusion; a small value favours the top ranks."""

SNOWBALL = {
    "da": "danish", "es": "spanish", "fi": "finnish", "fr": "french", "it": "italian", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", **{code: words.stemmer for code, words in LEXICONS.items()},
}  # fmt: skip
"""Stemmer by language; words of other languages are compared unstemmed."""

_TERM = re.compile(r"\w+(?:[.:/@'’-]\w+)*")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_JOINT = re.compile(r"[\d_.:/@]")  # of identifiers; hyphen and apostrophe join plain words


class Retriever:
    """A search over the chunks of a batch.

    Args:
        chunks: CHUNKS frame of the batch.
        shard: index over exactly these chunks, in their order.
        encoder: the model the shard was computed with.
        settings: weight of vectors, and numbers of passages.

    Raises:
        StorageError: the shard belongs to other chunks.
    """

    def __init__(
        self, chunks: pl.DataFrame, shard: Shard, encoder: Encoder, settings: RetrievalSettings
    ) -> None:
        self._chunk_ids = chunks["chunk_id"].to_list()
        if list(shard.chunk_ids) != self._chunk_ids:  # ties are broken by their order
            raise StorageError(
                f"the index has {len(shard.chunk_ids)} chunks and the batch has {len(self._chunk_ids)}, or "
                f"not the same ones in the same order; compute embeddings and index of the batch again"
            )
        self._shard, self._encoder, self._settings = shard, encoder, settings
        rows = chunks.select("section_path", "text", "language").iter_rows()
        self._words = WordIndex([terms(index_text(path, text), language) for path, text, language in rows])

    def retrieve(self, questions: Sequence[str], languages: Sequence[str]) -> list[list[tuple[str, float]]]:
        """Return chunk id and score for each question, best first, at most `top_k`.

        The score is the fused one. Ties are in chunk order, and questions do not influence each other.
        `languages` has the ISO 639-1 code of each question.
        """
        weights = (1.0, self._settings.vector_weight)
        fused = [fuse(ranked, weights, RRF_K) for ranked in self.rankings(questions, languages)]
        top_k = self._settings.top_k
        return [[(self._chunk_ids[index], score) for index, score in ranked[:top_k]] for ranked in fused]

    def rankings(
        self, questions: Sequence[str], languages: Sequence[str]
    ) -> list[tuple[list[int], list[int]]]:
        """Return row indices of the chunks nearest to each question, by words and by vectors."""
        by_words = [
            self._words.rank(terms(question, language), DEPTH)
            for question, language in zip(questions, languages, strict=True)
        ]
        if not self._chunk_ids:
            return [(ranked, []) for ranked in by_words]
        nearest, _ = self._shard.search(self._encoder.encode(questions), DEPTH)
        return list(zip(by_words, nearest.tolist(), strict=True))


def fuse(rankings: Sequence[Sequence[int]], weights: Sequence[float], rrf_k: int) -> list[tuple[int, float]]:
    """Fuse rankings into (item, score), best first, with ties in the order of items.

    The larger `rrf_k`, the less the top ranks are favoured.
    """
    scores: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + weight / (rrf_k + rank)
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))


def terms(text: str, language: str) -> list[str]:
    """Return the terms for BM25: stems of the words, and identifiers as written.

    An identifier (`mod_alias`, `2.4.58`, `conf.d/ssl.conf`) is indexed whole and by its parts, so that a
    question may use either.
    """
    parts: list[str] = []
    for term in _TERM.findall(text.lower()):
        words = _WORD.findall(term)
        if len(words) > 1 and _JOINT.search(term):
            parts.append(term)
        parts.extend(words)
    ignored = _stopwords(language)
    return _stemmed([word for word in parts if word not in ignored], language)


class WordIndex:
    """A BM25 index of the terms of each chunk."""

    def __init__(self, documents: Sequence[list[str]]) -> None:
        self._index: Any = None
        if any(documents):
            import bm25s

            self._index = bm25s.BM25(k1=TERM_SATURATION, b=LENGTH_NORMALISATION, method="lucene")
            self._index.index(list(documents), show_progress=False)

    def rank(self, query: list[str], depth: int) -> list[int]:
        """Return row indices of chunks that share a term with the query, best first, ties in row order."""
        if self._index is None or not query:
            return []
        scores = self._index.get_scores(query)
        sharing: Positions = np.flatnonzero(scores > 0)
        order = np.argsort(-scores[sharing], kind="stable")[:depth]
        return [int(index) for index in sharing[order]]


def _stemmed(words: list[str], language: str) -> list[str]:
    """Return the stems of words, such as `valv` of `valves`; identifiers stay as written."""
    if language not in SNOWBALL:
        return words
    import Stemmer

    # A new instance each time: a stemmer's word cache is not thread-safe.
    stemmer = Stemmer.Stemmer(SNOWBALL[language], 0)
    return [word if _JOINT.search(word) else stemmer.stemWord(word) for word in words]


@cache
def _stopwords(language: str) -> frozenset[str]:
    from bm25s import stopwords

    if language not in LEXICONS:
        return frozenset()
    name = LEXICONS[language].stemmer.upper().replace("ENGLISH", "EN")
    return frozenset(getattr(stopwords, f"STOPWORDS_{name}", ()))
