"""Which elements inside a page's content only lead elsewhere."""

import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.formulas import is_mark
from qa_pipeline.documents.formats.html.widgets import write_widgets

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_BOXES = frozenset({"div", "section", "ul", "ol", "p"})
_PROSE = frozenset({"p", "pre", "table", "dl", "blockquote"})
_LISTS = frozenset({"ul", "ol"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_SEPARATORS = dict.fromkeys(map(ord, "|·•,;/>»«<→←()[]-"), " ")
_LABEL_WORDS = 4  # of a label before links, such as "See also:"; a sentence has more
_LINKED_SHARE = 0.8  # of the text of a box: the rest of a menu are marks and counts
_LANGUAGE_CODE = 3  # letters of a lone link behind a label, such as "en" in a choice of languages
_LONGEST_LABEL = 100  # characters: no label is longer, and each element would copy those inside it


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


@dataclass(slots=True)
class _Tally:
    """The text inside an open element; `link` and `heading` say whether it is in one, or one itself."""

    tag: str
    link: bool = False
    heading: bool = False
    linked: int = 0
    plain: int = 0
    label: str = ""
    links: int = 0
    inward: int = 0
    prose: bool = False

    def count(self, text: str) -> None:
        bare = " ".join(text.translate(_SEPARATORS).split())
        if self.link:
            self.linked += len(bare)
        elif bare and not self.heading:
            self.plain += len(bare)
            self._add_label(f"{bare} ")

    def take(self, inner: "_Tally") -> None:
        self.linked += inner.linked
        self.plain += inner.plain
        self.links += inner.links
        self.inward += inner.inward
        self.prose |= inner.prose or (inner.tag in _PROSE and inner.linked + inner.plain > 0)
        self._add_label(inner.label)

    def _add_label(self, text: str) -> None:
        if len(self.label) < _LONGEST_LABEL:
            self.label += text


def find_navigation(root: "LexborNode") -> frozenset[int]:
    """Return the ids (`mem_id`) of elements below `root` that hold navigation and nothing else."""
    removed: set[int] = set()
    top = root.tag or ""
    stack = [_Tally(top, heading=top in _HEADINGS)]

    def enter(node: "LexborNode", tag: str) -> bool:
        around = stack[-1]
        if tag == "-text":
            if not (text := node.text_content or "").isspace():
                around.count(text)
            return False
        tally = _Tally(tag, around.link, around.heading or tag in _HEADINGS)
        if tag == "a" and (target := node.attributes.get("href")):
            tally.link, tally.links, tally.inward = True, 1, int(target.startswith("#"))
        stack.append(tally)
        return True

    def leave(node: "LexborNode", tag: str) -> None:
        tally = stack.pop()
        if tally.links and tag in _BOXES:
            heading = _heading_of(node) if tag in _LISTS else None
            if (heading is not None and not tally.plain) or _is_navigation(tally):
                removed.update(part.mem_id for part in (node, heading) if part is not None)
                return
        stack[-1].take(tally)

    if root.css_first("a") is not None:
        visit(root, enter, leave)
    return frozenset(removed)


def _heading_of(node: "LexborNode") -> "LexborNode | None":
    """Return the heading right above a list that is all there is under it."""
    before, after = node.prev, node.next
    while before is not None and _is_blank(before):
        before = before.prev
    while after is not None and _is_blank(after):
        after = after.next
    level = before.tag if before is not None else None
    if level not in _HEADINGS or level == "h1":
        return None
    # A heading of a lower level opens a part of this section, which then is more than the list.
    return before if after is None or (after.tag in _HEADINGS and str(after.tag) <= str(level)) else None


def _is_blank(node: "LexborNode") -> bool:
    tag = node.tag or ""
    return not (node.text_content or "").strip() if tag == "-text" else tag.startswith(("-", "_"))


def _is_navigation(box: _Tally) -> bool:
    """Return whether a box with links is navigation.

    A box is, when all its links stay on the page and nothing else is said; when it is a `div` or `section`
    of links under headings, without prose; or a paragraph of several links behind a label such as
    `Available Languages:`. A list of links to other pages is content where a sentence may have announced
    it, and navigation where it is all that is under a heading.
    """
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
Colour = tuple[int, int, int] | None
_TAG = re.compile(r"<[^<>]*>")
_COMMENT = re.compile("<!--|<[!?]")
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
    _remove(struck, omissions, "deleted_text")
    _remove(hidden, omissions, "hidden")
    linked = ((node, node.text()) for node in tree.css(_NOTE_MARKS))
    marks = (node for node, text in linked if is_mark(text) or not any(map(str.isalnum, text)))
    _remove(marks, omissions, "footnote_mark")
    _remove(tree.css(_FURNITURE if page else _NEVER_CONTENT), omissions)
    headers = tree.css("header, div#header") if page else []
    _remove((node for node in headers if node.css_first("h1, h2") is None), omissions, "navigation")
    for node in tree.css("img"):
        omissions.add("image", node.attributes.get("alt") or "")


def _remove(nodes: "Iterable[LexborNode]", omissions: Omissions, kind: str = "") -> None:
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
    rules = [rule.rpartition("{") for rule in _UNAPPLIED.sub("", sheets).split("}")]
    struck = _select(tree, [selector for selector, _, style in rules if "line-through" in style])
    hiding = [selector for selector, _, style in rules if _HIDING.search(style)]
    inline = [node for node in styled if _HIDING.search(node.attributes.get("style") or "")]
    blended = _find_blended(tree, rules)
    if not (hiding or inline or blended):
        return struck, []
    showing = [
        _STATE.sub("", selector) for selector, _, style in rules if _SHOWING.search(_HIDING.sub("", style))
    ]
    showing_nodes = {node.mem_id for node in _select(tree, showing)}
    scripts = [script.text() for script in tree.css("script")]
    scripts += [node.attributes["onclick"] or "" for node in tree.css("[onclick]")]
    names = _names_in(" ".join(scripts))
    # What holds more is the page until its script has run.
    most = len(tree.body.text()) / 2 if scripts and tree.body else math.inf
    return struck, [
        node
        for node in (
            *(node for node in _select(tree, hiding) if node.mem_id not in showing_nodes),
            *inline,
            *blended,
        )
        if names.isdisjoint(_names_in(f"{node.id or ''} {node.attributes.get('class') or ''}"))
        and len(node.text()) <= most
    ]


def _find_blended(tree: "LexborHTMLParser", rules: list[tuple[str, str, str]]) -> "list[LexborNode]":
    """Return the elements whose text has the colour of its ground, as far as the page itself says both."""
    coloured: dict[int, tuple[LexborNode, list[Colour]]] = {}
    grounds: dict[int, list[Colour]] = {}
    styled = [
        (node, style)
        for selector, _, style in rules
        if _COLOUR.search(style)
        for node in _select(tree, [selector])
    ]
    for node, style in [
        *styled,
        *(
            (node, node.attributes["style"] or "")
            for node in tree.css("[style*=color i], [style*=background i]")
        ),
    ]:
        for name, value in _COLOUR.findall(style):
            if name.lower() == "color":
                coloured.setdefault(node.mem_id, (node, []))[1].append(_read_colour(value))
            else:
                grounds.setdefault(node.mem_id, []).append(_read_colour(value))
    # Another sheet may colour the ground.
    paper = None if tree.css_first("link[rel=stylesheet], [bgcolor]") is not None else (255, 255, 255)
    blended = []
    for node, colours in coloured.values():
        around: LexborNode | None = node
        while around is not None and around.mem_id not in grounds:
            around = around.parent
        ground = [paper] if around is None else grounds[around.mem_id]
        inner = any(child.mem_id in coloured for child in node.css("*") if child.mem_id != node.mem_id)
        if not inner and all(
            _is_alike(colour, paper_colour) for colour in colours for paper_colour in ground
        ):
            blended.append(node)
    return blended


def _read_colour(value: str) -> Colour:
    """Return a colour; None for a picture, a variable and what is not known."""
    from PIL import ImageColor

    with suppress(ValueError):
        colour = ImageColor.getrgb(value.replace("!important", "").strip())
        return colour[:3] if len(colour) == 3 or colour[3] == 255 else None
    return None


def looks_alike(colour: str, ground: str) -> bool:
    """Return True if two colours of CSS look the same; False if either is not known."""
    return _is_alike(_read_colour(colour), _read_colour(ground))


def _is_alike(colour: Colour, ground: Colour) -> bool:
    return (
        colour is not None
        and ground is not None
        and all(abs(value - of_ground) <= _SEEN for value, of_ground in zip(colour, ground, strict=True))
    )


def _names_in(text: str) -> set[str]:
    """Return names, without the numbers that scripts append to them."""
    return {name.rstrip("0123456789") or name for name in _NAME.findall(text)}


def _select(tree: "LexborHTMLParser", selectors: list[str]) -> "list[LexborNode]":
    from selectolax.lexbor import SelectolaxError

    nodes: list[LexborNode] = []
    for selector in ",".join(selectors).split(",", _MOST_RULES)[:_MOST_RULES]:
        with suppress(SelectolaxError):  # which browsers ignore, too
            nodes += tree.css(selector) if selector.strip() and ":" not in selector else ()
    return nodes


def count_comments(tree: "LexborHTMLParser", markup: str, omissions: Omissions) -> None:
    """Count comments, and declarations and instructions that a page treats as such.

    Whatever of them is never closed swallows the rest of the page; a comment does not in a script, which is
    counted itself. An instruction does so without leaving a node.
    """
    start = 0
    while match := _COMMENT.search(markup, start):
        close = "-->" if match[0] == "<!--" else ">"
        end = markup.find(close, match.end())
        inside = markup[match.end() : end if end >= 0 else None]
        if end < 0:
            if close == ">" or "".join(f"{inside}-->".split()) in "".join((tree.html or "").split()):
                omissions.add("unclosed_comment", inside)
            return
        if not inside.lower().startswith(_DECLARATIONS):
            omissions.add("comment", inside)
        start = end + len(close)


def _kind_of(node: "LexborNode") -> str:
    kind = _KINDS.get(node.tag or "")
    if kind is not None:
        return kind
    attributes = node.attributes
    if "line-through" in (attributes.get("style") or "").lower():
        return "deleted_text"
    hidden = "hidden" in attributes or (attributes.get("aria-hidden") or "").lower() == "true"
    return "hidden" if hidden else "navigation"
