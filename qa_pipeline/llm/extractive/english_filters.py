"""Which English sentences may be an answer, and which words may stand in a question.

What belongs here: tests of sentences and of copied words. What does not: noun phrases that name something
(`english_names.py`), patterns that ask something.
"""

import re

from qa_pipeline.llm.extractive.candidates import MAX_ANSWER
from qa_pipeline.llm.extractive.english_words import (
    ADVERBS,
    BACK_MATTER,
    BAD_OPENERS,
    GENERIC_NOUNS,
    IMPERATIVES,
    MODALS,
    NOT_VERBS,
    POINTERS,
    POINTING_PHRASES,
    PRONOUNS,
    UNFINISHED,
)
from qa_pipeline.records import Passage

MIN_WORDS = 6
MAX_WORDS = 60

IDENTIFIER = (
    r"(?:</?[A-Za-z][\w-]{0,60}>|--?[a-z][\w-]{1,60}|@?[A-Za-z_][\w-]{0,60}(?:[.:][\w-]{1,60}){1,20}(?:\(\))?"
    r"|[A-Za-z_]\w{0,60}\(\)|[a-z]{1,60}[A-Z]\w{0,60}|[A-Z]{1,60}[a-z]{1,60}[A-Z]\w{0,60}"
    r"|[A-Z][A-Z0-9][\w-]{0,60}|(?>\w{1,60}?_)\w{1,60})"
)
"""A name of code: mod_alias, <Limit>, --upgrade, os.path, listen(), CamelCase, ASGI."""

_IDENTIFIER = re.compile(IDENTIFIER)
_WORD = re.compile(r"[\w'’-]+")
_CODE = re.compile(
    r"[{};]|=>|->|::|==|\$\w|</|/>|\\\w|(?<!dB)\(\w+\)\w|[a-z_]{2}\(\w|^\W*[<>$%]|\s=\s|&\w|\.\.\.|…|\(\s|\s\)|”\s?“|•"
)
_CITED = re.compile(r"\[\d|\(\w+,? (?:et al\.,? )?(?:19|20)\d\d|&")
_REPEATED = re.compile(r"\b([\w-]{1,60}) \1\b")
_THAT_NOUN = re.compile(rf"\bthat (?:{'|'.join(sorted(GENERIC_NOUNS))})\b")
_UNIVERSAL = "user|client|server|browser|Internet|web|network|operating system|first|last"
_DEFINITE = re.compile(rf" the (?!(?:{_UNIVERSAL})\b)((?:\S+ ?){{1,5}})")
_AUXILIARIES = MODALS | {"is", "are", "was", "has", "does", "of", "to"}
_CONSTANTS = ("True", "False", "None", "Null", "Yes", "No", "On", "Off", "True?", "False?", "None?")
_FINITE_BE = re.compile(
    r"(?:(?!(?:that|which|who|whether|if|when|how|what|where)\b)\S+ )*?(?:is|are|was|were) "
)
_STRANDED = ("instead", " in", " with", " for", " to", " too", "something")
_THE_NOUN = re.compile(
    r"\b(?:the|The) ((?:[\w'-]+ ){0,2}?)([\w'-]+)(?=$|[,.?;:)]| (?:is|are|was|were|has|have|in|on"
    r"|to|from|with|for|does|do|not|as|at|by|and|or|will|can|must|should|you|used|when|if|into)\b)"
)


def asked_section(passage: Passage) -> bool:
    """Tell whether the section is one whose facts are worth asking for."""
    for heading in passage.section_path:
        words = heading.casefold().split()
        if words and (words[0] in BACK_MATTER or words[-1] in BACK_MATTER):
            return False
    return True


def standalone(sentence: str, *, least: int = MIN_WORDS) -> bool:
    """Tell whether a sentence of at least `least` words is prose that needs no neighbours."""
    words = [word.strip(".,;:()\"'“”").casefold() for word in sentence.split()]
    return (
        least <= len(words) <= MAX_WORDS
        and _complete(sentence, words[-1])
        and words[0] not in BAD_OPENERS
        and words[-1] not in PRONOUNS
        and POINTERS.isdisjoint(words)
        and not _CODE.search(sentence)
        and not _THAT_NOUN.search(sentence)
        and not any(phrase in f" {sentence.casefold()}" for phrase in POINTING_PHRASES)
    )


def _complete(sentence: str, last: str) -> bool:
    """Tell whether a text begins and ends like a sentence; a colon may end it after a full statement."""
    begun = sentence[0].isupper() or _IDENTIFIER.match(sentence) is not None
    ended = sentence[-1] in ".!" or (sentence[-1] == ":" and last not in UNFINISHED)
    return begun and ended and len(sentence) <= MAX_ANSWER and not sentence.endswith((" etc.", "..."))


def imperative(text: str) -> bool:
    """Tell whether a clause is an order: "use …", but not "configure will …", where it is a name."""
    words = text.split(" ", 2)
    return words[0].casefold() in IMPERATIVES and (len(words) < 2 or words[1] not in _AUXILIARIES)


def verb_phrase(text: str, *, least: int = 2) -> bool:
    """Tell whether copied words of at least `least` words can follow "How do you"."""
    words = text.split()
    first = words[0]
    return (
        len(words) >= least
        and first.isalpha()
        and first not in NOT_VERBS | MODALS | ADVERBS
        and not first.endswith(("ing", "ly"))
        and " and to " not in text
        and not _FINITE_BE.match(text)
        and not text.endswith(_STRANDED)
        and standalone_words(text)
    )


def standalone_words(text: str) -> bool:
    """Tell whether words copied into a question point at nothing outside it."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return (
        PRONOUNS.isdisjoint(words)
        and POINTERS.isdisjoint(words)
        and " - " not in text
        and not _REPEATED.search(text)
        and not _CODE.search(text)
        and not _CITED.search(text)
        and not _pointing_noun(text)
    )


def _pointing_noun(text: str) -> bool:
    """Tell whether "the file" or the like stands without a name beside it."""
    return any(
        match[2].casefold() in GENERIC_NOUNS and not _IDENTIFIER.search(match[1])
        for match in _THE_NOUN.finditer(text)
    )


def anchored(text: str) -> bool:
    """Tell whether words hold an identifier, or a name after the first word, that can be looked up."""
    return _IDENTIFIER.search(text) is not None or any(
        word[:1].isupper() and word[1:2].islower() and word not in _CONSTANTS for word in text.split()[1:]
    )


def points(text: str) -> bool:
    """Tell whether a "the" stands before words that name nothing."""
    return any(not anchored(f"the {match[1]}") for match in _DEFINITE.finditer(f" {text} "))


def is_identifier(word: str) -> bool:
    """Tell whether a word is a name of code."""
    return _IDENTIFIER.fullmatch(word) is not None
