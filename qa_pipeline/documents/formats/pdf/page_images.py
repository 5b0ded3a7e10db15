"""A page of a PDF as a picture, with spans of its canonical text marked."""

import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import Box, enclose, turn_box
from qa_pipeline.documents.formats.pdf.parser import read_upright

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

Span = tuple[int, int]
"""First character and the one after the last."""

_WORDS_A_PART = 4  # of a quote that the page does not hold as a whole: fewer words are seldom unique
_NEAR = 200  # letters between two parts of a quote, such as the cells of a table row
_SEPARATOR = re.compile(r"\||:\s")
"""The separator of the cells of a row: `Town: Lund | Age: 21`."""


def locate(text: str, start: int, end: int, page: str) -> list[int]:
    """Return the offsets in `page`, a page as it is printed, of the letters of `text[start:end]`.

    `text` is the canonical text of the page. Blanks, hyphens and other signs are not compared. A quote that
    is printed in parts, such as a row of a table, is found by its rarest part and the parts near it.
    """
    letters, offsets = _letters_of(page)
    quote, _ = _letters_of(text[start:end])
    position = letters.find(quote)
    if position >= 0:
        return offsets[position : position + len(quote)]
    parts = [
        _letters_of(" ".join(words[first : first + _WORDS_A_PART]))[0]
        for words in map(str.split, _SEPARATOR.split(text[start:end]))
        for first in range(0, len(words), _WORDS_A_PART)
    ]
    canonical, _ = _letters_of(text)
    located: list[int] = []
    for first, last in _locate_parts([part for part in parts if part], letters, canonical):
        if offsets[first] == 0 or not page[offsets[first] - 1].isalnum():  # it begins a word
            located += offsets[first:last]
    return located


def _locate_parts(parts: Sequence[str], letters: str, canonical: str) -> list[Span]:
    """Return the start and end of parts of a quote among the letters of a page, in their order."""
    printed = [number for number, part in enumerate(parts) if part in letters]
    if not printed:
        return []
    # Names of columns are in every row of the canonical text, and values in few.
    rarest = min(printed, key=lambda number: (canonical.count(parts[number]), -len(parts[number])))
    start = letters.find(parts[rarest])
    spans = [(start, start + len(parts[rarest]))]
    for part in parts[rarest + 1 :]:
        end = spans[-1][1]
        start = letters.find(part, end, end + _NEAR)
        if start >= 0:
            spans.append((start, start + len(part)))
    for part in reversed(parts[:rarest]):
        end = spans[0][0]
        start = letters.rfind(part, max(end - _NEAR, 0), end)
        if start >= 0:
            spans.insert(0, (start, start + len(part)))
    return spans


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
_GAP = 1.0  # line heights: blanks of justified text are narrower, the white between columns is wider
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
    scale = picture.width / paper.right
    layer = Image.new("RGB", picture.size, (255, 255, 255))
    pen = ImageDraw.Draw(layer)
    for box in _merge(boxes):
        left, bottom, right, top = turn_box(box, turn, glyphs.paper)
        corners = (left, paper.top - top, right, paper.top - bottom)  # a picture is measured from its top
        pen.rectangle([side * scale for side in corners], fill=_EVIDENCE)
    file = io.BytesIO()
    ImageChops.multiply(picture, layer).save(file, "PNG")  # as a marker pen does
    return file.getvalue()


def _merge(boxes: Iterable[Box]) -> list[Box]:
    """Join the boxes of characters that follow one another on a line."""
    merged: list[Box] = []
    for box in boxes:
        if merged and _is_next(merged[-1], box):
            merged[-1] = enclose([merged[-1], box])
        else:
            merged.append(box)
    return merged


def _is_next(before: Box, box: Box) -> bool:
    """Return True if a box is right behind another on a line."""
    overlap = min(before.top, box.top) - max(before.bottom, box.bottom)
    height = min(before.top - before.bottom, box.top - box.bottom)
    return overlap > 0.4 * height and -_GAP * height < box.left - before.right < 2 * _GAP * height
