from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.records import Block
from qa_pipeline.settings.documents import ChunkingSettings
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS
from qa_pipeline_tests.retrieval.documents import (
    BLOCKS,
    CHOSEN,
    SENTENCE,
    WORDS,
    Counter,
    chunk,
    documents,
    section,
)
from qa_pipeline_tests.retrieval.laws import broken_chunks


@given(st.lists(BLOCKS, max_size=3), CHOSEN)
def test_chunks_are_exact_ordered_within_bound_and_section_and_cover_the_text(
    contents: list[list[Block]], chosen: ChunkingSettings
) -> None:
    frame = documents(*contents)
    chunks = chunk(frame, chosen).partition_by("document_id", as_dict=True)
    for document in frame.to_dicts():
        own = chunks.get((document["document_id"],), CHUNKS.empty()).to_dicts()
        assert not list(broken_chunks(document, own, Counter(), chosen.max_tokens))


@given(BLOCKS, CHOSEN)
def test_neighbours_share_no_text(blocks: list[Block], chosen: ChunkingSettings) -> None:
    chunks = chunk(documents(blocks), chosen).to_dicts()
    assert all(one["char_end"] <= other["char_start"] for one, other in pairwise(chunks))


@given(st.lists(BLOCKS, max_size=3), BLOCKS, CHOSEN)
def test_a_document_has_the_same_chunks_whatever_else_is_in_the_batch(
    others: list[list[Block]], blocks: list[Block], chosen: ChunkingSettings
) -> None:
    alone = chunk(documents(blocks), chosen).drop("chunk_id")
    among = chunk(documents(blocks, *others), chosen).drop("chunk_id")
    assert among.filter(pl.col("document_id") == "document-0").equals(alone)


@given(st.lists(WORDS, min_size=2, max_size=5), st.integers(0, 4), WORDS, CHOSEN)
def test_editing_one_section_moves_only_its_own_chunks(
    texts: list[str], edited: int, new: str, chosen: ChunkingSettings
) -> None:
    edited %= len(texts)
    changed = [*texts[:edited], new, *texts[edited + 1 :]]

    def ids(parts: list[str]) -> set[str]:
        blocks = [block for number, part in enumerate(parts) for block in section(f"Part {number}", part)]
        frame = chunk(documents(blocks), chosen)
        kept = frame.filter(pl.col("section_path").list.last() != f"Part {edited}")
        return set(kept["chunk_id"])

    assert ids(texts) == ids(changed)


def test_a_section_that_fits_is_one_chunk_with_its_heading_line() -> None:
    chunks = chunk(documents([*section("Ports", "It listens on port 80."), *section("Logs", "It logs.")]))
    assert chunks["text"].to_list() == ["## Ports\n\nIt listens on port 80.", "## Logs\n\nIt logs."]
    assert chunks["position"].to_list() == [0, 1]


def test_the_heading_line_stays_with_the_first_of_several_chunks() -> None:
    chunks = chunk(documents(section("Reload", SENTENCE * 30)), ChunkingSettings(max_tokens=64))
    first, *others = chunks["text"].to_list()
    assert chunks.height > 3
    assert first.startswith("## Reload\n\nThe server")
    assert not any(text.startswith("## ") for text in others)


def test_a_path_too_long_for_the_window_loses_its_outer_headings_first() -> None:
    blocks = [Block("heading", f"Heading number {level} " + "word " * 12, level) for level in range(1, 6)]
    chunks = chunk(documents([*blocks, Block("paragraph", "Text.")]), ChunkingSettings(max_tokens=60))
    (path,) = chunks["section_path"].to_list()
    assert path
    assert path[-1].startswith("Heading number 5")
    assert chunks["tokens"].to_list()[0] <= 60


def test_equal_text_under_equal_headings_gets_an_id_of_its_own() -> None:
    blocks = section("Licence", "All rights reserved.")
    chunks = chunk(documents(blocks, blocks))
    assert chunks["chunk_id"].n_unique() == 2
    assert chunk(documents(blocks))["chunk_id"][0] == chunks["chunk_id"][0]


def test_page_ranges_name_the_pages_a_chunk_is_on() -> None:
    blocks = [
        Block("heading", "One", 1, page=1),
        Block("paragraph", "Starts here", page=1),
        Block("paragraph", "and ends there.", page=2, continues=True),
        Block("heading", "Two", 1, page=3),
        Block("paragraph", "Text.", page=3),
    ]
    chunks = chunk(documents(blocks))
    assert chunks.select("page_first", "page_last").rows() == [(1, 2), (3, 3)]


def test_only_parsed_documents_are_cut_and_none_gives_an_empty_table() -> None:
    assert chunk(documents([Block("paragraph", "x")], status="failed")).equals(CHUNKS.empty())
    assert chunk(DOCUMENTS.empty()).equals(CHUNKS.empty())


@pytest.mark.parametrize("text", ["x" * 5_000, "😀" * 500, "あ" * 2_000, "a.b," * 900])
def test_text_without_a_place_to_cut_is_cut_all_the_same(text: str) -> None:
    chunks = chunk(documents([Block("paragraph", text)]), ChunkingSettings(max_tokens=32))
    assert "".join(chunks["text"]) == text
    assert max(chunks["tokens"]) <= 32


def test_the_language_of_each_chunk_is_found_from_its_text_and_its_document() -> None:
    swedish = "Vattenverket renar vatten från sjön och levererar det till hela staden varje dag. " * 3
    frame = documents([*section("A", swedish), *section("B", "Yes.")])
    shares = pl.lit([{"language": "en", "share": 1.0}], DOCUMENTS.schema["languages"])
    frame = frame.with_columns(languages=shares)
    assert chunk(frame)["language"].to_list() == ["sv", "en"]


def test_a_heading_with_neither_text_nor_sections_below_it_is_a_chunk() -> None:
    frame = documents(
        [
            Block("heading", "Statute", 1),
            Block("heading", "§ 10 (repealed)", 2),
            Block("heading", "§ 11", 2),
            Block("paragraph", "The fee is 3 euros."),
        ]
    )
    chunks = chunk(frame, ChunkingSettings()).to_dicts()
    assert [one["text"] for one in chunks] == ["## § 10 (repealed)", "## § 11\n\nThe fee is 3 euros."]
    assert chunks[0]["section_path"][-1] == "§ 10 (repealed)"


def test_sentences_list_items_and_rows_are_not_cut_where_it_can_be_avoided() -> None:
    prose = chunk(documents(section("A", SENTENCE * 40)), ChunkingSettings(max_tokens=64))
    assert all(text.endswith("told to.") for text in prose["text"])
    rows = [Block("table_row", f"Name: item {n} | Price: {n} kr | Stock: {n * 7}") for n in range(60)]
    table = chunk(documents([Block("heading", "B", 2), *rows]), ChunkingSettings(max_tokens=64))
    lines = [line for text in table["text"] for line in text.split("\n") if line and not line.startswith("#")]
    assert lines == [row.text for row in rows]
