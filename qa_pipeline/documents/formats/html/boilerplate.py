"""Find the parts of a page beside its content: hidden text, furniture and navigation."""

import math
import re
from collections.abc import Callable, Iterable, Iterator
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


def visit(
    root: "LexborNode",
    enter: "Callable[[LexborNode, str], bool]",
    leave: "Callable[[LexborNode, str], None]",
) -> None:
    """Visit the nodes below `root` in order, without recursion, so that the depth of a page is no limit.

    Args:
        root: is not visited itself.
        enter: given a node and its tag, says whether what is inside is visited, too.
        leave: is called behind each node that was entered.
    """
    inside: list[tuple[LexborNode, str]] = []
    node = root.first_child
    while node is not None:
        tag = node.tag or ""
        if enter(node, tag):
            if (inner := node.first_child) is not None:
                inside.append((node, tag))
                node = inner
                continue
            leave(node, tag)
        following = node.next
        while following is None and inside:
            node, tag = inside.pop()
            leave(node, tag)
            following = node.next
        node = following


def remove_navigation(root: "LexborNode", omissions: Omissions) -> None:
    """Take out boxes below `root` that hold navigation and nothing else, inner ones first."""
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


def _add_ancestors(found: set[int], node: "LexborNode") -> None:
    around = node.parent
    while around is not None and around.mem_id not in found:
        found.add(around.mem_id)
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
    """Return True if a box with links is navigation, by the letters inside links and outside.

    All its links stay on the page and nothing else is said; or it is a `div` or `section` of links under
    headings, without prose; or a paragraph of several links behind a label such as `Available Languages:`.
    A list of links to other pages is content where a sentence may have announced it.
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
    **dict.fromkeys(("script", "style", "noscript"), "script"),
    **dict.fromkeys(("button", "select", "textarea"), "form"),
    **dict.fromkeys(("svg", "canvas", "map"), "image"),
    **dict.fromkeys(("iframe", "object", "audio", "video"), "media"),
    **dict.fromkeys(("dialog", "annotation"), "hidden"),
    **dict.fromkeys(("del", "s", "strike"), "deleted_text"),
}
_MOST_RULES = 100  # of style sheets that strike text out or hide it: each is looked for in the whole page
_UNAPPLIED = re.compile(r"/\*.*?(?:\*/|\Z)|@[^{};@]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})", re.DOTALL)
"""Comments of style sheets, and rules for paper, for small screens and the like."""
_HIDING = re.compile(
    r"(?<![\w-])(?:display\s*:\s*none\b|visibility\s*:\s*(?:hidden|collapse)\b"
    r"|opacity\s*:\s*0*(?:\.0*)?%?\s*(?:[;!]|$)"
    r"|font-size\s*:\s*(?:0*(?:\.0*)?(?:r?em|%)?|0*(?:\.\d+)?(?:px|pt)?)\s*(?:[;!]|$)"
    r"|(?:left|right|top|bottom|text-indent|margin-left|margin-top)\s*:\s*-\d{3,}(?:\.\d+)?(?:px|pt|r?em|%|v[wh])"
    r"|clip\s*:\s*rect\((?:0(?:px)?[\s,]*){4}\)|clip-path\s*:\s*inset\((?:50|100)%\)"
    r"|color\s*:\s*transparent\b)",
    re.IGNORECASE,
)
_SHOWING = re.compile(r"(?<![\w-])(?:display|visibility|opacity|left|top|font-size)\s*:", re.IGNORECASE)
_COLOUR = re.compile(r"(?<![\w-])(background(?:-color|-image)?|color)\s*:([^;]*)", re.IGNORECASE)
_STATE = re.compile(r"(?<!:):{1,2}[\w-]+(?:\([^()]*\))?")
_NAME = re.compile(r"[\w-]+")
_STYLED = "style:not([media*=print]), [style]"
_NOTE_MARKS = (
    "sup:has(a[href*='#']), a[href*='#']:has(sup), sup.reference, a.footnote, a.footnote-ref, "
    "a[role=doc-noteref], a[role=doc-backlink], a.footnote-back, a.footnote-backref"
)
_NEVER_CONTENT = ", ".join((*_KINDS, "nav", "[hidden]", "[style*='line-through' i]"))
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
_SEEN = 16  # of 255: colours closer than that look alike
_TAG = re.compile(r"<[^<>]*>")
_COMMENT = re.compile(
    r"<!--(?P<comment>.*?)(?:(?P<end>-->)|\Z)|<[!?](?P<other>.*?)(?:(?P<close>>)|\Z)", re.DOTALL
)
_DECLARATIONS = ("doctype", "xml")


def remove_furniture(tree: "LexborHTMLParser", omissions: Omissions, *, page: bool = True) -> None:
    """Take out what is never content; a page header stays where it holds the page's heading.

    Args:
        tree: the page.
        omissions: counts what is taken out.
        page: whether it is a page of a site, whose menus and asides are known by their names; false for a
            piece of another document, where they are content.
    """
    for node in tree.css("template"):
        # It keeps its text in a tree apart, where elements around it do not see it.
        omissions.add("script", _TAG.sub("", node.html or ""))
        node.decompose()
    write_widgets(tree, omissions)
    struck, hidden = _find_styled(tree)
    remove(struck, omissions, "deleted_text")
    remove(hidden, omissions, "hidden")
    linked = ((node, node.text()) for node in tree.css(_NOTE_MARKS))
    marks = (node for node, text in linked if is_mark(text) or not any(map(str.isalnum, text)))
    remove(marks, omissions, "footnote_mark")
    remove(tree.css(_FURNITURE if page else _NEVER_CONTENT), omissions)
    headers = tree.css("header, div#header") if page else []
    remove((node for node in headers if node.css_first("h1, h2") is None), omissions, "navigation")
    for node in tree.css("img"):
        omissions.add("image", node.attributes.get("alt") or "")


def remove(nodes: "Iterable[LexborNode]", omissions: Omissions, kind: str = "") -> None:
    """Take elements out; outer ones come first, and what was inside them is gone with them.

    A page as a whole may be hidden until its script has run.
    """
    for node in nodes:
        if node.parent is not None and node.tag not in ("html", "body"):
            omissions.add(kind or _kind_of(node), node.text())
            node.decompose()


def _find_styled(tree: "LexborHTMLParser") -> "tuple[list[LexborNode], list[LexborNode]]":
    """Return the elements that style sheets of the page strike out, and those that are hidden for good.

    What another rule shows, at a click or otherwise, or what a script names, is there for readers.
    """
    styled = tree.css(_STYLED)
    sheets = "\n".join(node.text() for node in styled if node.tag == "style")
    rules = [rule.rpartition("{")[::2] for rule in _UNAPPLIED.sub("", sheets).split("}")]
    inline = [(node, node.attributes["style"] or "") for node in styled if node.tag != "style"]
    struck = [node for node, _ in _apply(tree, (rule for rule in rules if "line-through" in rule[1]))]
    showing = (rule for rule in rules if _SHOWING.search(_HIDING.sub("", rule[1])))
    shown = {node.mem_id for node, _ in _apply(tree, ((_STATE.sub("", name), "") for name, _ in showing))}
    hiding = _apply(tree, (rule for rule in rules if _HIDING.search(rule[1])))
    hidden = [node for node, _ in hiding if node.mem_id not in shown]
    hidden += [node for node, style in inline if _HIDING.search(style)]
    hidden += _find_blended(
        tree, [*_apply(tree, (rule for rule in rules if _COLOUR.search(rule[1]))), *inline]
    )
    scripts = [script.text() for script in tree.css("script")] if hidden else []
    scripts += [node.attributes["onclick"] or "" for node in tree.css("[onclick]")]
    names = _names_in(" ".join(scripts))
    # What holds more is the page until its script has run.
    most = len(tree.body.text()) / 2 if scripts and tree.body else math.inf
    return struck, [
        node
        for node in hidden
        if names.isdisjoint(_names_in(f"{node.id or ''} {node.attributes.get('class') or ''}"))
        and len(node.text()) <= most
    ]


def _find_blended(tree: "LexborHTMLParser", styles: "list[tuple[LexborNode, str]]") -> "Iterator[LexborNode]":
    """Yield the elements whose text has the colour of its ground, as far as the page itself says both."""
    coloured: dict[int, tuple[LexborNode, list[str]]] = {}
    grounds: dict[int, list[str]] = {}
    for node, style in styles:
        for name, value in _COLOUR.findall(style):
            if name.lower() == "color":
                coloured.setdefault(node.mem_id, (node, []))[1].append(value)
            else:
                grounds.setdefault(node.mem_id, []).append(value)
    # Another sheet may colour the ground.
    paper = "" if tree.css_first("link[rel=stylesheet], [bgcolor]") is not None else "white"
    for node, colours in coloured.values():
        around: LexborNode | None = node
        while around is not None and around.mem_id not in grounds:
            around = around.parent
        ground = [paper] if around is None else grounds[around.mem_id]
        inner = any(child.mem_id in coloured for child in node.css("*") if child.mem_id != node.mem_id)
        if not inner and all(looks_alike(colour, under) for colour in colours for under in ground):
            yield node


@lru_cache(maxsize=1024)
def looks_alike(colour: str, ground: str) -> bool:
    """Return True if two colours of CSS look the same; False for a picture or what else is not known."""
    from PIL import ImageColor

    with suppress(ValueError):
        pair = [ImageColor.getrgb(value.replace("!important", "").strip()) for value in (colour, ground)]
        return all(part[3:] in ((), (255,)) for part in pair) and all(
            abs(one - other) <= _SEEN for one, other in zip(*(part[:3] for part in pair), strict=True)
        )
    return False


def _names_in(text: str) -> set[str]:
    """Return names, without the numbers that scripts append to them."""
    return {name.rstrip("0123456789") or name for name in _NAME.findall(text)}


def _apply(tree: "LexborHTMLParser", rules: Iterable[tuple[str, str]]) -> "Iterator[tuple[LexborNode, str]]":
    """Yield the elements that rules select, each with its style."""
    from selectolax.lexbor import SelectolaxError

    parts = ((selector, style) for selectors, style in rules for selector in selectors.split(","))
    for selector, style in islice(parts, _MOST_RULES):
        with suppress(SelectolaxError):  # which browsers ignore, too
            found = tree.css(selector) if selector.strip() and ":" not in selector else []
            yield from ((node, style) for node in found)


def count_comments(tree: "LexborHTMLParser", markup: str, omissions: Omissions) -> None:
    """Count comments, and declarations and instructions that a page treats as such.

    Whatever of them is never closed swallows the rest of the page; a comment does not in a script, which is
    counted itself. An instruction does so without leaving a node.
    """
    for match in _COMMENT.finditer(markup):
        inside = match["comment"] or match["other"] or ""
        if match["end"] or match["close"]:
            if not inside.lower().startswith(_DECLARATIONS):
                omissions.add("comment", inside)
        elif match["other"] is not None or "".join(f"{inside}-->".split()) in "".join(
            (tree.html or "").split()
        ):
            omissions.add("unclosed_comment", inside)


def _kind_of(node: "LexborNode") -> str:
    kind = _KINDS.get(node.tag or "")
    if kind is not None:
        return kind
    attributes = node.attributes
    if "line-through" in (attributes.get("style") or "").lower():
        return "deleted_text"
    hidden = "hidden" in attributes or (attributes.get("aria-hidden") or "").lower() == "true"
    return "hidden" if hidden else "navigation"
