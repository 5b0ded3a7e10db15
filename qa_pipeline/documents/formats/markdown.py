"""Markdown files: rendered to HTML by markdown-it, then the reader of HTML.

CommonMark with tables, footnotes, definition lists, formulas, and what MkDocs adds. Boxes, tabs and
containers keep their text and title; kinds of boxes, comments and includes are counted as left out. HTML
inside Markdown counts as content; what it leaves open ends with its block, so that none swallows the text
below. Footnotes stay in their place.
"""

import re
from dataclasses import asdict
from functools import cache, partial
from html import escape
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.drawn_tables import read_bars, read_ruled
from qa_pipeline.documents.formats.html.parser import close_elements, read_fragment
from qa_pipeline.documents.front_matter import split_front_matter
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore

_INDENTED_BOX = re.compile(
    r"(?P<kind>(?:!!!|\?\?\?\+?)\s+(?:[\w-]+(?:\s+[\w-]+)*)?|={3}[!+]?\s+(?=\"))\s*"
    r"(?:\"(?P<title>[^\"]*)\")?\s*$"
)
"""`!!! note "Title"`, and the tab `=== "Title"`, which without a title is none."""
_CONTAINERS = {
    "/": re.compile(r"\s{0,20}(?P<kind>[a-zA-Z][\w-]{0,40})\s{0,20}(?:\|(?P<title>[^\n]*))?$"),
    ":": re.compile(
        r"\s{0,20}(?!code\b)(?P<kind>\{[^{}\n]{0,200}\}|[.#]?[a-zA-Z][^\s\[{}.]{0,80}(?=\s|\[|\{|$))"
        r"(?P<title>[^\n]*)$"
    ),
}
"""`/// note | Title` to a closing `///`, and `::: warning Title` to a closing `:::`."""
_INCLUDE = re.compile(
    r"^[ \t]*(?:\{\*.*\*\}|\{!.*!\}|-{2}8<-{2}.*|\{%-?\s*include\b.*%\}|\{\{\s*#?include\b.*\}\}"
    r"|:::\s+[a-z_]\w*(?:\.\w+)+)[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that only names a file: MkDocs, mkdocstrings, Jekyll and mdBook."""
_ATTRIBUTE_LINE = re.compile(r"^[ \t]*\{[ ]{0,20}:?[ ]{0,20}[#.][^{}\n]*\}[ \t]*$", re.MULTILINE)
_HEADING_ATTRIBUTES = re.compile(r"\s{0,20}\{\s{0,20}:?\s{0,20}[#.][^{}\n]*\}\s*$")
_MARKS = re.compile(r"[`*]+")
_STRAY_MARK = re.compile(r"^[ \t]*(?:/{3,}|:{3,})[ \t]*$", re.MULTILINE)
_ALERT = re.compile(r"\A\[!\w+\][+-]?\s*")
"""`> [!NOTE]` makes a quote a box."""
_NESTING = 60
_DEEPEST = _NESTING - 2  # a list takes two levels; the parser leaves out what would go over its limit
_CONSOLES = frozenset({"console", "terminal", "shell-session"})
_COLOURING = re.compile(r"</?(?:font|span|b|u|i)(?:\s[^<>\n]*)?>")
_TAG = re.compile(r"<[a-zA-Z/][^<>]*>")
_KEPT_INLINE = re.compile(r"<(?:br\b[^<>]*|/?(?:sup|sub|del|s|strike)\b[^<>]*)>", re.IGNORECASE)
_COMPONENT = re.compile(r"<[A-Z][\w.]*\s[^<>]*\b(?:label|title)=[\"']([^\"'<>]+)[\"']")
"""The start of a component of MDX whose label is a heading, such as `<TabItem label="Linux">`."""
_JSX_COMMENT = re.compile(r"\{/\*(.*?)\*/\}", re.DOTALL)
_MODULE = re.compile(r"(?:(?:import|export)\s[^\n]*\n?)+")
"""A paragraph of MDX that only imports and exports."""
_STRIKE = re.compile(r"<(/?)(?:s|strike)\b", re.IGNORECASE)
_ICONS = {":white_check_mark:": "✓", ":heavy_check_mark:": "✓", ":x:": "✗", ":heavy_multiplication_x:": "✗"}
"""Yes and no as code hosts draw them in tables."""
_UNDEFINED_NOTE = re.compile(r"(?<=[\w.,;:!?%)])\[\^\d{1,3}\](?![\[(*+?{])")


def _box_html(kind: str, title: str | None, omissions: Omissions) -> str:
    """Return the start of a box with its title; its kind, such as `warning`, has no place in the text."""
    kind = kind.strip(' \t/:!?=+|"[]{}')
    if kind and not kind.startswith((".", "#")):
        omissions.add("box_kind", kind)
    written = escape(_MARKS.sub("", title or "").strip().strip("[]").strip())
    return f"<details>{written and f'<summary>{written}</summary>'}"


def _does_open(pattern: re.Pattern[str], params: str, _: str) -> bool:
    return pattern.match(params) is not None


def _container(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    if tokens[place].nesting < 0:
        return "</details>"
    opening = _CONTAINERS[tokens[place].markup[0]].match(tokens[place].info)
    title = re.sub(r"\{[^{}]*\}", "", opening["title"] or "") if opening else ""
    return _box_html(opening["kind"], title, env["omissions"]) if opening else ""


def _indented_box(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """Parse a mark and what is indented by four spaces below it: a rule for blocks."""
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    may_begin = line[:1] in ("!", "?", "=") and not state.is_code_block(start)
    match = _INDENTED_BOX.match(line) if may_begin else None
    if match is None or silent:
        return match is not None
    indent = state.sCount[start] + 4
    stop = start + 1
    while stop < end and (state.isEmpty(stop) or state.sCount[stop] >= indent):
        stop += 1
    opened = state.push("html_box", "div", 1)
    opened.content = _box_html(match["kind"], match["title"], state.env["omissions"])
    before = state.blkIndent, state.lineMax
    state.blkIndent, state.lineMax = indent, stop
    state.md.block.tokenize(state, start + 1, stop)
    state.blkIndent, state.lineMax = before
    state.push("html_box", "div", -1).content = "</details>"
    state.line = stop
    return True


def _drawn_table(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """Parse a table as pandoc draws it, with borders or a rule below its names: a rule for blocks."""
    head = [state.src[state.bMarks[line] : state.eMarks[line]].strip() for line in range(start, end)[:2]]
    if not head[0].startswith("+-") and not head[-1].startswith("--"):
        return False
    stop = start
    while stop < end and not state.isEmpty(stop):
        stop += 1
    lines = [state.src[state.bMarks[line] : state.eMarks[line]] for line in range(start, stop)]
    rows = read_bars(lines) or read_ruled(lines)
    if rows is None or silent:
        return rows is not None
    env = {"omissions": state.env["omissions"]}
    cells = ([f"<{'th' if cell.header else 'td'}>{_render(cell.text, env)}" for cell in row] for row in rows)
    markup = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    state.push("html_box", "table", 0).content = f"<table>{markup}</table>"
    state.line = stop
    return True


def _clean_inline(state: "StateCore") -> None:
    """Remove marks inside text: a rule between blocks and inline text."""
    omissions: Omissions = state.env["omissions"]
    around = ["", ""]
    for token in state.tokens:
        if token.type == "inline":
            token.content = _clean(token.content, around, omissions)
        around = [around[1], token.type]


def _clean(text: str, around: list[str], omissions: Omissions) -> str:
    if around[1] == "heading_open":
        text = _HEADING_ATTRIBUTES.sub("", text)
    elif around == ["blockquote_open", "paragraph_open"] and (mark := _ALERT.match(text)):
        omissions.add("box_kind", mark[0])
        text = text[mark.end() :]
    if around[1] == "paragraph_open" and _MODULE.fullmatch(text) and re.search(r"['\";]\s*$|=", text):
        omissions.add("script", text)
        return ""
    for comment in _JSX_COMMENT.findall(text):
        omissions.add("comment", comment)
    text = _JSX_COMMENT.sub("", text)
    if "{" in text or ":::" in text or "///" in text or "<-" in text:
        text, includes = _INCLUDE.subn("", text)
        if includes:
            omissions.add("include", pieces=includes)
        text = _ATTRIBUTE_LINE.sub("", _STRAY_MARK.sub("", text))
    return text


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one Markdown file.

    Raises:
        DocumentFailure: the bytes cannot be decoded, blocks are nested deeper than any writer means, or the
            file describes a document and does not hold it.
    """
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    omissions = Omissions()
    front, about, body = split_front_matter(text)
    if front.strip():
        omissions.add("front_matter", front)
    try:
        blocks = read_fragment(_render(body, {"omissions": omissions}), omissions)
    except RecursionError as error:
        raise DocumentFailure("nested_too_deep", "blocks are nested too deep to be read") from error
    if front.strip() and not body.strip():
        description = f"front matter of {visible(front)} characters that describes a document"
        raise DocumentFailure("no_text", f"the file holds {description} and no text of it")
    return ParsedFile(tuple(blocks), **asdict(about), left_out=omissions.record(), notes=omissions.notes())


def _render(text: str, env: dict[str, Any]) -> str:
    parser = _parser()
    tokens = parser.parse(text, env)
    if any(token.level >= _DEEPEST for token in tokens):
        raise DocumentFailure("nested_too_deep", f"blocks are nested more than {_DEEPEST} levels deep")
    # An item has the number that is written, where the list goes up: statutes leave some out.
    following: list[int] = []
    for token in tokens:
        if token.type == "ordered_list_open":
            following.append(int(token.attrGet("start") or 0))
        elif token.type == "list_item_open" and token.info.isdecimal():
            following[-1] = max(int(token.info), following[-1]) + 1
            token.attrSet("value", str(following[-1] - 1))
        elif token.type == "ordered_list_close":
            following.pop()
    return str(parser.renderer.render(tokens, parser.options, env))


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt
    from mdit_py_plugins.container import container_plugin
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING})
    parser.enable(["table", "strikethrough"])
    parser.use(footnote_plugin, inline=False, move_to_end=False)
    parser.use(deflist_plugin)
    # A price such as $5 is no formula: no blanks inside the signs, no digits outside them.
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    interrupted = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", "indented_box", _indented_box, {"alt": interrupted})
    parser.block.ruler.before("fence", "drawn_table", _drawn_table, {"alt": interrupted})
    for marker, pattern in _CONTAINERS.items():
        opens = partial(_does_open, pattern)
        container_plugin(parser, f"box{marker}", marker, validate=opens, render=_container)
    parser.core.ruler.before("inline", "dialects", _clean_inline)
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _fence(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    """Return the code, unless it only includes files."""
    token, omissions = tokens[place], env["omissions"]
    lines = [line for line in token.content.split("\n") if line.strip()]
    if lines and all(map(_INCLUDE.match, lines)):
        omissions.add("include", pieces=len(lines))
        return ""
    language, _, rest = token.info.strip().partition(" ")
    if rest:
        omissions.add("code_info", rest)
    # Console output may be coloured with HTML, which readers never see as text.
    console = language.lower() in _CONSOLES and not rest
    text = _COLOURING.sub("", token.content) if console else token.content
    return f"<pre><code>{escape(text)}</code></pre>"


def _left_out(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    """Return nothing for addresses of links, which have no place in the text."""
    env["omissions"].add("link_target", str(tokens[place].attrGet("href") or ""))
    return ""


def _footnote_mark(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    colon = ":" if tokens[place].type == "footnote_reference_open" else ""
    env["omissions"].add("footnote_mark", f"[^{tokens[place].meta['label']}]{colon}")
    return "<div>" if colon else ""


def _inline_html(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    """Return line breaks, scripts and deletions; other elements would begin and end where nobody sees it.

    A deletion ends with its paragraph, which `s` would not.
    """
    markup = tokens[place].content
    if markup.startswith("<!--"):
        env["omissions"].add("comment", markup[4:].removesuffix("-->"))
    if component := _COMPONENT.match(markup):
        return f"{escape(component[1])}: "
    return _STRIKE.sub(r"<\1del", markup) if _KEPT_INLINE.fullmatch(markup) else ""


def _block_html(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    """Return the text of HTML blocks; what only opens or closes elements around Markdown has none."""
    markup = tokens[place].content
    if _TAG.sub("", markup).strip():
        return close_elements(markup)
    labels = _COMPONENT.findall(markup)
    return "".join(f'<p class="admonition-title">{escape(label)}</p>' for label in labels)


def _text(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    """Return text without marks of notes that the file does not hold."""
    text = tokens[place].content
    for mark in _UNDEFINED_NOTE.findall(text) if "[^" in text else ():
        env["omissions"].add("footnote_mark", mark)
        text = text.replace(mark, "", 1)
    return escape(_ICONS.get(text.strip(), text))


def _formula(_: Any, tokens: Any, place: int, *__: Any) -> str:
    return escape(tokens[place].content)


def _formula_block(_: Any, tokens: Any, place: int, *__: Any) -> str:
    return f"<pre><code>{escape(tokens[place].content)}</code></pre>"


_RULES: dict[str, Any] = {
    "text": _text,
    "fence": _fence,
    "image": lambda _, tokens, place, *__: f'<img alt="{escape(tokens[place].content)}">',
    "link_open": _left_out,
    "link_close": lambda *_: "",
    "footnote_ref": _footnote_mark,
    "footnote_reference_open": _footnote_mark,
    "footnote_reference_close": lambda *_: "</div>",
    "html_inline": _inline_html,
    "html_block": _block_html,
    "html_box": lambda _, tokens, place, *__: tokens[place].content,
    **dict.fromkeys(("math_inline", "math_inline_double"), _formula),
    **dict.fromkeys(("math_block", "math_block_label"), _formula_block),
}
