from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.retrieval.ann import EXACT_BELOW
from qa_pipeline.retrieval.shard import Shard, build_index, dump_shard, load_shard
from qa_pipeline.storage.tables import EMBEDDINGS
from qa_pipeline_tests.vectors import embeddings, random_vectors

KINDS = ["flat", "hnsw"]
ASKED = {"model": "m", "revision": "r", "precision": "float32"}


def shard(count: int = 5, kind: str = "flat") -> Shard:
    return build_index(embeddings(random_vectors(count)), 1 if kind == "hnsw" else EXACT_BELOW)


def load(content: bytes) -> Shard:
    return load_shard(content, **ASKED)


@given(count=st.integers(0, 30), seed=st.integers(0, 99), kind=st.sampled_from(KINDS))
def test_a_shard_survives_its_bytes_and_equal_shards_have_equal_bytes(
    count: int, seed: int, kind: str
) -> None:
    frame = embeddings(random_vectors(count, seed))
    wanted = 1 if kind == "hnsw" else EXACT_BELOW
    built = build_index(frame, wanted)
    content = dump_shard(built)
    loaded = load(content)
    assert loaded.chunk_ids == tuple(frame["chunk_id"])
    assert loaded.kind == built.kind == (kind if count else "flat")
    assert loaded.index == built.index
    assert loaded.vectors.tobytes() == built.vectors.tobytes()
    assert dump_shard(loaded) == content == dump_shard(build_index(frame, wanted))
    queries = random_vectors(3, seed + 1)
    assert loaded.search(queries, 4)[0].tolist() == built.search(queries, 4)[0].tolist()


@given(cut=st.integers(0, 2000), flip=st.integers(0, 2000), kind=st.sampled_from(KINDS))
def test_no_damaged_byte_goes_unnoticed(cut: int, flip: int, kind: str) -> None:
    content = bytearray(dump_shard(shard(kind=kind)))
    with pytest.raises(IndexMismatchError):
        load(bytes(content[: cut % len(content)]))
    content[flip % len(content)] ^= 1
    with pytest.raises(IndexMismatchError):
        load(bytes(content))
    with pytest.raises(IndexMismatchError):
        load(dump_shard(shard(kind=kind)) + b"x")


def test_the_precisions_of_torch_search_each_other_and_another_backend_only_its_like() -> None:
    for own in ("float32", "bfloat16", "other"):
        content = dump_shard(build_index(embeddings(random_vectors(3), precision=own)))
        for asked in ("float32", "bfloat16", "other"):
            wanted = {**ASKED, "precision": asked}
            if own == asked or {own, asked} == {"float32", "bfloat16"}:
                assert load_shard(content, **wanted).precision == own
            else:
                with pytest.raises(IndexMismatchError, match=f"{own}.*{asked}"):
                    load_shard(content, **wanted)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"model": "other"}, "m at r .* other at r"),
        ({"revision": "newer"}, "m at r .* m at newer"),
        ({"precision": "int8"}, r"m at r \(float32\).* m at r \(int8"),
    ],
)
def test_a_shard_of_another_model_is_refused_naming_both(changed: dict[str, Any], named: str) -> None:
    asked = {**ASKED, **changed}
    with pytest.raises(IndexMismatchError, match=rf"b\.index .*{named}"):
        load_shard(dump_shard(shard()), source="b.index", **asked)


def test_an_empty_batch_has_a_shard_that_fits_every_model_and_finds_nothing() -> None:
    content = dump_shard(build_index(EMBEDDINGS.empty()))
    empty = load_shard(content, model="any", revision="any", precision="any")
    positions, scores = empty.search(random_vectors(3, dimension=384), 5)
    assert positions.shape == scores.shape == (3, 0)
