"""Tokens of Markdown to blocks in reading order.

What belongs here: the walk over tokens. What does not: finding them (`markdown`), inline text
(`inline`), and HTML inside Markdown (`html`).

The title of a box goes with the first text in it. Footnotes stand at the end of the section that holds them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from qa_pipeline.documents.html.parser import read_fragment
from qa_pipeline.documents.list_numbers import OrderedList
from qa_pipeline.documents.markdown.dialects import LABEL
from qa_pipeline.documents.markdown.inline import inline_text
from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.documents.rows import Cell, counted_lines
from qa_pipeline.records import Block, BlockKind

if TYPE_CHECKING:
    from markdown_it.token import Token

_ATTRIBUTES = re.compile(r"\s{0,20}\{\s{0,20}:?\s{0,20}[#.][^{}\n]*\}\s*$")
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
            yield Block("heading", marker + _ATTRIBUTES.sub("", text), self.heading)
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
