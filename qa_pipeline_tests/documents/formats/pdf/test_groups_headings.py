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


def test_a_larger_line_above_the_outline_is_the_title_and_is_above_all() -> None:
    document = blank()
    document.set_font("Helvetica", size=22)
    document.text(15, 20, "Landscapes of the North")
    document.set_y(30)
    for name in ("Rivers", "Mountains", "Forests"):
        section(document, name, 0, size=15)
    assert headings(document) == [
        ("Landscapes of the North", 1), ("Rivers", 2), ("Mountains", 2), ("Forests", 2),
    ]  # fmt: skip


def test_headings_that_the_outline_does_not_name_stand_below_larger_ones() -> None:
    document = blank()
    for number, name in enumerate(("Rivers", "Mountains", "Forests")):
        section(document, name, 0, size=16)
        document.set_font("Helvetica", size=13)
        document.text(15, document.get_y() + 8, f"Subject {'abc'[number]}")
        document.set_font("Helvetica", size=10)
        document.set_y(at(document, 15, document.get_y() + 12, prose("more", 3), width=180))
    assert [level for _, level in headings(document)] == [1, 2, 1, 2, 1, 2]


def test_an_outline_that_names_nothing_on_the_pages_changes_nothing() -> None:
    document = blank()
    for name in ("A", "B", "C", "D"):
        document.start_section(f"Hidden {name}")
    document.set_font("Helvetica", size=16)
    document.text(15, 20, "Rivers")
    document.set_font("Helvetica", size=10)
    at(document, 15, 30, prose("body", 8), width=180)
    assert headings(document) == [("Rivers", 1)]


LONG = "Rivers and lakes of the north, and all that lives in them and on their banks " * 2


def test_a_heading_over_two_lines_is_found_by_its_outline() -> None:
    document = blank()
    for name in (LONG, "B", "C"):
        section(document, name.strip(), 0, size=12)
    assert headings(document)[0][0].startswith("Rivers and lakes")
    assert len(headings(document)) == 3


def test_a_bold_line_above_text_is_a_heading() -> None:
    document = blank()
    for name in ("Rivers", "Mountains"):
        document.set_font("Helvetica", "B", 10)
        document.text(15, document.get_y() + 12, name)
        document.set_font("Helvetica", "", 10)
        document.set_y(at(document, 15, document.get_y() + 16, prose("body", 4), width=180))
    assert headings(document) == [("Rivers", 1), ("Mountains", 1)]


def test_a_bold_word_in_a_sentence_makes_no_heading() -> None:
    document = blank()
    document.set_xy(15, 20)
    document.multi_cell(180, 5, f"**Rivers** and {prose('body', 6)}", markdown=True)
    assert headings(document) == []


def test_an_outline_that_leaves_out_the_numbers_names_numbered_headings_all_the_same() -> None:
    document = blank()
    for number, (name, level) in enumerate((("Rivers", 0), ("Floods", 1), ("Mountains", 0)), start=1):
        document.start_section(name, level)
        document.text(15, document.get_y() + 8, f"{number}. {name}")
        document.set_y(at(document, 15, document.get_y() + 12, prose("body", 3), width=180))
    assert headings(document) == [("1. Rivers", 1), ("2. Floods", 2), ("3. Mountains", 1)]


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


def test_bold_numbered_lines_are_headings_one_below_the_other() -> None:
    document = blank()
    numbered(document, 15, ("1 Rivers", "2 Mountains", "2.1 Glaciers", "3. Forests"), width=180)
    assert headings(document) == [("1 Rivers", 1), ("2 Mountains", 1), ("2.1 Glaciers", 1), ("3. Forests", 1)]


def test_bold_lines_head_the_text_of_the_right_column_as_well() -> None:
    document = blank()
    numbered(document, 15, ("Rivers", "Mountains", "Lakes"))
    numbered(document, 110, ("Forests", "Castles", "Towns"))
    assert [name for name, _ in headings(document)] == [
        "Rivers", "Mountains", "Lakes", "Forests", "Castles", "Towns",
    ]  # fmt: skip


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
        ("CMR10", False, False),
        ("CMBX10", True, False),
        ("ABCDEF+CMSSBX10", True, False),
        ("SFBX1000", True, False),
        ("NimbusRomNo9L-Medi", True, False),
        ("NimbusRomNo9L-MediItal", True, False),
        ("Roboto-Medium", False, False),
        ("LinLibertineTB", True, False),
        ("LinLibertineT", False, False),
        ("NimbusMonL-Regu", False, True),
        ("NimbusMonL-Bold", True, True),
        ("t1xtt", False, True),
        ("CMTT9", False, True),
        ("SFTT1000", False, True),
        ("Everett-Regular", False, False),
    ],
)
def test_names_of_fonts_tell_what_is_bold_and_what_is_code(name: str, bold: bool, fixed: bool) -> None:
    assert _kind_of_font(name.encode(), 0) == (bold, fixed)
