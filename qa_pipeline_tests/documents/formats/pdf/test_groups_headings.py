from fpdf import FPDF

from qa_pipeline_tests.documents.formats.pdf.builders import at, blank, of_kind, parse, prose


def headings(document: FPDF) -> list[tuple[str, int]]:
    return [(block.text, block.level) for block in of_kind(parse(document), "heading")]


def test_a_bold_line_above_text_is_a_heading() -> None:
    document = blank()
    for name in ("Rivers", "Mountains"):
        document.set_font("Helvetica", "B", 10)
        document.text(15, document.get_y() + 12, name)
        document.set_font("Helvetica", "", 10)
        document.set_y(at(document, 15, document.get_y() + 16, prose("body", 4), width=180))
    assert headings(document) == [("Rivers", 1), ("Mountains", 1)]


def test_headings_at_the_foot_and_at_the_head_of_two_columns_are_two() -> None:
    document = blank()
    at(document, 15, 20, prose("left", 24))
    at(document, 110, 30, prose("right", 22))
    document.set_font("Helvetica", "B", 14)
    document.text(15, 270, "Rivers")
    document.text(110, 24, "Mountains")
    assert headings(document) == [("Rivers", 1), ("Mountains", 1)]
