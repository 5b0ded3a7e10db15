"""Widgets of a page as the text that they show: icons, check boxes, drop-downs and tabs."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_ICONS = "img, svg, i, [aria-label], [title]"
_LABELLED = "tabitem[label], tab[label], tab[title], card[title], accordion[title], step[title]"
"""Components of Markdown dialects whose label heads their content."""

_ASIDES = (
    ".admonition, .alert, .callout, .caution, .danger, .example, .hint, .important, .info, .note, .notice,"
    ".tip, .warning"
)
_BOX_HEADINGS = f":is(div, section, blockquote, aside):is({_ASIDES}) :is(h1, h2, h3, h4, h5, h6)"
"""Headings that label a box and open no section of the page."""


def write_widgets(tree: "LexborHTMLParser", omissions: Omissions) -> None:
    """Replace drawn widgets by text; an icon without a name is counted as an image."""
    for node in tree.css(":is(input[type=checkbox], input[type=radio]):not(.tabbed-set > *)"):
        following = node.next.text_content if node.next is not None else None
        gap = "" if following and following[0].isspace() else " "
        node.replace_with(f"{'☒' if 'checked' in node.attributes else '☐'}{gap}")
    for node in tree.css("select:has(option[selected])"):
        node.replace_with(", ".join(option.text().strip() for option in node.css("option[selected]")))
    for cell in tree.css("td:has(img, svg, i, [aria-label]), th:has(img, svg, i, [aria-label])"):
        if not cell.text(deep=True).strip() or cell.css_first("svg title") is not None:
            _write_icons(cell, omissions)
    for heading in tree.css(_BOX_HEADINGS):
        heading.attrs["class"] = "admonition-title"
    labelled = [
        (node.attributes.get("label") or node.attributes.get("title") or "", node)
        for node in tree.css(_LABELLED)
    ]
    for label, panel in [*_tabs(tree), *labelled]:
        panel.inner_html = f'<p class="admonition-title">{escape(label)}</p>{panel.inner_html or ""}'
        for name in ("hidden", "style"):
            if name in panel.attributes:
                del panel.attrs[name]


def _write_icons(cell: "LexborNode", omissions: Omissions) -> None:
    """Replace the content of a cell by the names of its icons, such as `yes`."""
    names = []
    for icon in cell.css(_ICONS):
        title = icon.css_first("title")
        attributes = icon.attributes
        name = attributes.get("alt") or attributes.get("aria-label") or attributes.get("title")
        name = name or (title.text() if title is not None else "")
        if name.strip():
            names.append(" ".join(name.split()))
        elif icon.tag == "i":
            omissions.count("image", 1, 0)
    if names:
        cell.inner_html = escape(", ".join(dict.fromkeys(names)))


def _tabs(tree: "LexborHTMLParser") -> Iterator[tuple[str, "LexborNode"]]:
    """Yield each panel of tabs with the label of its tab, which is taken out of the page."""
    for selector, label, panel in (
        ("[role=tablist]", "[role=tab]", "[role=tabpanel]"),
        (".tabbed-labels", "label", ".tabbed-block"),
    ):
        for row in tree.css(selector):
            labels = [node.text().strip() for node in row.css(label)]
            panels = [] if row.parent is None else row.parent.css(panel)
            if labels and len(labels) == len(panels):
                row.decompose()
                yield from zip(labels, panels, strict=True)
