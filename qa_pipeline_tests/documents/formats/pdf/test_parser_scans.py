import io
import shutil
import sys

import pytest
from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import refusal
from qa_pipeline_tests.documents.formats.pdf.builders import blank, counts, parse, prose

OCR = DocumentSettings(ocr=True, ocr_languages=("eng",))
LINES = ("The river flows through the valley", "and the old bridge crosses it in the village.")


def with_scan(document: FPDF, width: float = 210, height: float = 297) -> FPDF:
    """Add a page with a picture of text."""
    picture = Image.new("L", (1240, 1754), 255)
    pen = ImageDraw.Draw(picture)
    for number, line in enumerate(LINES):
        pen.text((120, 160 + 60 * number), line, fill=0, font=ImageFont.load_default(size=36))
    file = io.BytesIO()
    picture.save(file, "PNG")
    document.add_page()
    document.image(file, 0, 0, width, height)
    return document


def text_page(document: FPDF) -> FPDF:
    document.multi_cell(0, 5, prose("body", 5))
    return document


def test_pages_that_are_pictures_are_counted_and_named_and_a_stamp_does_not_hide_them() -> None:
    document = with_scan(with_scan(text_page(blank())))
    document.set_font("Helvetica", size=8)
    document.text(20, 10, "Received 1 May")
    parsed = parse(document)
    assert counts(parsed)["scanned_page"] == (2, 0)
    assert parsed.notes[0].endswith(": 2, 3")


def test_a_document_of_pictures_alone_is_refused() -> None:
    assert refusal(lambda: parse(with_scan(FPDF()))) == "scanned"


def test_an_empty_page_and_a_small_picture_are_no_scan() -> None:
    document = text_page(blank())
    document.add_page()
    parsed = parse(with_scan(document, 60, 60))
    assert "scanned_page" not in counts(parsed)
    assert parsed.notes == ()


def test_without_the_extra_scans_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytesseract", None)
    assert refusal(lambda: parse(with_scan(FPDF()), OCR)) == "scanned"


class Tesseract:
    """Stands in for pytesseract: with some languages or not installed, with words to find or too slow."""

    class TesseractError(RuntimeError):
        pass

    class TesseractNotFoundError(EnvironmentError):
        pass

    class Output:
        DICT = "dict"

    def __init__(self, languages: list[str] | None, words: dict[str, list[object]] | None = None) -> None:
        self.languages, self.words = languages, words

    def get_languages(self, config: str) -> list[str]:
        if self.languages is None:
            raise self.TesseractNotFoundError
        return self.languages

    def image_to_data(self, picture: Image.Image, **how: object) -> dict[str, list[object]]:
        if self.words is None:
            raise RuntimeError("Tesseract process timeout")
        return self.words


@pytest.mark.parametrize(
    ("languages", "reason", "detail"),
    [(None, "scanned", "Tesseract"), (["deu"], "scanned", "eng"), (["eng"], "timed_out", "page 1")],
)
def test_an_engine_that_cannot_read_gives_its_reason(
    monkeypatch: pytest.MonkeyPatch, languages: list[str] | None, reason: str, detail: str
) -> None:
    monkeypatch.setitem(sys.modules, "pytesseract", Tesseract(languages))
    with pytest.raises(DocumentFailure, match=detail) as refused:
        parse(with_scan(FPDF()), OCR)
    assert refused.value.reason == reason


def test_words_that_the_engine_is_sure_of_become_text(monkeypatch: pytest.MonkeyPatch) -> None:
    words: dict[str, list[object]] = {
        "text": ["The", "river", "", "flows", "?"], "conf": ["95", "91", "-1", "88", "3"],
        "block_num": [1] * 5, "par_num": [1] * 5, "line_num": [1, 1, 2, 2, 2],
        "left": [100, 180, 0, 100, 400], "top": [100, 100, 0, 150, 150],
        "width": [60, 100, 0, 100, 20], "height": [30, 30, 0, 30, 30],
    }  # fmt: skip
    monkeypatch.setitem(sys.modules, "pytesseract", Tesseract(["eng"], words))
    parsed = parse(with_scan(text_page(blank())), OCR)
    assert parsed.notes[0].endswith("OCR: 2")
    read = [block.text for block in parsed.blocks if block.page == 2]
    assert read == ["The river", "flows"]


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
def test_tesseract_reads_a_page_that_is_a_picture() -> None:
    parsed = parse(with_scan(text_page(blank())), OCR)
    read = " ".join(" ".join(block.text.split()) for block in parsed.blocks if block.page == 2)
    assert " ".join(LINES) in read
    assert "scanned_page" not in counts(parsed)
