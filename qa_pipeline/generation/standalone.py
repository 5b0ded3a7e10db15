"""Find words of a question that need missing context: pronouns, "the text", numbers of sections.

The rules would rather pass a question than reject it. A name in quotation marks resolves a pronoun.
"""

import functools
import re
import tomllib
from pathlib import Path
from typing import Literal

from qa_pipeline.text.language import QUOTED
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.words import Token, tokenize

_AHEAD = 7
"""Words after a pronoun to search for an impersonal construction, such as "does it take … to"."""


def leans_on(question: str, language: str) -> str | None:
    """Return the words of a question that only its passage explains, if any."""
    if match := phrases("backreferences", language).search(question):
        return match[0]
    pronoun = None if QUOTED.search(question) else _unresolved(question, language)
    return None if pronoun is None else question[pronoun.start : pronoun.end]


def _unresolved(question: str, language: str) -> Token | None:
    """Return the first pronoun, unless the question names a subject before it."""
    words, vocabulary = tokenize(question, language), lexicon(language)
    pronouns = vocabulary.pronouns
    for place, word in enumerate(words):
        if word.content and word.folded not in vocabulary.question_words:
            return None
        if word.folded in pronouns.demonstratives:
            return word
        ahead = words[place + 1 : place + 1 + _AHEAD]
        around = (*words[max(0, place - 1) : place], *ahead)
        polite = place > 0 and question[word.start].isupper()  # the German "Sie"
        article = word.folded in vocabulary.determiners and bool(ahead) and ahead[0].content
        impersonal = any(other.folded in pronouns.impersonal for other in around)
        if word.folded in pronouns.leaning and not (polite or article or impersonal):
            return word
    return None


@functools.cache
def phrases(kind: Literal["backreferences", "boilerplate"], language: str | None = None) -> re.Pattern[str]:
    """Return the phrases of a kind, of one language or of all."""
    content = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8"))
    lists = content.values() if language is None else [content[lexicon(language).code]]
    return re.compile(
        "|".join(phrase for of_language in lists for phrase in of_language[kind]), re.IGNORECASE
    )
