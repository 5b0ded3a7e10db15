"""Word files (DOCX, DOCM): the text of a document with its headings, lists, tables and notes.

Macros, templates and linked files are never opened. The file is read with lxml alone. mammoth, measured on
the same files, writes hidden text and prompts into the text, drops deletions and charts without a word,
knows no numbers of list items, and takes ten times as long; python-docx shows no insertions, content
controls, text boxes and notes.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

from qa_pipeline.documents.assembly import Omissions, check_length, visible
from qa_pipeline.documents.formats.delimited import SAMPLE_ROWS, names_columns
from qa_pipeline.documents.formats.formulas import settle
from qa_pipeline.documents.formats.office.docx_text import (
    TEXT,
    VALUE,
    InlineReader,
    Numbering,
    ParagraphStyle,
    Role,
    Styles,
    is_on,
    properties_of,
    prune,
    value_of,
)
from qa_pipeline.documents.formats.office.drawings import DrawnParts
from qa_pipeline.documents.formats.office.package import (
    ALTERNATIVES,
    WORD,
    Package,
    open_package,
    read_file,
    read_number,
    text_of,
)
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.documents.formats.rows import LONGEST_REPEATED, Cell, counted_lines, inside_cell
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.records import Block, BlockKind, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_BESIDE_THE_TEXT = {
    "header": "running_head",
    "footer": "running_foot",
    "comments": "comment",
    "glossaryDocument": "building_block",
}


_BITS = re.compile("[0-9A-Fa-f]{1,8}")
_LOOKS: tuple[tuple[int, str, Literal["firstRow", "firstCol"]], ...] = (
    (0x20, "firstRow", "firstRow"),
    (0x80, "firstColumn", "firstCol"),
)
_BETWEEN: dict[BlockKind, str] = {"list_item": ", "}


class _RawCell(NamedTuple):
    """A cell as the file has it; `goes_on` if it belongs to the cell above it, `bold` if all its text is."""

    blocks: list[Block]
    columns: int = 1
    goes_on: bool = False
    bold: bool = False


def _table_blocks(
    table: "_Element", rows: list[list[_RawCell]], header_rows: int, styles: Styles, omissions: Omissions
) -> list[Block]:
    """Return a line for each row; where a table only lays out a page, the content of its cells in turn.

    A box around text, or text in columns, is one row or column with more than a line in a cell. The first
    `header_rows` rows are repeated on each page.
    """
    one_way = len(rows) == 1 or all(len(row) <= 1 for row in rows)
    if sum(map(len, rows)) == 1 or (one_way and any(len(cell.blocks) > 1 for row in rows for cell in row)):
        return [block for row in rows for cell in row for block in cell.blocks]
    texts = list(_fill_down(rows))
    pairs = [row for row, written in zip(rows, texts, strict=True) if any(written)]
    paired = all(len(row) == 2 and row[0].bold and not row[1].bold for row in pairs)
    first_row, first_column = _look_of(table, styles)
    names = header_rows if header_rows < len(rows) else 0
    if not header_rows:
        names = _count_named_rows(rows, texts, set_off=first_row, paired=paired)
    keys = first_column or (not names and paired)
    width = max((sum(cell.columns for cell in row) for row in rows), default=0)
    cells = []
    for place, (row, written) in enumerate(zip(rows, texts, strict=True)):
        header = place < names or (len(row) == 1 < width == row[0].columns)
        key = keys and any(written[1:])
        placed = enumerate(zip(row, written, strict=True))
        cells.append(
            [Cell(text, header or (key and not column), cell.columns) for column, (cell, text) in placed]
        )
    return [Block("table_row", line) for line in counted_lines(cells, omissions)]


def _count_named_rows(
    rows: list[list[_RawCell]], texts: Sequence[Sequence[str]], *, set_off: bool, paired: bool
) -> int:
    """Return 1 if the first row names the columns, by its looks or its text; else 0."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return 0
    first, second = rows[:2]
    bold = all(cell.bold or not cell.blocks for cell in first) and not all(cell.bold for cell in second)
    if set_off or bold:
        return 1
    simple = all(cell.columns == 1 for cell in first) and not paired
    return int(simple and names_columns(texts[0], texts[1:SAMPLE_ROWS]))


def _look_of(table: "_Element", styles: Styles) -> tuple[bool, bool]:
    """Return whether a table sets off first row and column; Word's default counts if its style does too."""
    style = value_of(table, f"tblPr/{WORD}tblStyle")
    look = table.find(f"{WORD}tblPr/{WORD}tblLook")
    flags: dict[str, str] = {} if look is None else {str(name): str(flag) for name, flag in look.items()}
    bits = int(flags.get(VALUE, "")[-4:], 16) if _BITS.fullmatch(flags.get(VALUE, "")) else 0
    row, column = (
        (bool(bits & bit) or flags.get(WORD + name) in ("1", "true")) and styles.stands_out(style, part)
        for bit, name, part in _LOOKS
    )
    return row, column


def _read_cell(cell: "_Element", blocks: list[Block], *, weigh: bool) -> _RawCell:
    properties = properties_of(cell, f"{WORD}tcPr")
    span, merged = properties.get(f"{WORD}gridSpan"), properties.get(f"{WORD}vMerge")
    columns = 1 if span is None else max(read_number(span.get(VALUE), 1), 1)
    goes_on = merged is not None and merged.get(VALUE, "continue") == "continue"
    runs = [run for run in cell.iter(f"{WORD}r") if (run.findtext(f"{WORD}t") or "").strip()] if weigh else []
    bold = bool(runs) and all(is_on(run.find(f"{WORD}rPr/{WORD}b")) for run in runs)
    return _RawCell(blocks, columns, goes_on, bold)


def _fill_down(rows: Sequence[Sequence[_RawCell]]) -> Iterator[list[str]]:
    """Yield the texts of the cells; one over several rows is in each of them, unless it is long."""
    above: dict[int, str] = {}
    for row in rows:
        texts = []
        column = 0
        for cell in row:
            text = _write_line(cell.blocks)
            if cell.goes_on and not text and len(above.get(column, "")) <= LONGEST_REPEATED:
                text = above.get(column, "")
            elif not cell.goes_on:
                above[column] = text
            texts.append(text)
            column += cell.columns
        yield texts


def _write_line(blocks: Sequence[Block]) -> str:
    parts: list[str] = []
    for kind, group in groupby(blocks, key=lambda block: block.kind):
        texts = [" ".join(block.text.split()) for block in group]
        parts.append(inside_cell(texts) if kind == "table_row" else _BETWEEN.get(kind, " ").join(texts))
    return " ".join(parts)


_TITLE_LEVEL = 0
"""Level of a heading in the style for titles, until it is known whether it is the document's only one."""
_PARAGRAPH = f"{WORD}p"
_TABLE = f"{WORD}tbl"
_WRAPPERS = frozenset(
    {
        *(f"{WORD}{name}" for name in ("sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo")),
        *(f"{ALTERNATIVES}{name}" for name in ("AlternateContent", "Choice", "Fallback")),
    }
)
"""Elements around paragraphs, tables, rows and cells that only say something about them."""
_PROPERTIES = f"{WORD}pPr"
_BODY_TEXT = 9  # the outline level, counted from 0, of what is no heading (ISO 29500-1, 17.3.1.20)
_KINDS: dict[Role, BlockKind] = {
    "title": "heading",
    "heading": "heading",
    "code": "code",
    "quote": "quote",
    "item": "list_item",
}


@dataclass
class _BlockReader:
    """A reader that turns the body of a document and its notes, by their kind and id, into blocks."""

    styles: Styles
    numbering: Numbering
    notes: "Mapping[tuple[str, str], _Element]"
    read_drawing: "Callable[[_Element], list[Block]]"
    omissions: Omissions
    settings: DocumentSettings
    limits: ReaderLimits
    blocks: list[Block] = field(default_factory=list)
    pending: list[tuple[str, str]] = field(default_factory=list)
    met: set[tuple[str, str]] = field(default_factory=set)
    carried: str = ""
    length: int = 0

    def __post_init__(self) -> None:
        self.inline = InlineReader(self.omissions)

    def read(self, body: "_Element") -> list[Block]:
        """Return the blocks of the body, with notes at the end of the sections that refer to them."""
        for element in _children_of(body, _PARAGRAPH, _TABLE):
            waiting, self.pending = self.pending, []
            blocks = self._read([element])
            met, self.pending = self.pending, waiting  # notes on a heading belong to the section it opens
            for block in blocks:
                if block.kind == "heading":
                    self._write_notes()
                self.blocks.append(block)
            self.pending += met
        self.blocks += self._carried_over()
        self._write_notes()
        for key in self.notes.keys() - self.met:
            self.omissions.add("unreferenced_note", text_of(self.notes[key], TEXT))
        elements = [body, *(self.notes[key] for key in self.met)]
        unread = sum(visible(text_of(element, TEXT)) for element in elements) - self.inline.seen
        self.omissions.count("unread", int(unread > 0), max(unread, 0))
        return self.blocks

    def _write_notes(self) -> None:
        """Write notes at the end of the section that refers to them; one may refer to another."""
        while self.pending:
            keys, self.pending = self.pending, []
            for key in keys:
                note = self.notes.get(key)
                if note is not None and key not in self.met:
                    self.met.add(key)
                    self.blocks += [
                        Block("paragraph", block.text) if block.kind == "heading" else block
                        for block in self._closed(note)
                    ]

    def _read(self, elements: "Iterable[_Element]") -> list[Block]:
        blocks: list[Block] = []
        for element in elements:
            if element.tag == _PARAGRAPH:
                blocks += self._paragraph(element)
            else:
                blocks += self._carried_over()
                blocks += self._table(element)
        return blocks

    def _closed(self, element: "_Element") -> list[Block]:
        """Return the blocks of an element that no text goes on after."""
        return self._read(_children_of(element, _PARAGRAPH, _TABLE)) + self._carried_over()

    def _paragraph(self, paragraph: "_Element") -> list[Block]:
        properties = properties_of(paragraph, _PROPERTIES)
        style = self._style(properties)
        inline = self.inline.read(paragraph)
        own_text = settle("".join(inline.parts), self.omissions)
        self._measure(len(own_text))
        text, self.carried = self.carried + own_text, ""
        notes = inline.notes
        self.pending += [(note.tag.removesuffix("Reference"), note.get(f"{WORD}id", "")) for note in notes]
        beside_text = [block for box in inline.boxes for block in self._closed(box)]
        for drawing in inline.drawn:
            drawn_blocks = self.read_drawing(drawing)
            self._measure(sum(len(block.text) for block in drawn_blocks))
            beside_text += drawn_blocks
        mark = properties.get(f"{WORD}rPr")
        if mark is not None and mark.find(f"{WORD}del") is not None:
            self.carried, text = text, ""  # its end was deleted, so the next paragraph goes on with it
        kind = _KINDS.get(style.role, "paragraph")
        marker = None
        if style.numbering is not None and text.strip():
            marker = self.numbering.marker(style.numbering, style.list_level)
        own_blocks = [Block(kind, text, style.level, marker=marker)] if text.strip() or kind == "code" else []
        return own_blocks + beside_text

    def _style(self, properties: "Mapping[str, _Element]") -> ParagraphStyle:
        """Return the style of a paragraph: by its named style, and by its own properties."""
        style_id = properties.get(f"{WORD}pStyle")
        style = self.styles.paragraph(None if style_id is None else style_id.get(VALUE))
        role, level = style.role, style.level
        outline = properties.get(f"{WORD}outlineLvl")
        if outline is not None and role in ("body", "item", "heading"):
            outline_level = read_number(outline.get(VALUE), _BODY_TEXT)
            role, level = ("heading", outline_level + 1) if outline_level < _BODY_TEXT else ("body", 0)
        if role in ("body", "item"):
            return self._listed(properties, style, role)
        return ParagraphStyle(role, _TITLE_LEVEL if role == "title" else level)

    def _listed(
        self, properties: "Mapping[str, _Element]", style: ParagraphStyle, role: Role
    ) -> ParagraphStyle:
        """Return the style of a paragraph that is no heading, code or quote: a list item, or body."""
        numbering, level = style.numbering, style.list_level
        listed = properties.get(f"{WORD}numPr")
        numbering = value_of(listed, "numId") or numbering
        level = read_number(value_of(listed, "ilvl"), level)
        depth_of_style = style.level if role == "item" else 0
        if numbering is None:
            return ParagraphStyle(role, depth_of_style)
        if self.numbering.is_item(numbering, level):
            return ParagraphStyle("item", max(level, depth_of_style), numbering, level)
        return ParagraphStyle()

    def _table(self, element: "_Element") -> list[Block]:
        rows: list[list[_RawCell]] = []
        header_rows = 0
        for row in _children_of(element, f"{WORD}tr"):
            row_cells = list(_children_of(row, f"{WORD}tc"))
            weigh = len(rows) < 2 or len(row_cells) == 2
            header_rows += header_rows == len(rows) and is_on(row.find(f"{WORD}trPr/{WORD}tblHeader"))
            indent = read_number(value_of(row, f"trPr/{WORD}gridBefore"), 0)
            cells = [_read_cell(cell, self._closed(cell), weigh=weigh) for cell in row_cells]
            rows.append([*([_RawCell([], indent)] if indent else []), *cells])
            if len(rows) > self.limits.rows:
                raise too_many_rows(self.limits, "a table")
        return _table_blocks(element, rows, header_rows, self.styles, self.omissions)

    def _carried_over(self) -> list[Block]:
        """Return the text of a paragraph whose end was deleted and that nothing follows."""
        text, self.carried = self.carried, ""
        return [Block("paragraph", text)] if text.strip() else []

    def _measure(self, characters: int) -> None:
        self.length += characters
        check_length(self.length, self.settings)


def _children_of(element: "_Element", *names: str) -> "Iterator[_Element]":
    """Yield the elements of some names right below another, in content controls and the like too."""
    for child in element:
        if child.tag in names:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _children_of(child, *names)


def parse(source: SourceFile, settings: DocumentSettings, limits: ReaderLimits = LIMITS) -> ParsedFile:
    """Parse one Word file.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `unsupported_format`, `archive_bomb`, `nested_too_deep`,
            `too_large`, `too_long` or `too_many_rows`.
    """
    package, main = open_package(source.content, "Word")
    document = package.tree(main)
    omissions = Omissions()
    styles = Styles(next(iter(package.trees(main, "styles")), None))
    numbering = Numbering(next(iter(package.trees(main, "numbering")), None))
    roots = [*package.trees(main, "footnotes"), *package.trees(main, "endnotes")]
    for root in (document, *roots):
        prune(root, styles, omissions)
    notes = {
        (note.tag, note.get(f"{WORD}id", "")): note
        for root in roots
        for note in root.iterchildren(f"{WORD}footnote", f"{WORD}endnote")
        if note.get(f"{WORD}type", "normal") == "normal"  # others are the lines that part notes from text
    }
    body = document.find(f"{WORD}body")
    drawings = partial(DrawnParts(package, omissions).read, main)
    reader = _BlockReader(styles, numbering, notes, drawings, omissions, settings, limits)
    blocks = _set_levels(list(_join_code(reader.read(document if body is None else body))))
    _count_other_parts(package, main, omissions)
    return read_file(package.trees("", "core-properties"), blocks, omissions)


def _join_code(blocks: list[Block]) -> Iterator[Block]:
    for is_code, group in groupby(blocks, key=lambda block: block.kind == "code"):
        if is_code:
            yield Block("code", "\n".join(block.text for block in group))
        else:
            yield from group


def _set_levels(blocks: list[Block]) -> list[Block]:
    """Return the headings with their final levels: those below a document's only title are one lower."""
    headings = [block.level for block in blocks if block.kind == "heading"]
    down = headings[:1] == [_TITLE_LEVEL] and headings.count(_TITLE_LEVEL) == 1
    return [
        replace(block, level=min(block.level + down, 6) or 1) if block.kind == "heading" else block
        for block in blocks
    ]


def _count_other_parts(package: Package, main: str, omissions: Omissions) -> None:
    """Count what is beside the text: heads and feet of pages, comments, macros, stray parts."""
    for purpose, what in _BESIDE_THE_TEXT.items():
        for root in package.trees(main, purpose):
            pieces = list(root.iterchildren(f"{WORD}comment")) if purpose == "comments" else [root]
            for piece in pieces:
                if text := text_of(piece, TEXT):
                    omissions.add(what, text)
    for _ in package.linked(main, "vbaProject"):
        omissions.add("macro")
    linked = {main, *(link.target for link in package.links(main).values())}
    folder = posixpath.dirname(main)
    for member in package.archive.members:
        inside = posixpath.dirname(member.path) == folder and member.path.endswith(".xml")
        if inside and member.path not in linked and (text := text_of(package.tree(member.path), TEXT)):
            omissions.add("unlinked_part", text)
