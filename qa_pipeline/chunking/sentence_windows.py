"""Cutting after every so many sentences.

What belongs here: counting sentences. What does not: what a sentence is (`qa_pipeline.sentences`).
"""

from collections.abc import Sequence
from math import ceil

from qa_pipeline.chunking.borders import Borders
from qa_pipeline.chunking.grouping import cut_groups
from qa_pipeline.chunking.sections import Cuts, Section


class SentenceChunker:
    """Windows of at most `size` sentences, about equally many in each; rows and items count as sentences.

    A window that does not fit is cut along its structure.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def cut(self, sections: Sequence[Section]) -> list[Cuts]:
        """Cuts of each section."""
        return [self._cut(Borders(section)) for section in sections]

    def _cut(self, borders: Borders) -> Cuts:
        starts = borders.sentences()
        sentences = len(starts) + 1
        windows = ceil(sentences / self.size)
        return cut_groups(borders, [starts[n * sentences // windows - 1] for n in range(1, windows)])
