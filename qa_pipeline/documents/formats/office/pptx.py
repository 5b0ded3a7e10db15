"""PowerPoint files (PPTX, PPTM, PPSX): slides as pages, with their titles, tables, charts and notes.

The notes of a speaker follow their slide by default: slides hold catchwords, and what they mean is often said
only there. They are not shown to an audience, so a setting leaves them out. Behind the title, shapes are read
in the order of the file, which is the one PowerPoint gives to screen readers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.office.drawings import (
    PARAGRAPH,
    TEXT,
    all_text,
    colour_of,
    colours_in,
    paragraph_text,
    read_chart,
    read_diagram,
)
from qa_pipeline.documents.formats.office.package import (
    CHART,
    DIAGRAM,
    DRAWING,
    LINK,
    SLIDES,
    Package,
    library_failures,
    open_package,
    parse_xml,
    read_file,
    read_number,
    text_of,
    unwrap_alternatives,
)
from qa_pipeline.documents.formats.rows import Cell, counted_lines
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pptx.presentation import Presentation
    from pptx.shapes.base import BaseShape
    from pptx.slide import NotesSlide, Slide
    from pptx.table import Table

_TITLES = frozenset({"title", "ctrTitle", "vertTitle"})
_LISTED = frozenset({"body", "obj", "subTitle", "tbl", "chart", "dgm", "media", "pic", "clipArt"})
_FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr"})
_BULLETS = {f"{DRAWING}bu{name}": name != "None" for name in ("None", "Char", "AutoNum", "Blip")}
_DEEPEST = 8  # levels of a list in a slide, from 0 (ISO 29500-1, 21.1.2.2.7)
_LINE = 91_440  # EMU, a tenth of an inch: lower bars underline
_TRUE, _FALSE = frozenset({"1", "true"}), frozenset({"0", "false"})


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one PowerPoint file.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `unsupported_format`, `archive_bomb`, `nested_too_deep`,
            `too_many_pages` or `too_long`.
    """
    package, main = open_package(source.content, "PowerPoint")
    blocks: list[Block] = []
    with library_failures():
        from pptx.package import Package as Slides  # its Presentation() refuses shows (PPSX)

        presentation = Slides.open(package.file(main)).presentation_part.presentation
        if (count := len(presentation.slides)) > (most := settings.max_pages):
            raise DocumentFailure("too_many_pages", f"{count} slides, documents.max_pages = {most}")
        reader = _Reader(package, presentation, settings)
        slides = {slide.part.partname: slide for slide in presentation.slides}
        for number, slide in enumerate(slides.values(), start=1):
            blocks += [replace(block, page=number) for block in reader.read_slide(slide, number)]
    check_length(sum(len(block.text) for block in blocks), settings)
    for _ in package.linked(main, "vbaProject"):
        reader.omissions.add("macro")
    return read_file(package.trees("", "core-properties"), blocks, reader.omissions)


class _Reader:
    def __init__(self, package: Package, presentation: "Presentation", settings: DocumentSettings) -> None:
        self.package = package
        self.width, self.height = presentation.slide_width, presentation.slide_height
        self.settings = settings
        self.omissions = Omissions()
        self._drawn: dict[str, list[Block]] = {}
        self._layouts: set[str] = set()
        self._bullets: dict[int, _Element] = {}
        self._is_moving = False
        self._paper = ""

    def read_slide(self, slide: "Slide", number: int) -> list[Block]:
        """Return the blocks of a slide and the notes on it."""
        notes = slide.notes_slide if slide.has_notes_slide else None
        if slide.element.get("show") in _FALSE:
            self.omissions.add("hidden", text_of(slide.element, TEXT))
            if notes is not None:
                self.omissions.add("speaker_note", text_of(notes.element, TEXT))
            return []
        self._count_layout(slide)
        is_title = slide.slide_layout.element.get("type") == "title"
        opening = is_title or any(_role_of(shape) == "ctrTitle" for shape in slide.shapes)
        self._bullets = {
            layout.placeholder_format.idx: layout.element for layout in slide.slide_layout.placeholders
        }
        blocks = self._read(slide, 1 if number == 1 and opening else 2)
        if notes is not None:
            self._bullets = {}
            note_blocks = self._read(notes, 2)
            blocks += note_blocks if self.settings.speaker_notes else []
            for block in [] if self.settings.speaker_notes else note_blocks:
                self.omissions.add("speaker_note", block.text)
        for comments in self.package.trees(slide.part.partname.lstrip("/"), "comments"):
            for comment in comments:
                self.omissions.add("comment", text_of(comment, TEXT, f"{SLIDES}text"))
        return blocks

    def _count_layout(self, slide: "Slide") -> None:
        """Count text that is shown on each slide, such as the name of a company."""
        for holder in (slide.slide_layout, slide.slide_layout.slide_master):
            name = holder.part.partname
            for shape in () if name in self._layouts else holder.shapes:
                if not shape.is_placeholder and (text := all_text(shape.element)):
                    self.omissions.add("slide_master", text)
            self._layouts.add(name)

    def _read(self, slide: "Slide | NotesSlide", title_level: int) -> list[Block]:
        """Return the blocks of a slide or its notes, the title first, as a heading of that level."""
        unwrap_alternatives(slide.element)
        shapes = list(slide.shapes)
        titles = [
            at for at, shape in enumerate(shapes) if _role_of(shape) in _TITLES and all_text(shape.element)
        ]
        self._is_moving = slide.element.find(f"{SLIDES}timing") is not None
        self._drawn = {}
        self._paper = _paper_of(slide)
        blocks: list[Block] = []
        for at in sorted(range(len(shapes)), key=lambda at: at not in titles[:1]):
            read = list(self._blocks(shapes, at))
            if at in titles[:1] and read:
                read = [Block("heading", " ".join(block.text for block in read), title_level)]
            blocks += read
        return blocks

    def _blocks(self, shapes: "Sequence[BaseShape]", at: int, *, inside: bool = False) -> Iterator[Block]:
        """Yield the blocks of one of the shapes that lie above each other, the lowest first."""
        shape = shapes[at]
        role = _role_of(shape)
        above = () if self._is_moving else shapes[at + 1 :]
        about = next(shape.element.iter(f"{SLIDES}cNvPr"), None)
        properties = {} if about is None else about.attrib
        is_hidden = properties.get("hidden") in _TRUE or (not inside and self._is_off(shape))
        # of what a bar covers in part nobody can tell which of its words
        is_hidden = is_hidden or any(_is_bar(bar) and _meet(bar, shape) for bar in above)
        if role in _FURNITURE or is_hidden:
            if text := all_text(shape.element):
                self.omissions.add("running_foot" if role in _FURNITURE else "hidden", text)
        elif shape.element.tag == f"{SLIDES}grpSp":
            inner = list(shape.shapes)
            for place in range(len(inner)):
                yield from self._blocks(inner, place, inside=True)
        elif shape.element.tag == f"{SLIDES}pic":
            self.omissions.add("image", properties.get("descr", ""))
        elif shape.element.tag == f"{SLIDES}graphicFrame":
            yield from self._graphic(shape)
        else:
            is_on_paper = not inside and not any(_meet(below, shape) for below in shapes[:at])
            yield from self._paragraphs(shape, role, self._paper if is_on_paper else "")

    def _is_off(self, shape: "BaseShape") -> bool:
        """Return True if a shape lies beside the slide, however it is turned."""
        left, top, width, height = shape.left, shape.top, shape.width, shape.height
        if None in (left, top, width, height):
            return False
        if shape.element.find(f".//{DRAWING}xfrm[@rot]") is not None:
            left, top, width, height = left - height, top - width, width + 2 * height, height + 2 * width
        beyond = left >= self.width or top >= self.height
        return bool(beyond or left + max(width, 1) <= 0 or top + max(height, 1) <= 0)

    def _paragraphs(self, shape: "BaseShape", role: str | None, paper: str) -> Iterator[Block]:
        ground = paper if _is_unfilled(shape) else colour_of(shape.element.find(f"{SLIDES}spPr"))
        holders = shape.element, self._bullets.get(shape.placeholder_format.idx) if role else None
        for paragraph in shape.element.iterfind(f"{SLIDES}txBody/{PARAGRAPH}"):
            text = paragraph_text(paragraph, self.omissions, ground)
            if not text.strip():
                continue
            style = paragraph.find(f"{DRAWING}pPr")
            level = 0 if style is None else min(read_number(style.get("lvl"), 0), _DEEPEST)
            path = f".//{DRAWING}lstStyle/{DRAWING}lvl{level + 1}pPr"
            styles = [style, *(holder.find(path) for holder in holders if holder is not None)]
            bullets = (
                _BULLETS[child.tag]
                for listed in styles
                for child in (() if listed is None else listed)
                if child.tag in _BULLETS
            )
            if next(bullets, role in _LISTED and bool(self._bullets)):
                yield Block("list_item", text, level)
            else:
                yield Block("paragraph", text)

    def _graphic(self, shape: "BaseShape") -> Iterator[Block]:
        if next(shape.element.iter(f"{SLIDES}oleObj"), None) is not None:
            self.omissions.add("embedded_object")
        if shape.has_table:
            yield from _read_table(shape.table, self.omissions)
        for drawing in shape.element.iter(f"{CHART}chart", f"{DIAGRAM}relIds"):
            is_chart = drawing.tag == f"{CHART}chart"
            key = drawing.get(LINK + ("id" if is_chart else "dm"), "")
            if key not in self._drawn and key in shape.part.rels:
                root = parse_xml(shape.part.related_part(key).blob)
                self._drawn[key] = read_chart(root) if is_chart else read_diagram(root)
            if not self._drawn.get(key):
                self.omissions.add("chart" if is_chart else "diagram")
            yield from self._drawn.get(key, [])


def _role_of(shape: "BaseShape") -> str | None:
    """Return the type of a placeholder as the file names it."""
    return shape.placeholder_format.element.get("type", "obj") if shape.is_placeholder else None


def _is_unfilled(shape: "BaseShape") -> bool:
    """Return True if what lies behind a shape is seen through it, as far as the shape itself says."""
    properties = shape.element.find(f"{SLIDES}spPr")
    fills = [] if properties is None else [child.tag for child in properties if child.tag.endswith("Fill")]
    return fills == [f"{DRAWING}noFill"] or not (fills or shape.element.find(f"{SLIDES}style") is not None)


def _is_bar(shape: "BaseShape") -> bool:
    """Return True for an upright rectangle of one opaque colour and without text, as a redaction is.

    One lower than a line of text underlines.
    """
    properties = shape.element.find(f"{SLIDES}spPr")
    paths = ("prstGeom[@prst='rect']", "solidFill", "xfrm[@rot]", f"solidFill//{DRAWING}alpha")
    has_paths = [properties is not None and properties.find(DRAWING + path) is not None for path in paths]
    is_high = shape.height is not None and shape.height >= _LINE
    return is_high and has_paths == [True, True, False, False] and not all_text(shape.element)


def _meet(first: "BaseShape", second: "BaseShape") -> bool:
    """Return True if the boxes of two shapes overlap."""
    places = [(shape.left, shape.top, shape.width, shape.height) for shape in (first, second)]
    if any(None in place for place in places):
        return False
    (left, top, width, height), (x, y, wide, high) = places
    return bool(left < x + wide and x < left + width and top < y + high and y < top + height)


def _paper_of(slide: "Slide | NotesSlide") -> str:
    """Return the colour of a slide behind its shapes; "" where it has a picture, a gradient or none known."""
    from pptx.opc.constants import RELATIONSHIP_TYPE

    layout = getattr(slide, "slide_layout", None)
    holders = [slide] if layout is None else [slide, layout, layout.slide_master]
    for holder in holders[1:]:
        if any(not shape.is_placeholder for shape in holder.shapes):
            return ""  # what it draws may lie behind the text
    if layout is not None:  # the colours of the master must be the usual ones, black on white
        names = layout.slide_master.element.find(f"{SLIDES}clrMap")
        theme = layout.slide_master.part.part_related_by(RELATIONSHIP_TYPE.THEME).blob
        light = theme.partition(b"lt1>")[2].partition(b"lt1>")[0]
        if b"FFFFFF" not in light or names is None or names.get("bg1") != "lt1":
            return ""
    for holder in holders:
        ground = holder.element.find(f"{SLIDES}cSld/{SLIDES}bg")
        if ground is not None:
            properties = ground.find(f"{SLIDES}bgPr")
            return colour_of(properties) if properties is not None else colours_in(ground)
    return ""


def _read_table(table: "Table", omissions: Omissions) -> Iterator[Block]:
    """Yield a block a row; text in a cell that another covers is not shown, and counted."""
    grid: list[list[Cell]] = []
    for row in table.rows:
        grid.append([])
        for cell in row.cells:
            text = all_text(cell.text_frame._txBody, omissions)  # noqa: SLF001 - no public road to raised text
            if not cell.is_spanned:
                grid[-1].append(Cell(text, columns=cell.span_width, rows=cell.span_height))
            elif text:
                omissions.add("hidden", text)
    is_wide = len(grid) > 1 and max(map(len, grid)) > 1
    for number, line in enumerate(grid if is_wide else ()):
        if number == 0 and table.first_row:
            line[:] = [replace(cell, header=True) for cell in line]
        if table.first_col and any(cell.text for cell in line[1:]):  # a key alone would name columns
            line[0] = replace(line[0], header=True)
    yield from (Block("table_row", line) for line in counted_lines(grid, omissions))
