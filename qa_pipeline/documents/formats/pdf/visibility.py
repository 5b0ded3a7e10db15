"""Find hidden text of a PDF page: where pictures of the page with its text and without it do not differ."""

import ctypes
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from qa_pipeline.documents.formats.pdf.drawing import Annotations
from qa_pipeline.documents.formats.pdf.glyphs import Box, enclose, paper_of, stretches_of

if TYPE_CHECKING:
    import numpy as np
    from pypdfium2 import PdfObject, PdfPage, PdfTextPage

    Bitmap = np.ndarray[Any, Any]

_SCALE = 2.0  # pixels a point: a full stop of 5 points covers one
_MOST_PIXELS = 4_000_000  # of a page: a larger one is drawn at a smaller scale
_SEEN = 16  # of 255 in any colour: less than between white and the palest grey in print
_INK = 64  # of 255: less than between the letters and the paper of a scanned page
_SMALLEST = 1.0  # points: the smallest print has 4
_FLATTEST = 0.3  # points: a flatter box says that the font lacks the shape of the letter
_LAST_SUBSTITUTED = 0x17F  # the last Unicode value in PDFium's own fonts, which replace fonts a file lacks
_DARK = 180  # of 255: darker in any colour, text shows on white paper
_THIN = 3.0  # points: a thicker shape may cover text
_MOST_PAIRS = 4_000_000  # of texts and shapes that are compared


class _Letter(NamedTuple):
    """A printed character: its index in PDFium, the address of its text object, and its box."""

    number: int
    text_address: int
    box: Box


def find_hidden(
    page: "PdfPage",
    textpage: "PdfTextPage",
    objects: "Sequence[PdfObject]",
    pictures: Sequence[Box],
    annotations: Annotations,
) -> set[int]:
    """Return PDFium's indexes of characters that do not show (covered, tiny, pale) or are to be redacted."""
    import numpy as np
    from pypdfium2 import raw

    paper = paper_of(page)
    if not annotations.may_cover_text and _is_plain(objects, paper):  # as most are, and drawing is slow
        return set()
    text_objects = (item for item in objects if item.type == raw.FPDF_PAGEOBJ_TEXT)
    texts = {ctypes.addressof(item.raw.contents): item for item in text_objects}
    letters, hidden = _read_letters(textpage)  # tiny letters are hidden
    full, textless = _draw(page, paper, texts, set(texts)), _draw(page, paper, texts, set())
    # Texts written over others are a layer of their own: their ink would make letters below seem to show.
    upper = _find_upper(letters, paper, full.shape)
    lower_letters = [letter for letter in letters if letter.text_address not in upper]
    upper_letters = [letter for letter in letters if letter.text_address in upper]
    for layer, letters_in_layer in ((set(texts) - upper, lower_letters), (upper, upper_letters)):
        if letters_in_layer:
            has_all_texts = layer >= set(texts)  # mostly the lower layer, as few pages have an upper one
            picture = full if has_all_texts else _draw(page, paper, texts, layer)
            difference = np.ptp([picture, textless], axis=0)  # of each pixel in each colour
            shows = (difference > _SEEN).any(axis=2)
            for letter in letters_in_layer:
                if not shows[_pixels_of(letter.box, paper, full.shape)].any():
                    hidden.add(letter.number)
    hidden.difference_update(_find_over_ink(letters, pictures, textless, paper))  # OCR's text stays
    return hidden | {letter.number for letter in letters if _is_within(letter.box, annotations.redacted)}


def _draw(page: "PdfPage", paper: Box, texts: "dict[int, PdfObject]", shown: set[int]) -> "Bitmap":
    """Draw a page with the text objects at the `shown` addresses alone; the others stay switched off."""
    from pypdfium2 import raw

    for address, item in texts.items():
        raw.FPDFPageObj_SetIsActive(item, address in shown)
    area = (paper.right - paper.left) * (paper.top - paper.bottom)
    scale = min(_SCALE, (_MOST_PIXELS / max(area, 1.0)) ** 0.5)
    turn = -page.get_rotation() % 360  # back to the coordinates of the content, as if `/Rotate` were 0
    bitmap: Bitmap = page.render(scale=scale, rotation=turn, prefer_bgrx=True).to_numpy()[..., :3]
    return bitmap


def _is_plain(objects: "Sequence[PdfObject]", paper: Box) -> bool:
    """Return True if all text is dark, of a usual size, on the paper, and apart from pictures and shapes."""
    import numpy as np
    from pypdfium2 import raw

    texts: list[Box] = []
    covers: list[Box] = []
    sides = [ctypes.c_float() for _ in range(4)]
    for item in objects:
        if not raw.FPDFPageObj_GetBounds(item, *sides):
            continue
        box = Box(*(side.value for side in sides))
        is_in_form = item.level > 0  # its box is in the coordinates of a form XObject
        if item.type == raw.FPDF_PAGEOBJ_TEXT:
            is_across = paper.left - 1 < box.left and box.right < paper.right + 1
            is_on_paper = is_across and paper.bottom - 1 < box.bottom and box.top < paper.top + 1
            if is_in_form or not (is_on_paper and _is_usual(item)):
                return False
            texts.append(box)
        elif not is_in_form and min(box.right - box.left, box.top - box.bottom) > _THIN:
            covers.append(box)  # among them the box of each form, with all its parts
    if not (texts and covers):
        return True
    if len(texts) * len(covers) > _MOST_PAIRS:
        return False
    # A column of texts and a row of covers, which compare each with each.
    left, bottom, right, top = np.array(texts).T[:, :, None]
    cover_left, cover_bottom, cover_right, cover_top = np.array(covers).T
    touches_across = (left < cover_right) & (cover_left < right)
    touches_up = (bottom < cover_top) & (cover_bottom < top)
    return not (touches_across & touches_up).any()


def _is_usual(text: Any) -> bool:
    """Return True if a text object is filled with an opaque, dark colour, not tiny, and in no layer."""
    from pypdfium2 import raw

    colour = [ctypes.c_uint() for _ in range(4)]  # red, green, blue and opacity
    is_opaque = raw.FPDFPageObj_GetFillColor(text, *colour) and colour[3].value == 255
    is_dark = min(part.value for part in colour[:3]) <= _DARK
    is_filled = raw.FPDFTextObj_GetTextRenderMode(text) == raw.FPDF_TEXTRENDERMODE_FILL
    matrix = text.get_matrix()
    is_large = text.get_font_size() * math.hypot(matrix.c, matrix.d) >= _SMALLEST
    if not (is_opaque and is_dark and is_filled and is_large):
        return False
    name, length = ctypes.create_string_buffer(8), ctypes.c_ulong()  # `OC` and its end take 6 bytes
    buffer = ctypes.cast(name, ctypes.POINTER(raw.FPDF_WCHAR))
    for number in range(raw.FPDFPageObj_CountMarks(text)):
        mark = raw.FPDFPageObj_GetMark(text, number)
        raw.FPDFPageObjMark_GetName(mark, buffer, len(name), length)
        if name.raw[: length.value] == "OC\0".encode("utf-16-le"):  # optional content: a layer
            return False
    return True


def _read_letters(textpage: "PdfTextPage") -> tuple[list[_Letter], set[int]]:
    """Return the letters that the pixels of the page can judge, and the numbers of tiny letters."""
    from pypdfium2 import raw

    letters: list[_Letter] = []
    tiny: set[int] = set()
    for index in range(textpage.count_chars()):
        code = raw.FPDFText_GetUnicode(textpage.raw, index)
        text = raw.FPDFText_GetTextObject(textpage.raw, index)
        if not text or chr(code).isspace():
            continue
        box = Box(*textpage.get_charbox(index))  # encloses the ink
        loose = Box(*textpage.get_charbox(index, loose=True))  # as tall as the font
        if min(box.right - box.left, box.top - box.bottom) < _FLATTEST:
            box = loose
        if max(loose.right - loose.left, loose.top - loose.bottom) < _SMALLEST:
            tiny.add(index)
        # PDFium draws letters of its own fonts and embedded fonts; others cannot be judged.
        elif code <= _LAST_SUBSTITUTED or raw.FPDFFont_GetIsEmbedded(raw.FPDFTextObj_GetFont(text)):
            letters.append(_Letter(index, ctypes.addressof(text.contents), box))
    return letters, tiny


def _find_upper(letters: Sequence[_Letter], paper: Box, shape: tuple[int, ...]) -> set[int]:
    """Return the addresses of text objects that are written over others, by the `shape` of a picture."""
    import numpy as np

    upper: set[int] = set()
    uppermost = np.zeros(shape[:2], dtype=np.uint64)  # the address of the uppermost text in each pixel
    for letter in letters:  # in PDFium's order, which is mostly that of painting
        area = uppermost[_pixels_of(letter.box, paper, shape)]
        below = int(area[area.shape[0] // 2, area.shape[1] // 2]) if area.size else 0  # in its middle
        if below not in (0, letter.text_address):  # 0 is the paper
            upper.add(letter.text_address)
        area[...] = letter.text_address
    return upper


def _find_over_ink(
    letters: Sequence[_Letter], pictures: Sequence[Box], textless: "Bitmap", paper: Box
) -> Iterator[int]:
    """Yield the numbers of letters whose word lies over ink of a picture, as OCR lays text over a scan."""
    import numpy as np

    by_number = {letter.number: letter for letter in letters}
    # Blanks are missing in it, so neighbouring numbers are a word. OCR does not position single letters.
    for first, end in stretches_of(by_number):
        word = [by_number[number] for number in range(first, end)]
        box = enclose(letter.box for letter in word)
        # Of its height only the middle half, since the edge of a bar over the word would count as ink.
        margin = (box.top - box.bottom) / 4
        middle = Box(box.left, box.bottom + margin, box.right, box.top - margin)
        pixels = textless[_pixels_of(middle, paper, textless.shape)]
        contrast = np.ptp(pixels, axis=(0, 1)).max() if pixels.size else 0
        if contrast > _INK and _is_within(box, pictures):
            yield from (letter.number for letter in word)


def _is_within(inner: Box, boxes: Sequence[Box]) -> bool:
    x, y = (inner.left + inner.right) / 2, (inner.bottom + inner.top) / 2
    return any(box.left <= x <= box.right and box.bottom <= y <= box.top for box in boxes)


def _pixels_of(box: Box, paper: Box, shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Return the rows and columns of a picture of the page that a box covers."""
    across, up = shape[1] / (paper.right - paper.left), shape[0] / (paper.top - paper.bottom)
    top, bottom = math.floor((paper.top - box.top) * up), math.ceil((paper.top - box.bottom) * up)
    left, right = math.floor((box.left - paper.left) * across), math.ceil((box.right - paper.left) * across)
    return slice(max(top, 0), max(bottom, 0)), slice(max(left, 0), max(right, 0))
