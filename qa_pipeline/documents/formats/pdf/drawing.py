"""What is drawn on a PDF page beside its text: ruled lines, pictures and figures."""

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import Box, address_of, calls, sheet, turned

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_THIN = 3.0
_SHORTEST_RULE = 10.0
_MOST_SEGMENTS = 400
_MOST_RULES = 5_000
_DEEPEST_FORM = 3
_WHOLE_PAGE = 0.6

Matrix = tuple[float, float, float, float, float, float]
_AS_IT_IS: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(slots=True)
class Drawing:
    """What a page shows beside text; boxes in points from its lower left corner.

    `across` and `upright` are ruled lines, as thin boxes. `figures` are drawings the file holds as one
    object. `pictures` are raster images.
    """

    across: list[Box] = field(default_factory=list)
    upright: list[Box] = field(default_factory=list)
    figures: list[Box] = field(default_factory=list)
    pictures: list[Box] = field(default_factory=list)

    def turned(self, turn: int, paper: Box) -> "Drawing":
        """The drawing once the page was turned clockwise and its lower left corner moved to the origin."""
        if not turn and paper.left == paper.bottom == 0:
            return self
        kinds = (self.across, self.upright, self.figures, self.pictures)
        across, upright, figures, pictures = ([turned(box, turn, paper) for box in boxes] for boxes in kinds)
        return Drawing(*((upright, across) if turn % 2 else (across, upright)), figures, pictures)


def read_drawing(page: "PdfPage", most: int) -> Drawing:
    """Lines, figures and pictures of a page, in the coordinates of its content.

    Args:
        page: the page.
        most: how many objects may stand on it.

    Raises:
        DocumentFailure: `too_many_objects`.
    """
    walk = _Walk(most, sheet(page))
    walk.page(page)
    return walk.drawing


class _Walk:
    """One pass over the objects of a page and of the forms that make up most of it."""

    def __init__(self, most: int, paper: Box) -> None:
        from pypdfium2 import raw

        self.raw = raw
        self.left = most
        self.paper = paper
        self.drawing = Drawing()
        self._sides = [ctypes.c_float() for _ in range(4)]
        self._refs = [ctypes.byref(side) for side in self._sides]
        self._handlers = {
            raw.FPDF_PAGEOBJ_PATH: self._path,
            raw.FPDF_PAGEOBJ_IMAGE: self._picture,
            raw.FPDF_PAGEOBJ_FORM: self._form,
        }

    def page(self, page: "PdfPage") -> None:
        """Look at every object of the page."""
        count = self.raw.FPDFPage_CountObjects(page.raw)
        self._objects(calls().page_object, address_of(page.raw), count, _AS_IT_IS, 0)

    def _objects(
        self, take: Callable[[int, int], int], holder: int, count: int, matrix: Matrix, depth: int
    ) -> None:
        """Look at what a page or a form holds; most of it is text, which is passed over."""
        self._spend(count)
        kind, text = calls().object_type, self.raw.FPDF_PAGEOBJ_TEXT
        items = [take(holder, number) for number in range(count)]
        for item in [item for item in items if kind(item) != text]:
            handler = self._handlers.get(kind(item))
            if handler is not None:
                handler(ctypes.cast(item, self.raw.FPDF_PAGEOBJECT), matrix, depth)

    def _spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise DocumentFailure("too_many_objects", "a page holds more than documents.max_page_objects")

    def _bounds(self, item: Any, matrix: Matrix) -> Box | None:
        if not self.raw.FPDFPageObj_GetBounds(item, *self._refs):
            return None
        left, bottom, right, top = (side.value for side in self._sides)
        return _mapped(left, bottom, right, top, matrix)

    def _picture(self, item: Any, matrix: Matrix, depth: int) -> None:
        box = self._bounds(item, matrix)
        if box is not None:
            self.drawing.pictures.append(box)

    def _form(self, item: Any, matrix: Matrix, depth: int) -> None:
        """A form is a figure, unless it makes up the page: some writers put all they have into one."""
        box = self._bounds(item, matrix)
        if box is None:
            return
        if share_of(box, self.paper) < _WHOLE_PAGE:
            self.drawing.figures.append(box)
        elif depth < _DEEPEST_FORM:
            inner = _times(self._matrix(item), matrix)
            count = max(self.raw.FPDFFormObj_CountObjects(item), 0)
            self._objects(calls().form_object, address_of(item), count, inner, depth + 1)

    def _path(self, item: Any, matrix: Matrix, depth: int) -> None:
        box = self._bounds(item, matrix)
        if box is None or len(self.drawing.across) + len(self.drawing.upright) > _MOST_RULES:
            return
        wide, high = box.right - box.left, box.top - box.bottom
        if wide <= _THIN or high <= _THIN:
            self._rule(box)
        elif wide > _SHORTEST_RULE and high > _SHORTEST_RULE / 2 and self._is_stroked(item):
            for segment in self._segments(item, _times(self._matrix(item), matrix)):
                self._rule(segment)

    def _rule(self, box: Box) -> None:
        wide, high = box.right - box.left, box.top - box.bottom
        if wide >= _SHORTEST_RULE and high <= _THIN:
            self.drawing.across.append(box)
        elif high >= _SHORTEST_RULE / 2 and wide <= _THIN:
            self.drawing.upright.append(box)

    def _is_stroked(self, item: Any) -> bool:
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        return bool(self.raw.FPDFPath_GetDrawMode(item, fill, stroke)) and bool(stroke.value)

    def _segments(self, item: Any, matrix: Matrix) -> Iterator[Box]:
        """The straight lines of a path; a curve in it says that it is no frame."""
        raw = self.raw
        count = raw.FPDFPath_CountSegments(item)
        if not 1 < count <= _MOST_SEGMENTS:
            return
        x, y = ctypes.c_float(), ctypes.c_float()
        start = last = (0.0, 0.0)
        for number in range(count):
            segment = raw.FPDFPath_GetPathSegment(item, number)
            kind = raw.FPDFPathSegment_GetType(segment)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            here = (x.value, y.value)
            if kind == raw.FPDF_SEGMENT_BEZIERTO:
                return
            if kind == raw.FPDF_SEGMENT_MOVETO:
                start = here
            else:
                yield _mapped(*last, *here, matrix)
            if raw.FPDFPathSegment_GetClose(segment) and here != start:
                yield _mapped(*here, *start, matrix)
            last = here

    def _matrix(self, item: Any) -> Matrix:
        matrix = self.raw.FS_MATRIX()
        if not self.raw.FPDFPageObj_GetMatrix(item, matrix):
            return _AS_IT_IS
        return (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _times(inner: Matrix, outer: Matrix) -> Matrix:
    a, b, c, d, e, f = inner
    k, m, n, o, p, q = outer
    return (
        a * k + b * n, a * m + b * o, c * k + d * n, c * m + d * o, e * k + f * n + p, e * m + f * o + q,
    )  # fmt: skip


def _mapped(left: float, bottom: float, right: float, top: float, matrix: Matrix) -> Box:
    """The box around two corners after a change of coordinates."""
    if matrix is not _AS_IT_IS:
        a, b, c, d, e, f = matrix
        left, bottom = a * left + c * bottom + e, b * left + d * bottom + f
        right, top = a * right + c * top + e, b * right + d * top + f
    return Box(min(left, right), min(bottom, top), max(left, right), max(bottom, top))


def share_of(box: Box, paper: Box) -> float:
    """Part of the paper that a box covers."""
    wide = min(box.right, paper.right) - max(box.left, paper.left)
    high = min(box.top, paper.top) - max(box.bottom, paper.bottom)
    area = (paper.right - paper.left) * (paper.top - paper.bottom)
    return max(wide, 0.0) * max(high, 0.0) / area if area > 0 else 0.0
