"""Lines of a PDF page with their place and type."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.glyphs import BROKEN_WORD, Box, Glyphs

_RUN = re.compile(f"[^\r\n{BROKEN_WORD}]+{BROKEN_WORD}?|{BROKEN_WORD}")
_WORD = re.compile(f"[^\\s{BROKEN_WORD}]+")
_BLANK = re.compile(" +")
_LONG = 20
_USUAL_WIDTH = 0.5
_LOOSE = 1.12
_LOOSER = 1.15
_WIDE_GAP = 1.2
_STACKED = 1.2
_RETURN = 2.0
_LONE_HYPHEN = "-"
_TURN_TOLERANCE = 0.05


class Word(NamedTuple):
    """Part of a line between blanks, and where it begins and ends from left to right."""

    text: str
    left: float
    right: float


class Line(NamedTuple):
    """One line on paper; distances in points from the lower left corner of the page.

    `broken` says that its last word goes on in the next line, `turned` that it does not stand upright.
    `start` and `end` are its place among the characters of the page. `words` are known where the line was
    looked at closely.
    """

    text: str
    page: int
    left: float
    bottom: float
    right: float
    top: float
    size: float
    bold: bool
    fixed: bool
    broken: bool = False
    turned: bool = False
    start: int = 0
    end: int = 0
    words: tuple[Word, ...] = ()


@dataclass(slots=True)
class ReadLines:
    """The lines of a page in the order the file writes them, and the text that stands off the paper."""

    lines: list[Line] = field(default_factory=list)
    outside_page: list[str] = field(default_factory=list)


def read_lines(glyphs: Glyphs, number: int) -> ReadLines:
    """Gather the characters of page `number` into lines."""
    _, _, width, height = glyphs.paper
    read = ReadLines()
    lines = read.lines
    last: Line | None = None
    for run in _RUN.finditer(glyphs.text):
        line = _measure(glyphs, *run.span(), number)
        if line is None:
            continue
        if line.turned or line.right > width + 1:
            parts = _seen(glyphs, line, run.end(), width, read)
        else:
            parts = (line,)
        for part in parts:
            if not (-1 < part.left < width and -1 < part.bottom < height):
                read.outside_page.append(printed(part))
            elif last is not None and _same_line(last, part):
                lines[-1] = last = _joined(last, part)
            else:
                lines.append(part)
                last = part
    return read


def printed(line: Line) -> str:
    """The text of a line with the hyphen it breaks a word with."""
    return f"{line.text}-" if line.broken else line.text


def turn_of(glyphs: Glyphs, lines: Sequence[Line]) -> int:
    """Quarter turns, clockwise, that set most of a page's text upright."""
    counts = [0, 0, 0, 0]
    for line in lines:
        if line.turned:
            turns = glyphs.turns(line.start)
            if abs(turns - round(turns)) < _TURN_TOLERANCE:
                counts[round(turns) % 4] += len(line.text)
    most = max(range(4), key=counts.__getitem__)
    return most if 2 * counts[most] > sum(len(line.text) for line in lines) else 0


def looked_at_closely(glyphs: Glyphs, lines: Sequence[Line], regions: Sequence[Box]) -> list[Line]:
    """The same lines, those that are loose or lie in one of the regions with their words.

    PDFium writes one blank between two characters however far apart they are, so that cells of a table row
    and lines of two columns read as one. A line much wider than its letters says that it has such a gap;
    where all lines of a page have one, a few of them tell. Code is looked at for the sake of its blanks.
    """
    widths = [(line.right - line.left) / (line.size * len(line.text) or 1) for line in lines]
    long = [place for place, line in enumerate(lines) if len(line.text) >= _LONG]
    usual = median(widths[place] for place in long) if len(long) > 2 else _USUAL_WIDTH
    sampled = {long[len(long) // 3], long[2 * len(long) // 3]} if len(long) > 2 else set()
    gapped = any(_has_gap(glyphs, lines[place]) for place in sampled)
    limit = 0.0 if gapped else usual * _LOOSE
    close = list(lines)
    known = [place for place, width in enumerate(widths) if width > limit or lines[place].fixed]
    for place in range(len(lines)) if regions else known:
        line = lines[place]
        loose = widths[place] > limit and (len(line.text) >= _LONG or widths[place] > limit * _LOOSER)
        if ((loose or line.fixed) and " " in line.text) or (regions and _lies_in(line, regions)):
            close[place] = Line(*line[:-1], _words(glyphs, line))
    return close


def _has_gap(glyphs: Glyphs, line: Line) -> bool:
    """Whether two words about the middle of a line stand as far apart as columns do."""
    quarter = (line.end - line.start) // 4
    blanks = _BLANK.finditer(glyphs.text, line.start + quarter, line.end - quarter)
    return not line.turned and any(
        glyphs.left(blank.end()) - glyphs.right(blank.start() - 1) > _WIDE_GAP * line.size
        for blank in blanks
        if blank.end() < line.end
    )


def _lies_in(line: Line, regions: Sequence[Box]) -> bool:
    return any(
        box.bottom < line.bottom < box.top and line.left < box.right and line.right > box.left
        for box in regions
    )


def _words(glyphs: Glyphs, line: Line) -> tuple[Word, ...]:
    if line.turned:
        return ()
    found = []
    for match in _WORD.finditer(glyphs.text, line.start, line.end):
        first, last = match.start(), match.end() - 1
        left, right = glyphs.left(first), glyphs.right(last)
        if left > right:  # written from right to left
            left, right = glyphs.left(last), glyphs.right(first)
        found.append(Word(match.group(), left, right))
    return tuple(found)


def _seen(glyphs: Glyphs, line: Line, end: int, width: float, read: ReadLines) -> Iterable[Line]:
    """What a reader of the page sees of a line: its parts that stand alike, up to the edge of the paper.

    Args:
        glyphs: the characters of the page.
        line: a line that looks turned, or that goes beyond the right edge.
        end: where its run of characters ends.
        width: how wide the paper is.
        read: takes what stands beyond the edge.
    """
    if line.turned:
        return _parts_alike(glyphs, line, end)
    places = range(line.start, line.end)
    beyond = next((place for place in places if glyphs.box(place)[0] >= width), None)
    if beyond is None:
        return (line,)
    read.outside_page.append(printed(line._replace(text=glyphs.text[beyond : line.end])))
    part = _measure(glyphs, line.start, beyond, line.page)
    return (part,) if part is not None else ()


def _parts_alike(glyphs: Glyphs, line: Line, end: int) -> Iterator[Line]:
    """A line that looks turned as it is; its parts where it turns, or where PDFium ran lines together."""
    turns, cut = glyphs.turns(line.start), end
    if abs(turns - glyphs.turns(line.end - 1)) >= _TURN_TOLERANCE:
        places = range(line.start, line.end)
        cut = next(place for place in places if abs(glyphs.turns(place) - turns) >= _TURN_TOLERANCE)
    for start, stop in ((line.start, cut), (cut, end)):
        part = _measure(glyphs, start, stop, line.page)
        if part is None:
            continue
        if glyphs.turns(part.start) > 0:
            yield part._replace(turned=True)
            continue
        cuts = _returns(glyphs, part) if part.turned else []
        lines = (_measure(glyphs, *span, line.page) for span in pairwise([start, *cuts, stop]))
        yield from (part._replace(turned=False) for part in lines if part is not None)


def _returns(glyphs: Glyphs, line: Line) -> list[int]:
    """Where a run goes back to the left, off the line it stood in: PDFium runs lines together at times."""
    cuts = []
    left, bottom, _, top = glyphs.box(line.start)
    for place in range(line.start + 1, line.end):
        if glyphs.text[place].isspace():
            continue
        box = glyphs.box(place)
        if box[0] < left - _RETURN * line.size and not bottom < (box[1] + box[3]) / 2 < top:
            cuts.append(place)
        left, bottom, _, top = box
    return cuts


def _measure(glyphs: Glyphs, start: int, end: int, page: int) -> Line | None:
    """Place and type of a run, taken from its first, middle and last printed character.

    It counts as turned if it looks so.
    """
    run = glyphs.text[start:end]
    whole = run.removesuffix(BROKEN_WORD)
    text = whole.strip()
    broken = run != whole
    if not text:
        if not broken:
            return None
        text, broken, whole = _LONE_HYPHEN, False, _LONE_HYPHEN
    start += len(whole) - len(whole.lstrip())
    end = start + len(text)
    middle = (start + end) // 2
    if glyphs.text[middle] == " ":
        middle += 1  # PDFium makes blanks up, of no font
    left, bottom, right, top, size, bold, fixed, odd = glyphs.measure(start, middle, end - 1)
    return Line(text, page, left, bottom, right, top, size, bold, fixed, broken, odd, start, end)


def _same_line(before: Line, after: Line) -> bool:
    """Whether a run goes on where another ended: PDFium ends a run where a raised mark changes the base.

    A mark below the base begins under the raised one and thus before the end of the run.
    """
    gap = after.left - before.right
    least = -_STACKED * before.size if before.left < after.left - before.size else -1.0
    if before.broken or not least < gap < 4 * max(before.size, after.size) or before.turned or after.turned:
        return False
    overlap = min(before.top, after.top) - max(before.bottom, after.bottom)
    return overlap > 0.5 * min(before.top - before.bottom, after.top - after.bottom)


def _joined(before: Line, after: Line) -> Line:
    gap = after.left - before.right
    glued = -1 < gap < 0.15 * before.size or after.text[:1] in ",.;:)"
    longer = before if len(before.text) >= len(after.text) else after
    return before._replace(
        text=before.text + ("" if glued else " ") + after.text,
        right=max(before.right, after.right),
        bottom=min(before.bottom, after.bottom),
        top=max(before.top, after.top),
        size=longer.size,
        bold=before.bold and after.bold,
        fixed=before.fixed and after.fixed,
        broken=after.broken,
        end=after.end,
    )


def part_of(line: Line, words: Sequence[Word]) -> Line:
    """Some neighbouring words of a line as a line of their own."""
    whole = len(words) == len(line.words)
    return line._replace(
        text=line.text if whole else " ".join(word.text for word in words),
        left=words[0].left,
        right=words[-1].right,
        broken=line.broken and words[-1] is line.words[-1],
        words=tuple(words),
    )


def words_of(line: Line) -> tuple[Word, ...]:
    """The words of a line; a line that was not looked at closely counts as one."""
    return line.words or (Word(line.text, line.left, line.right),)


def rows_of(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines that stand beside one another, from the top; each row from left to right."""
    row: list[Line] = []
    for line in sorted(lines, key=lambda line: -(line.bottom + line.top)):
        if row and (line.bottom + line.top) / 2 < row[0].bottom:
            yield sorted(row, key=lambda part: part.left)
            row = []
        row.append(line)
    if row:
        yield sorted(row, key=lambda part: part.left)


_NUMBER = re.compile(r"\d{1,4}(?!\S)")
_LEAST_NUMBERS = 6
_SMALLER = 0.85
_FAR = 1.0
_SAME_EDGE = 1.5
_STEPS = (1, 5)


class _Numbered(NamedTuple):
    """A line that begins with a number, where on paper that ends, and where the text behind it begins."""

    line: int
    number: int
    right: float
    rest: int | None


def without_line_numbers(glyphs: Glyphs, lines: Sequence[Line], left_out: Omissions) -> list[Line]:
    """Lines of a page without the numbers in its left margin.

    Numbers of lines are smaller than the text, stand far left of it with their last digits above one another,
    and count on from line to line; numbers of a list or of the rows of a table are as large as what follows.

    Args:
        glyphs: the characters of the page.
        lines: its lines, in the order of the file.
        left_out: counts what does not reach the text.
    """
    if sum(line.text[:1].isdigit() for line in lines) < _LEAST_NUMBERS:
        return list(lines)
    usual = sorted(line.size for line in lines)[len(lines) // 2]
    found = [numbered for index in range(len(lines)) if (numbered := _numbered(glyphs, lines, index, usual))]
    if not _count_on(found, lines):
        return list(lines)
    kept: list[Line | None] = list(lines)
    for place, number, _, rest in found:
        line = lines[place]
        left_out.add("line_number", str(number))
        text = line.text[_end(line) :].lstrip()
        kept[place] = None if rest is None else line._replace(text=text, left=glyphs.left(rest), start=rest)
    return [line for line in kept if line is not None]


def _end(line: Line) -> int:
    number = _NUMBER.match(line.text)
    return number.end() if number else 0


def _numbered(glyphs: Glyphs, lines: Sequence[Line], index: int, usual: float) -> _Numbered | None:
    """The line as a numbered one, if small digits far from its text begin it."""
    line = lines[index]
    end = _end(line)
    last = line.start + end - 1
    if not end or line.turned or glyphs.text[line.start : last + 1] != line.text[:end]:
        return None
    if glyphs.size(line.start) > _SMALLER * usual:
        return None
    number, right = int(line.text[:end]), glyphs.right(last)
    rest = next((place for place in range(last + 1, line.end) if not glyphs.text[place].isspace()), None)
    if rest is not None and glyphs.left(rest) - right < _FAR * usual:
        return None
    return _Numbered(index, number, right, rest)


def _count_on(found: Sequence[_Numbered], lines: Sequence[Line]) -> bool:
    """Whether the numbers stand above one another and count the lines from the top."""
    if len(found) < _LEAST_NUMBERS:
        return False
    edges = [numbered.right for numbered in found]
    ordered = sorted(found, key=lambda numbered: -lines[numbered.line].top)
    steps = {below.number - above.number for above, below in pairwise(ordered)}
    return max(edges) - min(edges) <= _SAME_EDGE and len(steps) == 1 and steps <= set(_STEPS)
