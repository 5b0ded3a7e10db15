"""Which lines of a PDF make up a paragraph, and which are headings."""

from collections.abc import Sequence

import pytest
from fpdf import FPDF

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf import layout
from qa_pipeline.documents.formats.pdf.glyphs import _kind_of_font
from qa_pipeline.documents.formats.pdf.groups import Group
from qa_pipeline.documents.formats.pdf.lines import Line, Spelling
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import doubted, texts
from qa_pipeline_tests.documents.formats.pdf.builders import at, blank, each_page, of_kind, parse, prose


def close_lines(document: FPDF, y: float, *texts: str) -> float:
    for text in texts:
        document.text(20, y, text)
        y += 5
    return y


def paragraphs_of(*texts: str) -> list[str]:
    """Paragraphs below one that fills the column, in whose lines texts stand one close below the other."""
    document = blank()
    at(document, 19, 15, prose("above", 8), width=170)
    close_lines(document, 80, *texts)
    return [block.text for block in parse(document).blocks][1:]


def test_each_statement_in_minutes_is_a_paragraph() -> None:
    minutes = [
        "Anna: We begin at nine and go through the list of last week.",
        "Bo: The bridge is closed until May.",
        "Anna: Who tells the school?",
        "Cecilia: I call them today.",
    ]
    assert paragraphs_of(*minutes) == minutes


def test_a_short_line_at_the_end_of_a_page_is_not_joined_to_a_capital_on_the_next() -> None:
    document = blank()
    at(document, 19, 15, prose("above", 8), width=170)
    document.text(20, 280, "The answer of the town")
    document.add_page()
    document.text(20, 20, "Bridges are painted in the spring.")
    torn = ["The answer of the town", "Bridges are painted in the spring."]
    assert texts(parse(document).blocks)[1:] == torn
    assert doubted(parse(document)) == [("order", text) for text in torn]


def turned_to(*texts: str) -> list[tuple[str, str]]:
    """Doubts about a paragraph that runs over a page break before its second line."""
    document = blank()
    at(document, 19, 15, prose("above", 8), width=170)
    for number, text in each_page(document, enumerate(texts)):
        document.text(20, 20 if number else 280, text)
    return doubted(parse(document))


FULL = (
    f"A line fills its column to the very end of it and names {'all the things of the town ' * 2}and the old"
)


def test_a_line_on_the_next_page_that_begins_with_a_capital_or_number_goes_on_in_doubt() -> None:
    for text in ("Bridges of the river.", "94 of the bridges."):
        assert turned_to(FULL, text) == [("order", f"{FULL} {text}")]


def test_a_line_on_the_next_page_that_begins_with_a_small_letter_goes_on_without_doubt() -> None:
    assert turned_to(FULL, "bridges of the river.") == []


def test_no_order_is_in_doubt_where_a_sentence_ends_with_its_page() -> None:
    assert turned_to("The bridge is closed.", "Boats sail in the summer.") == []


@pytest.mark.parametrize(
    "formula",
    ["L = 1 n ∑ i=1 n y", "x = a + b c + d", "the area is √ x + 1 here", "∫ f dx is F", "\x12 a \x13"],
)
def test_a_sentence_with_a_formula_of_fractions_or_limits_is_in_doubt(formula: str) -> None:
    with_formula = sentence_doubts(f"The loss is {formula} of the town. Boats sail in the summer.")
    assert {kind for kind, _ in with_formula} == {"formula"}
    assert all(text.startswith("The loss") and text.endswith("the town.") for _, text in with_formula)


def sentence_doubts(text: str) -> list[tuple[str, str]]:
    written = Group("paragraph", [Line(text, 1, 20, 20, 300, 30, 10, False, False)])
    blocks = layout._blocks([written], Spelling([text]), Omissions())
    return doubted(ParsedFile(tuple(blocks)))


@pytest.mark.parametrize(
    "text", ["A 4 × 4 matrix is in it.", "It is c = a + b ± m, m ∈ N here.", "A B C D E F G are letters."]
)
def test_a_number_word_or_list_of_letters_is_no_formula_in_doubt(text: str) -> None:
    assert sentence_doubts(text) == []


def headings(document: FPDF) -> list[tuple[str, int]]:
    return [(block.text, block.level) for block in of_kind(parse(document), "heading")]


def section(document: FPDF, name: str, level: int = 0, style: str = "", size: float = 10) -> None:
    """A line that the outline names, and a paragraph below it."""
    document.start_section(name, level)
    document.set_font("Helvetica", style, size)
    document.set_xy(15, document.get_y() + 8)
    document.multi_cell(180, 6, name)
    document.set_font("Helvetica", "", 10)
    document.set_y(at(document, 15, document.get_y() + 4, prose("body", 3), width=180))


def test_the_outline_of_a_file_says_what_is_a_heading_and_at_what_level() -> None:
    document = blank()
    section(document, "Rivers and lakes", 0)
    section(document, "Floods of the spring", 1)
    section(document, "Mountains", 0)
    assert headings(document) == [("Rivers and lakes", 1), ("Floods of the spring", 2), ("Mountains", 1)]


def test_an_outline_that_names_nothing_on_the_pages_changes_nothing() -> None:
    document = blank()
    for name in ("A", "B", "C", "D"):
        document.start_section(f"Hidden {name}")
    document.set_font("Helvetica", size=16)
    document.text(15, 20, "Rivers")
    document.set_font("Helvetica", size=10)
    at(document, 15, 30, prose("body", 8), width=180)
    assert headings(document) == [("Rivers", 1)]


def test_an_item_of_a_list_that_is_called_like_a_section_is_no_heading() -> None:
    document = blank()
    document.set_y(at(document, 15, 20, "- Rivers", width=180) + 4)
    for name in ("Rivers", "Mountains", "Forests"):
        section(document, name)
    assert [name for name, _ in headings(document)] == ["Rivers", "Mountains", "Forests"]


def numbered(document: FPDF, x: float, names: Sequence[str], width: float = 85) -> None:
    """Bold lines of the size of the text, and paragraphs below them."""
    document.set_y(10)
    for number, name in enumerate(names):
        document.set_font("Helvetica", "B", 10)
        document.text(x, document.get_y() + 12, name)
        document.set_font("Helvetica", "", 10)
        next_is_inner = number + 1 < len(names) and names[number + 1].startswith(f"{name[:1]}.1")
        below = document.get_y() + 10
        document.set_y(
            below if next_is_inner else at(document, x, below + 9, prose(name[-3:], 4), width=width)
        )


def test_bold_numbered_lines_are_headings_one_below_the_other_and_as_deep_as_their_numbers() -> None:
    document = blank()
    numbered(document, 15, ("1 Rivers", "2 Mountains", "2.1 Glaciers", "3. Forests"), width=180)
    assert headings(document) == [("1 Rivers", 1), ("2 Mountains", 1), ("2.1 Glaciers", 2), ("3. Forests", 1)]


def test_a_bold_line_in_the_middle_is_a_heading_and_a_bold_caption_is_none() -> None:
    document = blank()
    end = at(document, 15, 20, prose("one", 6), width=180)
    document.set_font("Helvetica", "B", 10)
    document.set_xy(15, end + 8)
    document.cell(180, 6, "Method", align="C")
    document.set_font("Helvetica", "", 10)
    end = at(document, 15, end + 18, prose("two", 6), width=180)
    document.set_font("Helvetica", "B", 10)
    document.text(15, end + 8, "Figure 1 The valley in spring")
    document.set_font("Helvetica", "", 10)
    at(document, 15, end + 18, prose("three", 6), width=180)
    assert headings(document) == [("Method", 1)]


@pytest.mark.parametrize(
    ("name", "bold", "fixed"),
    [
        ("CMBX10", True, False),
        ("ABCDEF+CMSSBX10", True, False),
        ("NimbusRomNo9L-Medi", True, False),
        ("Roboto-Medium", False, False),
        ("NimbusMonL-Bold", True, True),
        ("Everett-Regular", False, False),
    ],
)
def test_names_of_fonts_tell_what_is_bold_and_what_is_code(name: str, bold: bool, fixed: bool) -> None:
    assert _kind_of_font(name.encode(), 0) == (bold, fixed)
