import sqlite3
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from qa_pipeline.errors import StorageError
from qa_pipeline.models.encoder import Vectors
from qa_pipeline.models.vector_cache import (
    VectorCache,
    VectorSpace,
)

SPACE = VectorSpace("model", "revision", "float32")
VECTORS = st.dictionaries(
    st.text(alphabet="0123456789abcdef", min_size=1, max_size=64),
    arrays(np.float32, 3, elements=st.floats(-1, 1, width=32)),
    max_size=20,
)

WRITER = """
import sys
from pathlib import Path
import numpy as np
from qa_pipeline.models.vector_cache import VectorCache, VectorSpace
number = int(sys.argv[2])
cache = VectorCache(Path(sys.argv[1]))
for turn in range(20):
    names = [f"shared{turn}", f"own{number}-{turn}"]
    cache.put_many(
        VectorSpace("model", "revision", "float32"),
        {name: np.full(8, number, dtype=np.float32) for name in names},
    )
"""


def vector(*values: float) -> Vectors:
    return np.array(values, dtype=np.float32)


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "v" / "cache.db")


@given(vectors=VECTORS, absent=st.lists(st.text(alphabet="ghij", min_size=1), max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_put_comes_back_bit_for_bit_and_nothing_else(
    tmp_path: Path, vectors: dict[str, Vectors], absent: list[str]
) -> None:
    store = VectorCache(tmp_path / uuid.uuid4().hex)
    store.put_many(SPACE, vectors)
    found = store.get_many(SPACE, [*vectors, *absent])
    assert found.keys() == vectors.keys()
    assert all(found[name].tobytes() == vectors[name].tobytes() for name in vectors)
    assert all(found[name].dtype == np.float32 for name in vectors)


def test_the_first_vector_of_a_text_is_final(cache: VectorCache) -> None:
    cache.put_many(SPACE, {"a": vector(1, 0)})
    cache.put_many(SPACE, {"a": vector(0, 1), "b": vector(0, 1)})
    found = cache.get_many(SPACE, ["a", "b"])
    assert found["a"].tolist() == [1, 0]
    assert found["b"].tolist() == [0, 1]


@pytest.mark.parametrize(
    "other",
    [
        VectorSpace("other", "revision", "float32"),
        VectorSpace("model", "other", "float32"),
        VectorSpace("model", "revision", "bfloat16"),
    ],
)
def test_another_model_revision_or_precision_finds_nothing(cache: VectorCache, other: VectorSpace) -> None:
    cache.put_many(SPACE, {"a": vector(1, 0)})
    assert cache.get_many(other, ["a"]) == {}


def test_more_keys_than_a_statement_may_name_are_found(cache: VectorCache) -> None:
    names = [f"{number:05d}" for number in range(2_345)]
    cache.put_many(SPACE, {name: vector(number) for number, name in enumerate(names)})
    assert [int(found[0]) for found in cache.get_many(SPACE, names).values()] == list(range(2_345))


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing_and_agree(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)]) for number in range(3)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    cache = VectorCache(path)
    own = [f"own{number}-{turn}" for number in range(3) for turn in range(20)]
    assert len(cache.get_many(SPACE, own)) == 60
    shared = cache.get_many(SPACE, [f"shared{turn}" for turn in range(20)])
    assert len(shared) == 20
    assert all(len(set(found.tolist())) == 1 for found in shared.values())


def test_a_vector_cut_short_is_reported_not_returned(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    cache = VectorCache(path)
    cache.put_many(SPACE, {"a": vector(1, 0)})
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE vectors SET vector = x'00112233445566'")
    connection.close()
    with pytest.raises(StorageError, match=path.name):
        cache.get_many(SPACE, ["a"])
