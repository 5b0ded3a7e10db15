"""Where a section is cut: the end of a block, a line, a sentence, a word, in this order.

A section is cut on its own, and never by what surrounds it, so that an edit in one leaves the chunks of all
others as they were. Chunks are even. Sentences are read only of the one line or paragraph in which no
better border lies within reach, so most text is never looked at, and time is linear.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, inf

from qa_pipeline.retrieval.token_counts import SectionTokens, TextTokens
from qa_pipeline.text.blocks import blocks, joined_lines, line_spans
from qa_pipeline.text.sentences import sentence_cuts

_ANNOUNCING = ":"
"""A line that ends so announces what follows, as a lead-in does its list and `if x:` its body."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of code, row, heading or item, or a paragraph.

    Args:
        start: its first character, indentation included.
        end: one past its last that is no white space.
        opens: it is the first of its block.
        whole: it is not read for sentences.
        with_next: it goes with the next line.
        with_previous: it goes with the line before it.
    """

    start: int
    end: int
    opens: bool
    is_whole: bool = True
    with_next: bool = False
    with_previous: bool = False


def read_lines(text: str, *, heading: int) -> list[Line]:
    """Return all lines of a section in order.

    Args:
        text: the section.
        heading: end of a heading line that goes with what follows it; 0 for none.
    """
    lines: list[Line] = []
    for start, end, code in blocks(text):
        lines += _code_lines(text, start, end) if code else _text_lines(text, start, end, heading)
    return lines


def _text_lines(text: str, start: int, end: int, heading: int) -> Iterator[Line]:
    opens = True
    for first, second, is_whole in joined_lines(text, start, end):
        stop = first + len(text[first:second].rstrip())
        if first < stop:
            announcing = text[stop - 1] == _ANNOUNCING or first < heading
            yield Line(first, stop, opens, is_whole=is_whole, with_next=announcing)
            opens = False


def _code_lines(text: str, start: int, end: int) -> Iterator[Line]:
    """Yield the lines of a code block; the fences go with the code beside them."""
    spans = [(start + low, start + high) for low, high in line_spans(text[start:end])]
    filled = [(low, high) for low, high in spans if text[low:high].strip()]
    for number, (low, high) in enumerate(filled):
        line = text[low:high].rstrip()
        first, last = number == 0, number == len(filled) - 1
        sticky = first or line.endswith(_ANNOUNCING)
        yield Line(low, low + len(line), first, with_next=sticky, with_previous=last)


def join_lines(lines: list[Line]) -> list[list[Line]]:
    """Return groups of lines, parted only where one of them could not stay whole otherwise."""
    joined = [lines[:1]] if lines else []
    for before, line in pairwise(lines):
        if before.with_next or line.with_previous:
            joined[-1].append(line)
        else:
            joined.append([line])
    return joined


def sentence_starts(text: str, line: Line, language: str) -> list[int]:
    """Return the starts of the sentences of a line, the first one included."""
    cuts = [] if line.is_whole else sentence_cuts(text, line.start, line.end, language)
    return [line.start, *(start for cut in cuts if (start := after_blanks(text, cut)) < line.end)]


def after_blanks(text: str, place: int) -> int:
    """Return the first place from `place` on that is no white space; the end of the text without one."""
    while place < len(text) and text[place].isspace():
        place += 1
    return place


_HEADING_SHARE = 3
"""A heading line of at most a third of a chunk stays with what follows it; a longer one is text like any."""


@dataclass(frozen=True)
class Section:
    """A stretch of a document that is cut on its own.

    Args:
        text_tokens: measures the document.
        start: its first character in the document, that of its heading line if it has one.
        end: one past its last.
        heading_end: end of its heading line; `start` without one.
        path: the headings its chunks carry.
        room: most tokens of a chunk.
        shared: tokens of a chunk that may repeat the end of the chunk before it.
        language: whose rules decide where sentences end.
    """

    text_tokens: TextTokens
    start: int
    end: int
    heading_end: int
    path: tuple[str, ...]
    room: int
    shared: int
    language: str

    @cached_property
    def total(self) -> int:
        """Return the number of its tokens."""
        return self.text_tokens.between(self.start, self.end)

    @cached_property
    def text(self) -> str:
        """Return its text; all places of borders are places in it."""
        return self.text_tokens.text[self.start : self.end]

    @cached_property
    def tokens(self) -> SectionTokens:
        """Return the tokens up to each of its words."""
        return self.text_tokens.section(self.start, self.end)

    @cached_property
    def floor(self) -> int:
        """Return the start of the text below the heading line: no chunk ends before it has some of that."""
        length = self.heading_end - self.start
        if not length or self.tokens.at(length) > self.room // _HEADING_SHARE:
            return 0
        return after_blanks(self.text, length)


Cuts = list[int]
"""Places in a section at which a new chunk begins, in order; none where it stays whole."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Tokens before a cut: from `low` to `high`, best close to `wanted`.

    To keep a sentence or line whole it may be up to `limit`.
    """

    low: float
    target: float
    high: float
    limit: float


class _Marks:
    """Places in order with the tokens before each; none lies at or before the section's floor."""

    def __init__(self, section: Section, places: Iterable[int]) -> None:
        floor = section.floor
        self.places = [place for place in places if place > floor]
        self.tokens = [section.tokens.at(place) for place in self.places]

    def nearest(self, low: float, target: float, high: float) -> int | None:
        """Return the place within reach that is closest to the wanted one, the earlier of equals."""
        first, last = bisect_left(self.tokens, low), bisect_right(self.tokens, high)
        if first == last:
            return None
        after = min(max(bisect_left(self.tokens, target), first), last - 1)
        before = max(after - 1, first)
        closer = target - self.tokens[before] <= self.tokens[after] - target
        return self.places[before if closer else after]

    def first(self, low: float) -> int | None:
        """Return the first place with at least so many tokens before it."""
        number = bisect_left(self.tokens, low)
        return self.places[number] if number < len(self.places) else None

    def last(self, below: float) -> int:
        """Return the last place with fewer tokens before it; 0 if there is none."""
        number = bisect_left(self.tokens, below)
        return self.places[number - 1] if number else 0


class Borders:
    """Borders of one section."""

    def __init__(self, section: Section) -> None:
        self.section = section
        self._inside: dict[int, _Marks] = {}

    def best(self, begin: int, reach: Reach) -> int:
        """Return the place to end a chunk that begins at `begin`.

        Within reach the end of a block comes before that of a line, and this before that of a sentence. Where
        none is, the sentence or line that spans the reach goes whole to this chunk, else to the next one. If
        it fits neither, it is cut between words.
        """
        for marks in (self._blocks, self._units):
            place = marks.nearest(reach.low, reach.target, reach.high)
            if place is not None:
                return place
        inside = self._marks_inside(self._unit_at(reach.low))
        place = inside.nearest(reach.low, reach.target, reach.high)
        if place is not None:
            return place
        start = max(inside.last(reach.low), self._units.last(reach.low))
        end = self._first_border(inside, reach.low)
        if self.section.tokens.at(end) <= reach.limit:
            return end
        fits = self.section.tokens.at(end) - self.section.tokens.at(start) <= self.section.room
        return start if fits and start > max(begin, self.section.floor) else self._word(begin, reach)

    def first_from(self, low: float) -> int:
        """Return the first border of a line or sentence that has at least `low` tokens before it."""
        return self._first_border(self._marks_inside(self._unit_at(low)), low)

    @cached_property
    def _lines(self) -> list[Line]:
        section = self.section
        return read_lines(section.text, heading=section.heading_end - section.start if section.floor else 0)

    @cached_property
    def _joined(self) -> list[list[Line]]:
        return join_lines(self._lines)

    @cached_property
    def _blocks(self) -> _Marks:
        return _Marks(self.section, (unit[0].start for unit in self._joined[1:] if unit[0].opens))

    @cached_property
    def _units(self) -> _Marks:
        return _Marks(self.section, (unit[0].start for unit in self._joined[1:]))

    def _unit_at(self, tokens: float) -> int:
        """Return the number of the unit that begins last among those with fewer tokens before them."""
        return bisect_left(self._units.tokens, tokens)

    def _marks_inside(self, number: int) -> _Marks:
        """Return the starts of the lines and sentences of a unit, its own start aside."""
        if number not in self._inside:
            text, language = self.section.text, self.section.language
            starts = [
                start for line in self._joined[number] for start in sentence_starts(text, line, language)
            ]
            self._inside[number] = _Marks(self.section, starts[1:])
        return self._inside[number]

    def _first_border(self, inside: _Marks, low: float) -> int:
        borders = [place for marks in (inside, self._units) if (place := marks.first(low)) is not None]
        return min(borders, default=len(self.section.text))

    def _word(self, begin: int, reach: Reach) -> int:
        """Return a word's start within reach, else the last before, the first after `begin`, or any."""
        scale, length = self.section.tokens, len(self.section.text)
        earliest = max(begin, self.section.floor) + 1
        words = _Marks(self.section, (scale.starts[n] for n in scale.words(reach.low, reach.high)))
        near = words.nearest(reach.low, reach.target, reach.high)
        before = scale.starts[max(bisect_left(scale.before, reach.low) - 1, 0)]
        later = bisect_left(scale.starts, earliest)
        after = scale.starts[later] if later < len(scale.starts) else length
        places = (near, before, after)
        inside = (place for place in places if place is not None and earliest <= place < length)
        return next(inside, begin + max((length - begin) // 2, 1))


_SHORTEST = 0.5
"""Share of an even chunk below which a chunk ends only to keep a sentence or line whole."""


def cut_section(section: Section) -> Cuts:
    """Leave a section whole that fits, and cut any other into as few chunks as even ones would be."""
    return [] if section.total <= section.room else even_cuts(Borders(section), 0, section.total)


def even_cuts(borders: Borders, begin: int, end: float = inf) -> Cuts:
    """Cut what lies between a place and `end`, a number of tokens, into even chunks.

    Each chunk ends at the best border within reach of the even place; the rest is then divided anew, so that
    no sliver is left at the end. Every step looks at what lies within reach only: time is linear.
    """
    section = borders.section
    last = min(end, section.total)
    cuts: Cuts = []
    before = section.tokens.at(begin)
    while last - before > section.room:
        most = section.room - (section.shared if cuts or begin else 0)
        length = (last - before) / ceil((last - before) / most)
        reach = Reach(before + _SHORTEST * length, before + length, before + most, before + section.room)
        begin = borders.best(begin, reach)
        before = section.tokens.at(begin)
        cuts.append(begin)
    return cuts
