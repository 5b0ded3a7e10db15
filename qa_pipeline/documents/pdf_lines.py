"""Lines of a PDF page with their place and type.

What belongs here: reading PDFium's characters into lines as they stand on paper. What does not: what the
lines mean (`pdf_layout`).
"""

import ctypes
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

BROKEN_WORD = "\ufffe"
"""PDFium's mark for a hyphen at a line end; the next line's text follows it."""

_HYPHEN_CODE = "\x02"
"""The same mark, where characters are read one by one."""
_FIXED_PITCH = 1
_FIXED_NAMES = re.compile(r"mono|courier|consol|hack|typewriter|cmtt|inconsolata|code", re.IGNORECASE)
_BOLD_NAMES = re.compile(r"bold|black|heavy|semib|demi", re.IGNORECASE)
_RUN = re.compile(f"[^\r\n{BROKEN_WORD}]+{BROKEN_WORD}?|{BROKEN_WORD}")
_NAME_LENGTH = 128


class Line(NamedTuple):
    """One line on paper; distances in points from the lower left corner of the page.

    `broken` says that its last word goes on in the next line.
    """

    text: str
    page: int
    left: float
    bottom: float
    right: float
    top: float
    size: float
    bold: bool
    fixed: bool
    height: float
    broken: bool = False


def read_lines(page: "PdfPage", number: int) -> list[Line]:
    """Lines of one page in the order the file writes them, without what lies off the paper."""
    width, height = page.get_size()
    lines: list[Line] = []
    with closing(page.get_textpage()) as textpage:
        types = _Types(textpage)
        for text, places in _runs(textpage):
            line = _measure(types, text, places, number, height)
            if line is not None and line.right > width + 1:
                line = _measure(types, *_on_paper(textpage, text, places, width), number, height)
            if line is None or not (-1 < line.left < width and -1 < line.bottom < height):
                continue
            if lines and _same_line(lines[-1], line):
                lines[-1] = _joined(lines[-1], line)
            else:
                lines.append(line)
    return lines


def _on_paper(
    textpage: "PdfTextPage", text: str, places: Sequence[int], width: float
) -> tuple[str, Sequence[int]]:
    """The part of a run before the right edge: what stands beyond it no reader of the page sees."""
    seen = [place for place, index in enumerate(places) if textpage.get_charbox(index)[0] < width]
    return "".join(text[place] for place in seen), [places[place] for place in seen]


def _runs(textpage: "PdfTextPage") -> Iterator[tuple[str, Sequence[int]]]:
    """Runs of characters on one line, with the index PDFium knows each by."""
    text, places = _characters(textpage)
    for run in _RUN.finditer(text):
        yield run.group(), places[run.start() : run.end()]


def _characters(textpage: "PdfTextPage") -> tuple[str, Sequence[int]]:
    from pypdfium2 import raw

    count = textpage.count_chars()
    text = textpage.get_text_range() if count else ""
    if len(text) == count:
        return text, range(count)
    # Text and indexes differ where a character has no Unicode value: read them one by one.
    codes = [raw.FPDFText_GetUnicode(textpage, index) for index in range(count)]
    known = [index for index, code in enumerate(codes) if 0 < code < 0x110000]
    text = "".join(chr(codes[index]) for index in known)
    return text.replace(_HYPHEN_CODE, BROKEN_WORD), known


class _Types:
    """Place and type of single characters of a page.

    PDFium writes its answers into memory of the caller, which is set aside once a page: three characters
    of every line are asked for.
    """

    def __init__(self, textpage: "PdfTextPage") -> None:
        from pypdfium2 import raw

        self._font_info = raw.FPDFText_GetFontInfo
        self._font_size = raw.FPDFText_GetFontSize
        self._loose_box = raw.FPDFText_GetLooseCharBox
        self._page = textpage.raw
        self._name = ctypes.create_string_buffer(_NAME_LENGTH)
        self._flags = ctypes.c_int()
        self._rectangle = raw.FS_RECTF()

    def box(self, index: int) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of a character as tall as its font."""
        box = self._rectangle
        if not self._loose_box(self._page, index, box):
            from pypdfium2 import PdfiumError

            raise PdfiumError(f"character {index} has no place")
        return box.left, box.bottom, box.right, box.top

    def size(self, samples: Sequence[int], tall: float) -> float:
        """Font size in half points; fonts scaled by a matrix state a size of 1, their box tells more."""
        first, middle, last = samples
        sizes = [self._font_size(self._page, first), self._font_size(self._page, last)]
        if sizes[0] != sizes[1]:  # the middle one of three is not one of two equal ones
            sizes = sorted([*sizes, self._font_size(self._page, middle)])
        size = sizes[1]
        return float(round((size if size > 2 else tall) * 2) / 2)

    def bold_and_fixed(self, samples: Sequence[int]) -> tuple[bool, bool]:
        """Whether all the characters are bold, and whether they are of fonts with letters of one width."""
        bold = fixed = True
        for index in samples:
            kind = self._font(index)
            bold, fixed = bold and kind[0], fixed and kind[1]
            if not (bold or fixed):
                break
        return bold, fixed

    def _font(self, index: int) -> tuple[bool, bool]:
        length = self._font_info(self._page, index, self._name, _NAME_LENGTH, self._flags)
        # Nothing is written of an unknown font, and no name that is longer than there is room for.
        name = self._name.value if 0 < length <= _NAME_LENGTH else b""
        return _kind_of_font(name, self._flags.value if length else 0)


def _measure(types: _Types, run: str, places: Sequence[int], page: int, height: float) -> Line | None:
    """Place and type of a run, taken from its first, middle and last printed character."""
    broken = run.endswith(BROKEN_WORD)
    text = run.rstrip(BROKEN_WORD)
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    if start >= end:
        return None
    samples = [places[start], places[(start + end) // 2], places[end - 1]]
    first, last = types.box(samples[0]), types.box(samples[2])
    bold, fixed = types.bold_and_fixed(samples)
    return Line(
        text=text[start:] if broken else text[start:end],
        page=page,
        left=first[0],
        bottom=min(first[1], last[1]),
        right=max(first[2], last[2]),
        top=max(first[3], last[3]),
        size=types.size(samples, first[3] - first[1]),
        bold=bold,
        fixed=fixed,
        height=height,
        broken=broken,
    )


@lru_cache(maxsize=4096)
def _kind_of_font(name: bytes, flags: int) -> tuple[bool, bool]:
    named = name.decode("utf-8", "replace")
    fixed = bool(flags & _FIXED_PITCH) or _FIXED_NAMES.search(named) is not None
    return _BOLD_NAMES.search(named) is not None, fixed


def _same_line(before: Line, after: Line) -> bool:
    """Whether a run goes on where another ended: PDFium ends a run where a raised mark changes the base."""
    overlap = min(before.top, after.top) - max(before.bottom, after.bottom)
    lower = min(before.top - before.bottom, after.top - after.bottom)
    gap = after.left - before.right
    return not before.broken and overlap > 0.5 * lower and -1 < gap < 4 * max(before.size, after.size)


def _joined(before: Line, after: Line) -> Line:
    glued = after.left - before.right < 0.15 * before.size or after.text[:1] in ",.;:)"
    longer = before if len(before.text) >= len(after.text) else after
    return before._replace(
        text=before.text + ("" if glued else " ") + after.text,
        right=after.right,
        bottom=min(before.bottom, after.bottom),
        top=max(before.top, after.top),
        size=longer.size,
        bold=before.bold and after.bold,
        fixed=before.fixed and after.fixed,
        broken=after.broken,
    )
