from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.models.encoder import Vectors
from qa_pipeline.models.vector_cache import (
    STORE_EVERY,
    CachedEmbedder,
)
from qa_pipeline.retrieval.chunks import index_text
from qa_pipeline.retrieval.search import embed_chunks
from qa_pipeline.storage.hashes import hash_text
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


def test_a_chunk_is_embedded_with_its_headings() -> None:
    embedder = HashEmbedder()
    frame = chunks("Set it to 5.", section_path=["Server", "Timeout"])
    embedded = embed_chunks(frame, cached(embedder))
    assert embedder.encoded == ["Server > Timeout\nSet it to 5."]
    assert embedded["text_sha256"].to_list() == [hash_text(index_text(["Server", "Timeout"], "Set it to 5."))]


def test_a_killed_run_resumes_behind_the_last_stored_batch() -> None:
    texts = [f"text {number:04d}" for number in range(2 * STORE_EVERY + 10)]
    cache = memory_cache()
    with pytest.raises(KeyboardInterrupt):
        CachedEmbedder(KilledEmbedder(calls_left=2), cache).encode(texts)
    second = HashEmbedder()
    vectors = CachedEmbedder(second, cache).encode(texts)
    assert len(second.encoded) == 10
    assert vectors.tobytes() == HashEmbedder().encode(texts).tobytes()
