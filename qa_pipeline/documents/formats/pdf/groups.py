"""Lines of a PDF in reading order to paragraphs, list items and code."""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from qa_pipeline.documents.formats.pdf.lines import Line, Word, words_of
from qa_pipeline.documents.formats.pdf.tables import Table, split_at_gaps
from qa_pipeline.records import BlockKind

ITEM = re.compile(r"^\s*(?:[•‣▪●○◦∙–*-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+(?=\S)")  # such as `•`, `2.` or `(a)`
_ON_ONE_PAGE = frozenset({"heading", "code"})  # kinds of blocks that end with their page
_LARGER = 1.1  # of the usual type size: a heading is a point larger in text of 10 points
_COLUMN_SHARE = 0.15  # of the letters, in lines with one left edge, make a column; fewer are indented lines
_END_QUANTILE = 0.9  # of the right ends of a column's lines: a few lines reach into the margin
_WORD_SPACE = 0.6  # of the type size: a wide blank, so that room for a word is certain
_WIDER = 1.3  # of its mean width: how wide a word of wide letters may be
_NEARLY = 3  # type sizes: a line that ends so close to the edge was full, as words are not cut
_ROW_GAP = 1.5  # of the type size: blanks of justified text are narrower
_LEAST_INSET = 6  # points: less is unevenness of the setting
_WIDEST_INSET = 40  # points: a line below text that begins farther right is of a column or table
_PARAGRAPH_GAP = 1.3  # of the usual step of lines: more white begins a paragraph
_LABELLED = re.compile(r"^[^\W\d_][\w.\- ]{0,30}:\s")  # a statement or value, such as `Anna: Good morning.`
SENTENCE_END = (".", "!", "?", ":", "”", '"', ")")


@dataclass(slots=True)
class Shape:
    """The usual measures of the document's text."""

    size: float  # of the type
    left: float  # the edges of the first column
    right: float
    step: float  # the distance of neighbouring lines
    columns: tuple[float, ...] = ()  # the positions at which many lines begin
    ends: tuple[float, ...] = ()  # the usual right end of these lines, for each column

    def is_full(self, line: Line) -> bool:
        """Return True if a line reaches the right end of its column."""
        return line.right >= self._end_of(line) - _NEARLY * line.size

    def has_room(self, line: Line, word: Word) -> bool:
        """Return True if a word would certainly have fitted at the end of a line."""
        width = _WORD_SPACE * line.size + _WIDER * (word.right - word.left)
        return line.right + width < self._end_of(line)

    def _end_of(self, line: Line) -> float:
        column = bisect(self.columns, line.left + 1) - 1
        return self.ends[column] if column >= 0 else self.right


Item = Line | Table | list[Line]  # a line, a table, or the lines in a frame, which are read apart


@dataclass(slots=True)
class Group:
    """The lines of a block, or a table; `plain` groups, of margins, feet and frames, are never headings."""

    kind: BlockKind
    lines: list[Line] = field(default_factory=list)
    level: int = 0
    plain: bool = False
    table: Table | None = None
    start_sign: str = ""  # of a doubt, before its text
    end_sign: str = ""

    @property
    def page(self) -> int:
        """Return the page on which the group begins."""
        return self.table.page if self.table else self.lines[0].page


def shape_of(lines: Sequence[Line], size: float) -> Shape:
    """Return the column edges and line distance of the text that is set in the usual size."""
    body = [line for line in lines if line.size == size]
    letters_at: Counter[float] = Counter()  # by the left edge of their lines
    for line in body:
        letters_at[round(line.left)] += len(line.text)
    total = letters_at.total()
    columns = tuple(sorted(left for left, letters in letters_at.items() if letters >= _COLUMN_SHARE * total))
    column_ends = [sorted(line.right for line in body if abs(line.left - column) < 1) for column in columns]
    steps = sorted(  # ascending, so that the most common is the smallest of the most frequent
        round(above.bottom - below.bottom, 1)
        for above, below in pairwise(body)
        if 0 < above.bottom - below.bottom < 3 * size
    )
    usual_step = Counter(steps).most_common(1)[0][0] if steps else 0.0
    return Shape(
        size,
        left=columns[0] if columns else 0.0,
        right=column_ends[0][-1] if columns else 0.0,  # the farthest end: beyond it are margins and columns
        step=usual_step or 1.2 * size,
        columns=columns,
        ends=tuple(ends[int(_END_QUANTILE * len(ends))] for ends in column_ends),
    )


def usual_size(lines: Iterable[Line]) -> float:
    """Return the type size of most characters, listings aside if possible."""
    all_lines = list(lines)
    text = [line for line in all_lines if not line.fixed]
    letters_in: Counter[float] = Counter()  # by type size
    for line in text or all_lines:
        letters_in[line.size] += len(line.text)
    return max(sorted(letters_in), key=letters_in.__getitem__, default=0.0)


def group_lines(items: Iterable[Item], shape: Shape, *, plain: bool = False) -> list[Group]:
    """Put lines that belong together into groups."""
    groups: list[Group] = []
    for item in items:
        if isinstance(item, Table):
            groups.append(Group("table_row", table=item))
        elif isinstance(item, list):  # the lines in a frame
            groups += group_lines(item, shape_of(item, usual_size(item)), plain=True)
        else:
            kind = _kind_of(item, shape, plain=plain)
            last = groups[-1] if groups else None
            if last and last.lines and last.plain == plain and _continues(last, item, kind, shape):
                last.lines.append(item)
            else:
                groups.append(Group(kind, [item], plain=plain))
    return groups


def _kind_of(line: Line, shape: Shape, *, plain: bool) -> BlockKind:
    if line.fixed and not plain:
        return "code"
    if not plain and line.size >= _LARGER * shape.size and any(map(str.isalpha, line.text)):
        return "heading"
    return "list_item" if ITEM.match(line.text) else "paragraph"


def _continues(group: Group, line: Line, kind: BlockKind, shape: Shape) -> bool:
    """Return True if a line, which alone is of `kind`, belongs to the group before it."""
    last = group.lines[-1]
    is_new_page = last.page != line.page
    if is_new_page and group.plain:  # margin notes and feet end with their page
        return False
    if last.broken:
        first_half = last.text.split(" ")[-1]
        # `Donald` goes on with `Mac`; `The` below `compu` is a new word, and judged like other lines
        is_new_word = first_half[:1].islower() and line.text[:1].isupper()
        if not is_new_word:
            return kind == "code" or group.kind != "code"  # text does not go on with code
    if kind in _ON_ONE_PAGE or group.kind in _ON_ONE_PAGE:
        is_in_column = line.bottom <= last.top  # a line of the next column is above the last line
        is_next_line = is_in_column and last.bottom - line.bottom < 2 * line.size
        # code may have empty lines, and go on in the next column
        is_near = kind == "code" or (is_next_line and last.size == line.size)
        return group.kind == kind and not is_new_page and is_near
    has_row = _is_row(last) or _is_row(line)  # such as a price list's, which is a block of its own
    return not has_row and _may_continue(group, line, kind, shape) and _continues_text(group, line, shape)


def _continues_text(group: Group, line: Line, shape: Shape) -> bool:
    """Return True if a line goes on with the paragraph or list item before it, by its position and text."""
    last = group.lines[-1]
    if line.page != last.page or line.bottom > last.top:  # on the next page or in the next column
        is_unfinished = not last.text.endswith((".", "!", "?", ":"))
        # A short line may end its paragraph: only a line with a small letter is joined to it.
        return is_unfinished and (line.text[:1].islower() or shape.is_full(last))
    usual_step = shape.step * line.size / (shape.size or line.size)  # it grows with the type size
    if last.bottom - line.bottom > _PARAGRAPH_GAP * usual_step:
        return False
    if group.kind == "list_item":  # its lines begin below its marker or further in, with a point of tolerance
        return line.left >= group.lines[0].left - 1
    return not _begins_statement(group, line, shape)


def _begins_statement(group: Group, line: Line, shape: Shape) -> bool:
    """Return True if a line begins a statement or value: the line above ends one and has room for a word."""
    last = group.lines[-1]
    is_finished = last.text.endswith(SENTENCE_END) or any(map(_LABELLED.match, (last.text, line.text)))
    is_at_edge = line.left <= group.lines[0].left + _LEAST_INSET
    goes_on = line.text[:1].islower() or not shape.has_room(last, words_of(line)[0])
    return is_finished and is_at_edge and not goes_on


def _is_row(line: Line) -> bool:
    """Return True if wide white parts the words of a line, as in a list or table, or follows the last."""
    gap = _ROW_GAP * line.size
    return len(split_at_gaps(line, gap)) > 1 or line.right - words_of(line)[-1].right > gap


def _may_continue(group: Group, line: Line, kind: BlockKind, shape: Shape) -> bool:
    """Return True if a line has the size and weight of the line above it, and begins no list item."""
    last = group.lines[-1]
    # `shape.right` is the edge of the first column; lines of further columns always reach it.
    is_full = last.right >= shape.right - _NEARLY * line.size
    # Below a full line the weight may change, as a paragraph may have bold words.
    has_same_type = abs(last.size - line.size) <= 1 and (last.bold == line.bold or is_full)
    inset = line.left - last.left  # a little below 0 in uneven text
    is_in_paragraph = group.kind == "paragraph" and is_full and -2 < inset < _WIDEST_INSET
    # A dash or number amid a sentence begins no item: `- source` below `are open`, `2. of` below `see page`.
    is_amid_sentence = last.text[-1:] not in ".!?:;" and line.text[:1] in "-–0123456789"
    return has_same_type and (kind != "list_item" or (is_in_paragraph and is_amid_sentence))


def give_levels(groups: Sequence[Group]) -> None:
    """Set headings and their levels, from type size and weight."""
    headings = [group for group in groups if group.kind == "heading"]
    sizes = sorted({group.lines[0].size for group in headings}, reverse=True)
    for group in headings:
        group.level = min(sizes.index(group.lines[0].size) + 1, 6)
    bold_headings = [group for group, below in pairwise(groups) if _is_bold_heading(group, below)]
    for group in bold_headings:  # they are below all larger headings
        group.kind, group.level = "heading", min(len(sizes) + 1, 6)


def _is_bold_heading(group: Group, below: Group) -> bool:
    """Return True if a group is a bold line above text, which need not be larger to be a heading."""
    if group.kind not in ("paragraph", "list_item") or len(group.lines) != 1 or group.plain:
        return False
    line = group.lines[0]
    is_title = line.bold and line.text[:1].isalnum() and not line.text.endswith((".", ",", ";"))
    return is_title and below.kind != "heading" and not _is_row(line)
