"""Find the parts of a page around its content: hidden text, furniture and navigation."""

import math
import re
from collections.abc import Container, Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.formulas import LEVEL, LOWERED, RAISED, is_mark
from qa_pipeline.documents.formats.html.widgets import write_widgets

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_BOXES = "div, section, ul, ol, p"
_PROSE = "p, pre, table, dl, blockquote"
_HEADINGS_WITHOUT_LINK = ":is(h1, h2, h3, h4, h5, h6):not(:has(a[href]))"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LONE_LISTS = ", ".join(
    f"h{level} + :is(ul, ol):is(:last-child, :has(+ :is({', '.join(_HEADINGS[:level])})))"
    for level in range(2, 7)
)
"""Lists between a heading and the next heading of its level, with no other text in their section."""
_SEPARATORS = dict.fromkeys(map(ord, "|·•,;/>»«<→←()[]- \t\r\n\f\xa0"))
_LABEL_WORDS = 4  # of a label before links, such as "See also:"; a sentence has more
_LINKED_SHARE = 0.8  # of the text of a box: the rest of a menu are marks and counts
_LANGUAGE_CODE = 3  # letters of a lone link behind a label, such as "en" in a choice of languages
_LONGEST_LABEL = 100  # characters
_MOST_PLAIN, _MOST_LINKS = 1000, 2000  # letters and links: boxes around a box with more are content


def remove_navigation(root: "LexborNode", omissions: Omissions) -> None:
    """Remove boxes below `root` that contain only navigation, inner boxes first."""
    lone_lists = {node.mem_id for node in root.css(_LONE_LISTS)}
    around_links: set[int] = set()
    around_content = {root.mem_id}
    for link in root.css("a[href]"):
        _add_ancestors(around_links, link)
    for box in reversed(root.css(_BOXES) if around_links else []):
        if box.mem_id not in around_links or box.mem_id in around_content:
            continue
        links = box.css("a[href]")
        linked = _count_letters(links)
        plain = _count_letters([box]) - linked - _count_letters(box.css(_HEADINGS_WITHOUT_LINK))
        has_prose = any(part.text().strip() for part in box.css(_PROSE) if part.mem_id != box.mem_id)
        if links and plain <= 0 and box.mem_id in lone_lists:
            remove([box, _heading_above(box)], omissions, "navigation")
        elif links and _is_navigation(box, links, linked, plain, has_prose):
            remove([box], omissions, "navigation")
        elif has_prose or plain > _MOST_PLAIN or len(links) > _MOST_LINKS:
            _add_ancestors(around_content, box)


def _heading_above(node: "LexborNode") -> "LexborNode":
    """Return the nearest heading before a node with the same parent, or the node."""
    before = node.prev
    while before is not None and before.tag not in _HEADINGS:
        before = before.prev
    return before or node


def _add_ancestors(ids: set[int], node: "LexborNode") -> None:
    ancestor = node.parent
    while ancestor is not None and ancestor.mem_id not in ids:
        ids.add(ancestor.mem_id)
        ancestor = ancestor.parent


def _count_letters(nodes: "list[LexborNode]") -> int:
    return sum(len(node.text().translate(_SEPARATORS)) for node in nodes)


def _is_navigation(
    box: "LexborNode", links: "list[LexborNode]", linked: int, plain: int, has_prose: bool
) -> bool:
    """Return True if a box with links is navigation.

    All its links stay on the page, or links fill a `div` or `section` without prose, or a paragraph has
    several links behind a label such as `Available Languages:`. A list of links to other pages is content.
    `linked` and `plain` count the letters inside and outside links.
    """
    stays_on_page = all((link.attributes["href"] or "").startswith("#") for link in links)
    if plain <= 0 and stays_on_page:
        return True
    if box.tag in ("ul", "ol") or has_prose:
        return False
    if box.tag != "p" and linked >= _LINKED_SHARE * (linked + plain):
        return True
    if plain > _LONGEST_LABEL:
        return False
    label = box.text()
    for link in links:
        label = label.replace(link.text(), "", 1)
    label = " ".join(label.translate(dict.fromkeys(_SEPARATORS, " ")).split())
    if not label:
        return len(links) > 1
    is_label = label.endswith(":") and len(label.split()) <= _LABEL_WORDS
    return is_label and (len(links) > 1 or linked <= _LANGUAGE_CODE)


_KINDS = {
    "script": "script, style, noscript",
    "form": "button, select, textarea",
    "image": "svg, canvas, map",
    "media": "iframe, object, audio, video",
    "hidden": "dialog, annotation, [hidden]",
    "deleted_text": "del, s, strike",
    "navigation": "nav",
}
"""Selectors of elements without content, by kind."""
_KINDS_OF_A_PAGE = {
    "hidden": "[aria-hidden=true]",
    "navigation": (
        "aside, footer, menu, div#footer, div#page-header, div.sidebar, .breadcrumb, .breadcrumbs,"
        ".pagination, .skip-link, .headerlink, .permalink, .mw-editsection, .noprint, .outofdate,"
        "[role=navigation], [role=banner], [role=contentinfo], [role=complementary], [role=search],"
        "header:not(:has(h1, h2)), div#header:not(:has(h1, h2))"
    ),
}
_MOST_RULES = 400  # of style sheets that strike text out or hide it: each is looked for in the whole page
_UNAPPLIED = re.compile(r"/\*.*?(?:\*/|\Z)|@[^{};@]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})", re.DOTALL)
"""Comments of style sheets, and rules for paper, for small screens and the like."""
_HIDING = re.compile(
    r"(?<![\w-])(?:display\s*:\s*none\b|visibility\s*:\s*(?:hidden|collapse)\b"
    r"|opacity\s*:\s*0*(?:\.0*)?%?\s*(?:[;!]|$)"
    r"|font-size\s*:\s*(?:0*(?:\.0*)?(?:r?em|%)?|0*(?:\.\d+)?(?:px|pt)?|1(?:\.[0-2]\d*)?px)\s*(?:[;!]|$)"
    r"|(?:left|right|top|bottom|text-indent|margin-left|margin-top)\s*:\s*-\d{3,}(?:\.\d+)?(?:px|pt|r?em|%|v[wh])"
    r"|clip\s*:\s*rect\((?:0(?:px)?[\s,]*){4}\)"
    r"|color\s*:\s*(?:transparent\b|rgba\([^()]*[,/]\s*0(?:\.0*)?%?\s*\)))",
    re.IGNORECASE,
)
_SHOWING = re.compile(r"(?<![\w-])(?:display|visibility|opacity|left|top|font-size)\s*:", re.IGNORECASE)
_SHIFTED = re.compile(r"vertical-align\s*:\s*(?:(?P<up>super|text-top)|sub|text-bottom)\b", re.IGNORECASE)
_RELEVANT = re.compile(
    r"line-through|display|visibility|opacity|font-size|left|right|top|bottom|indent|clip|color|background"
    r"|vertical-align",
    re.IGNORECASE,
)
_COLOUR = re.compile(r"(?<![\w-])(background(?:-color|-image)?|color)\s*:([^;]*)", re.IGNORECASE)
_STATE = re.compile(r"(?<!:):{1,2}[\w-]+(?:\([^()]*\))?")
"""A state such as `:hover`, or a part such as `::before`."""
_NAME = re.compile(r"[\w-]+")
_NOTE_MARKS = (
    "sup:has(a[href*='#']), a[href*='#']:has(sup), sup.reference, a.footnote, a.footnote-ref, "
    "a[role=doc-noteref], a[role=doc-backlink], a.footnote-back, a.footnote-backref"
)
_ATTRIBUTES = {"color": "color", "text": "color", "bgcolor": "background-color"}
"""Attributes of HTML 4 that colour text or its background, by their names in CSS."""
_INSIDE_LINES = frozenset({"a", "b", "big", "em", "font", "i", "small", "span", "strong", "u"})
_SEEN = 16  # of 255: colours closer than that look alike
_TAG = re.compile(r"<[^<>]*>")


def remove_furniture(tree: "LexborHTMLParser", omissions: Omissions, *, page: bool = True) -> None:
    """Remove hidden, deleted and repeated parts; with `page`, also menus and asides known by their names."""
    for node in tree.css("template"):
        # It keeps its text in a tree apart, where elements around it do not see it.
        omissions.add("script", _TAG.sub("", node.html or ""))
        node.decompose()
    write_widgets(tree, omissions)
    sheet_styles, shown = _apply_sheets(tree)
    inline_styles = _inline_styles(tree)
    styles = [*sheet_styles, *inline_styles]
    hidden = [node for node, style in sheet_styles if _HIDING.search(style) and node.mem_id not in shown]
    hidden += [node for node, style in inline_styles if _HIDING.search(style)]
    hidden = _without_shown_by_script(tree, [*hidden, *_find_blended(tree, styles)])
    _mark_shifted(styles)
    remove([node for node, style in styles if "line-through" in style.lower()], omissions, "deleted_text")
    remove(hidden, omissions, "hidden")
    candidates = ((node, node.text()) for node in tree.css(_NOTE_MARKS))
    marks = [node for node, text in candidates if is_mark(text) or not any(map(str.isalnum, text))]
    remove(marks, omissions, "footnote_mark")
    for kinds in (_KINDS, _KINDS_OF_A_PAGE) if page else (_KINDS,):
        for kind, selector in kinds.items():
            remove(tree.css(selector), omissions, kind)
    for node in tree.css("img"):
        omissions.add("image", node.attributes.get("alt") or "")


def remove(nodes: "Iterable[LexborNode]", omissions: Omissions, kind: str) -> None:
    """Remove elements that are still in the page, and count their text."""
    for node in nodes:
        if node.parent is not None and node.tag not in ("html", "body"):
            omissions.add(kind, node.text())
            node.decompose()


def _apply_sheets(tree: "LexborHTMLParser") -> "tuple[list[tuple[LexborNode, str]], set[int]]":
    """Return the elements that style sheets of the page select, with their styles, and the ids of shown ones.

    An element that a rule shows, perhaps in a state such as `:hover`, is visible to readers.
    """
    from selectolax.lexbor import SelectolaxError

    sheets = "\n".join(node.text() for node in tree.css("style:not([media*=print])"))
    rules = (rule.rpartition("{")[::2] for rule in _UNAPPLIED.sub("", sheets).split("}"))
    relevant = (
        (selector, style)
        for selectors, style in rules
        if _RELEVANT.search(style)
        for selector in selectors.split(",")
    )
    styles: list[tuple[LexborNode, str]] = []
    shown: set[int] = set()
    for selector, style in islice(relevant, _MOST_RULES):
        without_state = _STATE.sub("", selector)
        has_state = without_state != selector
        shows = _SHOWING.search(_HIDING.sub("", style)) is not None
        if not without_state.strip() or (has_state and not shows):
            continue
        with suppress(SelectolaxError):  # browsers ignore a wrong selector, too
            nodes = tree.css(without_state)
            if shows:
                shown.update(node.mem_id for node in nodes)
            if not has_state:
                styles += [(node, style) for node in nodes]
    return styles, shown


def _inline_styles(tree: "LexborHTMLParser") -> "list[tuple[LexborNode, str]]":
    styles = [(node, node.attributes["style"] or "") for node in tree.css("[style]")]
    for attribute, name in _ATTRIBUTES.items():
        styles += [(node, f"{name}:{node.attributes[attribute]}") for node in tree.css(f"[{attribute}]")]
    return styles


def _without_shown_by_script(tree: "LexborHTMLParser", hidden: "list[LexborNode]") -> "list[LexborNode]":
    """Return the hidden elements, except elements that a script names, since it may show them."""
    scripts = [script.text() for script in tree.css("script")] if hidden else []
    scripts += [node.attributes["onclick"] or "" for node in tree.css("[onclick]")]
    names = _names_in(" ".join(scripts))
    # A larger element is the page itself, which shows once its script has run.
    most = len(tree.body.text()) / 2 if scripts and tree.body else math.inf
    return [
        node
        for node in hidden
        if names.isdisjoint(_names_in(f"{node.id or ''} {node.attributes.get('class') or ''}"))
        and len(node.text()) <= most
    ]


def _names_in(text: str) -> set[str]:
    """Return the names in a script or attribute, without the numbers at their ends."""
    return {name.rstrip("0123456789") or name for name in _NAME.findall(text)}


def _mark_shifted(styles: "list[tuple[LexborNode, str]]") -> None:
    """Put the signs of raised or lowered text around elements with `vertical-align`."""
    for node, style in styles:
        if node.tag in _INSIDE_LINES and (match := _SHIFTED.search(style)):
            node.insert_before(RAISED if match["up"] else LOWERED)
            node.insert_after(LEVEL)


def _find_blended(tree: "LexborHTMLParser", styles: "list[tuple[LexborNode, str]]") -> "list[LexborNode]":
    """Return the elements whose text has the colour of its background, as far as the page says both."""
    coloured: dict[int, LexborNode] = {}
    inks: dict[int, str] = {}
    papers: dict[int, str] = {}
    for node, style in styles:
        for name, value in _COLOUR.findall(style):
            coloured[node.mem_id] = node
            (inks if name.lower() == "color" else papers)[node.mem_id] = value
    # a style sheet in another file may set other defaults
    has_linked_sheet = tree.css_first("link[rel=stylesheet]") is not None
    default_ink, default_paper = ("", "") if has_linked_sheet else ("black", "white")
    blended = []
    for node in coloured.values():
        has_coloured_part = any(
            part.mem_id in coloured for part in node.css("*") if part.mem_id != node.mem_id
        )
        ink = inks.get(_nearest(node, inks), default_ink)
        paper = papers.get(_nearest(node, papers), default_paper)
        if not has_coloured_part and looks_alike(ink, paper):
            blended.append(node)
    return blended


def _nearest(node: "LexborNode", ids: Container[int]) -> int:
    """Return the id of the element itself or of its nearest ancestor among `ids`, or 0."""
    ancestor: LexborNode | None = node
    while ancestor is not None and ancestor.mem_id not in ids:
        ancestor = ancestor.parent
    return ancestor.mem_id if ancestor is not None else 0


@lru_cache(maxsize=1024)
def looks_alike(first: str, second: str) -> bool:
    """Return True if two colours of CSS look the same; False for unknown values."""
    from PIL import ImageColor

    try:
        colours = [ImageColor.getrgb(value.replace("!important", "").strip()) for value in (first, second)]
    except ValueError:
        return False
    are_opaque = all(colour[3:] in ((), (255,)) for colour in colours)
    differences = [abs(one - other) for one, other in zip(*(colour[:3] for colour in colours), strict=True)]
    return are_opaque and max(differences) <= _SEEN


def count_comments(tree: "LexborHTMLParser", markup: str, omissions: Omissions) -> None:
    """Count comments; an open comment swallows the rest of the page."""
    document = tree.root.parent if tree.root is not None else None
    if document is None:
        return
    end = markup.replace("\r\n", "\n").rstrip()
    for node in document.traverse(include_text=True):
        text = node.comment_content or "" if node.tag == "-comment" else "?xml"
        if not text.startswith("?xml"):
            omissions.add("unclosed_comment" if text and end.endswith(text) else "comment", text)
