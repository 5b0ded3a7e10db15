"""Find characters of a PDF page that do not show: covered, too small, not drawn, or like their ground.

The page is drawn with its text and without it. Text shows where the two pictures differ.
"""

import ctypes
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from qa_pipeline.documents.formats.pdf.drawing import Annotations
from qa_pipeline.documents.formats.pdf.glyphs import Box, enclose, paper_of

if TYPE_CHECKING:
    import numpy as np
    from pypdfium2 import PdfObject, PdfPage, PdfTextPage

    Bitmap = np.ndarray[Any, Any]

_SCALE = 2.0  # pixels a point: a full stop of 5 points covers one
_MOST_PIXELS = 4_000_000  # of a page: a larger one is drawn at a smaller scale
_SEEN = 16  # of 255 in any colour: less than between white and the palest grey in print
_INK = 64  # of 255: less than between the letters and the paper of a scanned page
_SMALLEST = 1.0  # points: the smallest print has 4
_FLATTEST = 0.3  # points: a flatter box says that the font does not tell the shape of the letter
_LAST_LEVEL = 7  # of text over text; each level is drawn apart
_BARS = frozenset("█■▇▉▮⬛")
"""Letters that cover what is below them, as a bar does."""
_SUBSTITUTED = 0x17F  # PDFium's own fonts, in place of those a file lacks, have letters up to here
_DARK, _LIGHT = 180, 200  # of 255: text dark in any colour shows on a ground light in all
_THIN = 3.0  # points: a thicker shape may cover text
_MOST_PAIRS = 4_000_000  # of texts and shapes that are compared


class _Letter(NamedTuple):
    """A printed character; `owner` is the address of its text object."""

    number: int
    owner: int
    box: Box


def find_hidden(
    page: "PdfPage",
    textpage: "PdfTextPage",
    objects: "Sequence[PdfObject]",
    pictures: Sequence[Box],
    annotations: Annotations,
) -> set[int]:
    """Return PDFium's indexes of the characters that do not show.

    Text that OCR laid over a picture shows where the picture has ink.
    """
    import numpy as np
    from pypdfium2 import raw

    sheet = paper_of(page)
    if not annotations.drawn and _is_plain(objects, sheet):
        return set()
    texts = {
        ctypes.addressof(item.raw.contents): item for item in objects if item.type == raw.FPDF_PAGEOBJ_TEXT
    }
    area = (sheet.right - sheet.left) * (sheet.top - sheet.bottom)
    scale = min(_SCALE, (_MOST_PIXELS / max(area, 1.0)) ** 0.5)

    def draw(shown: set[int]) -> "Bitmap":
        for address, item in texts.items():
            raw.FPDFPageObj_SetIsActive(item, address in shown)
        turn = -page.get_rotation() % 360
        bitmap: Bitmap = page.render(scale=scale, rotation=turn, prefer_bgrx=True).to_numpy()[..., :3]
        return bitmap

    letters, bars, hidden = _read_letters(textpage)
    full, bare = draw(set(texts)), draw(bars)
    levels = _levels_of(letters, sheet, full.shape)
    for level in range(max(levels.values(), default=0) + 1):
        drawn = bars | {address for address in texts if levels[address] == level}
        picture = full if len(drawn) == len(texts) else draw(drawn)
        seen = (np.maximum(picture, bare) - np.minimum(picture, bare)).max(axis=2) > _SEEN
        hidden |= {
            letter.number
            for letter in letters
            if levels[letter.owner] == level and not seen[_pixels_of(letter.box, sheet, seen.shape)].any()
        }
    hidden.difference_update(_read_by_ocr(letters, pictures, bare, sheet))
    return hidden | {letter.number for letter in letters if _is_within(letter.box, annotations.redacted)}


def _is_plain(objects: "Sequence[PdfObject]", sheet: Box) -> bool:
    """Return True if all text is dark, of a usual size and on the paper, and uncovered.

    Most pages are plain, and drawing a page takes longer than reading it.
    """
    import numpy as np
    from pypdfium2 import raw

    texts: list[tuple[float, ...]] = []
    covers: list[tuple[float, ...]] = []
    sides = [ctypes.c_float() for _ in range(4)]
    colour = [ctypes.c_uint() for _ in range(4)]
    fill, stroke, width = ctypes.c_int(), ctypes.c_int(), ctypes.c_float()
    for place, item in enumerate(objects):
        if not raw.FPDFPageObj_GetBounds(item, *sides):
            continue
        left, bottom, right, top = box = tuple(side.value for side in sides)
        flat = raw.FPDFPageObj_GetFillColor(item, *colour) and colour[3].value == 255
        shades = [part.value for part in colour[:3]]
        if item.type == raw.FPDF_PAGEOBJ_TEXT:
            inside = sheet.left - 1 < left and right < sheet.right + 1
            inside = inside and sheet.bottom - 1 < bottom and top < sheet.top + 1
            if item.level or not (flat and inside and min(shades) <= _DARK and _is_usual(item)):
                return False
            texts.append((*box, place))
        elif item.type != raw.FPDF_PAGEOBJ_PATH and not item.level:
            covers.append((*box, math.inf))
        elif not item.level:
            raw.FPDFPath_GetDrawMode(item, fill, stroke)
            raw.FPDFPageObj_GetStrokeWidth(item, width)
            thick = stroke.value and width.value > _THIN
            if thick or (fill.value and min(right - left, top - bottom) > _THIN):
                light = not thick and flat and min(shades) >= _LIGHT
                covers.append((*box, place if light else math.inf))
    if not (texts and covers):
        return True
    if len(texts) * len(covers) > _MOST_PAIRS:
        return False
    first, low, second, high, order = np.array(texts).T[:, :, None]
    over = np.array(covers).T
    touching = (first < over[2]) & (over[0] < second) & (low < over[3]) & (over[1] < high)
    return not (touching & (order < over[4])).any()


def _is_usual(text: Any) -> bool:
    """Return True if a text object is filled, not tiny, and in a visible layer."""
    from pypdfium2 import raw

    size, matrix = ctypes.c_float(), raw.FS_MATRIX()
    raw.FPDFTextObj_GetFontSize(text, size)
    raw.FPDFPageObj_GetMatrix(text, matrix)
    name, length = ctypes.create_string_buffer(8), ctypes.c_ulong()
    buffer = ctypes.cast(name, ctypes.POINTER(raw.FPDF_WCHAR))
    for number in range(raw.FPDFPageObj_CountMarks(text)):
        mark = raw.FPDFPageObj_GetMark(text, number)
        raw.FPDFPageObjMark_GetName(mark, buffer, len(name), length)
        if name.raw[: length.value] == "OC\0".encode("utf-16-le"):
            return False
    return (
        raw.FPDFTextObj_GetTextRenderMode(text) == raw.FPDF_TEXTRENDERMODE_FILL
        and size.value * math.hypot(matrix.c, matrix.d) >= _SMALLEST
    )


def _read_letters(textpage: "PdfTextPage") -> tuple[list[_Letter], set[int], set[int]]:
    from pypdfium2 import raw

    letters: list[_Letter] = []
    bars: set[int] = set()
    small: set[int] = set()
    left, right, bottom, top = sides = [ctypes.c_double() for _ in range(4)]
    loose = raw.FS_RECTF()
    for index in range(textpage.count_chars()):
        code = raw.FPDFText_GetUnicode(textpage.raw, index)
        text = raw.FPDFText_GetTextObject(textpage.raw, index)
        if not text or chr(code).isspace():
            continue
        owner = ctypes.addressof(text.contents)
        raw.FPDFText_GetLooseCharBox(textpage.raw, index, loose)
        raw.FPDFText_GetCharBox(textpage.raw, index, *sides)
        box = Box(left.value, bottom.value, right.value, top.value)
        if min(box.right - box.left, box.top - box.bottom) < _FLATTEST:
            box = Box(loose.left, loose.bottom, loose.right, loose.top)
        if chr(code) in _BARS:
            bars.add(owner)
        elif max(loose.right - loose.left, loose.top - loose.bottom) < _SMALLEST:
            small.add(index)
        elif code <= _SUBSTITUTED or raw.FPDFFont_GetIsEmbedded(raw.FPDFTextObj_GetFont(text)):
            letters.append(_Letter(index, owner, box))
    return [letter for letter in letters if letter.owner not in bars], bars, small


def _levels_of(letters: Sequence[_Letter], sheet: Box, shape: tuple[int, ...]) -> defaultdict[int, int]:
    """Return the level of each text object, above the objects that it is written over."""
    import numpy as np

    levels: defaultdict[int, int] = defaultdict(int)
    numbers: dict[int, int] = {}
    ground = np.zeros(shape[:2], dtype=np.int32)
    for letter in letters:
        number = numbers.setdefault(letter.owner, len(numbers) + 1)
        part = ground[_pixels_of(letter.box, sheet, shape)]
        below = part[part.shape[0] // 2, part.shape[1] // 2] if part.size else 0
        if below not in (0, number):
            level = levels[list(numbers)[below - 1]] + 1
            levels[letter.owner] = min(max(levels[letter.owner], level), _LAST_LEVEL)
        part[...] = number
    return levels


def _read_by_ocr(
    letters: Sequence[_Letter], pictures: Sequence[Box], bare: "Bitmap", sheet: Box
) -> Iterator[int]:
    """Yield the letters of words over the ink of a picture: OCR does not position single letters."""
    import numpy as np

    for _, group in groupby(enumerate(letters), lambda place: place[1].number - place[0]):
        word = [letter for _, letter in group]
        left, bottom, right, top = enclose(letter.box for letter in word)
        margin = (top - bottom) / 4
        if _is_within(Box(left, bottom, right, top), pictures):
            # A bar may end within the box of a word.
            part = bare[_pixels_of(Box(left, bottom + margin, right, top - margin), sheet, bare.shape)]
            if part.size and np.ptp(part, axis=(0, 1)).max() > _INK:
                yield from (letter.number for letter in word)


def _is_within(inner: Box, boxes: Sequence[Box]) -> bool:
    x, y = (inner.left + inner.right) / 2, (inner.bottom + inner.top) / 2
    return any(box.left <= x <= box.right and box.bottom <= y <= box.top for box in boxes)


def _pixels_of(box: Box, sheet: Box, shape: tuple[int, ...]) -> tuple[slice, slice]:
    across, up = shape[1] / (sheet.right - sheet.left), shape[0] / (sheet.top - sheet.bottom)
    rows = math.floor((sheet.top - box.top) * up), math.ceil((sheet.top - box.bottom) * up)
    columns = math.floor((box.left - sheet.left) * across), math.ceil((box.right - sheet.left) * across)
    return slice(*(max(side, 0) for side in rows)), slice(*(max(side, 0) for side in columns))
