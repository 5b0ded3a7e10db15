"""Which English noun phrases name one thing, and what a question must add where they do not.

What belongs here: subjects of sentences and the document or section they belong to. What does not: tests
of whole sentences (`english_filters.py`), patterns that ask something.
"""

import re

from qa_pipeline.llm.extractive.english_filters import IDENTIFIER, anchored, is_identifier, standalone_words
from qa_pipeline.llm.extractive.english_words import (
    DETERMINERS,
    GENERIC_NOUNS,
    POINTERS,
    PRONOUNS,
    WORKS,
    one_of,
)
from qa_pipeline.llm.extractive.headings import product_of, subject_of
from qa_pipeline.llm.extractive.phrases import ENGLISH
from qa_pipeline.records import Passage

_CLAUSE = re.compile(
    r"\b(?:that|which|who|whose|if|when|where|while|because|as|is|are|was|were|has|have|can|will|must|should|"
    r"not|you|it|to|with|by|using|do|does|be|been|may|might|also|only|from|than|then|so|but|and|or)\b"
)
_NAME = rf"(?:{IDENTIFIER}|[A-Z][\w-]*[\w+#])"
_NAME_PHRASE = re.compile(rf"{_NAME}(?: [\w/-]+){{0,4}}")
_THE_PHRASE = re.compile(rf"(?:[a-z][\w/-]* ){{0,5}}?{_NAME}(?: [\w/-]+){{0,3}}")
_GERUND = re.compile(r"[A-Z][a-z]{2,}ing [\w @/.-]{3,50}")
_INDEFINITE = re.compile(r"An? (?:[a-z][\w-]+ ){0,3}[a-z][\w-]+")
_NUMBERED = re.compile(
    one_of("Chapter, Section, Lesson, Module, Unit, Lab, Part, Step, Figure, Table, Day, Week, Option, Type")
    + r"s? [\dA-Z]"
)
_LOOSE_ACRONYM = re.compile(r"[A-Z]{2,4} [a-z]")
_BARE_ACRONYM = re.compile(r"[a-z].* [A-Z]{2,4}s?")
_DEFINITE = re.compile(r"(?:The|Each|Every) ((?:[a-z][\w-]+ ){0,2})([a-z][\w-]+)")
_MODIFIERS = frozenset(
    (
        "training", "learning", "online", "virtual", "main", "educational", "open", "complete",
        "whole", "entire", "full", "new", "presented", "proposed", "companion", "accompanying",
        "interactive", "provided", "teaching", "supplementary", "target", "code", "software",
        "practical", "hands-on", "resulting", "animation", "lab",
    )
)  # fmt: skip
"""Words that may stand before "course" without making it another course."""
_SHORT_TITLE = re.compile(r"((?:[A-Z]{2}\w*|[A-Z][a-z]+[A-Z]\w*)(?: [A-Z][\w-]*){0,2})(?: \([^()]+\))?")
_ORDINALS = frozenset(("first", "second", "third", "fourth", "last", "only", "current"))
_WORD = re.compile(r"[\w-]+")
_TITLE = re.compile(r"(?=.*[a-z])[\w(][^\"“”?]{8,95}")


def named(text: str, passage: Passage, *, broad: bool) -> bool:
    """Tell whether a sentence's subject is a noun phrase that names one thing.

    Args:
        text: the words before the verb.
        passage: where the sentence stands.
        broad: the question would have many answers for a product that every page is about, so a bare
            name must be what the section is about.
    """
    if lead(text, passage) is not None:
        return True
    if _CLAUSE.search(text) or not standalone_words(text):
        return False
    last = text.split()[-1]
    if last.endswith(("ly", "ing", "ed")) or last in ("now", "already", "still", "also", "PEP", "API", "RFC"):
        return False
    if _GERUND.fullmatch(text):
        return anchored(text) and not broad
    if _INDEFINITE.fullmatch(text):
        return last.casefold() not in GENERIC_NOUNS
    name = text.removeprefix("The ")
    if _NUMBERED.match(name) or _LOOSE_ACRONYM.match(text):
        return False
    if broad and (topic(passage) or "\n") in name:
        return False
    if name != text:
        return _THE_PHRASE.fullmatch(name) is not None and not _BARE_ACRONYM.fullmatch(name)
    return _NAME_PHRASE.fullmatch(name) is not None and _proper(name, passage, broad=broad)


def _proper(name: str, passage: Passage, *, broad: bool) -> bool:
    """Tell whether a phrase without article opens with a name, and a bare one is specific enough."""
    first = name.split()[0]
    keeps_capital = re.search(rf"[a-z,] {re.escape(first)}\b", passage.text) is not None
    if not (is_identifier(first) or keeps_capital):
        return False
    return first != name or not broad or (is_identifier(name) and name in heading(passage))


def heading(passage: Passage) -> str:
    """Return the innermost heading on one line without code marks, "" when there is none."""
    return " ".join(passage.section_path[-1].replace("`", "").split()) if passage.section_path else ""


def lead(subject: str, passage: Passage, *, any_noun: bool = False) -> str | None:
    """Return the words that say which document "the course" belongs to; None when none can.

    The document's own title names it; a title that is a file name or a single word does not.

    Args:
        subject: a noun phrase that begins with "The", "Each" or "Every".
        passage: its title is the document's.
        any_noun: also lead a noun that is no word for a whole work.
    """
    match = _DEFINITE.fullmatch(subject)
    if match is None or topic(passage) is not None:
        return None
    modifiers = set(match[1].split())
    own = _MODIFIERS | set(_WORD.findall(passage.title.casefold()))
    if modifiers & _ORDINALS or (not any_noun and (match[2] not in WORKS or modifiers - own)):
        return None
    words = subject.casefold().split()[1:]
    if _CLAUSE.search(subject) or not PRONOUNS.isdisjoint(words) or not POINTERS.isdisjoint(words):
        return None
    title = " ".join(passage.title.split())
    good = _TITLE.fullmatch(title) and len(title.split()) >= 3 and "." not in title.rstrip(".")
    return f'In "{title}", ' if good else None


def asked(question: str, subject: str, passage: Passage, *, any_noun: bool = False) -> str:
    """Put the document's title before a question whose subject needs it."""
    words = lead(subject, passage, any_noun=any_noun)
    return words + question[0].lower() + question[1:] if words else question


def topic(passage: Passage) -> str | None:
    """Return the named thing a passage is about: its heading's subject, else a name that is its title.

    Titles such as "Module mod_form", "rotate - Rotate logs" and "HTTP Basic Auth" are names.
    """
    subject = subject_of(passage, ENGLISH)
    if subject is not None:
        return subject.subject
    name, dash, _ = passage.title.partition(" - ")
    if dash and name.islower() and name.isalnum():
        return name
    names = [word for word in passage.title.split() if "_" in word and is_identifier(word)]
    if len(names) == 1:
        return names[0]
    short = _SHORT_TITLE.fullmatch(passage.title)
    return short[1] if short else None


def product(passage: Passage) -> str | None:
    """Return the product a whole document is about, as its title names it."""
    subject = product_of(passage, ENGLISH)
    return subject.subject if subject else None


def settled(question: str, passage: Passage) -> str | None:
    """Tie a question that names nothing to what its passage is about; None when nothing is known of that.

    A question without a name and without "the" speaks of things in general and may stand as it is.
    """
    known = topic(passage) or product(passage)
    if anchored(question) or (known is not None and known in question):
        return question
    if known is not None:
        return about(known, question)
    return None if " the " in question.removeprefix("What is the ") else question


def about(topic_name: str, question: str) -> str:
    """Say before a question what it is about: "With mod_form, what happens if …?"."""
    return f"With {topic_name}, {question[0].lower()}{question[1:]}" if topic_name else question


def decapitalised(text: str, passage: Passage) -> str:
    """Undo the capital a word only has because it opens a sentence.

    A word is lowered when it is a determiner, a plural or gerund that never keeps its capital, or stands in
    the passage's sentences more often in lower case than with its capital.
    """
    first = text.split(" ", 1)[0]
    if is_identifier(first) or not first[:1].isupper():
        return text
    lowered = first[0].lower() + first[1:]
    plural = first.endswith(("s", "ing")) and not _count(first, passage)
    common = plural or lowered in DETERMINERS or _count(lowered, passage) > _count(first, passage)
    return lowered + text[len(first) :] if common else text


def _count(word: str, passage: Passage) -> int:
    """Count a word inside sentences, where only a name keeps its capital."""
    return len(re.findall(rf"(?<=[a-z,] ){re.escape(word)}(?![\w.-]\w)", passage.text))
