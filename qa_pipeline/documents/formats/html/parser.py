"""Read the main content of HTML pages as blocks; the other text nodes are counted as left out."""

import re
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.html.boilerplate import count_comments, drop_boilerplate, remove_navigation
from qa_pipeline.documents.formats.html.reader import read_blocks
from qa_pipeline.documents.formats.text import decode
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import declared_language

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_MAIN = (  # selectors of the main content, the most reliable first
    "main", "[role=main]", "#page-content", "#main-content", "#mw-content-text", "#bodyContent", "#content",
    "#main", ".markdown-body", ".main-content", "article",
)  # fmt: skip
_LEAST_SHARE = 0.25  # of the text of a page: an element with less is not its content, whatever its name
_DEEPEST = 5_000  # levels of elements
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)")
_NO_END_TAG = frozenset({
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html", "img",
    "input", "li", "link", "meta", "option", "p", "param", "source", "tbody", "td", "tfoot", "th",
    "thead", "tr", "track", "wbr",
})  # fmt: skip


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse an HTML file."""
    tree = parse_tree(decode(source.content, declared=True))
    declared = _describe(tree)
    omissions = Omissions()
    count_comments(tree, omissions)
    blocks = _read_content(tree, omissions)
    return ParsedFile(blocks=tuple(blocks), left_out=omissions.record(), **declared)


def read_fragment(markup: str, omissions: Omissions, *, removes_menus: bool = True) -> list[Block]:
    """Return the blocks of HTML inside another format, without a search for the main content.

    `removes_menus` removes asides too, as on a page of a site. Raises a DocumentFailure (`nested_too_deep`).
    """
    tree = parse_tree(markup)
    count_comments(tree, omissions)
    drop_boilerplate(tree, omissions, removes_menus=removes_menus)
    return read_blocks(tree.body, omissions) if tree.body is not None else []


def close_elements(markup: str) -> str:
    """Return HTML in which every open element also ends."""
    body = parse_tree(f"<body><div>{markup}</div>").body
    return (body.html or "").removeprefix("<body>").removesuffix("</body>") if body is not None else ""


def parse_tree(markup: str) -> "LexborHTMLParser":
    """Parse markup, and write its style sheets to the elements that they select.

    Linked sheets are not loaded. Raises a DocumentFailure for deep nesting, whose cost grows with its square.
    """
    from css_inline import CSSInliner
    from selectolax.lexbor import LexborHTMLParser

    tags = _TAG.findall(markup) if markup.count("<") > _DEEPEST else []  # fewer cannot nest too deep
    depth = 0
    for closing, name in tags:
        if name.lower() not in _NO_END_TAG:  # elements of that set may lack an end tag
            depth = max(depth - 1, 0) if closing else depth + 1
            if depth > _DEEPEST:
                detail = f"elements are nested more than {_DEEPEST} levels deep"
                raise DocumentFailure("nested_too_deep", detail)
    if "<style" in markup.lower():
        markup = CSSInliner(load_remote_stylesheets=False, keep_style_tags=True).inline(markup)
    return LexborHTMLParser(markup)


def _describe(tree: "LexborHTMLParser") -> dict[str, Any]:
    """Return the fields of a ParsedFile that a page declares in its head."""
    root = tree.root
    language = root.attributes.get("lang") or root.attributes.get("xml:lang") if root else None
    nodes = tree.css_first("h1"), tree.css_first("title")
    heading, title = (" ".join(node.text().split()) if node is not None else "" for node in nodes)
    links = {  # the first of each kind
        node.attributes.get("rel"): node.attributes.get("href") for node in reversed(tree.css("link[rel]"))
    }
    return {
        # "FAQ — restic documentation" says more than "FAQ"; without a title, a later step takes the heading
        "title": title if title and heading in title else None,
        "language": declared_language(language),
        "source_uri": links.get("canonical"),
        "licence": links.get("license"),
    }


def _read_content(tree: "LexborHTMLParser", omissions: Omissions) -> list[Block]:
    """Return the blocks of the main content of a page; the text around it is counted."""
    body = tree.body
    if body is None:
        return []
    drop_boilerplate(tree, omissions)
    text = body.text()
    candidates = (nodes[0] for nodes in map(body.css, _MAIN) if len(nodes) == 1)  # several are mere parts
    main = next((node for node in candidates if len(node.text()) >= _LEAST_SHARE * len(text)), body)
    if main is not body:
        around = visible(text) - visible(main.text())
        omissions.count("outside_main", 1 if around else 0, around)
    remove_navigation(main, omissions)
    return read_blocks(main, omissions)
