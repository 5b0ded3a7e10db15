"""The languages there are words for, and their stems."""

import functools
from collections.abc import Callable, Mapping
from operator import attrgetter

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.english import ENGLISH
from qa_pipeline.text.lexicon.german import GERMAN
from qa_pipeline.text.lexicon.swedish import SWEDISH

LEXICONS: Mapping[str, Lexicon] = {"en": ENGLISH, "sv": SWEDISH, "de": GERMAN}
"""Words by language code: another language takes its lexicon, a row here and a folder of prompts."""
LANGUAGES = tuple(LEXICONS)


@functools.cache
def lexicon(language: str) -> Lexicon:
    """Return the words of a language; English for one that has none of its own."""
    return LEXICONS.get(language, ENGLISH)


def of_all(field: str) -> tuple[str, ...]:
    """Return what the lexicons have in a field such as `sources` or `labels.phones`, each once, in order."""
    values = map(attrgetter(field), LEXICONS.values())
    return tuple(dict.fromkeys(word for words in values for word in words))


def fields_of_all(name: str) -> tuple[str, ...]:
    """Return the names that documents in any language give a field."""
    return tuple(word for vocabulary in LEXICONS.values() for word in vocabulary.layout.fields.get(name, ()))


def any_of_all(field: str) -> str:
    """Return a pattern that matches what any language has in a field of patterns."""
    return f"(?:{'|'.join(of_all(field))})"


SMALL = "a-z" + "".join(of_all("letters"))
CAPITALS = "A-Z" + "".join(letter.upper() for letter in of_all("letters") if letter != "ß")
"""Letters of all languages, as they are written between the brackets of a pattern."""


@functools.cache
def stemmer(language: str) -> Callable[[str], str]:
    """Return a snowball stemmer of a language, cached by word (Porter 2001)."""
    import Stemmer

    snowball = Stemmer.Stemmer(lexicon(language).stemmer)

    @functools.lru_cache(maxsize=200_000)
    def stem(word: str) -> str:
        return str(snowball.stemWord(word))

    return stem
