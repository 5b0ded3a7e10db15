from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.columns import remove_running_lines
from qa_pipeline.documents.formats.pdf.lines import Line
from qa_pipeline_tests.documents.formats.pdf.builders import at, blank, counts, parse, prose


def pages(count: int, chapter_length: int = 100) -> FPDF:
    """Pages with a head that names the chapter, a foot, and a number."""
    document = blank()
    for number in range(1, count + 1):
        if number > 1:
            document.add_page()
        document.text(20, 10, "Chapter " + "ABCDEFGH"[(number - 1) // chapter_length])
        at(document, 20, 40, prose(f"page{number}x", 4), width=160)
        document.text(20, 285, "Annual report")
        document.text(190, 291, str(number))
    return document


def test_heads_and_feet_stay_once_and_are_counted_by_kind_with_page_numbers() -> None:
    parsed = parse(pages(5))
    assert counts(parsed) == {"page_number": (5, 5), "running_foot": (4, 48), "running_head": (4, 32)}
    others = [block.text for block in parsed.blocks if not block.text.startswith("page")]
    assert others == ["Chapter A", "Annual report"]


def test_a_head_that_changes_with_the_chapter_is_left_out_but_once_where_it_stays_three_pages() -> None:
    parsed = parse(pages(12, chapter_length=4))
    assert counts(parsed)["running_head"] == (9, 72)


@given(st.text(alphabet="0123456789ivxlcIVXLCİıſ¹٣ ", min_size=1, max_size=9))
def test_any_number_near_the_edge_can_be_read(text: str) -> None:
    pages = [[Line(text, page, 20, 30, 60, 40, 10.0, bold=False, fixed=False)] for page in (1, 2)]
    left_out = Omissions()
    texts, heads, feet = remove_running_lines(pages, [842.0, 842.0], 10.0, left_out)
    remaining = sum(map(len, (*texts, heads, feet)))
    assert remaining + sum(part.pieces for part in left_out.record()) == len(pages)


def test_roman_and_spelt_out_page_numbers_are_page_numbers() -> None:
    document = blank()
    for number, roman in enumerate(("i", "ii", "iii", "iv"), start=1):
        if number > 1:
            document.add_page()
        at(document, 20, 40, prose(f"page{number}x", 4), width=160)
        document.text(100, 285, f"Page {number} of 4")
        document.text(20, 291, roman)
    found = counts(parse(document))
    assert found["page_number"][0] >= 4
    assert "running_foot" not in found


def test_pages_whose_every_line_returns_lose_none_of_them() -> None:
    document = blank()
    for number in range(4):
        if number:
            document.add_page()
        for row in range(50):
            document.text(20, 10 + 5.5 * row, f"Line {row} of the form says this.")
    parsed = parse(document)
    assert sum(block.text.count("of the form") for block in parsed.blocks) == 200
