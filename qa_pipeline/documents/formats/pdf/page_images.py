"""A page of a PDF as a picture, with spans of its canonical text marked."""

import io
import re
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import turn_box
from qa_pipeline.documents.formats.pdf.parser import read_upright

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

Span = tuple[int, int]  # the offsets of the first character and of that after the last

_WORDS_A_PART = 4  # of a quote that the page does not hold as a whole: fewer words are seldom unique
_SEPARATOR = re.compile(r"\||:\s")  # the separator of the cells of a row: `Town: Lund | Age: 21`


def locate(text: str, start: int, end: int, page: str) -> list[int]:
    """Return the offsets in `page`, a page as it is printed, of the letters of `text[start:end]`.

    Blanks, hyphens and other signs are not compared. A quote that is printed in parts, such as a row of a
    table, is found by those of its parts that the page holds once.
    """
    letters, offsets = _letters_of(page)
    quote, _ = _letters_of(text[start:end])
    if quote in letters:
        position = letters.index(quote)
        return offsets[position : position + len(quote)]
    located: list[int] = []
    for words in map(str.split, _SEPARATOR.split(text[start:end])):
        for first in range(0, len(words), _WORDS_A_PART):
            part, _ = _letters_of(" ".join(words[first : first + _WORDS_A_PART]))
            if part and letters.count(part) == 1:
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


@contextmanager
def _open_page(content: bytes, number: int) -> Iterator["PdfPage"]:
    import pypdfium2

    try:
        with closing(pypdfium2.PdfDocument(content)) as document:
            if not 1 <= number <= len(document):
                raise DocumentFailure("damaged", f"the PDF has no page {number}")
            with closing(document[number - 1]) as page:
                yield page
    except pypdfium2.PdfiumError as error:
        raise DocumentFailure("damaged", f"page {number} of the PDF cannot be drawn") from error


def draw_page(
    content: bytes, number: int, text: str, page: Span, evidence: Span | None = None, *, scale: float = 2.0
) -> bytes:
    """Draw a page of a PDF as PNG with its evidence marked; `page` and `evidence` are spans of `text`.

    Raises a DocumentFailure (`damaged`).
    """
    from PIL import Image, ImageChops, ImageDraw

    with _open_page(content, number) as opened:
        width, height = opened.get_size()
        scale = min(scale, (_MOST_DOTS / max(width * height, 1.0)) ** 0.5)
        picture: Image.Image = opened.render(scale=scale).to_pil().convert("RGB")
        with closing(opened.get_textpage()) as textpage:
            glyphs, _ = read_upright(opened, textpage, number)
            page_start, page_end = page
            start, end = (max(offset - page_start, 0) for offset in evidence or (0, 0))
            offsets = locate(text[page_start:page_end], start, end, glyphs.text)
            boxes = [glyphs.box(offset) for offset in offsets]
        # quarter turns, clockwise, from upright text to the page as it is shown
        turn = (opened.get_rotation() // 90 - glyphs.turn) % 4
    paper = turn_box(glyphs.paper, turn, glyphs.paper)
    scale = picture.width / paper.right  # pixels a point, once the size was rounded
    layer = Image.new("RGB", picture.size, (255, 255, 255))
    pen = ImageDraw.Draw(layer)
    for box in boxes:
        left, bottom, right, top = turn_box(box, turn, glyphs.paper)
        corners = (left, paper.top - top, right, paper.top - bottom)  # a picture is measured from its top
        pen.rectangle([side * scale for side in corners], fill=_EVIDENCE)
    file = io.BytesIO()
    ImageChops.multiply(picture, layer).save(file, "PNG")  # as a marker pen does
    return file.getvalue()
