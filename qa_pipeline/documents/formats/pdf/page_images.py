"""A page of a PDF as a picture, with spans of its canonical text marked."""

import io
import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import BROKEN_WORD, Box, turned
from qa_pipeline.documents.formats.pdf.pages import read_upright

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfPage

_SEED = 8
_CANDIDATES = 40
_LONE = 4
_NEAR = 80
_WORD = re.compile(f"\\d+(?:[.,:]\\d+)+|[^\\W_]+(?:{BROKEN_WORD}\\s*[^\\W_]+)*")
"""Numbers with their decimals and other words."""

Places = list[int | None]


def align(text: str, page: str) -> Places:
    """For each character of `text` its place in `page`, or None where it has none.

    Letters and digits are matched in stretches: where eight in a row are found, the longest stretch that
    begins with them; then what goes on before and behind a stretch; then whole words that are left, where
    they are alone or near what stands before them. Each character of the page is used once, so that repeated
    column names stay without a place.
    Linear in the length of both, but for texts that repeat themselves throughout.
    """
    matching = _Matching(*_letters(text), *_letters(page))
    matching.seed()
    matching.extend()
    matching.words(text, page)
    found: Places = [None] * len(text)
    for number, place in enumerate(matching.match):
        if place is not None:
            found[matching.origin[number]] = matching.target[place]
    return found


def _letters(text: str) -> tuple[str, list[int]]:
    """Letters and digits of a text in their plain form, and where each comes from."""
    letters: list[str] = []
    origin: list[int] = []
    for place, character in enumerate(text):
        plain = character if character.isascii() else unicodedata.normalize("NFKD", character)
        for part in plain:
            if part.isalnum():
                letters.append(part)
                origin.append(place)
    return "".join(letters), origin


class _Matching:
    """Letters of the text on their way to places among the letters of the page."""

    def __init__(self, wanted: str, origin: list[int], given: str, target: list[int]) -> None:
        self.wanted = wanted
        self.origin = origin
        self.given = given
        self.target = target
        self.match: Places = [None] * len(wanted)
        self.taken = [False] * len(given)

    def seed(self) -> None:
        """Match long stretches, wherever they are."""
        wanted, given = self.wanted, self.given
        runs: dict[str, list[int]] = defaultdict(list)
        for place in range(len(given) - _SEED + 1):
            runs[given[place : place + _SEED]].append(place)
        number = expected = 0
        while number <= len(wanted) - _SEED:
            places = runs.get(wanted[number : number + _SEED], [])
            lengths = [(self._length(number, place), place) for place in _nearest(places, expected)]
            length, place = max(lengths, key=itemgetter(0), default=(0, 0))
            if length < _SEED:
                number += 1
                continue
            self._take(number, place, length)
            number, expected = number + length, place + length

    def extend(self) -> None:
        """Match characters that go on behind a stretch within its word, then such as stand before one."""
        for step, numbers in ((1, range(1, len(self.wanted))), (-1, range(len(self.wanted) - 2, -1, -1))):
            for number in numbers:
                beside = self.match[number - step]
                within_word = abs(self.origin[number] - self.origin[number - step]) <= 1
                if self.match[number] is not None or beside is None or not within_word:
                    continue
                place = beside + step
                if 0 <= place < len(self.given) and self._length(number, place, most=1):
                    self._take(number, place, 1)

    def words(self, text: str, page: str) -> None:
        """Match whole words that have no place yet to free words of the page.

        Words that occur once come first; others, such as cells of a table, are looked for near what stands
        before them.
        """
        free: dict[str, list[int]] = defaultdict(list)
        for word, place in _words(page, self.target):
            if not any(self.taken[place : place + len(word)]):
                free[word].append(place)
        wanted = [found for found in _words(text, self.origin) if self._is_open(*found)]
        counts = Counter(word for word, _ in wanted)
        for word, number in wanted:
            if len(word) >= _LONE and counts[word] == len(free.get(word, ())) == 1:
                self._take(number, free[word].pop(), len(word))
        expected = 0
        for word, number in _words(text, self.origin):
            places = free.get(word, [])
            if places and self._is_open(word, number):
                nearest = _nearest_of(places, expected)
                if abs(places[nearest] - expected) <= _NEAR:
                    self._take(number, places.pop(nearest), len(word))
            matched = self.match[number]
            if matched is not None:
                expected = matched + len(word)

    def _is_open(self, word: str, number: int) -> bool:
        return all(place is None for place in self.match[number : number + len(word)])

    def _length(self, number: int, place: int, most: int | None = None) -> int:
        """How many characters from a place on are equal and free."""
        room = min(len(self.wanted) - number, len(self.given) - place)
        length = 0
        for length in range(room if most is None else min(room, most)):
            if self.wanted[number + length] != self.given[place + length] or self.taken[place + length]:
                return length
        return length + 1 if room else 0

    def _take(self, number: int, place: int, length: int) -> None:
        for step in range(length):
            self.match[number + step] = place + step
            self.taken[place + step] = True


def _nearest(places: Sequence[int], expected: int) -> list[int]:
    """The places nearest to the expected one, those behind it first."""
    after = bisect_left(places, expected)
    return [*places[after : after + _CANDIDATES], *places[max(after - _CANDIDATES, 0) : after][::-1]]


def _nearest_of(places: Sequence[int], expected: int) -> int:
    """Which of the places, which rise, is nearest to the expected one."""
    after = bisect_left(places, expected)
    if after == len(places) or (after and expected - places[after - 1] < places[after] - expected):
        return after - 1
    return after


def _words(text: str, origin: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Words in their plain form, and the number of their first letter."""
    for found in _WORD.finditer(text):
        number = bisect_left(origin, found.start())
        word, _ = _letters(found.group())
        if word:
            yield word, number


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
