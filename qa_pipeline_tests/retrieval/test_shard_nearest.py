import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.retrieval.shard import Shard, nearest_chunks


def shard(count: int, seed: int = 0) -> Shard:
    vectors = np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Shard(tuple(f"c{n}" for n in range(count)), vectors, "m", "r", "float32")


@given(st.integers(0, 20), st.integers(0, 4), st.integers(1, 4))
def test_neighbours_are_chunks_of_other_documents_and_no_more_than_asked_for(
    count: int, wanted: int, documents: int
) -> None:
    owners = {f"c{n}": f"d{n % documents}" for n in range(count)}
    near = nearest_chunks(shard(count), owners, wanted)
    assert all(owners[one] != owners[other] for one, other in near.iter_rows())
    assert near.is_empty() or near["chunk_id"].value_counts()["count"].max() <= wanted  # type: ignore[operator]


def test_the_nearest_comes_first() -> None:
    found = shard(12)
    near = nearest_chunks(found, {one: one for one in found.chunk_ids}, 3)
    best = near.filter(near["chunk_id"] == "c0")["other_chunk_id"].to_list()
    cosines = found.vectors @ found.vectors[0]
    assert best == [f"c{n}" for n in np.argsort(-cosines)[1:4]]
