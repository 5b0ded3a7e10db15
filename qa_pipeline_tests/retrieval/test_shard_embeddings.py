import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.models.base import Embedder, Vectors
from qa_pipeline.models.vector_cache import (
    STORE_EVERY,
    CachedEmbedder,
    VectorSpace,
)
from qa_pipeline.records import index_text
from qa_pipeline.retrieval.shard import embed_chunks
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.tables import EMBEDDINGS
from qa_pipeline_tests.curation.rows import chunk_frame
from qa_pipeline_tests.fakes import HashEmbedder, cached, memory_cache

TEXTS = st.lists(st.text(alphabet="ab cåé\n", max_size=12), max_size=20)


def chunks(*texts: str, section_path: Sequence[str] = ("Guide",)) -> pl.DataFrame:
    return chunk_frame(texts, section_path=section_path)


@dataclass
class KilledEmbedder(HashEmbedder):
    """Dies at its n-th call."""

    calls_left: int = 1

    def encode(self, texts: Sequence[str]) -> Vectors:
        if self.calls_left == 0:
            raise KeyboardInterrupt
        self.calls_left -= 1
        return super().encode(texts)


@given(texts=TEXTS)
def test_the_cache_changes_no_vector_and_each_text_is_encoded_once(texts: list[str]) -> None:
    embedder, cache = HashEmbedder(), memory_cache()
    first = CachedEmbedder(embedder, cache).encode(texts)
    again = CachedEmbedder(embedder, cache).encode(texts)
    assert first.tobytes() == again.tobytes() == HashEmbedder().encode(texts).tobytes()
    assert sorted(embedder.encoded) == sorted(set(texts))


@given(texts=TEXTS, seed=st.integers(0, 9))
def test_the_order_of_texts_does_not_change_the_order_of_work(texts: list[str], seed: int) -> None:
    shuffled = random.Random(seed).sample(texts, len(texts))
    one, other = HashEmbedder(), HashEmbedder()
    CachedEmbedder(one, memory_cache()).encode(texts)
    CachedEmbedder(other, memory_cache()).encode(shuffled)
    assert one.encoded == other.encoded


def test_a_chunk_is_embedded_with_its_headings() -> None:
    embedder = HashEmbedder()
    frame = chunks("Set it to 5.", section_path=["Server", "Timeout"])
    embedded = embed_chunks(frame, cached(embedder))
    assert embedder.encoded == ["Server > Timeout\nSet it to 5."]
    assert embedded["text_sha256"].to_list() == [hash_text(index_text(["Server", "Timeout"], "Set it to 5."))]


def test_every_chunk_gets_a_row_in_order_even_where_texts_repeat() -> None:
    embedded = embed_chunks(chunks("apple", "pear", "apple"), cached(HashEmbedder()))
    assert EMBEDDINGS.problems(embedded) == []
    assert embedded["chunk_id"].to_list() == ["c0", "c1", "c2"]
    vectors = embedded["vector"].to_list()
    assert vectors[0] == vectors[2] != vectors[1]
    assert embedded.select("model", "model_revision", "precision").unique().rows() == [
        ("hash", "1", "float32")
    ]


def test_no_chunks_make_an_empty_table() -> None:
    embedder = HashEmbedder()
    assert embed_chunks(chunks(), cached(embedder)).height == 0
    assert embedder.encoded == []


def test_another_revision_is_computed_anew() -> None:
    cache = memory_cache()
    CachedEmbedder(HashEmbedder(revision="1"), cache).encode(["a"])
    second = HashEmbedder(revision="2")
    CachedEmbedder(second, cache).encode(["a"])
    assert second.encoded == ["a"]


def test_a_killed_run_resumes_behind_the_last_stored_batch() -> None:
    texts = [f"text {number:04d}" for number in range(2 * STORE_EVERY + 10)]
    cache = memory_cache()
    with pytest.raises(KeyboardInterrupt):
        CachedEmbedder(KilledEmbedder(calls_left=2), cache).encode(texts)
    second = HashEmbedder()
    vectors = CachedEmbedder(second, cache).encode(texts)
    assert len(second.encoded) == 10
    assert vectors.tobytes() == HashEmbedder().encode(texts).tobytes()


def test_progress_counts_cached_texts_as_done() -> None:
    cache = memory_cache()
    CachedEmbedder(HashEmbedder(), cache).encode(["a", "b"])
    heard: list[tuple[int, int]] = []
    again = CachedEmbedder(HashEmbedder(), cache)
    again.encode(["a", "b", "c"], lambda done, total: heard.append((done, total)))
    assert heard == [(2, 3), (3, 3)]


def test_whoever_comes_second_takes_the_vector_already_stored() -> None:
    cache = memory_cache()
    stored = np.eye(64, dtype=np.float32)[7]

    @dataclass
    class Overtaken(HashEmbedder):
        def encode(self, texts: Sequence[str]) -> Vectors:
            cache.put_many(VectorSpace("hash", "1", "float32"), {hash_text("a"): stored})
            return super().encode(texts)

    assert CachedEmbedder(Overtaken(), cache).encode(["a"]).tolist() == [stored.tolist()]


def test_a_cached_embedder_is_the_same_model_and_computes_a_text_once() -> None:
    inner = HashEmbedder()
    same: Embedder = cached(inner)
    assert same.encode(["a", "b"]).tobytes() == same.encode(["a", "b"]).tobytes()
    assert sorted(inner.encoded) == ["a", "b"]
    assert (same.model, same.revision, same.precision) == ("hash", "1", "float32")
    assert same.window == 256
    assert same.count(["a"]) == [3]
    assert same.encode([]).shape == (0, 0)
    assert same.tokenizer.encode("a").tokens == ["[CLS]", "a", "[SEP]"]
