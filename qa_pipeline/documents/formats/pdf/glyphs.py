"""Characters of a PDF page as PDFium knows them: their text, place and type, accents joined to their letters.

Text is turned so that it is upright. Some files, such as those of TeX with fonts that have no accented
letters, draw accents apart: in their text the accent is before its letter, behind it, or at the end of
the line, and only its place on paper tells which letter it belongs to.
"""

import ctypes
import math
import re
import unicodedata
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence, Set
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from qa_pipeline.documents.formats.pdf.raised import mark_raised

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

BROKEN_WORD = "\ufffe"
"""PDFium's mark for a hyphen at a line end; the next line's text follows it."""
UNREADABLE = "\ufffd"
"""Stands for a letter that the file gives no Unicode value for."""
_HYPHEN_CODE = "\x02"
"""The same mark, where characters are read one by one."""
_CODES = r"\x00-\x08\x0b\x0c\x0e-\x1b\x7f-\x84\x86-\x9f"
_NO_CHARACTER = re.compile(f"[{_CODES}{UNREADABLE}]")
_IN_WORD = re.compile(rf"(?<=[^\W\d_])[{_CODES}\x1c-\x1f]|(?<= )[{_CODES}\x1c-\x1f](?=[a-z])")
"""Codes of fonts that do not say what they show: ligatures, most of them; some are blanks between words."""
_FIXED_PITCH = 1
_FIXED_NAMES = re.compile(
    r"mono|nimbusmon|courier|consol|hack|typewriter|(?:cm|ec|sf|sl|x)tt|inconsolata|code", re.IGNORECASE
)
_BOLD_NAMES = re.compile(
    r"bold|black|heavy|semib|demi|(?:cm|ec|sf)\w{0,3}bx|\bcmb\d|-medi(?:ital)?$|^\w*(?:libertine|biolinum)tb",
    re.IGNORECASE,
)
"""Names of fonts say more than their flags; those of TeX say it in their own way, as CMBX10 does."""
_NAME_LENGTH = 128  # bytes: PDF allows names of 127 (ISO 32000-1, annex C)
_QUARTER = math.pi / 2
_UPRIGHT = 0.05  # quarter turns, about 5 degrees: scanned and slanted text is off by as much
_TALL = 2.2  # of the type size: raised and lowered marks make no run as high, a turned run is higher


class Box(NamedTuple):
    """A rectangle on a page; distances in points from its lower left corner."""

    left: float
    bottom: float
    right: float
    top: float


def enclose(boxes: Iterable[tuple[float, float, float, float]]) -> Box:
    """Return the smallest box that holds all of the boxes, of which there is one at least."""
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return Box(min(lefts), min(bottoms), max(rights), max(tops))


Measures = tuple[float, float, float, float, float, bool, bool, bool]
"""Left, bottom, right, top and type size of a run of characters; whether it is bold, whether it is of letters
of one width, and whether it is odd: it may not stand upright, since it runs up or down, or backwards."""


class Glyphs:
    """The characters of one page.

    PDFium writes its answers into memory of the caller, which is set aside once a page: three characters
    of every line are asked for.

    Attributes:
        text: all characters in the order of the file; lines end in CR LF or in `BROKEN_WORD`.
        note_marks: raised marks of notes, which the text is without.
        unreadable: how many characters the file gives no Unicode value for; those in words are `UNREADABLE`.
        paper: the visible part of the page, its lower left corner in the origin.
        turn: quarter turns, clockwise, that the page was given.
        hidden: stretches of text that do not show, which the text is without.
    """

    def __init__(
        self, page: "PdfPage", textpage: "PdfTextPage", turn: int = 0, hidden: Set[int] = frozenset()
    ) -> None:
        from pypdfium2 import raw

        self._raw = raw
        self._page = textpage.raw
        self._name = ctypes.create_string_buffer(_NAME_LENGTH)
        self._flags = ctypes.c_int()
        self._origin = (ctypes.c_double(), ctypes.c_double())
        self._sides = raw.FS_RECTF()
        self.turn = turn
        self._sheet = paper_of(page)
        self.paper = turn_box(self._sheet, turn, self._sheet)
        self._moved = turn != 0 or self._sheet.left != 0 or self._sheet.bottom != 0
        self.text, self._places, missing = _characters(textpage)
        self.hidden: list[str] = []
        if hidden:
            self.text, self._places, self.hidden = _take_out(self.text, self._places, hidden)
        self.text, self._places = join_accents(self.text, self._places, self.box)
        self.text, self._places, self.note_marks = mark_raised(
            self.text, self._places, self.size, self.baseline
        )
        self.text = _IN_WORD.sub(UNREADABLE, self.text)
        self.unreadable = missing + len(_NO_CHARACTER.findall(self.text))

    def box(self, place: int) -> tuple[float, float, float, float]:
        """Return left, bottom, right and top of a character as tall as its font."""
        sides = self._sides
        if not self._raw.FPDFText_GetLooseCharBox(self._page, self._places[place], sides):
            from pypdfium2 import PdfiumError

            raise PdfiumError(f"character {place} has no place")
        if self._moved:
            return turn_box(Box(sides.left, sides.bottom, sides.right, sides.top), self.turn, self._sheet)
        return sides.left, sides.bottom, sides.right, sides.top

    def size(self, place: int) -> float:
        """Return the type size of a character."""
        size: float = self._raw.FPDFText_GetFontSize(self._page, self._places[place])
        return size

    def baseline(self, place: int) -> float:
        """Return how high a character stands."""
        across, up = self._origin
        self._raw.FPDFText_GetCharOrigin(self._page, self._places[place], across, up)
        if self.turn:
            return turn_box(Box(*[across.value, up.value] * 2), self.turn, self._sheet).bottom
        return up.value

    def measure(self, first: int, middle: int, last: int) -> Measures:
        """Return the place and type of a run of characters, taken from three of them.

        The size is in half points; fonts scaled by a matrix state a size of 1, and their box tells more.
        """
        font_size, page, places = self._raw.FPDFText_GetFontSize, self._page, self._places
        first_box, last_box = self.box(first), self.box(last)
        size = font_size(page, places[first])
        level = (
            first_box[1] == last_box[1] and first_box[3] == last_box[3]
        )  # boxes of one height are of one size
        if not level and size != font_size(page, places[last]):  # raised marks are small
            samples = (first, (first + middle) // 2, middle, (middle + last) // 2, last)
            size = sorted(font_size(page, places[place]) for place in samples)[2]
        if size <= 2:
            size = first_box[3] - first_box[1]
        bold, fixed = self._font(first)
        if bold or fixed:
            for place in (middle, last):
                one_bold, one_fixed = self._font(place)
                bold, fixed = bold and one_bold, fixed and one_fixed
        size = round(size * 2) / 2
        if level and first_box[0] <= last_box[0]:
            return first_box[0], first_box[1], last_box[2], first_box[3], size, bold, fixed, False
        bottom, top = min(first_box[1], last_box[1]), max(first_box[3], last_box[3])
        odd = last_box[0] < first_box[0] or top - bottom > _TALL * size
        left, right = min(first_box[0], last_box[0]), max(first_box[2], last_box[2])
        return left, bottom, right, top, size, bold, fixed, odd

    def turns(self, place: int) -> float:
        """Return the quarter turns, clockwise, that would set a character upright: from 0 to below 4."""
        turns = -self._raw.FPDFText_GetCharAngle(self._page, self._places[place]) / _QUARTER - self.turn
        return 0.0 if abs(turns - round(turns / 4) * 4) < _UPRIGHT else turns % 4

    def _font(self, place: int) -> tuple[bool, bool]:
        index = self._places[place]
        length = self._raw.FPDFText_GetFontInfo(self._page, index, self._name, _NAME_LENGTH, self._flags)
        # Nothing is written of an unknown font, and no name that is longer than there is room for.
        name = self._name.value if 0 < length <= _NAME_LENGTH else b""
        return _kind_of_font(name, self._flags.value if length else 0)


def paper_of(page: "PdfPage") -> Box:
    """Return the visible part of a page in the coordinates of its content."""
    from pypdfium2 import PdfiumError, raw

    box = raw.FS_RECTF()
    if not raw.FPDF_GetPageBoundingBox(page.raw, box):
        raise PdfiumError("the page has no size")
    return Box(box.left, box.bottom, box.right, box.top)


def turn_box(box: Box, turn: int, page: Box) -> Box:
    """Return a box as it is once the page was turned clockwise and its corner moved to the origin."""
    first, bottom = box.left - page.left, box.bottom - page.bottom
    second, top = box.right - page.left, box.top - page.bottom
    width, height = page.right - page.left, page.top - page.bottom
    if turn == 1:
        return Box(bottom, width - second, top, width - first)
    if turn == 2:
        return Box(width - second, height - top, width - first, height - bottom)
    if turn == 3:
        return Box(height - top, first, height - bottom, second)
    return Box(first, bottom, second, top)


def _characters(textpage: "PdfTextPage") -> tuple[str, Sequence[int], int]:
    """Return the text of a page, PDFium's index of each character, and how many lack a Unicode value."""
    count = textpage.count_chars()
    text = textpage.get_text_range(errors="surrogatepass") if count else ""
    if len(text) == count:
        return text, range(count), 0
    # A character beyond 16 bits has two indexes, one without a Unicode value has an index and no text.
    from pypdfium2 import raw

    characters: list[str] = []
    places: list[int] = []
    high = missing = 0
    for index in range(count):
        code = raw.FPDFText_GetUnicode(textpage.raw, index)
        if high and 0xDC00 <= code < 0xE000:
            characters[-1] = chr(0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00))
            high = 0
        elif 0 < code < 0x110000:
            high = code if 0xD800 <= code < 0xDC00 else 0
            characters.append(chr(code))
            places.append(index)
        else:
            high = 0
            missing += 1
    return "".join(characters).replace(_HYPHEN_CODE, BROKEN_WORD), places, missing


def _take_out(text: str, places: Sequence[int], hidden: Set[int]) -> tuple[str, Sequence[int], list[str]]:
    shown: list[int] = []
    taken: list[str] = []
    inside = False
    for number, character in enumerate(text):
        before, inside = inside, places[number] in hidden or (inside and character == " ")
        if not inside:
            shown.append(number)
        elif before:
            taken[-1] += character
        else:
            taken.append(character)
    return "".join(text[number] for number in shown), [places[number] for number in shown], taken


@lru_cache(maxsize=4096)
def _kind_of_font(name: bytes, flags: int) -> tuple[bool, bool]:
    font_name = name.decode("utf-8", "replace")
    fixed = bool(flags & _FIXED_PITCH) or _FIXED_NAMES.search(font_name) is not None
    return _BOLD_NAMES.search(font_name) is not None, fixed


_MARKS = {
    "`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307",
    "¨": "\u0308", "˚": "\u030a", "°": "\u030a", "˝": "\u030b", "ˇ": "\u030c", "¸": "\u0327", "˛": "\u0328",
}  # fmt: skip
_PLAIN = {"ı": "i", "ȷ": "j"}
_ACCENT = re.compile(f"[{''.join(_MARKS)}]")
_LINE = re.compile("[^\r\n]+")
_ASIDE = 0.15  # of the height: how far the middle of an accent is beside that of its letter at most
_RAISED = 0.4  # of the height: accents of capitals are as high above those of small letters
_LETTER_GAP = 0.15  # of the height: letters of a word are closer, a blank is wider
_NEIGHBOURS = 8  # letters looked at on either side of an accent: those of the lines above and below too

Place = tuple[float, float, float, float]
"""Left, bottom, right and top of a character as tall as its font."""


def join_accents(text: str, places: Sequence[int], box: Callable[[int], Place]) -> tuple[str, Sequence[int]]:
    """Return the text with each accent that is over or under a letter joined to it."""
    letters = _find_letters_below(text, box) if _ACCENT.search(text) else {}
    if not letters:
        return text, places
    characters = list(text)
    for accent, (letter, accented) in letters.items():
        characters[letter], characters[accent] = accented, ""
    for accent in letters:  # PDFium makes blanks up beside accents
        start, end = accent, accent + 1
        while start and (text[start - 1] == " " or start - 1 in letters):
            start -= 1
        while end < len(text) and (text[end] == " " or end in letters):
            end += 1
        characters[start:end] = [""] * (end - start)
        before, after = text[start - 1 : start], text[end : end + 1]
        if before == "-" and after in ("\r", "\n"):
            characters[start - 1] = BROKEN_WORD  # PDFium takes no hyphen before an accent for a break
        elif before.strip() and after.strip() and not _is_beside(box(start - 1), box(end)):
            characters[start] = " "
    remaining = [number for number, character in enumerate(characters) if character]
    return "".join(characters), [places[number] for number in remaining]


def _find_letters_below(text: str, box: Callable[[int], Place]) -> dict[int, tuple[int, str]]:
    accented: dict[int, tuple[int, str]] = {}
    taken: set[int] = set()
    box = cache(box)
    lines = [line.span() for line in _LINE.finditer(text)]
    for number, line in enumerate(lines):
        accents = [mark.start() for mark in _ACCENT.finditer(text, *line)]
        if not accents:
            continue
        around_it = range(lines[max(number - 1, 0)][0], lines[min(number + 1, len(lines) - 1)][1])
        places = [place for place in around_it if text[place].isalpha()]
        letters = sorted((sum(box(place)[::2]), place) for place in places)
        for accent in accents:
            above = box(accent)
            near = bisect(letters, (sum(above[::2]), 0))
            neighbours = [place for _, place in letters[max(near - _NEIGHBOURS, 0) : near + _NEIGHBOURS]]
            below = [place for place in neighbours if place not in taken and _is_below(box(place), above)]
            letter = min(below, key=lambda place: _aside(box(place), above), default=accent)
            plain = _PLAIN.get(text[letter], text[letter])
            composed = unicodedata.normalize("NFC", plain + _MARKS[text[accent]])
            if below and len(composed) == 1:
                accented[accent] = (letter, composed)
                taken.add(letter)
    return accented


def _aside(letter: Place, accent: Place) -> float:
    return abs(letter[0] + letter[2] - accent[0] - accent[2]) / 2


def _is_below(letter: Place, accent: Place) -> bool:
    height = max(letter[3] - letter[1], accent[3] - accent[1])
    return _aside(letter, accent) <= _ASIDE * height and abs(accent[1] - letter[1]) <= _RAISED * height


def _is_beside(first: Place, second: Place) -> bool:
    height = first[3] - first[1]
    return abs(first[1] - second[1]) <= height / 2 and second[0] - first[2] <= _LETTER_GAP * height
