from fpdf import FPDF

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


def test_a_bold_line_above_text_is_a_heading() -> None:
    document = blank()
    for name in ("Rivers", "Mountains"):
        document.set_font("Helvetica", "B", 10)
        document.text(15, document.get_y() + 12, name)
        document.set_font("Helvetica", "", 10)
        document.set_y(at(document, 15, document.get_y() + 16, prose("body", 4), width=180))
    assert headings(document) == [("Rivers", 1), ("Mountains", 1)]
