"""Text of HTML elements to blocks, element by element."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from lxml.html import fragment_fromstring

from qa_pipeline.documents.assembly import Omissions, OrderedList, Style, visible
from qa_pipeline.documents.formats.formulas import LEVEL, LOWERED, RAISED, settle, write_formula
from qa_pipeline.documents.formats.rows import SAMPLE_ROWS, Cell, counted_lines, names_columns
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = frozenset({"ul", "ol", "dl", "menu", "dir"})
BREAKING = HEADINGS.keys() | {  # they end the text before them, as custom elements such as `x-note` do
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div",
    "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend", "li",
    "main", "ol", "p", "pre", "section", "summary", "table", "td", "th", "ul",
}  # fmt: skip
LABELS = frozenset({"admonition-title", "topic-title", "sidebar-title"})  # classes of docutils and Markdown
_STARTS = {"br": "\n", "q": "“", "sup": RAISED, "sub": LOWERED}
_ENDS = {"q": "”", "sup": LEVEL, "sub": LEVEL}
_LAYOUT = "table table, table h1, table h2, table h3, table section, table article"  # blocks of a page
_DEEPEST_TABLE = 10  # tables in tables; deeper tables are read without their rows
_CODE_BLANKS = re.compile(r"[ \t\r]+")  # outside `pre` blanks collapse; only non-breaking ones indent
_NUMBER = re.compile(r"\s*(-?[0-9]{1,9})")
_STYLES: dict[str, Style] = {"a": "letters", "i": "roman"}
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?:19|20)\d\d")


class Reader:
    """A reader that collects text between the edges of block elements and decides on their kinds.

    In `<dl><dt>Power</dt><dd>8 kW<p>At 20 °C.</p></dd><dd>9 kW</dd></dl>`, `</dt>` puts `Power` into
    `waiting_terms`, and each `<dd>` sets `is_new_item`. `<p>` ends the block `Power: 8 kW`, which moves the
    term to `shared_terms`. `</p>` ends a paragraph, and the last `</dd>` the block `Power: 9 kW`.
    """

    def __init__(self, omissions: Omissions) -> None:
        self.omissions = omissions
        self.blocks: list[Block] = []
        self.parts: list[str] = []  # the text of the block in progress
        # The elements around this text:
        self.level = 0  # of a heading; 0 without one
        self.lists: list[OrderedList | None] = []  # None for a list without numbers
        self.items: list[str] = []  # the tags of items: li, dt or dd
        self.around: Counter[str] = Counter()  # counts of all block elements by tag
        self.is_code = False  # True in a paragraph of code alone: `<p><code>make all</code></p>`
        self.is_in_label = False  # True in the title of a box: `<p class="admonition-title">Note</p>`
        # The state that waits for the next block:
        self.is_new_item = False  # True until `li` or `dd` has its first block
        self.marker: str | None = None  # the number of the new item, such as `2.`
        self.waiting_terms: list[str] = []  # texts of `dt` elements, until a `dd` begins with them
        self.shared_terms: str | None = None  # the same, joined, from that `dd` until the next `dt` or list
        self.waiting_label: str | None = None  # `Note` from the end of its title on: `Note: text`

    def text(self, text: str) -> None:
        """Add text to the block in progress; only in `pre` its line ends are kept."""
        self.parts.append(text if self.around["pre"] else text.replace("\n", " "))

    def open(self, tag: str, node: "LexborNode") -> None:
        """Begin an element that means something for the text."""
        if tag in BREAKING or "-" in tag:
            self.flush()
            self._enter(tag, node)
        elif tag in _STARTS:
            self.parts.append(_STARTS[tag])

    def close(self, tag: str) -> None:
        """End an element that was opened."""
        if tag in BREAKING or "-" in tag:
            self.flush()
            self._leave(tag)
        elif tag in _ENDS:
            self.parts.append(_ENDS[tag])

    def table(self, blocks: list[Block]) -> None:
        """Take in a table that was read."""
        self.flush()
        self._add_alone(blocks)

    def finish(self) -> list[Block]:
        """End the last block, and return all."""
        self.flush()
        self._write_terms()
        self._write_label()
        return self.blocks

    def flush(self) -> None:
        """End the block in progress; elements around it decide its kind and the use of a waiting label."""
        text = settle("".join(self.parts), self.omissions) if self.parts else ""
        self.parts.clear()
        is_code, self.is_code = self.is_code, False
        if not text.strip():
            return
        if self.level:  # `<li><h3>Setup</h3>` is the heading `1. Setup`; a label goes on waiting
            number, self.marker = self.marker, None
            heading = f"{number} {text.lstrip()}" if number else text
            self.blocks.append(Block("heading", heading, self.level))
        elif self.is_in_label:  # `<p class="admonition-title">Note</p>`
            self._write_label()  # an earlier label, behind which there was no text
            self.waiting_label = " ".join(text.split())
        elif self.around["pre"]:  # code with its own line ends; in `<li><pre>` it follows the number
            self._add_alone([Block("code", text)])
        elif self.items[-1:] == ["dt"]:  # `<dt>Power</dt>` waits for its description
            self.waiting_terms.append(text.strip())
        elif self.is_new_item:  # `<li>First item`, `<dd>8 kW`, and also `<li><p><code>make all</code></p>`
            self._write_first_block(text)
        elif is_code:  # `<p><code>make all</code></p>` elsewhere
            lines = _CODE_BLANKS.sub(" ", text).split("\n")
            self._add_alone([Block("code", "\n".join(line.strip(" ") for line in lines))])
        else:
            if self.waiting_label:  # a paragraph or quote begins with it: `Note: text`
                colon = "" if self.waiting_label.endswith((".", ":", "!", "?")) else ":"
                text, self.waiting_label = f"{self.waiting_label}{colon} {text}", None
            self.blocks.append(Block("quote" if self.around["blockquote"] else "paragraph", text))

    def _add_alone(self, blocks: list[Block]) -> None:
        """Add code or a table behind waiting terms, label and number, with which it cannot begin."""
        self._write_terms()
        self._write_label()
        self._write_marker()
        self.blocks += blocks

    def _write_first_block(self, text: str) -> None:
        """Write the first text of an item; that of each `dd` begins with the terms above it."""
        self._write_label()
        if self.waiting_terms:
            self.shared_terms = ", ".join(self.waiting_terms).rstrip(" :")
            self.waiting_terms.clear()
        is_description = self.items[-1:] == ["dd"] and self.shared_terms is not None
        self._write_item(f"{self.shared_terms}: {text.strip()}" if is_description else text)

    def _write_item(self, text: str) -> None:
        """Write a text as the first block of an item, with its waiting number."""
        self.is_new_item = False
        marker, self.marker = self.marker, None
        self.blocks.append(Block("list_item", text, max(len(self.lists) - 1, 0), marker=marker))

    def _write_marker(self) -> None:
        """Write a waiting number as an item without text, before a list, a table or code."""
        if self.marker:
            self._write_item("")

    def _write_label(self) -> None:
        """Write a waiting label as a paragraph of its own."""
        if self.waiting_label:
            self.blocks.append(Block("paragraph", self.waiting_label))
            self.waiting_label = None

    def _write_terms(self) -> None:
        """Write waiting terms as an item of their own."""
        if self.waiting_terms:
            self._write_item(", ".join(self.waiting_terms))
            self.waiting_terms.clear()

    def _enter(self, tag: str, node: "LexborNode") -> None:
        """Update the state for the text inside a block element that begins."""
        self.around[tag] += 1
        code = node.css_first("p > code") if tag == "p" else None
        self.is_code = code is not None and code.text().strip() == node.text().strip()
        if tag == "summary":  # the label of `details`
            self.is_in_label = True
        elif tag == "p" or tag in HEADINGS:
            self.is_in_label = not LABELS.isdisjoint((node.attributes.get("class") or "").split())
            # `<h3 class="admonition-title">` is no heading; in `<h3><p>`, the paragraph is one.
            self.level = 0 if self.is_in_label else HEADINGS.get(tag, self.level)
        elif tag in LISTS:  # `<dd><ul>` and `<li><ul>`: a list cannot begin with terms or a number
            self._write_terms()
            self._write_marker()
            self.lists.append(_start_list(node) if tag == "ol" else None)
            self.is_new_item = False
            self.shared_terms = None
        elif tag == "dt":  # other terms than those before
            self.items.append(tag)
            self.shared_terms = None
        elif tag in ("li", "dd"):
            self.items.append(tag)
            self.is_new_item = True
            # in `pre`, items become lines of code, without numbers
            ordered_list = self.lists[-1] if self.lists and tag == "li" and not self.around["pre"] else None
            stated_number = _read_integer(node.attributes.get("value"))
            self.marker = ordered_list.take_number(stated_number) if ordered_list else None

    def _leave(self, tag: str) -> None:
        """Update the state for the text behind a block element that ends."""
        self.around[tag] -= 1
        self.is_in_label = False  # a label ends with its element, or with the first block element inside
        if tag in HEADINGS:
            self.level = 0
        elif tag in ("details", "aside"):
            self._write_label()  # of a box without text
        elif tag in LISTS or tag == "dd":
            self._write_terms()  # without text for them: `<dt>Power</dt></dl>` or `<dt>Power</dt><dd></dd>`
        if tag in LISTS:
            self.lists.pop()
        if tag in ("li", "dd", "dt"):  # text behind an item is a paragraph
            self.items.pop()
            self.is_new_item = False
            self.marker = None


def read_blocks(root: "LexborNode", omissions: Omissions, depth: int = 0) -> list[Block]:
    """Return the blocks below `root`; recursion is bounded by `depth`, the number of tables around it."""
    reader = Reader(omissions)
    # in reverse: nodes to read, and after the children of an element its tag, which closes it
    waiting: list[LexborNode | str] = [*reversed(list(root.iter(include_text=True)))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):  # a tag
            reader.close(node)
            continue
        tag = node.tag or ""
        if tag == "-text":
            reader.text(node.text_content or "")
        elif tag == "math":
            formula = fragment_fromstring(node.html or "")
            reader.text(write_formula(formula, omissions, node.text()))
        elif tag == "table" and (depth or not _is_layout(node)):  # a table in a cell is always data
            reader.table(_read_table(node, omissions, depth))
        elif not tag.startswith(("-", "_", "!")):  # comments and the like
            reader.open(tag, node)
            waiting += [tag, *reversed(list(node.iter(include_text=True)))]
    return reader.finish()


def _read_table(table: "LexborNode", omissions: Omissions, depth: int) -> list[Block]:
    """Return the caption of a data table and its rows as lines."""
    blocks: list[Block] = []
    rows: list[list[Cell]] = []
    head_count = 0
    for part in table.iter():
        if part.tag == "caption":
            blocks += read_blocks(part, omissions, depth + 1)
        if part.tag in ("thead", "tbody", "tfoot"):
            is_head = part.tag == "thead"
            rows += (
                [_read_cell(cell, omissions, depth, is_head) for cell in row.iter()] for row in part.iter()
            )
            head_count = len(rows) if is_head else head_count
    if _has_unmarked_names(table, rows):  # a first row of column names without `th`
        rows[0] = [replace(cell, header=True) for cell in rows[0]]
    lines = counted_lines(_mark_heads(rows, head_count), omissions)
    return [*blocks, *(Block("table_row", line) for line in lines)]


def _mark_heads(rows: Sequence[Sequence[Cell]], head_count: int) -> list[list[Cell]]:
    """Return the rows with header cells for titles, and plain cells for rows of data written in `th`.

    Of three rows of `th`, `Item | Price`, `Nail | 2` and `Screw | 3`, the first is the head, and the others
    become plain. The first `head_count` rows are in `thead`, and never data.
    """
    marked: list[list[Cell]] = []
    width = max((sum(cell.columns for cell in row) for row in rows), default=0)
    has_head = head_count > 0  # without `thead`, it is True after the first row of `th`
    for number, row in enumerate(rows):
        is_title = len(row) == 1 and width > 1 and row[0].columns == width  # a cell across the table
        is_all_headers = len(row) > 1 and all(cell.header for cell in row if cell.text)
        is_below_head = has_head and number >= head_count
        if is_title:
            marked.append([replace(row[0], header=True)])
        elif is_all_headers and is_below_head and not _is_further_head(row, marked[-1]):  # data
            marked.append([replace(cell, header=False) for cell in row])
        else:
            marked.append(list(row))
        has_head = has_head or is_all_headers
    return marked


def _is_further_head(row: Sequence[Cell], row_above: Sequence[Cell]) -> bool:
    """Return True if a row of `th` below the first head is a head as well, judged by the row above it."""
    texts = [cell.text for cell in row[1:] if cell.text]  # the first cell may name the row
    is_below_head = all(cell.header for cell in row_above if cell.text)
    if is_below_head:
        # `Item | 2023` over `Q1 | Q2`, where `Item` spans both rows, and `2023` both columns
        has_spans = any(cell.columns > 1 or cell.rows > 1 for cell in row_above)
        are_units = texts != [] and all(text[0] in "([" for text in texts)  # `Item | (kg) | (m)`
        return has_spans or are_units
    # below data, `Item | 2024 | Change` is a head, and `Screw | 3 | 5%` is data
    has_numbers = any(_DIGIT.search(text) and not _YEAR.fullmatch(text) for text in texts)
    return texts != [] and not has_numbers


def _has_unmarked_names(table: "LexborNode", rows: Sequence[Sequence[Cell]]) -> bool:
    """Return True if a table lacks header cells, and its first row is bold or reads like names."""
    if len(rows) < 2 or len(rows[0]) < 2 or any(cell.header for row in rows for cell in row):
        return False
    if [_is_bold(row) for row in table.css("tr")[:2]] == [True, False]:
        return True
    first, *below = [[cell.text for cell in row] for row in rows[: SAMPLE_ROWS + 1]]
    return names_columns(first, below, may_be_form=len(first) == 2)


def _is_bold(row: "LexborNode") -> bool:
    bold_letters = sum(visible(part.text()) for part in row.css("b, strong"))
    return 0 < bold_letters == visible(row.text())


def _read_cell(cell: "LexborNode", omissions: Omissions, depth: int, is_head: bool) -> Cell:
    """Return a cell with its blocks on a single line, list items joined by commas."""
    columns = _read_integer(cell.attributes.get("colspan")) or 1
    rows = _read_integer(cell.attributes.get("rowspan")) or 1
    is_too_deep = depth >= _DEEPEST_TABLE
    blocks = [Block("paragraph", cell.text())] if is_too_deep else read_blocks(cell, omissions, depth + 1)
    parts: list[str] = []
    for kind, group in groupby(blocks, lambda block: block.kind):
        texts = [f"{block.marker or ''} {block.text}".strip() for block in group]
        if kind == "table_row":  # `A: 1 | B: 2` of a table in the cell becomes `A: 1, B: 2`
            has_names = any(": " in text for text in texts)
            between_rows, between_cells = ("; ", ", ") if has_names else (", ", " ")
            parts.append(between_rows.join(text.replace(" | ", between_cells) for text in texts))
        else:
            parts.append((", " if kind == "list_item" else " ").join(texts))
    return Cell(" ".join(" ".join(parts).split()), is_head or cell.tag == "th", columns, rows)


def _is_layout(table: "LexborNode") -> bool:
    """Return True if a table only lays out a page: it has blocks and lacks names of columns."""
    has_names = table.css_first("table > caption, table > thead, th") is not None
    return not has_names and table.css_first(_LAYOUT) is not None


def _start_list(node: "LexborNode") -> OrderedList | None:
    """Return an `ol` with its numbers, or None if it counts down."""
    if "reversed" in node.attributes:
        return None
    kind = node.attributes.get("type") or "1"
    start = _read_integer(node.attributes.get("start"))
    return OrderedList(1 if start is None else start, _STYLES.get(kind.lower(), "digits"), kind.isupper())


def _read_integer(written: str | None) -> int | None:
    number = _NUMBER.match(written or "")
    return int(number[1]) if number else None
