"""Lay out the pages of a PDF as headings, paragraphs, list items, code and table rows."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.columns import remove_running_lines, split_columns
from qa_pipeline.documents.formats.pdf.drawing import Drawing
from qa_pipeline.documents.formats.pdf.glyphs import Box, enclose
from qa_pipeline.documents.formats.pdf.groups import (
    ITEM,
    SENTENCE_END,
    Group,
    Item,
    Shape,
    give_levels,
    group_lines,
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
from qa_pipeline.documents.formats.pdf.tables import Table, ruled_tables
from qa_pipeline.records import Block
from qa_pipeline.text.doubt import SIGNS
from qa_pipeline.text.lexicon.languages import of_all

_MARGIN_SHARE = 0.2  # of the text: more of it beside the column is a column itself
_AFTER_TEXT = 10**9  # an offset behind all characters of a page


@dataclass(slots=True)
class PageContent:
    """The lines, drawing and form values of a page; a `scanned` page is a picture of text."""

    number: int
    height: float
    lines: list[Line] = field(default_factory=list)
    drawing: Drawing = field(default_factory=Drawing)
    fields: list[str] = field(default_factory=list)
    scanned: bool = False


def lay_out_pages(pages: Sequence[PageContent], left_out: Omissions) -> list[Block]:
    """Return the blocks in reading order, with margin notes and running lines out of the paragraphs."""
    pages = [replace(page, lines=without_leaders(page.lines, left_out)) for page in pages]
    spelling = Spelling(printed_text(line) for page in pages for line in page.lines)
    set_apart = [_set_apart(page, spelling) for page in pages]  # placeholders and other lines
    lines_by_page = [lines for _, lines in set_apart]
    size = usual_size(chain.from_iterable(lines_by_page))
    heights = [page.height for page in pages]
    body_by_page, heads, feet = remove_running_lines(lines_by_page, heights, size, left_out)
    body = list(chain.from_iterable(body_by_page))
    shape = shape_of(body, size)
    notes = _lines_in_margin(body, shape)
    in_margin = set(notes)
    items: list[Item] = []
    for (placeholders, _), lines in zip(set_apart, body_by_page, strict=True):
        text_lines = (line for line in lines if line not in in_margin)
        # Placeholders are sorted like lines, and then replaced by their tables and framed texts.
        in_file_order = sorted([*placeholders, *text_lines], key=lambda line: line.start)
        in_reading_order = chain.from_iterable(split_columns(in_file_order))
        items += [placeholders.get(line, line) for line in in_reading_order]
    text_groups = group_lines(items, shape)
    give_levels(text_groups)
    at_top = sorted([*heads, *notes], key=lambda line: (line.page, -line.top))
    top_groups, foot_groups = (group_lines(lines, shape, plain=True) for lines in (at_top, feet))
    # The sort is stable: heads and margin notes are at the top of their page, and feet at its end.
    groups = sorted([*top_groups, *text_groups, *foot_groups], key=lambda group: group.page)
    blocks = list(_write_blocks(groups, spelling, left_out))  # this removes hyphens, which `spelling` counts
    left_out.count("line_hyphen", pieces=spelling.removed_hyphens, characters=spelling.removed_hyphens)
    return blocks


def _lines_in_margin(body: Sequence[Line], shape: Shape) -> list[Line]:
    """Return the lines beside the first column of text, or [] if they are columns themselves."""
    margin_lines = [line for line in body if line.right < shape.left - 1 or line.left > shape.right + 1]
    margin_letters, letters = (sum(len(line.text) for line in lines) for lines in (margin_lines, body))
    return margin_lines if margin_letters < _MARGIN_SHARE * letters else []


def _set_apart(page: PageContent, spelling: Spelling) -> tuple[dict[Line, Table | list[Line]], list[Line]]:
    """Return the tables and framed texts of a page by placeholder, and the other lines."""
    tables, framed, lines = ruled_tables(page.lines, page.drawing, spelling)
    if page.fields:  # values of a form, a row each, come last on their page
        tables.append(Table(page.fields, page.number, Box(0.0, 0.0, 0.0, 0.0), _AFTER_TEXT))
    items: list[tuple[Table | list[Line], Box, int]] = [  # each with its box and offset
        *((text, enclose(line.box for line in text), text[0].start) for text in framed),
        *((table, table.box, table.start) for table in tables),
    ]
    placeholders = {  # empty lines with the box and offset of their items
        Line("", page.number, *box, size=0.0, bold=False, fixed=False, start=start): item
        for item, box, start in items
    }
    return placeholders, lines


_LARGE = r"∑∏∫∮√\uf8eb-\uf8fe\x01-\x08\x0e-\x1f"  # the last are brackets of fonts of formulas
_FORMULA = re.compile(rf"[{_LARGE}]|(?<!\S)(?:[^\s{_LARGE}]{{1,2}} ){{5,}}")
"""A large operator, or short words in a row, which with operators and operands are a broken formula."""
_SIDE_BY_SIDE = re.compile(r"(?<!\S)\w \w(?!\S)")
_OPERATORS = re.compile(r"[=+−×·≤≥≈/∈<>]")
_FEWEST_WORDS = 4  # of a line of a sentence; shorter lines are labels


def _write_blocks(groups: Sequence[Group], spelling: Spelling, left_out: Omissions) -> Iterator[Block]:
    """Yield the blocks of groups, with signs of doubt in sentences torn by a page or column."""
    _mark_torn(groups)
    for group in groups:
        if group.table is not None:  # rows are `Name: cell`, so names without any cell are paragraphs
            yield from (Block("paragraph", name, page=group.page) for name in group.table.empty_columns)
            yield from (Block("table_row", row, page=group.page) for row in group.table.rows)
        elif group.kind == "code":
            yield Block("code", code_text(group.lines), page=group.page)
        else:
            yield from _write_text(group, spelling, left_out)


def _write_text(group: Group, spelling: Spelling, left_out: Omissions) -> Iterator[Block]:
    """Yield a block for each page of a group's text, with signs of doubt at its start and end."""
    texts = list(texts_by_page(group.lines, spelling))
    marker: str | None = None
    if group.kind == "list_item" and texts and (match := ITEM.match(texts[0][1])):
        page, text = texts[0]
        texts[0] = (page, text[match.end() :])
        marker = match[0].strip()
        if len(marker) == 1:  # a bullet, which is left out, unlike a number or letter such as `(a)`
            left_out.add("list_marker", marker)
            marker = None
    for number, (page, text) in enumerate(texts):
        start = group.start_sign if number == 0 else ""
        end = group.end_sign if number == len(texts) - 1 else ""
        signed = start + _FORMULA.sub(_doubt_formula, text) + end
        own_marker = marker if number == 0 else None
        yield Block(group.kind, signed, group.level, page, continues=number > 0, marker=own_marker)


def _doubt_formula(match: re.Match[str]) -> str:
    """Add the sign of a doubt to a match of `_FORMULA` that is a formula, such as `a = b + c`."""
    is_operator_alone = len(match[0]) == 1
    has_operands = _SIDE_BY_SIDE.search(match[0]) is not None
    is_formula = is_operator_alone or (has_operands and len(_OPERATORS.findall(match[0])) > 1)
    return match[0] + SIGNS["formula"] if is_formula else match[0]


def _mark_torn(groups: Sequence[Group]) -> None:
    """Doubt the end of groups that end amid a sentence at a page or column end, and the start of the next."""
    for above, group in pairwise(group for group in groups if not (group.plain or group.table)):
        last, first = above.lines[-1], group.lines[0]
        is_elsewhere = last.page != first.page or first.bottom > last.top  # on a new page or column
        is_finished = last.text.endswith(SENTENCE_END) or len(last.text.split()) < _FEWEST_WORDS
        are_paragraphs = above.kind == group.kind == "paragraph"
        if are_paragraphs and is_elsewhere and not is_finished:
            above.end_sign = group.start_sign = SIGNS["order"]


_PAGE_NUMBER = re.compile(r"(?:\d{1,4}|[ivxlc]{1,8})(?:(?:, ?|[-–])(?:\d{1,4}|[ivxlc]{1,8}))*", re.ASCII)
_TITLES = frozenset(of_all("layout.contents"))
_LONGEST_ENTRY = 300  # characters: a paragraph is longer, and slow to search


def remove_contents(pages: Sequence[PageContent], left_out: Omissions) -> list[PageContent]:
    """Leave out entries of tables of contents, from a page with the title to the first without entries."""
    remaining: list[PageContent] = []
    goes_on = False
    for page in pages:
        has_title = any(line.text.strip(" .:").casefold() in _TITLES for line in page.lines)
        entries = list(filter(_is_entry, page.lines)) if goes_on or has_title else []
        for entry in entries:
            left_out.add("table_of_contents", printed_text(entry))
        goes_on = entries != []  # on the next page, which need not have a title
        remaining.append(replace(page, lines=[line for line in page.lines if line not in entries]))
    return remaining


def _is_entry(line: Line) -> bool:
    """Return True if dots lead to a page number."""
    leaders = list(LEADER.finditer(line.text)) if len(line.text) <= _LONGEST_ENTRY else []
    return leaders != [] and _PAGE_NUMBER.fullmatch(line.text[leaders[-1].end() :].strip(" .")) is not None
