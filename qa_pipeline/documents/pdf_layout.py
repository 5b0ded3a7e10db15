"""Lines of a PDF to headings, paragraphs, list items and code.

What belongs here: reading order, repeated heads and feet, margin notes and the joining of lines. What does
not: reading lines from a page (`pdf_lines`). Tables are not recognised: their rows come as lines of text.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qa_pipeline.documents.pdf_joining import code_text, texts_by_page
from qa_pipeline.documents.pdf_lines import Line
from qa_pipeline.documents.text import heading_level
from qa_pipeline.records import Block, BlockKind

_EDGE = 0.12
_REPEATED_ON = 0.4
_MARGIN_SHARE = 0.2
_LARGER = 1.1
_HEADING_LENGTH = 200
_BOLD_HEADING_LENGTH = 90
_PARAGRAPH_GAP = 1.3
_ITEM = re.compile(r"^\s*(?:[•‣▪●○◦∙–*-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+(?=\S)")
_BULLET = re.compile(r"^[•‣▪●○◦∙–*-]$")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_DIGITS = re.compile(r"\d+")
_LABELLED = re.compile(r"^[^\W\d_]+:\s")
_FOOTNOTE = re.compile(r"^[\d*†‡§¶]{1,3}\s?[^\W\d]")
_FOOTNOTE_SIZE = 0.92
_WIDEST_LETTER = 0.75
_SENTENCE_END = (".", "!", "?", ":", "”", '"', ")")


@dataclass(slots=True)
class _Shape:
    """What is usual in the document."""

    size: float
    left: float
    right: float
    step: float
    words: Counter[str]


@dataclass(slots=True)
class _Group:
    """Lines that make up one block."""

    kind: BlockKind
    lines: list[Line]
    level: int = 0
    plain: bool = False
    inner_left: float = math.inf

    def add(self, line: Line) -> None:
        """Append a line, keeping `inner_left`, the leftmost place of all lines but the first."""
        self.lines.append(line)
        self.inner_left = min(self.inner_left, line.left)


def lay_out_lines(lines: Sequence[Line]) -> list[Block]:
    """Blocks in reading order; margin notes and footnotes stand where they tear no paragraph apart."""
    kept = _without_running_lines(lines)
    shape = _shape(kept)
    beside = _beside_column(kept, shape)
    feet = _footnotes(kept, shape)
    aside = {id(line) for line in (*beside, *feet)}
    groups = _with_levels(list(_group((line for line in kept if id(line) not in aside), shape)), shape)
    margin = list(_group(beside, shape, plain=True))
    below = list(_group(feet, shape, plain=True))
    return list(_blocks(_with_notes(groups, margin, below), shape))


def _without_running_lines(lines: Sequence[Line]) -> list[Line]:
    """Leave out heads and feet: lines near an edge whose text, numbers aside, returns on many pages."""
    pages = len({line.page for line in lines})
    keys: dict[str, set[int]] = {}
    for line in lines:
        if _near_edge(line):
            keys.setdefault(_running_key(line), set()).add(line.page)
    least = max(2, _REPEATED_ON * pages)
    repeated = {key for key, on in keys.items() if len(on) >= least}
    return [line for line in lines if not (_near_edge(line) and _running_key(line) in repeated)]


def _near_edge(line: Line) -> bool:
    return line.bottom < _EDGE * line.height or line.top > (1 - _EDGE) * line.height


def _running_key(line: Line) -> str:
    return _DIGITS.sub("#", line.text.lower())


def _shape(lines: Sequence[Line]) -> _Shape:
    """Body size, column edges and line distance, each weighted by the characters it holds."""
    size = _most_common((line.size, len(line.text)) for line in lines)
    body = [line for line in lines if line.size == size]
    left = _most_common((round(line.left), len(line.text)) for line in body)
    right = _most_common((round(line.right), len(line.text)) for line in body if line.left >= left - 1)
    steps = (
        (round(above.bottom - below.bottom, 1), 1)
        for above, below in pairwise(body)
        if above.page == below.page and 0 < above.bottom - below.bottom < 3 * size
    )
    words = Counter(map(str.lower, _WORD.findall("\n".join(line.text for line in lines))))
    return _Shape(size, left, right, _most_common(steps) or 1.2 * size, words)


def _most_common(values: Iterable[tuple[float, int]]) -> float:
    counts: dict[float, int] = {}
    for value, weight in values:
        counts[value] = counts.get(value, 0) + weight
    return min(counts, key=lambda value: (-counts[value], value)) if counts else 0.0


def _beside_column(lines: Sequence[Line], shape: _Shape) -> list[Line]:
    """Lines wholly left of the column, where they are few: a margin, not a column of its own."""
    beside = [line for line in lines if line.right < shape.left - 1]
    total = sum(len(line.text) for line in lines)
    return beside if sum(len(line.text) for line in beside) < _MARGIN_SHARE * total else []


def _footnotes(lines: Sequence[Line], shape: _Shape) -> list[Line]:
    """Small lines that end a page and begin with a mark, where the page has other text."""
    pages: dict[int, list[Line]] = {}
    for line in lines:
        pages.setdefault(line.page, []).append(line)
    feet: list[Line] = []
    for _, on_page in sorted(pages.items()):
        above = len(on_page)
        while (
            above and on_page[above - 1].size <= _FOOTNOTE_SIZE * shape.size and not on_page[above - 1].fixed
        ):
            above -= 1
        small = on_page[above:]
        marked = next((place for place, line in enumerate(small) if _FOOTNOTE.match(line.text)), len(small))
        feet += small[marked:] if above else []
    return feet


def _group(lines: Iterable[Line], shape: _Shape, *, plain: bool = False) -> Iterator[_Group]:
    """Put lines that belong together into groups; `plain` ones are never headings."""
    group: _Group | None = None
    for line in lines:
        kind = _kind(line, shape, plain)
        if group is not None and _goes_on(group, line, kind, shape):
            group.add(line)
            continue
        if group is not None:
            yield group
        group = _Group(kind, [line], plain=plain)
    if group is not None:
        yield group


def _kind(line: Line, shape: _Shape, plain: bool) -> BlockKind:
    if line.fixed:
        return "code"
    if not plain and line.size >= _LARGER * shape.size and any(map(str.isalpha, line.text)):
        return "heading"
    return "list_item" if _ITEM.match(line.text) or _BULLET.match(line.text) else "paragraph"


def _goes_on(group: _Group, line: Line, kind: BlockKind, shape: _Shape) -> bool:
    """Whether a line belongs to the group above it."""
    last = group.lines[-1]
    if last.broken:
        return group.kind != "code" or kind == "code"
    if _BULLET.match(last.text):
        return kind in ("paragraph", "list_item") and last.page == line.page
    if group.kind == "heading" or kind == "heading":
        alike = group.kind == kind and last.size == line.size and last.page == line.page
        return alike and last.bottom - line.bottom < 2 * line.size
    if group.kind == "code" or kind == "code":
        return group.kind == kind and last.page == line.page
    if kind == "list_item" or abs(last.size - line.size) > 1 or last.bold != line.bold:
        return False
    if last.page != line.page or line.bottom > last.top:
        return _unfinished(group, line)
    if group.plain and (_LABELLED.match(line.text) or _FOOTNOTE.match(line.text)):
        return False
    step = last.bottom - line.bottom
    if step > _PARAGRAPH_GAP * max(_step_of(line, shape), 0.9 * line.size):
        return False
    if group.kind == "list_item":
        return line.left >= group.lines[0].left - 1
    return not _indented(group, line, shape) and not _hanging(group, line)


def _step_of(line: Line, shape: _Shape) -> float:
    return shape.step * line.size / shape.size if shape.size else line.size * 1.2


def _unfinished(group: _Group, line: Line) -> bool:
    """A paragraph runs over a page or column break when its last sentence has no end."""
    text = group.lines[-1].text
    return not text.endswith((".", "!", "?", ":")) and not _ITEM.match(line.text)


def _indented(group: _Group, line: Line, shape: _Shape) -> bool:
    """A first line set in, after a line that ends a sentence, begins a paragraph."""
    last = group.lines[-1]
    inset = line.left - last.left if len(group.lines) > 1 else line.left - shape.left
    return 6 < inset < 40 and last.text.endswith(_SENTENCE_END) and len(group.lines) > 1


def _hanging(group: _Group, line: Line) -> bool:
    """A line that stands out to the left after lines set in begins the next entry of a list of works."""
    first = group.lines[0].left
    return len(group.lines) > 1 and group.inner_left > first + 6 and line.left < first + 3


def _with_levels(groups: list[_Group], shape: _Shape) -> list[_Group]:
    """Give headings their level by size, and take back what only looked like one."""
    for group in groups:
        if group.kind == "heading" and sum(len(line.text) for line in group.lines) > _HEADING_LENGTH:
            group.kind = "paragraph"
    _take_back_bylines(groups, shape)
    sizes = sorted({group.lines[0].size for group in groups if group.kind == "heading"}, reverse=True)
    one_size = len({group.lines[0].size for group in groups}) == 1
    for place, group in enumerate(groups):
        if group.kind == "heading":
            group.level = min(sizes.index(group.lines[0].size) + 1, 6)
        elif group.kind in ("paragraph", "list_item") and len(group.lines) == 1:
            level = _plain_heading(groups, place, shape, one_size=one_size)
            if level:
                group.kind, group.level = "heading", min(level + len(sizes), 6)
    return groups


def _take_back_bylines(groups: list[_Group], shape: _Shape) -> None:
    """Large text with no body text before an even larger heading, such as names of authors, heads nothing."""
    body_seen, following = True, 0.0
    for group in reversed(groups):
        size = group.lines[0].size
        if group.kind != "heading":
            body_seen = body_seen or abs(size - shape.size) < 0.5
        elif not body_seen and size < following:
            group.kind = "paragraph"
        else:
            body_seen, following = False, size


def _plain_heading(groups: list[_Group], place: int, shape: _Shape, *, one_size: bool) -> int | None:
    """Level of a line of body size that is a heading: bold, or numbered where all type is of one size."""
    group = groups[place]
    line = group.lines[0]
    text = line.text.strip()
    following = groups[place + 1] if place + 1 < len(groups) else None
    if following is None or following.kind == "heading" or len(text) > _BOLD_HEADING_LENGTH:
        return None
    stands_out = line.bold and not following.lines[0].bold and text[:1].isalnum() and not _spread(line)
    if stands_out and not text.endswith((".", ",", ";")):
        return 1 if abs(line.size - shape.size) < 0.6 and line.left < shape.left + 12 else None
    return heading_level(text) if one_size else None


def _spread(line: Line) -> bool:
    """Whether a line is much wider than its letters: cells of a table row rather than words."""
    return line.right - line.left > _WIDEST_LETTER * line.size * len(line.text)


def _with_notes(groups: list[_Group], margin: list[_Group], feet: list[_Group]) -> Iterator[_Group]:
    """Place notes so that every block stays on its page.

    Margin notes stand before the first group that begins on their page, footnotes before the first that
    leaves it.
    """
    for group in groups:
        while margin and margin[0].lines[0].page <= group.lines[0].page:
            yield margin.pop(0)
        while feet and feet[0].lines[0].page < group.lines[-1].page:
            yield feet.pop(0)
        yield group
    yield from (*margin, *feet)


def _blocks(groups: Iterable[_Group], shape: _Shape) -> Iterator[Block]:
    """Write groups as blocks; a block that runs over a page break comes in one piece a page."""
    for group in groups:
        if group.kind == "code":
            yield Block("code", code_text(group.lines), page=group.lines[0].page)
            continue
        for number, (page, joined) in enumerate(texts_by_page(group.lines, shape.words)):
            text = _ITEM.sub("", joined, count=1) if group.kind == "list_item" and not number else joined
            yield Block(group.kind, text, group.level, page, continues=number > 0)
