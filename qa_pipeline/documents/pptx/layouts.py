"""Layouts and masters of slides: what a placeholder takes over from them.

What belongs here: where a placeholder lies and whether its paragraphs have bullets, when the slide does not
say. What does not: the slide itself (`shapes`).
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qa_pipeline.documents.office.package import DRAWING, SLIDES, Package
from qa_pipeline.documents.pptx.order import Box

if TYPE_CHECKING:
    from lxml.etree import _Element

_ON_MASTER = {"ctrTitle": "title", "subTitle": "body", "vertTitle": "title"}
_OF_TEXT = frozenset({"body", "obj", "subTitle", "tbl", "chart", "dgm", "media", "pic", "clipArt"})
_BULLETS = {"buNone": False, "buChar": True, "buAutoNum": True, "buBlip": True}
_NO_NUMBER = "0"
_BY_NAME = {f"{DRAWING}{name}": shown for name, shown in _BULLETS.items()}


@dataclass(frozen=True, slots=True)
class Placeholder:
    """The role of a shape: its type, `obj` where none is said, and its number on the slide."""

    type: str
    index: str


@dataclass(slots=True)
class Layout:
    """A layout and the master behind it; empty where a slide has none.

    Placeholders are known by their numbers on the layout, and by their types on either.
    """

    kind: str = ""
    by_index: "dict[str, _Element]" = field(default_factory=dict)
    by_type: "dict[str, _Element]" = field(default_factory=dict)
    on_master: "dict[str, _Element]" = field(default_factory=dict)
    text_styles: "_Element | None" = None

    def behind(self, placeholder: Placeholder) -> "list[_Element]":
        """Shapes that a placeholder takes over from, the nearest first."""
        numbered = placeholder.index != _NO_NUMBER
        near = self.by_index.get(placeholder.index) if numbered else self.by_type.get(placeholder.type)
        far = self.on_master.get(_ON_MASTER.get(placeholder.type, placeholder.type))
        if far is None and placeholder.type in _OF_TEXT:
            far = self.on_master.get("body")
        return [shape for shape in (near, far) if shape is not None]

    def bulleted(self, placeholder: Placeholder | None, shape: "_Element", level: int) -> bool:
        """Whether paragraphs of a shape have bullets at a level, unless they say so themselves."""
        holders = [shape, *(self.behind(placeholder) if placeholder else ())]
        styles = [style for holder in holders for style in holder.iter(f"{DRAWING}lstStyle")]
        if placeholder and placeholder.type in _OF_TEXT and self.text_styles is not None:
            styles += self.text_styles.iterchildren(f"{SLIDES}bodyStyle")
        for style in styles:
            properties = style.find(f"{DRAWING}lvl{level + 1}pPr")
            said = None if properties is None else own_bullet(properties)
            if said is not None:
                return said
        return False


def read_layout(package: Package, slide: str) -> tuple[Layout, list[str]]:
    """The layout behind a slide, and the names of the parts it was read from."""
    layout = next(iter(package.linked(slide, "slideLayout")), None)
    if layout is None:
        return Layout(), []
    root = package.tree(layout)
    master = next(iter(package.linked(layout, "slideMaster")), None)
    behind = None if master is None else package.tree(master)
    shapes = _placeholders(root)
    return Layout(
        kind=root.get("type", ""),
        by_index={role.index: shape for role, shape in shapes},
        by_type={role.type: shape for role, shape in shapes},
        on_master={} if behind is None else {role.type: shape for role, shape in _placeholders(behind)},
        text_styles=None if behind is None else behind.find(f"{SLIDES}txStyles"),
    ), [layout, *([] if master is None else [master])]


def _placeholders(root: "_Element") -> "list[tuple[Placeholder, _Element]]":
    """The placeholders below an element, the first last, so that of several alike it counts."""
    shapes = list(root.iter(f"{SLIDES}sp"))
    return [(role, shape) for shape in reversed(shapes) if (role := placeholder_of(shape)) is not None]


def placeholder_of(shape: "_Element") -> Placeholder | None:
    """The role of a shape, if it is a placeholder."""
    found = next(shape.iter(f"{SLIDES}ph"), None) if shape.tag != f"{SLIDES}grpSp" else None
    return None if found is None else Placeholder(found.get("type", "obj"), found.get("idx", _NO_NUMBER))


def own_bullet(properties: "_Element") -> bool | None:
    """Whether properties of a paragraph give it a bullet; None if they do not say."""
    return next((_BY_NAME[child.tag] for child in properties if child.tag in _BY_NAME), None)


def box_of(shape: "_Element") -> Box | None:
    """Where a shape says that it lies."""
    frame = next(
        (
            found
            for path in (
                f"{SLIDES}spPr/{DRAWING}xfrm",
                f"{SLIDES}xfrm",
                f"{SLIDES}grpSpPr/{DRAWING}xfrm",
            )
            if (found := shape.find(path)) is not None
        ),
        None,
    )
    if frame is None:
        return None
    offset, extent = frame.find(f"{DRAWING}off"), frame.find(f"{DRAWING}ext")
    if offset is None or extent is None:
        return None
    return Box(
        _number(offset.get("x")),
        _number(offset.get("y")),
        _number(extent.get("cx")),
        _number(extent.get("cy")),
    )


def _number(written: str | None) -> int:
    try:
        return int((written or "0")[:12])
    except ValueError:
        return 0
