"""A document beside a pair: the part of it around the evidence, as readable text or as a page."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlencode

import polars as pl

from qa_pipeline.documents.formats.pdf.glyphs import Box
from qa_pipeline.documents.formats.pdf.page_images import PageMap, Span
from qa_pipeline.errors import InputError
from qa_pipeline.review.page_files import PageFiles
from qa_pipeline.review.readable_text import Mark, TextBlock, readable_blocks
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.rows import DocumentRow, SectionStruct
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import DOCUMENTS

LONGEST_PART = 40_000
"""Characters of a text that are sent at once: about fifteen printed pages."""
_SHORT = 12_000
"""Characters up to which a document is shown whole: about five printed pages."""
_AROUND = 3_000
"""Characters that a section around the evidence should have; shorter ones come with those beside them."""
_MOST_HITS = 1_000
"""Places of a search that are counted: nobody looks at more one by one."""
_LONGEST_SEARCH = 200  # characters
_MOST_HEADINGS = 300
"""Headings in the outline; where a document has more, those of the lowest levels are left out."""
_OFFSET = re.compile("[0-9]{1,9}")
_SHOWS = frozenset({"find", "hit", "part", "page", "view"})
"""The fields of an address that say what of a document is shown."""


@dataclass(frozen=True, slots=True)
class Hits:
    """The places where a search met a document, and the number of the current one, from 1; 0 of none."""

    words: str
    places: list[Span]
    current: int

    @property
    def are_all(self) -> bool:
        """Return whether no more were counted for there being so many."""
        return len(self.places) < _MOST_HITS


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle on a page, in points; `y` counts downwards."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page of a PDF, to be shown as a picture with its text over it.

    Attributes:
        number: the page, from 1.
        width: of the page as it is shown, in points.
        height: the same.
        transform: from the page with upright text to the page as it is shown.
        words: stretches of lines: first character, text and place.
        boxes: the name of a mark, the places of its words, and whether they are the first of that name.
    """

    number: int
    width: float
    height: float
    transform: str
    words: list[tuple[int, str, Frame]]
    boxes: list[tuple[str, Frame, bool]]


@dataclass(frozen=True, slots=True)
class SourceView:
    """A document as it is shown."""

    document: DocumentRow
    evidence: Span | None
    hits: Hits
    window: Span  # the part of the text that is shown
    part: int | None  # number of the part of the whole document, from 1; None where a section is shown
    cuts: list[int]  # first character of each part of the whole document
    blocks: list[TextBlock]  # empty where a page is shown
    sheet: Sheet | None
    pages: list[int]
    outline: list[SectionStruct]
    problem: InputError | None
    query: Mapping[str, str]  # of the address

    def fields(self, *names: str) -> dict[str, str]:
        """Return the fields of the address that stay, which is all but those that say what is shown."""
        return {name: value for name, value in self.query.items() if name in names or name not in _SHOWS}

    def link(self, **changes: object) -> str:
        """Return the address that shows another part of the document, or shows it in another way."""
        fields = self.fields("find", "view") | {
            name: "" if value is None else str(value) for name, value in changes.items()
        }
        return f"?{urlencode({name: value for name, value in fields.items() if value})}"

    def link_to(self, place: int) -> str:
        """Return the address that shows a place of the text, in the way in which it is shown now."""
        if self.sheet:
            return self.link(page=_page_at(self.document, place))
        return f"{self.link(part=_part_at(self.cuts, place))}#at-{place}"

    def link_to_hit(self, number: int) -> str:
        """Return the address that shows a result of the search."""
        place = self.hits.places[number - 1][0]
        return self.link(hit=number, part=self.part and _part_at(self.cuts, place))

    @property
    def part_shown(self) -> int:
        """Return the part of the whole document in which the shown text begins."""
        return _part_at(self.cuts, self.window[0])

    @property
    def page_before(self) -> int | None:
        """Return the page before the one that is shown; None where it is the first."""
        return max((page for page in self.pages if self.sheet and page < self.sheet.number), default=None)

    @property
    def page_after(self) -> int | None:
        """Return the page after the one that is shown; None where it is the last."""
        return min((page for page in self.pages if self.sheet and page > self.sheet.number), default=None)

    @property
    def next_page_of_quote(self) -> int | None:
        """Return the page on which the quote that is shown goes on; None where it ends."""
        ends = {page["number"]: page["end"] for page in self.document["pages"]}
        goes_on = self.sheet and self.evidence and self.evidence[1] > ends[self.sheet.number]
        return self.page_after if goes_on else None


def source_view(
    tables: StoredTables,
    files: PageFiles,
    batch: str,
    document_id: str,
    evidence: Span | None,
    query: Mapping[str, str],
) -> SourceView:
    """Return a document of a batch as an address asks for it.

    Args:
        tables: the tables of the output folder.
        files: the files that pages are drawn from.
        batch: the batch.
        document_id: the document.
        evidence: the stretch of its text to mark.
        query: the address: `find` words, show their `hit` of a number, `part` of the whole document, `page`,
            or `view=text` of a document that has pages. Without these it opens at the evidence.
    """
    document = find_document(tables, batch, document_id)
    text = document["text"] or ""
    if evidence and not 0 <= evidence[0] <= evidence[1] <= len(text):
        raise InputError(
            f"{document['path']} has no characters {evidence[0]:,} to {evidence[1]:,}; it may have changed "
            "since the claim"
        )
    hits = _search(text, query.get("find", ""), number_in(query, "hit"), evidence)
    focus = hits.places[hits.current - 1] if hits.current else evidence
    marks = [Mark(*place, "hit") for place in hits.places]
    if hits.current:
        marks.append(Mark(*hits.places[hits.current - 1], "current"))
    if evidence:
        marks.append(Mark(*evidence, "evidence"))
    pages = [page["number"] for page in document["pages"]] if document["format"] == "pdf" else []
    sheet, problem = None, None
    if pages and query.get("view") != "text":
        number = number_in(query, "page") or _page_at(document, focus[0] if focus else 0)
        try:
            sheet = _sheet(document, files.map_page(document, number), number, marks)
        except InputError as error:
            problem = error
    cuts = _cuts(document)
    part = number_in(query, "part")
    if part is None and (focus is None or len(text) <= _SHORT):
        part = 1
    window = _part(cuts, len(text), part) if part else _around(document, focus or (0, 0))
    sections = [section for section in document["sections"] if section["level"]]
    blocks = readable_blocks(
        text,
        window,
        marks,
        {section["start"]: section["level"] for section in sections},
        {page["start"]: page["number"] for page in document["pages"]},
    )
    return SourceView(
        document=document,
        evidence=evidence,
        hits=hits,
        window=window,
        part=part,
        cuts=cuts,
        blocks=[] if sheet else list(blocks),
        sheet=sheet,
        pages=pages,
        outline=_outline(sections),
        problem=problem,
        query=query,
    )


def span_in(query: Mapping[str, str]) -> Span | None:
    """Return the stretch of a text that an address names by `start` and `end`."""
    start, end = query.get("start", ""), query.get("end", "")
    return (int(start), int(end)) if _OFFSET.fullmatch(start) and _OFFSET.fullmatch(end) else None


def find_document(tables: StoredTables, batch: str, document_id: str) -> DocumentRow:
    """Return a document of a batch."""
    rows = tables.frame(DOCUMENTS, batch).filter(pl.col("document_id") == document_id)
    if not rows.height:
        raise InputError(f"batch {batch!r} has no document {document_id!r}; it may have been removed since")
    return next(typed_rows(rows, DocumentRow))


def number_in(query: Mapping[str, str], name: str, least: int = 1) -> int | None:
    """Return a number of an address; None where it gives none."""
    value = query.get(name, "")
    return int(value) if _OFFSET.fullmatch(value) and int(value) >= least else None


def _search(text: str, words: str, number: int | None, evidence: Span | None) -> Hits:
    """Find words whatever their case and the blanks between them; the first is that behind the evidence."""
    words = " ".join(words[:_LONGEST_SEARCH].split())
    if not words:
        return Hits("", [], 0)
    pattern = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
    places = [match.span() for match in islice(pattern.finditer(text), _MOST_HITS)]
    behind = bisect_left([start for start, _ in places], evidence[0] if evidence else 0) + 1
    current = min(number or (behind if behind <= len(places) else 1), len(places))
    return Hits(words, places, current)


def _page_at(document: DocumentRow, place: int) -> int:
    """Return the page with a place of the text; the first where it is before all of them."""
    starts = [page["start"] for page in document["pages"]]
    return document["pages"][max(bisect_right(starts, place) - 1, 0)]["number"]


def _cuts(document: DocumentRow) -> list[int]:
    """Return where the parts of a text begin: at a section, a blank line or a line if possible."""
    text = document["text"] or ""
    sections = [section["start"] for section in document["sections"]]
    cuts = [0]
    while len(text) - cuts[-1] > LONGEST_PART:
        least, most = cuts[-1] + LONGEST_PART // 2, cuts[-1] + LONGEST_PART
        section = sections[bisect_right(sections, most) - 1] if sections else 0
        if section <= least:
            section = _border(text, least, most)
        cuts.append(section)
    return cuts


def _part_at(cuts: Sequence[int], place: int) -> int:
    return bisect_right(cuts, place)


def _part(cuts: Sequence[int], length: int, number: int) -> Span:
    number = min(number, len(cuts))
    return cuts[number - 1], [*cuts, length][number]


def _border(text: str, least: int, most: int) -> int:
    """Return the last place between two that begins a block, or else a line."""
    for border in ("\n\n", "\n"):
        place = text.rfind(border, least, most)
        if place >= 0:
            return place + len(border)
    return most


def _around(document: DocumentRow, focus: Span) -> Span:
    """Return the sections around a stretch of the text, or what is next to it where they are long."""
    text = document["text"] or ""
    borders = sorted({0, len(text), *(section["start"] for section in document["sections"])})
    first = min(bisect_right(borders, focus[0]) - 1, len(borders) - 2)
    last = max(bisect_left(borders, focus[1]), first + 1)
    while borders[last] - borders[first] < _AROUND and (first > 0 or last < len(borders) - 1):
        first, last = max(first - 1, 0), min(last + 1, len(borders) - 1)
    start, end = borders[first], borders[last]
    if end - start > LONGEST_PART:
        if focus[0] - start > 2 * _AROUND:
            start = _border(text, focus[0] - 2 * _AROUND, focus[0] - _AROUND)
        most = min(focus[1], start + LONGEST_PART // 2) + 2 * _AROUND
        if most < end:
            end = _border(text, most - _AROUND, most)
    return start, end


def _outline(sections: Sequence[SectionStruct]) -> list[SectionStruct]:
    """Return the sections of the outline: those of the highest levels, as many as fit."""
    for level in (6, 5, 4, 3, 2, 1):
        outline = [section for section in sections if section["level"] <= level]
        if len(outline) <= _MOST_HEADINGS:
            break
    return outline[:_MOST_HEADINGS]


def _sheet(document: DocumentRow, page: PageMap, number: int, marks: Sequence[Mark]) -> Sheet:
    """Return a page with its words and the boxes of what is marked on it."""
    text, (_, _, width, height) = document["text"] or "", page.paper

    def frame(box: Box) -> Frame:
        return Frame(box.left, height - box.top, box.right - box.left, box.top - box.bottom)

    boxes = [(mark.name, frame(box)) for mark in marks for box in page.lines_of((mark.start, mark.end))]
    names = [name for name, _ in boxes]
    transforms = (
        "",
        f"translate({height:.1f} 0) rotate(90)",
        f"translate({width:.1f} {height:.1f}) rotate(180)",
        f"translate(0 {width:.1f}) rotate(270)",
    )
    return Sheet(
        number=number,
        width=height if page.turn % 2 else width,
        height=width if page.turn % 2 else height,
        transform=transforms[page.turn],
        words=[(start, text[start:end], frame(box)) for (start, end), box in page.runs(text)],
        boxes=[(name, box, names.index(name) == place) for place, (name, box) in enumerate(boxes)],
    )
