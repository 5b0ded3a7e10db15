"""Markdown files: CommonMark with tables, front matter, and the marks of documentation generators.

What belongs here: the entry point and the walk over tokens. What does not: marks that CommonMark does not
know (`markdown_dialects`), and HTML inside Markdown (`html`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.front_matter import read_front_matter
from qa_pipeline.documents.html import read_fragment
from qa_pipeline.documents.markdown_dialects import plain_markdown
from qa_pipeline.documents.rows import Cell, render_rows
from qa_pipeline.records import Block, BlockKind, ParsedFile, SourceFile
from qa_pipeline.settings import DocumentSettings

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_NESTING = 60
_DEEPEST = _NESTING - 2  # a list takes two levels; the parser leaves out what would go over its limit
_ATTRIBUTES = re.compile(r"\s*\{\s*:?\s*[#.][^{}\n]*\}\s*$")
_ATTRIBUTES_AHEAD = re.compile(r"^\{\s*:?\s*[#.][^{}\n]*\}")
_LINE_BREAK = re.compile(r"<br\b", re.IGNORECASE)
_CONSOLES = frozenset({"console", "terminal", "shell-session"})
_COLOURING = re.compile(r"</?(?:font|span|b|u|i)(?:\s[^<>\n]*)?>")
_MARKUP = re.compile(r"<(?!!--)[a-zA-Z/][^>]*>|<!--.*?-->", re.DOTALL)


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one Markdown file.

    Raises:
        DocumentFailure: the bytes cannot be decoded, or blocks are nested deeper than any writer means.
    """
    tokens = _parser().parse(plain_markdown(decode(source.content)))
    if any(token.level >= _DEEPEST for token in tokens):
        raise DocumentFailure("nested_too_deep", f"blocks are nested more than {_DEEPEST} levels deep")
    front = next((token.content for token in tokens if token.type == "front_matter"), "")
    about = read_front_matter(front)
    return ParsedFile(
        blocks=tuple(_Walk(tokens).blocks()),
        title=about.title,
        language=about.language,
        source_uri=about.source_uri,
        licence=about.licence,
    )


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt
    from mdit_py_plugins.front_matter import front_matter_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING})
    return parser.enable(["table", "strikethrough"]).use(front_matter_plugin)


@dataclass(slots=True)
class _Walk:
    """One pass over the flat list of tokens, with what is open at the moment."""

    tokens: Sequence["Token"]
    lists: int = 0
    quotes: int = 0
    fresh_item: bool = False
    heading: int = 0
    rows: list[list[Cell]] = field(default_factory=list)
    cell_is_header: bool | None = None

    def blocks(self) -> Iterator[Block]:
        for token in self.tokens:
            if token.type == "inline":
                yield from self._inline(token)
            elif token.type in ("fence", "code_block"):
                self.fresh_item = False
                yield Block("code", _code(token))
            elif token.type == "html_block":
                yield from self._html(token.content)
            elif token.type == "table_close":
                yield from (Block("table_row", line) for line in render_rows(self.rows))
                self.rows = []
            else:
                self._track(token)

    def _track(self, token: "Token") -> None:
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open"):
            self.lists += 1
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self.lists -= 1
        elif kind in ("blockquote_open", "blockquote_close"):
            self.quotes += token.nesting
        elif kind in ("list_item_open", "list_item_close"):
            self.fresh_item = token.nesting == 1
        elif kind in ("heading_open", "heading_close"):
            self.heading = int(token.tag[1]) if token.nesting == 1 else 0
        elif kind == "tr_open":
            self.rows.append([])
        elif kind in ("th_open", "td_open"):
            self.cell_is_header = kind == "th_open"
        elif kind in ("th_close", "td_close"):
            self.cell_is_header = None

    def _inline(self, token: "Token") -> Iterator[Block]:
        text = _inline_text(token.children or ())
        if self.cell_is_header is not None:
            self.rows[-1].append(Cell(" ".join(text.split()), self.cell_is_header))
        elif self.heading:
            yield Block("heading", _ATTRIBUTES.sub("", text), self.heading)
        else:
            kind: BlockKind = "quote" if self.quotes else "paragraph"
            if self.fresh_item:
                kind, self.fresh_item = "list_item", False
            yield Block(kind, text, self.lists - 1 if kind == "list_item" else 0)

    def _html(self, markup: str) -> Iterator[Block]:
        """Text of an HTML block; one that only opens or closes elements around Markdown has none."""
        if _MARKUP.sub("", markup).strip():
            self.fresh_item = False
            yield from read_fragment(markup)


def _code(token: "Token") -> str:
    """Code as it stands; console output may be coloured with HTML, which readers never see as text."""
    console = token.info.strip().lower() in _CONSOLES
    return _COLOURING.sub("", token.content) if console else token.content


def _inline_text(tokens: Sequence["Token"]) -> str:
    """Plain text of inline tokens: links and code give their text, images and markup nothing."""
    parts: list[str] = []
    after_mark = False
    for token in tokens:
        if token.type in ("text", "text_special"):
            parts.append(_ATTRIBUTES_AHEAD.sub("", token.content) if after_mark else token.content)
        elif token.type == "code_inline":
            parts.append(token.content)
        elif token.type == "softbreak":
            parts.append(" ")
        elif token.type == "hardbreak" or (token.type == "html_inline" and _LINE_BREAK.match(token.content)):
            parts.append("\n")
        after_mark = token.type in ("link_close", "image", "code_inline")
    return "".join(parts)
