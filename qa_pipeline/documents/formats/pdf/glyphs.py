"""Characters of a PDF page as PDFium reads them: text, position and type.

The text is turned upright. Raised numbers become powers, marks of notes are removed, and accents that TeX
draws apart are joined to their letters.
"""

import ctypes
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from qa_pipeline.documents.formats.formulas import write_script

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

BROKEN_WORD = "\ufffe"
"""PDFium's mark for a hyphen at a line end; the next line's text follows it."""
UNREADABLE = "\ufffd"
"""Replaces a letter without a Unicode value."""
_HYPHEN_CODE = "\x02"
"""The same mark, where characters are read one by one."""
_CODES = r"\x00-\x08\x0b\x0c\x0e-\x1b\x7f-\x84\x86-\x9f"
_NO_CHARACTER = re.compile(f"[{_CODES}{UNREADABLE}]")
_IN_WORD = re.compile(rf"(?<=[^\W\d_])[{_CODES}\x1c-\x1f]|(?<= )[{_CODES}\x1c-\x1f](?=[a-z])")
"""Codes of fonts without a meaning, mostly ligatures; some are blanks between words."""
_FIXED_PITCH = 1
_FIXED_NAMES = re.compile(
    r"mono|nimbusmon|courier|consol|hack|typewriter|(?:cm|ec|sf|sl|x)tt|inconsolata|code", re.IGNORECASE
)
_BOLD_NAMES = re.compile(
    r"bold|black|heavy|semib|demi|(?:cm|ec|sf)\w{0,3}bx|\bcmb\d|-medi(?:ital)?$|^\w*(?:libertine|biolinum)tb",
    re.IGNORECASE,
)
"""Names of fonts are more reliable than their flags; CMBX10 is bold in TeX."""
_NAME_LENGTH = 128  # bytes: PDF allows names of 127 (ISO 32000-1, annex C)
_MARKS = {
    "`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307",
    "¨": "\u0308", "˚": "\u030a", "°": "\u030a", "˝": "\u030b", "ˇ": "\u030c", "¸": "\u0327", "˛": "\u0328",
}  # fmt: skip
_PLAIN = {"ı": "i", "ȷ": "j"}
_ACCENT = re.compile(f" ?(?P<sign>[{''.join(_MARKS)}]) ?")
_ASIDE = 0.15  # of the height: the most that an accent and its letter differ in their middles
_ABOVE = 0.4  # of the height: accents of capitals are as high above those of small letters
_LETTER_GAP = 0.15  # of the height: letters of a word are closer, a blank is wider
_RUN = re.compile(r"[^\s\ufffe][^\r\n\ufffe]*")
_MARK = re.compile(r"[\d*∗†‡§¶]")
_REST = re.compile(r"[^\s\ufffe]*[\ufffe ]*$")
_LONGEST = 60  # characters of a word: an address or a row of signs is longer
_REACH = 4  # characters after a raised text that decide its meaning
_SHIFT = 0.12  # of the type size: scripts are shifted by a fifth or more, and scanned letters by a tenth
_SMALLER = 0.95  # of the type size: labels of an axis are as large as their neighbours
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
    """Return the smallest box around the boxes."""
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return Box(min(lefts), min(bottoms), max(rights), max(tops))


Measures = tuple[float, float, float, float, float, bool, bool, bool]
"""Left, bottom, right, top and type size of a run; True if bold, if of fixed width, if perhaps turned."""


class Glyphs:
    """The characters of a page.

    Attributes:
        text: the visible characters in the order of the file; lines end in CR LF or in `BROKEN_WORD`.
        note_marks: raised marks of notes, which are removed from the text.
        unreadable: number of characters without a Unicode value; those in words are `UNREADABLE`.
        paper: the visible part of the page, its lower left corner in the origin.
        turn: quarter turns, clockwise, that the page was given.
        hidden: stretches of invisible text.
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
        self._join_accents()
        self.note_marks = self._mark_raised()
        self.text = _IN_WORD.sub(UNREADABLE, self.text)
        self.unreadable = missing + len(_NO_CHARACTER.findall(self.text))

    def _join_accents(self) -> None:
        """Replace each accent, and the letter next to it that it is drawn over, by the accented letter."""
        edits = []
        for match in _ACCENT.finditer(self.text):
            for letter in (match.end(), match.start() - 1):
                character = self.text[letter : letter + 1] if letter >= 0 else ""
                plain = _PLAIN.get(character, character)
                composed = unicodedata.normalize("NFC", plain + _MARKS[match["sign"]])
                if not plain.isalpha() or len(composed) > 1:
                    continue
                accent, below = self.box(match.start("sign")), self.box(letter)
                if _is_over(accent, below):
                    is_word_start = letter == match.end() and match[0][0] == " "
                    gap = below[0] - self.box(match.start() - 1)[2] if is_word_start and match.start() else 0
                    written = f" {composed}" if gap > _LETTER_GAP * (below[3] - below[1]) else composed
                    edits.append((min(match.start(), letter), max(match.end(), letter + 1), written))
                    break
        self._edit(edits)

    def _mark_raised(self) -> list[str]:
        """Mark powers, remove marks of notes, and return the marks."""
        edits = list(self._raised_edits())
        notes = [self.text[start:end] for start, end, written in edits if not written]
        self._edit(edits)
        return notes

    def _edit(self, edits: Iterable[tuple[int, int, str]]) -> None:
        parts: list[str] = []
        places: list[int] = []
        last = 0
        for start, end, written in edits:
            if start < last:
                continue
            kept = min(len(written), end - start)
            parts += [self.text[last:start], written]
            places += self._places[last:start]
            places += [self._places[start]] * (len(written) - kept)
            places += self._places[end - kept : end]
            last = end
        if last:
            self.text = "".join([*parts, self.text[last:]])
            self._places = [*places, *self._places[last:]]

    def _raised_edits(self) -> Iterator[tuple[int, int, str]]:
        """Yield raised numbers and signs, and raised letters at the end of a run, with their new text."""
        for run in _RUN.finditer(self.text):
            start, end = run.span()
            # Asking for the size of every character is slow, and most runs have one size.
            probes = (start, end - 1, *(mark.start() for mark in _MARK.finditer(self.text, start, end)))
            if len(set(map(self.size, probes))) == 1:
                continue
            for first, stop in self._find_raised(start, end):
                mark, after = self.text[first:stop], self.text[stop : stop + _REACH]
                if first == start:  # a label, such as that of a footnote
                    if _MARK.search(mark):
                        yield first, stop, f"{mark} "
                elif _MARK.search(mark) or _REST.match(self.text, stop, end):
                    written = write_script(mark, self.text[max(first - _LONGEST, 0) : first], after)
                    if written != mark:
                        yield first, stop, written

    def _find_raised(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the stretches of a run that are smaller and higher than the text around them."""
        letters = [
            (place, self.size(place), self.baseline(place))
            for place in range(start, end)
            if not self.text[place].isspace()
        ]
        word = len(self.text[start:end].split(" ", 1)[0])
        larger = (letter for letter in letters[:word] if letters[0][1] < _SMALLER * letter[1])
        _, size, base = next(larger, letters[0])
        raised: list[int] = []
        for place, own, level in letters:
            if own < _SMALLER * size and level - base > _SHIFT * size:
                raised.append(place)
            elif own >= _SMALLER * size or abs(level - base) <= _SHIFT * size:  # not lowered
                size, base = own, level
        for _, group in groupby(enumerate(raised), key=lambda numbered: numbered[1] - numbered[0]):
            stretch = [place for _, place in group]
            if stretch[-1] + 1 < end or stretch[0] > start:
                yield stretch[0], stretch[-1] + 1

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
        """Return the height of a character's baseline."""
        across, up = self._origin
        self._raw.FPDFText_GetCharOrigin(self._page, self._places[place], across, up)
        if self.turn:
            return turn_box(Box(*[across.value, up.value] * 2), self.turn, self._sheet).bottom
        return up.value

    def measure(self, first: int, middle: int, last: int) -> Measures:
        """Return the box and type of a run of characters, from three of them; the size is in half points."""
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


def _is_over(accent: tuple[float, ...], letter: tuple[float, ...]) -> bool:
    height = max(letter[3] - letter[1], accent[3] - accent[1])
    aside = abs(letter[0] + letter[2] - accent[0] - accent[2]) / 2
    return aside <= _ASIDE * height and abs(accent[1] - letter[1]) <= _ABOVE * height
