"""Names in a text: proper names, acronyms and identifiers."""

import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

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
    """The place of a name, and its comparable form."""

    folded: str
    start: int
    end: int


def find_names(text: str, language: str) -> list[Name]:
    """Return the names of `text` in order: identifiers, and capitalised words and acronyms in sentences.

    German writes every noun with a capital, so there a single capitalised word is a name only when it is an
    acronym or mixed case, or when it is in a run of capitalised words.
    """
    code = [match.span(1) for match in _CODE.finditer(text) if match[1].strip()]
    used = Occupied(len(text), code)
    identifiers = []
    for match in _IDENTIFIER.finditer(text):
        if used.free(*match.span()):
            identifiers.append(match.span())
            used.take(*match.span())
    proper = [span for span in _proper_names(text, language) if used.free(*span)]
    spans = sorted([*code, *identifiers, *proper], key=lambda span: span[0])
    return [Name(_fold(text[start:end]), start, end) for start, end in spans]


def _fold(text: str) -> str:
    """Return the comparable form of a name: case, genitive endings, quotes and call brackets aside."""
    folded = characters.fold(unicodedata.normalize("NFKC", text)).casefold().strip("'\"()[] ")
    return folded.removesuffix("'s").removesuffix("'").lstrip("-")


def _proper_names(text: str, language: str) -> Iterator[tuple[int, int]]:
    vocabulary, ordinary = lexicon(language), _ordinary(language)
    names = [
        match
        for match in _CAPITALISED.finditer(text)
        if len(match[0]) > 1 and (folded := match[0].casefold()) not in ordinary
        # APR is no month when dates leave it
        if match[0].isupper() or folded not in vocabulary.months
    ]
    for place, match in enumerate(names):
        word = match[0]
        special = word[1:] != word[1:].lower() or any(character.isdigit() for character in word)
        first = _SENTENCE_START.search(text[max(0, match.start() - 4) : match.start()]) is not None
        if special or (not first and (not vocabulary.nouns_capitalised or _in_run(text, names, place))):
            yield match.span()


@functools.cache
def _ordinary(language: str) -> Set[str]:
    vocabulary = lexicon(language)
    return vocabulary.stop_words | vocabulary.negations


def _in_run(text: str, names: Sequence[re.Match[str]], place: int) -> bool:
    """Return True if another capitalised word is directly beside this one."""
    around = names[max(0, place - 1) : place + 2]
    return any(text[one.end() : other.start()] == " " for one, other in pairwise(around))
