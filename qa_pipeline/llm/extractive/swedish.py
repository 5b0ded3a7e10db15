"""Swedish: which sentences may answer, which questions may be asked, and how a provision names its statute.

What belongs here: the order of work and the filters every Swedish question passes. What does not: patterns
(`swedish_*.py`) and word lists (`swedish_words.py`).

Swedish is a verb-second language: subject + finite verb + rest turns into question word + finite verb +
subject + rest, so a pattern that finds the finite verb with certainty asks grammatically by construction.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from qa_pipeline.llm.extractive.candidates import Candidate
from qa_pipeline.llm.extractive.patterns import Pattern, candidate, lowered, readable, words
from qa_pipeline.llm.extractive.prose import Sentence, sentences
from qa_pipeline.llm.extractive.swedish_agents import AGENTS, PASSIVE, PLACES
from qa_pipeline.llm.extractive.swedish_conditions import CONDITIONS, DEMANDS
from qa_pipeline.llm.extractive.swedish_definitions import DEFINITIONS, SCOPE
from qa_pipeline.llm.extractive.swedish_figures import FIGURES, TIMES
from qa_pipeline.llm.extractive.swedish_statutes import Statute, opens_with_itself, statute_of
from qa_pipeline.llm.extractive.swedish_terms import find_terms
from qa_pipeline.llm.extractive.swedish_words import (
    ANSWER_POINTERS,
    CONTEXTUAL,
    FINITE,
    MODAL,
    NOT_SUBJECTS,
    POINTERS,
    PRONOUN,
    VERB_FIRST,
)
from qa_pipeline.records import Passage

MIN_SUBJECT = 7
"""Letters of a lone definite noun that is specific enough outside a statute."""

PATTERNS = (*DEFINITIONS, *AGENTS, *PLACES, *TIMES, *FIGURES, *DEMANDS, *CONDITIONS)
"""Every rule for sentences whose subject is not the statute itself."""

_POINTERS = re.compile(POINTERS, re.IGNORECASE)
_PRONOUN = re.compile(PRONOUN)
_ANSWER_POINTERS = re.compile(ANSWER_POINTERS, re.IGNORECASE)
_SUCH = re.compile(r"\bsåda(?:n|nt|na)\b", re.IGNORECASE)
_FINITE = re.compile(f"{FINITE}|{MODAL}|{PASSIVE}|åligger|tillkommer|avser|beslutar|meddelar|äger|utses|leds")
_VERB_LIKE = re.compile(r"\w+(?:ar|er|ör|as|es|ts|ds|ns|ås|de|dde|te)|är|har|kan|får|ska|skall|ges|fått|gett")
_ASKING = words("vad hur huruvida varigenom varvid vilken vilket vilka")
_OPEN_ENDS = NOT_SUBJECTS | words("som inte samt respektive ha vara skall ska får kan bör")
_DEFINITE = re.compile(r"[a-zåäö]+(?:en|et|an|na|ns|ets|n)", re.IGNORECASE)
_ENTRY = re.compile(r"^(?:#+ |- )?(\d{4}:\d{1,5})$", re.MULTILINE)
_IN_FORCE = re.compile(
    r"(?:\d{1,2}\. )?Denna (?P<kind>lag|förordning|kungörelse) träder i kraft (?P<a>[^:]{8,})\."
)
_KINDS = {"lag": "lagen", "förordning": "förordningen", "kungörelse": "kungörelsen"}
_STARTS = Pattern("ikraft", _IN_FORCE, "När träder {kind} i kraft?", "date", 0.6)
_NUMBERED = re.compile(r"\d{1,2}\. ")
_OFFICES = ("Myndigheten", "Nämnden", "Styrelsen", "Rådet", "Verket", "Institutet")
_CONTENTS = ("bestämmelser_om", "finns_bestämmelser")
"""Rules not worth asking where the title already says what the statute is about."""
_DEFINING = ("avses", "uttryck")
_PENALTIES = ("straff_den_som", "till_straff_döms")
_PARAGRAPH = re.compile(r"\b(?:\d{1,3}(?: [a-z])?(?:,| och| eller)? ?){1,4}§§?")
"""A penalty is laid down for breaking a paragraph; the question names the statute, so the number stands."""


def find(passage: Passage) -> list[Candidate]:
    """Return every question the Swedish rules find, in the order of the text."""
    statute = statute_of(passage)
    names = _names(passage)
    if any(heading.startswith("Övergångs") for heading in passage.section_path):
        return _entries_into_force(passage)
    found = find_terms(passage, statute)
    for sentence in map(_unnumbered, sentences(passage)):
        if readable(sentence) and _answers_alone(sentence.text):
            found += _asked(sentence, passage, statute, names)
    return found


def _answers_alone(text: str) -> bool:
    """Tell whether a sentence is understood without the one before it."""
    such = _SUCH.search(text) is not None and " som " not in text
    return not such and _ANSWER_POINTERS.search(text) is None


def _unnumbered(sentence: Sentence) -> Sentence:
    """Leave out the number of a numbered paragraph."""
    number = _NUMBERED.match(sentence.text)
    if number is None:
        return sentence
    return replace(sentence, text=sentence.text[number.end() :], start=sentence.start + number.end())


def _asked(
    sentence: Sentence, passage: Passage, statute: Statute | None, names: frozenset[str]
) -> Iterator[Candidate]:
    verbatim = passage.text[sentence.start : sentence.end]
    for pattern, question in _questions(sentence.text, statute, names):
        yield candidate(sentence, verbatim, question, pattern)


def _questions(text: str, statute: Statute | None, names: frozenset[str]) -> Iterator[tuple[Pattern, str]]:
    if statute is not None and opens_with_itself(text):
        yield from _scoped(text, statute)
        return
    for pattern in PATTERNS:
        question = _standalone(pattern, text, statute, names)
        if question is not None:
            yield pattern, question


def _entries_into_force(passage: Passage) -> list[Candidate]:
    """Ask when each amending act takes effect.

    Nothing else of transitional provisions is asked: their "denna lag" is the amending act, not the statute.
    """
    found: list[Candidate] = []
    for sentence in map(_unnumbered, sentences(passage)):
        match = _IN_FORCE.fullmatch(sentence.text)
        entry = _entry_before(passage.text, sentence.start)
        if match and entry:
            question = f"När träder {_KINDS[match['kind']]} ({entry}) i kraft?"
            verbatim = passage.text[sentence.start : sentence.end]
            found.append(candidate(sentence, verbatim, question, _STARTS))
    return found


def _scoped(text: str, statute: Statute) -> Iterator[tuple[Pattern, str]]:
    """Ask about a sentence whose subject is the statute itself."""
    for pattern in SCOPE:
        match = pattern.regex.fullmatch(text)
        told = match is not None and pattern.name in _CONTENTS and statute.about
        if match is not None and not told:
            groups = {name: value or "" for name, value in match.groupdict().items()}
            yield pattern, pattern.template.format_map({**groups, "self": statute.name}).replace("  ", " ")


def _standalone(pattern: Pattern, text: str, statute: Statute | None, names: frozenset[str]) -> str | None:
    """Fill a pattern and name the statute; None when the question would not stand on its own."""
    match = pattern.regex.fullmatch(text)
    if match is None or not _subject_stands(match.groupdict().get("s"), statute):
        return None
    if not _context_free(pattern.name, match.groupdict()):
        return None
    groups = pattern.rewrite(
        {name: _settled(name, value or "", names) for name, value in match.groupdict().items()}
    )
    if groups is None:
        return None
    question = " ".join(pattern.template.format_map(dict(groups)).split()).replace(" ?", "?")
    named = statute.named_in(question) if statute else question
    body = (
        question if statute is None else re.sub(r"\b[Dd]enna (?:lag|förordning|kungörelse)\b", "", question)
    )
    if statute is not None and pattern.name in _PENALTIES:
        body = _PARAGRAPH.sub("", body)
    if statute is not None and statute.bare and (pattern.name == "om_först" or _leans(body)):
        return None
    if _POINTERS.search(body) or _PRONOUN.search(body) or len(body.split()) < 3:
        return None
    if statute is None or named != question or statute.known_from(question):
        return named
    joint = "" if question.endswith("§?") else "i " if pattern.name in _DEFINING else "enligt "
    return f"{question[:-1]} {joint}{statute.name}?"


def _settled(name: str, value: str, names: frozenset[str]) -> str:
    """Lower the word that opened the sentence where a template moves it inside."""
    if name not in ("s", "f", "x"):
        return value
    return value[:1].lower() + value[1:] if value in _OFFICES else lowered(value, names)


def _context_free(name: str, groups: dict[str, str | None]) -> bool:
    """Tell whether a fronted phrase or condition is one clause about nothing the page must supply."""
    front, condition = groups.get("f") or "", (groups.get("c") or "") if name == "om_först" else ""
    parts = f"{front} {condition}".lower().split()
    if any(word == "undantag" or (word in CONTEXTUAL and _DEFINITE.fullmatch(word)) for word in parts):
        return False
    return not front or _one_clause(front.split())


def _leans(body: str) -> bool:
    """Tell whether a question holds a definite noun that only the statute's subject could explain."""
    return any(word in CONTEXTUAL and _DEFINITE.fullmatch(word) for word in body.lower().rstrip("?").split())


def _subject_stands(subject: str | None, statute: Statute | None) -> bool:
    """Tell whether a subject names its thing without the page around it."""
    if subject is None:
        return True
    words = subject.split()
    first = words[0].lower()
    if first in VERB_FIRST or not _one_clause(words):
        return False
    if first in NOT_SUBJECTS and not subject.lower().startswith(("den som ", "de som ")):
        return False
    if first in CONTEXTUAL and (len(words) == 1 or _DEFINITE.fullmatch(words[0])):
        return False
    if first in ("en", "ett", "varje") and len(words) == 2 and words[1].lower() in CONTEXTUAL:
        return False
    if len(words) > 1 or not _DEFINITE.fullmatch(subject):
        return True
    return statute is not None or len(subject) >= MIN_SUBJECT


def _one_clause(words: list[str]) -> bool:
    """Tell whether words are a noun phrase: no finite verb but that of a finished relative clause."""
    if words[-1].lower() in _OPEN_ENDS:
        return False
    if _ASKING.intersection(words):
        return False
    if "som" not in words:
        return not any(_FINITE.fullmatch(word) for word in words)
    relative = words.index("som")
    return not any(_FINITE.fullmatch(word) for word in words[:relative]) and any(
        _VERB_LIKE.fullmatch(word) for word in words[relative + 1 :]
    )


def _names(passage: Passage) -> frozenset[str]:
    """Words that keep their capital inside sentences: names, as far as the passage shows."""
    around = "\n".join((passage.title, *passage.section_path, passage.text))
    return frozenset(re.findall(r"(?<=[a-zåäö,] )[A-ZÅÄÖ][a-zåäöé-]+", around))


def _entry_before(text: str, position: int) -> str | None:
    """Number of the amending act whose transitional provisions a sentence belongs to."""
    entries = [match[1] for match in _ENTRY.finditer(text, 0, position)]
    return entries[-1] if entries else None
