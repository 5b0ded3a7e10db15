"""Read PowerPoint files (PPTX, PPTM, PPSX): slides as HTML, the title first, other shapes in file order."""

import io
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from itertools import chain
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, OrderedList, Style
from qa_pipeline.documents.corpus.files import LIMITS, DocumentFailure
from qa_pipeline.documents.formats.formulas import shift_of, write_formula
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.office.package import (
    DRAWING,
    MATH,
    SLIDES,
    Package,
    list_item,
    open_package,
    read_file,
    read_number,
    report_damage,
    text_of,
    unwrap_alternatives,
)
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pptx.presentation import Presentation
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide
    from pptx.table import Table

_TEXT, _PARAGRAPH = f"{DRAWING}t", f"{DRAWING}p"
_PARAGRAPHS = f"{SLIDES}txBody/{_PARAGRAPH}"  # of a shape
_TITLES = frozenset({"title", "ctrTitle", "vertTitle"})
_LISTED = frozenset({"body", "obj"})  # placeholders with bullets unless a style says otherwise
_FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr"})  # date, foot, number and head of a slide
_NO_BULLET, _NUMBERED = f"{DRAWING}buNone", f"{DRAWING}buAutoNum"
_BULLETS = frozenset({_NO_BULLET, _NUMBERED, f"{DRAWING}buChar", f"{DRAWING}buBlip"})
_FORMS: dict[str, Style] = {"alpha": "letters", "roman": "roman"}
_DEEPEST = 8  # levels of a list in a slide, from 0 (ISO 29500-1, 21.1.2.2.7)
_SMALLEST = 100  # hundredths of a point
_WHITES = frozenset({"FFFFFF", "ffffff", "bg1", "lt1"})
_BEHIND_TEXT = (  # XPath of anything that may lie behind the text of a slide
    "//p:bgPr | //p:pic | //p:graphicFrame | //p:style | //a:highlight"
    " | //p:spPr//*[self::a:solidFill or self::a:gradFill or self::a:blipFill or self::a:pattFill"
    " or self::a:grpFill] | //p:bgRef[not(@idx = '1001')]"  # 1001 is plain (ISO 29500-1, 19.3.1.3)
    " | //p:clrMap[not(@bg1 = 'lt1')] | //a:overrideClrMapping[not(@bg1 = 'lt1')]"  # for a dark `bg1`
)
_TRUE, _FALSE = frozenset({"1", "true"}), frozenset({"0", "false"})


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a PowerPoint file."""
    package, _ = open_package(source.content, ".pptx")
    blocks: list[Block] = []
    with report_damage("the presentation is damaged"):
        from pptx.package import Package as Slides  # its Presentation() refuses shows (PPSX)

        presentation = Slides.open(io.BytesIO(source.content)).presentation_part.presentation
        slide_count = len(presentation.slides)
        if slide_count > LIMITS.pages:
            raise DocumentFailure("too_many_pages", f"{slide_count} slides, more than {LIMITS.pages}")
        reader = _Reader(package, presentation)
        slides = {slide.part.partname: slide for slide in presentation.slides}  # each slide once
        for number, slide in enumerate(slides.values(), start=1):
            blocks += [replace(block, page=number) for block in reader.read_slide(slide, number)]
    return read_file(package.trees("", "core-properties"), blocks, reader.omissions)


class _Reader:
    """Read slides; text of masters and layouts is counted as left out."""

    def __init__(self, package: Package, presentation: "Presentation") -> None:
        self.package = package
        self.width, self.height = presentation.slide_width, presentation.slide_height  # in EMU
        self.has_white_slide = False  # set for each slide: on a white slide white text is invisible
        self.omissions = Omissions()
        for master in presentation.slide_masters:
            for shape in chain(master.shapes, *(layout.shapes for layout in master.slide_layouts)):
                if not shape.is_placeholder:
                    self._leave_out(shape.element, "slide_master")  # such as a company's name

    def _leave_out(self, element: "_Element", kind: str) -> str:
        """Count the text of an element as left out, and return "" as its HTML."""
        if text := text_of(element, _TEXT, f"{SLIDES}text").strip():
            self.omissions.add(kind, text)
        return ""

    def read_slide(self, slide: "Slide", number: int) -> list[Block]:
        """Return the blocks of a slide, its title first, and the notes on it."""
        notes = slide.notes_slide if slide.has_notes_slide else None
        for comments in self.package.trees(slide.part.partname.lstrip("/"), "comments"):
            self._leave_out(comments, "comment")
        if slide.element.get("show") in _FALSE:
            self._leave_out(slide.element, "hidden")
            if notes is not None:
                self._leave_out(notes.element, "speaker_note")
            return []
        unwrap_alternatives(slide.element)
        self.has_white_slide = _is_white(slide)
        shapes = list(slide.shapes)
        titles = (shape for shape in shapes if _role_of(shape) in _TITLES)
        title = next((shape for shape in titles if text_of(shape.element, _TEXT).strip()), None)
        parts = [self._write_shape(shape) for shape in shapes if shape is not title and self._shows(shape)]
        if title is not None and self._shows(title):
            heading = "h1" if number == 1 and slide.slide_layout.element.get("type") == "title" else "h2"
            text = " ".join(map(self._write_line, title.element.iterfind(_PARAGRAPHS)))
            parts.insert(0, f"<{heading}>{text}</{heading}>")
        blocks = read_fragment("".join(parts), self.omissions, removes_menus=False)
        frame = notes.notes_text_frame if notes is not None else None
        lines = frame.text.splitlines() if frame is not None else []
        return blocks + [Block("paragraph", line) for line in lines]

    def _shows(self, shape: "BaseShape") -> bool:
        """Return True if a shape reaches into the slide; the text of a shape outside is counted."""
        left, top, width, height = shape.left, shape.top, shape.width, shape.height
        if None in (left, top, width, height):  # they come from the layout
            return True
        shows = -width < left < self.width and -height < top < self.height
        if not shows:
            self._leave_out(shape.element, "hidden")
        return bool(shows)

    def _write_shape(self, shape: "BaseShape") -> str:
        """Return the HTML of a shape."""
        properties = next(shape.element.iter(f"{SLIDES}cNvPr")).attrib
        is_furniture = _role_of(shape) in _FURNITURE
        if is_furniture or properties.get("hidden") in _TRUE:
            return self._leave_out(shape.element, "running_foot" if is_furniture else "hidden")
        match str(shape.element.tag).removeprefix(SLIDES):
            case "grpSp":
                return "".join(map(self._write_shape, shape.shapes))
            case "pic":
                self.omissions.add("image", properties.get("descr", ""))
                return ""
            case "graphicFrame" if shape.has_table:
                return self._write_table(shape.table)
            case "graphicFrame":  # such as SmartArt
                is_object = next(shape.element.iter(f"{SLIDES}oleObj"), None) is not None
                other = "embedded_object" if is_object else "diagram"
                self.omissions.add("chart" if shape.has_chart else other)
                return ""
        return "".join(self._write_items(shape))

    def _write_items(self, shape: "BaseShape") -> Iterator[str]:
        """Yield the paragraphs of a shape, as list items if they have a bullet or number."""
        lists: dict[int, OrderedList] = {}  # the numbered lists in progress, by level
        for paragraph in shape.element.iterfind(_PARAGRAPHS):
            properties = paragraph.find(f"{DRAWING}pPr")
            level = 0 if properties is None else min(read_number(properties.get("lvl"), 0), _DEEPEST)
            bullets = (part for part in paragraph.iterfind(f"{DRAWING}pPr/*") if part.tag in _BULLETS)
            bullet = next(bullets, None)  # `buNone` takes the bullet of the style away
            line = self._write_line(paragraph)
            lists = {depth: ordered for depth, ordered in lists.items() if depth <= level}  # deeper lists end
            if line and bullet is not None and bullet.tag == _NUMBERED:
                if level not in lists:  # this paragraph begins a list
                    scheme = bullet.get("type", "")  # such as `alphaLcParenR`; `Uc` is for upper case
                    style = _FORMS.get(scheme[:5], "digits")  # `alpha` and `roman` have five letters
                    start = read_number(bullet.get("startAt"), 1)
                    lists[level] = OrderedList(start, style, upper="Uc" in scheme)
                line = f"{lists[level].take_number()} {line}"
            else:  # a paragraph without a number ends the numbering of its level
                lists.pop(level, None)
            is_listed = _role_of(shape) in _LISTED if bullet is None else bullet.tag != _NO_BULLET
            yield list_item(line, level) if is_listed else f"<p>{line}</p>"

    def _write_line(self, element: "_Element") -> str:
        """Return the runs, fields, line breaks and formulas of a paragraph as HTML."""
        parts = []
        for child in element:
            if child.tag in (f"{DRAWING}r", f"{DRAWING}fld"):
                parts.append(self._write_run(child))
            elif child.tag == f"{DRAWING}br":
                parts.append("<br>")
            elif child.tag == f"{MATH}oMath":
                parts.append(escape(write_formula(child, self.omissions)))
            else:  # such as `a14:m` around an equation
                parts.append(self._write_line(child))
        return "".join(parts)

    def _write_table(self, table: "Table") -> str:
        """Return a table as HTML; the text of covered cells is counted."""
        rows = []
        for number, row in enumerate(table.rows):
            is_head = number == 0 and table.first_row and len(table.rows) > 1 and len(row.cells) > 1
            name = "th" if is_head else "td"
            line = ""
            for cell in row.cells:
                element = cell._tc  # noqa: SLF001 - `cell.text` lacks fields
                if cell.is_spanned:  # another cell covers it
                    self._leave_out(element, "hidden")
                    continue
                text = " ".join(map(self._write_line, element.iter(_PARAGRAPH)))
                line += f'<{name} colspan="{cell.span_width}" rowspan="{cell.span_height}">{text}</{name}>'
            rows.append(f"<tr>{line}</tr>")
        return f"<table>{''.join(rows)}</table>"

    def _write_run(self, run: "_Element") -> str:
        """Return a run as HTML that says if it is raised or lowered; invisible text is counted."""
        text = escape(text_of(run, _TEXT)).replace("\n", "<br>")
        properties = run.find(f"{DRAWING}rPr")
        if properties is None:
            return text
        if properties.get("strike", "noStrike") != "noStrike":
            return self._leave_out(run, "deleted_text")
        if read_number(properties.get("sz"), _SMALLEST) < _SMALLEST:
            return self._leave_out(run, "hidden")
        colour = properties.find(f"{DRAWING}solidFill/*")
        if self.has_white_slide and colour is not None and _is_white_colour(colour):
            return self._leave_out(run, "hidden")
        shift = shift_of(properties.get("baseline", "0"))
        return f"<{shift}>{text}</{shift}>" if shift and text else text


def _is_white(slide: "Slide") -> bool:
    """Return True if nothing can lie behind the text of a slide, so that white text is invisible."""
    layout = slide.slide_layout
    holders = [slide.element, layout.element, layout.slide_master.element]
    colours = [colour for holder in holders for colour in holder.xpath("//p:bgRef/*")]
    return all(map(_is_white_colour, colours)) and not any(holder.xpath(_BEHIND_TEXT) for holder in holders)


def _is_white_colour(colour: "_Element") -> bool:
    return colour.get("val") in _WHITES and not len(colour)  # a child such as a shade changes it


def _role_of(shape: "BaseShape") -> str | None:
    return shape.placeholder_format.element.get("type", "obj") if shape.is_placeholder else None
