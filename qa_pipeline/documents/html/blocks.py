"""Elements of HTML to blocks in reading order.

What belongs here: the walk over a tree. What does not: which part of a page is walked (`parser`), and what
each element means for the text (`elements`, `reader`).
"""

from typing import TYPE_CHECKING

from qa_pipeline.documents.html.elements import ASIDES, BOXES, role
from qa_pipeline.documents.html.reader import Reader
from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    _Open = tuple[LexborNode, str, bool]
    """An open element, its name, and whether it means something for the text."""


def read_blocks(root: "LexborNode", dropped: frozenset[int], left: Omissions) -> list[Block]:
    """Blocks below `root`, leaving out the elements whose `mem_id` is in `dropped` and counting them.

    The walk keeps its own stack, so the depth of a page is no limit. Each look at a node goes through the
    parser's library, so what is known of an open element stays on the stack.
    """
    reader = Reader(left)
    open_elements: list[_Open] = [(root, "", False)]
    node = root.first_child
    while node is not None:
        tag = node.tag or ""
        part = role(tag)
        if part == "text":
            reader.text(node.text_content or "")
        elif dropped and node.mem_id in dropped:
            left.add("navigation", node.text())
        elif part != "unseen":
            matters = part != "passive"
            if matters:
                reader.open(tag, node)
                if tag in BOXES and _is_aside(node):
                    reader.open_box(node.mem_id)
            inner = node.first_child
            if inner is not None:
                open_elements.append((node, tag, matters))
                node = inner
                continue
            if matters:
                _leave(reader, tag, node)
        following = node.next
        node = _after_closing(reader, open_elements) if following is None else following
    return reader.finish()


def _after_closing(reader: Reader, open_elements: "list[_Open]") -> "LexborNode | None":
    """Close elements up to one that another node follows, and return that node; None at the end."""
    while True:
        node, tag, matters = open_elements.pop()
        if not open_elements:
            return None
        if matters:
            _leave(reader, tag, node)
        following = node.next
        if following is not None:
            return following


def _leave(reader: Reader, tag: str, node: "LexborNode") -> None:
    reader.close(tag)
    if tag in BOXES and reader.boxes:
        reader.close_box(node.mem_id)


def _is_aside(node: "LexborNode") -> bool:
    classes = node.attributes.get("class")
    return classes is not None and not ASIDES.isdisjoint(classes.lower().split())
