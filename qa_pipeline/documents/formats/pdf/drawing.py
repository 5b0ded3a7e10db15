"""What is drawn on a PDF page beside its text: ruled lines and pictures."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import Box, paper_of, turn_box

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_THIN = 3.0  # points: a thicker shape is a bar or a box, and no line
_SHORTEST_RULE = 10.0  # points: shorter strokes are parts of letters, arrows and dashes
_MOST_SEGMENTS = 400  # a path of more is a curve drawn in small steps, and no frame of a table
_MOST_RULES = 5_000  # a page of more is a map or plan, of which no table would be made
_DEEPEST_FORM = 3  # forms in forms: writers wrap a page once or twice, a hostile file without end
_WHOLE_PAGE = 0.6  # of the paper: a form as large holds the page, a smaller one is a figure on it

Matrix = tuple[float, float, float, float, float, float]
_AS_IT_IS: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(slots=True)
class Drawing:
    """The graphics of a page beside its text; boxes in points from its lower left corner.

    `across` and `upright` are ruled lines, as thin boxes, `pictures` raster images.
    """

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


def read_drawing(page: "PdfPage", most: int) -> Drawing:
    """Return the lines and pictures of a page, in the coordinates of its content.

    Raises:
        DocumentFailure: `too_many_objects`.
    """
    reader = _Reader(most, paper_of(page))
    count = reader.raw.FPDFPage_CountObjects(page.raw)
    reader.read(reader.raw.FPDFPage_GetObject, page.raw, count, _AS_IT_IS, 0)
    return reader.drawing


class _Reader:
    """A pass over the objects of a page and of the forms that make up most of it."""

    def __init__(self, most: int, paper: Box) -> None:
        from pypdfium2 import raw

        self.raw = raw
        self.objects_left = most
        self.paper = paper
        self.drawing = Drawing()

    def read(self, take: Callable[..., Any], holder: Any, count: int, matrix: Matrix, depth: int) -> None:
        """Collect the contents of a page or a form; most of it is text, which is passed over."""
        raw, drawing = self.raw, self.drawing
        self.objects_left -= count
        if self.objects_left < 0:
            raise DocumentFailure("too_many_objects", "a page holds more drawn objects than are read")
        sides = [ctypes.c_float() for _ in range(4)]
        for item in (take(holder, number) for number in range(count)):
            kind = raw.FPDFPageObj_GetType(item)
            if kind == raw.FPDF_PAGEOBJ_TEXT or not raw.FPDFPageObj_GetBounds(item, *sides):
                continue
            first, bottom, second, top = (side.value for side in sides)
            box = _map_box(first, bottom, second, top, matrix)
            if kind == raw.FPDF_PAGEOBJ_IMAGE:
                drawing.pictures.append(box)
            elif kind == raw.FPDF_PAGEOBJ_PATH:
                self._path(item, box, matrix)
            elif (
                kind == raw.FPDF_PAGEOBJ_FORM
                and depth < _DEEPEST_FORM
                and share_of(box, self.paper) >= _WHOLE_PAGE  # some writers put all into one
            ):
                inside = max(raw.FPDFFormObj_CountObjects(item), 0)
                self.read(raw.FPDFFormObj_GetObject, item, inside, self._matrix(item, matrix), depth + 1)

    def _path(self, item: Any, box: Box, matrix: Matrix) -> None:
        if len(self.drawing.across) + len(self.drawing.upright) > _MOST_RULES:
            return
        wide, high = box.right - box.left, box.top - box.bottom
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        if wide <= _THIN or high <= _THIN:
            self._rule(box)
        elif not (wide > _SHORTEST_RULE and high > _SHORTEST_RULE / 2):
            return
        elif self.raw.FPDFPath_GetDrawMode(item, fill, stroke) and stroke.value:
            self._frame(item, self._matrix(item, matrix))

    def _rule(self, box: Box) -> None:
        wide, high = box.right - box.left, box.top - box.bottom
        if wide >= _SHORTEST_RULE and high <= _THIN:
            self.drawing.across.append(box)
        elif high >= _SHORTEST_RULE / 2 and wide <= _THIN:
            self.drawing.upright.append(box)

    def _frame(self, item: Any, matrix: Matrix) -> None:
        raw = self.raw
        count = raw.FPDFPath_CountSegments(item)
        x, y = ctypes.c_float(), ctypes.c_float()
        start = last = (0.0, 0.0)
        for number in range(count if count <= _MOST_SEGMENTS else 0):
            segment = raw.FPDFPath_GetPathSegment(item, number)
            kind = raw.FPDFPathSegment_GetType(segment)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            here = (x.value, y.value)
            if kind == raw.FPDF_SEGMENT_BEZIERTO:
                return
            if kind == raw.FPDF_SEGMENT_MOVETO:
                start = here
            else:
                self._rule(_map_box(*last, *here, matrix))
            if raw.FPDFPathSegment_GetClose(segment):
                self._rule(_map_box(*here, *start, matrix))
            last = here

    def _matrix(self, item: Any, outer: Matrix) -> Matrix:
        inner = self.raw.FS_MATRIX()
        if not self.raw.FPDFPageObj_GetMatrix(item, inner):
            return outer
        k, m, n, o, p, q = outer
        return (
            inner.a * k + inner.b * n, inner.a * m + inner.b * o,
            inner.c * k + inner.d * n, inner.c * m + inner.d * o,
            inner.e * k + inner.f * n + p, inner.e * m + inner.f * o + q,
        )  # fmt: skip


def _map_box(first: float, bottom: float, second: float, top: float, matrix: Matrix) -> Box:
    a, b, c, d, e, f = matrix
    first, bottom = a * first + c * bottom + e, b * first + d * bottom + f
    second, top = a * second + c * top + e, b * second + d * top + f
    return Box(min(first, second), min(bottom, top), max(first, second), max(bottom, top))


def share_of(box: Box, paper: Box) -> float:
    """Return the part of the paper that a box covers."""
    wide = min(box.right, paper.right) - max(box.left, paper.left)
    high = min(box.top, paper.top) - max(box.bottom, paper.bottom)
    area = (paper.right - paper.left) * (paper.top - paper.bottom)
    return max(wide, 0.0) * max(high, 0.0) / area if area > 0 else 0.0
