"""Text that nobody sees in Word is left out, however it was hidden, and what is seen stays."""

import pytest
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.shared import Pt, RGBColor

from qa_pipeline_tests.documents.builders import texts
from qa_pipeline_tests.documents.formats.office.builders import left_out, paragraph, read_docx, run

SECRET = "Secret: 90 000 euros."
WHITE = '<w:color w:val="FFFFFF"/>'
BLACK = '<w:shd w:val="clear" w:color="auto" w:fill="000000"/>'
HIDDEN = {
    "vanish": ("<w:vanish/>", ""),
    "white": (WHITE, ""),
    "tiny": ('<w:sz w:val="1"/>', ""),
    "automatic on a black highlight": ('<w:highlight w:val="black"/>', ""),
    "white by a style of signs": ('<w:rStyle w:val="WhiteSigns"/>', ""),
    "tiny by a style of paragraphs": ("", '<w:pStyle w:val="Tiny"/>'),
}
SEEN = {
    "plain": ("", ""),
    "white on a black run": (f"{WHITE}{BLACK}", ""),
    "white on a black paragraph": (WHITE, BLACK),
    "automatic on black": (BLACK, ""),
    "white on a solid black run": (f'{WHITE}<w:shd w:val="solid" w:color="000000"/>', ""),
    "white on a black highlight": (f'{WHITE}<w:highlight w:val="black"/>', ""),
    "shown again": ('<w:rStyle w:val="WhiteSigns"/><w:color w:val="202020"/>', ""),
}


def prepare(document: Document) -> None:
    document.styles.add_style("WhiteSigns", WD_STYLE_TYPE.CHARACTER).font.color.rgb = RGBColor(255, 255, 255)
    document.styles.add_style("Tiny", WD_STYLE_TYPE.PARAGRAPH).font.size = Pt(0.5)


@pytest.mark.parametrize("way", [*HIDDEN, *SEEN])
def test_hidden_text_is_left_out_and_counted_and_text_that_shows_stays(way: str) -> None:
    of_run, of_paragraph = (HIDDEN | SEEN)[way]
    parsed = read_docx(paragraph(run(SECRET, of_run), properties=of_paragraph), prepare=prepare)
    assert texts(parsed.blocks) == ([] if way in HIDDEN else [SECRET])
    assert left_out(parsed) == ({"hidden": (1, 18)} if way in HIDDEN else {})


def test_white_text_stays_where_a_table_or_a_page_may_be_dark() -> None:
    cell = f"<w:tc>{paragraph(run(SECRET, WHITE))}</w:tc>"
    parsed = read_docx(f"<w:tbl><w:tblPr/><w:tblGrid/><w:tr>{cell}</w:tr></w:tbl>")
    assert SECRET in texts(parsed.blocks)

    def darken(document: Document) -> None:
        page = document.element.makeelement(document.element.tag.replace("document", "background"))
        page.set(page.tag.replace("background", "color"), "000000")
        document.element.insert(0, page)

    assert texts(read_docx(paragraph(run(SECRET, WHITE)), prepare=darken).blocks) == [SECRET]
