"""PowerPoint files (PPTX, PPTM, PPSX): slides as pages, with their titles, tables, charts and notes.

The notes of a speaker follow their slide by default: slides hold catchwords, and what they mean is often said
only there. They are not shown to an audience, so a setting leaves them out. Behind the title, shapes are read
in the order of the file, which is the one PowerPoint gives to screen readers. Like Word files these are read
with lxml alone: python-pptx knows nothing of hidden slides and diagrams, and drops what has several forms.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from qa_pipeline.documents.assembly import Omissions, check_length, visible
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.office.drawings import (
    PARAGRAPH,
    TEXT,
    DrawnParts,
    all_text,
    chosen_branch,
    paragraph_text,
)
from qa_pipeline.documents.formats.office.package import (
    ALTERNATIVES,
    CHART,
    DIAGRAM,
    DRAWING,
    LINK,
    SLIDES,
    Package,
    open_package,
    read_file,
    read_number,
    text_of,
)
from qa_pipeline.documents.formats.rows import Cell, counted_lines
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_ANY_TEXT = (TEXT, f"{SLIDES}text")  # comments have elements of their own
_TREE = f"{SLIDES}cSld/{SLIDES}spTree"
_OF_TEXT = frozenset({"body", "obj", "subTitle", "tbl", "chart", "dgm", "media", "pic", "clipArt"})
_TITLES = frozenset({"title", "ctrTitle", "vertTitle"})
_FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr"})
_BULLETS = {"buNone": False, "buChar": True, "buAutoNum": True, "buBlip": True}
_SHAPE, _GROUP = f"{SLIDES}sp", f"{SLIDES}grpSp"
_FRAME, _PICTURE = f"{SLIDES}graphicFrame", f"{SLIDES}pic"
_SHAPES = frozenset({_SHAPE, _GROUP, _FRAME, _PICTURE, f"{SLIDES}cxnSp"})
_DEEPEST = 8  # levels of a list in a slide, from 0 (ISO 29500-1, 21.1.2.2.7)
_TRUE = frozenset({"1", "true"})
_FALSE = frozenset({"0", "false"})


class _Role(NamedTuple):
    """The role of a placeholder: its type, `obj` where none is said, and its number on the slide."""

    type: str
    number: str


def _role_of(shape: "_Element") -> _Role | None:
    placeholder = next(shape.iter(f"{SLIDES}ph"), None) if shape.tag != _GROUP else None
    return None if placeholder is None else _Role(placeholder.get("type", "obj"), placeholder.get("idx", "0"))


class _Layout:
    """The placeholders of a layout: of several alike the first counts."""

    def __init__(self, layout: "_Element | None" = None) -> None:
        self.is_title = layout is not None and layout.get("type") == "title"
        self.placeholders: dict[str, _Element] = {}
        for shape in [] if layout is None else layout.iter(_SHAPE):
            if (role := _role_of(shape)) is not None:
                self.placeholders.setdefault(role.number, shape)

    def bulleted(self, role: _Role | None, shape: "_Element", level: int) -> bool:
        """Return whether paragraphs of a shape have bullets at a level, unless they say so themselves.

        Those of a placeholder for text on a slide have, unless its layout says otherwise.
        """
        near = None if role is None else self.placeholders.get(role.number)
        holders = [shape, *([] if near is None else [near])]
        styles = (style for holder in holders for style in holder.iter(f"{DRAWING}lstStyle"))
        bullets = (_own_bullet(style.find(f"{DRAWING}lvl{level + 1}pPr")) for style in styles)
        of_slide = role is not None and role.type in _OF_TEXT and bool(self.placeholders)
        return next((bullet for bullet in bullets if bullet is not None), of_slide)


def _own_bullet(properties: "_Element | None") -> bool | None:
    """Return whether properties of a paragraph give it a bullet; None if they do not say."""
    names = (child.tag.removeprefix(DRAWING) for child in (() if properties is None else properties))
    return next((_BULLETS[name] for name in names if name in _BULLETS), None)


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one PowerPoint file.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `unsupported_format`, `archive_bomb`, `nested_too_deep`,
            `too_many_pages` or `too_long`.
    """
    package, main = open_package(source.content, "PowerPoint")
    slides = _find_slides(package, main, settings)
    reader = _Reader(package, settings)
    blocks: list[Block] = []
    length = 0
    for number, part in enumerate(slides, start=1):
        slide_content = reader.slide(part, number)
        length += sum(len(block.text) for block in slide_content)
        check_length(length, settings)
        blocks += slide_content
    for _ in package.linked(main, "vbaProject"):
        reader.omissions.add("macro")
    return read_file(package.trees("", "core-properties"), blocks, reader.omissions)


def _find_slides(package: Package, main: str, settings: DocumentSettings) -> list[str]:
    links = package.links(main)
    slide_ids = package.tree(main).iter(f"{SLIDES}sldId")
    slide_links = [links.get(slide.get(f"{LINK}id", "")) for slide in slide_ids]
    targets = [link.target for link in slide_links if link is not None and link.target is not None]
    if len(targets) < len(slide_links):
        raise DocumentFailure("damaged", "a slide that the presentation names is missing in it")
    slides = list(dict.fromkeys(targets))
    if len(slides) > settings.max_pages:
        limit = settings.max_pages
        raise DocumentFailure("too_many_pages", f"{len(slides)} slides, documents.max_pages = {limit}")
    return slides


class _Reader:
    """A reader of the slides of one file; layouts that several of them share are read once."""

    def __init__(self, package: Package, settings: DocumentSettings) -> None:
        self.package = package
        self.settings = settings
        self.omissions = Omissions()
        self._layouts: dict[str, _Layout] = {}
        self._drawn = DrawnParts(package, self.omissions)
        self._met: set[str] = set()
        self._part = ""
        self._layout = _Layout()
        self._seen = 0  # characters of all shapes that were looked at

    def slide(self, part: str, number: int) -> list[Block]:
        """Return the blocks of a slide and the notes on it."""
        root = self.package.tree(part)
        notes = self._new(self.package.linked(part, "notesSlide"))
        if root.get("show") in _FALSE:
            self.omissions.add("hidden_slide", text_of(root, *_ANY_TEXT))
            for name in notes:
                self.omissions.add("speaker_note", text_of(self.package.tree(name), *_ANY_TEXT))
            return []
        layout = self._layout_of(part)
        roles = (_role_of(shape) for shape in root.iterfind(f"{_TREE}/{_SHAPE}"))
        opening = layout.is_title or any(role is not None and role.type == "ctrTitle" for role in roles)
        blocks = self._read(part, layout, 1 if number == 1 and opening else 2)
        for name in notes:
            slide_blocks = self._read(name, _Layout(), 2)
            if self.settings.speaker_notes:
                blocks += slide_blocks
                continue
            for block in slide_blocks:
                self.omissions.add("speaker_note", block.text)
        for comments in self._new(self.package.linked(part, "comments")):
            for comment in self.package.tree(comments):
                self.omissions.add("comment", text_of(comment, *_ANY_TEXT))
        return [replace(block, page=number) for block in blocks]

    def _layout_of(self, part: str) -> _Layout:
        name = next(iter(self.package.linked(part, "slideLayout")), "")
        if name not in self._layouts:
            parts = [name, *self.package.linked(name, "slideMaster")[:1]] if name else []
            roots = [self.package.tree(path) for path in parts]
            self._layouts[name] = _Layout(*roots[:1])
            new = self._new(parts)
            for path, root in zip(parts, roots, strict=True):
                for shape in root.iter(_SHAPE) if path in new else ():
                    # Text that is shown on each slide, such as the name of a company.
                    if _role_of(shape) is None and (text := all_text(shape)):
                        self.omissions.add("slide_master", text)
        return self._layouts[name]

    def _new(self, parts: list[str]) -> list[str]:
        new = [part for part in parts if part not in self._met]
        self._met.update(new)
        return new

    def _read(self, part: str, layout: _Layout, title_level: int) -> list[Block]:
        """Return the blocks of a slide or its notes, the title first, as a heading of that level."""
        self._part, self._layout, self._seen = part, layout, 0
        tree = self.package.tree(part).find(_TREE)
        if tree is None:
            return []
        shapes = _shapes_of(tree)
        roles = ((shape, _role_of(shape)) for shape in shapes if shape.tag == _SHAPE)
        placeholders = (shape for shape, role in roles if role and role.type in _TITLES)
        title = next((shape for shape in placeholders if all_text(shape)), None)
        blocks: list[Block] = []
        if title is not None:
            self._see(title)
            blocks.append(Block("heading", all_text(title, self.omissions), title_level))
        for shape in shapes:
            if shape is not title:
                blocks += self._blocks(shape)
        total = visible(text_of(tree, TEXT))
        if total != self._seen:
            self.omissions.count("unread", 1, total - self._seen)
        return blocks

    def _blocks(self, shape: "_Element") -> list[Block]:
        if _attribute_of(shape, "hidden") in _TRUE:
            self._leave_out("hidden_text", shape)
            return []
        if shape.tag == _GROUP:
            return [block for inner in _shapes_of(shape) for block in self._blocks(inner)]
        role = _role_of(shape)
        if shape.tag not in (_PICTURE, _FRAME) and role is not None and role.type in _FURNITURE:
            self._leave_out("running_foot", shape)
            return []
        self._see(shape)
        if shape.tag == _PICTURE:
            self.omissions.add("image", _attribute_of(shape, "descr"))
            return []
        return self._frame(shape) if shape.tag == _FRAME else list(self._paragraphs(shape, role))

    def _paragraphs(self, shape: "_Element", role: _Role | None) -> Iterable[Block]:
        bullets: dict[int, bool] = {}
        for paragraph in shape.iterfind(f"{SLIDES}txBody/{PARAGRAPH}"):
            text = paragraph_text(paragraph, self.omissions)
            if not text.strip():
                continue
            properties = paragraph.find(f"{DRAWING}pPr")
            level = 0 if properties is None else min(read_number(properties.get("lvl"), 0), _DEEPEST)
            listed = _own_bullet(properties)
            if listed is None:
                if level not in bullets:
                    bullets[level] = self._layout.bulleted(role, shape, level)
                listed = bullets[level]
            yield Block("list_item", text, level) if listed else Block("paragraph", text)

    def _frame(self, frame: "_Element") -> list[Block]:
        blocks: list[Block] = []
        if next(frame.iter(f"{SLIDES}oleObj"), None) is not None:
            self.omissions.add("embedded_object")
        for element in frame.iter(f"{DRAWING}tbl", f"{CHART}chart", f"{DIAGRAM}relIds"):
            if element.tag == f"{DRAWING}tbl":
                blocks += _read_table(element, self.omissions)
            else:
                blocks += self._drawn.read(self._part, element)
        return blocks

    def _leave_out(self, what: str, shape: "_Element") -> None:
        self._see(shape)
        if text := all_text(shape):
            self.omissions.add(what, text)

    def _see(self, shape: "_Element") -> None:
        self._seen += visible(text_of(shape, TEXT))


def _shapes_of(tree: "_Element") -> "list[_Element]":
    """Return the shapes right below an element; of one given in several forms the form with text."""
    shapes = []
    for child in tree:
        if child.tag in _SHAPES:
            shapes.append(child)
        elif child.tag == f"{ALTERNATIVES}AlternateContent":
            shapes += _shapes_of(chosen_branch(child))
    return shapes


def _attribute_of(shape: "_Element", name: str) -> str:
    """Return an attribute of a shape; its properties are first in the first element of each kind."""
    properties = next(iter(shape[0].iterchildren(f"{SLIDES}cNvPr")), None) if len(shape) else None
    return "" if properties is None else properties.get(name, "")


def _read_table(table: "_Element", omissions: Omissions) -> list[Block]:
    """Return a table as one block a row; what is in a cell that another covers is not shown, and counted."""
    properties = table.find(f"{DRAWING}tblPr")
    grid = [_read_cells(row, omissions) for row in table.iterchildren(f"{DRAWING}tr")]
    if properties is None or len(grid) < 2 or max(map(len, grid)) < 2:
        names = keys = False
    else:
        names, keys = (properties.get(name) in _TRUE for name in ("firstRow", "firstCol"))
    for row in grid[:1] if names else ():
        row[:] = [replace(cell, header=True) for cell in row]
    for row in grid if keys else ():  # a key alone in its row would name columns instead of a value
        if any(cell.text for cell in row[1:]):
            row[0] = replace(row[0], header=True)
    return [Block("table_row", line) for line in counted_lines(grid, omissions)]


def _read_cells(row: "_Element", omissions: Omissions) -> list[Cell]:
    cells = []
    for cell in row.iterchildren(f"{DRAWING}tc"):
        text = all_text(cell, omissions)
        if cell.get("hMerge") not in _TRUE and cell.get("vMerge") not in _TRUE:
            columns, rows = (max(read_number(cell.get(name), 1), 1) for name in ("gridSpan", "rowSpan"))
            cells.append(Cell(text, columns=columns, rows=rows))
        elif text:
            omissions.add("hidden_text", text)
    return cells
