"""Text that nobody sees in Word is left out, however it was hidden, and what is seen stays."""

import pytest

from qa_pipeline_tests.documents.builders import texts
from qa_pipeline_tests.documents.formats.office.builders import left_out, paragraph, read_docx, run

SECRET = "Secret: 90 000 euros."
WHITE = '<w:color w:val="FFFFFF"/>'
BLACK = '<w:shd w:val="clear" w:color="auto" w:fill="000000"/>'
HIDDEN = {
    "vanish": ("<w:vanish/>", ""),
    "white": (WHITE, ""),
    "tiny": ('<w:sz w:val="1"/>', ""),
    "black highlight": ('<w:highlight w:val="black"/>', ""),
    "black on black highlight": ('<w:color w:val="000000"/><w:highlight w:val="black"/>', ""),
    "black on a black run": (f'<w:color w:val="000000"/>{BLACK}', ""),
    "black on a black paragraph": ('<w:color w:val="000000"/>', BLACK),
}
SEEN = {
    "plain": ("", ""),
    "white on a black run": (f"{WHITE}{BLACK}", ""),
    "white on a black paragraph": (WHITE, BLACK),
    "automatic on black": (BLACK, ""),
    "yellow highlight": ('<w:highlight w:val="yellow"/>', ""),
    "white on a black highlight": (f'{WHITE}<w:highlight w:val="black"/>', ""),
    "small": ('<w:sz w:val="8"/>', ""),
}


@pytest.mark.parametrize("way", HIDDEN)
def test_hidden_text_is_left_out_and_counted(way: str) -> None:
    of_run, of_paragraph = HIDDEN[way]
    parsed = read_docx(paragraph(run("Seen. ") + run(SECRET, of_run), properties=of_paragraph))
    assert texts(parsed.blocks) == ["Seen."]
    assert left_out(parsed)["hidden"] == (1, 18)


@pytest.mark.parametrize("way", SEEN)
def test_text_that_shows_stays(way: str) -> None:
    of_run, of_paragraph = SEEN[way]
    parsed = read_docx(paragraph(run(SECRET, of_run), properties=of_paragraph))
    assert texts(parsed.blocks) == [SECRET]


def test_white_text_in_a_styled_table_stays() -> None:
    cell = f"<w:tc>{paragraph(run(SECRET, WHITE))}</w:tc>"
    parsed = read_docx(f"<w:tbl><w:tblPr/><w:tblGrid/><w:tr>{cell}</w:tr></w:tbl>")
    assert any(SECRET in text for text in texts(parsed.blocks))
