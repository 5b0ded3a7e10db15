import json
from pathlib import Path

import pytest

from qa_pipeline.errors import StorageError
from qa_pipeline.models.graph_cache import GRAPH, MANIFEST, GraphCache, GraphKey

KEY = GraphKey("a/../model", "revision", "int8", ("export 1",))


def put(cache: GraphCache, content: bytes, key: GraphKey = KEY) -> None:
    cache.put(key, content, mean_cosine=0.999, min_cosine=0.99)


def test_a_kept_graph_comes_back_and_nothing_else_is_left(tmp_path: Path) -> None:
    cache = GraphCache(tmp_path / "graphs")
    assert cache.get(KEY) is None
    put(cache, b"graph")
    assert cache.get(KEY) == b"graph"
    assert [path.name for path in (tmp_path / "graphs").iterdir()] == [KEY.folder]
    told = json.loads((tmp_path / "graphs" / KEY.folder / MANIFEST).read_text())
    assert (told["model"], told["precision"], told["min_cosine"]) == ("a/../model", "int8", 0.99)


@pytest.mark.parametrize(
    "other",
    [
        GraphKey("other", "revision", "int8", ("export 1",)),
        GraphKey("a/../model", "newer", "int8", ("export 1",)),
        GraphKey("a/../model", "revision", "int7", ("export 1",)),
        GraphKey("a/../model", "revision", "int8", ("export 2",)),
    ],
)
def test_a_graph_of_anything_else_is_not_found(tmp_path: Path, other: GraphKey) -> None:
    cache = GraphCache(tmp_path)
    put(cache, b"graph")
    assert cache.get(other) is None
    assert other.folder != KEY.folder


def test_whoever_comes_second_takes_the_first_graph(tmp_path: Path) -> None:
    cache = GraphCache(tmp_path)
    put(cache, b"first")
    put(cache, b"second")
    assert cache.get(KEY) == b"first"
    assert [path.name for path in tmp_path.iterdir()] == [KEY.folder]


@pytest.mark.parametrize("name", [GRAPH, MANIFEST])
def test_a_damaged_or_missing_file_is_named_and_not_used(tmp_path: Path, name: str) -> None:
    cache = GraphCache(tmp_path)
    put(cache, b"graph")
    path = tmp_path / KEY.folder / name
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(StorageError, match=rf"{KEY.folder} is damaged: .*{name}.*; delete the folder"):
        cache.get(KEY)
    path.unlink()
    with pytest.raises(StorageError, match="cannot be read; delete the folder"):
        cache.get(KEY)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "graphs").write_text("a file")
    with pytest.raises(StorageError, match="graphs"):
        put(GraphCache(tmp_path / "graphs"), b"graph")
