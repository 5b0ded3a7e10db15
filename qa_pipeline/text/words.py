"""Tokenize and stem the words of a text, and measure recall of words between texts."""

import functools
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from qa_pipeline.text.lexicon.languages import lexicon, stemmer

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")


class Token(NamedTuple):
    """A word. `folded` is its casefolded form, and `content` is False for a function word."""

    folded: str
    stem: str
    start: int
    end: int
    content: bool
    negative: bool


def tokenize(text: str, language: str) -> tuple[Token, ...]:
    """Return the words and digit groups of `text` in order. Identifiers and compounds are split."""
    vocabulary = _known_words(language)
    tokens = []
    for match in _WORD.finditer(text):
        folded, stem, content, negative = vocabulary(match[0])
        tokens.append(Token(folded, stem, *match.span(), content, negative))
    return tuple(tokens)


@functools.cache
def _known_words(language: str) -> Callable[[str], tuple[str, str, bool, bool]]:
    """Return a cached function from a word to its folded form, stem, content flag and negative flag."""
    vocabulary, stem = lexicon(language), stemmer(language)

    @functools.lru_cache(maxsize=200_000)
    def word(written: str) -> tuple[str, str, bool, bool]:
        folded = unicodedata.normalize("NFC", written).casefold().replace("’", "'")
        negative = folded in vocabulary.negations or folded.endswith("n't")
        bare = folded.removesuffix("'s")
        return folded, stem(bare), not negative and bare not in vocabulary.stop_words, negative

    return word


def recall(required: Collection[str], available: Collection[str]) -> float | None:
    """Return the share of distinct `required` entries in `available`, or None if `required` is empty."""
    distinct = set(required)
    return len(distinct.intersection(available)) / len(distinct) if distinct else None


class Occupied:
    """A mask of the characters of a text that are already taken."""

    def __init__(self, length: int, spans: Iterable[tuple[int, int]] = ()) -> None:
        self._taken = bytearray(length)
        for start, end in spans:
            self.take(start, end)

    def take(self, start: int, end: int) -> None:
        """Mark a span as occupied."""
        self._taken[start:end] = b"\x01" * (end - start)

    def free(self, start: int, end: int) -> bool:
        """Return True if all characters of a span are free."""
        return self._taken.find(1, start, end) < 0
