import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.retrieval import ann
from qa_pipeline.retrieval.ann import SEED, choose_index, trial_queries
from qa_pipeline.retrieval.shard import build_index, dump_shard
from qa_pipeline.settings.generation import IndexSettings
from qa_pipeline_tests.vectors import clustered_vectors, embeddings, random_vectors

HNSW = IndexSettings(exact_below=1)

pytestmark = pytest.mark.usefixtures("one_faiss_thread")


@pytest.mark.parametrize(("count", "wanted"), [(299, "flat"), (300, "hnsw"), (301, "hnsw")])
def test_the_kind_follows_the_size(count: int, wanted: str) -> None:
    shard = build_index(embeddings(clustered_vectors(count)), IndexSettings(exact_below=300))
    assert shard.kind == wanted
    assert (shard.choice.recall is None) == (wanted == "flat")
    assert shard.choice.note is None


def test_a_single_vector_can_have_an_index_and_none_needs_none() -> None:
    assert build_index(embeddings(clustered_vectors(1)), HNSW).kind == "hnsw"
    assert choose_index(np.zeros((0, 0), dtype=np.float32), HNSW).index is None


def test_an_index_finds_as_much_as_was_asked_of_questions_it_was_not_tried_with() -> None:
    vectors = clustered_vectors(6000)
    shard = build_index(embeddings(vectors), HNSW)
    assert shard.kind == "hnsw"
    assert shard.choice.recall is not None
    assert shard.choice.recall >= 0.95
    asked = clustered_vectors(200, seed=50)
    found = shard.search(asked, 10)[1]
    exact = build_index(embeddings(vectors)).search(asked, 10)[1]
    assert (found >= exact[:, -1:] - 1e-6).mean() >= 0.95


def test_more_is_looked_at_where_more_shall_be_found() -> None:
    vectors = random_vectors(20_000, dimension=24)
    easy, hard = (
        choose_index(vectors, IndexSettings(exact_below=1, min_recall=wanted)) for wanted in (0.05, 0.995)
    )
    assert easy.effort is not None
    assert hard.effort is not None
    assert hard.effort > easy.effort
    assert hard.recall is not None
    assert hard.recall >= 0.995


def test_an_index_that_cannot_find_enough_gives_way_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann, "EFFORTS", (1,))
    shard = build_index(
        embeddings(random_vectors(3000, dimension=64)), IndexSettings(exact_below=1, min_recall=1.0)
    )
    assert shard.kind == "flat"
    assert shard.choice.recall is None
    assert shard.choice.note is not None
    assert "less than index.min_recall 1.0; every vector is compared" in shard.choice.note
    assert b"every vector is compared" in dump_shard(shard)


def test_the_same_vectors_give_the_same_bytes_with_any_number_of_threads() -> None:
    frame = embeddings(clustered_vectors(3000))
    threads = faiss.omp_get_max_threads()
    contents = []
    try:
        for number in (1, 2, 4):
            faiss.omp_set_num_threads(number)
            contents.append(dump_shard(build_index(frame, HNSW)))
    finally:
        faiss.omp_set_num_threads(threads)
    assert contents[0] == contents[1] == contents[2]


def test_many_equal_vectors_are_searched_well_or_exactly() -> None:
    one = clustered_vectors(1)
    vectors = np.vstack([np.repeat(one, 1500, axis=0), clustered_vectors(1500, seed=5)])
    shard = build_index(embeddings(vectors), HNSW)
    assert shard.kind == "flat" or (shard.choice.recall or 0) >= 0.95
    positions, scores = shard.search(one, 10)
    assert scores.min() > 0.99999
    assert (positions < 1500).all()


@given(count=st.integers(1, 400), seed=st.integers(SEED + 1, SEED + 9))  # the noise is drawn with SEED
def test_trial_queries_are_the_same_each_time_and_not_the_vectors_themselves(count: int, seed: int) -> None:
    vectors = random_vectors(count, seed, dimension=64)
    queries = trial_queries(vectors, 1.5)
    assert queries.tobytes() == trial_queries(vectors, 1.5).tobytes()
    assert len(queries) == min(256, count)
    nearest = (queries @ vectors.T).max(axis=1)
    assert abs(float(nearest.mean()) - 1 / (1 + 1.5**2) ** 0.5) < 0.2
    assert np.abs(np.linalg.norm(queries, axis=1) - 1).max() < 1e-5
