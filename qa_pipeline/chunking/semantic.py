"""Cutting where the subject changes: where what is said before is least similar to what is said after.

What belongs here: finding such places from vectors of sentences. What does not: computing the vectors.

The method is that of TextTiling (Hearst, "TextTiling: segmenting text into multi-paragraph subtopic
passages", Computational Linguistics 23, 1997): compare the blocks on both sides of every gap, cut at the
dips. As in the semantic chunking that Kamradt described in 2023, the blocks are means of sentence vectors,
and a dip is what lies below a percentile. Both take the threshold from a whole text; here it is that of a
section, or an edit in one section would move the borders in another.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from qa_pipeline.chunking.borders import Borders
from qa_pipeline.chunking.grouping import cut_groups
from qa_pipeline.chunking.sections import Cuts, Section

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
