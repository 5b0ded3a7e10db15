"""Text of HTML elements to blocks, element by element."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from lxml.html import fragment_fromstring

from qa_pipeline.documents.assembly import Omissions, OrderedList, Style, visible
from qa_pipeline.documents.formats.formulas import LEVEL, LOWERED, RAISED, settle, write_formula
from qa_pipeline.documents.formats.rows import SAMPLE_ROWS, Cell, counted_lines, inside_cell, names_columns
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


def _names_more(above: Sequence[Sequence[Cell]], row: Sequence[Cell]) -> bool:
    """Return True if a row of `th` below a head is a head itself.

    Right below the head that takes spans or units; further down, a row without numbers other than years.
    """
    texts = [cell.text for cell in row[1:] if cell.text]
    if all(cell.header for cell in above[-1] if cell.text):
        spans = any(cell.columns > 1 or cell.rows > 1 for cell in above[-1])
        return spans or all(text[0] in "([" for text in texts)
    return not any(_DIGIT.search(text) and not _YEAR.fullmatch(text) for text in texts)


_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?:19|20)\d\d")

Role = Literal["text", "block", "inline", "unseen"]
"""`block` ends the text before it, and `inline` does not."""

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = frozenset({"ul", "ol", "dl", "menu", "dir"})
CODE = frozenset({"code", "tt", "samp", "kbd"})
BREAKING = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div",
    "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend", "li",
    "main", "ol", "p", "pre", "section", "summary", "table", "td", "th", "ul",
})  # fmt: skip
LABELS = frozenset({"admonition-title", "topic-title", "sidebar-title"})
"""Classes of labels of boxes, by docutils and Python-Markdown."""
_STARTS = {"br": "\n", "q": "“", "sup": RAISED, "sub": LOWERED}
_ENDS = {"q": "”", "sup": LEVEL, "sub": LEVEL}


@lru_cache(maxsize=1024)
def role_of(tag: str) -> Role:
    """Return the role of an element in the text; custom elements have a hyphen and are blocks."""
    if tag == "-text":
        return "text"
    if tag.startswith(("-", "_", "!")):  # comments and the like
        return "unseen"
    return "block" if tag in BREAKING or tag in HEADINGS or "-" in tag else "inline"


_BLOCKS = "table table, table h1, table h2, table h3, table section, table article"
_DEEPEST_TABLE = 10  # tables in tables; deeper ones are read without their rows
# Inside <code> without <pre> only non-breaking spaces indent; line ends and spaces are the markup's own.
_CODE_BLANKS = re.compile(r"[ \t\r]+")
_CODE_EDGES = re.compile(r"[ \t]{0,200}\n[ \t]*")
_NUMBER = re.compile(r"\s*(-?[0-9]{1,9})")
_UNNUMBERED = re.compile(r"list-style(?:-type)?\s*:[^;]{0,200}\b(?:none|disc|circle|square)\b", re.IGNORECASE)
_STYLES: dict[str, Style] = {"a": "letters", "i": "roman"}


class Reader:
    """A reader that collects text between the edges of block elements and decides on their kinds."""

    def __init__(self, omissions: Omissions) -> None:
        self.omissions = omissions
        self.blocks: list[Block] = []
        self.parts: list[str] = []
        self.containers: list[str] = []
        self.level = 0
        self.lists: list[OrderedList | None] = []
        self.quotes = 0
        self.verbatim = 0
        self.only_code = False
        self.fresh_item = False
        self.marker: str | None = None
        self.terms: list[str] = []
        self.described: str | None = None
        self.label: str | None = None
        self.labelling = False

    def text(self, text: str) -> None:
        """Add text to the block in progress."""
        if not self.verbatim:
            text = text.replace("\n", " ")  # a line end in the markup is no line end of the text
        self.parts.append(text)

    def open(self, tag: str, node: "LexborNode") -> None:
        """Begin an element that means something for the text."""
        if role_of(tag) == "block":
            self.flush(tag)
            self._enter(tag, node)
        elif tag in _STARTS:
            self.parts.append(_STARTS[tag])

    def close(self, tag: str) -> None:
        """End an element that was opened."""
        if role_of(tag) == "block":
            self.flush(tag)
            self._leave(tag)
        elif tag in _ENDS:
            self.parts.append(_ENDS[tag])

    def table(self, blocks: list[Block]) -> None:
        """Take in a table that was read."""
        self.flush()
        self._write_label()
        self._write_marker()
        self.blocks += blocks

    def finish(self) -> list[Block]:
        """End the last block, and return all."""
        self.flush()
        self._write_term()
        self._write_label()
        return self.blocks

    def flush(self, tag: str = "") -> None:
        """End the block in progress."""
        if not self.parts:
            self.only_code = False
            return
        text = settle("".join(self.parts), self.omissions)
        self.parts.clear()
        only_code, self.only_code = self.only_code, False
        if not text.strip():
            return
        if self.level:
            number, self.marker = self.marker, None  # of the item that begins with it
            heading = f"{number} {text.lstrip()}" if number else text
            self.blocks.append(Block("heading", heading, self.level))
        elif self.labelling:
            self._write_label()
            self.label = " ".join(text.split())
        elif self.verbatim:
            self._write_label()
            self._write_marker()
            self.blocks.append(Block("code", text))
        elif self.containers and self.containers[-1] == "dt":
            self.terms.append(text.strip())
        else:
            self._write_text(text, only_code)

    def _write_item(self, text: str) -> None:
        marker, self.marker = self.marker, None
        self.blocks.append(Block("list_item", text, max(len(self.lists) - 1, 0), marker=marker))

    def _write_marker(self) -> None:
        """Write the number of an item that begins with a list, a table or code: it is alone."""
        if self.marker:
            self.fresh_item = False
            self._write_item("")

    def _write_text(self, text: str, only_code: bool) -> None:
        """Write text as an item if it begins one, as code if it is all code, or else as a paragraph."""
        if self.fresh_item:
            self.fresh_item = False
            self._write_label()
            if self.terms:
                self.described = self._take_terms().rstrip(" :")
            is_description = self.containers[-1:] == ["dd"] and self.described is not None
            self._write_item(f"{self.described}: {text.strip()}" if is_description else text)
        elif only_code:
            self._write_label()
            self.blocks.append(Block("code", _CODE_EDGES.sub("\n", _CODE_BLANKS.sub(" ", text))))
        else:
            if self.label:
                colon = "" if self.label.endswith((".", ":", "!", "?")) else ":"
                text, self.label = f"{self.label}{colon} {text}", None
            self.blocks.append(Block("quote" if self.quotes else "paragraph", text))

    def _write_label(self) -> None:
        """Write the heading of a box without prose as a paragraph of its own."""
        if self.label:
            self.blocks.append(Block("paragraph", self.label))
            self.label = None

    def _enter(self, tag: str, node: "LexborNode") -> None:
        if tag in ("p", "div"):
            inside = {
                child.tag
                for child in node.iter(include_text=True)
                if child.tag != "-text" or (child.text_content or "").strip()
            }
            self.only_code = bool(inside) and inside <= CODE
        if tag == "p" or tag in HEADINGS:
            self.labelling = not LABELS.isdisjoint((node.attributes.get("class") or "").split())
            self.level = 0 if self.labelling else HEADINGS.get(tag, self.level)
        elif tag in LISTS:
            self._write_term()
            self._write_marker()
            self.lists.append(_start_list(tag, node))
            self.fresh_item = False
            self.described = None
        elif tag in ("li", "dd"):
            self.fresh_item = True
            inner = self.lists[-1] if self.lists and tag == "li" and not self.verbatim else None
            self.marker = inner.number(_read_integer(node.attributes.get("value"))) if inner else None
        elif tag == "dt":
            # Terms that follow one another share their descriptions; one without any stands alone.
            self.fresh_item = False
            self.described = None
        elif tag == "blockquote":
            self.quotes += 1
        elif tag == "pre":
            self._write_term()
            self.verbatim += 1
        elif tag == "summary":
            self.labelling = True
        if tag in ("li", "dd", "dt"):
            self.containers.append(tag)

    def _leave(self, tag: str) -> None:
        self.labelling = False
        if tag in HEADINGS:
            self.level = 0
        elif tag in LISTS:
            self._write_term()
            del self.lists[-1:]
            self.fresh_item = False
        elif tag == "blockquote":
            self.quotes = max(self.quotes - 1, 0)
        elif tag == "pre":
            self.verbatim = max(self.verbatim - 1, 0)
        elif tag == "dd":
            self._write_term()
        elif tag in ("details", "aside"):
            self._write_label()
        if tag in ("li", "dd", "dt") and self.containers:
            self.containers.pop()
            self.fresh_item = False
            self.marker = None

    def _write_term(self) -> None:
        """Write a term without a description in prose as an item of its own."""
        if self.terms:
            self._write_item(self._take_terms())
            self.fresh_item = False

    def _take_terms(self) -> str:
        terms, self.terms = self.terms, []
        return ", ".join(terms)


def read_blocks(root: "LexborNode", omissions: Omissions, depth: int = 0) -> list[Block]:
    """Return the blocks below `root`; recursion is bounded by `depth`, the number of tables around it."""
    reader = Reader(omissions)
    inside: list[tuple[LexborNode, str]] = []
    node = root.first_child
    while node is not None:
        tag = node.tag or ""
        part, inner = role_of(tag), None
        if part == "text":
            reader.text(node.text_content or "")
        elif tag == "math":
            formula = fragment_fromstring(node.html or "")
            reader.text(write_formula(formula, omissions, node.text()))
        elif tag == "table" and (depth or not _is_layout(node)):
            reader.table(_read_table(node, omissions, depth))
        elif part != "unseen":
            reader.open(tag, node)
            if (inner := node.first_child) is None:
                reader.close(tag)
            else:
                inside.append((node, tag))
        following = node.next if inner is None else inner
        while following is None and inside:
            node, tag = inside.pop()
            reader.close(tag)
            following = node.next
        node = following
    return reader.finish()


def _read_table(table: "LexborNode", omissions: Omissions, depth: int) -> list[Block]:
    """Return the caption of a data table and its rows as lines."""
    blocks: list[Block] = []
    read: list[list[Cell]] = []
    heads = 0
    for part in table.iter():
        if part.tag == "caption":
            blocks += read_blocks(part, omissions, depth + 1)
        if part.tag in ("thead", "tbody", "tfoot"):
            read += [[_read_cell(cell, omissions, depth) for cell in row.iter()] for row in part.iter()]
        if part.tag == "thead":
            read = [[replace(cell, header=True) for cell in row] for row in read]
            heads = len(read)
    if _has_unmarked_names(table, read):
        read[0] = [replace(cell, header=True) for cell in read[0]]
    rows: list[list[Cell]] = []
    width = max((sum(cell.columns for cell in row) for row in read), default=0)
    below = heads > 0  # whether a row of data may come next
    for place, row in enumerate(read):
        if len(row) == 1 < width == row[0].columns:
            rows.append([replace(row[0], header=True)])
            continue
        is_head = len(row) > 1 and all(cell.header for cell in row if cell.text)
        is_data = is_head and place >= heads and below and not _names_more(rows, row)
        rows.append([replace(cell, header=False) for cell in row] if is_data else row)
        below = below or is_head
    return [*blocks, *(Block("table_row", line) for line in counted_lines(rows, omissions))]


def _has_unmarked_names(table: "LexborNode", rows: Sequence[Sequence[Cell]]) -> bool:
    """Return True if a table lacks header cells, and its first row is bold or reads like names."""
    if len(rows) < 2 or len(rows[0]) < 2 or any(cell.header for row in rows for cell in row):
        return False
    if [_is_bold(row) for row in table.css("tr")[:2]] == [True, False]:
        return True
    first, *below = [[cell.text for cell in row] for row in rows[: SAMPLE_ROWS + 1]]
    return names_columns(first, below, may_be_keys=len(first) == 2)


def _is_bold(row: "LexborNode") -> bool:
    marked = sum(visible(part.text()) for part in row.css("b, strong"))
    return marked > 0 and marked == visible(row.text())


def _read_cell(cell: "LexborNode", omissions: Omissions, depth: int) -> Cell:
    attributes = cell.attributes
    columns, rows = (_read_integer(attributes.get(name)) or 1 for name in ("colspan", "rowspan"))
    deepest = [Block("paragraph", cell.text())]
    blocks = read_blocks(cell, omissions, depth + 1) if depth < _DEEPEST_TABLE else deepest
    parts: list[str] = []
    for kind, group in groupby(blocks, attrgetter("kind")):
        texts = [f"{block.marker or ''} {block.text}".strip() for block in group]
        parts.append(
            inside_cell(texts) if kind == "table_row" else (", " if kind == "list_item" else " ").join(texts)
        )
    return Cell(" ".join(" ".join(parts).split()), cell.tag == "th", columns, rows)


def _is_layout(table: "LexborNode") -> bool:
    """Return True if a table only lays out a page: it has blocks and lacks names, or is a row of code."""
    if any(part.tag in ("caption", "thead") for part in table.iter()):
        return False
    rows = [[cell.tag for cell in row.iter()] for group in table.iter() for row in group.iter()]
    if any("th" in row for row in rows):
        return False
    has_columns = len(rows) > 1 and min(map(len, rows)) > 1
    return table.css_first(_BLOCKS) is not None or (not has_columns and table.css_first("pre") is not None)


def _start_list(tag: str, node: "LexborNode") -> OrderedList | None:
    if tag != "ol":
        return None
    attributes = node.attributes
    kind = attributes.get("type") or "1"
    if _UNNUMBERED.search(attributes.get("style") or "") or kind in ("none", "disc", "circle", "square"):
        return None
    start, down = _read_integer(attributes.get("start")), "reversed" in attributes
    if start is None:
        start = sum(child.tag == "li" for child in node.iter()) if down else 1
    return OrderedList(start, _STYLES.get(kind.lower(), "digits"), kind.isupper(), -1 if down else 1)


def _read_integer(written: str | None) -> int | None:
    number = _NUMBER.match(written or "")
    return int(number[1]) if number else None
