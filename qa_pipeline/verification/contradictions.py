"""Sentences of contexts that may contradict each other, for the metric of contradictions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.evidence import candidates

_SHORTEST, _LONGEST = 30, 300
"""Characters of a sentence that is compared: shorter ones are labels, longer ones lists or paragraphs."""
_FEWEST_STEMS = 4
"""Content words of a sentence that is compared: two that share fewer may be about different things."""
_PROSE = re.compile(r"[^\W\d_][^{}<>=|\\]*[.!]$", re.DOTALL)
_LETTERS = 0.6
"""Share of letters and blanks in prose; code and tables have fewer."""
OVERLAP = 0.60
"""Share of their words (Jaccard) that two sentences must have in common to be about the same thing."""


class ChunkText(TypedDict):
    """Hold what sentences are read from: columns of a `ChunkRow`."""

    chunk_id: str
    document_id: str
    char_start: int
    text: str
    language: str


@dataclass(frozen=True)
class Sentence:
    """A sentence of a chunk: offsets are within the document's text."""

    chunk_id: str
    document_id: str
    start: int
    end: int
    reading: Reading

    @property
    def text(self) -> str:
        """Return the sentence, verbatim."""
        return self.reading.written

    @property
    def language(self) -> str:
        """Return its language."""
        return self.reading.language

    @cached_property
    def stems(self) -> frozenset[str]:
        """Return the stems of its content words, digit groups left out."""
        return frozenset(stem for stem in self.reading.stems if not stem[:1].isdigit())


def find_sentences(chunks: Iterable[ChunkText]) -> list[Sentence]:
    """Return sentences of prose long enough to compare, each once, in the order of the chunks."""
    sentences_by_place: dict[tuple[str, int, int], Sentence] = {}
    for chunk in chunks:
        document_id, shift = chunk["document_id"], chunk["char_start"]
        for candidate in candidates(chunk["chunk_id"], read(chunk["text"], chunk["language"]), 1):
            place = document_id, shift + candidate.start, shift + candidate.start + len(candidate.text)
            if place in sentences_by_place or candidate.is_row or not _is_prose(candidate.text):
                continue
            sentence = Sentence(chunk["chunk_id"], *place, candidate.reading)
            if len(sentence.stems) >= _FEWEST_STEMS:
                sentences_by_place[place] = sentence
    return list(sentences_by_place.values())


def _is_prose(text: str) -> bool:
    """Return whether a piece of text is a sentence in words, no code, table or heading."""
    if not _SHORTEST <= len(text) <= _LONGEST or not _PROSE.match(text.strip("*_\"'”’“‘ ")):
        return False
    letters = sum(letter.isalpha() or letter.isspace() for letter in text)
    return letters >= _LETTERS * len(text)
