"""Cutting along the structure of a text: even pieces that end where a block, line or sentence does.

What belongs here: how many pieces, and how far a border may lie from the even place. What does not: what the
borders are (`borders.py`).
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil, inf

import numpy as np
import numpy.typing as npt

from qa_pipeline.chunking.borders import Borders, Chunker, Cuts, Reach, Section
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.documents import ChunkingSettings

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


def cut_groups(borders: Borders, starts: Sequence[int]) -> Cuts:
    """Cut at the start of each group but the first, and groups that do not fit along their structure."""
    at = borders.section.scale.at
    places = [0, *starts, len(borders.section.text)]
    inner = (cut for begin, end in pairwise(places) for cut in even_cuts(borders, begin, at(end)))
    return sorted({*starts, *inner})


Vectors = npt.NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]
"""Texts to unit-length vectors, one row for each."""

_BESIDE = 3
"""Sentences on each side of a gap that are compared."""


class SemanticChunker:
    """Cuts a section at its deepest dips.

    Args:
        encode: the embedding model; all sentences of all sections go to it in one call.
        percentile: share of the gaps between sentences, in percent, that are no dip. A section of fewer
            gaps than it takes to have one dip stays whole, if it fits.
    """

    def __init__(self, encode: Encode, percentile: float) -> None:
        self.encode = encode
        self.percentile = percentile

    def cut(self, sections: Sequence[Section]) -> list[Cuts]:
        """Cuts of each section."""
        found = [Borders(section) for section in sections]
        starts = [borders.sentences() for borders in found]
        dips = [int(len(one) * (100 - self.percentile) / 100 + 1e-9) for one in starts]
        texts = [
            _sentences(section.text, one) if wanted else []
            for section, one, wanted in zip(sections, starts, dips, strict=True)
        ]
        vectors = self._vectors([text for one in texts for text in one])
        cuts: list[Cuts] = []
        read = 0
        for borders, one, wanted, sentences in zip(found, starts, dips, texts, strict=True):
            places = deepest_gaps(vectors[read : read + len(sentences)], wanted)
            cuts.append(cut_groups(borders, [one[place] for place in places]))
            read += len(sentences)
        return cuts

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        if not places:
            return np.zeros((0, 1), dtype=np.float32)
        return self.encode(list(places))[[places[text] for text in texts]]


def _sentences(text: str, starts: Sequence[int]) -> list[str]:
    return [text[a:b].strip() for a, b in zip([0, *starts], [*starts, len(text)], strict=True)]


def deepest_gaps(vectors: Vectors, count: int) -> list[int]:
    """Numbers of the `count` gaps between neighbouring rows whose two sides are least similar, in order.

    A side is the mean of up to three rows; of equally deep gaps the earlier is taken.
    """
    if not count:
        return []
    total = np.concatenate((np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0, dtype=np.float64)))
    gaps = np.arange(1, len(vectors))
    before = total[gaps] - total[np.maximum(gaps - _BESIDE, 0)]
    after = total[np.minimum(gaps + _BESIDE, len(vectors))] - total[gaps]
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    similarity = np.einsum("ij,ij->i", before, after) / np.maximum(norms, np.finfo(np.float64).tiny)
    order = np.argsort(np.round(similarity, 6), kind="stable")[:count]
    return sorted(order.tolist())


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


def build_chunker(settings: ChunkingSettings, encode: Encode | None) -> Chunker:
    """The strategy that the settings name.

    Raises:
        SettingsError: it needs `encode`.
    """
    if settings.strategy == "semantic":
        if encode is None:
            raise SettingsError(
                "chunking.strategy is semantic, which needs an embedding model; choose another"
            )
        return SemanticChunker(encode, settings.semantic_percentile)
    if settings.strategy == "sentences":
        return SentenceChunker(settings.window_sentences)
    return TokenChunker() if settings.strategy == "tokens" else StructureChunker()
