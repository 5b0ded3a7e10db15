"""What is never content of a page: scripts, forms, hidden parts, menus; taken out and counted.

What belongs here: elements and attributes that say so themselves. What does not: links inside the content
that only lead elsewhere (`navigation`), and which part of the rest is content (`parser`).
"""

import re
from typing import TYPE_CHECKING

from qa_pipeline.documents.omissions import Omissions

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_KINDS = {
    **dict.fromkeys(("script", "style", "noscript"), "script"),
    **dict.fromkeys(("button", "select", "textarea"), "form"),
    **dict.fromkeys(("svg", "canvas", "map"), "image"),
    **dict.fromkeys(("iframe", "object", "audio", "video"), "media"),
    **dict.fromkeys(("dialog", "annotation"), "hidden"),
}
_FURNITURE = ", ".join(
    (
        *_KINDS,
        "nav, aside, footer, menu",
        "[role=navigation], [role=banner], [role=contentinfo], [role=complementary], [role=search]",
        "[hidden], [aria-hidden=true]",
        "div#footer, div#page-header, .breadcrumb, .breadcrumbs, .pagination, div.sidebar, .skip-link",
        ".headerlink, .permalink, .mw-editsection, .noprint, .outofdate",
    )
)
_TAG = re.compile(r"<[^<>]*>")
_COMMENT = re.compile("<!--|<[!?]")
_DECLARATIONS = ("doctype", "xml")


def remove_furniture(tree: "LexborHTMLParser", left: Omissions) -> None:
    """Take out what is never content; a page header stays where it holds the page's heading."""
    for node in tree.css("template"):
        # It keeps its text in a tree apart, where elements around it do not see it.
        left.add("script", _TAG.sub("", node.html or ""))
        node.decompose()
    for node in tree.css(_FURNITURE):
        # Outer elements come first; what was inside them is gone with them. A page as a whole may be hidden
        # until its script has run.
        if node.parent is not None and node.tag not in ("html", "body"):
            left.add(_kind(node), node.text())
            node.decompose()
    for node in tree.css("header, div#header"):
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
