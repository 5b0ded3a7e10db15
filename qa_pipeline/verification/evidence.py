"""Pieces of text a claim may rest on: windows of sentences of a chunk, and finding them by words.

Which piece is the evidence of a claim is decided in `claims.py`.
"""

import functools
import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

from qa_pipeline.text.blocks import NUMBERED_ITEM
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.consistency.reading import Reading, read

LONGEST_WINDOW = 3
"""Sentences of the longest piece of evidence: what a claim states is rarely further apart."""
_HEADING = re.compile(r"#{1,6}\s")
_ROW = re.compile(r"(?=.{1,400}$)[^\n]* \| |(?=.{1,120}$)[^\s:][^:\n]{0,40}: [^\s:][^\n:]*$")


def is_row(text: str) -> bool:
    """Return whether a text is a table row or key-value line."""
    return _ROW.match(text) is not None


@dataclass(frozen=True)
class Candidate:
    """A piece of a chunk: offsets are within the chunk's text, `parts` are its sentences."""

    chunk_id: str
    start: int
    end: int
    reading: Reading
    parts: tuple[Reading, ...] = field(compare=False)
    is_row: bool = field(compare=False)
    """True for a table row or key-value line, whose words have no order of their own."""

    @property
    def sentences(self) -> int:
        """Return the number of its sentences."""
        return len(self.parts)

    @cached_property
    def terms(self) -> Set[str]:
        """Return the terms of its sentences: each is read once, however many pieces it is in."""
        return frozenset().union(*(part.term_set for part in self.parts))

    @property
    def text(self) -> str:
        """Return the piece, verbatim."""
        return self.reading.written


def windows(text: str, language: str, longest: int) -> list[list[tuple[int, int]]]:
    """Return every 1 to `longest` neighbouring sentences, as their spans.

    Headings are no evidence while there is anything else. A table row or key-value line is a statement of
    its own: joined with its neighbour it would lend its number to the wrong row.
    """
    sentences = [span for span in _sentences(text, language) if not _HEADING.match(text, *span)]
    alone = [_ROW.match(text, *span) is not None for span in sentences]
    groups = []
    for first, (start, _) in enumerate(sentences):
        for count in range(1, longest + 1):
            group = sentences[first : first + count]
            if len(group) < count or (count > 1 and any(alone[first : first + count])):
                break
            headed = any("#" in text[before[1] : after[0]] for before, after in pairwise(group))
            if headed and _HEADING.search(text, start, group[-1][1]):
                break
            groups.append(group)
    return groups or [[span] for span in sentence_spans(text, language)[:1]]


@functools.lru_cache(maxsize=512)
def candidates(chunk_id: str, chunk: Reading, longest: int) -> tuple[Candidate, ...]:
    """Return all candidates of a chunk, cached for all the claims that cite it."""
    return tuple(
        _candidate(chunk_id, chunk, window) for window in windows(chunk.written, chunk.language, longest)
    )


def _candidate(chunk_id: str, chunk: Reading, sentences: Sequence[tuple[int, int]]) -> Candidate:
    """Return the piece from the first sentence to the last."""
    start, end = sentences[0][0], sentences[-1][1]
    parts = tuple(read(chunk.written[first:second], chunk.language) for first, second in sentences)
    reading = read(chunk.written[start:end], chunk.language)
    return Candidate(chunk_id, start, end, reading, parts, is_row(reading.written))


@functools.lru_cache(maxsize=1024)
def _sentences(text: str, language: str) -> tuple[tuple[int, int], ...]:
    """Return the sentences of a chunk, without the number that an item of an ordered list begins with."""
    spans = []
    for start, end in sentence_spans(text, language):
        number = NUMBERED_ITEM.match(text, start, end)
        spans.append((number.end(), end) if number and number.end() < end else (start, end))
    return tuple(spans)


def whole_sentences(chunk_id: str, chunk: Reading, span: tuple[int, int]) -> Candidate:
    """Return the sentences a span touches: a part of one may say what the whole denies."""
    sentences = _sentences(chunk.written, chunk.language)
    first = bisect_right(sentences, span[0], key=itemgetter(1))
    touched = [
        sentence for sentence in sentences[first : first + span[1] - span[0] + 1] if sentence[0] < span[1]
    ]
    touched = touched or [span]  # the mark of a list item alone is in no sentence
    touched[0] = (min(touched[0][0], span[0]), touched[0][1])
    touched[-1] = (touched[-1][0], max(touched[-1][1], span[1]))
    return _candidate(chunk_id, chunk, touched)


def best_by_words(terms: Collection[str], pool: Iterable[Candidate], most: int) -> list[Candidate]:
    """Return the `most` candidates with most of the wanted terms; of equals the shorter, the earlier."""
    distinct = frozenset(terms)
    return sorted(pool, key=lambda piece: (-len(distinct & piece.terms), piece.sentences))[:most]


@dataclass(frozen=True)
class ChunkWords:
    """A small inverted index of the chunks of a batch by term, to find sources that nobody cited."""

    texts: Mapping[str, str]
    languages: Mapping[str, str]

    @cached_property
    def _chunks_by_term(self) -> dict[str, list[str]]:
        """Return chunks by term, built at the first search, since not every caller searches."""
        chunks_by_term: dict[str, list[str]] = defaultdict(list)
        for chunk_id, text in self.texts.items():
            for term in read(text, self.languages[chunk_id]).term_set:
                chunks_by_term[term].append(chunk_id)
        return chunks_by_term

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term, smoothed (Robertson and Spärck Jones 1976)."""
        count = len(self._chunks_by_term.get(term, ()))
        return math.log(1.0 + (len(self.texts) - count + 0.5) / (count + 0.5))

    def best(
        self, terms: Collection[str], most: int, without: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """Return chunks by the share of the terms they hold, weighted by rarity; best first."""
        weights = {term: self.rarity(term) for term in sorted(set(terms))}
        total = sum(weights.values())
        shares: dict[str, float] = defaultdict(float)
        for term in weights:
            for chunk_id in self._chunks_by_term.get(term, ()):
                shares[chunk_id] += weights[term] / total
        others = [entry for entry in shares.items() if entry[0] not in without]
        return sorted(others, key=lambda entry: (-round(entry[1], 9), entry[0]))[:most]
