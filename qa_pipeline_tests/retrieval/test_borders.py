from itertools import pairwise

import pytest
from hypothesis import given
from tokenizers import Tokenizer, models, pre_tokenizers

from qa_pipeline.records import Block
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.settings.documents import ChunkingSettings
from qa_pipeline_tests.retrieval.documents import BLOCKS, CHOSEN, SENTENCE, Counter, chunk, documents, section
from qa_pipeline_tests.retrieval.laws import broken_chunks
from qa_pipeline_tests.support.work import lines_run


def texts(blocks: list[Block], **values: object) -> list[str]:
    found: list[str] = chunk(documents(blocks), ChunkingSettings.model_validate(values))["text"].to_list()
    return found


def test_a_lead_in_stays_with_its_list_and_a_fence_with_its_code() -> None:
    items = [Block("list_item", f"{SENTENCE}Number {n}.") for n in range(3)]
    code = Block("code", "\n".join(f"call(number_{n}, another_{n}, third_{n})" for n in range(8)))
    blocks = [Block("paragraph", SENTENCE * 2 + "These are all:"), *items, code]
    for text in texts(blocks, max_tokens=72):
        assert not text.endswith((":", "```\ncall", "\n```\n"))
        assert text.split("\n")[-1] != "```" or text.count("\n") > 1


def test_chunks_of_indented_lines_keep_their_indentation() -> None:
    code = "def f():\n" + "\n".join(f"    value_{n} = compute(value_{n + 1}, other)" for n in range(20))
    found = texts([Block("code", code)], max_tokens=48)
    assert len(found) > 4
    assert all(text.startswith("    ") for text in found[1:])


def test_a_chunk_repeats_whole_sentences_of_the_one_before_it() -> None:
    numbered = " ".join(f"This is sentence number {n}." for n in range(40))
    first, second, *_ = texts([Block("paragraph", numbered)], max_tokens=64, overlap_tokens=16)
    shared = second[: second.index(first.split(". ")[-1]) + len(first.split(". ")[-1])]
    assert first.endswith(shared)
    assert shared.startswith("This is sentence")
    assert shared.count(".") == 2


def test_chunks_of_a_table_repeat_whole_rows() -> None:
    rows = [f"Name: item {n} | Price: {n} kr | Stock: {n * 7}" for n in range(40)]
    found = texts([Block("table_row", row) for row in rows], max_tokens=64, overlap_tokens=20)
    lines = [text.split("\n") for text in found]
    assert {line for own in lines for line in own} == set(rows)
    assert all(before[-1] == after[0] for before, after in pairwise(lines))


def test_an_overlap_never_reaches_into_another_section() -> None:
    blocks = [*section("A", SENTENCE * 12), *section("B", SENTENCE * 12)]
    chunks = chunk(documents(blocks), ChunkingSettings(max_tokens=64, overlap_tokens=30))
    for row in chunks.to_dicts():
        assert row["section_start"] <= row["char_start"]
        assert row["char_end"] <= row["section_end"]


class OtherCounter(Counter):
    """A tokenizer that reads texts whole: every byte is a token."""

    def __init__(self, window: int) -> None:
        super().__init__(window)
        pieces = pre_tokenizers.ByteLevel.alphabet()
        self.tokenizer = Tokenizer(models.BPE({piece: n for n, piece in enumerate(sorted(pieces))}, []))
        self.tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)


@given(BLOCKS, CHOSEN)
def test_the_bound_holds_for_tokenizers_whose_words_are_not_read_alone(
    blocks: list[Block], chosen: ChunkingSettings
) -> None:
    frame, counter = documents(blocks), OtherCounter(90)
    chunks = chunk_documents(frame, counter, chosen).to_dicts()
    bound = min(chosen.max_tokens, 90)
    assert not list(broken_chunks(frame.to_dicts()[0], chunks, counter, bound))


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    ["a. ", "word ", "x", "a,b;", "Key:\n", "あ", "line | of | cells\n", "```\n"],
    ids=["sentences", "words", "letters", "marks", "lead_ins", "no_blanks", "rows", "fences"],
)
def test_hostile_text_twice_as_long_is_at_most_twice_the_work(hostile: str) -> None:
    def work(size: int) -> int:
        block = Block("code" if "\n" in hostile else "paragraph", hostile * (size // len(hostile) + 1))
        return lines_run(lambda: chunk(documents([block]), ChunkingSettings(overlap_tokens=40)))

    assert work(40_000) < 2.5 * work(20_000)
