"""Shapes of a slide to blocks.

What belongs here: what a shape is, its paragraphs, and what of it is left out. What does not: the order of
shapes (`order`), what they take over from a layout (`layouts`), and which slides are read (`parser`).
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from qa_pipeline.documents.office.drawing import (
    PARAGRAPH,
    TEXT,
    all_text,
    chosen_branch,
    paragraph_text,
)
from qa_pipeline.documents.office.drawn import DrawnParts
from qa_pipeline.documents.office.package import (
    ALTERNATIVES,
    CHART,
    DIAGRAM,
    DRAWING,
    LINK,
    SLIDES,
)
from qa_pipeline.documents.omissions import Omissions, visible
from qa_pipeline.documents.pptx.layouts import Layout, Placeholder, box_of, own_bullet, placeholder_of
from qa_pipeline.documents.pptx.order import Box, reading_order
from qa_pipeline.documents.pptx.tables import read_table
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from lxml.etree import _Element

TREE = f"{SLIDES}cSld/{SLIDES}spTree"
TITLES = frozenset({"title", "ctrTitle", "vertTitle"})
FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr"})
_SHAPE, _GROUP = f"{SLIDES}sp", f"{SLIDES}grpSp"
_FRAME, _PICTURE = f"{SLIDES}graphicFrame", f"{SLIDES}pic"
_SHAPES = frozenset({_SHAPE, _GROUP, _FRAME, _PICTURE, f"{SLIDES}cxnSp"})
_DEEPEST = 8


class SlideReader:
    """Reads the shapes of one slide; `seen` counts the characters of all shapes that were looked at."""

    def __init__(self, part: str, layout: Layout, drawn: DrawnParts, omissions: Omissions) -> None:
        self.part = part
        self.layout = layout
        self.drawn = drawn
        self.omissions = omissions
        self.seen = 0

    def read(self, tree: "_Element", title_level: int) -> list[Block]:
        """Blocks of a slide, its title first.

        Args:
            tree: the element that holds the shapes.
            title_level: level of the heading that the title becomes.
        """
        shapes = _listed(tree)
        title = next((shape for shape in shapes if self._is_title(shape)), None)
        blocks: list[Block] = []
        if title is not None:
            self._see(title)
            blocks.append(Block("heading", all_text(title), title_level))
        blocks += self._ordered([shape for shape in shapes if shape is not title])
        total = sum(visible(text.text or "") for text in tree.iter(TEXT))
        if total != self.seen:
            self.omissions.add("unread")
            self.omissions.characters["unread"] += total - self.seen
        return blocks

    @staticmethod
    def _is_title(shape: "_Element") -> bool:
        placeholder = placeholder_of(shape) if shape.tag == _SHAPE else None
        return placeholder is not None and placeholder.type in TITLES and bool(all_text(shape))

    def _ordered(self, shapes: "list[_Element]") -> list[Block]:
        order = reading_order([self._box(shape) for shape in shapes])
        return [block for place in order for block in self._blocks(shapes[place])]

    def _box(self, shape: "_Element") -> Box | None:
        own = box_of(shape)
        placeholder = placeholder_of(shape)
        if own is not None or placeholder is None:
            return own
        return next((box for behind in self.layout.behind(placeholder) if (box := box_of(behind))), None)

    def _blocks(self, shape: "_Element") -> list[Block]:
        if _is_hidden(shape):
            self._leave_out("hidden_text", shape)
            return []
        if shape.tag == _GROUP:
            return self._ordered(_listed(shape))
        if shape.tag == _PICTURE:
            self._see(shape)
            self.omissions.add("image", _description(shape))
            return []
        if shape.tag == _FRAME:
            return self._frame(shape)
        placeholder = placeholder_of(shape)
        if placeholder is not None and placeholder.type in FURNITURE:
            self._leave_out("running_foot", shape)
            return []
        self._see(shape)
        return list(self._paragraphs(shape, placeholder))

    def _paragraphs(self, shape: "_Element", placeholder: Placeholder | None) -> Iterable[Block]:
        bullets: dict[int, bool] = {}
        for body in shape.iterchildren(f"{SLIDES}txBody"):
            for paragraph in body.iterchildren(PARAGRAPH):
                text = paragraph_text(paragraph)
                if not text.strip():
                    continue
                properties = paragraph.find(f"{DRAWING}pPr")
                level = 0 if properties is None else _level(properties.get("lvl", "0"))
                said = None if properties is None else own_bullet(properties)
                if said is None and level not in bullets:
                    bullets[level] = self.layout.bulleted(placeholder, shape, level)
                listed = bullets[level] if said is None else said
                yield Block("list_item", text, level) if listed else Block("paragraph", text)

    def _frame(self, frame: "_Element") -> list[Block]:
        """A table, chart, diagram or object."""
        self._see(frame)
        blocks: list[Block] = []
        if next(frame.iter(f"{SLIDES}oleObj"), None) is not None:
            self.omissions.add("embedded_object")
        for element in frame.iter(f"{DRAWING}tbl", f"{CHART}chart", f"{DIAGRAM}relIds"):
            if element.tag == f"{DRAWING}tbl":
                blocks += read_table(element, self.omissions)
            elif element.tag == f"{CHART}chart":
                blocks += self.drawn.read("chart", self.part, element.get(f"{LINK}id", ""))
            else:
                blocks += self.drawn.read("diagram", self.part, element.get(f"{LINK}dm", ""))
        return blocks

    def _leave_out(self, what: str, shape: "_Element") -> None:
        self._see(shape)
        if text := all_text(shape):
            self.omissions.add(what, text)

    def _see(self, shape: "_Element") -> None:
        self.seen += sum(visible(text.text or "") for text in shape.iter(TEXT))


def _listed(tree: "_Element") -> "list[_Element]":
    """The shapes right below an element; of one given in several forms the form with text."""
    shapes = []
    for child in tree:
        if child.tag in _SHAPES:
            shapes.append(child)
        elif child.tag == f"{ALTERNATIVES}AlternateContent":
            shapes += _listed(chosen_branch(child))
    return shapes


def _properties(shape: "_Element") -> "_Element | None":
    """The element with a shape's name and description, which stands first in the first one of each kind."""
    return next(iter(shape[0].iterchildren(f"{SLIDES}cNvPr")), None) if len(shape) else None


def _is_hidden(shape: "_Element") -> bool:
    properties = _properties(shape)
    return properties is not None and properties.get("hidden") in ("1", "true")


def _description(shape: "_Element") -> str:
    properties = _properties(shape)
    return "" if properties is None else properties.get("descr", "")


def _level(written: str) -> int:
    return (
        min(int(written), _DEEPEST) if written.isascii() and written.isdecimal() and len(written) < 3 else 0
    )
