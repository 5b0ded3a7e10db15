import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.models.base import Vectors
from qa_pipeline.retrieval import corpus_index
from qa_pipeline.retrieval.corpus_index import CorpusIndex, index_snapshot, update_corpus_index
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline_tests.vectors import clustered_vectors, embeddings

pytestmark = pytest.mark.usefixtures("one_faiss_thread")

VECTORS = clustered_vectors(4_000)
QUERIES = clustered_vectors(100, seed=50)
BATCHES = {f"batch-{number}": VECTORS[400 * number : 400 * (number + 1)] for number in range(10)}
LISTS, EXACT = 1, 10**9


def update(
    folder: Path, batches: Mapping[str, Vectors], exact_below: int = LISTS, read: list[str] | None = None
) -> CorpusIndex:
    """Bring the index up to date; `read` gets the names of the batches that it reads."""

    def frame(batch: str) -> pl.DataFrame:
        if read is not None:
            read.append(batch)
        return embeddings(batches[batch]).with_columns(chunk_id=pl.format(f"{batch}/{{}}", "chunk_id"))

    shards = {batch: hash_text(str(vectors.tobytes())) for batch, vectors in batches.items()}
    return update_corpus_index(folder, shards, frame, exact_below=exact_below)


def cosines(index: CorpusIndex, k: int = 10) -> Vectors:
    return np.array([[chunk.cosine for chunk in chunks] for chunks in index.search(QUERIES, k)])


def exact(batches: Mapping[str, Vectors], k: int = 10) -> Vectors:
    every = np.concatenate([batches[batch] for batch in sorted(batches)])
    return -np.sort(-(QUERIES @ every.T), axis=1)[:, :k]


def recall(index: CorpusIndex, batches: Mapping[str, Vectors]) -> float:
    return float((cosines(index) >= exact(batches)[:, -1:] - 1e-6).mean())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def without(*names: str) -> dict[str, Vectors]:
    return {batch: vectors for batch, vectors in BATCHES.items() if batch not in names}


def test_few_chunks_are_searched_exactly_and_named_with_their_batch(tmp_path: Path) -> None:
    index = update(tmp_path, BATCHES, EXACT)
    assert index.manifest.lists is None
    np.testing.assert_allclose(cosines(index), exact(BATCHES), atol=1e-6)
    (nearest,) = index.search(BATCHES["batch-7"][5:6], 1)[0]
    assert (nearest.batch, nearest.chunk_id.split("/")[0]) == ("batch-7", "batch-7")
    assert nearest.cosine == pytest.approx(1.0)


def test_lists_find_what_their_trial_promises_of_queries_it_did_not_see(tmp_path: Path) -> None:
    index = update(tmp_path, BATCHES)
    assert index.manifest.lists is not None
    assert index.manifest.lists.recall >= corpus_index.MIN_RECALL
    assert recall(index, BATCHES) >= corpus_index.MIN_RECALL


def test_cosines_are_exact_although_lists_hold_rounded_vectors(tmp_path: Path) -> None:
    for query, chunks in zip(QUERIES, update(tmp_path, BATCHES).search(QUERIES, 10), strict=True):
        for chunk in chunks:
            vector = VECTORS[int(np.argmin(np.abs(VECTORS @ query - chunk.cosine)))]
            assert chunk.cosine == pytest.approx(float(vector @ query), abs=1e-6)


@pytest.mark.parametrize("exact_below", [LISTS, EXACT])
def test_a_query_finds_the_same_alone_and_among_others(tmp_path: Path, exact_below: int) -> None:
    index = update(tmp_path, BATCHES, exact_below)
    assert index.search(QUERIES, 10) == [index.search(query[None, :], 10)[0] for query in QUERIES]


@pytest.mark.parametrize("exact_below", [LISTS, EXACT])
def test_equal_batches_give_equal_bytes_in_whatever_order_they_are_named(
    tmp_path: Path, exact_below: int
) -> None:
    update(tmp_path / "a", BATCHES, exact_below)
    update(tmp_path / "b", dict(reversed(BATCHES.items())), exact_below)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("exact_below", [LISTS, EXACT])
def test_an_unchanged_corpus_is_neither_read_nor_written(tmp_path: Path, exact_below: int) -> None:
    update(tmp_path, BATCHES, exact_below)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    read: list[str] = []
    update(tmp_path, BATCHES, exact_below, read)
    assert not read
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}


@pytest.mark.parametrize("exact_below", [LISTS, EXACT])
def test_a_new_batch_is_appended_and_no_other_is_read(tmp_path: Path, exact_below: int) -> None:
    update(tmp_path, without("batch-3"), exact_below)
    read: list[str] = []
    index = update(tmp_path, BATCHES, exact_below, read)
    assert read == ["batch-3"]
    assert index.rows == 4_000
    assert recall(index, BATCHES) >= corpus_index.MIN_RECALL
    assert index.search(BATCHES["batch-3"][:1], 1)[0][0].batch == "batch-3"


@pytest.mark.parametrize("exact_below", [LISTS, EXACT])
def test_a_batch_that_went_is_never_found_again(tmp_path: Path, exact_below: int) -> None:
    update(tmp_path, BATCHES, exact_below)
    read: list[str] = []
    index = update(tmp_path, without("batch-3"), exact_below, read)
    assert not read
    assert index.rows == 3_600
    batches = {chunk.batch for chunks in index.search(BATCHES["batch-3"], 20) for chunk in chunks}
    assert batches <= set(without("batch-3"))
    assert recall(index, without("batch-3")) >= corpus_index.MIN_RECALL


@pytest.mark.parametrize("exact_below", [LISTS, EXACT])
def test_a_changed_batch_is_found_as_it_is_now(tmp_path: Path, exact_below: int) -> None:
    update(tmp_path, BATCHES, exact_below)
    changed = {**BATCHES, "batch-3": clustered_vectors(400, seed=9)}
    read: list[str] = []
    index = update(tmp_path, changed, exact_below, read)
    assert read == ["batch-3"]
    assert recall(index, changed) >= corpus_index.MIN_RECALL


@pytest.mark.parametrize("exact_below", [LISTS, EXACT])
def test_past_a_share_of_changes_all_is_built_as_if_for_the_first_time(
    tmp_path: Path, exact_below: int
) -> None:
    update(tmp_path / "a", BATCHES, exact_below)
    rest = without("batch-1", "batch-4", "batch-9")
    update(tmp_path / "a", rest, exact_below)
    update(tmp_path / "b", rest, exact_below)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_writer_that_was_killed_leaves_the_old_index_and_the_next_one_goes_on(tmp_path: Path) -> None:
    update(tmp_path / "a", without("batch-3"))
    before = cosines(CorpusIndex(tmp_path / "a"))

    def killed(batch: str) -> pl.DataFrame:
        if batch == "z":
            raise KeyboardInterrupt
        return embeddings(BATCHES["batch-3"])

    manifest = CorpusIndex(tmp_path / "a").manifest
    shards = {batch: part.hash for batch, part in manifest.parts.items()}
    with pytest.raises(KeyboardInterrupt):
        update_corpus_index(tmp_path / "a", {**shards, "y": "1", "z": "2"}, killed, exact_below=LISTS)
    np.testing.assert_array_equal(cosines(CorpusIndex(tmp_path / "a")), before)
    update(tmp_path / "a", BATCHES)
    update(tmp_path / "b", without("batch-3"))
    update(tmp_path / "b", BATCHES)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("damaged", ["lists-*.faiss", "vectors-*.f32", "ids-*.txt", "manifest.json"])
def test_damaged_files_are_named_to_a_reader_and_made_anew_by_an_update(tmp_path: Path, damaged: str) -> None:
    update(tmp_path, BATCHES)
    whole = contents(tmp_path)
    (file,) = tmp_path.glob(damaged)
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(IndexMismatchError, match="delete it and run again"):
        CorpusIndex(tmp_path).search(QUERIES, 10)
    assert recall(update(tmp_path, BATCHES), BATCHES) >= corpus_index.MIN_RECALL
    assert {len(content) for content in contents(tmp_path).values()} == set(map(len, whole.values()))


def test_batches_of_two_models_are_refused_with_the_name_of_one(tmp_path: Path) -> None:
    frames: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
        "a": lambda frame: frame,
        "b": lambda frame: frame.with_columns(model=pl.lit("other")),
    }
    with pytest.raises(IndexMismatchError, match="batch b"):
        update_corpus_index(
            tmp_path, {"a": "1", "b": "2"}, lambda batch: frames[batch](embeddings(VECTORS[:3]))
        )


def test_where_lists_find_too_little_every_vector_is_compared_and_the_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_index, "MIN_RECALL", 1.01)
    index = update(tmp_path, BATCHES)
    assert index.manifest.lists is None
    assert index.manifest.note is not None
    assert "every vector is compared" in index.manifest.note
    np.testing.assert_allclose(cosines(index), exact(BATCHES), atol=1e-6)


@pytest.mark.parametrize("batches", [{}, {"a": VECTORS[:0]}, {"a": VECTORS[:0], "b": VECTORS[:2]}])
def test_of_few_chunks_as_many_are_found_as_there_are(tmp_path: Path, batches: dict[str, Vectors]) -> None:
    index = update(tmp_path, batches, EXACT)
    count = sum(len(vectors) for vectors in batches.values())
    assert [len(chunks) for chunks in index.search(QUERIES[:2], 10)] == [count, count]


def test_a_reader_of_no_index_is_told_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(IndexMismatchError, match="build it first"):
        CorpusIndex(tmp_path)


def test_batches_that_overlap_in_the_manifest_are_damage(tmp_path: Path) -> None:
    update(tmp_path, BATCHES, EXACT)
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    manifest["parts"]["batch-1"]["start"] = 0
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(IndexMismatchError, match="overlap"):
        CorpusIndex(tmp_path)


def test_the_snapshot_names_the_shards_and_nothing_else(tmp_path: Path) -> None:
    assert index_snapshot({"a": "1", "b": "2"}) == index_snapshot({"b": "2", "a": "1"})
    assert index_snapshot({"a": "1"}) != index_snapshot({"a": "2"})
    assert index_snapshot({"a": "1"}) != index_snapshot({"b": "1"})
    first = update(tmp_path, BATCHES).manifest.snapshot
    assert update(tmp_path, without("batch-3")).manifest.snapshot != first
    assert update(tmp_path, BATCHES).manifest.snapshot == first
