"""What a PDF file holds: lines, drawing and form values of a page, and the outline of the document.

Comments, scripts and attached files are counted; no script is run, no action followed, no file opened.
"""

import ctypes
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.drawing import Drawing, read_drawing
from qa_pipeline.documents.formats.pdf.glyphs import Box, Glyphs, sheet
from qa_pipeline.documents.formats.pdf.grids import find_grids
from qa_pipeline.documents.formats.pdf.headings import OutlineEntry
from qa_pipeline.documents.formats.pdf.layout import PageContent
from qa_pipeline.documents.formats.pdf.lines import (
    Line,
    looked_at_closely,
    read_lines,
    turn_of,
)
from qa_pipeline.documents.formats.pdf.scans import is_scan
from qa_pipeline.documents.formats.pdf.tables import stacked_rules
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_TALLEST_HEADER = 80.0
_MOST_REGIONS = 80


def read_page(page: "PdfPage", number: int, settings: DocumentSettings, left_out: Omissions) -> PageContent:
    """Read what stands on a page."""
    drawing = read_drawing(page, settings.max_page_objects)
    with closing(page.get_textpage()) as textpage:
        if textpage.count_chars() > settings.max_characters:
            limit = settings.max_characters
            raise DocumentFailure("too_long", f"a page is longer than documents.max_characters = {limit}")
        glyphs, lines, outside = read_upright(page, textpage, number)
        drawing = drawing.turned(glyphs.turn, sheet(page))
        lines = looked_at_closely(glyphs, lines, _regions(drawing))
    for text in outside:
        left_out.add("outside_page", text)
    if glyphs.unreadable:
        left_out.add("unreadable_character", "?" * glyphs.unreadable, glyphs.unreadable)
    content = PageContent(number, glyphs.paper.top, lines, drawing, read_fields(page, left_out))
    content.scanned = is_scan(len(glyphs.text) if lines else 0, drawing.pictures, glyphs.paper)
    return content


def read_upright(
    page: "PdfPage", textpage: "PdfTextPage", number: int
) -> tuple[Glyphs, list[Line], list[str]]:
    """Characters and lines of a page, turned so that most of its text is upright, and text off the paper."""
    glyphs = Glyphs(page, textpage)
    lines, outside = read_lines(glyphs, number)
    turn = turn_of(glyphs, lines) if any(line.turned for line in lines) else 0
    if not turn:
        return glyphs, lines, outside
    glyphs = Glyphs(page, textpage, turn)
    return glyphs, *read_lines(glyphs, number)


def _regions(drawing: Drawing) -> list[Box]:
    """Where tables may be: in grids, and between lines that begin and end alike; the last may lack."""
    if len(drawing.across) < 2:
        return []
    grids = [
        Box(grid.places[0], grid.heights[-1], grid.places[-1], grid.heights[0])
        for grid in find_grids(drawing)
    ]
    stacks = [
        first._replace(bottom=0.0 if above.bottom - last.bottom < _TALLEST_HEADER else last.bottom)
        for first, *_, above, last in ([rules[0], *rules] for rules in stacked_rules(drawing.across))
    ]
    return [*grids, *stacks][:_MOST_REGIONS]


_MOST_ENTRIES = 20_000
_MOST_ANNOTATIONS = 10_000
_LONGEST_VALUE = 100_000
_PASSWORD_FIELD = 1 << 13


def outline_of(document: "PdfDocument") -> list[OutlineEntry]:
    """The file's own table of contents, as far as its entries name a page."""
    entries = []
    for bookmark in islice(document.get_toc(), _MOST_ENTRIES):
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        if page is None:
            continue
        try:
            title = bookmark.get_title()
        except UnicodeDecodeError:
            continue  # a name that cannot be read names no heading
        entries.append(OutlineEntry(title, bookmark.level + 1, page + 1))
    return entries


def title_of(document: "PdfDocument") -> str | None:
    """The title that the file states, if it states a readable one."""
    try:
        return document.get_metadata_value("Title") or None
    except UnicodeDecodeError:
        return None


def count_extras(document: "PdfDocument", left_out: Omissions) -> list[str]:
    """Count scripts and attached files; returns what the document's row should say of them."""
    from pypdfium2 import raw

    scripts = raw.FPDFDoc_GetJavaScriptActionCount(document.raw)
    files = raw.FPDFDoc_GetAttachmentCount(document.raw)
    if scripts > 0:
        left_out.add("script", pieces=scripts)
    if files > 0:
        left_out.add("attachment", pieces=files)
    dynamic = raw.FPDF_GetFormType(document.raw) in (raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND)
    return ["the PDF is an XFA form, whose own content is not read"] if dynamic else []


def read_fields(page: "PdfPage", left_out: Omissions) -> list[str]:
    """Values filled into a page's form, as `Name: value`; comments and actions are counted."""
    from pypdfium2 import raw

    count = raw.FPDFPage_GetAnnotCount(page.raw)
    values: list[str] = []
    for number in range(min(count, _MOST_ANNOTATIONS)):
        note = raw.FPDFPage_GetAnnot(page.raw, number)
        if not note:
            continue
        kind = raw.FPDFAnnot_GetSubtype(note)
        if kind == raw.FPDF_ANNOT_WIDGET:
            values += _value(note, left_out)
        elif kind == raw.FPDF_ANNOT_LINK:
            action = raw.FPDFLink_GetAction(raw.FPDFAnnot_GetLink(note))
            if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_LAUNCH:
                left_out.add("launch_action")
        elif kind != raw.FPDF_ANNOT_POPUP:
            left_out.add("comment", _string(note, b"Contents"))
        raw.FPDFPage_CloseAnnot(note)
    if count > _MOST_ANNOTATIONS:
        left_out.add("comment", pieces=count - _MOST_ANNOTATIONS)
    return values


def _value(field: Any, left_out: Omissions) -> Iterator[str]:
    from pypdfium2 import raw

    flags = ctypes.c_float()
    raw.FPDFAnnot_GetNumberValue(field, b"Ff", flags)
    written = raw.FPDFAnnot_GetValueType(field, b"V") == raw.FPDF_OBJECT_STRING
    value = _string(field, b"V").strip() if written else ""
    if not value or int(flags.value) & _PASSWORD_FIELD:
        left_out.add("form_field", value)
        return
    name = (_string(field, b"TU") or _string(field, b"T")).strip().rstrip(":")
    yield f"{name}: {value}" if name else value


def _string(note: Any, key: bytes) -> str:
    from pypdfium2 import raw

    length = raw.FPDFAnnot_GetStringValue(note, key, None, 0)
    if not 2 < length <= _LONGEST_VALUE:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFAnnot_GetStringValue(note, key, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", "replace")
