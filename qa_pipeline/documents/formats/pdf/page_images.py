"""Pages of a PDF as pictures: drawn with their evidence marked, and scanned pages read by OCR."""

import io
import re
import unicodedata
from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import Box, enclose, turn_box
from qa_pipeline.documents.formats.pdf.layout import PageContent
from qa_pipeline.documents.formats.pdf.lines import Line, Word, printed_text, read_upright
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.rendering import first_names

if TYPE_CHECKING:
    from PIL import Image
    from pypdfium2 import PdfDocument, PdfPage

Span = tuple[int, int]  # the offsets of the first character and of that after the last

_SEPARATOR = re.compile(r"\||:\s")  # of the cells of a row: `Town: Lund | Age: 21`


def locate(text: str, start: int, end: int, page: str) -> list[int]:
    """Return the offsets in `page`, a page as it is printed, of the letters of `text[start:end]`.

    Blanks, hyphens and other signs are not compared. A quote that is printed in parts, such as a row of a
    table, is found by its cells that are on the page once.
    """
    letters, offsets = _letters_of(page)
    quote, _ = _letters_of(text[start:end])
    parts = [quote]
    if quote not in letters:
        cells = (_letters_of(cell)[0] for cell in _SEPARATOR.split(text[start:end]))
        parts = [cell for cell in cells if cell and letters.count(cell) == 1]
    located: list[int] = []
    for part in parts:
        position = letters.index(part)
        located += offsets[position : position + len(part)]
    return located


def _letters_of(text: str) -> tuple[str, list[int]]:
    """Return the letters and digits of a text without accents and ligatures, and the offset of each."""
    letters = [
        (letter, offset)
        for offset, character in enumerate(text)
        for letter in (character if character.isascii() else unicodedata.normalize("NFKD", character))
        if letter.isalnum()
    ]
    return "".join(letter for letter, _ in letters), [offset for _, offset in letters]


_MOST_DOTS = 25_000_000  # 75 MB of colours: a small file may state a huge sheet
_EVIDENCE = (255, 221, 87)  # the yellow of a marker pen


def draw_page(
    content: bytes, number: int, text: str, evidence: Span | None = None, *, scale: float = 2.0
) -> bytes:
    """Draw a page of a PDF as PNG, with a span of its text marked; raises a DocumentFailure (`damaged`)."""
    import pypdfium2
    from PIL import Image, ImageChops, ImageDraw

    try:
        with closing(pypdfium2.PdfDocument(content)) as document, closing(document[number - 1]) as opened:
            width, height = opened.get_size()  # in points, as the page is shown
            scale = min(scale, (_MOST_DOTS / max(width * height, 1.0)) ** 0.5)
            picture: Image.Image = opened.render(scale=scale).to_pil().convert("RGB")
            boxes = _boxes_as_shown(opened, number, text, evidence) if evidence else []
    except pypdfium2.PdfiumError as error:
        raise DocumentFailure("damaged", f"page {number} of the PDF cannot be drawn") from error
    pixels_a_point = picture.width / width  # about `scale`, as the picture has whole pixels
    layer = Image.new("RGB", picture.size, (255, 255, 255))
    pen = ImageDraw.Draw(layer)
    for left, bottom, right, top in boxes:
        corners = (left, height - top, right, height - bottom)  # a picture is measured from its top
        pen.rectangle([side * pixels_a_point for side in corners], fill=_EVIDENCE)
    file = io.BytesIO()
    ImageChops.multiply(picture, layer).save(file, "PNG")  # as a marker pen does
    return file.getvalue()


def _boxes_as_shown(page: "PdfPage", number: int, text: str, evidence: Span) -> list[Box]:
    """Return the boxes of the letters in a span of a page's `text`, in points on the page as it is shown."""
    with closing(page.get_textpage()) as textpage:
        glyphs, _ = read_upright(page, textpage, number)
        start, end = (max(offset, 0) for offset in evidence)  # evidence from an earlier page begins below 0
        upright_boxes = [glyphs.box(offset) for offset in locate(text, start, end, glyphs.text)]
    # Both turns are clockwise from the stored page: `/Rotate` to the page as shown, in degrees, and
    # `glyphs.turn` to upright text, in quarter turns. The difference takes upright text to the page as shown.
    turn = (page.get_rotation() // 90 - glyphs.turn) % 4
    return [turn_box(box, turn, glyphs.paper) for box in upright_boxes]


MOST_LISTED = 20  # pages named in a note, which is one line of a table


def count_scans(pages: Sequence[PageContent], left_out: Omissions) -> list[str]:
    """Count pages that are pictures; returns a note that names them, raises `scanned` if others are empty."""
    scans = [page.number for page in pages if page.scanned]
    if not scans:
        return []
    if not any(page.lines or page.fields for page in pages if not page.scanned):
        problem = f"{len(scans)} of {len(pages)} pages are images without text"
        remedy = "to read them, install the ocr extra and Tesseract and set documents.ocr"
        raise DocumentFailure("scanned", f"{problem}; {remedy}")
    left_out.add("scanned_page", pieces=len(scans))
    return [describe_pages(len(pages), scans, "without text")]


def describe_pages(pages: int, numbers: Sequence[int], which: str) -> str:
    """Return a sentence such as `2 of 9 pages are pictures without text: 3, 7`."""
    listed = first_names(list(map(str, numbers)), MOST_LISTED)
    return f"{len(numbers)} of {pages} pages are pictures {which}: {listed}"


_DOTS_A_POINT = 300 / 72  # 300 an inch, as the manual of Tesseract advises; finer pictures only take longer
_MOST_SCANNED_DOTS = 40_000_000  # 40 MB of grey: a sheet of A2 at 300 dots an inch has 35 million
_LEAST_CONFIDENCE = 30.0  # of 100: below are specks and lines that Tesseract took for letters
_SECONDS_A_PAGE = 120  # as documents.parse_seconds by default, which a user raises for OCR
_SAME_SIZE = 0.2  # of the usual size: heights of lines differ as much with the letters in them
_TYPE_SIZE = 0.9  # of the height of a line with letters that rise and sink


def read_scans(
    document: "PdfDocument", pages: Sequence[PageContent], settings: DocumentSettings, left_out: Omissions
) -> list[str]:
    """Fill scanned `pages` with lines by OCR, if the settings ask for it; returns notes on the document.

    Raises a DocumentFailure: `scanned` if Tesseract or a language is missing, `timed_out` for a slow page.
    """
    scans = [page for page in pages if page.scanned]
    if not (settings.ocr and scans):
        return []
    engine = _load_engine(settings.ocr_languages)
    for page in scans:
        if lines := _recognise(document, page, engine, settings):
            for line in page.lines:  # few words, such as the date from the scanner; OCR reads them as well
                left_out.add("stamp", printed_text(line))
            page.lines, page.scanned = lines, False
    pages_read = [page.number for page in scans if not page.scanned]
    return [describe_pages(len(pages), pages_read, "read by OCR")] if pages_read else []


def _load_engine(languages: Sequence[str]) -> Any:
    """Return pytesseract; raises a DocumentFailure if Tesseract or a language is missing."""
    try:
        import pytesseract

        installed = set(pytesseract.get_languages(config=""))
    except (ImportError, OSError, RuntimeError) as error:  # errors of pytesseract are kinds of the last two
        lacking = "the ocr extra" if isinstance(error, ImportError) else "Tesseract"
        raise DocumentFailure("scanned", f"documents.ocr is set, but {lacking} is not installed") from error
    missing = [name for name in languages if name not in installed]
    if missing:
        raise DocumentFailure("scanned", f"Tesseract lacks the languages {', '.join(missing)}")
    return pytesseract


def _recognise(
    document: "PdfDocument", page: PageContent, engine: Any, settings: DocumentSettings
) -> list[Line]:
    """Set the height of a page and return its lines by OCR; raises a DocumentFailure (`timed_out`)."""
    with closing(document[page.number - 1]) as opened:
        width, height = opened.get_size()
        scale = min(_DOTS_A_POINT, (_MOST_SCANNED_DOTS / max(width * height, 1.0)) ** 0.5)
        picture: Image.Image = opened.render(scale=scale, grayscale=True).to_pil()
    languages, form = "+".join(settings.ocr_languages), engine.Output.DICT
    try:
        table = engine.image_to_data(picture, lang=languages, output_type=form, timeout=_SECONDS_A_PAGE)
    # Mostly the timeout: `_load_engine` rules out the usual errors of Tesseract.
    except RuntimeError as error:
        raise DocumentFailure("timed_out", f"page {page.number} could not be read by OCR in time") from error
    page.height = height
    return _gather_lines(table, page.number, scale, height)


def _gather_lines(table: dict[str, list[Any]], page: int, scale: float, height: float) -> list[Line]:
    """Return lines of Tesseract's words; lists in `table`, such as `left` (pixels), have a value per word."""
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    readable = [row for row in rows if row["text"].strip() and float(row["conf"]) >= _LEAST_CONFIDENCE]
    lines = []
    by_line = groupby(readable, key=lambda row: (row["block_num"], row["par_num"], row["line_num"]))
    for number, (_, words_in_line) in enumerate(by_line):  # the number serves as the offset of the line
        words, boxes = [], []
        for row in words_in_line:
            left, right = row["left"] / scale, (row["left"] + row["width"]) / scale
            top = height - row["top"] / scale
            boxes.append(Box(left, top - row["height"] / scale, right, top))
            words.append(Word(row["text"], left, right))
        box = enclose(boxes)
        size = (box.top - box.bottom) * _TYPE_SIZE
        text = " ".join(word.text for word in words)
        lines.append(Line(text, page, *box, size, bold=False, fixed=False, start=number, words=tuple(words)))
    # Lines differ in height with the letters in them, so sizes near the usual size are set to it.
    usual = round(median(line.size for line in lines) * 2) / 2 if lines else 0.0
    return [
        line._replace(size=usual if abs(line.size - usual) <= _SAME_SIZE * usual else round(line.size))
        for line in lines
    ]
