"""Names in a text: proper names, acronyms and identifiers."""

import functools
import re
import unicodedata
from collections.abc import Sequence, Set
from dataclasses import dataclass

from qa_pipeline.text import characters
from qa_pipeline.text.lexicon.languages import SMALL, lexicon
from qa_pipeline.text.words import Occupied

_IDENTIFIER = re.compile(
    r"(?<![\w`])(?:[^\W\d_]\w*(?:[./:-]\w+){0,20}\(\)"  # call()
    r"|\w*[^\W_]_\w+(?:\.\w+)*"  # snake_case
    r"|-{1,2}[a-z][\w-]{2,}"  # --flag
    r"|[^\W\d_]\w*(?:\.[^\W\d_]\w*)+"  # dotted.path
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)"  # camelCase
)
_CODE = re.compile(r"`([^`\n]{1,120})`")
_CAPITALISED = re.compile(  # begins with the set of letters, so that the search can skip to one
    rf"[^\W\d_{SMALL}](?<![\w.][^\W\d_{SMALL}])[\w’'-]*"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;•|]\s+|\n|[\"“„»(\[]\s*|^\s*[-*#>]+\s*)$")


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written, and its comparable form; an identifier must match as a whole."""

    text: str
    folded: str
    start: int
    end: int
    identifier: bool


def find_names(text: str, language: str) -> list[Name]:
    """Return the names of `text` in order: identifiers, and capitalised words and acronyms in sentences.

    German writes every noun with a capital, so there a single capitalised word is a name only when it is an
    acronym or mixed case, or when it is in a run of capitalised words.
    """
    identifiers = [_name(m[1], m.start(1), identifier=True) for m in _CODE.finditer(text) if m[1].strip()]
    used = Occupied(len(text), ((name.start, name.end) for name in identifiers))
    for match in _IDENTIFIER.finditer(text):
        if used.free(*match.span()):
            identifiers.append(_name(match[0], match.start(), identifier=True))
            used.take(*match.span())
    proper = [name for name in _proper_names(text, language) if used.free(name.start, name.end)]
    return sorted(identifiers + proper, key=lambda name: name.start)


def _name(text: str, start: int, *, identifier: bool) -> Name:
    return Name(text, fold(text), start, start + len(text), identifier)


def fold(text: str) -> str:
    """Return the comparable form of a name: case, genitive endings, quotes and call brackets aside."""
    folded = characters.fold(unicodedata.normalize("NFKC", text)).casefold().strip("'\"()[] ")
    return folded.removesuffix("'s").removesuffix("'").lstrip("-")


def _proper_names(text: str, language: str) -> list[Name]:
    vocabulary, ordinary = lexicon(language), _ordinary(language)
    names = [
        m
        for m in _CAPITALISED.finditer(text)
        if len(m[0]) > 1
        and m[0].casefold() not in ordinary
        and (
            m[0].isupper() or m[0].casefold() not in vocabulary.months
        )  # APR is no month when dates leave it
    ]
    spans = []
    for place, match in enumerate(names):
        word = match[0]
        special = word[1:] != word[1:].lower() or any(character.isdigit() for character in word)
        first = _SENTENCE_START.search(text[max(0, match.start() - 4) : match.start()]) is not None
        if special or (not first and (not vocabulary.nouns_capitalised or _in_run(text, names, place))):
            spans.append(_name(word, match.start(), identifier=False))
    return spans


@functools.cache
def _ordinary(language: str) -> Set[str]:
    vocabulary = lexicon(language)
    return vocabulary.stop_words | vocabulary.negations


def _in_run(text: str, candidates: Sequence[re.Match[str]], place: int) -> bool:
    """Return whether another capitalised word is directly beside this one."""
    here = candidates[place]
    before = place > 0 and text[candidates[place - 1].end() : here.start()] == " "
    after = place + 1 < len(candidates) and text[here.end() : candidates[place + 1].start()] == " "
    return before or after
