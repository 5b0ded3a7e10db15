"""Cuts to pieces that keep the bound, whatever tokenizer counts them.

What belongs here: the exact tokens of every piece, cutting again what is over the bound, and letting a piece
begin with the end of the one before it. What does not: choosing the cuts (the strategies).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from qa_pipeline.chunking.borders import Borders, Cuts, Section
from qa_pipeline.chunking.strategies import even_cuts
from qa_pipeline.chunking.token_counts import WordCounts
from qa_pipeline.records import index_text

Path = tuple[str, ...]

SHARE = 3
"""A path may take a third of the bound."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Each path as chunks carry it, and the tokens of that, special ones included."""

    short: Mapping[Path, Path]
    tokens: Mapping[Path, int]


def shorten_paths(paths: Iterable[Path], limit: int, counts: WordCounts) -> Paths:
    """Drop outermost headings, then cut the innermost, until each path has at most `limit` tokens."""
    waiting = list(dict.fromkeys(paths))
    short = {path: path for path in waiting}
    tokens: dict[Path, int] = {}
    while waiting:
        sizes = counts.count([index_text(short[path], "") for path in waiting])
        tokens.update((short[path], size) for path, size in zip(waiting, sizes, strict=True))
        waiting = [path for path in waiting if tokens[short[path]] > limit and short[path]]
        short.update((path, _shorter(short[path])) for path in waiting)
    return Paths(short, tokens)


def _shorter(path: Path) -> Path:
    if len(path) > 1:
        return path[1:]
    kept = path[0][: len(path[0]) // 2].rstrip()
    return (kept,) if kept else ()


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


@dataclass(frozen=True, slots=True)
class Sibling:
    """The pieces of one section; neighbours of one `group` are siblings, `parent` is the path above them."""

    group: int
    parent: Path
    pieces: Sequence[Piece]


def merge_tiny(siblings: Iterable[Sibling], fitter: Fitter, below: int) -> list[Piece]:
    """Join neighbouring siblings while what is joined has fewer than `below` tokens.

    Args:
        siblings: the sections of documents, in order.
        fitter: sizes what is joined.
        below: a section of one piece with fewer tokens, headings included, is tiny.

    Returns:
        All pieces in order; a joined one has the path of its parent and the span of its sections.
    """
    if not below:
        return [piece for sibling in siblings for piece in sibling.pieces]
    runs = [
        run
        for _, group in groupby(siblings, key=lambda sibling: sibling.group)
        for run in _runs(list(group), fitter, below)
    ]
    joined = iter(fitter.sized([_joined(run, fitter) for run in runs if len(run) > 1]))
    found: list[Piece] = []
    for run in runs:
        whole = next(joined) if len(run) > 1 else None
        fits = whole is not None and whole.tokens <= fitter.bound
        found += [whole] if whole and fits else [piece for sibling in run for piece in sibling.pieces]
    return found


def _runs(group: Sequence[Sibling], fitter: Fitter, below: int) -> list[list[Sibling]]:
    """Siblings in runs that become one piece each, as far as the ruler can tell; most are alone."""
    runs: list[list[Sibling]] = []
    size = below
    for sibling in group:
        if not sibling.pieces:
            continue
        tiny = len(sibling.pieces) == 1 and sibling.pieces[0].tokens < below
        if tiny and size < below:
            together = _estimate([*runs[-1], sibling], fitter)
            if together <= fitter.bound:
                runs[-1].append(sibling)
                size = together
                continue
        runs.append([sibling])
        size = sibling.pieces[0].tokens if tiny else below
    return runs


def _joined(run: Sequence[Sibling], fitter: Fitter) -> Piece:
    """One piece of several sections."""
    first, last = run[0].pieces[0].section, run[-1].pieces[0].section
    (total,) = first.ruler.between([first.start], [last.end])
    section = replace(first, end=last.end, total=total)
    return fitter.piece(run[0].parent, section, section.start, section.end)


def _estimate(run: Sequence[Sibling], fitter: Fitter) -> int:
    """Tokens of a run as one piece, as the ruler tells."""
    piece = _joined(run, fitter)
    return fitter.paths.tokens[piece.path] + piece.section.total
