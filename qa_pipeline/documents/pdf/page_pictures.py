"""A page of a PDF as a picture, with spans of its canonical text marked.

What belongs here: finding the spans' characters on the page and drawing around and under them. What does
not: which spans are worth marking, and which file a document came from.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.pdf.glyphs import Box, turned
from qa_pipeline.documents.pdf.page_characters import align
from qa_pipeline.documents.pdf.pages import read_upright

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfPage

_MOST_DOTS = 25_000_000
_GAP = 1.0
_BORDERS = ((31, 119, 180), (214, 96, 20))
_EVIDENCE = (255, 221, 87)
_ROOM = 1.5

Span = tuple[int, int]
"""First character and the one after the last, in the document's canonical text."""


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as a PNG, and how much of what was to be marked stands on it.

    Attributes:
        png: the picture.
        chunks: for each chunk how many letters and digits of it were found on the page.
        evidence: the same for the evidence; 0 without one.
        evidence_length: how many letters and digits the evidence has on this page's part of the text.
    """

    png: bytes
    chunks: tuple[int, ...]
    evidence: int
    evidence_length: int


def draw_page(
    content: bytes,
    number: int,
    text: str,
    page: Span,
    chunks: Sequence[Span] = (),
    evidence: Span | None = None,
    *,
    scale: float = 2.0,
) -> PagePicture:
    """Draw a page of a PDF, its chunks outlined in turns of two colours and the evidence highlighted.

    Args:
        content: the PDF file.
        number: the page, from 1.
        text: the document's canonical text.
        page: the part of it that stands on the page.
        chunks: parts of the text to outline; what lies on other pages is left out.
        evidence: a part of the text to highlight.
        scale: pixels a point; lowered where the picture would be too large.

    Raises:
        DocumentFailure: `damaged`, where the file or the page cannot be opened.
    """
    picture, places = _read_page(content, number, text[page[0] : page[1]], scale)
    inside = [_within(span, page) for span in chunks]
    quoted = _within(evidence, page) if evidence else (0, 0)
    canvas = _Canvas(picture, places)
    canvas.highlight(quoted)
    for place, span in enumerate(inside):
        canvas.outline(span, _BORDERS[place % len(_BORDERS)])
    wanted = sum(letter.isalnum() for letter in text[page[0] + quoted[0] : page[0] + quoted[1]])
    return PagePicture(canvas.png(), tuple(map(canvas.found, inside)), canvas.found(quoted), wanted)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the characters of a page's canonical text stand, the text turned upright.

    Attributes:
        boxes: the place of each character; None for those that stand nowhere.
        paper: the page, turned as its text is.
        turn: quarter turns, clockwise, to the page as it is shown.
    """

    boxes: list[Box | None]
    paper: Box
    turn: int


def _read_page(content: bytes, number: int, text: str, scale: float) -> tuple["Image", _Places]:
    """A page as a picture, and where the characters of its canonical text stand."""
    import pypdfium2

    try:
        with closing(pypdfium2.PdfDocument(content)) as document:
            if not 1 <= number <= len(document):
                raise DocumentFailure("damaged", f"the PDF has no page {number}")
            with closing(document[number - 1]) as page:
                return _picture(page, scale), _places(page, number, text)
    except pypdfium2.PdfiumError as error:
        raise DocumentFailure("damaged", f"page {number} of the PDF cannot be drawn") from error


def _within(span: Span, page: Span) -> Span:
    """The part of a span on a page, counted from where the page's text begins."""
    start, end = max(span[0], page[0]) - page[0], min(span[1], page[1]) - page[0]
    return (start, end) if start < end else (0, 0)


def _places(page: "PdfPage", number: int, text: str) -> _Places:
    with closing(page.get_textpage()) as textpage:
        glyphs, _ = read_upright(page, textpage, number)
        places = align(text, glyphs.text)
        boxes = [None if place is None else Box(*glyphs.box(place)) for place in places]
        return _Places(boxes, glyphs.paper, (page.get_rotation() // 90 - glyphs.turn) % 4)


def _picture(page: "PdfPage", scale: float) -> "Image":
    width, height = page.get_size()
    fits = (_MOST_DOTS / max(width * height, 1.0)) ** 0.5
    picture: Image = page.render(scale=min(scale, fits)).to_pil()
    return picture.convert("RGB")


class _Canvas:
    """The picture of a page, drawn on in the coordinates of its upright text."""

    def __init__(self, picture: "Image", places: _Places) -> None:
        self.picture = picture
        self.boxes = places.boxes
        self.paper = places.paper
        self.turn = places.turn
        shown = turned(places.paper, places.turn, places.paper)
        self.height = shown.top
        self.scale = picture.width / shown.right

    def found(self, span: Span) -> int:
        """How many characters of a span have a place."""
        return sum(box is not None for box in self.boxes[span[0] : span[1]])

    def highlight(self, span: Span) -> None:
        """Lay a colour under the text, as a marker pen does."""
        from PIL import Image, ImageChops, ImageDraw

        layer = Image.new("RGB", self.picture.size, (255, 255, 255))
        pen = ImageDraw.Draw(layer)
        for line in self._lines(span):
            pen.rectangle(self._pixels(line), fill=_EVIDENCE)
        self.picture = ImageChops.multiply(self.picture, layer)

    def outline(self, span: Span, colour: tuple[int, int, int]) -> None:
        """Draw a frame around each stretch of lines that stand one below the other."""
        from PIL import ImageDraw

        pen = ImageDraw.Draw(self.picture)
        for frame in _stacked(list(self._lines(span))):
            left, top, right, bottom = self._pixels(frame)
            room = _ROOM * self.scale
            pen.rectangle(
                (left - room, top - room, right + room, bottom + room),
                outline=colour,
                width=max(1, round(self.scale)),
            )

    def png(self) -> bytes:
        """The picture in the form it is stored in."""
        file = io.BytesIO()
        self.picture.save(file, "PNG")
        return file.getvalue()

    def _lines(self, span: Span) -> Iterator[Box]:
        """Characters of a span merged into the lines they stand in."""
        line: Box | None = None
        for box in self.boxes[span[0] : span[1]]:
            if box is None:
                continue
            if line is not None and _goes_on(line, box):
                line = _around(line, box)
                continue
            if line is not None:
                yield line
            line = box
        if line is not None:
            yield line

    def _pixels(self, box: Box) -> tuple[float, float, float, float]:
        box = turned(box, self.turn, self.paper)
        return (
            box.left * self.scale,
            (self.height - box.top) * self.scale,
            box.right * self.scale,
            (self.height - box.bottom) * self.scale,
        )


def _goes_on(line: Box, box: Box) -> bool:
    """Whether a character stands in the same line, a few blanks behind its end at most."""
    overlap = min(line.top, box.top) - max(line.bottom, box.bottom)
    high = min(line.top - line.bottom, box.top - box.bottom)
    return overlap > 0.4 * high and -_GAP * high < box.left - line.right < 2 * _GAP * high


def _around(one: Box, other: Box) -> Box:
    return Box(
        min(one.left, other.left), min(one.bottom, other.bottom),
        max(one.right, other.right), max(one.top, other.top),
    )  # fmt: skip


def _stacked(lines: Sequence[Box]) -> list[Box]:
    """Frames around lines that follow one another downwards or stand side by side."""
    frames: list[Box] = []
    for line in lines:
        if frames and _belongs(frames[-1], line):
            frames[-1] = _around(frames[-1], line)
        else:
            frames.append(line)
    return frames


def _belongs(frame: Box, line: Box) -> bool:
    high = line.top - line.bottom
    if min(frame.right, line.right) > max(frame.left, line.left):
        return abs(frame.bottom - line.top) < 3 * _GAP * high
    return abs(frame.bottom - line.bottom) < high and line.top <= frame.top + high
