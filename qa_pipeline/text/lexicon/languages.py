"""The languages there are words for, and their stems."""

import functools
from collections.abc import Callable, Mapping

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.english import ENGLISH
from qa_pipeline.text.lexicon.german import GERMAN
from qa_pipeline.text.lexicon.swedish import SWEDISH

LEXICONS: Mapping[str, Lexicon] = {"en": ENGLISH, "sv": SWEDISH, "de": GERMAN}
"""Words by language code: another language takes its lexicon, a row here and a folder of prompts."""


@functools.cache
def lexicon(language: str) -> Lexicon:
    """The words of a language; English for one that has none of its own."""
    return LEXICONS.get(language, ENGLISH)


@functools.cache
def stemmer(language: str) -> Callable[[str], str]:
    """Snowball stems of a language, remembered by word (Porter 2001)."""
    import Stemmer

    known = Stemmer.Stemmer(lexicon(language).stemmer)

    @functools.lru_cache(maxsize=200_000)
    def stem(word: str) -> str:
        return str(known.stemWord(word))

    return stem
