"""Cutting along the structure of a text: even pieces that end where a block, line or sentence does.

What belongs here: how many pieces, and how far a border may lie from the even place. What does not: what the
borders are (`borders.py`).
"""

from collections.abc import Sequence
from math import ceil, inf

from qa_pipeline.chunking.borders import Borders, Reach
from qa_pipeline.chunking.sections import Cuts, Section

_SHORTEST = 0.5
"""Share of an even piece below which a piece ends only to keep a sentence or line whole."""


class StructureChunker:
    """Leaves a section whole that fits, and cuts any other into as few pieces as even ones would be."""

    def cut(self, sections: Sequence[Section]) -> list[Cuts]:
        """Cuts of each section."""
        return [
            [] if section.total <= section.room else even_cuts(Borders(section), 0, section.total)
            for section in sections
        ]


def even_cuts(borders: Borders, begin: int, end: float = inf) -> Cuts:
    """Cut what lies between a place and `end`, a number of tokens, into even pieces.

    Each piece ends at the best border within reach of the even place; the rest is then divided anew, so that
    no sliver is left at the end. Every step looks at what lies within reach only: time is linear.
    """
    section = borders.section
    last = min(end, section.total)
    cuts: Cuts = []
    before = section.scale.at(begin)
    while last - before > section.room:
        most = section.room - (section.shared if cuts or begin else 0)
        wanted = (last - before) / ceil((last - before) / most)
        reach = Reach(before + _SHORTEST * wanted, before + wanted, before + most, before + section.room)
        begin = borders.best(begin, reach)
        before = section.scale.at(begin)
        cuts.append(begin)
    return cuts
