import hashlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_pipeline import index
from qa_pipeline.errors import IndexMismatchError, StorageError
from qa_pipeline.index import (
    MAGIC,
    Shard,
    Vectors,
    build_index,
    dump_shard,
    load_shard,
    read_shard,
    write_shard,
)
from qa_pipeline.tables import EMBEDDINGS

DIMENSION = 4


def unit(rows: list[list[float]]) -> Vectors:
    vectors = np.array(rows, dtype=np.float32).reshape(len(rows), -1)
    norms: Vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / norms


def random_vectors(count: int, seed: int = 0, dimension: int = DIMENSION) -> Vectors:
    normal = np.random.default_rng(seed).standard_normal((count, dimension))
    return unit(normal.tolist()) if count else np.zeros((0, dimension), dtype=np.float32)


def embeddings(vectors: Vectors, *, model: str = "m", revision: str = "r") -> pl.DataFrame:
    return EMBEDDINGS.frame(
        [
            {
                "chunk_id": f"c{row}",
                "batch": "b",
                "text_sha256": f"{row}",
                "model": model,
                "model_revision": revision,
                "precision": "float32",
                "vector": vector,
            }
            for row, vector in enumerate(vectors.tolist())
        ]
    )


def shard(count: int = 5) -> Shard:
    return build_index(embeddings(random_vectors(count)))


def load(content: bytes) -> Shard:
    return load_shard(content, model="m", revision="r", dimension=DIMENSION)


def resealed(body: bytes) -> bytes:
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def with_header(**changes: object) -> bytes:
    _, header, payload = dump_shard(shard()).split(b"\n", 2)
    return resealed(json.dumps(json.loads(header) | changes).encode() + b"\n" + payload)


@given(count=st.integers(0, 30), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_a_shard_survives_its_bytes_and_equal_shards_have_equal_bytes(count: int, seed: int) -> None:
    frame = embeddings(random_vectors(count, seed))
    content = dump_shard(build_index(frame))
    loaded = load(content)
    assert loaded.chunk_ids == tuple(frame["chunk_id"])
    assert loaded.vectors.tobytes() == build_index(frame).vectors.tobytes()
    assert dump_shard(loaded) == content


@given(cut=st.integers(0, 400), flip=st.integers(0, 400))
@settings(max_examples=60, deadline=None)
def test_no_damaged_byte_goes_unnoticed(cut: int, flip: int) -> None:
    content = bytearray(dump_shard(shard()))
    with pytest.raises(IndexMismatchError, match="build the index again"):
        load(bytes(content[: cut % len(content)]))
    content[flip % len(content)] ^= 1
    with pytest.raises(IndexMismatchError, match="build the index again"):
        load(bytes(content))
    with pytest.raises(IndexMismatchError, match="build the index again"):
        load(dump_shard(shard()) + b"x")


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
    with pytest.raises(IndexMismatchError):
        load(with_header(**changes))


def test_vectors_without_unit_length_are_refused() -> None:
    _, header, payload = dump_shard(shard()).split(b"\n", 2)
    for value in (np.nan, np.inf, 2.0, 0.0):
        hostile = np.full(len(payload) // 4, value, dtype="<f4").tobytes()
        with pytest.raises(IndexMismatchError, match="unit length"):
            load(resealed(header + b"\n" + hostile))


@pytest.mark.parametrize(
    ("model", "revision", "dimension", "named"),
    [
        ("other", "r", DIMENSION, "m at r .* other at r"),
        ("m", "newer", DIMENSION, "m at r .* m at newer"),
        ("m", "r", 384, r"m at r \(4 dimensions.* m at r \(384 dimensions"),
    ],
)
def test_a_shard_of_another_model_is_refused_naming_both(
    tmp_path: Path, model: str, revision: str, dimension: int, named: str
) -> None:
    write_shard(tmp_path / "b.index", shard())
    with pytest.raises(IndexMismatchError, match=rf"b\.index was built with {named}.*; compute embeddings"):
        read_shard(tmp_path / "b.index", model=model, revision=revision, dimension=dimension)


def test_an_empty_batch_has_a_shard_that_fits_every_model_and_finds_nothing(tmp_path: Path) -> None:
    write_shard(tmp_path / "b.index", build_index(EMBEDDINGS.empty()))
    empty = read_shard(tmp_path / "b.index", model="any", revision="any", dimension=384)
    positions, scores = empty.search(random_vectors(3, dimension=384), 5)
    assert positions.shape == scores.shape == (3, 0)


def test_writing_replaces_in_one_step_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "index" / "b.index"
    write_shard(path, shard(3))
    write_shard(path, shard(4))
    assert len(read_shard(path, model="m", revision="r", dimension=DIMENSION).chunk_ids) == 4
    assert [file.name for file in path.parent.iterdir()] == ["b.index"]


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(StorageError):
        write_shard(tmp_path / "taken", shard())
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(IndexMismatchError, match=r"none\.index cannot be read: .*; build the index"):
        read_shard(tmp_path / "none.index", model="m", revision="r", dimension=4)


def test_a_file_too_large_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shard(tmp_path / "b.index", shard())
    monkeypatch.setattr(index, "MAX_BYTES", 100)
    with pytest.raises(IndexMismatchError, match="100 are the most"):
        read_shard(tmp_path / "b.index", model="m", revision="r", dimension=4)


def test_rows_of_two_models_make_no_shard() -> None:
    one, other = embeddings(random_vectors(2)), embeddings(random_vectors(1), model="other")
    renamed = other.with_columns(chunk_id=pl.lit("x"))
    with pytest.raises(IndexMismatchError, match="one model"):
        build_index(pl.concat([one, renamed]))


def test_vectors_of_two_lengths_make_no_shard() -> None:
    longer = embeddings(random_vectors(1, dimension=7)).with_columns(chunk_id=pl.lit("x"))
    with pytest.raises(IndexMismatchError, match="lengths"):
        build_index(pl.concat([embeddings(random_vectors(2)), longer]))


@given(count=st.integers(1, 40), k=st.integers(1, 50), queries=st.integers(1, 40), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
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


def test_a_query_finds_the_same_whatever_is_asked_beside_it() -> None:
    big = build_index(embeddings(random_vectors(300, dimension=384)))
    asked = random_vectors(50, seed=1, dimension=384)
    positions, scores = big.search(asked, 10)
    alone = [big.search(asked[row : row + 1], 10) for row in range(len(asked))]
    assert positions.tolist() == [found[0][0].tolist() for found in alone]
    assert scores.tobytes() == np.vstack([found[1] for found in alone]).tobytes()
