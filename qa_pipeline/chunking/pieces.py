"""Cuts to pieces that keep the bound, whatever tokenizer counts them.

What belongs here: the exact tokens of every piece, cutting again what is over the bound, and letting a piece
begin with the end of the one before it. What does not: choosing the cuts (the strategies).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from qa_pipeline.chunking.borders import Borders
from qa_pipeline.chunking.paths import Path, Paths
from qa_pipeline.chunking.sections import Cuts, Section
from qa_pipeline.chunking.structure import even_cuts
from qa_pipeline.passages import index_text
from qa_pipeline.word_counts import WordCounts

_SAFE = 0.95
"""Where an estimate was too low, the next one is met a little below."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a document that becomes a chunk, its `section` being what it was cut from.

    `tokens` are those of path and text, or negative while nobody has counted them.
    """

    path: Path
    section: Section
    start: int
    end: int
    tokens: int = -1

    @property
    def text(self) -> str:
        """The document's text from `start` to `end`."""
        return self.section.ruler.text[self.start : self.end]


class Fitter:
    """Makes pieces of sections and their cuts.

    Args:
        bound: most tokens of a piece with its path, special tokens included.
        counts: counts them.
        paths: the paths and their tokens.
    """

    def __init__(self, bound: int, counts: WordCounts, paths: Paths) -> None:
        self.bound = bound
        self.counts = counts
        self.paths = paths

    def fit(self, sections: Sequence[tuple[Path, Section]], cuts: Sequence[Cuts]) -> list[list[Piece]]:
        """Pieces of each section, in order, disjoint, every one within the bound.

        A single character may be over it: nothing can be done about that.
        """
        fitted: list[list[Piece]] = [[] for _ in sections]
        waiting = [
            (number, piece)
            for number, ((path, section), own) in enumerate(zip(sections, cuts, strict=True))
            for piece in self._between(path, section, [0, *own, section.end - section.start])
        ]
        while waiting:
            sized = self.sized([piece for _, piece in waiting])
            over: list[tuple[int, Piece]] = []
            for (number, _), piece in zip(waiting, sized, strict=True):
                if piece.tokens <= self.bound or piece.end - piece.start < 2:
                    fitted[number].append(piece)
                else:
                    over.append((number, piece))
            waiting = [(number, part) for number, piece in over for part in self._again(piece)]
        return [sorted(own, key=lambda piece: piece.start) for own in fitted]

    def piece(self, path: Path, section: Section, start: int, end: int) -> Piece:
        """A piece with its tokens, if the ruler can tell them."""
        exact = self.counts.exact and section.ruler.is_exact(start, end)
        tokens = self.paths.tokens[path] + measured(section, start, end) if exact else -1
        return Piece(path, section, start, end, tokens)

    def sized(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Pieces with their tokens; those that the ruler could not tell are counted, all in one call."""
        unsure = [piece for piece in pieces if piece.tokens < 0]
        if not unsure:
            return list(pieces)
        counted = iter(self.counts.count([index_text(piece.path, piece.text) for piece in unsure]))
        return [replace(piece, tokens=next(counted)) if piece.tokens < 0 else piece for piece in pieces]

    def overlapped(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces of one section, each from the second on with whole sentences or lines before it.

        As many as `shared` and the bound allow; none where the last of them alone would be too long, and
        never all of the piece before.
        """
        if len(pieces) < 2 or not pieces[0].section.shared:
            return list(pieces)
        borders = Borders(pieces[0].section)
        wider = self.sized([self._wider(borders, *pair) for pair in pairwise(pieces)])
        kept = [
            after if after.tokens <= self.bound else piece
            for after, piece in zip(wider, pieces[1:], strict=True)
        ]
        return [pieces[0], *kept]

    def _wider(self, borders: Borders, before: Piece, piece: Piece) -> Piece:
        """A piece that begins with the end of the one before it; itself if there is no place to begin."""
        section = piece.section
        tokens = section.scale.at(piece.start - section.start)
        allowed = min(section.shared, self.bound - piece.tokens)
        start = section.start + borders.first_from(tokens - allowed) if allowed > 0 else piece.start
        if not before.start < start < piece.start:
            return piece
        return self.piece(piece.path, section, start, piece.end)

    def _between(self, path: Path, section: Section, places: Sequence[int]) -> list[Piece]:
        """Pieces between neighbouring places of a section, without white space at their end or alone."""
        text, shift = section.ruler.text, section.start
        found: list[Piece] = []
        for left, right in pairwise(places):
            start, end = shift + left, shift + right
            while end > start and text[end - 1].isspace():
                end -= 1
            if start < end:
                found.append(self.piece(path, section, start, end))
        return found

    def _again(self, piece: Piece) -> list[Piece]:
        """Parts of a piece that turned out to be over the bound."""
        section, estimate = piece.section, measured(piece.section, piece.start, piece.end)
        counted = max(piece.tokens - self.paths.tokens[piece.path], 1)
        room = min(int(section.room * estimate / counted * _SAFE), estimate - 1)
        cuts: Cuts = []
        if room > 0:
            headed = piece.start < section.heading_end < piece.end
            part = replace(
                section,
                start=piece.start,
                end=piece.end,
                heading_end=section.heading_end if headed else piece.start,
                total=estimate,
                room=room,
                shared=0,
            )
            cuts = even_cuts(Borders(part), 0)
        first, last = piece.start - section.start, piece.end - section.start
        inside = [first + cut for cut in cuts if first + cut < last] or [(first + last) // 2]
        return self._between(piece.path, section, [first, *inside, last])


def measured(section: Section, start: int, end: int) -> int:
    """Tokens between two places of a document, both in the section, as its ruler tells."""
    if start == section.start and end == section.end:
        return section.total
    at = section.scale.at
    return at(end - section.start) - at(start - section.start)
