import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble, visible
from qa_pipeline.documents.formats import text
from qa_pipeline_tests.documents.builders import SETTINGS, outline, source


def blocks(content: str) -> list[tuple[str, str]]:
    return outline(text.parse(source(content), SETTINGS))


@given(st.text("XYåé1.)(-•=~# \n\t*\u00a0", max_size=200))
def test_every_character_is_in_a_block_or_counted_as_left_out(content: str) -> None:
    parsed = text.parse(source(content), SETTINGS)
    kept = visible("".join(f"{block.marker or ''}{block.text}" for block in parsed.blocks))
    assert kept + sum(part.characters for part in parsed.left_out) == visible(content)


def test_wrapped_lines_are_joined_and_short_ones_kept() -> None:
    wrapped = "This line of prose was wrapped by an editor at about\nsixty letters, as they used to be."
    assert text.parse(source(wrapped), SETTINGS).blocks[0].text == wrapped.replace("\n", " ")
    address = "Storgatan 1\n111 22 Stockholm"
    assert text.parse(source(address), SETTINGS).blocks[0].text == address


def test_underlined_numbered_and_capital_lines_are_headings() -> None:
    content = "Guide\n=====\nIntro text.\n\nPart\n----\n\n2.1 Scope of it\n\nGENERAL TERMS\n\nText."
    parsed = text.parse(source(content), SETTINGS)
    headings = [(block.text, block.level) for block in parsed.blocks if block.kind == "heading"]
    assert headings == [("Guide", 1), ("Part", 2), ("2.1 Scope of it", 3), ("GENERAL TERMS", 2)]


@pytest.mark.parametrize("line", ["12 apples.", "2024 was a good year", "1. this is a step"])
def test_ordinary_lines_are_not_headings(line: str) -> None:
    assert all(kind != "heading" for kind, _ in blocks(f"{line}\n\nMore."))


def test_indented_groups_are_code() -> None:
    assert blocks("Run:\n\n    make all\n\tmake test") == [
        ("paragraph", "Run:"),
        ("code", "make all make test"),
    ]


def test_items_of_ordered_lists_keep_their_numbers() -> None:
    parsed = text.parse(source("1. one\n2. two\n   a) deep\n(3) three\n- four"), SETTINGS)
    assert assemble(parsed.blocks).text == "- 1. one\n- 2. two\n  - a) deep\n- (3) three\n- four"
