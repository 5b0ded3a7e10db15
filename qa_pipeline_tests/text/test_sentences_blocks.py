from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.sentences import blocks, paragraphs_and_items, units

TEXTS = st.text(st.sampled_from("ab \n\n`~#-|:1.>"), max_size=200)
SAMPLE = (
    "# Head\n\nOne line\nand another\n\n- item\n  goes on\n- item\n\n"
    "```\nx = 1\n\ny = 2\n```\nKey: a\nOther: b"
)


def test_blocks_are_parted_by_blank_lines_and_fences() -> None:
    found = [(SAMPLE[start:end].strip(), code) for start, end, code in blocks(SAMPLE)]
    assert found == [
        ("# Head", False),
        ("One line\nand another", False),
        ("- item\n  goes on\n- item", False),
        ("```\nx = 1\n\ny = 2\n```", True),
        ("Key: a\nOther: b", False),
    ]


def test_rows_items_and_key_value_lines_are_units_and_lines_of_a_paragraph_are_joined() -> None:
    found = [SAMPLE[start:end].strip() for start, end, _ in units(SAMPLE)]
    assert found[1:4] == ["One line\nand another", "- item\n  goes on", "- item"]
    assert found[-2:] == ["Key: a", "Other: b"]


def test_headings_rows_and_code_are_whole() -> None:
    text = "## A. B\n\nx | y. Z\n\nA. B"
    assert [whole for _, _, whole in units(text)] == [True, True, False]


@given(TEXTS)
def test_blocks_are_disjoint_in_order_and_hold_all_that_is_no_space(text: str) -> None:
    place = 0
    for start, end, _ in blocks(text):
        assert place <= start < end
        assert not text[place:start].strip()
        place = end
    assert not text[place:].strip()


@given(TEXTS)
def test_the_units_of_a_block_put_together_are_the_block(text: str) -> None:
    for start, end, code in blocks(text):
        parts = [] if code else list(paragraphs_and_items(text, start, end))
        held = "".join(text[left:right] for left, right, _ in parts)
        assert code or "".join(held.split()) == "".join(text[start:end].split())
