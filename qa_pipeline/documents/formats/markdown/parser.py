"""Markdown files: rendered to HTML by markdown-it, then the reader of HTML.

CommonMark with tables, footnotes, definition lists, formulas, and what generators add (`dialects`). HTML
inside Markdown counts as content; an element that it leaves open ends with its block, so that none swallows
the text below. Footnotes stay where they are written.
"""

import re
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.html.parser import balanced, read_fragment
from qa_pipeline.documents.formats.markdown.blocks import add_dialects, box_html, count_includes, myst_box
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.front_matter import split_front_matter

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_NESTING = 60
_DEEPEST = _NESTING - 2  # a list takes two levels; the parser leaves out what would go over its limit
_CONSOLES = frozenset({"console", "terminal", "shell-session"})
_COLOURING = re.compile(r"</?(?:font|span|b|u|i)(?:\s[^<>\n]*)?>")
_TAG = re.compile(r"<[a-zA-Z/][^<>]*>")
_KEPT_INLINE = re.compile(r"<(?:br\b[^<>]*|/?sup)>", re.IGNORECASE)


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one Markdown file.

    Raises:
        DocumentFailure: the bytes cannot be decoded, blocks are nested deeper than any writer means, or the
            file describes a document and does not hold it.
    """
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    left = Omissions()
    front, about, body = split_front_matter(text)
    if front.strip():
        left.add("front_matter", front)
    try:
        blocks = read_fragment(_rendered(body, {"left": left}), left)
    except RecursionError as error:
        raise DocumentFailure("nested_too_deep", "blocks are nested too deep to be read") from error
    if front.strip() and not body.strip():
        said = f"front matter of {visible(front)} characters that describes a document"
        raise DocumentFailure("no_text", f"the file holds {said} and no text of it")
    return ParsedFile(
        blocks=tuple(blocks),
        title=about.title,
        language=about.language,
        source_uri=about.source_uri,
        licence=about.licence,
        left_out=left.record(),
        notes=left.notes(),
    )


def _rendered(text: str, env: dict[str, Any]) -> str:
    parser = _parser()
    tokens = parser.parse(text, env)
    if any(token.level >= _DEEPEST for token in tokens):
        raise DocumentFailure("nested_too_deep", f"blocks are nested more than {_DEEPEST} levels deep")
    _number_items(tokens)
    return str(parser.renderer.render(tokens, parser.options, env))


def _number_items(tokens: "list[Token]") -> None:
    """The number of an item as it is written where the list goes up, as statutes leave some out."""
    following: list[int] = []
    for token in tokens:
        if token.type == "ordered_list_open":
            start = token.attrGet("start")
            following.append(1 if start is None else int(start))
        elif token.type == "ordered_list_close":
            following.pop()
        elif token.type == "list_item_open" and token.info.isdecimal():
            following[-1] = max(int(token.info), following[-1]) + 1
            token.attrSet("value", str(following[-1] - 1))


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
    add_dialects(parser)
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _fence(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    """Code, a box of MyST, or includes of files."""
    token, left = tokens[place], env["left"]
    box = myst_box(token.info)
    includes = count_includes(token.content)
    if includes or (box and box[0] == "include"):
        left.add("include", pieces=includes or 1)
        return ""
    if box:
        return f"{box_html(*box, left)}{_rendered(token.content, {'left': left})}</details>"
    language, _, beside = token.info.strip().partition(" ")
    if beside:
        left.add("code_info", beside)
    # Console output may be coloured with HTML, which readers never see as text.
    console = language.lower() in _CONSOLES and not beside
    return _code(_COLOURING.sub("", token.content) if console else token.content)


def _code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def _image(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    env["left"].add("image", tokens[place].content)
    return ""


def _link(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    env["left"].add("link_target", str(tokens[place].attrGet("href") or ""))
    return ""


def _footnote_mark(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    colon = ":" if tokens[place].type == "footnote_reference_open" else ""
    env["left"].add("footnote_mark", f"[^{tokens[place].meta['label']}]{colon}")
    return "<div>" if colon else ""


def _inline_html(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    """Line breaks and powers; other elements would begin and end where nobody sees it."""
    markup = tokens[place].content
    if markup.startswith("<!--"):
        env["left"].add("comment", markup[4:].removesuffix("-->"))
    return markup if _KEPT_INLINE.fullmatch(markup) else ""


def _block_html(_: Any, tokens: Any, place: int, __: Any, env: Any) -> str:
    """HTML of its own; what only opens or closes elements around Markdown has no text."""
    markup = tokens[place].content
    return balanced(markup) if _TAG.sub("", markup).strip() else ""


_RULES: dict[str, Any] = {
    "fence": _fence,
    "image": _image,
    "link_open": _link,
    "link_close": lambda *_: "",
    "footnote_ref": _footnote_mark,
    "footnote_reference_open": _footnote_mark,
    "footnote_reference_close": lambda *_: "</div>",
    "html_inline": _inline_html,
    "html_block": _block_html,
    "html_box": lambda _, tokens, place, *__: tokens[place].content,
    "math_inline": lambda _, tokens, place, *__: escape(tokens[place].content),
    "math_inline_double": lambda _, tokens, place, *__: escape(tokens[place].content),
    "math_block": lambda _, tokens, place, *__: _code(tokens[place].content),
    "math_block_label": lambda _, tokens, place, *__: _code(tokens[place].content),
}
