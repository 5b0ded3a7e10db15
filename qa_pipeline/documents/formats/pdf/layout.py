"""Lay out the pages of a PDF as headings, paragraphs, list items, code and table rows."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.columns import remove_running_lines, split_columns
from qa_pipeline.documents.formats.pdf.drawing import Drawing
from qa_pipeline.documents.formats.pdf.glyphs import Box, enclose
from qa_pipeline.documents.formats.pdf.groups import (
    ITEM,
    SENTENCE_END,
    Aside,
    Group,
    Item,
    OutlineEntry,
    Shape,
    give_levels,
    group_lines,
    insert_notes,
    shape_of,
    usual_size,
)
from qa_pipeline.documents.formats.pdf.lines import (
    LEADER,
    Line,
    Spelling,
    code_text,
    printed_text,
    texts_by_page,
    without_leaders,
)
from qa_pipeline.documents.formats.pdf.tables import Table, ruled_tables, table_at_end
from qa_pipeline.records import Block
from qa_pipeline.text.doubt import SIGNS
from qa_pipeline.text.lexicon.languages import of_all

_MOST_LISTED = 20  # pages named in a note, which is one line of a table


class FailedPages:
    """The errors of the failed pages of a document, by page."""

    def __init__(self, left_out: Omissions) -> None:
        self.errors: dict[int, Exception] = {}
        self._left_out = left_out

    @contextmanager
    def guard(self, number: int, lines: Sequence[Line] = ()) -> Iterator[None]:
        """End the block without an error, whatever its page raises; `lines` of it are lost then."""
        try:
            yield
        except (MemoryError, RecursionError):  # they come from the process rather than from the page
            raise
        except Exception as error:  # noqa: BLE001 - a fault in reading one page must not cost the others
            self.errors[number] = error
            self._left_out.add("unreadable_page", " ".join(map(printed_text, lines)))

    def notes(self, pages: int) -> list[str]:
        """Return a sentence such as `2 of 9 pages could not be read: 3 (too_many_objects), 7 (damaged)`."""
        if not self.errors:
            return []
        from pypdfium2 import PdfiumError

        described = []
        for number, error in sorted(self.errors.items()):
            reason = "damaged" if isinstance(error, PdfiumError) else type(error).__name__
            # a reason code alone, since messages of exceptions may quote the document
            described.append(f"{number} ({error.reason if isinstance(error, DocumentFailure) else reason})")
        return [f"{len(described)} of {pages} pages could not be read: {list_pages(described)}"]


def list_pages(pages: Sequence[object]) -> str:
    """Return the first pages of a list, and an ellipsis for the others."""
    return ", ".join(map(str, pages[:_MOST_LISTED])) + (", …" if len(pages) > _MOST_LISTED else "")


_MARGIN_SHARE = 0.2  # of the text: more of it beside the column is a column itself
_LAST = 10**9  # behind all characters of a page


@dataclass(slots=True)
class PageContent:
    """The lines, drawing and form values of a page; a `scanned` page is a picture of text."""

    number: int
    height: float
    lines: list[Line] = field(default_factory=list)
    drawing: Drawing = field(default_factory=Drawing)
    fields: list[str] = field(default_factory=list)
    scanned: bool = False


def lay_out_pages(
    pages: Sequence[PageContent],
    outline: Sequence[OutlineEntry],
    left_out: Omissions,
    failed: FailedPages,
) -> list[Block]:
    """Return the blocks in reading order, with margin notes and running lines out of the paragraphs."""
    pages = [replace(page, lines=without_leaders(page.lines, left_out)) for page in pages]
    spelling = Spelling(printed_text(line) for page in pages for line in page.lines)
    drafts: list[_Draft] = []
    for page in pages:
        with failed.guard(page.number, page.lines):
            is_next = bool(drafts) and drafts[-1].page == page.number - 1
            drafts.append(_Draft(page, spelling, drafts[-1].last_table if is_next else None))
    size = usual_size(line for draft in drafts for line in draft.lines)
    heights = [draft.height for draft in drafts]
    running = remove_running_lines([draft.lines for draft in drafts], heights, size, left_out)
    page_lines = running.pages
    upright = [line for lines in page_lines for line in lines if not line.turned]
    shape = shape_of(upright, size)
    margin = _lines_beside_column(upright, shape)
    margin_ids = {id(line) for line in margin}
    items: list[Item] = []
    for draft, lines in zip(drafts, page_lines, strict=True):
        inner = [line for line in lines if id(line) not in margin_ids]
        with failed.guard(draft.page, inner):
            flow = draft.without_turned(inner, shape, left_out)
            ordered = sorted([*draft.places, *flow], key=lambda line: line.start)
            items += [draft.apart.get(id(line), line) for part in split_columns(ordered) for line in part]
    groups = group_lines(items, shape)
    give_levels(groups, shape, outline)
    margin = sorted([*running.heads, *margin], key=lambda line: (line.page, -line.top))
    notes = group_lines(margin, shape, plain=True)
    placed = insert_notes(groups, notes, group_lines(running.feet, shape, plain=True))
    blocks = list(_blocks(placed, spelling, left_out))
    left_out.count("line_hyphen", spelling.joined, spelling.joined)
    return blocks


class _Draft:
    """A page on its way to items in reading order, with its tables and figures set apart.

    A line without text keeps their position; `apart` maps its identity to the table or figure.
    """

    def __init__(self, page: PageContent, spelling: Spelling, above: Table | None) -> None:
        self.page = page.number
        self.height = page.height
        self.lines = page.lines
        self.apart: dict[int, Table | Aside] = {}
        self.places: list[Line] = []
        self.last_table: Table | None = None
        if len(page.drawing.across) > 1:
            tables, framed, self.lines = ruled_tables(page.lines, page.drawing, spelling, above)
            self.last_table = table_at_end(tables, self.lines)
            for lines in framed:
                self._set_apart(Aside(tuple(lines)), enclose(line[2:6] for line in lines), lines[0].start)
            for table in tables:
                self._set_apart(table, table.box, table.start)
        if page.fields:
            foot = Box(0.0, 0.0, 0.0, 0.0)
            self._set_apart(Table(tuple(page.fields), page.number, foot, _LAST), foot, _LAST)

    def _set_apart(self, item: Table | Aside, box: Box, start: int) -> None:
        place = Line("", self.page, *box, 0.0, False, False, start=start)
        self.apart[id(place)] = item
        self.places.append(place)

    def without_turned(self, lines: Sequence[Line], shape: Shape, left_out: Omissions) -> list[Line]:
        """Leave out turned text in the margin, such as a stamp, and set other turned text apart."""
        for line in lines:
            if line.turned and (line.right <= shape.left or line.left >= shape.right):
                left_out.add("rotated_text", printed_text(line))
            elif line.turned:
                self._set_apart(Aside((line,)), Box(*line[2:6]), line.start)
        return [line for line in lines if not line.turned]


def _lines_beside_column(lines: Sequence[Line], shape: Shape) -> list[Line]:
    outside = [line for line in lines if line.right < shape.left - 1 or line.left > shape.right + 1]
    total = sum(len(line.text) for line in lines)
    return outside if sum(len(line.text) for line in outside) < _MARGIN_SHARE * total else []


_LONGEST_NAME = 5  # words of the name of an empty column; what is longer is text taken for a name
_LARGE = r"∑∏∫∮√\uf8eb-\uf8fe\x01-\x08\x0e-\x1f"  # the last are brackets of fonts of formulas
_FORMULA = re.compile(rf"[{_LARGE}]|(?<!\S)(?:[^\s{_LARGE}]{{1,2}} ){{5,}}")
"""A large operator, or short words in a row, which with operators and operands are a broken formula."""
_SIDE_BY_SIDE = re.compile(r"(?<!\S)\w \w(?!\S)")
_OPERATORS = re.compile(r"[=+−×·≤≥≈/∈<>]")
_FEWEST_WORDS = 4  # of a line of a sentence; shorter lines are labels
_MOST_UNUSED = 2  # empty columns of a table; where there are more, it is text taken for a table


def _blocks(groups: Iterable[Group], spelling: Spelling, left_out: Omissions) -> Iterator[Block]:
    """Write groups as blocks; a block over a page break is cut there."""
    groups = list(groups)
    ends, begins = _torn_places(groups)
    for group in groups:
        if group.table is not None:
            unused = group.table.unused
            for name in unused:
                if len(name.split()) > _LONGEST_NAME or len(unused) > _MOST_UNUSED:
                    yield Block("paragraph", name, page=group.page)
                else:
                    left_out.add("empty_column", name)
            yield from (Block("table_row", row, page=group.page) for row in group.table.rows)
        elif group.kind == "code":
            yield Block("code", code_text(group.lines), page=group.page)
        else:
            texts = list(texts_by_page(group.lines, spelling))
            for number, (page, text) in enumerate(texts):
                marker = ITEM.match(text) if group.kind == "list_item" and not number else None
                sign = marker.group().strip() if marker else ""
                if len(sign) == 1:  # a bullet; numbers and letters stay in the text
                    left_out.add("list_marker", sign)
                rest = text[marker.end() :] if marker else text
                rest = _FORMULA.sub(_doubt_formula, rest)
                rest = SIGNS["order"] + rest if not number and id(group) in begins else rest
                rest += SIGNS["order"] if number == len(texts) - 1 and id(group) in ends else ""
                sign_alone = sign if len(sign) > 1 else None
                yield Block(group.kind, rest, group.level, page, continues=number > 0, marker=sign_alone)


def _doubt_formula(match: re.Match[str]) -> str:
    has_operands = _SIDE_BY_SIDE.search(match[0]) is not None
    is_formula = len(match[0]) == 1 or (has_operands and len(_OPERATORS.findall(match[0])) > 1)
    return match[0] + SIGNS["formula"] if is_formula else match[0]


def _torn_places(groups: Sequence[Group]) -> tuple[set[int], set[int]]:
    """Return the groups that end amid a sentence at a page or column end, and the groups after them."""
    ends, begins = set(), set()
    for above, group in pairwise(group for group in groups if not (group.plain or group.table)):
        last, line = above.lines[-1], group.lines[0]
        elsewhere = last.page != line.page or line.bottom > last.top
        ended = last.text.endswith(SENTENCE_END) or len(last.text.split()) < _FEWEST_WORDS
        if above.kind == group.kind == "paragraph" and elsewhere and not (ended or ITEM.match(line.text)):
            ends.add(id(above))
            begins.add(id(group))
    return ends, begins


_PAGE_NUMBER = re.compile(r"(?:\d{1,4}|[ivxlc]{1,8})(?:(?:, ?|[-–])(?:\d{1,4}|[ivxlc]{1,8}))*", re.ASCII)
_TITLES = frozenset({*of_all("layout.contents"), "table des matières", "liste des tableaux"})
_FEWEST_ENTRIES = 3  # forms and lists of prices have fewer below such a title
_MOST_BETWEEN = 3  # lines between two entries, such as an entry over several lines or the head of a page
_LONGEST_ENTRY = 300  # characters: a paragraph is longer, and slow to search


def remove_contents(pages: Sequence[PageContent], left_out: Omissions) -> list[PageContent]:
    """Leave out tables of contents: entries with dots and page numbers below their title."""
    remaining: list[PageContent] = []
    goes_on = False  # from the page before
    for page in pages:
        begin, end, entries = _find_contents(page.lines, goes_on=goes_on)
        goes_on = entries >= (1 if goes_on else _FEWEST_ENTRIES)
        for line in page.lines[begin:end] if goes_on else ():
            left_out.add("table_of_contents", printed_text(line))
        kept = page.lines[:begin] + page.lines[end:]
        remaining.append(replace(page, lines=kept) if goes_on else page)
    return remaining


def _find_contents(lines: Sequence[Line], *, goes_on: bool) -> tuple[int, int, int]:
    """Return the begin and end of the contents on a page, and the number of their entries."""
    titles = (at for at, line in enumerate(lines) if line.text.strip(" .:").casefold() in _TITLES)
    title = next(titles, None)
    if title is None and not goes_on:
        return 0, 0, 0
    begin = 0 if goes_on or title is None else title
    end, entries = begin + 1, 0
    for at, line in enumerate(lines[begin:], start=begin):
        if _is_entry(line):
            begin = begin if entries or title is not None else at
            end, entries = at + 1, entries + 1
        elif line.text.strip(" .:").casefold() in _TITLES:  # of a list of figures
            end = at + 1
        elif at - end >= _MOST_BETWEEN:
            break
    return begin, end, entries


def _is_entry(line: Line) -> bool:
    """Return True if dots lead to a page number."""
    *_, dots = [None, *LEADER.finditer(line.text)] if len(line.text) <= _LONGEST_ENTRY else [None]
    return dots is not None and _PAGE_NUMBER.fullmatch(line.text[dots.end() :].strip(" .")) is not None
