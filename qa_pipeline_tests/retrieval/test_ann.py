import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_pipeline.retrieval.ann import choose_finder, trial_queries
from qa_pipeline.retrieval.shard import build_index
from qa_pipeline.retrieval.shard_file import dump_shard
from qa_pipeline.settings.generation import IndexSettings
from qa_pipeline_tests.vectors import clustered_vectors, embeddings, random_vectors

pytestmark = pytest.mark.usefixtures("one_faiss_thread")


@pytest.mark.parametrize(
    ("count", "kind", "wanted"),
    [
        (299, "auto", "flat"),
        (300, "auto", "hnsw"),
        (300, "flat", "flat"),
        (50, "ivf", "ivf"),
        (50, "hnsw", "hnsw"),
        (1, "hnsw", "hnsw"),
        (1, "ivf", "ivf"),
    ],
)
def test_the_kind_follows_the_size_unless_it_is_named(count: int, kind: str, wanted: str) -> None:
    settings = IndexSettings.model_validate({"kind": kind, "exact_below": 300})
    shard = build_index(embeddings(clustered_vectors(count)), settings)
    assert shard.kind == wanted
    assert (shard.recall is None) == (wanted == "flat")
    assert shard.note is None


def test_no_vectors_need_no_finder() -> None:
    for kind in ("auto", "flat", "ivf", "hnsw"):
        choice = choose_finder(
            np.zeros((0, 0), dtype=np.float32), IndexSettings.model_validate({"kind": kind})
        )
        assert choice.finder is None


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_an_index_finds_as_much_as_was_asked_of_questions_it_was_not_tried_with(kind: str) -> None:
    vectors = clustered_vectors(6000)
    shard = build_index(embeddings(vectors), IndexSettings.model_validate({"kind": kind}))
    assert shard.kind == kind
    assert shard.recall is not None
    assert shard.recall >= 0.95
    asked = clustered_vectors(200, seed=50)
    found = shard.search(asked, 10)[1]
    exact = build_index(embeddings(vectors), IndexSettings(kind="flat")).search(asked, 10)[1]
    assert (found >= exact[:, -1:] - 1e-6).mean() >= 0.95


def test_more_is_looked_at_where_more_shall_be_found() -> None:
    vectors = random_vectors(20_000, dimension=24)
    for kind, much in (("ivf", 0.93), ("hnsw", 0.995)):
        easy, hard = (
            choose_finder(vectors, IndexSettings.model_validate({"kind": kind, "min_recall": wanted}))
            for wanted in (0.05, much)
        )
        assert easy.finder is not None
        assert hard.finder is not None
        assert hard.finder.parameters.effort > easy.finder.parameters.effort
        assert hard.recall is not None
        assert hard.recall >= much


def test_an_index_that_cannot_find_enough_gives_way_and_says_so() -> None:
    vectors = random_vectors(3000, dimension=64)
    shard = build_index(embeddings(vectors), IndexSettings(kind="ivf", min_recall=1.0))
    assert shard.kind == "flat"
    assert shard.recall is None
    assert shard.note is not None
    assert "ivf at effort" in shard.note
    assert "less than index.min_recall 1.0; every vector is compared" in shard.note
    assert b"every vector is compared" in dump_shard(shard)


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_the_same_vectors_give_the_same_bytes_with_any_number_of_threads(kind: str) -> None:
    frame = embeddings(clustered_vectors(3000))
    settings = IndexSettings.model_validate({"kind": kind})
    threads = faiss.omp_get_max_threads()
    contents = []
    try:
        for number in (1, 2, 4):
            faiss.omp_set_num_threads(number)
            contents.append(dump_shard(build_index(frame, settings)))
    finally:
        faiss.omp_set_num_threads(threads)
    assert contents[0] == contents[1] == contents[2]


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_many_equal_vectors_are_searched_well_or_exactly(kind: str) -> None:
    one = clustered_vectors(1)
    vectors = np.vstack([np.repeat(one, 1500, axis=0), clustered_vectors(1500, seed=5)])
    shard = build_index(embeddings(vectors), IndexSettings.model_validate({"kind": kind}))
    assert shard.kind == "flat" or (shard.recall or 0) >= 0.95
    positions, scores = shard.search(one, 10)
    assert scores.min() > 0.99999
    assert (positions < 1500).all()


@given(count=st.integers(1, 400), seed=st.integers(0, 9))
@settings(max_examples=20)
def test_trial_queries_are_the_same_each_time_and_not_the_vectors_themselves(count: int, seed: int) -> None:
    vectors = random_vectors(count, seed, dimension=64)
    queries = trial_queries(vectors, 1.5)
    assert queries.tobytes() == trial_queries(vectors, 1.5).tobytes()
    assert len(queries) == min(256, count)
    nearest = (queries @ vectors.T).max(axis=1)
    assert abs(float(nearest.mean()) - 1 / (1 + 1.5**2) ** 0.5) < 0.2
    assert np.abs(np.linalg.norm(queries, axis=1) - 1).max() < 1e-5
