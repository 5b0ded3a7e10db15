"""Tokens of Markdown to blocks in reading order.

What belongs here: the walk over tokens. What does not: finding them (`markdown`), inline text
(`inline`), and HTML inside Markdown (`html`).

The title of a box goes with the first text in it. Footnotes stand at the end of the section that holds them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.list_numbers import OrderedList
from qa_pipeline.documents.formats.rows import Cell, counted_lines
from qa_pipeline.records import Block, BlockKind

if TYPE_CHECKING:
    from markdown_it.token import Token

_ATTRIBUTES_AHEAD = re.compile(r"^\{\s{0,20}:?\s{0,20}[#.][^{}\n]*\}")
_LINE_BREAK = re.compile(r"<br\b", re.IGNORECASE)
_VERBATIM = frozenset({"code_inline", "math_inline", "math_inline_double"})
_BEFORE_ATTRIBUTES = frozenset({"link_close", "image", "code_inline"})


def inline_text(tokens: Sequence["Token"], left: Omissions) -> str:
    """Plain text of inline tokens: links, code and formulas give their text, images and markup nothing."""
    parts: list[str] = []
    after_mark = False
    for token in tokens:
        kind = token.type
        if kind in ("text", "text_special"):
            parts.append(_ATTRIBUTES_AHEAD.sub("", token.content) if after_mark else token.content)
        elif kind in _VERBATIM:
            parts.append(token.content)
        elif kind == "softbreak":
            parts.append(" ")
        elif kind == "hardbreak" or (kind == "html_inline" and _LINE_BREAK.match(token.content)):
            parts.append("\n")
        else:
            _count(token, left)
        after_mark = kind in _BEFORE_ATTRIBUTES
    return "".join(parts)


def _count(token: "Token", left: Omissions) -> None:
    """Count what has no place in the text."""
    if token.type == "image":
        left.add("image", token.content)
    elif token.type == "footnote_ref":
        left.add("footnote_mark", f"[^{token.meta['label']}]")
    elif token.type == "link_open":
        left.add("link_target", str(token.attrGet("href") or ""))
    elif token.type == "html_inline" and token.content.startswith("<!--"):
        left.add("comment", token.content[4:].removesuffix("-->"))


LABEL = "\ue0f1"
"""Begins the title of a box; a private character, which stands for nothing outside this package."""

_CODE_FENCE = re.compile(r"^\s*(`{3,}|~{3,})(.*)$")
_CONTAINER = re.compile(
    r"^(?P<indent>\s*)(?:/{3,}\s*(?:[a-zA-Z][\w-]*\b(?:\s*\|(?P<slashed>[^\n]*)|[^/|\n]*))?"
    r"|:{3,}\s*(?:(?:\{[^{}\n]*\}|[.#]?[a-zA-Z][^\s\[{}]*)(?P<titled>[^\n]*))?)$"
)
"""`/// note | Title` to a closing `///`, and `::: warning Title` to a closing `:::`."""
_INDENTED_BOX = re.compile(
    r"^(?P<indent> *)(?:(?:!!!|\?\?\?\+?)\s+(?:[\w-]+(?:\s+[\w-]+)*)?\s*|={3}[!+]?\s+(?=\"))"
    r"(?:\"(?P<title>[^\"]*)\")?\s*$"
)
"""`!!! note "Title"`, and the tab `=== "Title"`, which without a title is none."""
_INCLUDE = re.compile(
    r"""^\s*(?:
        \{\*.*\*\} | \{!.*!\} | -{1,2}8<-{1,2}.* | ;-{1,2}8<-{1,2}.*
      | \{%-?\s*(?:include|include_relative|include_code|import|embed|snippet)\b.*%\}
      | \{\{[#<%]?\s*\#?(?:include|rustdoc_include|snippet|readfile|code-snippet)\b.*\}\}
      | !includes?\s+\S.* | !!!include\(.*\)!!! | @@snip\s.*
      | \[!(?:include|code(?:-\w+)?)\s*\[?.*\]?\(.*\)\]? | \[!code-\w+\[.*\]\(.*\)\]
      | <<<\s*@?[\w./{}-]+.* | :::\s*code\b.*\bsource\s*=.*::: | :::\s+[a-z_]\w*(?:\.\w+)+
    )\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
"""A line that only names a file: MkDocs, mkdocstrings, Jekyll, mdBook, Hugo, DocFX, VitePress and others."""
_MYST_FENCE = re.compile(r"^\s*\{(?P<name>[a-z:_-]+)\}\s*(?P<rest>.*)$")
_MYST_BOXES = frozenset(
    {
        "admonition", "attention", "caution", "danger", "dropdown", "error", "hint", "important", "note",
        "seealso", "sidebar", "tab-item", "tip", "topic", "warning",
    }
)  # fmt: skip
_MYST_INCLUDES = frozenset({"include", "literalinclude"})
_ATTRIBUTE_LINE = re.compile(r"^\s*\{\s{0,20}:?\s{0,20}[#.][^{}]*\}\s*$")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}")
_AROUND_KINDS = ' \t/:!?=+|"[]'
_INDENT = "    "
_FIRST_OF_MARKS = frozenset("`~/:!?={-;@[<")


def plain_markdown(text: str, left: Omissions) -> str:
    """Drop the marks of known generators, leaving fenced code as it is, and count includes."""
    return "\n".join(_Lines(left).plain(text.replace(LABEL, "").split("\n")))


class _Lines:
    """One pass over lines, with the fences and boxes that are open."""

    def __init__(self, left: Omissions) -> None:
        self.left = left
        self.fence: str | None = None
        self.held: list[str] = []
        self.dropping = False
        self.boxes: list[int] = []
        self.myst: list[str] = []

    def plain(self, lines: list[str]) -> Iterator[str]:
        for line in lines:
            self.boxes = _still_open(self.boxes, line)
            bare = _unindent(line, self.boxes)
            if self.fence is not None:
                yield from self._in_code(bare)
            elif bare.lstrip()[:1] not in _FIRST_OF_MARKS:
                yield bare
            else:
                yield from self._marked(bare)
        yield from self.held

    def _in_code(self, bare: str) -> Iterator[str]:
        """A line of code, held back while the fence holds nothing but includes."""
        mark = _CODE_FENCE.match(bare)
        closes = mark is not None and mark[1].startswith(self.fence or " ") and not mark[2].strip()
        if closes:
            self.fence = None
        if self.dropping:
            self.dropping = not closes
        elif not self.held:
            yield bare
        elif closes and len(self.held) > 1:
            self.left.add("include", pieces=sum(1 for line in self.held[1:] if line.strip()))
            self.held = []
            yield ""
        elif not closes and (_INCLUDE.match(bare) or (len(self.held) > 1 and not bare.strip())):
            self.held.append(bare)
        else:
            yield from [*self.held, bare]
            self.held = []

    def _marked(self, bare: str) -> Iterator[str]:
        """A line that may be a mark."""
        if mark := _CODE_FENCE.match(bare):
            yield from self._open_fence(bare, mark)
        elif box := _INDENTED_BOX.match(bare):
            self.boxes.append(len(box["indent"]) + len(_INDENT) * (1 + len(self.boxes)))
            self._count_kind(bare, box["title"])
            yield from _label(box["indent"], box["title"])
        elif _INCLUDE.match(bare):
            self.left.add("include")
            yield ""
        elif box := _CONTAINER.match(bare):
            title = box["slashed"] or _ATTRIBUTES.sub("", box["titled"] or "")
            self._count_kind(bare, title)
            yield from _label(box["indent"], title)
        elif _ATTRIBUTE_LINE.match(bare):
            yield ""
        else:
            yield bare

    def _count_kind(self, bare: str, title: str | None) -> None:
        """What a mark says besides the title, such as `warning`, has no place in the text."""
        kind = _ATTRIBUTES.sub("", bare.replace(title, "", 1) if title else bare).strip(_AROUND_KINDS)
        if kind:
            self.left.add("box_kind", kind)

    def _open_fence(self, bare: str, mark: re.Match[str]) -> Iterator[str]:
        """Code begins; a fence of MyST may be a box of text, or stand for a file."""
        if self.myst and mark[1] == self.myst[-1] and not mark[2].strip():
            self.myst.pop()
            yield ""
            return
        directive = _MYST_FENCE.match(mark[2])
        if directive and directive["name"] in _MYST_BOXES:
            self.myst.append(mark[1])
            self.left.add("box_kind", directive["name"])
            yield from _label("", directive["rest"])
            return
        self.fence = mark[1]
        if directive and directive["name"] in _MYST_INCLUDES:
            self.left.add("include")
            self.dropping = True
        else:
            self.held = [bare]


def _label(indent: str, title: str | None) -> Iterator[str]:
    written = (title or "").strip().strip("[]").strip()
    if written:
        yield from ("", f"{indent}{LABEL}{written}")
    yield ""


def _still_open(boxes: list[int], line: str) -> list[int]:
    """The indented boxes a line belongs to, by its indentation; a blank line closes none."""
    if not boxes or not line.strip():
        return boxes
    width = len(line) - len(line.lstrip(" "))
    return [needed for needed in boxes if width >= needed]


def _unindent(line: str, boxes: list[int]) -> str:
    """Take off the four spaces each open box adds."""
    return line[min(len(_INDENT) * len(boxes), len(line) - len(line.lstrip(" "))) :] if boxes else line


_BLOCKS_ATTRIBUTES = re.compile(r"\s{0,20}\{\s{0,20}:?\s{0,20}[#.][^{}\n]*\}\s*$")
_ALERT = re.compile(r"\A\[!\w+\][+-]?\s*")
"""`> [!NOTE]` makes a quote a box."""
_CONSOLES = frozenset({"console", "terminal", "shell-session"})
_COLOURING = re.compile(r"</?(?:font|span|b|u|i)(?:\s[^<>\n]*)?>")
_TAG = re.compile(r"<[a-zA-Z/][^<>]*>")
_CODE = frozenset({"fence", "code_block", "math_block", "math_block_label"})
_LISTS = frozenset(
    f"{kind}_{edge}" for kind in ("bullet_list", "ordered_list", "dl") for edge in ("open", "close")
)


class Walk:
    """One pass over the flat list of tokens, with what is open at the moment."""

    def __init__(self, left: Omissions) -> None:
        self.left = left
        self.lists: list[OrderedList | None] = []
        self.marker: str | None = None
        self.quotes = 0
        self.fresh_item = False
        self.fresh_quote = False
        self.heading = 0
        self.rows: list[list[Cell]] = []
        self.cell_is_header: bool | None = None
        self.in_term = False
        self.terms: list[str] = []
        self.label: str | None = None
        self.in_note = False
        self.notes: list[Block] = []

    def blocks(self, tokens: Sequence["Token"]) -> Iterator[Block]:
        """All blocks of a document."""
        for token in tokens:
            if token.type == "heading_open":
                yield from self._end_section()
            for block in self._of(token):
                if self.in_note:
                    self.notes.append(block)
                else:
                    yield block
        yield from self._waiting()
        yield from self._end_section()

    def _end_section(self) -> list[Block]:
        notes, self.notes = self.notes, []
        return notes

    def _of(self, token: "Token") -> Iterator[Block]:
        kind = token.type
        if kind == "inline":
            yield from self._inline(token)
        elif kind in _CODE:
            yield from self._waiting()
            yield from self._lone_marker()
            self.fresh_item = False
            _, _, beside = token.info.strip().partition(" ")
            if beside:
                self.left.add("code_info", beside)
            yield Block("code", _code(token))
        elif kind == "html_block":
            yield from self._html(token.content)
        elif kind == "table_close":
            yield from self._waiting()
            yield from self._lone_marker()
            yield from self._table()
        else:
            if kind in _LISTS or kind == "heading_open" or kind.startswith("footnote_reference"):
                yield from self._waiting()
            if kind in _LISTS:
                yield from self._lone_marker()
            self._track(token)

    def _track(self, token: "Token") -> None:
        kind = token.type
        if kind in _LISTS:
            self._track_list(token)
        elif kind in ("blockquote_open", "blockquote_close"):
            self.quotes += token.nesting
            self.fresh_quote = token.nesting == 1
        elif kind in ("list_item_open", "list_item_close", "dd_open", "dd_close"):
            self.fresh_item = token.nesting == 1
            ordered = self.lists[-1] if self.fresh_item and self.lists else None
            self.marker = _number(ordered, token.info) if ordered else None
        elif kind in ("dt_open", "dt_close"):
            self.in_term = token.nesting == 1
        elif kind in ("heading_open", "heading_close"):
            self.heading = int(token.tag[1]) if token.nesting == 1 else 0
        elif kind in ("footnote_reference_open", "footnote_reference_close"):
            self._track_note(token)
        else:
            self._track_table(kind)

    def _track_list(self, token: "Token") -> None:
        self.fresh_item = False
        if token.nesting == 1:
            ordered = token.type == "ordered_list_open"
            self.lists.append(OrderedList(_start(token)) if ordered else None)
        else:
            self.lists.pop()

    def _track_note(self, token: "Token") -> None:
        self.in_note = token.nesting == 1
        self.fresh_item = False
        if self.in_note:
            self.left.add("footnote_mark", f"[^{token.meta['label']}]:")

    def _track_table(self, kind: str) -> None:
        if kind == "tr_open":
            self.rows.append([])
        elif kind in ("th_open", "td_open"):
            self.cell_is_header = kind == "th_open"
        elif kind in ("th_close", "td_close"):
            self.cell_is_header = None

    def _inline(self, token: "Token") -> Iterator[Block]:
        text = inline_text(token.children or (), self.left)
        if self.cell_is_header is not None:
            self.rows[-1].append(Cell(" ".join(text.split()), self.cell_is_header))
        elif self.heading:
            marker = f"{self._take_marker()} " if self.marker else ""
            yield Block("heading", marker + _BLOCKS_ATTRIBUTES.sub("", text), self.heading)
        elif self.in_term:
            self.terms.append(text.strip())
        elif text.startswith(LABEL):
            yield from self._waiting()
            self.label = text.removeprefix(LABEL).strip()
        else:
            yield from self._flowing(text)

    def _flowing(self, text: str) -> Iterator[Block]:
        """A paragraph, or what a list item or quote begins with."""
        kind: BlockKind = "quote" if self.quotes else "paragraph"
        if self.fresh_quote:
            self.fresh_quote = False
            if mark := _ALERT.match(text):
                self.left.add("box_kind", mark[0])
                text = text[mark.end() :]
        if self.fresh_item:
            kind, self.fresh_item = "list_item", False
        if self.terms:
            text = f"{self._take_terms().rstrip(' :')}: {text}"
        elif self.label and kind == "list_item":
            yield from self._waiting()
        elif self.label:
            label, self.label = self.label, None
            text = f"{label} {text}" if label.endswith((".", ":", "!", "?")) else f"{label}: {text}"
        if kind == "list_item":
            yield Block(kind, text, self._depth(), marker=self._take_marker())
        else:
            yield Block(kind, text)

    def _depth(self) -> int:
        return max(len(self.lists) - 1, 0)

    def _take_marker(self) -> str | None:
        marker, self.marker = self.marker, None
        return marker

    def _lone_marker(self) -> Iterator[Block]:
        """The number of an item that begins with a list, a table or code stands alone."""
        if self.marker:
            yield Block("list_item", "", self._depth(), marker=self._take_marker())

    def _waiting(self) -> Iterator[Block]:
        """A title or term with no text to go with stands alone."""
        if self.label:
            yield Block("paragraph", self.label)
            self.label = None
        if self.terms:
            yield Block("list_item", self._take_terms(), self._depth())
            self.fresh_item = False

    def _take_terms(self) -> str:
        terms, self.terms = self.terms, []
        return ", ".join(terms)

    def _table(self) -> Iterator[Block]:
        lines = counted_lines(self.rows, self.left)
        self.rows = []
        yield from (Block("table_row", line) for line in lines)

    def _html(self, markup: str) -> Iterator[Block]:
        """Text of an HTML block; one that only opens or closes elements around Markdown has none."""
        if not _TAG.sub("", markup).strip():
            return
        blocks = read_fragment(markup, self.left)
        if blocks:
            yield from self._waiting()
            yield from self._lone_marker()
            self.fresh_item = False
            yield from blocks


def _start(token: "Token") -> int:
    written = token.attrGet("start")
    return 1 if written is None else int(written)


def _number(ordered: OrderedList, written: str) -> str:
    """The number as it is written where the list goes up, as statutes leave some out; else counted."""
    return ordered.number(max(int(written), ordered.following) if written.isdecimal() else None)


def _code(token: "Token") -> str:
    """Code as it stands; console output may be coloured with HTML, which readers never see as text."""
    console = token.info.strip().lower() in _CONSOLES
    return _COLOURING.sub("", token.content) if console else token.content
