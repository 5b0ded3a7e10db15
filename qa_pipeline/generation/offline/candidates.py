"""What is asked: headings that ask, statements, terms and keys. Answers are words of the passage."""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import NamedTuple

from qa_pipeline.generation.offline.passages import (
    Reading,
    Statement,
    Unit,
    folded,
    has,
    is_identifier,
    plain,
    sentences_of,
    words_of,
)
from qa_pipeline.records import Passage
from qa_pipeline.text.language import in_other_language
from qa_pipeline.text.lexicon.languages import LEXICONS, lexicon

MAX_QUESTION, MIN_ANSWER, MAX_ANSWER = 200, 40, 490
"""Characters; an answer of 500 that is most of its passage counts as a copy of it."""
MAX_SUBJECT, MAX_NAME, MAX_VALUE = 9, 6, 12
"""Words of what a statement is about, of a key or column, and of a value."""

_PAIR = re.compile(r"([^\W\d_][^:.!?|]{1,48}): (\S.{0,300})")
_TERM = re.compile(r"([^\s:!?|(][^:!?|]{0,50}?)(?:: | [–—-] )([^\W\d_].{14,460})")
_TORN = re.compile(
    r"\s[.,;](?:\s|$)|\(\s*\)(?<!\w\(\))|\\f[BIPR]|\b([^\W\d]{3,}) \1\b|[<>{}\ufffd]"
    r"|[^\W\d_]- (?!and|or|och|und|oder)[^\W\d_]"
)
"""What a picture, a link or a line's end left: "click on , then"; a heading that has run into its text."""
_SUBJECT = r"(?P<subject>[^\s,;:.!?()][^,;:!?()]{0,70}?)(?: \([^()]{1,60}\)){0,2}"
_SHALLOW = 3
"""Title and headings above a passage whose keys are those of what the title names."""
_ENDS = '.!?)”"»'
_BRACKETS = ("()", "[]", "“”", "«»")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that a passage answers; `quote` is `passage.text[start:end]`."""

    question: str
    answer: str
    quote: str
    start: int
    end: int


class _Found(NamedTuple):
    """A question whose answer is `text[start:end]`; `quoted` is where its quote begins, if earlier."""

    question: str
    start: int
    end: int
    is_named: bool = False
    quoted: int | None = None


def find(passage: Passage) -> Iterator[Candidate]:
    """Yield what the rules ask a passage, best kind first."""
    read = Reading(passage)
    words = [word for line in read.headings for word in folded(line)]
    little = {code: sum(word in grammar.stop_words for word in words) for code, grammar in LEXICONS.items()}
    is_aside = any(not read.words.aside.isdisjoint(folded(line)[:2]) for line in read.headings)
    if is_aside or little[passage.language] < max(little.values()):
        return
    for found in (found for kind in _KINDS for found in kind(read)):
        question = read.placed(found.question, is_named=found.is_named)
        answer = " ".join(read.text[found.start : found.end].split())
        if question and _is_well_formed(question, answer, passage.language):
            start = found.start if found.quoted is None else found.quoted
            yield Candidate(question, answer, read.text[start : found.end], start, found.end)


def _is_well_formed(question: str, answer: str, language: str) -> bool:
    return (
        len(question) <= MAX_QUESTION
        and 0 < len(answer) <= MAX_ANSWER
        and answer[-1] not in "?:,;…"
        and all(
            not _TORN.search(text)
            and all(text.count(pair[0]) == text.count(pair[1]) for pair in _BRACKETS)
            and text.count('"') % 2 == 0
            and in_other_language(text, language) is None
            for text in (question, answer)
        )
    )


def _asking_headings(read: Reading) -> Iterator[_Found]:
    """Ask the headings that are questions; the text below them answers."""
    for place, unit in enumerate(read.units):
        question = plain(unit.text)
        if unit.kind != "heading" or not _stands_alone(question, read):
            continue
        span = _answer_below(read.units[place + 1 :], read, is_how=has(question, read.words.how))
        if span and read.share_words(question, read.text[slice(*span)]):
            yield _Found(question, *span)


def _stands_alone(question: str, read: Reading) -> bool:
    """Return True if a heading is one question about a thing that it names, and no talk with its reader."""
    grammar, asked_words = read.grammar, folded(question)
    telling = {*asked_words} - grammar.stop_words - grammar.speakers - grammar.question_words
    return (
        question.endswith("?")
        and question.count("?") == 1
        and len(asked_words) > 2
        and question.count(". ") < 2
        and has(question, grammar.question_openers | grammar.finite_verbs | read.words.asking)
        and (len(telling) > 1 or bool(read.names_in(question)))
        and not read.leans(question)
        and asked_words[0] not in grammar.openings | grammar.proof.contrasts
        and asked_words[-1] not in grammar.deictic | grammar.definite
        and grammar.speakers.isdisjoint(asked_words)
    )


def _answer_below(units: Sequence[Unit], read: Reading, *, is_how: bool = False) -> tuple[int, int] | None:
    """Return the span of the whole paragraphs below a heading, up to a sentence that points elsewhere.

    None where `is_how` and the answer goes on in code or a list: half of the steps are no answer.
    """
    start = end = units[0].start if units else 0
    for unit in takewhile(lambda unit: unit.kind == "prose", units):
        sentences = sentences_of(unit, read.passage)
        said = list(takewhile(lambda sentence: not has(sentence.text, read.words.pointing), sentences))
        is_ended = unit.text[-1] in _ENDS
        if is_how and not is_ended:
            return None
        if not is_ended or not said or unit.end - start > MAX_ANSWER:
            break
        end = said[-1].end
        if len(said) < len(sentences):
            break
    is_dangling = has(read.text[start:end].partition(" ")[0], read.grammar.pronouns.demonstratives)
    return (start, end) if end - start >= MIN_ANSWER and not is_dangling else None


def _statements(read: Reading) -> Iterator[_Found]:
    """Ask what sentences say of a named subject: what it is or means, since when, and how much."""
    prose = (unit for unit in read.units if unit.kind == "prose")
    for sentence in (line for unit in prose for line in sentences_of(unit, read.passage)):
        for statement, pattern in _patterns(read.passage.language):
            match = pattern.fullmatch(sentence.text)
            if match is None or not match[0].endswith(".") or read.leans(match[0]):
                continue
            subject = _subject(match["subject"], statement, read)
            if subject and _is_telling(statement, match["rest"], read):
                question = statement.question.format_map({**match.groupdict(), "subject": subject})
                first, *others = folded(subject)
                is_apart = len(others) > 1 or not read.grammar.open_compounds
                is_class = first in read.grammar.indefinite and is_apart
                is_bare = first not in read.grammar.indefinite | read.grammar.definite
                defines = statement.then == "article" and (is_class or is_bare)
                is_named = defines or bool(statement.before)
                yield _Found(question, sentence.start, sentence.end, is_named)
                break


def _is_telling(statement: Statement, predicate: str, read: Reading) -> bool:
    """Return True if a predicate judges nothing and, in a definition, says what the thing does or is for."""
    is_weak = statement.then != "number" and not read.words.weak.isdisjoint(folded(predicate)[:2])
    defines = statement.then != "article" or any(mark in predicate for mark in read.words.purposes)
    return defines and not is_weak


@functools.cache
def _patterns(language: str) -> list[tuple[Statement, re.Pattern[str]]]:
    """Return the pattern of each kind of statement of a language."""
    grammar = lexicon(language)
    months, before = (
        _any_of(grammar.months),
        _any_of(grammar.prepositions | grammar.definite | grammar.year_leads),
    )
    date = rf"(?:{before} )+(?:\d{{1,2}}\.? )?(?:(?i:{months}) )?(?:\d{{1,2}}, )?(?:1[5-9]|20)\d\d\b"
    then = {
        "article": rf"(?P<rest>{_any_of(grammar.indefinite)} .{{25,}})",
        "clause": r"(?P<rest>.{15,})",
        "number": r"(?P<rest>(?:[^\W\d]\w* )?\d.*)",
        "done, then date": rf"(?P<done>\w+) (?P<rest>{date}.*)",
        "date, then done": rf"(?P<rest>{date}) (?P<done>\w+)\.",
        "passive, then date": rf"(?P<rest>{date}.*)",
    }
    patterns = []
    for statement in words_of(language).statements:
        is_passive = statement.then == "passive, then date"
        verb = r"(?P<done>\w+[dt]es)" if is_passive else f"(?P<verb>{_any_of(statement.verbs)})"
        opening = f"{statement.before} " if statement.before else ""
        patterns.append((statement, re.compile(f"{opening}{_SUBJECT} {verb} {then[statement.then]}")))
    return patterns


def _any_of(phrases: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(map(re.escape, phrases), key=len, reverse=True))})"


def _subject(written: str, statement: Statement, read: Reading) -> str | None:
    """Return a subject as a question has it; None unless it is a name, a heading or a class."""
    grammar, words, parts = read.grammar, read.words, folded(written)
    has_article = not (grammar.definite | grammar.indefinite).isdisjoint(parts[:1])
    inner = parts[has_article:]
    closed = grammar.finite_verbs | grammar.question_openers | grammar.conditional_words
    if (
        not inner
        or len(parts) > MAX_SUBJECT
        or not written[-1].isalnum()
        or inner[0] in grammar.stop_words | grammar.prepositions | words.weak
        or not (closed | grammar.infinitive_marks | grammar.joiners).isdisjoint(inner)
        or (statement.opening and parts[0] not in statement.opening)
    ):
        return None
    names, first = read.names_in(written), written.split()[has_article]
    is_name = inner[0] in names or read.writes_as_name(first) or (statement.then != "article" and bool(names))
    is_class = statement.then in ("article", "number") and parts[0] in grammar.indefinite
    if not (is_name or is_class or statement.before or read.is_headed(" ".join(inner))):
        return None
    is_capital = not any(word[0].islower() for word in written.split())
    return written if is_capital and not has_article else read.small(written)


def _terms(read: Reading) -> Iterator[_Found]:
    """Ask what the terms of a glossary mean."""
    words, units = read.words, read.units
    if not any(
        has(line, words.glossary) and words.glossary >= {*folded(line)} - read.names_in(line)
        for line in read.headings
    ):
        return
    if units and units[0].kind == "heading" and not has(units[0].text, words.glossary):
        term, span = plain(units[0].text), _answer_below(units[1:], read)
        if span and _is_nameable(term, read):
            yield _Found(words.meaning.format(term=term), *span, is_named=True)
    for unit, term, start in _keyed(units, _TERM, "item"):
        value = read.text[start : unit.end]
        if len(value.split()) > 3 and _is_nameable(term, read) and not read.leans(value):
            yield _Found(words.meaning.format(term=term), start, unit.end, is_named=True, quoted=unit.start)


def _keyed(units: Iterable[Unit], shape: re.Pattern[str], *kinds: str) -> Iterator[tuple[Unit, str, int]]:
    """Yield each unit of a run of keys and values, its key, and where in the passage the value begins.

    A key alone may be a sentence with a colon, and one that comes twice does not tell its value.
    """
    for kind, run in groupby(units, lambda unit: unit.kind):
        block = list(run)
        matches = [(unit, match) for unit in block if (match := shape.fullmatch(unit.text))]
        counts = Counter(match[1] for _, match in matches)
        if kind in kinds and len(matches) > 1 and 2 * len(matches) > len(block):
            for unit, match in matches:
                if counts[match[1]] == 1 and unit.end - unit.start == len(unit.text):
                    yield unit, match[1].strip("*` "), unit.start + match.start(2)


def _pairs(read: Reading) -> Iterator[_Found]:
    """Ask for the values of keys of a thing that the heading names: "Refrigerant: R290".

    The title names it for the first level of sections; deeper ones are about parts of it.
    """
    for heading in (read.headings[-1], read.label if len(read.headings) <= _SHALLOW else ""):
        parts = heading.split()
        while parts and parts[-1].lower() in read.generic:
            parts.pop()
        subject = " ".join(parts)
        if parts and parts[0].lower() in read.names_in(subject) and len(parts) <= MAX_NAME:
            for unit, key, start in _keyed(read.units, _PAIR, "prose", "item"):
                yield from _value(read, key, subject, unit, start, unit.end)
            return


def _value(read: Reading, key: str, subject: str, unit: Unit, start: int, end: int) -> Iterator[_Found]:
    """Ask for a value by its key, unless that is of several, and what has it."""
    value = read.text[start:end]
    if (
        _is_nameable(key, read)
        and key[0].isalpha()
        and not is_identifier(key)
        and not has(key, read.words.metadata)
        and not (read.words.plural and key.endswith(read.words.plural))
        and 0 < len(value.split()) <= MAX_VALUE
        and not read.leans(value)
        and not value.endswith(".")
        and not any(mark in value for mark in ("://", "@"))
    ):
        names = read.names_in(key)
        small = " ".join(word if word.lower() in names else read.small(word) for word in key.split())
        question = read.words.value.format(key=small, subject=subject)
        yield _Found(question, start, end, is_named=True, quoted=unit.start)


def _is_nameable(name: str, read: Reading) -> bool:
    """Return True if a key, term or name of a row can stand in a question and says of what it speaks."""
    parts = folded(name)
    return (
        0 < len(parts) <= MAX_NAME
        and len(name) > 1
        and any(map(str.isalpha, name))
        and not any(mark in name for mark in '"“”„«»[]{}=,:;?!&/+<>|')
        and parts[0] not in read.grammar.stop_words
        and not read.leans(name)
    )


_KINDS = (_asking_headings, _statements, _terms, _pairs)
