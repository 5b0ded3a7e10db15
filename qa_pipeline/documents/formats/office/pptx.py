"""PowerPoint files (PPTX, PPTM, PPSX): each slide is written as HTML, with tables, charts and notes.

Shapes are read in the order of the file, the title first. The notes of a speaker follow their slide.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import LIMITS, DocumentFailure, ReaderLimits
from qa_pipeline.documents.formats.formulas import shift_of, write_formula
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.number_formats import show_moment, show_number
from qa_pipeline.documents.formats.office.package import (
    CHART,
    DRAWING,
    MATH,
    SLIDES,
    Package,
    library_failures,
    open_package,
    read_file,
    read_number,
    text_of,
    unwrap_alternatives,
)
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pptx.chart.chart import Chart
    from pptx.presentation import Presentation
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide
    from pptx.table import Table

_TEXT, _PARAGRAPH = f"{DRAWING}t", f"{DRAWING}p"
_TITLES = frozenset({"title", "ctrTitle", "vertTitle"})
_LISTED = frozenset({"body", "obj"})
"""Placeholders whose paragraphs have bullets unless a style says otherwise."""
_FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr"})
_NO_BULLET, _NUMBERED = f"{DRAWING}buNone", f"{DRAWING}buAutoNum"
_BULLETS = frozenset({_NO_BULLET, _NUMBERED, f"{DRAWING}buChar", f"{DRAWING}buBlip"})
_NUMBERS = {"alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}
_DEEPEST = 8  # levels of a list in a slide, from 0 (ISO 29500-1, 21.1.2.2.7)
_LINE = 91_440  # EMU, a tenth of an inch: lower bars underline
_SMALLEST = 100  # hundredths of a point
_THEME_COLOURS = {"bg1": "FFFFFF", "lt1": "FFFFFF", "tx1": "000000", "dk1": "000000"}
_UNKNOWN_GROUND = "background-image:unknown"
_TRUE, _FALSE = frozenset({"1", "true"}), frozenset({"0", "false"})
_Box = tuple[int, int, int, int]
"""Left, top, width and height in EMU."""


def parse(source: SourceFile, settings: DocumentSettings, limits: ReaderLimits = LIMITS) -> ParsedFile:
    """Parse a PowerPoint file."""
    package, main = open_package(source.content, "PowerPoint")
    blocks: list[Block] = []
    with library_failures():
        from pptx.package import Package as Slides  # its Presentation() refuses shows (PPSX)

        presentation = Slides.open(io.BytesIO(package.content)).presentation_part.presentation
        slide_count = len(presentation.slides)
        if slide_count > limits.pages:
            raise DocumentFailure("too_many_pages", f"{slide_count} slides, more than {limits.pages}")
        reader = _Reader(package, presentation, settings)
        slides = {slide.part.partname: slide for slide in presentation.slides}  # each slide once
        for number, slide in enumerate(slides.values(), start=1):
            blocks += [replace(block, page=number) for block in reader.read_slide(slide, number)]
    check_length(sum(len(block.text) for block in blocks), settings)
    for _ in package.linked(main, "vbaProject"):
        reader.omissions.add("macro")
    return read_file(package.trees("", "core-properties"), blocks, reader.omissions)


class _Reader:
    def __init__(self, package: Package, presentation: "Presentation", settings: DocumentSettings) -> None:
        self.package = package
        self.slide_box = (0, 0, presentation.slide_width, presentation.slide_height)
        self.settings = settings
        self.omissions = Omissions()
        for master in presentation.slide_masters:
            for shape in chain(master.shapes, *(layout.shapes for layout in master.slide_layouts)):
                if not shape.is_placeholder and (text := text_of(shape.element, _TEXT).strip()):
                    self.omissions.add("slide_master", text)  # such as a company's name

    def read_slide(self, slide: "Slide", number: int) -> list[Block]:
        """Return the blocks of a slide and the notes on it."""
        notes = slide.notes_slide if slide.has_notes_slide else None
        if slide.element.get("show") in _FALSE:
            self.omissions.add("hidden", text_of(slide.element, _TEXT))
            if notes is not None:
                self.omissions.add("speaker_note", text_of(notes.element, _TEXT))
            return []
        is_opening = number == 1 and slide.slide_layout.element.get("type") == "title"
        blocks = self._read_shapes(slide, 1 if is_opening else 2)
        if notes is not None:
            text = notes.notes_text_frame.text if notes.notes_text_frame is not None else ""
            blocks += [Block("paragraph", line) for line in text.splitlines()]
        for comments in self.package.trees(slide.part.partname.lstrip("/"), "comments"):
            for comment in comments:
                self.omissions.add("comment", text_of(comment, _TEXT, f"{SLIDES}text"))
        return blocks

    def _read_shapes(self, slide: "Slide", title_level: int) -> list[Block]:
        """Return the blocks of the shapes of a slide, its title first."""
        unwrap_alternatives(slide.element)
        shapes = list(slide.shapes)
        titles = (shape for shape in shapes if _role_of(shape) in _TITLES)
        title = next((shape for shape in titles if text_of(shape.element, _TEXT).strip()), None)
        parts: list[str] = []
        for position, shape in enumerate(shapes):
            above = shapes[position + 1 :]
            if shape is title:
                parts.insert(0, self._write_shape(shape, above, heading=f"h{title_level}"))
            else:
                parts.append(self._write_shape(shape, above))
        # the colour of a text is unknown where it comes from the theme
        markup = f'<div style="color:unknown;{_paper_of(slide)}">{"".join(parts)}</div>'
        return read_fragment(markup, self.omissions, page=False)

    def _write_shape(
        self, shape: "BaseShape", above: "Sequence[BaseShape]", *, heading: str = "", in_group: bool = False
    ) -> str:
        """Return the HTML of a shape; `above` are the shapes drawn after it."""
        box = _box_of(shape)
        properties = next(shape.element.iter(f"{SLIDES}cNvPr")).attrib
        is_outside = box is not None and not in_group and not _meet(box, self.slide_box)
        # a bar over a part of the text hides words that are not known
        is_covered = any(_is_bar(bar) and _meet(_box_of(bar), box) for bar in above)
        is_furniture = _role_of(shape) in _FURNITURE
        if is_furniture or is_outside or is_covered or properties.get("hidden") in _TRUE:
            if text := text_of(shape.element, _TEXT).strip():
                self.omissions.add("running_foot" if is_furniture else "hidden", text)
            return ""
        match str(shape.element.tag).removeprefix(SLIDES):
            case "grpSp":
                inner = list(shape.shapes)
                return "".join(
                    self._write_shape(part, inner[position + 1 :], in_group=True)
                    for position, part in enumerate(inner)
                )
            case "pic":
                self.omissions.add("image", properties.get("descr", ""))
                return ""
            case "graphicFrame":
                return self._write_frame(shape)
        ground = _ground_of(shape.element)
        if heading:
            text = " ".join(map(self._write_line, _paragraphs_of(shape)))
            return f'<{heading} style="{ground}">{text}</{heading}>'
        return f'<div style="{ground}">{"".join(self._write_items(shape))}</div>'

    def _write_items(self, shape: "BaseShape") -> Iterator[str]:
        """Yield the paragraphs of a shape, as list items if they have a bullet or number."""
        counts: dict[int, int] = {}  # the last number of each level
        for paragraph in _paragraphs_of(shape):
            properties = paragraph.find(f"{DRAWING}pPr")
            level = 0 if properties is None else min(read_number(properties.get("lvl"), 0), _DEEPEST)
            bullets = () if properties is None else (part for part in properties if part.tag in _BULLETS)
            bullet = next(iter(bullets), None)
            line = self._write_line(paragraph)
            counts = {depth: count for depth, count in counts.items() if depth <= level}
            opened, closed = "<ul>", "</ul>"
            if line and bullet is not None and bullet.tag == _NUMBERED:
                counts[level] = counts.get(level, read_number(bullet.get("startAt"), 1) - 1) + 1
                scheme = bullet.get("type", "")  # such as `alphaLcParenR`
                style = next((_NUMBERS[name] for name in _NUMBERS if scheme.startswith(name)), "1")
                opened, closed = f'<ol type="{style}" start="{counts[level]}">', "</ol>"
            else:
                counts.pop(level, None)
            is_listed = _role_of(shape) in _LISTED if bullet is None else bullet.tag != _NO_BULLET
            item = f"{'<ul>' * level}{opened}<li>{line}</li>{closed}{'</ul>' * level}"
            yield item if is_listed else f"<p>{line}</p>"

    def _write_line(self, element: "_Element") -> str:
        """Return the runs, fields, line breaks and formulas of a paragraph as HTML."""
        parts = []
        for child in element:
            if child.tag in (f"{DRAWING}r", f"{DRAWING}fld"):
                parts.append(_write_run(child))
            elif child.tag == f"{DRAWING}br":
                parts.append("<br>")
            elif child.tag == f"{MATH}oMath":
                parts.append(escape(write_formula(child, self.omissions)))
            elif child.tag == _TEXT:
                parts.append(escape(child.text or ""))
            else:
                parts.append(self._write_line(child))
        return "".join(parts)

    def _write_frame(self, frame: "BaseShape") -> str:
        """Return a table or chart; other frames, such as SmartArt, are counted."""
        if frame.has_table:
            return self._write_table(frame.table)
        if frame.has_chart and (rows := _chart_rows(frame.chart)):
            return _write_chart(frame.chart, rows)
        is_object = next(frame.element.iter(f"{SLIDES}oleObj"), None) is not None
        other = "embedded_object" if is_object else "diagram"
        self.omissions.add("chart" if frame.has_chart else other)
        return ""

    def _write_table(self, table: "Table") -> str:
        """Return a table as HTML; the text of covered cells is counted."""
        rows = []
        for number, row in enumerate(table.rows):
            is_head = number == 0 and table.first_row and len(table.rows) > 1 and len(row.cells) > 1
            name = "th" if is_head else "td"
            cells = []
            for cell in row.cells:
                element = cell._tc  # noqa: SLF001 - its text lacks fields
                if cell.is_spanned:  # another cell covers it
                    if covered := text_of(element, _TEXT).strip():
                        self.omissions.add("hidden", covered)
                    continue
                text = " ".join(map(self._write_line, element.iter(_PARAGRAPH)))
                spans = f'colspan="{cell.span_width}" rowspan="{cell.span_height}"'
                cells.append(f"<{name} {spans}>{text}</{name}>")
            rows.append(f"<tr>{''.join(cells)}</tr>")
        # the style of a table colours its cells
        return f'<table style="{_UNKNOWN_GROUND}">{"".join(rows)}</table>'


def _write_run(run: "_Element") -> str:
    """Return a run as HTML that tells if it is struck out, tiny, raised or lowered."""
    text = escape(text_of(run, _TEXT)).replace("\n", "<br>")
    properties = run.find(f"{DRAWING}rPr")
    if properties is None:
        return text
    if properties.get("strike", "noStrike") != "noStrike":
        return f"<del>{text}</del>"
    colour = _colour_of(properties)
    style = f"color:{colour};" if colour else ""  # otherwise it is unknown
    style += "font-size:0" if read_number(properties.get("sz"), _SMALLEST) < _SMALLEST else ""
    name = shift_of(properties.get("baseline", "0")) or "span"
    return f'<{name} style="{style}">{text}</{name}>'


def _colour_of(properties: "_Element | None") -> str:
    """Return the fill colour as CSS; "" if it is unknown. Theme colours have their usual values."""
    colour = None if properties is None else properties.find(f"{DRAWING}solidFill/*")
    if colour is None or len(colour):  # children change the colour, such as its brightness
        return ""
    value = colour.get("val", "")
    value = _THEME_COLOURS.get(value, value)
    return f"#{value}" if len(value) == 6 else ""


def _ground_of(shape: "_Element") -> str:
    """Return the background style of a shape; "" if it is transparent."""
    properties = shape.find(f"{SLIDES}spPr")
    fills = [] if properties is None else [child.tag for child in properties if child.tag.endswith("Fill")]
    may_have_fill = bool(fills) or shape.find(f"{SLIDES}style") is not None
    if fills == [f"{DRAWING}noFill"] or not may_have_fill:
        return ""
    colour = _colour_of(properties)
    return f"background-color:{colour}" if colour else _UNKNOWN_GROUND


def _paper_of(slide: "Slide") -> str:
    """Return the background style of a slide, unknown unless it is plain."""
    layout = slide.slide_layout
    master = layout.slide_master
    drawings = [shape for holder in (layout, master) for shape in holder.shapes if not shape.is_placeholder]
    drawings += slide.element.iter(f"{SLIDES}pic", f"{SLIDES}graphicFrame")
    if drawings or any(map(_ground_of, slide.element.iter(f"{SLIDES}sp"))):
        return _UNKNOWN_GROUND  # a drawing may lie behind the text
    path = f"{SLIDES}cSld/{SLIDES}bg/{SLIDES}bgPr"
    fills = [fill for holder in (slide, layout, master) for fill in holder.element.iterfind(path)]
    if fills:
        colour = _colour_of(fills[0])
        return f"background-color:{colour}" if colour else _UNKNOWN_GROUND
    colour_map = master.element.find(f"{SLIDES}clrMap")  # it may give the ground `bg1` a dark colour
    is_light = colour_map is None or colour_map.get("bg1") == "lt1"
    return "background-color:#FFFFFF" if is_light else _UNKNOWN_GROUND


def _role_of(shape: "BaseShape") -> str | None:
    return shape.placeholder_format.element.get("type", "obj") if shape.is_placeholder else None


def _paragraphs_of(shape: "BaseShape") -> "list[_Element]":
    return list(shape.element.iterfind(f"{SLIDES}txBody/{_PARAGRAPH}"))


def _is_bar(shape: "BaseShape") -> bool:
    """Return True for a filled rectangle without text, as a redaction is; a lower bar underlines."""
    properties = shape.element.find(f"{SLIDES}spPr")
    if properties is None or shape.height is None or shape.height < _LINE:
        return False
    is_rectangle = properties.find(f"{DRAWING}prstGeom[@prst='rect']") is not None
    is_filled = properties.find(f"{DRAWING}solidFill") is not None
    return is_rectangle and is_filled and not text_of(shape.element, _TEXT).strip()


def _box_of(shape: "BaseShape") -> _Box | None:
    """Return the box of a shape; None if the file does not state it."""
    sides = (shape.left, shape.top, shape.width, shape.height)
    return None if None in sides else sides


def _meet(first: _Box | None, second: _Box | None) -> bool:
    """Return True if two boxes overlap; False if one is unknown."""
    if first is None or second is None:
        return False
    left, top, width, height = first
    other_left, other_top, other_width, other_height = second
    is_beside = left >= other_left + other_width or other_left >= left + width
    return not is_beside and top < other_top + other_height and other_top < top + height


def _chart_rows(chart: "Chart") -> list[list[str]]:
    """Return a row of series names and a row for each category; empty for other kinds of charts."""
    from openpyxl.styles.numbers import is_date_format
    from openpyxl.utils.datetime import from_excel

    try:
        plots = list(chart.plots)
    except ValueError:  # a kind of chart that the library does not know
        return []
    labels = [" ".join(names) for names in plots[0].categories.flattened_labels] if plots else []
    if not labels:
        return []
    label_format = _format_in(chart, "cat")
    if is_date_format(label_format):
        with suppress(ValueError, OverflowError):  # a label that is no number of days
            labels = [show_moment(from_excel(float(label)), label_format) for label in labels]
    value_format = _format_in(chart, "val")
    columns = [["", *labels]]
    for series in chain.from_iterable(plot.series for plot in plots):
        values = ("" if value is None else show_number(value, value_format) for value in series.values)
        columns.append([series.name, *values])
    return [list(row) for row in zip_longest(*columns, fillvalue="")]


def _format_in(chart: "Chart", holder: str) -> str:
    """Return the number format of the categories (`cat`) or values (`val`) of a chart."""
    space = chart._chartSpace  # noqa: SLF001 - no public way
    return str(space.findtext(f".//{CHART}{holder}//{CHART}formatCode", ""))


def _write_chart(chart: "Chart", rows: Sequence[Sequence[str]]) -> str:
    """Return the title and the rows of a chart as HTML."""
    title = ""
    if chart.has_title and chart.chart_title.has_text_frame:
        title = f"<p>{escape(chart.chart_title.text_frame.text)}</p>"
    head, *body = rows
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body)
    return f"{title}<table><tr>{names}</tr>{lines}</table>"
