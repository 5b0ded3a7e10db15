"""Read ruled lines, pictures and annotations of a PDF page."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import Box, paper_of, turn_box

if TYPE_CHECKING:
    from pypdfium2 import PdfMatrix, PdfObject, PdfPage

_THIN = 3.0  # points: a thicker shape is a bar or a box, and no line
_SHORTEST_RULE = 10.0  # points: shorter strokes are parts of letters, arrows and dashes
_MOST_SEGMENTS = 400  # a path of more is a curve drawn in small steps, and no frame of a table
_MOST_RULES = 5_000  # a page of more is a map or plan, of which no table would be made
_DEEPEST_FORM = 8  # forms in forms: writers wrap a page once or twice, a hostile file without end
_WHOLE_PAGE = 0.6  # of the paper: a form as large holds the page, a smaller one is a figure on it


@dataclass(slots=True)
class Drawing:
    """Ruled lines (`across` and `upright`, as thin boxes) and pictures of a page, in points."""

    across: list[Box] = field(default_factory=list)
    upright: list[Box] = field(default_factory=list)
    pictures: list[Box] = field(default_factory=list)

    def turned(self, turn: int, paper: Box) -> "Drawing":
        """Return the drawing of the page turned clockwise, its lower left corner at the origin."""
        if not turn and paper.left == paper.bottom == 0:
            return self
        kinds = (self.across, self.upright, self.pictures)
        across, upright, pictures = ([turn_box(box, turn, paper) for box in boxes] for boxes in kinds)
        return Drawing(*((upright, across) if turn % 2 else (across, upright)), pictures)


def list_objects(page: "PdfPage", most: int) -> "list[PdfObject]":
    """Return the objects of a page, each form before its content; raises `too_many_objects`."""
    objects = list(islice(page.get_objects(max_depth=_DEEPEST_FORM), most + 1))
    if len(objects) > most:
        raise DocumentFailure("too_many_objects", "a page holds more drawn objects than are read")
    return objects


def read_drawing(page: "PdfPage", objects: "Sequence[PdfObject]") -> Drawing:
    """Return the lines and pictures of a page, in the coordinates of its content."""
    from pypdfium2 import PdfMatrix, raw

    paper = paper_of(page)
    drawing = Drawing()
    matrices: list[PdfMatrix | None] = [PdfMatrix()]  # of the forms around an object; none in a figure
    for item in objects:
        del matrices[item.level + 1 :]
        matrix = matrices[-1]
        box = None if matrix is None or item.type == raw.FPDF_PAGEOBJ_TEXT else _box_of(item, matrix)
        if item.type == raw.FPDF_PAGEOBJ_FORM:
            is_page = matrix and box and share_of(box, paper) >= _WHOLE_PAGE  # some writers put all into one
            matrices.append(item.get_matrix().multiply(matrix) if is_page else None)
        elif box and item.type == raw.FPDF_PAGEOBJ_IMAGE:
            drawing.pictures.append(box)
        elif matrix and box and item.type == raw.FPDF_PAGEOBJ_PATH:
            for line in _lines_of(item, box, matrix):
                wide, high = line.right - line.left, line.top - line.bottom
                if wide >= _SHORTEST_RULE and high <= _THIN:
                    drawing.across.append(line)
                elif high >= _SHORTEST_RULE / 2 and wide <= _THIN:
                    drawing.upright.append(line)
            if len(drawing.across) + len(drawing.upright) > _MOST_RULES:
                break
    return drawing


def _box_of(item: "PdfObject", matrix: "PdfMatrix") -> Box | None:
    from pypdfium2 import PdfiumError

    try:
        return Box(*matrix.on_rect(*item.get_bounds()))
    except PdfiumError:  # an empty path has none
        return None


def _lines_of(path: "PdfObject", box: Box, outer: "PdfMatrix") -> Iterator[Box]:
    """Yield a thin shape, or the straight strokes of a frame."""
    from pypdfium2 import raw

    wide, high = box.right - box.left, box.top - box.bottom
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    if wide <= _THIN or high <= _THIN:
        yield box
        return
    is_large = wide > _SHORTEST_RULE and high > _SHORTEST_RULE / 2
    if not (is_large and raw.FPDFPath_GetDrawMode(path, fill, stroke) and stroke.value):
        return
    matrix = path.get_matrix().multiply(outer)
    count = raw.FPDFPath_CountSegments(path)
    x, y = ctypes.c_float(), ctypes.c_float()
    start = last = (0.0, 0.0)
    for number in range(count if count <= _MOST_SEGMENTS else 0):
        segment = raw.FPDFPath_GetPathSegment(path, number)
        kind = raw.FPDFPathSegment_GetType(segment)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        here = (x.value, y.value)
        if kind == raw.FPDF_SEGMENT_BEZIERTO:
            return
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = here
        else:
            yield Box(*matrix.on_rect(*last, *here))
        if raw.FPDFPathSegment_GetClose(segment):
            yield Box(*matrix.on_rect(*here, *start))
        last = here


def share_of(box: Box, paper: Box) -> float:
    """Return the part of the paper that a box covers."""
    wide = min(box.right, paper.right) - max(box.left, paper.left)
    high = min(box.top, paper.top) - max(box.bottom, paper.bottom)
    area = (paper.right - paper.left) * (paper.top - paper.bottom)
    return max(wide, 0.0) * max(high, 0.0) / area if area > 0 else 0.0


_MOST_ANNOTATIONS = 10_000  # of a page: more than people make, each of which takes several calls
_LONGEST_VALUE = 100_000  # bytes of a value in a form, which people write
_PASSWORD_FIELD = 1 << 13  # the flag of a field whose value is not shown (ISO 32000-1, table 228)


@dataclass(slots=True)
class Annotations:
    """The form values of a page as `Name: value`, its redacted boxes, and True for others over the text."""

    values: list[str] = field(default_factory=list)
    redacted: list[Box] = field(default_factory=list)
    drawn: bool = False


def read_annotations(page: "PdfPage", left_out: Omissions) -> Annotations:
    """Read the annotations of a page; comments and actions are counted, and icons of notes hidden."""
    from pypdfium2 import raw

    flat = (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_WIDGET)
    count = raw.FPDFPage_GetAnnotCount(page.raw)
    found, sides = Annotations(), raw.FS_RECTF()
    for number in range(min(count, _MOST_ANNOTATIONS)):
        note = raw.FPDFPage_GetAnnot(page.raw, number)
        if not note:
            continue
        kind = raw.FPDFAnnot_GetSubtype(note)
        found.drawn |= kind not in flat
        if kind == raw.FPDF_ANNOT_WIDGET:
            found.values += _read_value(note, left_out)
        elif kind not in (raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_LINK):
            left_out.add("comment", _read_string(note, b"Contents"))
        if kind == raw.FPDF_ANNOT_TEXT:  # readers move its icon away from the text
            raw.FPDFAnnot_SetFlags(note, raw.FPDF_ANNOT_FLAG_HIDDEN)
        elif kind == raw.FPDF_ANNOT_REDACT and raw.FPDFAnnot_GetRect(note, sides):
            found.redacted.append(Box(sides.left, sides.bottom, sides.right, sides.top))
        raw.FPDFPage_CloseAnnot(note)
    left_out.count("comment", max(count - _MOST_ANNOTATIONS, 0), 0)
    return found


def _read_value(field: Any, left_out: Omissions) -> Iterator[str]:
    from pypdfium2 import raw

    flags = ctypes.c_float()
    raw.FPDFAnnot_GetNumberValue(field, b"Ff", flags)
    written = raw.FPDFAnnot_GetValueType(field, b"V") == raw.FPDF_OBJECT_STRING
    value = _read_string(field, b"V").strip() if written else ""
    if not value or int(flags.value) & _PASSWORD_FIELD:
        left_out.add("form_field", value)
        return
    name = (_read_string(field, b"TU") or _read_string(field, b"T")).strip().rstrip(":")
    yield f"{name}: {value}" if name else value


def _read_string(note: Any, key: bytes) -> str:
    from pypdfium2 import raw

    length = raw.FPDFAnnot_GetStringValue(note, key, None, 0)
    if not 2 < length <= _LONGEST_VALUE:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFAnnot_GetStringValue(note, key, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", "replace")
