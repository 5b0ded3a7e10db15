"""Lines of a PDF in reading order to paragraphs, list items and code."""

import math
import re
from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter

from qa_pipeline.documents.formats.pdf.lines import Line, words_of
from qa_pipeline.documents.formats.pdf.tables import Table
from qa_pipeline.records import BlockKind

ITEM = re.compile(r"^\s*(?:[•‣▪●○◦∙–*-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+(?=\S)")
_ON_ONE_PAGE = frozenset({"heading", "code"})
_LARGER = 1.1  # of the usual type size: a heading is a point larger in text of 10 points
_COLUMN = 0.15  # of the text: lines that begin at one place and are fewer are set in, and no column
_USUAL_END = 0.9  # of the lines of a column end before its right end; the rest reach into the margin
_WORD_SPACE = 0.6  # of the type size: a wide blank, so that room for a word is certain
_WIDER = 1.3  # of its mean width: how wide a word of wide letters may be
_NEARLY = 3  # type sizes: a line that ends so close to the edge was full, as words are not cut
_ROW_GAP = 1.5  # of the type size: blanks of justified text are narrower
_SMALL_WORD = re.compile(r"(?<![^\W_])[^\W\d_A-ZÄÖÅ][^\W\d_]*$")
_LONGEST_WORD = 60  # characters
_LEAST_INSET = 6  # points: less is unevenness of the setting
_INSET = 40  # points: more is a column or a table, and not the first line of a paragraph
_PARAGRAPH_GAP = 1.3  # of the usual step of lines: more white begins a paragraph
_LABELLED = re.compile(r"^[^\W\d_][\w.\- ]{0,30}:\s")
SENTENCE_END = (".", "!", "?", ":", "”", '"', ")")


@dataclass(slots=True)
class Shape:
    """The usual measures of the document; many lines begin at `columns` and end at `ends`."""

    size: float
    left: float
    right: float
    step: float
    columns: tuple[float, ...] = ()
    ends: tuple[float, ...] = ()

    def end_of(self, left: float) -> float:
        """Return the right end of the lines in the column of a line that begins at `left`."""
        place = bisect(self.columns, left + 1)
        return self.ends[place - 1] if place else self.right


@dataclass(frozen=True, slots=True)
class Aside:
    """Lines that are read apart: turned lines, or lines in a frame."""

    lines: tuple[Line, ...]


Item = Line | Table | Aside


@dataclass(slots=True)
class Group:
    """Lines, or a table, of a block; `plain` groups are never headings."""

    kind: BlockKind
    lines: list[Line] = field(default_factory=list)
    level: int = 0
    plain: bool = False
    table: Table | None = None
    inner_left: float = math.inf

    @property
    def page(self) -> int:
        """Return the page on which the group begins."""
        return self.table.page if self.table else self.lines[0].page

    def add(self, line: Line) -> None:
        """Append a line, keeping `inner_left`, the leftmost position of the later lines."""
        self.lines.append(line)
        self.inner_left = min(self.inner_left, line.left)


def shape_of(lines: Sequence[Line], size: float) -> Shape:
    """Return the column edges and line distance of the text that is set in the usual size."""
    body = [line for line in lines if line.size == size]
    lefts = _weigh((round(line.left), len(line.text)) for line in body)
    columns = tuple(sorted(place for place in lefts if lefts[place] >= _COLUMN * sum(lefts.values())))
    first = min(columns, default=0.0)
    second = max((line.right for line in body if abs(line.left - first) < 1), default=0.0)
    ends = [sorted(line.right for line in body if abs(line.left - column) < 1) for column in columns]
    steps = (
        (round(above.bottom - below.bottom, 1), 1)
        for above, below in pairwise(body)
        if above.page == below.page and 0 < above.bottom - below.bottom < 3 * size
    )
    ((usual_step, _),) = _weigh(sorted(steps)).most_common(1) or [(0.0, 0)]
    usual = tuple(rights[int(_USUAL_END * len(rights))] for rights in ends)
    return Shape(size, first, second, usual_step or 1.2 * size, columns, usual)


def usual_size(lines: Iterable[Line]) -> float:
    """Return the type size of most characters, listings aside if possible."""
    all_lines = list(lines)
    text = [line for line in all_lines if not line.fixed]
    sizes = _weigh(sorted((line.size, len(line.text)) for line in text or all_lines))
    return max(sizes, key=sizes.__getitem__, default=0.0)


def _weigh(values: Iterable[tuple[float, int]]) -> Counter[float]:
    counts: Counter[float] = Counter()
    for value, weight in values:
        counts[value] += weight
    return counts


def group_lines(items: Iterable[Item], shape: Shape, *, plain: bool = False) -> list[Group]:
    """Put lines that belong together into groups."""
    groups: list[Group] = []
    group: Group | None = None
    for item in items:
        if isinstance(item, Line):
            kind = _kind_of(item, shape, plain)
            if group is not None and _goes_on(group, item, kind, shape):
                group.add(item)
            else:
                group = Group(kind, [item], plain=plain)
                groups.append(group)
            continue
        group = None
        if isinstance(item, Table):
            groups.append(Group("table_row", table=item))
        else:
            own_shape = shape_of(item.lines, usual_size(item.lines))
            groups += group_lines(item.lines, own_shape, plain=True)
    return groups


def _kind_of(line: Line, shape: Shape, plain: bool) -> BlockKind:
    if line.fixed and not plain:
        return "code"
    if not plain and line.size >= _LARGER * shape.size and any(map(str.isalpha, line.text)):
        return "heading"
    return "list_item" if ITEM.match(line.text) else "paragraph"


def _goes_on(group: Group, line: Line, kind: BlockKind, shape: Shape) -> bool:
    last = group.lines[-1]
    turned_over = last.page != line.page
    if turned_over and group.plain:
        return False
    if last.broken and not (line.text[:1].isupper() and _SMALL_WORD.search(last.text[-_LONGEST_WORD:])):
        return group.kind != "code" or kind == "code"
    if kind in _ON_ONE_PAGE or group.kind in _ON_ONE_PAGE:
        near = kind == "code" or (last.size == line.size and last.bottom - line.bottom < 2 * line.size)
        return group.kind == kind and not turned_over and near
    if not _is_alike(group, line, kind, shape) or _is_row(last) or _is_row(line):
        return False
    if turned_over or line.bottom > last.top:
        unfinished = not last.text.endswith((".", "!", "?", ":")) and not ITEM.match(line.text)
        # A short line before a capital may end its paragraph, so what follows is not joined to it.
        surely = line.text[:1].islower() or last.right >= shape.end_of(last.left) - _NEARLY * last.size
        return unfinished and surely and not _is_hanging(group, line)
    usual = shape.step * line.size / (shape.size or line.size)
    if last.bottom - line.bottom > _PARAGRAPH_GAP * max(usual, 0.9 * line.size):
        return False
    if group.kind == "list_item":
        return line.left >= group.lines[0].left - 1
    is_whole = last.text.endswith(SENTENCE_END) or any(map(_LABELLED.match, (last.text, line.text)))
    set_back = line.left <= group.lines[0].left + _LEAST_INSET and not line.text[:1].islower()
    word = words_of(line)[0]
    end = last.right + _WORD_SPACE * last.size + _WIDER * (word.right - word.left)
    if is_whole and set_back and not last.text.endswith("-") and end < shape.end_of(last.left):
        return False  # a statement or a value, the next of which would have fitted into its line
    set_in = len(group.lines) > 1 and _LEAST_INSET < line.left - last.left < _INSET
    begins = set_in and last.text.endswith(SENTENCE_END)  # a paragraph, after a line that ends a sentence
    return not begins and not _is_hanging(group, line)


def _is_row(line: Line) -> bool:
    """Return True if wide white parts the words of a line, as in a list or table, or follows the last."""
    ends = [*(word.left for word in line.words[1:]), line.right]
    return any(end - word.right > _ROW_GAP * line.size for word, end in zip(line.words, ends, strict=False))


def _is_alike(group: Group, line: Line, kind: BlockKind, shape: Shape) -> bool:
    last = group.lines[-1]
    full = last.right >= shape.right - _NEARLY * line.size
    if kind == "list_item":  # unless a dash or number is amid a sentence of the paragraph above
        runs_on = group.kind == "paragraph" and full and -2 < line.left - last.left < _INSET
        if not runs_on or last.text[-1:] in ".!?:;" or line.text[:1] not in "-–0123456789":
            return False
    if abs(last.size - line.size) > 1 or (last.bold != line.bold and not full):
        return False
    return not (group.plain and _LABELLED.match(line.text))


def _is_hanging(group: Group, line: Line) -> bool:
    first = group.lines[0].left
    return first + _LEAST_INSET < group.inner_left < math.inf and line.left < first + _LEAST_INSET / 2


def insert_notes(groups: Sequence[Group], margin: Sequence[Group], feet: Sequence[Group]) -> list[Group]:
    """Return the groups with margin notes at the top of their page, feet at its end."""
    first = [group.page for group in groups]
    last = [group.table.page if group.table else group.lines[-1].page for group in groups]
    placed = [
        *((bisect_left(first, note.page), note) for note in margin),
        *((bisect(last, foot.page), foot) for foot in feet),
        *enumerate(groups),
    ]
    return [group for _, group in sorted(placed, key=itemgetter(0))]


_LONGEST_BOLD = 90  # characters of a heading that only its weight tells from text: one line of it
_LEAST_SIZE = 0.85  # of the usual type size: smaller bold lines are heads of tables and captions
_MOST_LINES = 4  # of a heading that an outline names: titles are wrapped, paragraphs are longer
NUMBER = re.compile(r"^(?:\d{1,2}|[A-Z](?=\.))(?:\.\d{1,2}){0,4}\.?\s+(?=\S)")
_NO_LETTER = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """An entry of a file's own outline: its title, level from 1, and page."""

    title: str
    level: int
    page: int


def give_levels(groups: list[Group], shape: Shape, outline: Sequence[OutlineEntry]) -> None:
    """Set headings and their levels: from the file's outline, then from type size and weight."""
    _take_back_bylines(groups, shape)
    levels = _levels_of_outline(groups, outline)
    level_of = _levels_of_sizes(groups, levels)
    for place, group in enumerate(groups):
        if group.kind == "heading" and place not in levels:
            size = group.lines[0].size
            above = (level for other, level in level_of.items() if other > size)
            group.level = min(level_of.get(size) or max(above, default=0) + 1, 6)
    lowest = min(max(level_of.values(), default=0) + 1, 6)
    bold = [group for group, below in pairwise(groups) if _is_bold_heading(group, below, shape)]
    for group in bold:
        group.kind, group.level = "heading", lowest


def _take_back_bylines(groups: Sequence[Group], shape: Shape) -> None:
    """Turn large text before an even larger heading, such as names of authors, into paragraphs."""
    larger = 0.0  # than what is before the text that follows
    for group in reversed([group for group in groups if group.lines]):
        size = group.lines[0].size
        if group.kind == "heading" and size < larger:
            group.kind = "paragraph"
        elif group.kind == "heading":
            larger = size
        elif abs(size - shape.size) < 0.5:
            larger = 0.0


def _levels_of_sizes(groups: Sequence[Group], levels_of_outline: dict[int, int]) -> dict[float, int]:
    """Return the heading levels of type sizes; a large heading above the outline entries is the title."""
    first = min(levels_of_outline, default=len(groups))
    titles = {group.lines[0].size for group in groups[:first] if group.kind == "heading"}
    if not levels_of_outline:
        return {size: place for place, size in enumerate(sorted(titles, reverse=True), start=1)}
    shift = (2 if titles else 1) - min(levels_of_outline.values())
    level_of = {max(titles): 1} if titles else {}
    for place, level in levels_of_outline.items():
        group = groups[place]
        group.kind, group.level = "heading", min(level + shift, 6)
        size = group.lines[0].size
        level_of[size] = max(level_of.get(size, 0), group.level)
    return level_of


def _is_bold_heading(group: Group, below: Group, shape: Shape) -> bool:
    """Return True if a group is a bold line above text, which need not be larger to be a heading."""
    if group.kind not in ("paragraph", "list_item") or len(group.lines) != 1 or group.plain:
        return False
    line, text = group.lines[0], group.lines[0].text.strip()
    is_title = line.bold and text[:1].isalnum() and not text.endswith((".", ",", ";"))
    is_bold_text = below.lines and below.lines[0].bold and not NUMBER.match(text)
    return (
        (is_title and len(text) <= _LONGEST_BOLD and line.size >= _LEAST_SIZE * shape.size)
        and not (below.kind == "heading" or is_bold_text)
        and not _is_row(line)
    )


def _levels_of_outline(groups: Sequence[Group], outline: Sequence[OutlineEntry]) -> dict[int, int]:
    entries: dict[tuple[int, str], list[int]] = {}
    for entry in outline:
        entries.setdefault((entry.page, letters_of(entry.title)), []).append(entry.level)
    group_levels: dict[int, int] = {}
    for place, group in enumerate(groups if entries else ()):
        text = "".join(line.text for line in group.lines[: _MOST_LINES + 1])
        numbered = NUMBER.sub("", text)  # many outlines leave out the number
        if group.kind == "code" or len(group.lines) > _MOST_LINES or not text:
            continue
        if group.kind == "list_item" and numbered == text:
            continue
        for title in (text, numbered):
            if levels := entries.get((group.page, letters_of(title))):
                group_levels[place] = levels.pop(0)
                break
    return group_levels


def letters_of(text: str) -> str:
    """Return the letters and digits of a text in lower case, by which headings are compared."""
    return _NO_LETTER.sub("", text).casefold()
