"""Read Markdown: markdown-it writes HTML, and the HTML reader reads it.

Boxes, tabs and containers keep their text and title. Open HTML ends with its block. Footnotes are not moved.
"""

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.html.parser import close_elements, read_fragment
from qa_pipeline.documents.formats.rows import read_bars, read_ruled
from qa_pipeline.documents.formats.text import decode, split_front_matter
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_INDENTED_BOX = re.compile(
    r"(?:(?:!!!|\?\?\?\+?)\s++(?P<kind>[\w -]*)|={3}[!+]?\s++(?=\"))(?:\"(?P<title>[^\"]*)\")?\s*$"
)  # `!!! note "Title"`, `!!! note`, and the tab `=== "Title"`, which must have a title
_BOX_END = "</details>"
_BOX_HEAD = re.compile(r"\s*(?:\{[^{}]*\}|(?P<kind>[a-zA-Z][\w-]*))(?!\S)\s*\|?(?P<title>.*)")
"""The text behind `///` or `:::`, such as `note | Title`, `tip Title` or `{.callout-note}`."""
_INCLUDE = re.compile(r"^[ \t]*(?:\{[*!%].*[*!%]\}|-{2}8<-{2}.*|:::\s+\w+(?:\.\w+)+)[ \t]*$", re.MULTILINE)
"""A line that names a file or module: `{! a.md !}`, `{% include "a.md" %}`, `--8<-- "a.md"` or `::: a.b`."""
_ATTRIBUTES = re.compile(r"(?<![ \t])[ \t]*\{[ ]?:?[ ]?[#.][^{}\n]*\}[ \t]*$", re.MULTILINE)
"""The id or class of a heading or paragraph at the end of its line, such as `{#id}` or `{: .wide}`."""
_ALERT = re.compile(r"\A\[!\w+\][+-]?\s*")  # `> [!NOTE]` makes a quote a box
_NESTING = 60  # levels of blocks
_DEEPEST = _NESTING - 2  # a list takes two levels, and the parser drops deeper text
_COLOURING = re.compile(r"</?(?:font|span|b|u|i)(?:\s[^<>\n]*)?>")
_TAG = re.compile(r"<[a-zA-Z/][^<>]*>")
_KEPT_INLINE = re.compile(r"<(/?)(br|sup|sub|del|s|strike|span|font)\b([^<>]*)>", re.IGNORECASE)
_COMPONENT = re.compile(r"<[A-Z][\w.]*\s[^<>]*\b(?:label|title)=[\"']([^\"'<>]+)[\"'][^<>]*>")
"""The start of a component of MDX whose label is a heading, such as `<TabItem label="Linux">`."""
_JSX_COMMENT = re.compile(r"\{/\*(.*?)\*/\}", re.DOTALL)
_MODULE = re.compile(r"(?:(?:import|export(?!\s+\w+=))\s[^\n]*[='\";][^\n]*(?:\n|\Z))+")
"""A paragraph of MDX that only imports and exports, unlike `export NAME=value` of a shell."""
_ICONS = {":white_check_mark:": "✓", ":heavy_check_mark:": "✓", ":x:": "✗", ":heavy_multiplication_x:": "✗"}
"""Yes and no as code hosts draw them in tables."""


def _start_of_box(kind: str | None, title: str | None, env: Any) -> str:
    """Return the HTML that starts a box, with its title; its kind, such as `warning`, is counted."""
    if kind:
        env["omissions"].add("box_kind", kind)
    title = re.sub(r"\{[^{}]*\}", " ", title or "").strip(" []:")
    label = _parser().renderInline(title, {"omissions": env["omissions"]})
    return f"<details><summary>{label}</summary>" if label else "<details>"


def _fenced_box(_renderer: Any, tokens: Any, index: int, _options: Any, env: Any) -> str:
    head = _BOX_HEAD.fullmatch(tokens[index].info)
    return _start_of_box(head["kind"], head["title"], env) if head else _BOX_END


def _indented_box(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """Parse a mark such as `!!! note` and the indented lines below it.

    In markdown-it `bMarks` and `eMarks` are the starts and ends of lines, and `tShift` and `sCount` their
    indents; `start`, `end` and `stop` count lines. `silent` only asks if the mark is there.
    """
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    mark = None if state.is_code_block(start) else _INDENTED_BOX.match(line)
    if mark is None or silent:
        return mark is not None
    indent = state.sCount[start] + 4  # of the lines inside
    stop = start + 1
    while stop < end and (state.isEmpty(stop) or state.sCount[stop] >= indent):
        stop += 1
    state.push("ready_html", "", 0).content = _start_of_box(mark["kind"], mark["title"], state.env)
    outer_bounds = state.blkIndent, state.lineMax  # the indent of blocks, and the line at which they end
    state.blkIndent, state.lineMax = indent, stop
    state.md.block.tokenize(state, start + 1, stop)
    state.blkIndent, state.lineMax = outer_bounds
    state.push("ready_html", "", 0).content = _BOX_END
    state.line = stop
    return True


def _drawn_table(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """Parse a table drawn with characters; `silent` only asks if it is there."""
    first_two = [state.src[state.bMarks[line] : state.eMarks[line]].strip() for line in range(start, end)[:2]]
    has_border = first_two[0].startswith("+-")  # `+------+------+`
    has_rule = first_two[-1].startswith("--")  # `------  ------` below the heads
    if not has_border and not has_rule:
        return False
    stop = start
    while stop < end and not state.isEmpty(stop):
        stop += 1
    lines = [state.src[state.bMarks[line] : state.eMarks[line]] for line in range(start, stop)]
    rows = read_bars(lines) or read_ruled(lines)
    if rows is None or silent:
        return rows is not None
    env = {"omissions": state.env["omissions"]}
    markup = ""
    for row in rows:
        cells = [f"<{'th' if cell.header else 'td'}>{_render(cell.text, env)}" for cell in row]
        markup += f"<tr>{''.join(cells)}</tr>"
    state.push("ready_html", "table", 0).content = f"<table>{markup}</table>"
    state.line = stop
    return True


def _clean_inline(state: "StateCore") -> None:
    """Remove from paragraphs the marks and names that a rendered page does not show."""
    omissions: Omissions = state.env["omissions"]
    previous_type = ""
    for token in state.tokens:
        if token.type == "inline":
            text = token.content
            if alert := _ALERT.match(text):  # the kind of a box, such as `[!NOTE]`
                omissions.add("box_kind", alert[0])
                text = text[alert.end() :]
            if previous_type == "paragraph_open" and _MODULE.fullmatch(text):  # imports of MDX
                omissions.add("script", text)
                text = ""
            for comment in _JSX_COMMENT.findall(text):
                omissions.add("comment", comment)
            text, includes = _INCLUDE.subn("", _JSX_COMMENT.sub("", text))
            omissions.count("include", pieces=includes, characters=0)
            token.content = _ATTRIBUTES.sub("", text)
        previous_type = token.type


def _tag_footnotes(state: "StateCore") -> None:
    """Give footnotes a tag, as `footnote_plugin` leaves it empty and they would be written as `<>`."""
    for token in state.tokens:
        if token.type in ("footnote_reference_open", "footnote_reference_close"):
            token.tag = "div"


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a Markdown file."""
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    omissions = Omissions()
    front_matter, fields, body = split_front_matter(text)
    if front_matter.strip():
        omissions.add("front_matter", front_matter)
    try:
        blocks = read_fragment(_render(body, {"omissions": omissions}), omissions)
    except RecursionError as error:
        raise DocumentFailure("nested_too_deep", "blocks are nested too deep to be read") from error
    return ParsedFile(tuple(blocks), **fields, left_out=omissions.record())


def _render(text: str, env: dict[str, Any]) -> str:
    parser = _parser()
    tokens = parser.parse(text, env)
    if any(token.level >= _DEEPEST for token in tokens):
        raise DocumentFailure("nested_too_deep", f"blocks are nested more than {_DEEPEST} levels deep")
    _number_items(tokens)
    return str(parser.renderer.render(tokens, parser.options, env))


def _number_items(tokens: "Sequence[Token]") -> None:
    """Number items as written, such as 1, 2, 5 in a statute; 1, 1, 1 becomes 1, 2, 3."""
    last_numbers: list[int] = []  # of each open list
    for token in tokens:
        if token.type == "ordered_list_open":
            last_numbers.append(-1)  # less than any first number
        elif token.type == "ordered_list_close":
            last_numbers.pop()
        elif token.type == "list_item_open" and token.info.isdecimal():
            last_numbers[-1] = max(int(token.info), last_numbers[-1] + 1)
            token.attrSet("value", str(last_numbers[-1]))


@cache
def _parser() -> "MarkdownIt":
    """Return a parser of CommonMark with the boxes, tables and formulas of its dialects."""
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
    for name, marker in (("colons", ":"), ("slashes", "/")):
        parser.use(
            container_plugin, name, marker, lambda text, _: bool(_BOX_HEAD.fullmatch(text)), _fenced_box
        )
    interrupted = ["paragraph", "reference", "blockquote", "list"]  # by these rules, without a blank line
    for rule in (_indented_box, _drawn_table):
        parser.block.ruler.before("fence", rule.__name__, rule, {"alt": interrupted})
    for core_rule in (_clean_inline, _tag_footnotes):  # before the marks in a text are read
        parser.core.ruler.before("inline", core_rule.__name__, core_rule)
    for name, render in _RENDERERS.items():
        parser.add_render_rule(name, render)
    return parser


def _verbatim(_renderer: Any, tokens: Any, index: int, _options: Any, env: Any) -> str:
    """Return a block of code, or a formula in `$$`, as lines of their own."""
    text = tokens[index].content
    language, _, rest = tokens[index].info.strip().partition(" ")  # such as `python title="a.py"`
    if rest:
        env["omissions"].add("code_info", rest)
    if language == "console":  # may be coloured with HTML, which readers never see as text
        text = _COLOURING.sub("", text)
    return f"<pre><code>{escape(text)}</code></pre>"


def _link(_renderer: Any, tokens: Any, index: int, _options: Any, env: Any) -> str:
    env["omissions"].add("link_target", str(tokens[index].attrGet("href") or ""))
    return "<a>"


def _inline_html(_renderer: Any, tokens: Any, index: int, _options: Any, env: Any) -> str:
    """Return breaks, marks of raised, lowered or deleted text, and labels of components; drop the rest."""
    markup = tokens[index].content
    if markup.startswith("<!--"):
        env["omissions"].add("comment", markup[4:].removesuffix("-->"))
        return ""
    if component := _COMPONENT.match(markup):
        return f"{escape(component[1])}: "
    kept = _KEPT_INLINE.fullmatch(markup)
    if kept is None:
        return ""
    slash, name, attributes = kept[1], kept[2].lower(), kept[3]
    if name in ("span", "font"):  # which may hide or raise its text
        return f"<{slash}span{attributes}>"
    # an open `s` would strike out later paragraphs, too, unlike `del`
    return f"<{slash}{'del' if name in ('s', 'strike') else name}>"


def _block_html(_renderer: Any, tokens: Any, index: int, _options: Any, env: Any) -> str:
    """Return the text of HTML blocks; markup without text is dropped."""
    markup = tokens[index].content
    if markup.lstrip().startswith("<?") and ">" not in markup:  # the HTML parser drops an open instruction
        env["omissions"].add("comment", markup)
        return ""
    labelled = _COMPONENT.sub(r'<p class="admonition-title">\1</p>', markup)
    return close_elements(labelled) if _TAG.sub("", labelled).strip() else ""


def _text(_renderer: Any, tokens: Any, index: int, *_: Any) -> str:
    return escape(_ICONS.get(tokens[index].content.strip(), tokens[index].content))


def _ready_html(_renderer: Any, tokens: Any, index: int, *_: Any) -> str:
    return str(tokens[index].content)


_RENDERERS = {
    "text": _text, "fence": _verbatim, "math_block": _verbatim, "math_block_label": _verbatim,
    "link_open": _link, "html_inline": _inline_html, "html_block": _block_html, "ready_html": _ready_html,
}  # fmt: skip
"""By the type of a token; a formula may have a label behind its `$$`, and `ready_html` is of this module."""
