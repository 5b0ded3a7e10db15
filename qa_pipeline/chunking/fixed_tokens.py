"""Cutting after every so many tokens, whatever stands there: the yardstick of the other strategies.

What belongs here: that. What does not: anything that reads the text.
"""

from collections.abc import Sequence

from qa_pipeline.chunking.sections import Cuts, Section


class TokenChunker:
    """Pieces of as many whole words as have room."""

    def cut(self, sections: Sequence[Section]) -> list[Cuts]:
        """Cuts of each section."""
        return [_cut(section) for section in sections]


def _cut(section: Section) -> Cuts:
    if section.total <= section.room:
        return []
    scale = section.scale
    cuts: Cuts = []
    before = 0
    while scale.total - before > section.room:
        most = section.room - (section.shared if cuts else 0)
        words = scale.words(before + 1, before + most)
        if not words:  # a word of more tokens than have room; whoever counts the piece cuts it
            words = scale.words(before + 1, scale.total)
        if not words:
            break
        last = words[-1]
        cuts.append(scale.starts[last])
        before = scale.before[last]
    return cuts
