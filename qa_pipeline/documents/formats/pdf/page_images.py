"""A page of a PDF as a picture, with spans of its canonical text marked."""

import io
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import BROKEN_WORD, Box, enclose, turn_box
from qa_pipeline.documents.formats.pdf.parser import read_upright

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_SEED = 4  # words in a row that are seldom repeated on a page
_LONGEST = 12  # words that are compared to find the best of several places
_CANDIDATES = 40  # places on either side that are compared: not all, whose number would be squared
_LONE = 4  # letters of a word that is matched for being alone on the page: shorter ones are in any text
_NEAR = 15  # words to the last match within which a single word is taken for the next
_WORD = re.compile(f"\\d+(?:[.,:]\\d+)+|[^\\W_]+(?:[-{BROKEN_WORD}]+\\s*[^\\W_]+)*")
"""Numbers with their decimals, and other words with those that hyphens join to them."""


def align(text: str, page: str) -> list[int | None]:
    """Return for each character of `text` its offset in `page`, or None.

    Runs of four words are matched anywhere, then single words that are unique or near the last match. Each
    word of the page is used once. Linear in the length of both.
    """
    text_words, page_words = _words(text), _words(page)
    match: dict[int, int] = {}
    used: set[int] = set()

    def reach(number: int, place: int) -> int:
        """Return the number of equal and free words from an index on."""
        room = min(_LONGEST, len(text_words) - number, len(page_words) - place)
        for step in range(room):
            taken = match.get(number + step, None if place + step in used else place + step)
            if text_words[number + step][0] != page_words[place + step][0] or taken != place + step:
                return step
        return room

    for size in (_SEED, 1):
        spots: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place in range(len(page_words) - size + 1):
            spots[tuple(word for word, _ in page_words[place : place + size])].append(place)
        expected = 0
        for number in range(len(text_words) - size + 1):
            run = tuple(word for word, _ in text_words[number : number + size])
            places = spots.get(run, [])
            lone = size > 1 or number in match or (len(places) == 1 and len(run[0]) >= _LONE)
            after = bisect_left(places, expected)
            near = places[after : after + _CANDIDATES] + places[max(after - _CANDIDATES, 0) : after][::-1]
            near = [place for place in near if lone or abs(place - expected) <= _NEAR]
            best = max(near, key=partial(reach, number), default=0)
            if near and reach(number, best) >= size:
                match |= {number + step: best + step for step in range(size)}
                used.update(range(best, best + size))
                expected = best + 1
    aligned: list[int | None] = [None] * len(text)
    for number, place in match.items():
        for at, target in zip(text_words[number][1], page_words[place][1], strict=True):
            aligned[at] = target
    return aligned


def _words(text: str) -> list[tuple[str, list[int]]]:
    words = []
    for match in _WORD.finditer(text):
        letters = [
            (part, place)
            for place, character in enumerate(match.group(), match.start())
            for part in unicodedata.normalize("NFKD", character)
            if part.isalnum()
        ]
        words.append(("".join(part for part, _ in letters), [place for _, place in letters]))
    return words


_MOST_DOTS = 25_000_000  # 75 MB of colours: a small file may state a huge sheet
_GAP = 1.0  # line heights: blanks of justified text are narrower, the white between columns is wider
_EVIDENCE = (255, 221, 87)  # the yellow of a marker pen

Span = tuple[int, int]
"""First character and the one after the last, in the document's canonical text."""


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
    content: bytes,
    number: int,
    text: str,
    page: Span,
    evidence: Span | None = None,
    *,
    scale: float = 2.0,
) -> bytes:
    """Draw a page of a PDF as PNG, the evidence highlighted; raises a DocumentFailure (`damaged`)."""
    from PIL import Image, ImageChops, ImageDraw

    with _open_page(content, number) as opened:
        width, height = opened.get_size()
        scale = min(scale, (_MOST_DOTS / max(width * height, 1.0)) ** 0.5)
        picture: Image.Image = opened.render(scale=scale).to_pil().convert("RGB")
        with closing(opened.get_textpage()) as textpage:
            glyphs, _ = read_upright(opened, textpage, number)
            places = align(text[slice(*page)], glyphs.text)
            boxes = [None if place is None else Box(*glyphs.box(place)) for place in places]
        # quarter turns, clockwise, from upright text to the page as it is shown
        turn = (opened.get_rotation() // 90 - glyphs.turn) % 4
    paper = turn_box(glyphs.paper, turn, glyphs.paper)
    scale = picture.width / paper.right

    start, end = evidence or (0, 0)
    begin, stop = max(start - page[0], 0), max(end - page[0], 0)
    quoted = [box for box in boxes[begin:stop] if box is not None]
    layer = Image.new("RGB", picture.size, (255, 255, 255))
    pen = ImageDraw.Draw(layer)
    for line in _merge(quoted):
        first, bottom, second, top = turn_box(line, turn, glyphs.paper)
        corners = (first, paper.top - top, second, paper.top - bottom)
        pen.rectangle([side * scale for side in corners], fill=_EVIDENCE)
    file = io.BytesIO()
    ImageChops.multiply(picture, layer).save(file, "PNG")  # as a marker pen does
    return file.getvalue()


def _merge(boxes: Iterable[Box]) -> list[Box]:
    merged: list[Box] = []
    for box in boxes:
        if merged and _goes_on(merged[-1], box):
            merged[-1] = enclose([merged[-1], box])
        else:
            merged.append(box)
    return merged


def _goes_on(line: Box, box: Box) -> bool:
    overlap = min(line.top, box.top) - max(line.bottom, box.bottom)
    high = min(line.top - line.bottom, box.top - box.bottom)
    return overlap > 0.4 * high and -_GAP * high < box.left - line.right < 2 * _GAP * high
