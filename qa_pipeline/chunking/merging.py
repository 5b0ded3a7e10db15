"""Tiny sections side by side as one chunk.

What belongs here: which sections go together. What does not: cutting sections.

Only sections of one level under one parent, with nothing of another level between them, are merged: such a
run is the group within which an edit may move a border.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from qa_pipeline.chunking.paths import Path
from qa_pipeline.chunking.pieces import Fitter, Piece


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
