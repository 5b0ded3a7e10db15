"""The laws must find what breaks them, or documents that pass them prove nothing."""

from typing import Any

import pytest

from qa_pipeline.records import Block
from qa_pipeline.settings.documents import ChunkingSettings
from qa_pipeline_tests.retrieval.documents import SENTENCE, Counter, chunk, documents, section
from qa_pipeline_tests.retrieval.laws import broken_chunks, broken_document, needless_cuts, overlap

FRAME = documents(
    [
        Block("heading", "A", 1, page=1),
        Block("paragraph", SENTENCE * 20, page=1),
        *section("B", SENTENCE * 20),
    ]
)


def cut(settings: ChunkingSettings | None = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return FRAME.to_dicts()[0], chunk(FRAME, settings or ChunkingSettings(max_tokens=64)).to_dicts()


def test_nothing_is_found_where_nothing_is_broken() -> None:
    document, chunks = cut()
    assert not list(broken_document(document))
    assert not list(broken_chunks(document, chunks, Counter(), 64))
    assert not list(needless_cuts(document, chunks, Counter(), 64))
    assert not overlap(chunks, Counter())


@pytest.mark.parametrize(
    ("place", "change"),
    [
        (0, {"text": "x"}),
        (1, {"char_end": 0}),
        (1, {"char_start": 0}),
        (2, {"position": 7}),
        (2, {"tokens": 1}),
        (2, {"section_start": 3}),
        (2, {"section_end": 3}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_chunk_with_one_wrong_place_or_count_is_found(place: int, change: dict[str, Any]) -> None:
    document, chunks = cut()
    chunks[place] |= change
    assert list(broken_chunks(document, chunks, Counter(), 64))


def test_a_missing_chunk_is_found_and_so_is_one_over_the_bound() -> None:
    document, chunks = cut()
    assert list(broken_chunks(document, chunks[:-1], Counter(), 64))
    assert list(broken_chunks(document, chunks, Counter(), 32))


@pytest.mark.parametrize("name", ["sections", "pages"])
def test_a_gap_between_sections_or_pages_is_found(name: str) -> None:
    document, _ = cut()
    document[name][0]["end"] -= 4
    assert list(broken_document(document))


def test_a_section_that_begins_beside_its_heading_is_found() -> None:
    document, _ = cut()
    document["sections"][1]["start"] += 1
    assert list(broken_document(document))


def test_needless_cuts_and_overlaps_are_found() -> None:
    document, chunks = cut(ChunkingSettings(max_tokens=64, overlap_tokens=30))
    assert max(overlap(chunks, Counter())) > 0
    chunks[0]["char_end"] -= 5
    assert list(needless_cuts(document, chunks, Counter(), 64))
