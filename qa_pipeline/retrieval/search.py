"""Index the chunks of a batch, and find the passages that answer a question, by words and vectors.

BM25 (Robertson and Zaragoza 2009) finds names, numbers and identifiers; vectors find paraphrases. Weighted
reciprocal rank fusion (Cormack, Clarke and Büttcher 2009) combines their rankings:
score(d) = sum over rankings of weight / (rrf_k + rank(d)). A small constant and a weight below 1 for vectors
were best on labelled questions in English, Swedish and German (`bench_retrieval.py`). With the usual constant
of 60 and equal weights, a model that does not know the language overrules the words.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.errors import StorageError
from qa_pipeline.models.devices import TorchPrecision
from qa_pipeline.models.encoder import Embedder, Encoder, Vectors
from qa_pipeline.models.vector_cache import CachedEmbedder
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.retrieval.chunks import index_text
from qa_pipeline.settings.generation import RetrievalSettings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.tables import EMBEDDINGS
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
"""A word or identifier, such as `valves`, `don't`, `well-known` or `conf.d/ssl.conf`."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
"""A word in a term: `mod_alias` has `mod` and `alias`, and `don't` is a single word."""
_JOINT = re.compile(r"[\d_.:/@]")  # of identifiers; hyphen and apostrophe join plain words
_TOGETHER = 16
"""Queries per faiss call. From 20 queries on faiss multiplies matrices, and the last bits of a score depend
on the other queries. Below that each score is a separate dot product."""
_WORTH_SHARING = 20_000
"""Number of vectors from which an exact search uses several threads. With less work, threads spend more time
waiting for each other: five times the work itself if other processes keep the cores busy."""


def embed_chunks(
    chunks: pl.DataFrame, embedder: CachedEmbedder, notify: ProgressCallback = no_progress
) -> pl.DataFrame:
    """Embed section path and text of each chunk.

    Vectors are cached in batches, so that a killed run resumes.

    Returns:
        EMBEDDINGS frame with a row per chunk, in the order of the chunks.
    """
    texts = [index_text(path, text) for path, text in chunks.select("section_path", "text").iter_rows()]
    vectors = embedder.encode(texts, notify)
    return EMBEDDINGS.conform(
        chunks.select(
            "chunk_id",
            "batch",
            pl.Series("text_sha256", [hash_text(text) for text in texts], dtype=pl.String()),
            pl.lit(embedder.model).alias("model"),
            pl.lit(embedder.revision).alias("model_revision"),
            pl.lit(embedder.precision).alias("precision"),
            pl.Series("vector", vectors).cast(pl.List(pl.Float32())),
        )
    )


_INTERCHANGEABLE = frozenset(get_args(TorchPrecision))
"""Precisions whose vectors differ by less than 1e-3 in cosine, so that they can search each other."""


@dataclass(frozen=True, eq=False)
class Shard:
    """The FAISS index of a batch, with its chunks and its model.

    Args:
        chunk_ids: id of each vector's chunk.
        vectors: the unit-length vectors, a row per chunk.
        index: a faiss `IndexFlatIP` of the vectors.
        model: name of the model.
    """

    chunk_ids: tuple[str, ...]
    vectors: Vectors
    index: Any
    model: str

    def search(self, vectors: Vectors, k: int) -> tuple[Positions, Vectors]:
        """Find the `k` nearest chunks of each query, a row of `vectors`; fewer if the shard has fewer.

        Returns:
            Positions in `chunk_ids` and cosines, a row per query, best first, with ties in chunk order. Each
            row is independent of the other queries.
        """
        count = len(self.chunk_ids)
        k = min(k, count)
        if k == 0 or not len(vectors):
            empty = (len(vectors), k)
            return np.empty(empty, dtype=np.int64), np.empty(empty, dtype=np.float32)
        queries = np.ascontiguousarray(vectors, dtype=np.float32)
        # One extra result shows if equal cosines are on both sides of the cut. Faiss picks any
        # of them, so these few queries rank every chunk.
        positions, scores = self._ranked(queries, min(k + 1, count))
        if k < count:
            last_kept, first_dropped = scores[:, k - 1], scores[:, k]  # of each query
            tied_rows = np.flatnonzero(last_kept == first_dropped)
            positions, scores = positions[:, :k], scores[:, :k]
            for row in tied_rows:
                all_positions, all_scores = self._ranked(queries[row : row + 1], count)
                positions[row], scores[row] = all_positions[0, :k], all_scores[0, :k]
        return positions, scores

    def _ranked(self, queries: Vectors, k: int) -> tuple[Positions, Vectors]:
        """Search a few queries at a time; return positions and cosines, sorted by cosine and position."""
        with faiss_threads(1 if len(self.chunk_ids) < _WORTH_SHARING else None):
            parts = [
                self.index.search(queries[start : start + _TOGETHER], k)
                for start in range(0, len(queries), _TOGETHER)
            ]
        scores = np.concatenate([part_scores for part_scores, _ in parts])
        positions = np.concatenate([part_positions for _, part_positions in parts])
        order = np.lexsort((positions, -scores), axis=1)  # the last key, the score, is compared first
        return np.take_along_axis(positions, order, axis=1), np.take_along_axis(scores, order, axis=1)


@contextmanager
def faiss_threads(number: int | None) -> Iterator[None]:
    """Limit the threads of faiss within the context; None keeps the current limit."""
    import faiss

    usual = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(number or usual)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(usual)


def build_index(embeddings: pl.DataFrame) -> Shard:
    """Build a shard from the rows of a batch, in their order; an empty frame gives an empty shard.

    Raises:
        StorageError: the rows come from several models, or their vectors differ in length.
    """
    import faiss

    origins = embeddings.select("model", "model_revision", "precision").unique(maintain_order=True)
    # an empty index needs a vector length too, and any will do
    lengths = embeddings["vector"].list.len().unique(maintain_order=True).to_list() or [1]
    if origins.height > 1 or len(lengths) > 1:
        raise StorageError(
            f"vectors of a shard must come from a single model, but these come from {origins.rows()} "
            f"with lengths {lengths}; compute the embeddings of the batch again"
        )
    length = lengths[0]
    vectors = np.array(embeddings["vector"].list.to_array(length).to_numpy(), dtype=np.float32)
    vectors = vectors.reshape(embeddings.height, length)
    index: Any = faiss.IndexFlatIP(length)
    index.add(vectors)
    model = origins["model"][0] if origins.height else ""
    return Shard(tuple(embeddings["chunk_id"]), vectors, index, model)


def dump_index(shard: Shard) -> bytes:
    """Return the index as a file that `faiss.read_index` reads; equal shards give equal bytes."""
    import faiss

    content: bytes = faiss.serialize_index(shard.index).tobytes()
    return content


def load_index(content: bytes, embeddings: pl.DataFrame, embedder: Embedder, source: str) -> Shard:
    """Build the index of a batch, and check that it equals its file and fits the model of the queries.

    Vectors of float32 and bfloat16 can search each other. `content` are the bytes of the file, which messages
    call `source`.

    Raises:
        StorageError: the embeddings have another model, revision or precision, or the file is damaged
            or has other vectors.
    """
    shard = build_index(embeddings)
    if dump_index(shard) != content:
        raise StorageError(
            f"{source} is damaged or lacks vectors of the table embeddings; build the index again"
        )
    origins = embeddings.select("model", "model_revision", "precision").unique()
    for model, revision, precision in origins.iter_rows():
        precisions = {precision, embedder.precision}
        is_same_model = (model, revision) == (embedder.model, embedder.revision)
        has_fitting_precision = len(precisions) == 1 or precisions <= _INTERCHANGEABLE
        if not (is_same_model and has_fitting_precision):
            raise StorageError(
                f"{source} was built with {model} at {revision} ({precision}), but the settings ask for "
                f"{embedder.model} at {embedder.revision} ({embedder.precision}); compute embeddings and "
                "index of the batch again, or set the embedding model back"
            )
    return shard


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
        weights = (1.0, self._settings.vector_weight)  # of words and vectors, as in `rankings`
        fused = [fuse(rankings, weights, RRF_K) for rankings in self.rankings(questions, languages)]
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
    question may use either: `The valves of mod_alias` gives `valv`, `mod_alias`, `mod` and `alia`.
    Stop words of the language are left out.
    """
    parts: list[str] = []
    for term in _TERM.findall(text.lower()):
        words = _WORD.findall(term)
        if len(words) > 1 and _JOINT.search(term):  # an identifier
            parts.append(term)
        parts.extend(words)
    ignored = _stopwords(language)
    return _stemmed([word for word in parts if word not in ignored], language)


class WordIndex:
    """A BM25 index of the terms of each chunk."""

    def __init__(self, terms_of_chunks: Sequence[list[str]]) -> None:
        self._index: Any = None
        if any(terms_of_chunks):
            import bm25s

            self._index = bm25s.BM25(k1=TERM_SATURATION, b=LENGTH_NORMALISATION, method="lucene")
            self._index.index(list(terms_of_chunks), show_progress=False)

    def rank(self, query: list[str], depth: int) -> list[int]:
        """Return row indices of chunks that share a term with the query, best first, ties in row order."""
        if self._index is None or not query:
            return []
        scores = self._index.get_scores(query)
        sharing: Positions = np.flatnonzero(scores > 0)  # rows with a term of the query
        order = np.argsort(-scores[sharing], kind="stable")[:depth]
        return [int(index) for index in sharing[order]]


def _stemmed(words: list[str], language: str) -> list[str]:
    """Return the stems of words, such as `valv` of `valves`; identifiers stay as written."""
    if language not in SNOWBALL:
        return words
    import Stemmer

    # A new instance each time: a stemmer's word cache is not thread-safe. 0 is the size of the cache.
    stemmer = Stemmer.Stemmer(SNOWBALL[language], 0)
    return [word if _JOINT.search(word) else stemmer.stemWord(word) for word in words]


@cache
def _stopwords(language: str) -> frozenset[str]:
    from bm25s import stopwords

    if language not in LEXICONS:
        return frozenset()
    name = LEXICONS[language].stemmer.upper().replace("ENGLISH", "EN")  # the constant is STOPWORDS_EN
    return frozenset(getattr(stopwords, f"STOPWORDS_{name}", ()))
