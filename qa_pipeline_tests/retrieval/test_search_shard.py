import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import StorageError
from qa_pipeline.retrieval.search import build_index
from qa_pipeline_tests.vectors import DIMENSION, embeddings, random_vectors


@given(count=st.integers(1, 40), k=st.integers(1, 50), queries=st.integers(1, 40), seed=st.integers(0, 99))
def test_search_finds_what_brute_force_finds_with_ties_in_chunk_order(
    count: int, k: int, queries: int, seed: int
) -> None:
    # Few distinct directions, so that ties abound.
    directions = np.vstack([np.eye(DIMENSION, dtype=np.float32), random_vectors(2)])
    generator = np.random.default_rng(seed)
    vectors = directions[generator.integers(0, len(directions), count)]
    asked = directions[generator.integers(0, len(directions), queries)]
    positions, scores = build_index(embeddings(vectors)).search(asked, k)
    assert positions.shape == scores.shape == (queries, min(k, count))
    for row in range(queries):
        cosines = np.array([np.dot(asked[row], vector) for vector in vectors])
        expected = sorted(range(count), key=lambda place: (-round(float(cosines[place]), 5), place))
        assert positions[row].tolist() == expected[: min(k, count)]


@pytest.mark.parametrize("other", [{"model": "other"}, {"precision": "int8"}])
def test_rows_of_two_models_or_precisions_make_no_shard(other: dict[str, str]) -> None:
    renamed = embeddings(random_vectors(1), **other).with_columns(chunk_id=pl.lit("x"))
    with pytest.raises(StorageError):
        build_index(pl.concat([embeddings(random_vectors(2)), renamed]))
