import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.records import Block
from qa_pipeline.review.readable_text import Mark, TextBlock, readable_blocks

BLOCKS = [
    Block("heading", "Guide", level=1),
    Block("paragraph", "Open the valve.\nWait."),
    Block("list_item", "first", level=0),
    Block("list_item", "second", level=1, marker="6."),
    Block("table_row", "Name: Ada | Town: Lund"),
    Block("table_row", "Name: Bo | Town: Ystad"),
    Block("code", "a = 1\n\n# b | c"),
    Block("paragraph", "# no heading"),
]
ASSEMBLED = assemble(BLOCKS)
TEXT = ASSEMBLED.text
HEADINGS = {part["start"]: part["level"] for part in ASSEMBLED.sections if part["level"]}


def shown(window: tuple[int, int] = (0, len(TEXT)), *marks: Mark) -> list[TextBlock]:
    return list(readable_blocks(TEXT, window, marks, HEADINGS))


def marked(blocks: list[TextBlock], name: str) -> str:
    pieces = [piece for block in blocks for row in block.rows for cell in row.cells for piece in cell]
    return "\n".join(piece.text for piece in pieces if name in piece.marks)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_every_kind_of_block_of_canonical_text_is_told_from_the_others() -> None:
    blocks = shown()
    assert [block.kind for block in blocks] == ["heading", "paragraph", "list", "table", "code", "paragraph"]
    assert blocks[0].level == 1
    assert [row.level for row in blocks[2].rows] == [0, 1]
    assert [piece.text for row in blocks[2].rows for piece in row.cells[0]] == ["first", "6. second"]
    assert [len(row.cells) for row in blocks[3].rows] == [2, 2]
    assert blocks[4].rows[0].cells[0][0].text == "a = 1\n\n# b | c"
    assert blocks[5].rows[0].cells[0][0].text == "# no heading"


@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_marked_words_are_those_of_the_quote_whatever_blocks_it_crosses(
    first: int, second: int, other: int
) -> None:
    start, end = sorted((first, second))
    blocks = shown((0, len(TEXT)), Mark(start, end, "evidence"), Mark(other, other + 3, "hit"))
    assert "".join(words(marked(blocks, "evidence"))) == "".join(words(TEXT[start:end]))


@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_each_piece_knows_its_place_in_the_text(first: int, second: int) -> None:
    start, end = sorted((first, second))
    blocks = shown((0, len(TEXT)), Mark(start, end, "evidence"))
    for piece in (piece for block in blocks for row in block.rows for cell in row.cells for piece in cell):
        assert TEXT[piece.start : piece.start + len(piece.text)] == piece.text
    anchors = [piece.anchor for b in blocks for row in b.rows for cell in row.cells for piece in cell]
    assert anchors.count("evidence") <= 1


@pytest.mark.parametrize("text", ["", "\n\n", "```\nopen", "- \n- ", " | ", "# "])
def test_odd_texts_keep_their_words(text: str) -> None:
    pieces = [
        p for b in readable_blocks(text, (0, len(text))) for row in b.rows for c in row.cells for p in c
    ]
    assert words(" ".join(piece.text for piece in pieces)) == words(text)
