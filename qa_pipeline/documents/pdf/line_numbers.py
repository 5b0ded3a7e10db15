"""Numbers of lines in the margin of a PDF page, as manuscripts and legal texts have them.

What belongs here: telling such numbers from numbers of the text, and taking them off their lines. What does
not: numbers of pages (`edges`), and notes in the margin (`layout`).
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.documents.pdf.glyphs import Glyphs
from qa_pipeline.documents.pdf.lines import Line

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
