"""Find the parts of a page around its content: hidden text, furniture and navigation."""

import math
import re
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.formulas import is_mark
from qa_pipeline.documents.formats.html.widgets import write_widgets

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_BOXES = "div, section, ul, ol, p"
_PROSE = "p, pre, table, dl, blockquote"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_SEPARATORS = dict.fromkeys(map(ord, "|·•,;/>»«<→←()[]- \t\r\n\f\xa0"))
_LABEL_WORDS = 4  # of a label before links, such as "See also:"; a sentence has more
_LINKED_SHARE = 0.8  # of the text of a box: the rest of a menu are marks and counts
_LANGUAGE_CODE = 3  # letters of a lone link behind a label, such as "en" in a choice of languages
_LONGEST_LABEL = 100  # characters
_MOST_PLAIN, _MOST_LINKS = 1000, 2000  # letters and links: a box that holds a box with more is content


def remove_navigation(root: "LexborNode", omissions: Omissions) -> None:
    """Remove boxes below `root` that contain only navigation, inner ones first."""
    around_links: set[int] = set()
    around_content = {root.mem_id}
    for link in root.css("a[href]"):
        _add_ancestors(around_links, link)
    for node in reversed(root.css(_BOXES) if around_links else []):
        if node.mem_id not in around_links or node.mem_id in around_content:
            continue
        links, text = node.css("a[href]"), node.text().translate(_SEPARATORS)
        linked, titles = (
            sum(len(part.text().translate(_SEPARATORS)) for part in parts)
            for parts in (links, node.css(":is(h1, h2, h3, h4, h5, h6):not(:has(a[href]))"))
        )
        plain = len(text) - linked - titles
        has_prose = any(part.text().strip() for part in node.css(_PROSE) if part.mem_id != node.mem_id)
        heading = _heading_of(node) if node.tag in ("ul", "ol") and plain <= 0 else None
        if links and (heading is not None or _is_navigation(node, links, linked, plain, has_prose)):
            remove(filter(None, (node, heading)), omissions, "navigation")
        elif has_prose or plain > _MOST_PLAIN or len(links) > _MOST_LINKS:
            _add_ancestors(around_content, node)


def _add_ancestors(visited: set[int], node: "LexborNode") -> None:
    around = node.parent
    while around is not None and around.mem_id not in visited:
        visited.add(around.mem_id)
        around = around.parent


def _heading_of(node: "LexborNode") -> "LexborNode | None":
    """Return the heading right above a list that is all there is under it."""
    before, after = node.prev, node.next
    while before is not None and _is_blank(before):
        before = before.prev
    while after is not None and _is_blank(after):
        after = after.next
    level = before.tag if before is not None else None
    if level not in _HEADINGS[1:]:
        return None
    # A heading of a lower level opens a part of this section, which then is more than the list.
    return before if after is None or (after.tag in _HEADINGS and str(after.tag) <= str(level)) else None


def _is_blank(node: "LexborNode") -> bool:
    tag = node.tag or ""
    return not (node.text_content or "").strip() if tag == "-text" else tag.startswith(("-", "_"))


def _is_navigation(
    box: "LexborNode", links: "list[LexborNode]", linked: int, plain: int, has_prose: bool
) -> bool:
    """Return True if a box with links is navigation.

    All its links stay on the page, or links fill a `div` or `section` without prose, or a paragraph has
    several links behind a label such as `Available Languages:`. A list of links to other pages is content.
    """
    if plain <= 0 and all((link.attributes["href"] or "").startswith("#") for link in links):
        return True
    if box.tag in ("ul", "ol") or has_prose:
        return False
    if box.tag != "p" and linked >= _LINKED_SHARE * (linked + plain):
        return True
    label = box.text() if plain <= _LONGEST_LABEL else "no label."
    for link in links if plain <= _LONGEST_LABEL else ():
        label = label.replace(link.text(), "", 1)
    label = " ".join(label.translate(dict.fromkeys(_SEPARATORS, " ")).split())
    short = not label or (label.endswith(":") and len(label.split()) <= _LABEL_WORDS)
    return short and (len(links) > 1 or (bool(label) and linked <= _LANGUAGE_CODE))


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
    r"|clip\s*:\s*rect\((?:0(?:px)?[\s,]*){4}\)|clip-path\s*:\s*inset\((?:50|100)%\)"
    r"|color\s*:\s*(?:transparent\b|(?:rgb|hsl)a\([^()]*[,/]\s*0(?:\.0*)?%?\s*\))"
    r"|filter\s*:\s*opacity\(0%?\)|transform\s*:\s*scale\(0\))",
    re.IGNORECASE,
)
_SHUT = re.compile(
    r"\A(?=.*overflow\s*:\s*hidden).*(?<![\w-])(?:max-)?(?:height|width)\s*:\s*0(?:px|pt|r?em|%)?\s*(?:[;!]|$)",
    re.IGNORECASE | re.DOTALL,
)
"""A box without room, as mails hide the line that lists of mail show; a sheet may open it at a click."""
_SHIFTED = re.compile(
    r"vertical-align\s*:\s*(?:(?P<up>super|text-top)|sub|text-bottom)\b"
    r"|position\s*:\s*relative\b.*(?<![\w-])(?:(?P<top>top)|bottom)\s*:\s*(?P<minus>-?)[\d.]+(?:px|pt|em)",
    re.IGNORECASE | re.DOTALL,
)
_SHOWING = re.compile(r"(?<![\w-])(?:display|visibility|opacity|left|top|font-size)\s*:", re.IGNORECASE)
_TELLING = re.compile(
    r"line-through|display|visibility|opacity|font-size|left|right|top|bottom|indent|clip|color|background"
    r"|vertical-align|transform",
    re.IGNORECASE,
)
_COLOUR = re.compile(r"(?<![\w-])(background(?:-color|-image)?|color)\s*:([^;]*)", re.IGNORECASE)
_STATE = re.compile(r"(?<!:):{1,2}[\w-]+(?:\([^()]*\))?")
_NAME = re.compile(r"[\w-]+")
_NOTE_MARKS = (
    "sup:has(a[href*='#']), a[href*='#']:has(sup), sup.reference, a.footnote, a.footnote-ref, "
    "a[role=doc-noteref], a[role=doc-backlink], a.footnote-back, a.footnote-backref"
)
_ATTRIBUTES = {"color": "color", "text": "color", "bgcolor": "background-color"}
"""Attributes of HTML 4 that colour text or its ground, by their names in CSS."""
_ON_A_LINE = frozenset({"a", "b", "big", "em", "font", "i", "small", "span", "strong", "u"})
_SEEN = 16  # of 255: colours closer than that look alike
_TAG = re.compile(r"<[^<>]*>")


def remove_furniture(tree: "LexborHTMLParser", omissions: Omissions, *, page: bool = True) -> None:
    """Remove hidden, deleted and repeated parts; with `page`, also menus and asides known by their names."""
    for node in tree.css("template"):
        # It keeps its text in a tree apart, where elements around it do not see it.
        omissions.add("script", _TAG.sub("", node.html or ""))
        node.decompose()
    write_widgets(tree, omissions)
    struck, hidden, shifted = _find_styled(tree)
    remove(struck, omissions, "deleted_text")
    remove(hidden, omissions, "hidden")
    for node, name in shifted:
        if node.parent is not None:
            node.inner_html = f"<{name}>{node.inner_html or ''}</{name}>"
    linked = ((node, node.text()) for node in tree.css(_NOTE_MARKS))
    marks = (node for node, text in linked if is_mark(text) or not any(map(str.isalnum, text)))
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


def _find_styled(
    tree: "LexborHTMLParser",
) -> "tuple[list[LexborNode], list[LexborNode], list[tuple[LexborNode, str]]]":
    """Return struck and hidden elements, and shifted elements with `sup` or `sub`, by their styles.

    Elements that another rule shows, or that a script names, are visible to readers.
    """
    from selectolax.lexbor import SelectolaxError

    sheets = "\n".join(node.text() for node in tree.css("style:not([media*=print])"))
    rules = (rule.rpartition("{")[::2] for rule in _UNAPPLIED.sub("", sheets).split("}"))
    parts = (
        (selector, style) for names, style in rules if _TELLING.search(style) for selector in names.split(",")
    )
    styled: list[tuple[LexborNode, str]] = []
    shown: set[int] = set()
    for selector, style in islice(parts, _MOST_RULES):
        without_state = _STATE.sub("", selector)
        shows = _SHOWING.search(_HIDING.sub("", style)) is not None
        if without_state.strip() and (shows or without_state == selector):
            with suppress(SelectolaxError):  # which browsers ignore, too
                selected = tree.css(without_state)
                shown.update(node.mem_id for node in selected if shows)
                styled += [(node, style) for node in selected if without_state == selector]
    inline = [(node, node.attributes["style"] or "") for node in tree.css("[style]")]
    for name, parts_of_css in _ATTRIBUTES.items():
        inline += [(node, f"{parts_of_css}:{node.attributes[name]}") for node in tree.css(f"[{name}]")]
    struck = [node for node, style in (*styled, *inline) if "line-through" in style.lower()]
    hidden = [node for node, style in styled if _HIDING.search(style) and node.mem_id not in shown]
    hidden += [node for node, style in inline if _HIDING.search(style) or _SHUT.search(style)]
    hidden += [cell for node in hidden if node.tag == "col" for cell in _cells_of(node)]
    hidden += _find_blended(tree, [*styled, *inline])
    scripts = [script.text() for script in tree.css("script")] if hidden else []
    scripts += [node.attributes["onclick"] or "" for node in tree.css("[onclick]")]
    names = _names_in(" ".join(scripts))
    # What holds more is the page until its script has run.
    most = len(tree.body.text()) / 2 if scripts and tree.body else math.inf
    hidden = [
        node
        for node in hidden
        if names.isdisjoint(_names_in(f"{node.id or ''} {node.attributes.get('class') or ''}"))
        and len(node.text()) <= most
    ]
    return struck, hidden, _find_shifted([*styled, *inline])


def _find_shifted(styles: "list[tuple[LexborNode, str]]") -> "list[tuple[LexborNode, str]]":
    shifted: dict[int, tuple[LexborNode, str]] = {}
    for node, style in styles:
        if node.tag in _ON_A_LINE and (match := _SHIFTED.search(style)):
            is_raised = match["up"] or (
                match["minus"] is not None and bool(match["top"]) == bool(match["minus"])
            )
            shifted[node.mem_id] = node, "sup" if is_raised else "sub"
    return list(shifted.values())[::-1]


def _cells_of(column: "LexborNode") -> "list[LexborNode]":
    around = column.parent
    table = around.parent if around is not None and around.tag == "colgroup" else around
    if table is None or table.css_first("[colspan], [rowspan], [span]") is not None:
        return []
    number = [node.mem_id for node in table.css("col")].index(column.mem_id) + 1
    return table.css(f"tr > :nth-child({number})")


def _find_blended(tree: "LexborHTMLParser", styles: "list[tuple[LexborNode, str]]") -> "Iterator[LexborNode]":
    """Yield the elements whose text has the colour of its ground, as far as the page itself says both."""
    nodes: dict[int, LexborNode] = {}
    inks: dict[int, list[str]] = {}
    papers: dict[int, list[str]] = {}
    for node, style in styles:
        for name, value in _COLOUR.findall(style):
            nodes[node.mem_id] = node
            kind = inks if name.lower() == "color" else papers
            kind.setdefault(node.mem_id, []).append(value)
    is_whole = tree.css_first("link[rel=stylesheet]") is None  # else another sheet may colour text or ground
    for node in nodes.values():
        ink, paper = _nearest(node, inks), _nearest(node, papers)
        colours = inks[ink.mem_id] if ink is not None else ["black"] * is_whole
        grounds = papers[paper.mem_id] if paper is not None else ["white"] * is_whole
        alike = (looks_alike(colour, ground) for colour in colours for ground in grounds)
        if colours and grounds and all(alike):
            yield from _text_coloured_by(node, nodes)


def _text_coloured_by(node: "LexborNode", coloured: "Container[int]") -> "Iterator[LexborNode]":
    """Yield an element, or its text alone if elements inside it have colours of their own."""
    if not any(child.mem_id in coloured for child in node.css("*") if child.mem_id != node.mem_id):
        yield node
        return
    for part in node.traverse(include_text=True):
        holder = _nearest(part, coloured) if part.tag == "-text" else None
        if holder is not None and holder.mem_id == node.mem_id:
            yield part


def _nearest(node: "LexborNode", candidates: "Container[int]") -> "LexborNode | None":
    """Return the element itself or its nearest ancestor among the candidates."""
    around: LexborNode | None = node
    while around is not None and around.mem_id not in candidates:
        around = around.parent
    return around


@lru_cache(maxsize=1024)
def looks_alike(colour: str, ground: str) -> bool:
    """Return True if two colours of CSS look the same; False for unknown values."""
    from PIL import ImageColor

    with suppress(ValueError):
        pair = [ImageColor.getrgb(value.replace("!important", "").strip()) for value in (colour, ground)]
        return all(part[3:] in ((), (255,)) for part in pair) and all(
            abs(one - other) <= _SEEN for one, other in zip(*(part[:3] for part in pair), strict=True)
        )
    return False


def _names_in(text: str) -> set[str]:
    return {name.rstrip("0123456789") or name for name in _NAME.findall(text)}


def count_comments(tree: "LexborHTMLParser", markup: str, omissions: Omissions) -> None:
    """Count comments; an open comment swallows the rest of the page."""
    document = tree.root.parent if tree.root is not None else None
    rest = markup.replace("\r\n", "\n").rstrip()
    for node in document.traverse(include_text=True) if document is not None else ():
        if node.tag == "-comment" and not (text := node.comment_content or "").startswith("?xml"):
            omissions.add("unclosed_comment" if text and rest.endswith(text) else "comment", text)
