"""A text read once: its words, terms, dates, numbers and names, each found when first asked for.

A reading travels with its claim, question or passage, so that no check reads a text again. The finders are
`words.py`, `dates.py`, `numbers.py` and `names.py`.
"""

import functools
import re
from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property

from qa_pipeline.text.blocks import NUMBERED_ITEM
from qa_pipeline.text.lexicon.languages import CAPITALS, any_of_all
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.text.words import Occupied, Token, content_places, folded_words, tokenize
from qa_pipeline.verification.consistency.dates import Date, find_dates
from qa_pipeline.verification.consistency.names import Name, find_names
from qa_pipeline.verification.consistency.numbers import Number, find_numbers

_BETWEEN = "\x1f"
_LABEL = re.compile(
    rf"{NUMBERED_ITEM.pattern}|^[ \t]*(?:[-*] )?(?:\[[ xX]\] )(?:[{CAPITALS}]{{2,12}}: )?"
    rf"|^[ \t]*\(\d{{1,3}}[a-z]?\)[ \t]+"
    r"|(?<=[.,;!?])\[\^?\d{1,3}\]",
    re.MULTILINE,
)
"""Numbers and marks of a line or sentence that are no part of it: `- 6. `, `(2) `, `- [ ] SKA: `, `.[1]`."""


@dataclass(frozen=True)
class Reading:
    """A text in one language; offsets point into it as it is written."""

    written: str
    language: str

    @cached_property
    def text(self) -> str:
        """Return the text with blanks in place of the numbers of list items, which state nothing."""
        return _LABEL.sub(lambda mark: "•".ljust(len(mark[0])), self.written)

    @property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """Return the spans of its sentences."""
        return sentence_spans(self.text, self.language)

    @cached_property
    def words(self) -> tuple[Token, ...]:
        """Return all words in order."""
        return tokenize(self.text, self.language)

    @cached_property
    def _content(self) -> list[tuple[int, str]]:
        return content_places(self.text, self.language)

    @property
    def stems(self) -> list[str]:
        """Return the stems of the content words in order, repeats included."""
        return [stem for _, stem in self._content]

    @cached_property
    def dates(self) -> list[Date]:
        """Return the dates and years."""
        return find_dates(self.text, self.language)

    @cached_property
    def numbers(self) -> list[Number]:
        """Return the numbers that are no dates."""
        return find_numbers(self.text, self.language, [(date.start, date.end) for date in self.dates])

    @cached_property
    def _measured(self) -> Occupied:
        spans = [(date.start, date.end) for date in self.dates]
        return Occupied(len(self.text), spans + [(number.start, number.end) for number in self.numbers])

    @cached_property
    def names(self) -> list[Name]:
        """Return the names outside dates and units."""
        names = find_names(self.text, self.language)
        return [name for name in names if self._measured.free(name.start, name.end)]

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Return what the text states, in order and comparable: stems of content words, values of numbers."""
        return tuple([term for _, term in self.placed_terms])

    @cached_property
    def term_set(self) -> Set[str]:
        """Return the terms, each once."""
        return frozenset(self.terms)

    @cached_property
    def placed_terms(self) -> tuple[tuple[int, str], ...]:
        """Return the terms, each with the place where it begins."""
        stems = self._bound_stems()
        if not self.dates and not self.numbers:
            return tuple(stems)
        free = self._measured.free
        stems = [place for place in stems if free(place[0], place[0] + 1)]
        dates = [(d.start, f"={part}") for d in self.dates for part in (d.year, d.month, d.day) if part]
        numbers = [(n.start, f"={n.version or f'{n.values[0]:.12g}'}") for n in self.numbers]
        return tuple(sorted(stems + dates + numbers))

    def _bound_stems(self) -> list[tuple[int, str]]:
        """Return the stems; a prefix and the word it is bound to are one: weekly is not bi-weekly."""
        prefixes = {match.end(): match for match in _BOUND.finditer(self.text)}
        if not prefixes:
            return self._content
        starts = {prefix.start() for prefix in prefixes.values()}
        return [
            (place, f"{prefixes[place][0][:-1].casefold()}-{stem}" if place in prefixes else stem)
            for place, stem in self._content
            if place not in starts
        ]

    @cached_property
    def line(self) -> str:
        """Return the words as they are written in one string, a mark that no word holds around each."""
        words = folded_words(self.written, self.language)
        return _BETWEEN + "".join(word + _BETWEEN for word in words)

    def repeats(self, other: "Reading") -> bool:
        """Return whether two texts are the same words in the same order, case and punctuation aside."""
        return self.line == other.line

    def holds(self, other: "Reading") -> bool:
        """Return whether the words of another text stand here one after another."""
        return other.line != _BETWEEN and other.line in self.line

    def find(self, other: "Reading") -> tuple[int, int] | None:
        """Return the span of the first place where the words of another text stand one after another."""
        if not self.holds(other):
            return None
        words = self.words if self.text == self.written else tokenize(self.written, self.language)
        first = self.line.count(_BETWEEN, 0, self.line.find(other.line))
        return words[first].start, words[first + other.line.count(_BETWEEN) - 2].end


_BOUND = re.compile(rf"(?<!\w){any_of_all('hyphened_prefixes')}[-\u2010\u2011](?=\w)", re.IGNORECASE)
"""Prefixes that change a word when they stand before its hyphen."""


@functools.lru_cache(maxsize=16_384)
def read(text: str, language: str) -> Reading:
    """Return the reading of a text, cached: claims of one batch cite the same passages."""
    return Reading(text, language)
