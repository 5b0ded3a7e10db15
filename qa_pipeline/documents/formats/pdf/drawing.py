"""Read ruled lines, pictures and annotations of a PDF page."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import LIMITS, DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import Box, turn_box

if TYPE_CHECKING:
    from pypdfium2 import PdfMatrix, PdfObject, PdfPage

_THIN = 3.0  # points: a thicker shape is a bar or a box, and no line
_SHORTEST_RULE = 10.0  # points: shorter strokes are parts of letters, arrows and dashes
_SHORTEST_UPRIGHT = 5.0  # points: beside a row of a table they are as short as its type
_MOST_SEGMENTS = 400  # of a frame: a path with more is a curve drawn in short straight strokes
_MOST_RULES = 5_000  # a page of more is a map or plan, without tables
_DEEPEST_FORM = 8  # forms in forms: writers wrap a page once or twice, a hostile file without end


@dataclass(slots=True)
class Drawing:
    """Ruled lines (`across` and `upright`, as thin boxes) and pictures of a page, in points."""

    across: list[Box] = field(default_factory=list)
    upright: list[Box] = field(default_factory=list)
    pictures: list[Box] = field(default_factory=list)

    def turned(self, turn: int, paper: Box) -> "Drawing":
        """Return the drawing of the page turned clockwise, its lower left corner at the origin."""
        kinds = (self.across, self.upright, self.pictures)
        across, upright, pictures = ([turn_box(box, turn, paper) for box in boxes] for boxes in kinds)
        # A quarter turn sets lines across upright.
        return Drawing(upright, across, pictures) if turn % 2 else Drawing(across, upright, pictures)


def list_objects(page: "PdfPage") -> "list[PdfObject]":
    """Return the objects of a page, each form before its content; raises `too_many_objects`."""
    objects = list(islice(page.get_objects(max_depth=_DEEPEST_FORM), LIMITS.page_objects + 1))
    if len(objects) > LIMITS.page_objects:
        raise DocumentFailure("too_many_objects", "a page has too many drawn objects")
    return objects


def read_drawing(page: "PdfPage", objects: "Sequence[PdfObject]") -> Drawing:
    """Return the lines and pictures of a page, in the coordinates of its content."""
    from pypdfium2 import PdfMatrix, raw

    drawing = Drawing()
    matrices = [PdfMatrix()]  # of the forms around an object, the outermost first
    for item in objects:
        del matrices[item.level + 1 :]  # an object is in as many forms as its level says
        matrix = matrices[-1]
        if item.type == raw.FPDF_PAGEOBJ_FORM:
            matrices.append(item.get_matrix().multiply(matrix))
        elif item.type == raw.FPDF_PAGEOBJ_IMAGE:
            drawing.pictures += _boxes_of(item, matrix)
        elif item.type == raw.FPDF_PAGEOBJ_PATH:
            for line in chain.from_iterable(_lines_of(item, box, matrix) for box in _boxes_of(item, matrix)):
                width, height = line.right - line.left, line.top - line.bottom
                if width >= _SHORTEST_RULE and height <= _THIN:
                    drawing.across.append(line)
                elif height >= _SHORTEST_UPRIGHT and width <= _THIN:
                    drawing.upright.append(line)
            if len(drawing.across) + len(drawing.upright) > _MOST_RULES:
                break
    return drawing


def _boxes_of(item: "PdfObject", matrix: "PdfMatrix") -> list[Box]:
    """Return a list with the box of an object, or [] for an empty path."""
    from pypdfium2 import PdfiumError

    try:
        return [Box(*matrix.on_rect(*item.get_bounds()))]
    except PdfiumError:
        return []


def _lines_of(path: "PdfObject", box: Box, form_matrix: "PdfMatrix") -> Iterator[Box]:
    """Yield the box of a thin shape, or of each straight stroke of a frame before its first curve."""
    from pypdfium2 import raw

    width, height = box.right - box.left, box.top - box.bottom
    if width <= _THIN or height <= _THIN:
        yield box
        return
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    is_stroked = raw.FPDFPath_GetDrawMode(path, fill, stroke) and stroke.value
    is_large = width > _SHORTEST_RULE and height > _SHORTEST_UPRIGHT
    count = raw.FPDFPath_CountSegments(path)
    if not (is_stroked and is_large and count <= _MOST_SEGMENTS):
        return
    matrix = path.get_matrix().multiply(form_matrix)  # from the path to the form around it, and to the page
    x, y = ctypes.c_float(), ctypes.c_float()
    start = previous = (0.0, 0.0)  # the points where the outline starts, and where the stroke before ended
    for number in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, number)
        kind = raw.FPDFPathSegment_GetType(segment)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = (x.value, y.value)
        if kind == raw.FPDF_SEGMENT_BEZIERTO:  # the rest is a figure; straight strokes so far may be rules
            return
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        else:
            yield Box(*matrix.on_rect(*previous, *point))
        if raw.FPDFPathSegment_GetClose(segment):  # a last stroke leads back to the start
            yield Box(*matrix.on_rect(*point, *start))
        previous = point


def share_of(box: Box, paper: Box) -> float:
    """Return the part of the paper that a box covers."""
    wide = min(box.right, paper.right) - max(box.left, paper.left)
    high = min(box.top, paper.top) - max(box.bottom, paper.bottom)
    area = (paper.right - paper.left) * (paper.top - paper.bottom)
    return max(wide, 0.0) * max(high, 0.0) / area if area > 0 else 0.0


_MOST_ANNOTATIONS = 10_000  # of a page: more than people make
_LONGEST_VALUE = 100_000  # bytes of a value in a form, which people write
_PASSWORD_FIELD = 1 << 13  # the flag of a field whose value is not shown (ISO 32000-1, table 228)
_FLAGS, _VALUE, _NAME, _TOOLTIP = b"Ff", b"V", b"T", b"TU"  # keys of a form field (ISO 32000-1, table 220)


@dataclass(slots=True)
class Annotations:
    """The annotations of a page."""

    values: list[str] = field(default_factory=list)  # of form fields, as `Name: value`
    redacted: list[Box] = field(default_factory=list)  # boxes that are marked for redaction
    may_cover_text: bool = False  # True if others are drawn over the page


def read_annotations(page: "PdfPage", left_out: Omissions) -> Annotations:
    """Read the form fields and redaction marks of a page; comments are counted, and their icons hidden."""
    from pypdfium2 import raw

    without_comment = (raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_LINK)
    not_over_text = (*without_comment, raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_WIDGET)  # note icon, form field
    count = raw.FPDFPage_GetAnnotCount(page.raw)
    found, sides = Annotations(), raw.FS_RECTF()
    for number in range(min(count, _MOST_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, number)
        if not annotation:
            continue
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        found.may_cover_text |= kind not in not_over_text
        if kind == raw.FPDF_ANNOT_WIDGET:
            if value := _read_field(annotation, left_out):
                found.values.append(value)
        elif kind not in without_comment:
            left_out.add("comment", _read_string(annotation, b"Contents"))
        if kind == raw.FPDF_ANNOT_TEXT:  # readers move its icon away from the text
            raw.FPDFAnnot_SetFlags(annotation, raw.FPDF_ANNOT_FLAG_HIDDEN)
        elif kind == raw.FPDF_ANNOT_REDACT and raw.FPDFAnnot_GetRect(annotation, sides):
            found.redacted.append(Box(sides.left, sides.bottom, sides.right, sides.top))
        raw.FPDFPage_CloseAnnot(annotation)
    left_out.count("comment", pieces=max(count - _MOST_ANNOTATIONS, 0), characters=0)  # unread annotations
    return found


def _read_field(widget: Any, left_out: Omissions) -> str:
    """Return `Name: value` of a form field; count an empty field, a button or a password, and return ""."""
    from pypdfium2 import raw

    flags = ctypes.c_float()
    raw.FPDFAnnot_GetNumberValue(widget, _FLAGS, flags)
    is_text = raw.FPDFAnnot_GetValueType(widget, _VALUE) == raw.FPDF_OBJECT_STRING
    value = _read_string(widget, _VALUE).strip() if is_text else ""
    if not value or int(flags.value) & _PASSWORD_FIELD:
        left_out.add("form_field", value)
        return ""
    name = (_read_string(widget, _TOOLTIP) or _read_string(widget, _NAME)).strip().rstrip(":")
    return f"{name}: {value}" if name else value


def _read_string(annotation: Any, key: bytes) -> str:
    """Return a text of an annotation, or "" if it is missing or too long."""
    from pypdfium2 import raw

    # PDFium is asked for the length first, then for the text
    length = raw.FPDFAnnot_GetStringValue(annotation, key, None, 0)  # in bytes, with a zero at the end
    if not 2 < length <= _LONGEST_VALUE:
        return ""
    buffer = ctypes.create_string_buffer(length)
    characters = ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR))
    raw.FPDFAnnot_GetStringValue(annotation, key, characters, length)
    return buffer.raw[: length - 2].decode("utf-16-le", "replace")
