"""Which kind of index a batch gets, and how hard it must search.

What belongs here: the choice by size, and the trial that an approximate kind must stand. What does not: the
kinds themselves (`lists.py`, `graph.py`).

The trial searches for vectors of the batch moved by random noise. Unmoved ones flatter both kinds: they find
themselves and then their neighbours, along links or in lists that were made for just that (recall 0.98 where
real questions had 0.93). How much noise each kind needs to be found out was measured against real questions:
with it, recall in the trial was theirs or lower, for real vectors and for mixtures (`bench_index.py`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from qa_pipeline.index.graph import NavigableGraph
from qa_pipeline.index.kinds import Finder, Vectors
from qa_pipeline.index.lists import InvertedLists
from qa_pipeline.settings.search import IndexSettings

TRIAL_QUERIES = 256
TRIAL_DEPTH = 10
SEED = 7
SAME_COSINE = 1e-6
"""Vectors whose cosines differ by less stand for each other: equal texts have equal vectors."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a batch gets; no finder means that every vector is compared.

    Args:
        finder: the approximate kind.
        recall: share of the true ten nearest that it found in the trial; None for exact search.
        note: why an approximate kind that was asked for is not used.
    """

    finder: Finder | None = None
    recall: float | None = None
    note: str | None = None


def choose_finder(vectors: Vectors, settings: IndexSettings) -> Choice:
    """Build the kind that the settings name, or that the number of vectors asks for.

    The effort is doubled until the trial finds enough; where not even the highest does, search stays exact.
    """
    if settings.kind == "flat" or not len(vectors):
        return Choice()
    if settings.kind == "auto" and len(vectors) < settings.exact_below:
        return Choice()
    finder: Finder = (InvertedLists if settings.kind == "ivf" else NavigableGraph).build(vectors)
    return _with_enough_effort(finder, vectors, settings.min_recall)


def _with_enough_effort(finder: Finder, vectors: Vectors, wanted: float) -> Choice:
    queries = trial_queries(vectors, finder.trial_noise)
    nearest = exact_cosines(vectors, queries)
    searcher = finder.searcher(vectors)
    while True:
        recall = recall_of(finder, searcher, queries, nearest)
        if recall >= wanted:
            return Choice(finder, recall=round(recall, 4))
        if finder.parameters.effort >= finder.most_effort:
            kind, effort = finder.parameters.kind, finder.parameters.effort
            found = f"{kind} at effort {effort} found {recall:.3f} of the true {TRIAL_DEPTH} nearest"
            return Choice(note=f"{found}, less than index.min_recall {wanted}; every vector is compared")
        finder = finder.with_effort(min(2 * finder.parameters.effort, finder.most_effort))


def trial_queries(vectors: Vectors, length: float) -> Vectors:
    """Some of the vectors, each moved by noise of its own; the same ones for the same vectors.

    Args:
        vectors: those of the batch.
        length: of the noise; the vectors have length 1.
    """
    random = np.random.default_rng(SEED)
    chosen = random.choice(len(vectors), min(TRIAL_QUERIES, len(vectors)), replace=False)
    noise = random.standard_normal((len(chosen), vectors.shape[1]))
    noise *= length / np.linalg.norm(noise, axis=1, keepdims=True)
    moved = vectors[chosen] + noise
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def exact_cosines(vectors: Vectors, queries: Vectors) -> Vectors:
    """Cosines of each query's true nearest, best first."""
    import faiss

    depth = min(TRIAL_DEPTH, len(vectors))
    scores: Vectors = faiss.knn(queries, vectors, depth, metric=faiss.METRIC_INNER_PRODUCT)[0]
    return scores


def recall_of(finder: Finder, searcher: Any, queries: Vectors, nearest: Vectors) -> float:
    """Share of the true nearest, or of others just as near, that are found.

    Args:
        finder: what is tried.
        searcher: what it made of the vectors.
        queries: what is searched for.
        nearest: the result of `exact_cosines`.
    """
    finder.tune(searcher)
    scores, _ = searcher.search(queries, nearest.shape[1])
    return float((scores >= nearest[:, -1:] - SAME_COSINE).mean())
