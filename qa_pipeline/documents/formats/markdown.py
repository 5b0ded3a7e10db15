"""Read Markdown: markdown-it writes HTML, and the HTML reader reads it.

Boxes, tabs and containers keep their text and title. Open HTML ends with its block. Footnotes stay in place.
"""

import re
from dataclasses import asdict
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.html.parser import close_elements, read_fragment
from qa_pipeline.documents.formats.rows import read_bars, read_ruled
from qa_pipeline.documents.front_matter import split_front_matter
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore

_INDENTED_BOX = re.compile(
    r"(?:(?:!!!|\?\?\?\+?)\s++(?P<kind>[\w -]*)|={3}[!+]?\s++(?=\"))(?:\"(?P<title>[^\"]*)\")?\s*$"
)
"""`!!! note "Title"`, and the tab `=== "Title"`."""
_FENCED_BOX = re.compile(
    r"(?:/{3,}\s*(?P<kind>[a-zA-Z][\w-]*)\s*(?:\|(?P<title>.*))?"
    r"|:{3,}\s*(?!code\b)(?:\{[^{}]*\}|(?P<name>[.#]?[a-zA-Z][^\s\[{}.]*)(?![^\s\[{]))(?P<rest>.*))$"
)
"""`/// note | Title` to a closing `///`, and `::: warning Title` to a closing `:::`."""
_FENCE = re.compile(r"(?:/{3,}|:{3,})\s*$")
_INCLUDE = re.compile(r"^[ \t]*(?:\{[*!%].*[*!%]\}|-{2}8<-{2}.*|:::\s+\w+(?:\.\w+)+)[ \t]*$", re.MULTILINE)
"""A line that only names a file or a module."""
_ATTRIBUTES = re.compile(r"(?<![ \t])[ \t]*\{[ ]?:?[ ]?[#.][^{}\n]*\}[ \t]*$", re.MULTILINE)
_ALERT = re.compile(r"\A\[!\w+\][+-]?\s*")
"""`> [!NOTE]` makes a quote a box."""
_NESTING = 60
_DEEPEST = _NESTING - 2  # a list takes two levels; the parser leaves out what would go over its limit
_COLOURING = re.compile(r"</?(?:font|span|b|u|i)(?:\s[^<>\n]*)?>")
_TAG = re.compile(r"<[a-zA-Z/][^<>]*>")
_KEPT_INLINE = re.compile(r"<(/?)(br|sup|sub|del|s|strike|span|font)\b([^<>]*)>", re.IGNORECASE)
_COMPONENT = re.compile(r"<[A-Z][\w.]*\s[^<>]*\b(?:label|title)=[\"']([^\"'<>]+)[\"']")
"""The start of a component of MDX whose label is a heading, such as `<TabItem label="Linux">`."""
_JSX_COMMENT = re.compile(r"\{/\*(.*?)\*/\}", re.DOTALL)
_MODULE = re.compile(r"(?:(?:import|export)\s[^\n]*[='\";][^\n]*(?:\n|\Z))+")
"""A paragraph of MDX that only imports and exports."""
_ICONS = {":white_check_mark:": "✓", ":heavy_check_mark:": "✓", ":x:": "✗", ":heavy_multiplication_x:": "✗"}
"""Yes and no as code hosts draw them in tables."""


def _line(state: "StateBlock", number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _open_box(state: "StateBlock", kind: str | None, title: str | None) -> None:
    """Begin a box with its title; its kind, such as `warning`, is counted."""
    omissions: Omissions = state.env["omissions"]
    if kind and kind[0] not in ".#":
        omissions.add("box_kind", kind)
    title = re.sub(r"\{[^{}]*\}", " ", title or "").strip(" []:")
    label = state.md.renderInline(title, {"omissions": omissions})
    state.push("html_box", "", 0).content = f"<details>{label and f'<summary>{label}</summary>'}"


def _fenced_box(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """Parse a line that begins or ends a box."""
    line = _line(state, start)
    if not line.startswith((":::", "///")) or state.is_code_block(start):
        return False
    is_end, match = _FENCE.match(line) is not None, _FENCED_BOX.match(line)
    if silent or not (is_end or match):
        return is_end or match is not None
    if match:
        _open_box(state, match["kind"] or match["name"], match["title"] or match["rest"])
    else:
        state.push("html_box", "", 0).content = "</details>"
    state.line = start + 1
    return True


def _indented_box(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """Parse a mark and the indented lines below it."""
    match = None if state.is_code_block(start) else _INDENTED_BOX.match(_line(state, start))
    if match is None or silent:
        return match is not None
    indent = state.sCount[start] + 4
    stop = start + 1
    while stop < end and (state.isEmpty(stop) or state.sCount[stop] >= indent):
        stop += 1
    _open_box(state, match["kind"], match["title"])
    before = state.blkIndent, state.lineMax
    state.blkIndent, state.lineMax = indent, stop
    state.md.block.tokenize(state, start + 1, stop)
    state.blkIndent, state.lineMax = before
    state.push("html_box", "", 0).content = "</details>"
    state.line = stop
    return True


def _drawn_table(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """Parse a table that is drawn with characters."""
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
    omissions: Omissions = state.env["omissions"]
    around = ["", ""]
    for token in state.tokens:
        if token.type in ("footnote_reference_open", "footnote_reference_close"):
            token.tag = "div"
        elif token.type == "inline":
            text = token.content
            if around == ["blockquote_open", "paragraph_open"] and (alert := _ALERT.match(text)):
                omissions.add("box_kind", alert[0])
                text = text[alert.end() :]
            if around[1] == "paragraph_open" and _MODULE.fullmatch(text):
                omissions.add("script", text)
                text = ""
            for comment in _JSX_COMMENT.findall(text):
                omissions.add("comment", comment)
            text, includes = _INCLUDE.subn("", _JSX_COMMENT.sub("", text))
            if includes:
                omissions.add("include", pieces=includes)
            token.content = _ATTRIBUTES.sub("", text)
        around = [around[1], token.type]


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a Markdown file."""
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
    for rule in (_indented_box, _fenced_box):
        parser.block.ruler.before("fence", rule.__name__, rule, {"alt": interrupted})
    parser.block.ruler.before("fence", "drawn_table", _drawn_table, {"alt": interrupted})
    parser.core.ruler.before("inline", "dialects", _clean_inline)
    for name, render in _RULES.items():
        parser.add_render_rule(name, render)
    return parser


def _fence(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    text = tokens[place].content
    language, _, rest = tokens[place].info.strip().partition(" ")
    if rest:
        env["omissions"].add("code_info", rest)
    if language == "console":  # may be coloured with HTML, which readers never see as text
        text = _COLOURING.sub("", text)
    return f"<pre><code>{escape(text)}</code></pre>"


def _link(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    env["omissions"].add("link_target", str(tokens[place].attrGet("href") or ""))
    return "<a>"


def _inline_html(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    """Return line breaks, scripts and deletions; other elements are dropped."""
    markup = tokens[place].content
    if markup.startswith("<!--"):
        env["omissions"].add("comment", markup[4:].removesuffix("-->"))
    if component := _COMPONENT.match(markup):
        return f"{escape(component[1])}: "
    if (kept := _KEPT_INLINE.fullmatch(markup)) is None:
        return ""
    name = kept[2].lower()
    if name in ("span", "font"):  # which may hide or raise its text
        return f"<{kept[1]}span{kept[3]}>"
    return f"<{kept[1]}{'del' if name in ('s', 'strike') else name}>"  # a deletion ends with its paragraph


def _block_html(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    """Return the text of HTML blocks; markup without text is dropped."""
    markup = tokens[place].content
    if _TAG.sub("", markup).strip():
        return close_elements(markup)
    labels = _COMPONENT.findall(markup)
    return "".join(f'<p class="admonition-title">{escape(label)}</p>' for label in labels)


def _text(_: Any, tokens: Any, place: int, *__: Any) -> str:
    return escape(_ICONS.get(tokens[place].content.strip(), tokens[place].content))


def _content(_: Any, tokens: Any, place: int, *__: Any) -> str:
    return str(tokens[place].content)


_RULES = {
    "text": _text,
    "fence": _fence,
    "link_open": _link,
    "html_inline": _inline_html,
    "html_block": _block_html,
    "html_box": _content,
    "math_block": _fence,
    "math_block_label": _fence,
}
