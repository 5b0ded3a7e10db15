import hashlib
import json
from typing import Any

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.retrieval.ann import EXACT_BELOW
from qa_pipeline.retrieval.shard import MAGIC, Shard, build_index, dump_shard, load_shard
from qa_pipeline.storage.tables import EMBEDDINGS
from qa_pipeline_tests.vectors import DIMENSION, embeddings, random_vectors

KINDS = ["flat", "hnsw"]
ASKED = {"model": "m", "revision": "r", "precision": "float32"}


def shard(count: int = 5, kind: str = "flat") -> Shard:
    return build_index(embeddings(random_vectors(count)), 1 if kind == "hnsw" else EXACT_BELOW)


SMALL = dump_shard(shard(60, "hnsw"))


def load(content: bytes) -> Shard:
    return load_shard(content, **ASKED)


def resealed(body: bytes) -> bytes:
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def with_header(content: bytes, **changes: object) -> bytes:
    _, header, payload = content.split(b"\n", 2)
    return resealed(json.dumps(json.loads(header) | changes).encode() + b"\n" + payload)


def with_links(content: bytes, links: bytes) -> bytes:
    """Other bytes for faiss, under a checksum and a header that fit them."""
    _, header, payload = content.split(b"\n", 2)
    values = json.loads(header)
    vectors = payload[: len(payload) - values["index_bytes"]]
    values["index_bytes"] = len(links)
    return resealed(json.dumps(values).encode() + b"\n" + vectors + links)


def links_of(content: bytes) -> bytes:
    _, header, payload = content.split(b"\n", 2)
    return payload[len(payload) - json.loads(header)["index_bytes"] :]


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


@given(content=st.binary(max_size=200))
def test_foreign_bytes_are_refused_not_read(content: bytes) -> None:
    for hostile in (content, MAGIC + content, resealed(content), resealed(content + b"\n" + content)):
        with pytest.raises(IndexMismatchError):
            load(hostile)


@pytest.mark.parametrize(
    "changes",
    [
        {"dimension": 4_000_000_000},
        {"dimension": -4},
        {"dimension": "4"},
        {"dimension": 5},
        {"chunk_ids": ["c0"] * 5},
        {"chunk_ids": ["c0"]},
        {"chunk_ids": [1, 2, 3, 4, 5]},
        {"model": None},
        {"run": "me"},
    ],
)
def test_a_sealed_header_that_does_not_fit_is_refused(changes: dict[str, object]) -> None:
    for kind in KINDS:
        with pytest.raises(IndexMismatchError):
            load(with_header(dump_shard(shard(kind=kind)), **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"index_bytes": 0},
        {"index_bytes": 10**18},
        {"index_bytes": -1},
        {"kind": "pickle"},
    ],
)
def test_a_sealed_header_that_does_not_fit_its_links_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(IndexMismatchError):
        load(with_header(SMALL, **changes))


def test_links_of_other_vectors_or_of_another_kind_are_refused() -> None:
    vectors = random_vectors(60)
    plain = faiss.IndexFlatIP(DIMENSION)
    plain.add(vectors)
    lists = faiss.index_factory(DIMENSION, "IVF2,Flat", faiss.METRIC_INNER_PRODUCT)
    lists.train(vectors)
    lists.add(vectors)
    distances = faiss.IndexHNSWFlat(DIMENSION, 16)
    distances.add(vectors)
    wider = faiss.IndexHNSWFlat(DIMENSION + 1, 16, faiss.METRIC_INNER_PRODUCT)
    wider.add(random_vectors(60, dimension=DIMENSION + 1))
    foreign = [faiss.serialize_index(one).tobytes() for one in (plain, lists, distances, wider)]
    for links in (*foreign, links_of(dump_shard(shard(61, "hnsw"))), b"IHNf", b"x" * 100):
        with pytest.raises(IndexMismatchError):
            load(with_links(SMALL, links))


@given(cut=st.integers(1, 10_000))
def test_sealed_links_that_are_cut_short_are_refused(cut: int) -> None:
    links = links_of(SMALL)
    with pytest.raises(IndexMismatchError):
        load(with_links(SMALL, links[: -1 - cut % (len(links) - 2)]))


@given(
    place=st.integers(0, 200) | st.integers(0, 10**9),
    value=st.sampled_from([-1, 0, 1, 60, 300, 10**6, 2**31 - 1]) | st.integers(-(2**31), 2**31 - 1),
)
def test_any_sealed_number_is_refused_or_harmless(place: int, value: int) -> None:
    links = bytearray(links_of(SMALL))
    at = 4 * (place % (len(links) // 4))
    links[at : at + 4] = value.to_bytes(4, "little", signed=True)
    try:
        loaded = load(with_links(SMALL, bytes(links)))
    except IndexMismatchError:
        return
    positions, _ = loaded.search(random_vectors(5, 9), 10)
    assert ((positions >= 0) & (positions < 60)).all()


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


def test_links_without_vectors_are_refused() -> None:
    content = with_header(dump_shard(build_index(EMBEDDINGS.empty())), index_bytes=4)
    with pytest.raises(IndexMismatchError):
        load(content)


def test_vectors_without_unit_length_are_refused() -> None:
    _, header, payload = dump_shard(shard()).split(b"\n", 2)
    for value in (np.nan, np.inf, 2.0, 0.0):
        hostile = np.full(len(payload) // 4, value, dtype="<f4").tobytes()
        with pytest.raises(IndexMismatchError):
            load(resealed(header + b"\n" + hostile))


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
