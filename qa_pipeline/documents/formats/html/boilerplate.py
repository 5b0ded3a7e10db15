"""Which elements inside a page's content only lead elsewhere."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_BOXES = frozenset({"div", "section", "ul", "ol", "p"})
_PROSE = frozenset({"p", "pre", "table", "dl", "blockquote"})
_KEPT_PROSE = _PROSE - _BOXES
_LISTS = frozenset({"ul", "ol"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_SEPARATORS = dict.fromkeys(map(ord, "|·•,;/>»«<→←()[]-"), " ")
_LABEL_WORDS = 4
_LINKED_SHARE = 0.8
_LANGUAGE_CODE = 3
_LONGEST_LABEL = 100
_LEVELS = 4
"""How deep below a link or heading, itself included, text still counts as the link's or heading's."""


@dataclass(slots=True)
class _Tally:
    """What lies inside an open element.

    `link` and `heading` are above 0 within so many levels of a link or heading. A `settled` element is
    surely no navigation, and neither is any around it, so that what else it says need not be counted;
    `apart` says that all elements around it are settled whatever it says, `carried` that what it says
    reaches a table or another element that makes it prose.
    """

    node: "LexborNode"
    tag: str
    link: int = 0
    heading: int = 0
    apart: bool = False
    linked: int = 0
    plain: int = 0
    label: str = ""
    links: int = 0
    inward: int = 0
    prose: bool = False
    carried: bool = False
    settled: bool = False

    def take(self, inner: "_Tally") -> None:
        if self.settled:
            return
        self.linked += inner.linked
        self.plain += inner.plain
        self.links += inner.links
        self.inward += inner.inward
        self.prose |= inner.prose or (inner.tag in _PROSE and inner.linked + inner.plain > 0)
        if inner.label and len(self.label) < _LONGEST_LABEL:
            self.label += inner.label
        self.settled = self.plain > 0 and _has_content(self)


def navigation(root: "LexborNode") -> frozenset[int]:
    """Ids (`mem_id`) of elements below `root` that hold navigation and nothing else.

    Elements without links are looked into only where their text tells something of an element around them.
    """
    linking = _around_links(root)
    found: set[int] = set()
    stack = [_top(root)]
    node = root.first_child if linking else None
    while node is not None:
        here = stack[-1]
        tag = node.tag or ""
        if tag == "-text":
            if not here.settled:
                _count_text(here, node.text_content or "")
        elif not here.settled or node.mem_id in linking:
            inner = node.first_child
            if inner is not None:
                stack.append(_opened(node, tag, here))
                node = inner
                continue
        following = node.next
        while following is None:
            if len(stack) == 1:
                return frozenset(found)
            node = stack[-1].node
            _close(stack, found)
            following = node.next
        node = following
    return frozenset(found)


def _around_links(root: "LexborNode") -> set[int]:
    """Ids of all elements with a link inside."""
    around: set[int] = set()
    for link in root.css("a"):
        node = link.parent
        while node is not None and node.mem_id not in around:
            around.add(node.mem_id)
            node = node.parent
    return around


def _top(root: "LexborNode") -> _Tally:
    """The element all else is in; it is read in any case."""
    tag = root.tag or ""
    return _Tally(root, tag, heading=_LEVELS if tag in _HEADINGS else 0, settled=True)


def _opened(node: "LexborNode", tag: str, around: _Tally) -> _Tally:
    apart = around.settled
    boxed = tag in _BOXES
    tally = _Tally(node, tag, around.link - 1, around.heading - 1, apart, settled=apart and not boxed)
    tally.carried = tag in _KEPT_PROSE or (around.carried and not boxed)
    if tag == "a":
        target = node.attributes.get("href")
        if target:
            tally.link = _LEVELS
            tally.links = 1
            tally.inward = 1 if target.startswith("#") else 0
    elif tag in _HEADINGS:
        tally.heading = _LEVELS
    return tally


def _count_text(here: _Tally, text: str) -> None:
    if here.link <= 0 and here.heading > 0:
        return
    bare = " ".join(text.translate(_SEPARATORS).split())
    if here.link > 0:
        here.linked += len(bare)
    elif bare:
        here.plain += len(bare)
        if len(here.label) < _LONGEST_LABEL:
            here.label += f"{bare} "
        here.settled = _has_content(here)


def _close(stack: list[_Tally], found: set[int]) -> None:
    tally = stack.pop()
    if tally.links and tally.tag in _BOXES and not tally.settled:
        before, closes = _surroundings(tally.node) if tally.tag in _LISTS else (None, False)
        listed = before is not None and closes and not tally.plain
        if listed or _only_leads_on(tally):
            found.add(tally.node.mem_id)
            if before is not None and closes:
                found.add(before.mem_id)
            return
    stack[-1].take(tally)


def _has_content(box: _Tally) -> bool:
    """Whether an element that says something besides its links is sure to be kept, and all around it."""
    if box.prose or box.carried:
        return True
    if box.tag == "p":
        return box.label.count(" ") > _LABEL_WORDS
    return box.apart and box.tag in _LISTS


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
    if box.prose or box.tag in _LISTS:
        return False
    if box.tag in ("div", "section") and box.linked >= _LINKED_SHARE * (box.linked + box.plain):
        return True
    label = box.label.strip()
    short = not label or (label.endswith(":") and len(label.split()) <= _LABEL_WORDS)
    return short and (box.links > 1 or (bool(label) and box.linked <= _LANGUAGE_CODE))


_KINDS = {
    **dict.fromkeys(("script", "style", "noscript"), "script"),
    **dict.fromkeys(("button", "select", "textarea"), "form"),
    **dict.fromkeys(("svg", "canvas", "map"), "image"),
    **dict.fromkeys(("iframe", "object", "audio", "video"), "media"),
    **dict.fromkeys(("dialog", "annotation"), "hidden"),
}
_NEVER_CONTENT = ", ".join((*_KINDS, "nav", "[hidden]"))
_FURNITURE = ", ".join(
    (
        _NEVER_CONTENT,
        "aside, footer, menu",
        "[role=navigation], [role=banner], [role=contentinfo], [role=complementary], [role=search]",
        "[aria-hidden=true]",
        "div#footer, div#page-header, .breadcrumb, .breadcrumbs, .pagination, div.sidebar, .skip-link",
        ".headerlink, .permalink, .mw-editsection, .noprint, .outofdate",
    )
)
_TAG = re.compile(r"<[^<>]*>")
_COMMENT = re.compile("<!--|<[!?]")
_DECLARATIONS = ("doctype", "xml")


def remove_furniture(tree: "LexborHTMLParser", left: Omissions, *, page: bool = True) -> None:
    """Take out what is never content; a page header stays where it holds the page's heading.

    Args:
        tree: the page.
        left: counts what is taken out.
        page: whether it is a page of a site, whose menus and asides are known by their names; false for a
            piece of another document, where they are content.
    """
    for node in tree.css("template"):
        # It keeps its text in a tree apart, where elements around it do not see it.
        left.add("script", _TAG.sub("", node.html or ""))
        node.decompose()
    for node in tree.css(_FURNITURE if page else _NEVER_CONTENT):
        # Outer elements come first; what was inside them is gone with them. A page as a whole may be hidden
        # until its script has run.
        if node.parent is not None and node.tag not in ("html", "body"):
            left.add(_kind(node), node.text())
            node.decompose()
    for node in tree.css("header, div#header") if page else ():
        if node.parent is not None and node.css_first("h1, h2") is None:
            left.add("navigation", node.text())
            node.decompose()
    for node in tree.css("img"):
        left.add("image", node.attributes.get("alt") or "")


def count_comments(tree: "LexborHTMLParser", markup: str, left: Omissions) -> None:
    """Count comments, and declarations and instructions that a page treats as such.

    Whatever of them is never closed swallows the rest of the page; a comment does not in a script, which is
    counted itself. An instruction does so without leaving a node.
    """
    start = 0
    while found := _COMMENT.search(markup, start):
        close = "-->" if found[0] == "<!--" else ">"
        end = markup.find(close, found.end())
        inside = markup[found.end() : end if end >= 0 else None]
        if end < 0:
            if close == ">" or _is_comment_at_end(tree, inside):
                left.add("unclosed_comment", inside)
            return
        if not inside.lower().startswith(_DECLARATIONS):
            left.add("comment", inside)
        start = end + len(close)


def _is_comment_at_end(tree: "LexborHTMLParser", text: str) -> bool:
    """Whether the parser took the last part of a page for a comment; it may stand around the page, too."""
    last = tree.root
    around = [last.prev, last.next] if last is not None else []
    while last is not None and last.last_child is not None:
        last = last.last_child
    wanted = "".join(text.split())
    return any(
        node is not None and node.tag == "-comment" and wanted in "".join((node.html or "").split())
        for node in (last, *around)
    )


def _kind(node: "LexborNode") -> str:
    known = _KINDS.get(node.tag or "")
    if known is not None:
        return known
    attributes = node.attributes
    hidden = "hidden" in attributes or (attributes.get("aria-hidden") or "").lower() == "true"
    return "hidden" if hidden else "navigation"
