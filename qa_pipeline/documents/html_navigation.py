"""Which elements inside a page's content only lead elsewhere.

What belongs here: the rules by which a list of contents, a language menu or a "see also" box is told from
prose with links. What does not: whole regions such as <nav> (`html`).
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_BOXES = frozenset({"div", "section", "ul", "ol", "p"})
_PROSE = frozenset({"p", "pre", "table", "dl", "blockquote"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_SEPARATORS = re.compile(r"[\s|·•,;/>»«<→←()\[\]\u00a0-]+")
_LABEL_WORDS = 4
_LINKED_SHARE = 0.8
_LANGUAGE_CODE = 3
_LONGEST_LABEL = 100


@dataclass(slots=True)
class _Tally:
    """What lies inside an open element."""

    node: "LexborNode"
    tag: str
    linked: int = 0
    plain: int = 0
    label: str = ""
    links: int = 0
    inward: int = 0
    prose: bool = False

    def take(self, inner: "_Tally") -> None:
        self.linked += inner.linked
        self.plain += inner.plain
        self.links += inner.links
        self.inward += inner.inward
        self.prose |= inner.prose or (inner.tag in _PROSE and inner.linked + inner.plain > 0)
        if inner.label and len(self.label) < _LONGEST_LABEL:
            self.label += inner.label


def navigation(root: "LexborNode") -> frozenset[int]:
    """Ids (`mem_id`) of elements below `root` that hold navigation and nothing else."""
    found: set[int] = set()
    stack = [_Tally(root, root.tag or "")]
    node = root.first_child
    while node is not None and stack:
        tag = node.tag or ""
        if tag == "-text":
            _count_text(stack, node.text_content or "")
        elif node.first_child is not None:
            stack.append(_opened(node, tag))
            node = node.first_child
            continue
        while node is not None and node.next is None:
            if len(stack) == 1:
                return frozenset(found)
            node = stack[-1].node
            _close(stack, found)
        node = node.next if node is not None else None
    return frozenset(found)


def _opened(node: "LexborNode", tag: str) -> _Tally:
    tally = _Tally(node, tag)
    if tag == "a":
        target = node.attributes.get("href")
        tally.links = 1 if target else 0
        tally.inward = 1 if target and target.startswith("#") else 0
    return tally


def _count_text(stack: list[_Tally], text: str) -> None:
    if text.isspace():
        return
    bare = _SEPARATORS.sub(" ", text).strip()
    here = stack[-1]
    if not bare:
        return
    around = stack[-4:]
    if any(tally.links and tally.tag == "a" for tally in around):
        here.linked += len(bare)
    elif all(tally.tag not in _HEADINGS for tally in around):
        here.plain += len(bare)
        if len(here.label) < _LONGEST_LABEL:
            here.label += f"{bare} "


def _close(stack: list[_Tally], found: set[int]) -> None:
    tally = stack.pop()
    before, closes = _surroundings(tally.node) if tally.tag in ("ul", "ol") else (None, False)
    listed = before is not None and closes and tally.links > 0 and not tally.plain
    if tally.tag in _BOXES and (listed or _only_leads_on(tally)):
        found.add(tally.node.mem_id)
        if before is not None and closes:
            found.add(before.mem_id)
        return
    stack[-1].take(tally)


def _surroundings(node: "LexborNode") -> tuple["LexborNode | None", bool]:
    """The heading right above a list, if any, and whether the list is all there is under it."""
    before, after = node.prev, node.next
    while before is not None and (before.tag or "").startswith(("-", "_")) and not _says_something(before):
        before = before.prev
    while after is not None and (after.tag or "").startswith(("-", "_")) and not _says_something(after):
        after = after.next
    level = before.tag if before is not None else None
    if level not in _HEADINGS or level == "h1":
        return None, False
    # A heading of a lower level opens a part of this section, which then is more than the list.
    return before, after is None or (after.tag in _HEADINGS and str(after.tag) <= str(level))


def _says_something(node: "LexborNode") -> bool:
    return node.tag == "-text" and bool((node.text_content or "").strip())


def _only_leads_on(box: _Tally) -> bool:
    """Whether a box is navigation.

    A box is, when all its links stay on the page and nothing else is said; when it is a `div` or `section`
    of links under headings, without prose; or a paragraph of several links behind a label such as
    `Available Languages:`. A list of links to other pages is content where a sentence may have announced
    it, and navigation where it is all that stands under a heading (`_surroundings`).
    """
    if not box.links:
        return False
    if box.inward == box.links and not box.plain:
        return True
    if box.prose or box.tag in ("ul", "ol"):
        return False
    if box.tag in ("div", "section") and box.linked >= _LINKED_SHARE * (box.linked + box.plain):
        return True
    label = box.label.strip()
    short = not label or (label.endswith(":") and len(label.split()) <= _LABEL_WORDS)
    return short and (box.links > 1 or (bool(label) and box.linked <= _LANGUAGE_CODE))
