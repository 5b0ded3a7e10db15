"""A text read once: its words, dates, numbers and names, each found when first asked for.

What belongs here: putting the finders together and remembering what they found. What does not: the finders.
"""

import functools
import re
from dataclasses import dataclass
from functools import cached_property

from qa_pipeline.text.blocks import NUMBERED_ITEM
from qa_pipeline.text.words import Token, content_places, content_stems, tokenize
from qa_pipeline.verification.consistency.dates import Date, find_dates
from qa_pipeline.verification.consistency.findings import Occupied
from qa_pipeline.verification.consistency.names import Name, find_names
from qa_pipeline.verification.consistency.numbers import Number, find_numbers


@dataclass(frozen=True)
class Reading:
    """One text in one language."""

    text: str
    language: str

    @cached_property
    def words(self) -> tuple[Token, ...]:
        """All words in order."""
        return tokenize(self.text, self.language)

    @cached_property
    def dates(self) -> list[Date]:
        """Dates and years."""
        return find_dates(self.text, self.language)

    @cached_property
    def numbers(self) -> list[Number]:
        """Numbers that are no dates."""
        return find_numbers(self.text, self.language, [(date.start, date.end) for date in self.dates])

    @cached_property
    def _measured(self) -> Occupied:
        spans = [(date.start, date.end) for date in self.dates]
        return Occupied(len(self.text), spans + [(number.start, number.end) for number in self.numbers])

    @cached_property
    def names(self) -> list[Name]:
        """Names outside dates and units."""
        found = find_names(self.text, self.language)
        return [name for name in found if self._measured.free(name.start, name.end)]

    @cached_property
    def context(self) -> tuple[str, ...]:
        """The terms that are no part of a number, date or name."""
        named = {stem for name in self.names for stem in content_stems(name.text, self.language)}
        return tuple(term for term in self.terms if term not in named and not term.startswith("="))

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """What the text states, in order and comparable: stems of content words, values of numbers."""
        return tuple([term for _, term in self.placed_terms])

    @cached_property
    def placed_terms(self) -> tuple[tuple[int, str], ...]:
        """The terms, each with the place where it begins."""
        stems = _bound(self.text, content_places(self.text, self.language))
        if not self.dates and not self.numbers:
            return tuple(stems)
        free = self._measured.free
        stems = [place for place in stems if free(place[0], place[0] + 1)]
        dates = [(d.start, f"={part}") for d in self.dates for part in (d.year, d.month, d.day) if part]
        numbers = [(n.start, f"={n.version or f'{n.values[0]:.12g}'}") for n in self.numbers]
        return tuple(sorted(stems + dates + numbers))


_BOUND = re.compile(
    r"(?<!\w)(?:non|semi|bi|tri|half|anti|un|sub|pre|post|icke|halv|nicht|halb)[-\u2010\u2011](?=\w)",
    re.IGNORECASE,
)
"""Prefixes that change a word when they stand before its hyphen."""


def bound_words(text: str, language: str) -> frozenset[str]:
    """The words of a text, casefolded, each with the prefix bound to it by a hyphen."""
    tokens = {token.start: token for token in tokenize(text, language)}
    for found in _BOUND.finditer(text):
        tokens.pop(found.start(), None)
        if word := tokens.get(found.end()):
            tokens[found.end()] = word._replace(folded=f"{found[0][:-1].casefold()}-{word.folded}")
    return frozenset(token.folded for token in tokens.values())


def _bound(text: str, stems: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The stems, a prefix and the word it is bound to as one: who says weekly has not said bi-weekly."""
    prefixes = {found.end(): found for found in _BOUND.finditer(text)}
    starts = {found.start() for found in prefixes.values()}
    return [
        (place, f"{prefixes[place][0][:-1].casefold()}-{stem}" if place in prefixes else stem)
        for place, stem in stems
        if place not in starts
    ]


@functools.lru_cache(maxsize=4096)
def read(text: str, language: str) -> Reading:
    """The reading of a text, remembered; numbers of list items, which state nothing, are left out of it."""
    return Reading(NUMBERED_ITEM.sub(lambda mark: "•".ljust(len(mark[0])), text), language)
