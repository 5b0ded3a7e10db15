"""German: which sentences may answer, and which questions may be asked.

What belongs here: the order of work and the filters every German question passes. What does not: patterns
(`german_patterns.py`) and word lists (`german_words.py`).
"""

import re
from collections.abc import Iterator

from qa_pipeline.llm.extractive.candidates import Candidate
from qa_pipeline.llm.extractive.german_patterns import NAME, PATTERNS
from qa_pipeline.llm.extractive.german_words import (
    ANSWER_POINTERS,
    COMMON_ACRONYMS,
    FINITE,
    GENERIC_NOUNS,
    NOT_SUBJECTS,
    POINTERS,
    PRONOUN,
)
from qa_pipeline.llm.extractive.patterns import Pattern, candidate, readable
from qa_pipeline.llm.extractive.prose import Sentence, sentences
from qa_pipeline.records import Passage

MIN_NOUN = 10
"""Letters of a noun that with its article alone is specific enough: a compound, as a rule."""

_POINTERS = re.compile(POINTERS)
_PRONOUN = re.compile(PRONOUN)
_ANSWER_POINTERS = re.compile(ANSWER_POINTERS, re.IGNORECASE)
_FINITE = re.compile(FINITE)
_ARTICLES = ("der", "die", "das", "den", "dem", "des")
_DETERMINERS = frozenset("Ein Eine Einen Einem Einer Der Die Das Den Dem Des Alle Ihre Ihr Sie Man".split())
_DEFINITE_NOUN = re.compile(r"\b(?:der|die|das|den|dem|des|im|am|zum|zur|vom|beim|Der|Die|Das) (?:[a-zäöüß]+ )?([A-ZÄÖÜ][\wäöüß-]*)(?= [a-zäöüß]|\?|$)")
_CODE = re.compile(r"[{}\[\]=\\|]|->|::|\.\.\.|…|\(\)\.|https?:|^\W")
_TERM = re.compile(r"(?P<s>[A-ZÄÖÜa-z_][^.:;?!\[\]]{1,60}?)(?: \[[^\]]{1,60}\])?(?P<k> \([A-Z][\w-]{1,10}\))?: (?P<a>(?:\([^)]{3,60}\) )?[A-ZÄÖÜ].{20,})\.")
_GLOSSARY = re.compile(r"Definition|Glossar|Begriff")
_MEANS = Pattern("glossar", _TERM, "Was bedeutet „{s}“?", "definition", 0.9)
_BROAD = frozenset(
    "enthält ermöglicht benötigt basiert_auf gibt_zurück befindet dient wird_für_verwendet stammt_von ist_der".split()
)
"""Rules whose question has many answers for a product every page is about; a bare name must be in a heading."""
_WORDS = re.compile(r"[^\W\d_]{4,}")


def find(passage: Passage) -> list[Candidate]:
    """Return every question the German rules find, in the order of the text."""
    glossary = any(_GLOSSARY.search(heading) for heading in passage.section_path)
    headings = " ".join(passage.section_path[1:])
    found: list[Candidate] = []
    for sentence in sentences(passage):
        if not readable(sentence) or _CODE.search(sentence.text):
            continue
        verbatim = passage.text[sentence.start : sentence.end]
        asked = _term(sentence) if glossary else None
        if asked is not None:
            found.append(candidate(sentence, verbatim, asked, _MEANS))
        elif _answers_alone(sentence.text):
            found += [candidate(sentence, verbatim, asks, pattern) for pattern, asks in _questions(sentence.text, headings)]
    return found


def _term(sentence: Sentence) -> str | None:
    """Ask for the meaning of a glossary's entry."""
    if not (sentence.in_list and sentence.first):
        return None
    return _MEANS.ask(sentence.text)


def _answers_alone(text: str) -> bool:
    """Tell whether a sentence is understood without the one before it."""
    return _ANSWER_POINTERS.search(text) is None


def _questions(text: str, headings: str) -> Iterator[tuple[Pattern, str]]:
    for pattern in PATTERNS:
        match = pattern.regex.fullmatch(text)
        if match is None:
            continue
        groups = {name: value or "" for name, value in match.groupdict().items()}
        subject = groups.get("s") or groups.get("s2")
        if subject and not _subject_stands(subject):
            continue
        if subject and pattern.name in _BROAD and " " not in subject and subject not in headings:
            continue
        filled = pattern.rewrite({name: _lowered(value) for name, value in groups.items()})
        if filled is None:
            continue
        question = " ".join(pattern.template.format_map(dict(filled)).split()).replace(" ?", "?")
        if _stands_alone(pattern, question):
            yield pattern, question


def _stands_alone(pattern: Pattern, question: str) -> bool:
    """Tell whether a question points at nothing outside it and names something."""
    if _POINTERS.search(question) or _PRONOUN.search(question) or len(_WORDS.findall(question)) < 2:
        return False
    if pattern.name in ("wenn_sie", "wenn_passiert") and not _specific(question):
        return False
    return not any(noun.lower() in GENERIC_NOUNS for noun in _DEFINITE_NOUN.findall(question))


def _specific(question: str) -> bool:
    """Tell whether a name of code stands in a question, other than an acronym everybody uses."""
    return any(name not in COMMON_ACRONYMS for name in NAME.findall(question))


def _subject_stands(subject: str) -> bool:
    """Tell whether a subject is a noun phrase that names its thing without the page around it."""
    words = subject.split()
    if subject in ("Sie", "Man"):
        return True
    if words[0].lower() in NOT_SUBJECTS and words[0] not in ("Das",):
        return False
    if any(_FINITE.fullmatch(word) for word in words) or "und" in words or "oder" in words:
        return False
    noun = words[-1].strip("„“\"")
    if noun.lower() in GENERIC_NOUNS:
        return False
    if words[0].lower() in _ARTICLES:
        return len(words) > 1 and (len(noun) >= MIN_NOUN or NAME.search(subject) is not None or len(words) > 3)
    return noun[:1].isupper() or NAME.fullmatch(noun) is not None


def _lowered(value: str) -> str:
    """Lower an article that opened the sentence; German nouns keep their capital."""
    first, space, rest = value.partition(" ")
    return first.lower() + space + rest if first in _DETERMINERS - {"Sie", "Ihr", "Ihre"} else value
