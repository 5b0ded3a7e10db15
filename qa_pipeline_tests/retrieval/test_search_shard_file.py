from typing import Any

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import StorageError
from qa_pipeline.retrieval.search import Shard, build_index, dump_index, load_index
from qa_pipeline.storage.tables import EMBEDDINGS
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.vectors import DIMENSION, embeddings, random_vectors

FIVE = embeddings(random_vectors(5))


def load(content: bytes, frame: Any = FIVE, **asked: str) -> Shard:
    embedder = HashEmbedder()
    for name, value in ({"model": "m", "revision": "r", "precision": "float32"} | asked).items():
        setattr(embedder, name, value)
    return load_index(content, frame, embedder, "b.index")


@given(count=st.integers(0, 30), seed=st.integers(0, 99))
def test_an_index_survives_its_bytes_which_faiss_reads_too(count: int, seed: int) -> None:
    frame = embeddings(random_vectors(count, seed)) if count else EMBEDDINGS.empty()
    content = dump_index(build_index(frame))
    assert content == dump_index(build_index(frame))
    loaded = load(content, frame)
    assert loaded.chunk_ids == tuple(frame["chunk_id"])
    queries = random_vectors(3, seed + 1)
    positions, scores = loaded.search(queries, 4)
    plain = faiss.deserialize_index(np.frombuffer(content, dtype=np.uint8))
    assert plain.ntotal == count
    if count:
        assert plain.search(queries, min(4, count))[0] == pytest.approx(scores)
    else:
        assert positions.shape == (3, 0)


@given(cut=st.integers(0, 2000), flip=st.integers(0, 2000), foreign=st.binary(max_size=200))
def test_no_damaged_or_foreign_byte_goes_unnoticed(cut: int, flip: int, foreign: bytes) -> None:
    content = dump_index(build_index(FIVE))
    flipped = bytearray(content)
    flipped[flip % len(content)] ^= 1
    other = dump_index(build_index(embeddings(random_vectors(5, 1))))
    wider = faiss.serialize_index(faiss.IndexHNSWFlat(DIMENSION, 16)).tobytes()
    for hostile in (content[: cut % len(content)], bytes(flipped), content + b"x", foreign, other, wider):
        with pytest.raises(StorageError):
            load(hostile)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"model": "other"}, "m at r .* other at r"),
        ({"revision": "newer"}, "m at r .* m at newer"),
        ({"precision": "int8"}, r"m at r \(float32\).* m at r \(int8"),
    ],
)
def test_an_index_of_another_model_is_refused_naming_both(asked: dict[str, str], named: str) -> None:
    with pytest.raises(StorageError, match=rf"b\.index .*{named}"):
        load(dump_index(build_index(FIVE)), **asked)


def test_float32_and_bfloat16_search_each_other_and_another_precision_its_like() -> None:
    for own in ("float32", "bfloat16", "other"):
        frame = embeddings(random_vectors(3), precision=own)
        for asked in ("float32", "bfloat16", "other"):
            if own == asked or {own, asked} == {"float32", "bfloat16"}:
                assert load(dump_index(build_index(frame)), frame, precision=asked).model == "m"
            else:
                with pytest.raises(StorageError):
                    load(dump_index(build_index(frame)), frame, precision=asked)
