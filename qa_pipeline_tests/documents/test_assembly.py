import unicodedata
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.records import Block, Mask, keep
from qa_pipeline.text.doubt import SIGNS

KINDS = st.sampled_from(["heading", "paragraph", "list_item", "table_row", "code", "quote"])


BLOCKS = st.lists(
    st.builds(
        Block,
        kind=KINDS,
        text=st.text(max_size=40) | st.just("# not a heading") | st.just("```\n````"),
        level=st.integers(0, 9),
        continues=st.booleans(),
    ),
    max_size=12,
)


@given(BLOCKS)
def test_sections_are_disjoint_in_order_and_cover_all_but_white_space(blocks: list[Block]) -> None:
    document = assemble(blocks)
    place, left_over = 0, ""
    for section in document.sections:
        assert place <= section["start"] < section["end"] <= len(document.text)
        left_over += document.text[place : section["start"]]
        text = document.text[section["start"] : section["end"]]
        heading = f"{'#' * section['level']} {section['heading_path'][-1]}" if section["level"] else ""
        assert text.startswith(heading)
        place = section["end"]
    assert not (left_over + document.text[place:]).strip()


@given(BLOCKS)
def test_canonical_text_is_nfc_and_has_no_white_space_at_its_edges(blocks: list[Block]) -> None:
    text = assemble(blocks).text
    assert unicodedata.is_normalized("NFC", text)
    assert text == text.strip("\n")


@given(st.lists(st.tuples(st.integers(1, 5), st.text("ab .", min_size=1, max_size=9)), max_size=12))
def test_pages_are_spans_in_order_that_hold_what_begins_on_them(pairs: list[tuple[int, str]]) -> None:
    blocks = [Block("paragraph", text, page=page) for page, text in sorted(pairs, key=lambda pair: pair[0])]
    document = assemble(blocks)
    for page in document.pages:
        expected = "\n\n".join(b.text.strip() for b in blocks if b.page == page["number"] and b.text.strip())
        assert " ".join(document.text[page["start"] : page["end"]].split()) == " ".join(expected.split())
    assert "".join(document.text[page["start"] : page["end"]] for page in document.pages) == document.text


@given(BLOCKS, st.sampled_from(sorted(SIGNS.values())), st.data())
def test_a_sign_of_a_doubt_changes_no_text_and_its_place_lies_in_it(
    blocks: list[Block], sign: str, data: st.DataObject
) -> None:
    places = [data.draw(st.integers(0, len(block.text))) for block in blocks]
    signed = [
        replace(block, text=f"{block.text[:place]}{sign}{block.text[place:]}")
        for block, place in zip(blocks, places, strict=True)
    ]
    document = assemble(signed)
    plain = assemble(blocks)
    assert (document.text.split(), document.pages) == (plain.text.split(), plain.pages)
    assert bool(document.doubts) == bool(document.text)
    assert all(0 <= doubt["start"] < doubt["end"] <= len(document.text) for doubt in document.doubts)


def test_the_written_form_of_each_kind() -> None:
    blocks = [
        Block("heading", "Guide", 1),
        Block("paragraph", "One\ntwo."),
        Block("list_item", "first"),
        Block("list_item", "nested", 1),
        Block("code", "x = 1\n\ny = 2"),
        Block("table_row", "A: 1 | B: 2"),
        Block("table_row", "A: 3 | B: 4"),
        Block("quote", "Said."),
    ]
    assert assemble(blocks).text == (
        "# Guide\n\nOne\ntwo.\n\n- first\n  - nested\n\n```\nx = 1\n\ny = 2\n```\n\n"
        "A: 1 | B: 2\nA: 3 | B: 4\n\nSaid."
    )


def test_heading_paths_follow_the_levels() -> None:
    levels = [("A", 1), ("B", 2), ("C", 4), ("D", 2), ("E", 1)]
    document = assemble(Block("heading", name, level) for name, level in levels)
    paths = ["".join(section["heading_path"]) for section in document.sections]
    assert paths == ["A", "AB", "ABC", "AD", "E"]


def test_code_that_holds_a_fence_gets_a_longer_one() -> None:
    assert assemble([Block("code", "```\ninner\n```")]).text == "````\n```\ninner\n```\n````"


def test_a_heading_as_long_as_a_paragraph_is_a_paragraph() -> None:
    document = assemble([Block("heading", "word " * 100, 2)])
    assert [section["level"] for section in document.sections] == [0]


def doubted(*blocks: Block, mask: Mask = keep) -> list[tuple[str, str]]:
    document = assemble(blocks, mask)
    assert not set(document.text) & set(SIGNS.values())
    return [(doubt["kind"], document.text[doubt["start"] : doubt["end"]]) for doubt in document.doubts]


def test_the_place_of_a_doubt_in_prose_touches_both_sides_of_its_sign() -> None:
    text = f"The sum is  {SIGNS['formula']} so it holds."
    assert doubted(Block("paragraph", text)) == [("formula", "s s")]
    assert doubted(Block("list_item", f"{SIGNS['formula']} holds."), Block("heading", "A")) == [
        ("formula", "ho")
    ]


def test_rows_in_doubt_are_one_place_and_a_sure_row_between_them_parts_it() -> None:
    sign = SIGNS["table"]
    rows = [Block("table_row", f"a | {row}{sign if row != 2 else ''}") for row in range(4)]
    assert doubted(*rows) == [("table", "a | 0\na | 1"), ("table", "a | 3")]


def test_doubts_are_in_order_where_a_sign_amid_quoted_mail_comes_before_the_doubt_about_it_all() -> None:
    quoted = Block("quote", f"The sum is {SIGNS['formula']} so it holds.{SIGNS['quoted']}")
    assert doubted(quoted) == [("quoted", "The sum is so it holds."), ("formula", "s s")]
