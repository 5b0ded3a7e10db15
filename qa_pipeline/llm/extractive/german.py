"""German: which sentences may answer, and which questions may be asked.

What belongs here: the order of work and the filters every German question passes. What does not: patterns
(`german_facts.py`, `german_clauses.py`) and word lists (`german_words.py`).

Two orders of words are safe to copy. A main clause is verb-second: subject + finite verb + rest turns into
question word + finite verb + subject + rest. A subordinate clause keeps its verb at the end, so a condition
can follow "Was passiert, wenn" as it stands, and "um … zu erhalten" gives "Wie kann man … erhalten?".
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from qa_pipeline.llm.extractive.candidates import Candidate
from qa_pipeline.llm.extractive.german_clauses import CONDITIONS, HOW_TO, REASONS
from qa_pipeline.llm.extractive.german_facts import DEFINITIONS, FIGURES, RELATIONS
from qa_pipeline.llm.extractive.german_words import (
    ANSWER_POINTERS,
    COMMON_ACRONYMS,
    FINITE,
    GENERIC_NOUNS,
    IDENTIFIER,
    NOT_SUBJECTS,
    POINTERS,
    PRONOUN,
)
from qa_pipeline.llm.extractive.patterns import Pattern, candidate, readable, words
from qa_pipeline.llm.extractive.prose import Sentence, sentences
from qa_pipeline.records import Passage

MIN_NOUN = 11
"""Letters of a noun that with its article alone is specific enough: a compound, as a rule."""
MIN_FIGURE_NOUN = 7
"""The same where a question asks for a figure, a date or a definition, which belong to one thing."""

MIN_NAME = 6
"""Letters of a lone word that may be a name though it looks like any noun."""

PATTERNS = (*DEFINITIONS, *HOW_TO, *RELATIONS, *FIGURES, *REASONS, *CONDITIONS)
NAME = re.compile(rf"(?<![\w-]){IDENTIFIER}(?![\w])")
"""A name of code somewhere in a phrase."""

_POINTERS = re.compile(POINTERS)
_PRONOUN = re.compile(PRONOUN)
_ANSWER_POINTERS = re.compile(ANSWER_POINTERS, re.IGNORECASE)
_FINITE = re.compile(FINITE)
_ARTICLES = ("der", "die", "das", "den", "dem", "des")
_DETERMINERS = words("Ein Eine Einen Einem Einer Der Die Das Den Dem Des Alle Ihre Ihr Sie Man")
_DEFINITE_NOUN = re.compile(
    r"\b(?:der|die|das|den|dem|des|im|am|zum|zur|vom|beim|Der|Die|Das) (?:[a-zäöüß]+ "
    r")?([A-ZÄÖÜ][\wäöüß-]*)(?= [a-zäöüß]+\b(?![._])|\?|$)"
)
_INTRODUCED = re.compile(
    r"\bwenn Sie (?:[^,]* )?(?:ein|eine|einen|kein|keine|keinen) (?:[a-zäöüß]+ )?[A-ZÄÖÜ][\w-]{12,}"
)
_CODE = re.compile(r"[{}\[\]=\\|]|->|::|\.\.\.|…|\(\)\.|https?:|^\W")
_TERM = re.compile(
    r"(?P<s>[A-ZÄÖÜa-z_][^.:;?!\[\]]{1,60}?)(?: \[[^\]]{1,60}\])?(?P<k> \([A-Z][\w-]{1,10}\))?: "
    r"(?P<a>(?:\([^)]{3,60}\) )?[A-ZÄÖÜ].{20,})\."
)
_GLOSSARY = re.compile(r"Definition|Glossar|Begriff")
_MEANS = Pattern("glossar", _TERM, "Was bedeutet „{s}“?", "definition", 0.9)
_CLAUSES = (*HOW_TO, *CONDITIONS, *(pattern for pattern in REASONS if pattern.name == "da_zuerst"))
"""Rules whose question has no subject but the reader, so that only its other words say what it is about."""
_NOUN = re.compile(r"[A-ZÄÖÜ][a-zäöüß]{4,}")
_BROAD = words(
    "enthält ermöglicht benötigt basiert_auf gibt_zurück befindet dient wird_für_verwendet stammt_von ist_der"
)
"""Rules whose question has many answers for a product every page is about; a bare name is not asked about."""


def find(passage: Passage) -> list[Candidate]:
    """Return every question the German rules find, in the order of the text."""
    glossary = any(_GLOSSARY.search(heading) for heading in passage.section_path)
    topics = " ".join((passage.title, *passage.section_path))
    found: list[Candidate] = []
    for read in sentences(passage):
        sentence = _closed(read)
        if not readable(sentence) or _CODE.search(sentence.text):
            continue
        verbatim = passage.text[sentence.start : sentence.end]
        asked = _term(sentence) if glossary else None
        if asked is not None:
            found.append(candidate(sentence, verbatim, asked, _MEANS))
        elif _answers_alone(sentence.text):
            asked_of = _questions(sentence.text)
            found += [
                candidate(sentence, verbatim, question, pattern)
                for pattern, question in asked_of
                if (read is sentence or pattern in HOW_TO) and _on_topic(pattern, question, topics)
            ]
    return found


def _closed(sentence: Sentence) -> Sentence:
    """End a sentence that leads to code with a full stop, where it already names what to use."""
    text = sentence.text
    if not text.endswith(":") or not _specific(text[text.find(", ") + 1 :]):
        return sentence
    return replace(sentence, text=text[:-1] + ".", end=sentence.end - 1)


def _term(sentence: Sentence) -> str | None:
    """Ask for the meaning of a glossary's entry."""
    if not (sentence.in_list and sentence.first):
        return None
    return _MEANS.ask(sentence.text)


def _answers_alone(text: str) -> bool:
    """Tell whether a sentence is understood without the one before it."""
    return _ANSWER_POINTERS.search(text) is None


def _questions(text: str) -> Iterator[tuple[Pattern, str]]:
    for pattern in PATTERNS:
        match = pattern.regex.fullmatch(text)
        if match is None:
            continue
        groups = {name: value or "" for name, value in match.groupdict().items()}
        subject = groups.get("s") or groups.get("s2")
        least = MIN_FIGURE_NOUN if pattern in FIGURES or pattern.name == "ist_ein" else MIN_NOUN
        if subject and not (
            _subject_stands(subject, least) or (subject in ("Sie", "Man") and pattern in REASONS)
        ):
            continue
        if subject and " " not in subject and (pattern.name in _BROAD or _common(subject)):
            continue
        filled = pattern.rewrite({name: _lowered(value) for name, value in groups.items()})
        if filled is None:
            continue
        question = " ".join(pattern.template.format_map(dict(filled)).split()).replace(" ?", "?")
        if _stands_alone(pattern, question):
            yield pattern, question


def _stands_alone(pattern: Pattern, question: str) -> bool:
    """Tell whether a question points at nothing outside it and names something."""
    if (
        " - " in question
        or _POINTERS.search(question)
        or _PRONOUN.search(question)
        or len(question.split()) < 3
    ):
        return False
    if pattern.name in ("wenn_sie", "wenn_passiert") and not _specific(question):
        return False
    return not any(noun.lower() in GENERIC_NOUNS for noun in _DEFINITE_NOUN.findall(question))


def _on_topic(pattern: Pattern, question: str, topics: str) -> bool:
    """Tell whether a question for a way, a reason or a consequence names its topic.

    "Wie kann man einen JSON-Body übergeben?" has another answer on another page. It stands alone only if
    it says what the page is about: a noun of the headings, or a name of code.
    """
    if pattern not in _CLAUSES or (pattern.name != "wenn_sie" and _specific(question)):
        return True
    folded, headed = question.casefold(), topics.casefold()
    return any(noun[:6].casefold() in headed for noun in _NOUN.findall(question.partition(" ")[2])) or any(
        noun[:5].casefold() in folded for noun in _NOUN.findall(topics)
    )


def _specific(question: str) -> bool:
    """Tell whether a question names a thing of code, or introduces one: "einen Exceptionhandler"."""
    named = any(name.split("-")[0] not in COMMON_ACRONYMS for name in NAME.findall(question))
    return named or _INTRODUCED.search(question) is not None


def _common(word: str) -> bool:
    """Tell a short everyday word ("Form") from a name that can be asked for alone."""
    return len(word) < MIN_NAME and NAME.fullmatch(word) is None


def _subject_stands(subject: str, least: int) -> bool:
    """Tell whether a subject is a noun phrase that names its thing without the page around it."""
    words = subject.split()
    if words[0].lower() in NOT_SUBJECTS and words[0] != "Das":
        return False
    if any(_FINITE.fullmatch(word) for word in words) or "und" in words or "oder" in words:
        return False
    noun = words[-1].strip('„“"')
    if noun.lower() in GENERIC_NOUNS:
        return False
    if (
        words[0] in _DETERMINERS
        and len(words) == 3
        and words[1].endswith(("e", "en"))
        and NAME.fullmatch(noun)
    ):
        return False
    if words[0].lower() in _ARTICLES:
        return len(words) > 1 and (len(noun) >= least or NAME.search(subject) is not None or len(words) > 3)
    return noun[:1].isupper() or NAME.fullmatch(noun) is not None


def _lowered(value: str) -> str:
    """Lower an article that opened the sentence; German nouns keep their capital."""
    first, space, rest = value.partition(" ")
    return first.lower() + space + rest if first in _DETERMINERS - {"Sie", "Ihr", "Ihre"} else value
