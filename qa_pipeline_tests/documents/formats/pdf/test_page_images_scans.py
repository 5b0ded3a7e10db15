import io
import shutil
import sys

import pytest
from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.formats.pdf.builders import blank, counts, parse, prose

OCR = DocumentSettings(ocr=True, ocr_languages=("eng",))
LINES = ("The river flows through the valley", "and the old bridge crosses it in the village.")


def scan(lines: tuple[str, ...] = LINES) -> Image.Image:
    """A page of text as a scanner sees it."""
    picture = Image.new("L", (1240, 1754), 255)
    pen = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        pen.text((120, 160 + 60 * number), line, fill=0, font=ImageFont.load_default(size=36))
    return picture


def with_scan(document: FPDF) -> FPDF:
    document.add_page()
    file = io.BytesIO()
    scan().save(file, "PNG")
    document.image(file, 0, 0, 210, 297)
    return document


def refusal(document: FPDF, settings: DocumentSettings | None = None) -> DocumentFailure:
    with pytest.raises(DocumentFailure) as refused:
        parse(document, settings or DocumentSettings())
    return refused.value


def test_pages_that_are_pictures_are_counted_and_named() -> None:
    document = blank()
    document.multi_cell(0, 5, prose("body", 5))
    with_scan(with_scan(document))
    document.add_page()
    document.multi_cell(0, 5, prose("more", 5))
    parsed = parse(document)
    assert counts(parsed)["scanned_page"] == (2, 0)
    assert parsed.notes[0].endswith(": 2, 3")


def test_a_document_of_pictures_alone_is_refused_with_advice() -> None:
    failure = refusal(with_scan(with_scan(FPDF())))
    assert failure.reason == "scanned"
    assert "documents.ocr" in failure.detail


def stamped() -> FPDF:
    document = with_scan(FPDF())
    document.set_font("Helvetica", size=8)
    document.text(20, 10, "Received 1 May")
    return document


def test_a_scan_with_a_stamp_is_a_scan() -> None:
    assert refusal(stamped()).reason == "scanned"
    document = stamped()
    document.add_page()
    document.multi_cell(0, 5, prose("body", 5))
    assert counts(parse(document))["scanned_page"] == (1, 0)


def test_an_empty_page_and_a_small_picture_are_no_scan() -> None:
    document = blank()
    document.multi_cell(0, 5, prose("body", 5))
    document.add_page()
    document.add_page()
    file = io.BytesIO()
    scan().save(file, "PNG")
    document.image(file, 20, 20, 60, 60)
    parsed = parse(document)
    assert "scanned_page" not in counts(parsed)
    assert parsed.notes == ()


class TesseractThatFails:
    """Stands in for pytesseract on a machine without Tesseract or where it does not end."""

    class TesseractError(RuntimeError):
        pass

    class TesseractNotFoundError(EnvironmentError):
        pass

    class Output:
        DICT = "dict"

    def __init__(self, languages: list[str] | None) -> None:
        self.languages = languages

    def get_languages(self, config: str) -> list[str]:
        if self.languages is None:
            raise self.TesseractNotFoundError
        return self.languages

    def image_to_data(self, picture: Image.Image, **how: object) -> None:
        raise RuntimeError("Tesseract process timeout")


@pytest.mark.parametrize(
    ("languages", "reason", "detail"),
    [
        (None, "scanned", "Tesseract"),
        (["deu"], "scanned", "eng"),
        (["eng"], "timed_out", "page 1"),
    ],
)
def test_an_engine_that_cannot_read_gives_its_reason(
    monkeypatch: pytest.MonkeyPatch, languages: list[str] | None, reason: str, detail: str
) -> None:
    monkeypatch.setitem(sys.modules, "pytesseract", TesseractThatFails(languages))
    failure = refusal(with_scan(FPDF()), OCR)
    assert (failure.reason, detail in failure.detail) == (reason, True)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
def test_tesseract_reads_a_page_that_is_a_picture() -> None:
    document = blank()
    document.multi_cell(0, 5, prose("body", 5))
    parsed = parse(with_scan(document), OCR)
    assert parsed.notes[0].endswith("OCR: 2")
    read = " ".join(" ".join(block.text.split()) for block in parsed.blocks if block.page == 2)
    assert " ".join(LINES) in read
    assert "scanned_page" not in counts(parsed)
