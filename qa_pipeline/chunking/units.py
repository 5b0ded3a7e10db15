"""The parts of a section that are kept whole where possible: lines of code, rows, list items, paragraphs.

What belongs here: reading them from canonical text, and which of them belong together. What does not:
choosing among their borders (`borders.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from qa_pipeline.sentences.boundaries import sentence_cuts
from qa_pipeline.sentences.units import blocks, joined_lines, line_spans

_ANNOUNCING = ":"
"""A line that ends so announces what follows, as a lead-in does its list and `if x:` its body."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of code, row, heading or item, or a paragraph.

    Args:
        start: its first character, indentation included.
        end: one past its last that is no white space.
        opens: it is the first of its block.
        code: it is a line of code.
        whole: it is not read for sentences.
        with_next: it goes with the next line.
        with_previous: it goes with the line before it.
    """

    start: int
    end: int
    opens: bool
    code: bool = False
    whole: bool = True
    with_next: bool = False
    with_previous: bool = False


def read_lines(text: str, *, heading: int) -> list[Line]:
    """All lines of a section in order.

    Args:
        text: the section.
        heading: end of a heading line that goes with what follows it; 0 for none.
    """
    found: list[Line] = []
    for start, end, code in blocks(text):
        found += _code_lines(text, start, end) if code else _text_lines(text, start, end, heading)
    return found


def _text_lines(text: str, start: int, end: int, heading: int) -> Iterator[Line]:
    opens = True
    for left, right, whole in joined_lines(text, start, end):
        stop = left + len(text[left:right].rstrip())
        if left < stop:
            announcing = text[stop - 1] == _ANNOUNCING or left < heading
            yield Line(left, stop, opens, whole=whole, with_next=announcing)
            opens = False


def _code_lines(text: str, start: int, end: int) -> Iterator[Line]:
    """Lines of a code block; the fences go with the code beside them."""
    spans = [(start + left, start + right) for left, right in line_spans(text[start:end])]
    filled = [(left, right) for left, right in spans if text[left:right].strip()]
    for number, (left, right) in enumerate(filled):
        line = text[left:right].rstrip()
        first, last = number == 0, number == len(filled) - 1
        sticky = first or line.endswith(_ANNOUNCING)
        yield Line(left, left + len(line), first, code=True, with_next=sticky, with_previous=last)


def join_lines(lines: list[Line]) -> list[list[Line]]:
    """Lines that go together, which are parted only where one of them could not stay whole otherwise."""
    joined = [lines[:1]] if lines else []
    for before, line in pairwise(lines):
        if before.with_next or line.with_previous:
            joined[-1].append(line)
        else:
            joined.append([line])
    return joined


def sentence_starts(text: str, line: Line, language: str) -> list[int]:
    """Where the sentences of a line begin, the first one included."""
    cuts = [] if line.whole else sentence_cuts(text, line.start, line.end, language)
    return [line.start, *(start for cut in cuts if (start := after_blanks(text, cut)) < line.end)]


def after_blanks(text: str, place: int) -> int:
    """The first place at or after `place` that is no white space; the end of the text if there is none."""
    while place < len(text) and text[place].isspace():
        place += 1
    return place
