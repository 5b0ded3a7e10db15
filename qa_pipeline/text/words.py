"""Words of a text: tokens, stems, and what share of one text's words another holds."""

import functools
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Set
from typing import NamedTuple

from qa_pipeline.text.lexicon.languages import lexicon, stemmer

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
_RUN = re.compile(r"\w+")
_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")

_SENTENCE_OPENINGS = " \t\r\"'“„(*-"
_LOOK_BACK = 20


class Token(NamedTuple):
    """A word: `folded` is its casefolded form, `content` tells it from a function word."""

    folded: str
    stem: str
    start: int
    end: int
    content: bool
    negative: bool


def tokenize(text: str, language: str) -> tuple[Token, ...]:
    """Return the words and digit groups of `text` in order; identifiers and compounds come apart."""
    vocabulary = _known_words(language)
    tokens = []
    for match in _WORD.finditer(text):
        folded, stem, content, negative = vocabulary(match[0])
        if negative and _is_value(match, text):
            content, negative = True, False
        tokens.append(Token(folded, stem, *match.span(), content, negative))
    return tuple(tokens)


def folded_words(text: str, language: str) -> tuple[str, ...]:
    """Return the `folded` of each token, without making the tokens."""
    vocabulary = _known_words(language)
    return tuple([vocabulary(word)[0] for word in _WORD.findall(text)])


def content_places(text: str, language: str) -> list[tuple[int, str]]:
    """Start and stem of each content word, without making the tokens."""
    vocabulary = _known_words(language)
    return [
        (match.start(), word[1])
        for match in _WORD.finditer(text)
        if (word := vocabulary(match[0]))[2] or (word[3] and _is_value(match, text))
    ]


def _is_value(match: re.Match[str], text: str) -> bool:
    """Return whether "None" is the value of that name, which denies nothing: it opens no sentence."""
    return match[0] == "None" and not _opens_sentence(text, match.start())


def _opens_sentence(text: str, at: int) -> bool:
    before = text[max(0, at - _LOOK_BACK) : at].rstrip(_SENTENCE_OPENINGS)
    return before[-1:] in (".", "!", "?", ":", "\n") if before else at <= _LOOK_BACK


@functools.cache
def _known_words(language: str) -> Callable[[str], tuple[str, str, bool, bool]]:
    """Return folded form, stem, content and negative of a word, cached by word."""
    vocabulary, stem = lexicon(language), stemmer(language)

    @functools.lru_cache(maxsize=200_000)
    def word(written: str) -> tuple[str, str, bool, bool]:
        folded = unicodedata.normalize("NFC", written).casefold().replace("’", "'")
        negative = folded in vocabulary.negations or folded.endswith("n't")
        bare = folded.removesuffix("'s")
        content = not negative and bare not in vocabulary.stop_words
        return folded, stem(bare), content, negative

    return word


def written_words(text: str) -> Set[str]:
    """Return every run of letters, digits and underscores, casefolded, which any match must consist of.

    Looking here first saves patterns of many words the walk through texts that have none of them.
    """
    return frozenset(_RUN.findall(text.casefold()))


def first_runs(phrases: Iterable[str]) -> frozenset[str]:
    """Return the first run of letters of each phrase, casefolded, to be looked up in `written_words`."""
    return frozenset(_RUN.findall(phrase.casefold())[0] for phrase in phrases)


def content_stems(text: str, language: str) -> list[str]:
    """Return the stems of the content words in order, repeats included."""
    return [stem for _, stem in content_places(text, language)]


def recall(required: Collection[str], available: Collection[str]) -> float | None:
    """Return the share of distinct `required` entries in `available`; None when nothing is required."""
    distinct = set(required)
    return len(distinct.intersection(available)) / len(distinct) if distinct else None


def numerals(text: str) -> frozenset[str]:
    """Return every number of a text in digits, without grouping or decimal marks."""
    return frozenset(re.sub(r"[.,]", "", numeral) for numeral in _NUMERAL.findall(text))


class Occupied:
    """The characters of a text that belong to something already."""

    def __init__(self, length: int, spans: Iterable[tuple[int, int]] = ()) -> None:
        self._taken = bytearray(length)
        for start, end in spans:
            self.take(start, end)

    def take(self, start: int, end: int) -> None:
        """Mark a span as occupied."""
        self._taken[start:end] = b"\x01" * (end - start)

    def free(self, start: int, end: int) -> bool:
        """Return whether no character of a span is occupied."""
        return self._taken.find(1, start, end) < 0
