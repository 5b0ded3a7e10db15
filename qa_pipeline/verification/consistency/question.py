"""Binding of evidence to its question: the same things must be spoken of, in the same roles.

A proved sentence is no answer to a question about its neighbour, and none where the question turns it round:
"The teacher signs the report of the student" does not say who signs the report of the teacher.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qa_pipeline.text.language import QUOTED
from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.consistency.allowed import Unit, units
from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.consistency.roles import (
    case_of,
    count_moves,
    preposition_before,
    shared_places,
)

_BETWEEN = "\x1f"
_SHORTEST_PART = 4
"""Letters of a word that is looked for in compounds: Jahr in Jahresgebühr."""
_IDENTIFIER = re.compile(r"[^\W\d_A-ZÅÄÖÜ][A-ZÅÄÖÜ]")
_PARTS = re.compile(r"[A-ZÅÄÖÜ]+(?![^\W\d_A-ZÅÄÖÜ])|[A-ZÅÄÖÜ]?[^\W_A-ZÅÄÖÜ]+|[^\W_]")
"""The parts of CamelCase: runs of capitals, and words with or without a capital in front."""
_UNSEEN = "[\u00ad\u200b-\u200d\u2060\ufeff]*"
"""Soft hyphens and other characters that show nothing."""


def unanswered(
    answer: Reading,
    evidence: Reading,
    question: Reading,
    headings: Reading,
    introduction: str = "",
    *,
    is_row: bool = False,
) -> Iterator[str]:
    """Yield what of a question neither answer nor evidence has, and the roles that it turns round.

    Args:
        answer: all of the answer.
        evidence: what was matched with the claim: sentences and clauses left out are not in it.
        question: what the claim answers; empty where there is none.
        headings: the title and the headings that the evidence is under, a line each.
        introduction: the term of the evidence's line and the lead-ins of its lists, a line each.
        is_row: whether the evidence is a table row, whose words have no roles.
    """
    if question.words:
        spoken = (answer, evidence, read(introduction, evidence.language))
        yield from _absent(question, spoken, headings)
        yield from _scattered(question, spoken, headings)
        if not is_row:
            yield from _turned(question, evidence, headings)


def _absent(question: Reading, spoken: Sequence[Reading], headings: Reading) -> Iterator[str]:
    """Yield words of the question that neither answer, evidence nor headings have: it may be of another one.

    Headings may narrow, and have all that a question says that quotes the name of a place. Of any other
    question the rest must have a word, unless the evidence begins with a pronoun, whose antecedent is checked
    elsewhere.
    """
    vocabulary, evidence = lexicon(question.language), spoken[1]
    question_units = units(question)
    near = "".join(map(_line, spoken))
    far = near + _line(headings)
    measured = {number.unit.dimension for number in evidence.numbers if number.unit}
    names_place = QUOTED.search(question.text) is not None
    content_units: list[Unit] = []
    before = ""
    for unit in question_units:
        plain = (
            unit.folded in vocabulary.question_words
            or unit.folded in vocabulary.question_openers
            or before in vocabulary.degree_words
        )
        plain = plain or bool(measured.intersection(vocabulary.measures.get(unit.folded, ())))
        before = unit.folded
        if not unit.content or plain:
            continue
        if unit.key[0] not in "#@":  # "What does § 12 provide?" names a place, too
            content_units.append(unit)
        word = _written(unit, question)
        readings = (*spoken, headings)
        if not _speaks_of(far, unit.key) and not any(_has_identifier(text.text, word) for text in readings):
            yield f'the question\'s "{word}" is not in the evidence'
    leans = bool(evidence.words) and evidence.words[0].folded in vocabulary.subject_pronouns
    if (
        content_units
        and not names_place
        and not leans
        and not any(_speaks_of(near, unit.key) for unit in content_units)
    ):
        words = [_written(unit, question) for unit in content_units]
        if not any(_has_identifier(text.text, word) for word in words for text in spoken):
            yield f'only a heading has the question\'s "{words[0]}"'
    scope = {unit.folded for unit in question_units} & (vocabulary.negations | vocabulary.exclusive)
    if scope - {unit.folded for reading in (*spoken, headings) for unit in units(reading)}:
        yield "question and evidence differ in a negation"


def _scattered(question: Reading, spoken: Sequence[Reading], headings: Reading) -> Iterator[str]:
    """Yield the names that a question quotes and that no heading, term or sentence has as a whole.

    "What is stated under “Status”?" names a key, which must stand before a colon.
    """
    language = question.language
    _, evidence, introduction = spoken
    lines = [*headings.text.split("\n"), *introduction.text.split("\n")]
    spoken_lines = [_line(read(line, language)) for line in lines if line] + [
        _line(text) for text in spoken[:2]
    ]
    for match in QUOTED.finditer(question.text):
        keys = [unit.key for unit in units(read(match[0][1:-1], language)) if unit.content]
        if len(keys) > 1 and not any(all(_speaks_of(line, key) for key in keys) for line in spoken_lines):
            yield f"nothing has {match[0]} as a whole"
    key_question = _key_asked(language).fullmatch(question.text.strip())
    if key_question:
        key = key_question["key"].casefold()
        terms = [line.casefold() for line in lines]
        if key not in terms and f"{key}:" not in evidence.text.casefold():
            yield f'the evidence is not stated under "{key_question["key"]}"'


@functools.cache
def _key_asked(language: str) -> re.Pattern[str]:
    """Return the pattern of a question of this package for what stands behind a key and a colon."""
    template = re.escape(lexicon(language).wording.key_value)
    quote = '[“”„"«»]'
    return re.compile(
        template.replace(re.escape("{place}"), ".+").replace(
            re.escape("{key}"), f'{quote}(?P<key>[^“”„"«»]+){quote}'
        )
    )


def _turned(question: Reading, evidence: Reading, headings: Reading) -> Iterator[str]:
    """Yield the words that have another role in the question than in the evidence, names of places left out.

    Compared are words that each text has once: the preposition or case they stand in, and the order of those
    that have none. Which of two words the verb is, is not known, so that languages whose questions turn
    subject and verb round are read without one word, whichever lets the rest agree.
    """
    vocabulary = lexicon(question.language)
    question_units = units(read(_unplaced(question, headings), question.language))
    if not question_units or not evidence.sentences:
        return
    sentence = max(
        (read(evidence.text[slice(*span)], evidence.language) for span in evidence.sentences),
        key=lambda reading: len(
            {unit.key for unit in units(reading)} & {unit.key for unit in question_units}
        ),
    )
    sentence_units = units(sentence)
    if _asks_what_belongs(question_units, vocabulary) and not _has_genitive(sentence_units, vocabulary):
        return
    passive_words = vocabulary.passive_agents | vocabulary.passive_words
    is_passive = [
        any(unit.folded in passive_words for unit in text) for text in (question_units, sentence_units)
    ]
    passive = is_passive[0] != is_passive[1]
    subject = question_units[0].folded in vocabulary.subject_askers
    # "How long is the wait at the valve?" turns "wait … at" into a noun; "Who is located at …?" does not
    is_noun = any(
        unit.folded in vocabulary.copulas and following.article
        for unit, following in pairwise(question_units[:4])
    )
    fixed = {vocabulary.of_word} | vocabulary.comparing | vocabulary.passive_agents
    phrase = 0 if subject else _length_of_asked(question_units, vocabulary)
    bare: list[tuple[int, Unit]] = []
    for place, there in shared_places(question_units, sentence_units, vocabulary):
        unit = question_units[place]
        if place < phrase or unit.folded.endswith(vocabulary.verbal_nouns or "\0"):
            continue
        role, other = _role(question_units, place, vocabulary), _role(sentence_units, there, vocabulary)
        if role is None or other is None or (is_noun and role.preposition and role.preposition not in fixed):
            continue
        agent = passive and role.preposition in vocabulary.passive_agents and there == _first(sentence_units)
        if not agent and not role.agrees(other):
            yield f'"{_written(unit, question)}" has another role in the evidence'
        elif not (passive or role.preposition or (role.case and role.case == other.case)):
            bare.append((there, unit))
    yield from _turned_verb(question_units, sentence_units, passive, vocabulary)
    spare = 1 if vocabulary.verb_second and not subject else 0
    # "It replaced the Fjell 6": where what "it" stands for would be in the order is not known
    leans = bool(sentence.words) and sentence.words[0].folded in vocabulary.subject_pronouns
    for clause in () if leans else _clauses(sentence, bare):
        if count_moves([there for there, _ in clause]) > spare:
            yield f'the evidence has "{_written(clause[0][1], question)}" in another order'


def _unplaced(question: Reading, headings: Reading) -> str:
    """Return a question with blanks for the names of its place: what it quotes, and a law that is a title."""
    text = QUOTED.sub(lambda name: " " * len(name[0]), question.text)
    wording = lexicon(question.language).wording
    for law in filter(None, map(wording.law_named, headings.text.split("\n"))):
        text = text.replace(law, " " * len(law))
    return text


def _asks_what_belongs(question_units: Sequence[Unit], vocabulary: Lexicon) -> bool:
    """Return whether a question is "What is the … of …?", which "… has …" answers: it fixes no roles then."""
    opens_so = bool({unit.folded for unit in question_units[:3]} & vocabulary.copulas)
    return opens_so and _has_genitive(question_units, vocabulary)


def _has_genitive(text: Sequence[Unit], vocabulary: Lexicon) -> bool:
    """Return whether a text says whose something is: "of the pump", "the pump's"."""
    return any(
        (
            unit.content
            and unit.key[0] != "#"
            and preposition_before(text, place, vocabulary) == vocabulary.of_word
        )
        or unit.folded.endswith(vocabulary.genitives or "\0")
        for place, unit in enumerate(text)
    )


def _turned_verb(
    question_units: Sequence[Unit],
    sentence_units: Sequence[Unit],
    passive: bool,
    vocabulary: Lexicon,
) -> Iterator[str]:
    """Yield where a question asks for the other side of a verb than the evidence has.

    Behind "wen" and "whom" the verb comes, then its subject, which the evidence must have before the verb. A
    verb in the passive asks for who does it, or what it is done to: the same verb in the active has the
    question's subject behind it.
    """
    words = [
        unit
        for unit in question_units
        if unit.content and _once(unit, question_units) and _once(unit, sentence_units)
    ]
    places = {unit.key: place for place, unit in enumerate(sentence_units)}
    if len(words) < 2:
        return
    verb, subject = words[0], words[1]
    first, second = places[verb.key], places[subject.key]
    if question_units[0].folded in vocabulary.object_askers and not passive and second > first:
        yield f'"{subject.folded}" is on the other side of "{verb.folded}" in the evidence'
    active = sentence_units[first].folded
    turned = verb.folded.endswith(vocabulary.passive_endings or "\0") and not active.endswith("s")
    if turned and second < first:
        yield f'"{subject.folded}" is on the other side of "{verb.folded}" in the evidence'


def _length_of_asked(question_units: Sequence[Unit], vocabulary: Lexicon) -> int:
    """Return how many words of a question are what is asked for: "how many days"."""
    opens = next(
        (at for at, unit in enumerate(question_units[:3]) if unit.folded in vocabulary.question_openers), None
    )
    if opens is None:
        return 0
    verbs = vocabulary.finite_verbs | vocabulary.auxiliaries
    verb = next(
        (at for at in range(opens + 1, len(question_units)) if question_units[at].folded in verbs), None
    )
    if verb is not None:
        return verb
    return next(
        (
            at + 1
            for at in range(opens + 1, len(question_units))
            if question_units[at].content and question_units[at].folded not in vocabulary.question_words
        ),
        opens + 1,
    )


def _clauses(sentence: Reading, words: Sequence[tuple[int, Unit]]) -> Iterator[Sequence[tuple[int, Unit]]]:
    """Yield the words of a question by the clause of the evidence, between commas, in which each is."""
    sentence_units = units(sentence)
    clauses: dict[int, list[tuple[int, Unit]]] = {}
    for there, unit in words:
        clauses.setdefault(sentence.text.count(", ", 0, sentence_units[there].start), []).append(
            (there, unit)
        )
    yield from clauses.values()


def _once(unit: Unit, text: Sequence[Unit]) -> bool:
    return sum(other.key == unit.key for other in text) == 1


def _first(text: Sequence[Unit]) -> int:
    """Return the place of the first content word of a sentence."""
    return next((place for place, unit in enumerate(text) if unit.content), -1)


@dataclass(frozen=True, slots=True)
class _Role:
    """The preposition before a noun phrase and the case of its article, each empty where there is none.

    `heads` says that another word follows it at once, as what a genitive belongs to does.
    """

    preposition: str
    case: str
    has_article: bool
    word: str
    heads: bool

    def agrees(self, other: "_Role") -> bool:
        """Return whether the same word may have one role in two texts."""
        if self.preposition != other.preposition:
            return False
        pairs = ((self, other.word), (other, self.word))
        genitives = any(role.heads and role.word == f"{word}s" for role, word in pairs)
        cases = self.has_article and other.has_article and self.case != other.case
        return not genitives and not cases


def _role(text: Sequence[Unit], place: int, vocabulary: Lexicon) -> _Role | None:
    """Return the role of a word; None where it belongs to what is asked for, or may be an infinitive."""
    unit, before = text[place], text[place - 1].folded if place else ""
    if vocabulary.genitives and unit.folded.endswith(vocabulary.genitives):
        return _Role(vocabulary.of_word, "", False, "", False)
    if before in vocabulary.question_openers - vocabulary.subject_askers:
        return None
    if before in vocabulary.infinitive_marks and not unit.article:
        return None
    preposition = preposition_before(text, place, vocabulary)
    case = case_of(unit.article, vocabulary)
    # a genitive stands before what it belongs to; a verb in the passive has the same ending
    heads = place + 1 < len(text) and text[place + 1].content and not text[place + 1].article
    return _Role(preposition, case, bool(unit.article), unit.folded, heads and not vocabulary.genitives)


def _written(unit: Unit, reading: Reading) -> str:
    """Return a unit as its text has it, without the article before it."""
    written = reading.text[unit.start : unit.end]
    return written[-len(unit.folded) :].strip() if unit.article else written


def _has_identifier(text: str, word: str) -> bool:
    """Return whether a text has a word in other case or with characters that are not seen.

    The parts of an identifier such as LongDisplayDatePic may also stand apart: long_display_date_pic.
    """
    if len(word) < _SHORTEST_PART or not word.isalnum():
        return False
    between = r"[\W_]?" if _IDENTIFIER.search(word) else ""
    parts = (_UNSEEN.join(map(re.escape, part)) for part in _PARTS.findall(word))
    pattern = rf"(?<![^\W_]){f'{_UNSEEN}{between}'.join(parts)}(?![^\W_])"
    return re.search(pattern, text, re.IGNORECASE) is not None


@functools.lru_cache(maxsize=1024)
def spoken_keys(reading: Reading) -> frozenset[str]:
    """Return the keys of the units and the stems of all words of a text."""
    return frozenset(unit.key for unit in units(reading)) | {word.stem for word in reading.words}


@functools.lru_cache(maxsize=1024)
def _line(reading: Reading) -> str:
    """Return the units and words of a text in one string, a mark that no key holds around each key."""
    return _BETWEEN + "".join(key + _BETWEEN for key in sorted(spoken_keys(reading)))


def _speaks_of(line: str, key: str) -> bool:
    """Return whether a line has a word, alone or as the first or last part of a compound."""
    if len(key) < _SHORTEST_PART:
        return f"{_BETWEEN}{key}{_BETWEEN}" in line
    return f"{_BETWEEN}{key}" in line or f"{key}{_BETWEEN}" in line
