"""The elements of HTML and what each means for the text of a page.

What belongs here: sets of element names, and the role of an element. What does not: what a role leads to
(`blocks`, `reader`), and rows and cells (`tables`).
"""

from functools import lru_cache
from typing import Literal

from qa_pipeline.documents.html.tables import TABLE_PARTS

Role = Literal["text", "block", "inline", "passive", "unseen"]
"""`block` ends the text before it, `inline` changes the text around it, `passive` does neither."""

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = frozenset({"ul", "ol", "dl", "menu", "dir"})
CODE = frozenset({"code", "tt", "samp", "kbd"})
BREAKING = frozenset(
    {
        "address",
        "article",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
        "legend",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "ul",
    }
)
BOXES = frozenset({"div", "section", "blockquote"})
ASIDES = frozenset(
    {
        "admonition",
        "alert",
        "callout",
        "caution",
        "danger",
        "example",
        "hint",
        "important",
        "info",
        "note",
        "notice",
        "tip",
        "warning",
    }
)
"""Classes of boxes whose heading labels the box and opens no section of the page."""
_INLINE = CODE | {"br", "sup", "q"}


@lru_cache(maxsize=1024)
def role(tag: str) -> Role:
    """What an element is for the text; elements of a page's own making have a hyphen and are blocks."""
    if tag == "-text":
        return "text"
    if tag.startswith(("-", "_", "!")):  # comments and the like
        return "unseen"
    if tag in BREAKING or tag in HEADINGS or tag in TABLE_PARTS or "-" in tag:
        return "block"
    return "inline" if tag in _INLINE else "passive"
