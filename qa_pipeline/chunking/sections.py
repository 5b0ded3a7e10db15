"""What a strategy gets and gives back: sections with their measure, and cuts.

What belongs here: the protocol and its records. What does not: any strategy, and what becomes of the pieces
(`chunks.py`). A strategy sees one section at a time or all of them, never what surrounds a section, so that
an edit in one leaves the pieces of all others as they were.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from qa_pipeline.chunking.rulers import Ruler, Scale
from qa_pipeline.chunking.units import after_blanks

_HEADING_SHARE = 3
"""A heading line of at most a third of a chunk stays with what follows it; a longer one is text like any."""


@dataclass(frozen=True)
class Section:
    """A stretch of a document that is cut on its own.

    Args:
        ruler: measures the document.
        start: its first character in the document, that of its heading line if it has one.
        end: one past its last.
        heading_end: end of its heading line; `start` without one.
        total: its tokens.
        room: most tokens of a piece.
        shared: tokens of a piece that may repeat the end of the piece before it.
        language: whose rules say where sentences end.
    """

    ruler: Ruler
    start: int
    end: int
    heading_end: int
    total: int
    room: int
    shared: int
    language: str

    @cached_property
    def text(self) -> str:
        """Its text; all places a strategy speaks of are places in it."""
        return self.ruler.text[self.start : self.end]

    @cached_property
    def scale(self) -> Scale:
        """Tokens up to each of its words."""
        return self.ruler.section(self.start, self.end)

    @cached_property
    def floor(self) -> int:
        """Where what follows the heading line begins: no piece ends before it has some of that."""
        length = self.heading_end - self.start
        if not length or self.scale.at(length) > self.room // _HEADING_SHARE:
            return 0
        return after_blanks(self.text, length)


Cuts = list[int]
"""Places in a section at which a new piece begins, in order; none where it stays whole."""


class Chunker(Protocol):
    """A strategy: where sections are cut."""

    def cut(self, sections: Sequence[Section]) -> list[Cuts]:
        """Cuts of each section such that no piece has more tokens than its room, as the scale measures."""
