"""Text that nobody sees in Word is left out, however it was hidden, and what is seen stays."""

import pytest
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.shared import Pt, RGBColor

from qa_pipeline_tests.documents.builders import outline, texts
from qa_pipeline_tests.documents.formats.office.builders import left_out, paragraph, read_docx, run

SECRET = "Secret: 90 000 euros."
WHITE = '<w:color w:val="FFFFFF"/>'
BLACK = '<w:shd w:val="clear" w:color="auto" w:fill="000000"/>'
HIDDEN = {
    "vanish": ("<w:vanish/>", ""),
    "white": (WHITE, ""),
    "tiny": ('<w:sz w:val="1"/>', ""),
    "black highlight": ('<w:highlight w:val="black"/>', ""),
    "black on a solid black run": ('<w:color w:val="000000"/><w:shd w:val="solid" w:color="000000"/>', ""),
    "black on a black paragraph": ('<w:color w:val="000000"/>', BLACK),
    "white by a style of signs": ('<w:rStyle w:val="WhiteSigns"/>', ""),
    "tiny by a style of paragraphs": ("", '<w:pStyle w:val="Tiny"/>'),
}
SEEN = {
    "plain": ("", ""),
    "white on a black run": (f"{WHITE}{BLACK}", ""),
    "white on a black paragraph": (WHITE, BLACK),
    "automatic on black": (BLACK, ""),
    "white on a black highlight": (f'{WHITE}<w:highlight w:val="black"/>', ""),
    "shown again": ('<w:rStyle w:val="WhiteSigns"/><w:color w:val="202020"/>', ""),
}


def prepare(document: Document) -> None:
    document.styles.add_style("WhiteSigns", WD_STYLE_TYPE.CHARACTER).font.color.rgb = RGBColor(255, 255, 255)
    document.styles.add_style("Tiny", WD_STYLE_TYPE.PARAGRAPH).font.size = Pt(0.5)


@pytest.mark.parametrize("way", HIDDEN)
def test_hidden_text_is_left_out_and_counted(way: str) -> None:
    of_run, of_paragraph = HIDDEN[way]
    parsed = read_docx(
        paragraph(run("Seen.")), paragraph(run(SECRET, of_run), properties=of_paragraph), prepare=prepare
    )
    assert texts(parsed.blocks) == ["Seen."]
    assert left_out(parsed)["hidden"] == (1, 18)


@pytest.mark.parametrize("way", SEEN)
def test_text_that_shows_stays(way: str) -> None:
    of_run, of_paragraph = SEEN[way]
    parsed = read_docx(paragraph(run(SECRET, of_run), properties=of_paragraph), prepare=prepare)
    assert texts(parsed.blocks) == [SECRET]


def test_white_text_stays_where_a_table_or_a_page_may_be_dark() -> None:
    cell = f"<w:tc>{paragraph(run(SECRET, WHITE))}</w:tc>"
    parsed = read_docx(f"<w:tbl><w:tblPr/><w:tblGrid/><w:tr>{cell}</w:tr></w:tbl>")
    assert SECRET in texts(parsed.blocks)

    def darken(document: Document) -> None:
        page = document.element.makeelement(document.element.tag.replace("document", "background"))
        page.set(page.tag.replace("background", "color"), "000000")
        document.element.insert(0, page)

    assert texts(read_docx(paragraph(run(SECRET, WHITE)), prepare=darken).blocks) == [SECRET]


def test_styles_strike_out_what_they_hold() -> None:
    def strike(document: Document) -> None:
        document.styles.add_style("Old", WD_STYLE_TYPE.CHARACTER).font.strike = True
        document.styles.add_style("OldBlock", WD_STYLE_TYPE.PARAGRAPH).font.strike = True

    inside = run("30", '<w:rStyle w:val="Old"/>') + run("45", '<w:rStyle w:val="Old"/><w:strike w:val="0"/>')
    parsed = read_docx(paragraph(inside), paragraph(run("Gone."), "OldBlock"), prepare=strike)
    assert outline(parsed) == [("paragraph", "45")]
    assert left_out(parsed) == {"deleted_text": (2, 7)}


def test_a_hidden_row_of_a_table_is_left_out_and_counted() -> None:
    cells = "".join(f"<w:tc>{paragraph(run(word))}</w:tc>" for word in ("Fee", "40 euros"))
    shown, hidden = f"<w:tr>{cells}</w:tr>", f"<w:tr><w:trPr><w:hidden/></w:trPr>{cells}</w:tr>"
    parsed = read_docx(f"<w:tbl><w:tblPr/><w:tblGrid/>{shown}{hidden}{shown}</w:tbl>")
    assert len(parsed.blocks) == 2
    assert left_out(parsed)["hidden"] == (1, 10)
