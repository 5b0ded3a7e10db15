from collections.abc import Sequence

import pytest
from fpdf import FPDF

from qa_pipeline.documents.formats.pdf.glyphs import _kind_of_font
from qa_pipeline_tests.documents.formats.pdf.builders import at, blank, of_kind, parse, prose


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
