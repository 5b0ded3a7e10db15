"""Diagrams of Office files (SmartArt) as lists: what stands in their shapes, in their order and depth.

What belongs here: the data of a diagram. What does not: the drawing that programs keep beside it, which
repeats the text.
"""

from typing import TYPE_CHECKING

from qa_pipeline.documents.office.drawing import all_text
from qa_pipeline.documents.office.package import DIAGRAM
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from lxml.etree import _Element

_SHOWN = frozenset({"node", "asst"})


def read_diagram(root: "_Element") -> list[Block]:
    """The texts of a diagram as list items; one that hangs on no other comes last."""
    points = {point.get("modelId", ""): point for point in root.iter(f"{DIAGRAM}pt")}
    below = _children(root)
    top = [key for key, point in points.items() if point.get("type") == "doc"]
    order: dict[str, int] = {}
    pending = [(key, 0) for key in reversed(top)]
    while pending:
        key, depth = pending.pop()
        if key in points and key not in order:
            order[key] = depth
            pending += [(child, depth + 1) for child in reversed(below.get(key, []))]
    order |= {key: 1 for key in points if key not in order}
    return [
        Block("list_item", text, max(depth - 1, 0))
        for key, depth in order.items()
        if points[key].get("type", "node") in _SHOWN and (text := all_text(points[key]))
    ]


def _children(root: "_Element") -> dict[str, list[str]]:
    """The points that hang on each point, in their order."""
    ordered: list[tuple[int, str, str]] = []
    for link in root.iter(f"{DIAGRAM}cxn"):
        if link.get("type", "parOf") == "parOf":
            place = link.get("srcOrd", "0")
            number = int(place[:9]) if place.isascii() and place.isdecimal() else 0
            ordered.append((number, link.get("srcId", ""), link.get("destId", "")))
    children: dict[str, list[str]] = {}
    for _, source, target in sorted(ordered):
        children.setdefault(source, []).append(target)
    return children
