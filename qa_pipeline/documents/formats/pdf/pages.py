"""One page of a PDF read from PDFium: lines, drawing, form values.

What belongs here: what is asked of a page while it is open, and limits on it. What does not: what its lines
mean (`layout`).
"""

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.drawing import Drawing, read_drawing
from qa_pipeline.documents.formats.pdf.extras import read_fields
from qa_pipeline.documents.formats.pdf.glyphs import Box, Glyphs, sheet
from qa_pipeline.documents.formats.pdf.grids import find_grids
from qa_pipeline.documents.formats.pdf.layout import PageContent
from qa_pipeline.documents.formats.pdf.lines import (
    ReadLines,
    looked_at_closely,
    read_lines,
    turn_of,
    without_line_numbers,
)
from qa_pipeline.documents.formats.pdf.scans import is_scan
from qa_pipeline.documents.formats.pdf.tables import stacked_rules
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

_TALLEST_HEADER = 80.0
_MOST_REGIONS = 80


def read_page(page: "PdfPage", number: int, settings: DocumentSettings, left_out: Omissions) -> PageContent:
    """Read what stands on a page.

    Args:
        page: the open page.
        number: its number, from 1.
        settings: limits.
        left_out: counts what does not reach the text.

    Raises:
        DocumentFailure: `too_many_objects` or `too_long`.
    """
    drawing = read_drawing(page, settings.max_page_objects)
    with closing(page.get_textpage()) as textpage:
        if textpage.count_chars() > settings.max_characters:
            limit = settings.max_characters
            raise DocumentFailure("too_long", f"a page is longer than documents.max_characters = {limit}")
        glyphs, read = read_upright(page, textpage, number)
        drawing = drawing.turned(glyphs.turn, sheet(page))
        lines = without_line_numbers(glyphs, read.lines, left_out)
        lines = looked_at_closely(glyphs, lines, _regions(drawing))
    for text in read.outside_page:
        left_out.add("outside_page", text)
    if glyphs.unreadable:
        left_out.add("unreadable_character", "?" * glyphs.unreadable, glyphs.unreadable)
    content = PageContent(number, glyphs.paper.top, lines, drawing, read_fields(page, left_out))
    content.scanned = is_scan(len(glyphs.text) if lines else 0, drawing.pictures, glyphs.paper)
    return content


def read_upright(page: "PdfPage", textpage: "PdfTextPage", number: int) -> tuple[Glyphs, ReadLines]:
    """Characters and lines of a page, turned so that most of its text stands upright."""
    glyphs = Glyphs(page, textpage)
    read = read_lines(glyphs, number)
    turn = turn_of(glyphs, read.lines) if any(line.turned for line in read.lines) else 0
    if not turn:
        return glyphs, read
    glyphs = Glyphs(page, textpage, turn)
    return glyphs, read_lines(glyphs, number)


def _regions(drawing: Drawing) -> list[Box]:
    """Where tables may be: within a grid, and between lines that begin and end alike."""
    if len(drawing.across) < 2:
        return []
    stacks = [
        Box(rules[0].left, _end(rules), rules[0].right, rules[0].top)
        for rules in stacked_rules(drawing.across)
    ]
    return [*(grid.box for grid in find_grids(drawing)), *stacks][:_MOST_REGIONS]


def _end(rules: Sequence[Box]) -> float:
    """Where a table ends at the latest: one may have no line below it, but has a header then."""
    last = rules[-1].bottom
    return 0.0 if rules[-2].bottom - last < _TALLEST_HEADER else last
