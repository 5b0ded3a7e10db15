"""Characters of a PDF page: upright text with raised numbers as powers, and their position and type."""

import ctypes
import math
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from qa_pipeline.documents.formats.formulas import write_script

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

BROKEN_WORD = "\ufffe"  # PDFium's mark for a hyphen at a line end; the next line's text follows it
UNREADABLE = "\ufffd"  # replaces a control code in a word
_HYPHEN_CODE = "\x02"  # for `BROKEN_WORD`, when PDFium gives characters one by one
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1b\x7f-\x84\x86-\x9f"  # in words they are ligatures such as `ffi`
_UNREADABLE_CODE = re.compile(f"[{_CONTROLS}{UNREADABLE}]")
_IN_WORD = re.compile(rf"(?<=[^\W\d_])[{_CONTROLS}\x1c-\x1f]|(?<= )[{_CONTROLS}\x1c-\x1f](?=[a-z])")
"""Control codes in a word; elsewhere U+001C to U+001F may be blanks, as they are in Python."""
_FIXED_NAMES = re.compile(
    r"(?i)mono|monaco|menlo|nimbusmon|courier|consol|hack|typewriter|(?:cm|ec|sf|sl|x)tt|code"
)
_BOLD_NAMES = re.compile(
    r"(?i)bold|black|heavy|semib|demi|(?:cm|ec|sf)\w{0,3}bx|\bcmb\d|-medi(?:ital)?$|^\w*(?:libertine|biolinum)tb"
)
"""Names of fonts are more reliable than their flags; CMBX10 is bold in TeX."""
_NAME_LENGTH = 128  # bytes: PDF allows names of 127 (ISO 32000-1, annex C)
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")  # of a character beyond 16 bits
_RUN = re.compile(rf"[^\s{BROKEN_WORD}][^\r\n{BROKEN_WORD}]*")  # a line up to its break
_MARK = re.compile(r"[\d*∗†‡§¶]")  # a digit or sign, in exponents and marks of notes
_REST_OF_LAST_WORD = re.compile(r"\S* *$")  # of a line, behind a raised text
_LONGEST_WORD = 60  # characters of a word: an address or a row of signs is longer
_REACH = 4  # characters after a raised text that decide its meaning
_SHIFT = 0.12  # of the type size: scripts are shifted by a fifth or more, and scanned letters by a tenth
_SMALLER = 0.95  # of the type size: labels of an axis are as large as their neighbours
_QUARTER = math.pi / 2
_UPRIGHT = 0.05  # quarter turns, about 5 degrees: scanned and slanted text is off by as much
_TALL = 2.2  # of the type size: raised and lowered marks make no run as high


class Box(NamedTuple):
    """A rectangle in points; on axis 0 (x) and axis 1 (y) it goes from `box[axis]` to `box[axis + 2]`."""

    left: float
    bottom: float
    right: float
    top: float


def enclose(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around the boxes."""
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return Box(min(lefts), min(bottoms), max(rights), max(tops))


_Edit = tuple[int, int, str]  # start and end of a part of the text, and its new text; "" removes the part


class Glyphs:
    """The characters of a page; methods take offsets in `text`, whose lines end in CR LF or `BROKEN_WORD`."""

    def __init__(
        self, page: "PdfPage", textpage: "PdfTextPage", turn: int = 0, hidden: Set[int] = frozenset()
    ) -> None:
        """Read the characters, except those whose PDFium indexes are in `hidden`."""
        from pypdfium2 import raw

        self._raw, self._textpage = raw, textpage
        self._font_name = ctypes.create_string_buffer(_NAME_LENGTH)  # PDFium writes its answers here
        self._origin = (ctypes.c_double(), ctypes.c_double())
        self.turn = turn  # quarter turns, clockwise, that the page was given
        self._unturned_paper = paper_of(page)
        self.paper = turn_box(self._unturned_paper, turn, self._unturned_paper)  # its corner in the origin
        self._is_moved = turn != 0 or self._unturned_paper.left != 0 or self._unturned_paper.bottom != 0
        self.text, self._indexes, without_value = _read_characters(textpage)  # with PDFium's indexes
        self.hidden_texts = self._apply_edits(self._hidden_edits(hidden)) if hidden else []
        # Only marks of notes are removed; a raised number stays, and gets a caret as in `^6`.
        self.note_marks = self._apply_edits(self._raised_edits())
        self.text = _IN_WORD.sub(UNREADABLE, self.text)
        # Characters without a Unicode value are not in the text, so none is counted twice.
        self.unreadable = without_value + len(_UNREADABLE_CODE.findall(self.text))

    def _apply_edits(self, ascending: Iterable[_Edit]) -> list[str]:
        """Edit `text` and `_indexes`; returns the texts of the edits without a new text."""
        edits = list(ascending)
        removed = [self.text[start:end] for start, end, new_text in edits if not new_text]
        letters, indexes = list(self.text), list(self._indexes)
        for start, end, new_text in reversed(edits):  # from the end, so that earlier offsets stay right
            letters[start:end] = new_text
            if new_text:  # it is not shorter: added signs, such as the caret of `^6`, get the first index
                added = len(new_text) - (end - start)
                indexes[start:start] = [indexes[start]] * added
            else:
                del indexes[start:end]
        self.text, self._indexes = "".join(letters), indexes
        return removed

    def _hidden_edits(self, hidden: Set[int]) -> Iterator[_Edit]:
        """Yield edits that remove hidden characters, with the blanks between and behind them."""
        offsets: list[int] = []
        for offset, index in enumerate(self._indexes):
            if index in hidden or (self.text[offset] == " " and offsets[-1:] == [offset - 1]):
                offsets.append(offset)
        yield from ((start, end, "") for start, end in stretches_of(offsets))

    def _raised_edits(self) -> Iterator[_Edit]:
        """Yield edits of raised text, such as (2, 3, "^6") in `106` with a raised 6, and of marks of notes.

        Raised letters without a digit or sign are written as a script only in the last word of a line: they
        change in `up to x^n`, but not in `x^n and more`.
        """
        for run in _RUN.finditer(self.text):
            run_start, run_end = run.span()
            # Reading each size is slow, so a run is skipped if its ends, digits and signs have one size.
            # This misses raised letters before others, as in `xⁿ.`
            marks = [mark.start() for mark in _MARK.finditer(self.text, run_start, run_end)]
            sizes = {self.size(offset) for offset in (run_start, run_end - 1, *marks)}
            if len(sizes) == 1:
                continue
            for start, end in self._find_raised(run_start, run_end):
                raised = self.text[start:end]
                has_mark = _MARK.search(raised) is not None
                is_in_last_word = _REST_OF_LAST_WORD.match(self.text, end, run_end) is not None
                if start == run_start and has_mark:  # `¹Valve` becomes `1 Valve`, `ᵃValve` stays
                    yield start, end, f"{raised} "
                elif start > run_start and (has_mark or is_in_last_word):
                    before = self.text[max(start - _LONGEST_WORD, 0) : start]
                    written = write_script(raised, before, self.text[end : end + _REACH])
                    if written != raised:
                        yield start, end, written

    def _find_raised(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield spans of smaller, higher text in a run: 2 in `m²` and 1 in `¹Valve`, but not 2 in `H₂O`."""
        offsets = [offset for offset in range(start, end) if not self.text[offset].isspace()]
        sizes = {offset: self.size(offset) for offset in offsets}
        baselines = {offset: self.baseline(offset) for offset in offsets}
        # The first letter, never a blank, may be raised: in `¹Valve`, `1` is compared with the larger `V`.
        first_word = offsets[: len(self.text[start:end].split(" ", 1)[0])]
        larger = (offset for offset in first_word if sizes[start] < _SMALLER * sizes[offset])
        reference = next(larger, start)  # the offset of the letter that others are compared with
        raised: list[int] = []
        for offset in offsets:
            is_smaller = sizes[offset] < _SMALLER * sizes[reference]
            rise, least_shift = baselines[offset] - baselines[reference], _SHIFT * sizes[reference]
            if is_smaller and rise > least_shift:
                raised.append(offset)
            elif not is_smaller or rise >= -least_shift:  # not lowered, as 2 is in `H₂O`
                reference = offset  # the letters behind it are compared with it
        yield from stretches_of(raised)

    def box(self, offset: int) -> Box:
        """Return the box of a character, as tall as its font."""
        box = Box(*self._textpage.get_charbox(self._indexes[offset], loose=True))
        return turn_box(box, self.turn, self._unturned_paper) if self._is_moved else box

    def size(self, offset: int) -> float:
        """Return the type size of a character."""
        return float(self._raw.FPDFText_GetFontSize(self._textpage.raw, self._indexes[offset]))

    def baseline(self, offset: int) -> float:
        """Return the height of a character's baseline."""
        across, up = self._origin
        self._raw.FPDFText_GetCharOrigin(self._textpage.raw, self._indexes[offset], across, up)
        point = Box(across.value, up.value, across.value, up.value)
        return turn_box(point, self.turn, self._unturned_paper).bottom if self.turn else up.value

    def measure(self, first: int, middle: int, last: int) -> tuple[Box, float, bool, bool]:
        """Return a run's box, its type size to half a point, and two flags: bold and of fixed width."""
        first_box = self.box(first)
        box = enclose([first_box, self.box(last)])
        size = self.size(middle)  # a label at an end may be smaller
        if size <= 2:  # a font of size 1 that the page enlarges
            size = first_box.top - first_box.bottom
        fonts = [self._font(offset) for offset in (first, middle, last)]
        bold, fixed = (all(values) for values in zip(*fonts, strict=True))
        return box, round(size * 2) / 2, bold, fixed

    def is_turned(self, first: int, last: int, size: float) -> bool:
        """Return True if a run of a type size, given by its first and last character, is not upright."""
        first_box, last_box = self.box(first), self.box(last)
        box = enclose([first_box, last_box])
        # Text up or down the page makes a tall box; level text with a tall font does, too.
        is_level = first_box.bottom == last_box.bottom and first_box.top == last_box.top
        goes_up_or_down = not is_level and box.top - box.bottom > _TALL * size
        goes_left = last_box.left < first_box.left  # upside down, or written from right to left
        # Of such text the angle decides; alone it would not do, as oblique letters in level text have one.
        may_be_turned = goes_up_or_down or goes_left
        return may_be_turned and self.turns(first) != 0  # also if it is None, for a slanted watermark

    def turns(self, offset: int) -> int | None:
        """Return the quarter turns, clockwise, that would set a character upright; None if it is slanted."""
        angle = self._raw.FPDFText_GetCharAngle(self._textpage.raw, self._indexes[offset])  # radians
        turns = -angle / _QUARTER - self.turn
        return round(turns) % 4 if abs(turns - round(turns)) < _UPRIGHT else None

    def _font(self, offset: int) -> tuple[bool, bool]:
        index, name = self._indexes[offset], self._font_name
        length = self._raw.FPDFText_GetFontInfo(self._textpage.raw, index, name, _NAME_LENGTH, None)
        # PDFium writes no name if the font is unknown or the name too long.
        return _kind_of_font(name.value if 0 < length <= _NAME_LENGTH else b"")


def paper_of(page: "PdfPage") -> Box:
    """Return the visible part of a page in the coordinates of its content."""
    return Box(*page.get_bbox())


def turn_box(box: Box, turn: int, page: Box) -> Box:
    """Return a box as it is once the page was turned clockwise and its corner moved to the origin."""
    width, height = page.right - page.left, page.top - page.bottom
    box = Box(box.left - page.left, box.bottom - page.bottom, box.right - page.left, box.top - page.bottom)
    for _ in range(turn):  # a quarter turn takes the point (x, y) to (y, width - x)
        box = Box(box.bottom, width - box.right, box.top, width - box.left)
        width, height = height, width
    return box


def _read_characters(textpage: "PdfTextPage") -> tuple[str, Sequence[int], int]:
    """Return the text of a page, PDFium's index of each character, and how many lack a Unicode value."""
    from pypdfium2 import raw

    count = textpage.count_chars()
    text = textpage.get_text_range(errors="surrogatepass") if count else ""
    # PDFium's text lacks characters without a value, and has one character for the two indexes of `𝑥`.
    if len(text) == count:
        return text, range(count), 0
    characters: list[str] = []
    indexes: list[int] = []
    codes = [raw.FPDFText_GetUnicode(textpage.raw, index) for index in range(count)]
    with_value = [(index, chr(code)) for index, code in enumerate(codes) if 0 < code < 0x110000]
    for index, character in with_value:
        pair = (characters[-1] if characters else "") + character
        if _HALVES.fullmatch(pair):  # the halves of `𝑥`: the index of the first is kept
            characters[-1] = pair.encode("utf-16", "surrogatepass").decode("utf-16")
        else:
            characters.append(character)
            indexes.append(index)
    return "".join(characters).replace(_HYPHEN_CODE, BROKEN_WORD), indexes, count - len(with_value)


def stretches_of(offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each stretch of ascending offsets: of 3, 4 and 7 these are (3, 5) and (7, 8)."""
    # Neighbouring offsets have the same distance to their numbers: 3 and 4 are 3 more than 0 and 1.
    for _, group in groupby(enumerate(offsets), key=lambda numbered: numbered[1] - numbered[0]):
        stretch = [offset for _, offset in group]
        yield stretch[0], stretch[-1] + 1


@lru_cache(maxsize=4096)
def _kind_of_font(name: bytes) -> tuple[bool, bool]:
    """Return True for a bold font, and for a font of fixed width."""
    font_name = name.decode("utf-8", "replace")
    return _BOLD_NAMES.search(font_name) is not None, _FIXED_NAMES.search(font_name) is not None
