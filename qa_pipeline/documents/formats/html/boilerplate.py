"""Remove the text of a page that is not its content: hidden text, marks of notes, menus and the like."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.formats.formulas import LEVEL, LOWERED, RAISED, is_mark

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_BOXES = "div, section, ul, ol, p"
_PROSE = "p, pre, table, dl, blockquote"
_HEADINGS_WITHOUT_LINK = ":is(h1, h2, h3, h4, h5, h6):not(:has(a[href]), a[href] *)"
_SEPARATORS = re.compile(r"[|·•,;/>»«<→←()\[\] \t\r\n\f\xa0-]+")
_LABEL_WORDS = 4  # of a label before links, such as "See also:"; a sentence has more
_LINKED_SHARE = 0.8  # of the text of a box: the rest of a menu are marks and counts
_LONGEST_LABEL = 100  # characters
_MOST_PLAIN, _MOST_LINKS = 1000, 2000  # letters and links: boxes around a box with more are content


def remove_navigation(root: "LexborNode", omissions: Omissions) -> None:
    """Remove boxes below `root` that contain only navigation, inner boxes first."""
    untested = {root.mem_id}  # ids of `root` and of the elements around content, which stay
    for box in reversed(root.css(_BOXES)):  # from the end of the page, so inner boxes come before outer
        if box.mem_id in untested or not (links := box.css("a[href]")):
            continue
        linked_letters = _count_letters(links)
        heading_letters = _count_letters(box.css(_HEADINGS_WITHOUT_LINK))
        plain_letters = _count_letters([box]) - linked_letters - heading_letters
        has_prose = any(part.text().strip() for part in box.css(_PROSE) if part.mem_id != box.mem_id)
        # This test comes first, since a table of contents may be large too, or consist of paragraphs.
        if _is_navigation(box, links, linked_letters, plain_letters, has_prose):
            remove([box], omissions, "navigation")
        elif has_prose or plain_letters > _MOST_PLAIN or len(links) > _MOST_LINKS:
            ancestor = box.parent  # this box is content, so the boxes around it stay, up to `root`
            while ancestor is not None and ancestor.mem_id not in untested:
                untested.add(ancestor.mem_id)
                ancestor = ancestor.parent


def _count_letters(nodes: "list[LexborNode]") -> int:
    return sum(len(_SEPARATORS.sub("", node.text())) for node in nodes)


def _is_navigation(
    box: "LexborNode", links: "list[LexborNode]", linked_letters: int, plain_letters: int, has_prose: bool
) -> bool:
    """Return True if a box with links is a table of contents, a menu, or a label with links.

    `plain_letters` are those outside links and headings; `has_prose` says if paragraphs or tables are in it.
    """
    stays_on_page = all((link.attributes["href"] or "").startswith("#") for link in links)
    if plain_letters == 0 and stays_on_page:  # a table of contents
        return True
    if box.tag in ("ul", "ol") or has_prose:  # a list of links to other pages is content, and so is prose
        return False
    is_mostly_linked = linked_letters >= _LINKED_SHARE * (linked_letters + plain_letters)
    if is_mostly_linked and box.tag != "p":  # a menu
        return True
    if plain_letters > _LONGEST_LABEL:
        return False
    label = box.text()  # without its links, as in `Available Languages: en | fr`
    for link in links:
        label = label.replace(link.text(), "", 1)
    label = _SEPARATORS.sub(" ", label).strip()
    is_label = label == "" or (label.endswith(":") and len(label.split()) <= _LABEL_WORDS)
    return is_label and len(links) > 1


_KINDS = {  # selectors of elements without content, by kind
    "page_number": r"[role=doc-pagebreak], [epub\:type~=pagebreak]",
    "footnote_mark": r"[epub\:type~=noteref]",
    "script": "script, style, noscript",
    "form": "button, select, textarea",
    "image": "svg, canvas, map",
    "media": "iframe, object, audio, video",
    "hidden": "dialog, annotation, [hidden]",
    "deleted_text": "del, s, strike",
    "navigation": r"nav, [role=doc-toc], [epub\:type~=toc], [epub\:type~=page-list], [epub\:type~=landmarks]",
}
_KINDS_OF_A_PAGE = {  # more of them, if `removes_menus` is set
    "hidden": "[aria-hidden=true]",
    "navigation": (
        "aside, footer, menu, div#footer, div#page-header, div.sidebar, .breadcrumb, .breadcrumbs,"
        ".pagination, .skip-link, .headerlink, .permalink, .mw-editsection, .noprint, .outofdate,"
        "[role=navigation], [role=banner], [role=contentinfo], [role=complementary], [role=search],"
        "header:not(:has(h1, h2)), div#header:not(:has(h1, h2))"
    ),
}
_HIDING = re.compile(  # such as `display:none`, `font-size:0` and `left:-9999px`
    r"(?<![\w-])(?:display\s*:\s*none\b|visibility\s*:\s*(?:hidden|collapse)\b"
    r"|opacity\s*:\s*0*(?:\.0*)?%?\s*(?:[;!]|$)"
    r"|font-size\s*:\s*(?:0*(?:\.0*)?(?:r?em|%)?|0*(?:\.\d+)?(?:px|pt)?|1(?:\.[0-2]\d*)?px)\s*(?:[;!]|$)"
    r"|(?:left|right|top|bottom|text-indent|margin-left|margin-top)\s*:\s*-\d{3,}(?:\.\d+)?(?:px|pt|r?em|%|v[wh])"
    r"|clip\s*:\s*rect\((?:0(?:px)?[\s,]*){4}\)"
    r"|color\s*:\s*(?:transparent\b|rgba\([^()]*[,/]\s*0(?:\.0*)?%?\s*\)))",
    re.IGNORECASE,
)
_SHIFTED = re.compile(r"vertical-align\s*:\s*(?:(?P<up>super|text-top)|sub|text-bottom)\b", re.IGNORECASE)
_COLOUR = re.compile(r"(?<![\w-])(background(?:-color|-image)?|color)\s*:([^;]*)", re.IGNORECASE)
_NOTE_MARKS = (
    "sup:has(a[href*='#']), a[href*='#']:has(sup), sup.reference, a.footnote, a.footnote-ref, "
    "[role=doc-noteref], [role=doc-backlink], a.footnote-back, a.footnote-backref"
)
_ATTRIBUTES = {"color": "color", "text": "color", "bgcolor": "background-color"}  # of HTML 4, as CSS
_INSIDE_LINES = frozenset({"a", "b", "big", "em", "font", "i", "small", "span", "strong", "u"})
_SEEN = 16  # of 255: colours closer than that look alike
_TAG = re.compile(r"<[^<>]*>")


def drop_boilerplate(tree: "LexborHTMLParser", omissions: Omissions, *, removes_menus: bool = True) -> None:
    """Remove and count hidden or deleted text, marks of notes, elements without content, and menus if asked.

    Widgets and shifted letters become text first. Pictures and the title are counted, and not removed.
    """
    for node in tree.css("template"):  # its text is in a tree of its own, which `remove` does not see
        omissions.add("script", _TAG.sub("", node.html or ""))
        node.decompose()
    _write_widgets(tree)
    styles = [(node, node.attributes["style"] or "") for node in tree.css("[style]")]
    for name, css_name in _ATTRIBUTES.items():  # `bgcolor="black"` becomes `background-color:black`
        styles += [(node, f"{css_name}:{node.attributes[name]}") for node in tree.css(f"[{name}]")]
    _mark_shifted(styles)
    # Hidden elements are found before any is removed, since colours are compared with those around.
    hidden = [node for node, style in styles if _HIDING.search(style)] + _find_blended(tree, styles)
    # Text that CSS strikes out; the elements `del` and `s` follow with the other kinds.
    remove([node for node, style in styles if "line-through" in style.lower()], omissions, "deleted_text")
    remove(hidden, omissions, "hidden")
    notes = [(node, node.text()) for node in tree.css(_NOTE_MARKS)]
    # Such as `[3]`, or an arrow without letters and digits; a link with words is text.
    marks = [node for node, text in notes if is_mark(text) or not any(map(str.isalnum, text))]
    remove(marks, omissions, "footnote_mark")
    for kinds in (_KINDS, _KINDS_OF_A_PAGE) if removes_menus else (_KINDS,):
        for kind, selector in kinds.items():
            remove(tree.css(selector), omissions, kind)
    for node in tree.css("img"):
        omissions.add("image", node.attributes.get("alt") or "")
    if tree.head is not None and (title := tree.head.text()).strip():
        omissions.add("metadata", title)


def _mark_shifted(styles: "Iterable[tuple[LexborNode, str]]") -> None:
    """Put signs around text that CSS raises or lowers, as the reader does for `sup` and `sub`."""
    for node, style in styles:
        shift = _SHIFTED.search(style)
        if shift and node.tag in _INSIDE_LINES:
            node.insert_before(RAISED if shift["up"] else LOWERED)
            node.insert_after(LEVEL)


def remove(nodes: "Iterable[LexborNode]", omissions: Omissions, kind: str) -> None:
    """Remove elements that are still in the page, and count their text."""
    for node in nodes:
        if node.parent is not None and node.tag not in ("html", "body"):
            omissions.add(kind, node.text())
            node.decompose()


def _find_blended(tree: "LexborHTMLParser", styles: "list[tuple[LexborNode, str]]") -> "list[LexborNode]":
    """Return the elements whose text has the colour of its background, as far as the page says both."""
    coloured: dict[int, LexborNode] = {}
    inks: dict[int, str] = {}  # colours of text and of backgrounds, by the id of the element
    papers: dict[int, str] = {}
    for node, style in styles:
        for name, value in _COLOUR.findall(style):
            coloured[node.mem_id] = node
            colours = inks if name.lower() == "color" else papers
            colours[node.mem_id] = value
    has_sheet = tree.css_first("style, link[rel=stylesheet]") is not None  # it may set other defaults
    default_ink, default_paper = ("", "") if has_sheet else ("black", "white")
    blended = []
    for node in coloured.values():
        parts = {part.mem_id for part in node.css("*")} - {node.mem_id}
        ink, paper = _nearest(node, inks, default_ink), _nearest(node, papers, default_paper)
        if parts.isdisjoint(coloured) and looks_alike(ink, paper):  # a coloured part may be visible
            blended.append(node)
    return blended


def _nearest(node: "LexborNode", colours: Mapping[int, str], default: str) -> str:
    """Return the colour of the element itself or of its nearest ancestor among `colours`, by their ids."""
    ancestor: LexborNode | None = node
    while ancestor is not None and ancestor.mem_id not in colours:
        ancestor = ancestor.parent
    return colours[ancestor.mem_id] if ancestor is not None else default


@lru_cache(maxsize=1024)
def looks_alike(first: str, second: str) -> bool:
    """Return True if two colours of CSS look the same; False for unknown and transparent colours."""
    from PIL import ImageColor

    try:
        colours = [ImageColor.getrgb(value.replace("!important", "").strip()) for value in (first, second)]
    except ValueError:
        return False
    are_opaque = all(colour[3:] in ((), (255,)) for colour in colours)  # no alpha, or a full one
    differences = [abs(one - other) for one, other in zip(*(colour[:3] for colour in colours), strict=True)]
    return are_opaque and max(differences) <= _SEEN


def count_comments(tree: "LexborHTMLParser", omissions: Omissions) -> None:
    """Count comments, but no declaration of XML, which the parser takes for one."""
    document = tree.root.parent if tree.root is not None else None
    nodes = document.traverse(include_text=True) if document is not None else ()
    for text in (node.comment_content or "" for node in nodes if node.tag == "-comment"):
        if not text.startswith("?xml"):
            omissions.add("comment", text)


_ICONS = "img, svg, i, [aria-label], [title]"
_ASIDES = (
    ".admonition, .alert, .callout, .caution, .danger, .example, .hint, .important, .info, .note, .notice,"
    ".tip, .warning"
)
_BOX_HEADINGS = f":is(div, section, blockquote, aside):is({_ASIDES}) :is(h1, h2, h3, h4, h5, h6)"
"""Headings that label a box and open no section of the page."""


def _write_widgets(tree: "LexborHTMLParser") -> None:
    """Write check boxes, choices and icons as text, and labels of boxes and tabs as their titles."""
    # buttons of a `tabbed-set` only switch its tabs
    for node in tree.css(":is(input[type=checkbox], input[type=radio]):not(.tabbed-set > *)"):
        following = node.next.text_content if node.next is not None else None
        gap = "" if following and following[0].isspace() else " "
        node.replace_with(f"{'☒' if 'checked' in node.attributes else '☐'}{gap}")
    for node in tree.css("select:has(option[selected])"):
        node.replace_with(", ".join(option.text().strip() for option in node.css("option[selected]")))
    for cell in tree.css("td:has(img, svg, i, [aria-label]), th:has(img, svg, i, [aria-label])"):
        own_letters = visible(cell.text()) - sum(visible(drawing.text()) for drawing in cell.css("svg"))
        if own_letters <= 0:  # only its drawings have text, such as a `<title>`, if anything has
            _write_icons(cell)
    for heading in tree.css(_BOX_HEADINGS):
        heading.attrs["class"] = "admonition-title"  # by which the reader knows the label of a box
    for label, panel in _tabs(tree):
        panel.inner_html = f'<p class="admonition-title">{escape(label)}</p>{panel.inner_html or ""}'
        for name in ("hidden", "style"):  # only the chosen tab is visible
            if name in panel.attributes:
                del panel.attrs[name]


def _write_icons(cell: "LexborNode") -> None:
    """Replace the content of a cell by the names of its icons, such as `yes`."""
    names = []
    for icon in cell.css(_ICONS):
        stated = (icon.attributes.get(attribute) for attribute in ("alt", "aria-label", "title"))
        titles = (title.text() for title in icon.css("title"))
        name = next(filter(None, (*stated, *titles)), "")
        names.append(" ".join(name.split()))
    if different_names := dict.fromkeys(filter(None, names)):
        cell.inner_html = escape(", ".join(different_names))


def _tabs(tree: "LexborHTMLParser") -> Iterator[tuple[str, "LexborNode"]]:
    """Yield each panel of tabs with the label of its tab, which is taken out of the page."""
    for row_selector, label_selector, panel_selector in (
        ("[role=tablist]", "[role=tab]", "[role=tabpanel]"),
        (".tabbed-labels", "label", ".tabbed-block"),
    ):
        for row in tree.css(row_selector):
            labels = [node.text().strip() for node in row.css(label_selector)]
            panels = [] if row.parent is None else row.parent.css(panel_selector)
            if labels and len(labels) == len(panels):
                row.decompose()
                yield from zip(labels, panels, strict=True)
