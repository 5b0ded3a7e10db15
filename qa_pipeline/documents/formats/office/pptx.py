"""PowerPoint files (PPTX, PPTM, PPSX): each slide as HTML, with its title, tables, charts and notes.

Shapes are read in the order of the file, the title first. The notes of a speaker follow their slide.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.formulas import write_formula
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.office.package import (
    CHART,
    DIAGRAM,
    DRAWING,
    LINK,
    MATH,
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
from qa_pipeline.documents.formats.workbooks import show_moment, show_number
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pptx.presentation import Presentation
    from pptx.shapes.base import BaseShape
    from pptx.slide import NotesSlide, Slide
    from pptx.table import Table

_TEXT, _PARAGRAPH = f"{DRAWING}t", f"{DRAWING}p"
_TITLES = frozenset({"title", "ctrTitle", "vertTitle"})
_LISTED = frozenset({"body", "obj", "subTitle", "tbl", "chart", "dgm", "media", "pic", "clipArt"})
_FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr"})
_BULLETS = {f"{DRAWING}bu{name}": name != "None" for name in ("None", "Char", "AutoNum", "Blip")}
_NUMBERS = {"alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}
_DEEPEST = 8  # levels of a list in a slide, from 0 (ISO 29500-1, 21.1.2.2.7)
_LINE = 91_440  # EMU, a tenth of an inch: lower bars underline
_SMALLEST = 100  # hundredths of a point
_COLOURS = {"bg1": "FFFFFF", "lt1": "FFFFFF", "tx1": "000000", "dk1": "000000"}
_UNKNOWN_GROUND = "background-image:unknown"
_TRUE, _FALSE = frozenset({"1", "true"}), frozenset({"0", "false"})


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a PowerPoint file."""
    package, main = open_package(source.content, "PowerPoint")
    blocks: list[Block] = []
    with library_failures():
        from pptx.package import Package as Slides  # its Presentation() refuses shows (PPSX)

        presentation = Slides.open(io.BytesIO(package.content)).presentation_part.presentation
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
        self._layouts: set[str] = set()
        self._bullets: dict[int, _Element] = {}
        self._counts: dict[int, int] = {}  # of the numbered items of a shape, by level

    def read_slide(self, slide: "Slide", number: int) -> list[Block]:
        """Return the blocks of a slide and the notes on it."""
        notes = slide.notes_slide if slide.has_notes_slide else None
        if slide.element.get("show") in _FALSE:
            self.omissions.add("hidden", text_of(slide.element, _TEXT))
            if notes is not None:
                self.omissions.add("speaker_note", text_of(notes.element, _TEXT))
            return []
        for holder in (slide.slide_layout, slide.slide_layout.slide_master):
            for shape in () if holder.part.partname in self._layouts else holder.shapes:
                if not shape.is_placeholder and (text := text_of(shape.element, _TEXT).strip()):
                    self.omissions.add("slide_master", text)  # shown on each slide, as a company's name
            self._layouts.add(holder.part.partname)
        is_title = slide.slide_layout.element.get("type") == "title"
        opening = is_title or any(_role_of(shape) == "ctrTitle" for shape in slide.shapes)
        blocks = self._read(slide, 1 if number == 1 and opening else 2)
        if notes is not None:
            note_blocks = self._read(notes, 2)
            blocks += note_blocks if self.settings.speaker_notes else []
            for block in [] if self.settings.speaker_notes else note_blocks:
                self.omissions.add("speaker_note", block.text)
        for comments in self.package.trees(slide.part.partname.lstrip("/"), "comments"):
            for comment in comments:
                self.omissions.add("comment", text_of(comment, _TEXT, f"{SLIDES}text"))
        return blocks

    def _read(self, slide: "Slide | NotesSlide", title_level: int) -> list[Block]:
        unwrap_alternatives(slide.element)
        layout = slide.slide_layout.placeholders if hasattr(slide, "slide_layout") else ()
        self._bullets = {shape.placeholder_format.idx: shape.element for shape in layout}
        shapes = list(slide.shapes)
        title = next(
            (
                at
                for at, shape in enumerate(shapes)
                if _role_of(shape) in _TITLES and text_of(shape.element, _TEXT).strip()
            ),
            -1,
        )
        heading = "".join(self._html(shapes, title, f"h{title_level}")) if title >= 0 else ""
        others = ("".join(self._html(shapes, at)) for at in range(len(shapes)) if at != title)
        # the colour of text that names none comes from themes
        markup = f'<div style="color:unknown;{_paper_of(slide)}">{heading}{"".join(others)}</div>'
        return read_fragment(markup, self.omissions, page=False)

    def _html(
        self, shapes: "Sequence[BaseShape]", at: int, heading: str = "", *, inside: bool = False
    ) -> Iterator[str]:
        """Yield the HTML of the shape at an index; `shapes` are ordered from the lowest to the highest."""
        shape = shapes[at]
        role = _role_of(shape)
        about = next(shape.element.iter(f"{SLIDES}cNvPr"), None)
        properties = {} if about is None else about.attrib
        is_hidden = properties.get("hidden") in _TRUE or (not inside and self._is_off(shape))
        # a bar over a part of the text hides words that are not known
        is_hidden = is_hidden or any(_is_bar(bar) and _meet(bar, shape) for bar in shapes[at + 1 :])
        if role in _FURNITURE or is_hidden:
            if text := text_of(shape.element, _TEXT).strip():
                self.omissions.add("running_foot" if role in _FURNITURE else "hidden", text)
        elif shape.element.tag == f"{SLIDES}grpSp":
            inner = list(shape.shapes)
            for place in range(len(inner)):
                yield from self._html(inner, place, inside=True)
        elif shape.element.tag == f"{SLIDES}pic":
            self.omissions.add("image", properties.get("descr", ""))
        elif shape.element.tag == f"{SLIDES}graphicFrame":
            yield from self._graphic(shape)
        else:
            is_on_paper = not inside and not any(_meet(below, shape) for below in shapes[:at])
            ground = _ground_of(shape) or ("" if is_on_paper else _UNKNOWN_GROUND)
            paragraphs = shape.element.iterfind(f"{SLIDES}txBody/{_PARAGRAPH}")
            self._counts = {}
            if heading:
                text = " ".join(map(self._line, paragraphs))
                yield f'<{heading} style="{ground}">{text}</{heading}>'
            else:
                items = (self._item(paragraph, shape, role) for paragraph in paragraphs)
                yield f'<div style="{ground}">{"".join(items)}</div>'

    def _is_off(self, shape: "BaseShape") -> bool:
        """Return True if a shape lies outside the slide."""
        left, top, width, height = shape.left, shape.top, shape.width, shape.height
        if None in (left, top, width, height):
            return False
        beyond = left >= self.width or top >= self.height
        return bool(beyond or left + max(width, 1) <= 0 or top + max(height, 1) <= 0)

    def _item(self, paragraph: "_Element", shape: "BaseShape", role: str | None) -> str:
        """Return a paragraph, as a list item if it has a bullet or is in a body."""
        style = paragraph.find(f"{DRAWING}pPr")
        level = 0 if style is None else min(read_number(style.get("lvl"), 0), _DEEPEST)
        path = f".//{DRAWING}lstStyle/{DRAWING}lvl{level + 1}pPr"
        holders = shape.element, self._bullets.get(shape.placeholder_format.idx) if role else None
        styles = [style, *(holder.find(path) for holder in holders if holder is not None)]
        marks = [mark for found in styles if found is not None for mark in found if mark.tag in _BULLETS]
        has_bullet = _BULLETS[str(marks[0].tag)] if marks else role in _LISTED and bool(self._bullets)
        counts = {at: count for at, count in self._counts.items() if at <= level}
        numbering = marks[0] if marks and marks[0].tag == f"{DRAWING}buAutoNum" else None
        line = self._line(paragraph)
        if numbering is None or not line:
            counts.pop(level, None)
        else:
            counts[level] = counts.get(level, read_number(numbering.get("startAt"), 1) - 1) + 1
        self._counts = counts
        if not has_bullet:
            return f"<p>{line}</p>"
        opened, closed = "<ul>", "</ul>"
        if numbering is not None and line:
            kinds = (kind for name, kind in _NUMBERS.items() if numbering.get("type", "").startswith(name))
            opened, closed = f'<ol type="{next(kinds, "1")}" start="{counts[level]}">', "</ol>"
        return f"{'<ul>' * level}{opened}<li>{line}</li>{closed}{'</ul>' * level}"

    def _line(self, element: "_Element") -> str:
        parts = []
        for child in element:
            if child.tag in (f"{DRAWING}r", f"{DRAWING}fld"):
                parts.append(_run(child))
            elif child.tag == f"{DRAWING}br":
                parts.append("<br>")
            elif child.tag == f"{MATH}oMath":
                parts.append(escape(write_formula(child, self.omissions)))
            else:
                parts.append(escape(child.text or "") if child.tag == _TEXT else self._line(child))
        return "".join(parts)

    def _graphic(self, shape: "BaseShape") -> Iterator[str]:
        if next(shape.element.iter(f"{SLIDES}oleObj"), None) is not None:
            self.omissions.add("embedded_object")
        if shape.has_table:
            yield self._table(shape.table)
        for drawing in shape.element.iter(f"{CHART}chart", f"{DIAGRAM}relIds"):
            key = drawing.get(f"{LINK}id") or drawing.get(f"{LINK}dm", "")
            root = parse_xml(shape.part.related_part(key).blob) if key in shape.part.rels else drawing
            if chart := _chart(root):
                yield chart
            else:
                kind = "chart" if drawing.tag == f"{CHART}chart" else "diagram"
                self.omissions.add(kind, text_of(root, _TEXT))

    def _table(self, table: "Table") -> str:
        """Return a table; text in a cell that another covers is not shown, and counted."""
        rows = []
        for number, row in enumerate(table.rows):
            cells = []
            for cell in row.cells:
                is_head = number == 0 and table.first_row and len(table.rows) > 1 and len(row.cells) > 1
                name = "th" if is_head else "td"
                spans = f'colspan="{cell.span_width}" rowspan="{cell.span_height}"'
                text = " ".join(map(self._line, cell._tc.iter(_PARAGRAPH)))  # noqa: SLF001 - of fields, too
                if not cell.is_spanned:
                    cells.append(f"<{name} {spans}>{text}</{name}>")
                elif covered := text_of(cell._tc, _TEXT).strip():  # noqa: SLF001
                    self.omissions.add("hidden", covered)
            rows.append(f"<tr>{''.join(cells)}</tr>")
        # The style of a table colours its cells.
        return f'<table style="{_UNKNOWN_GROUND}">{"".join(rows)}</table>'


def _run(run: "_Element") -> str:
    look = run.find(f"{DRAWING}rPr")
    about = run.attrib if look is None else look.attrib
    text = escape(text_of(run, _TEXT)).replace("\n", "<br>")
    if about.get("strike", "noStrike") != "noStrike":
        return f"<del>{text}</del>"
    is_hollow = look is not None and look.find(f"{DRAWING}ln/{DRAWING}solidFill") is not None
    colour = "" if is_hollow else _colour_of(look)
    style = f"color:{colour};" if colour else ""
    style += "font-size:0" if read_number(about.get("sz"), _SMALLEST) < _SMALLEST else ""
    baseline = about.get("baseline", "0")
    name = "sub" if baseline.startswith("-") else "sup" if baseline.strip("0%") else "span"
    return f'<{name} style="{style}">{text}</{name}>'


def _colour_of(properties: "_Element | None") -> str:
    """Return the fill colour as CSS; "" if it is unknown."""
    if properties is None:
        return ""
    fill = properties.find(f"{DRAWING}solidFill")
    if fill is not None:
        return _colour_in(fill)
    return "" if properties.find(f"{DRAWING}noFill") is None else "transparent"


def _colour_in(element: "_Element") -> str:
    """Return the colour in an element as CSS; theme colours have their usual values."""
    if element.find(f".//{DRAWING}alpha[@val='0']") is not None:
        return "transparent"
    colours = list(element.iter(f"{DRAWING}srgbClr", f"{DRAWING}schemeClr"))
    value = colours[0].get("val", "") if len(colours) == 1 and not len(colours[0]) else ""
    known = _COLOURS.get(value, value if len(value) == 6 else "")
    return f"#{known}" if known.isalnum() else ""


def _ground_of(shape: "BaseShape") -> str:
    """Return the background style of a shape; "" if it is transparent."""
    properties = shape.element.find(f"{SLIDES}spPr")
    fills = [] if properties is None else [child.tag for child in properties if child.tag.endswith("Fill")]
    if fills == [f"{DRAWING}noFill"] or not (fills or shape.element.find(f"{SLIDES}style") is not None):
        return ""
    colour = _colour_of(properties)
    return f"background-color:{colour}" if colour else _UNKNOWN_GROUND


def _role_of(shape: "BaseShape") -> str | None:
    return shape.placeholder_format.element.get("type", "obj") if shape.is_placeholder else None


def _is_bar(shape: "BaseShape") -> bool:
    """Return True for a filled rectangle without text, as a redaction is; a lower one underlines."""
    properties = shape.element.find(f"{SLIDES}spPr")
    if properties is None or shape.height is None or shape.height < _LINE:
        return False
    is_filled = all(
        properties.find(DRAWING + path) is not None for path in ("prstGeom[@prst='rect']", "solidFill")
    )
    return is_filled and not text_of(shape.element, _TEXT).strip()


def _meet(first: "BaseShape", second: "BaseShape") -> bool:
    places = [(shape.left, shape.top, shape.width, shape.height) for shape in (first, second)]
    if any(None in place for place in places):
        return False
    (left, top, width, height), (x, y, wide, high) = places
    return bool(left < x + wide and x < left + width and top < y + high and y < top + height)


def _paper_of(slide: "Slide | NotesSlide") -> str:
    """Return the background style of a slide, if the slide, its layout or master state it."""
    from pptx.opc.constants import RELATIONSHIP_TYPE

    layout = getattr(slide, "slide_layout", None)
    if layout is None:
        return _UNKNOWN_GROUND
    master = layout.slide_master
    if not all(shape.is_placeholder for holder in (layout, master) for shape in holder.shapes):
        return _UNKNOWN_GROUND  # what it draws may lie behind the text
    # The colours of the master must be the usual ones, black on white.
    names = master.element.find(f"{SLIDES}clrMap")
    theme = master.part.part_related_by(RELATIONSHIP_TYPE.THEME).blob
    light = theme.partition(b"lt1>")[2].partition(b"lt1>")[0]
    if b"FFFFFF" not in light or names is None or names.get("bg1") != "lt1":
        return _UNKNOWN_GROUND
    grounds = (holder.element.find(f"{SLIDES}cSld/{SLIDES}bg") for holder in (slide, layout, master))
    ground = next((found for found in grounds if found is not None), None)
    properties = None if ground is None else ground.find(f"{SLIDES}bgPr")
    colour = _colour_of(properties) if properties is not None or ground is None else _colour_in(ground)
    return f"background-color:{colour}" if colour else _UNKNOWN_GROUND


def _chart(root: "_Element") -> str:
    """Return the title of a chart and its values as a table."""
    series = list(root.iter(f"{CHART}ser"))
    parts = (part for title in root.iter(f"{CHART}title") for part in title.iter(_PARAGRAPH))
    heading = escape(" ".join(text_of(part, _TEXT) for part in parts).strip())
    names = [""]
    rows: dict[int, dict[int, str]] = {}
    for column, part in enumerate(series, start=1):
        about = part.find(f"{CHART}tx")
        names.append("" if about is None else text_of(about, f"{CHART}v", _TEXT))
        for place, text in _points(part, "val", "yVal"):
            rows.setdefault(place, {})[column] = text
        for place, text in _points(part, "cat", "xVal"):
            rows.setdefault(place, {}).setdefault(0, text)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = [[rows[place].get(column, "") for column in range(len(names))] for place in sorted(rows)]
    lines = ("".join(f"<td>{escape(text)}</td>" for text in row) for row in body)
    table = "".join(f"<tr>{line}</tr>" for line in (head, *lines))
    return f"<p>{heading}</p><table>{table}</table>" if heading or rows else ""


def _points(series: "_Element", *names: str) -> Iterator[tuple[int, str]]:
    """Yield index and text of the values of a series, with outer categories first."""
    for holder in series.iterchildren(*(f"{CHART}{name}" for name in names)):
        form = next((element.text or "" for element in holder.iter(f"{CHART}formatCode")), "")
        inner, *outer = [
            {read_number(point.get("idx"), -1): point for point in level.iter(f"{CHART}pt")}
            for level in list(holder.iter(f"{CHART}lvl")) or [holder]
        ]
        for place, point in inner.items():
            groups = [level[max(found)] for level in outer if (found := [at for at in level if at <= place])]
            labels = [_show(part, part.get("formatCode", form)) for part in (*reversed(groups), point)]
            yield place, " ".join(labels)


def _show(point: "_Element", form: str) -> str:
    from openpyxl.styles.numbers import is_date_format
    from openpyxl.utils.datetime import from_excel

    value = (point.findtext(f"{CHART}v") or "").strip()
    try:
        number = float(value)
        if is_date_format(form):
            return show_moment(from_excel(number), form)
    except (ValueError, OverflowError):
        return value
    return show_number(number, form) or f"{number:.15g}"
