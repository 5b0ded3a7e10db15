"""What a piece of evidence proves of a claim, and what it denies: by kind of difference, not by score.

A claim is proved where every difference from its evidence is allowed (`allowed.py`) and the evidence speaks
of what was asked. It is denied where everything else agrees and a slot holds another value. Anything between
is left to a model or a person, with the first difference named.
"""

import functools
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from qa_pipeline.text.characters import reads_otherwise, skeleton
from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.consistency.allowed import (
    Change,
    Unit,
    differences,
    is_allowed,
    same_in_other_voice,
    units,
)
from qa_pipeline.verification.consistency.cells import find_run, row_cells
from qa_pipeline.verification.consistency.reading import Reading

LONGEST_READ = 2000
"""Characters; longer claims and evidence are left to a model, since the checks read sentences."""
_BETWEEN = "\x1f"
_SHORTEST_PART = 4
"""Letters of a word that is looked for in compounds: Jahr in Jahresgebühr."""
_IDENTIFIER = re.compile(r"[^\W\d_A-ZÅÄÖÜ][A-ZÅÄÖÜ]")
_PARTS = re.compile(r"[A-ZÅÄÖÜ]+(?![^\W\d_A-ZÅÄÖÜ])|[A-ZÅÄÖÜ]?[^\W_A-ZÅÄÖÜ]+|[^\W_]")
"""The parts of CamelCase: runs of capitals, and words with or without a capital in front."""
_UNSEEN = "[\u00ad\u200b-\u200d\u2060\ufeff]*"
"""Soft hyphens and other characters that show nothing."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A slot in which one text denies the other: the reason code, both contents in words, and their keys."""

    reason: str
    words: str
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class Proof:
    """The outcome of a comparison; with nothing `unproved` the claim is proved.

    `scope_differs` says that a number, name, negation, quantifier, modal or condition is among it: no score
    of a model may accept the claim then.
    """

    unproved: tuple[str, ...] = ()
    denied: tuple[Denial, ...] = ()
    scope_differs: bool = False


def prove(
    claim: Reading,
    evidence: Reading,
    *,
    question: Reading,
    answer: Reading | None,
    headings: Reading,
    elsewhere: Sequence[Reading],
    fragment: bool,
    is_row: bool,
) -> Proof:
    """Prove a claim from its evidence.

    Args:
        claim: as it is understood alone.
        evidence: one to three sentences, or a table row.
        question: what the claim answers; empty where there is none.
        answer: all of the answer, other claims of which may name what was asked; None where it does not
            matter whether the evidence speaks of that.
        headings: the title and the headings the evidence is under.
        elsewhere: the passages cited, that of the evidence first.
        fragment: whether the claim states something only together with its question.
        is_row: whether the evidence is a table row or key-value line.
    """
    if max(len(claim.text), len(evidence.text)) > LONGEST_READ:
        return Proof(("longer than the local checks can read",), (), True)
    doubts = [] if answer is None else [*_unanswered(answer, evidence, question, headings)]
    if reads_otherwise(claim.written):
        doubts.append("contains control characters or marks that reverse its reading order")
    row = row_cells(evidence.text, evidence.language) if is_row else None
    cells = None if row is None or row.is_sentence else row
    if evidence.text.rstrip().endswith(":"):
        doubts.append("what the evidence announces is not in it")
    if (claim == evidence and not cells) or same_in_other_voice(claim, evidence):
        return Proof(tuple(doubts))
    if cells is not None:
        lacking, refuted = cells.proof(claim, question, headings)
        denied = tuple(Denial("cell_mismatch", words, frozenset()) for words in refuted)
        return Proof((*lacking, *doubts), denied, bool(lacking))
    question_keys, context = frozenset(_keys(question)), frozenset(_keys(headings))
    passages = "\n".join(passage.text for passage in elsewhere)
    every_change = differences(claim, evidence, question_keys, context, passages)
    unexplained = [change for change in every_change if not is_allowed(change)]
    denied = _denials(unexplained, elsewhere)
    if fragment:
        apart = _unproved_fragment(claim, evidence, question, headings)
        return Proof((*apart, *doubts), denied, bool(apart))
    unproved = (change.described() for change in unexplained)
    return Proof((*unproved, *doubts), denied, any(_in_scope(change) for change in unexplained))


def denials(claim: Reading, evidence: Reading) -> tuple[Denial, ...]:
    """Return the slots in which a text denies another, where all else agrees; none otherwise."""
    if max(len(claim.text), len(evidence.text)) > LONGEST_READ:
        return ()
    return _denials([change for change in differences(claim, evidence) if not is_allowed(change)], ())


def conflicts(claim: Reading, evidence: Reading, passages: Sequence[Reading]) -> tuple[Denial, ...]:
    """Return where a claim has another figure or name than its evidence, or turns it round.

    Unlike `denials` it looks at each difference alone, whatever else differs: the texts must be known to be
    about one thing. A figure or name that any of the passages holds is no conflict.
    """
    if max(len(claim.text), len(evidence.text)) > LONGEST_READ:
        return ()
    figures = [unit for unit in units(claim) if _figure_kind(unit) is not None]
    changes = [(change, _denied(change)) for change in differences(claim, evidence) if not is_allowed(change)]
    denied = [(change, reason) for change, reason in changes if reason is not None]
    if not figures and not denied:
        return ()
    mine, passage_keys = {unit.key for unit in units(claim)}, _keys(*passages)
    theirs = [unit for unit in units(evidence) if unit.key not in mine]
    result = []
    for unit in figures:
        other = next(
            (
                unit_of_evidence
                for unit_of_evidence in theirs
                if _figure_kind(unit_of_evidence) == _figure_kind(unit)
            ),
            None,
        )
        if other is not None and unit.key not in passage_keys:
            reason = "date_mismatch" if unit.key[0] == "@" else "number_mismatch"
            words = f'"{other.folded}" became "{unit.folded}"'
            result.append(Denial(reason, words, frozenset((unit.key, other.key))))
    for change, reason in denied:
        if reason == "negation_mismatch" or all(unit.key not in passage_keys for unit in change.added):
            keys = frozenset(unit.key for unit in (*change.added, *change.removed))
            result.append(Denial(reason, change.described(), keys))
    return tuple(result)


def missing_figures(claim: Reading, passages: Sequence[Reading]) -> tuple[str, ...]:
    """Return the numbers, dates and names with digits of a claim that none of the passages holds."""
    figures = [unit for unit in units(claim) if _figure_kind(unit) is not None]
    passage_keys = _keys(*passages) if figures else ()
    return tuple(unit.folded for unit in figures if unit.key not in passage_keys)


def _figure_kind(unit: Unit) -> str | None:
    """Return what a figure measures or names, so that only its value can differ; None for a plain word."""
    if not any(character.isdigit() for character in unit.folded):
        return None
    if unit.key[0] == "@":
        return "@"
    letters = "".join(character for character in unit.key if character.isalpha())
    return f"{'#' if unit.key[0] == '#' else ''}{letters}"


def lacking(claim: Reading, quote: Reading, headings: Reading) -> tuple[str, ...]:
    """Return numbers, names, negations, quantifiers, modals, conditions of a claim that its quote lacks.

    A name may be in the title or the headings of the quote. A quote that shares no word with the claim lacks
    all of it.
    """
    spoken, scope = _spoken(quote), _scope(claim.language)
    spoken_or_headed = spoken | _spoken(headings)
    mine = units(claim)
    missing = [
        unit.folded
        for unit in mine
        if (unit.key not in spoken and (unit.key[0] in "#@" or unit.folded in scope))
        or (unit.key not in spoken_or_headed and _names([unit], claim))
    ]
    return (
        tuple(missing)
        if any(unit.content and unit.key in spoken_or_headed for unit in mine)
        else (claim.text,)
    )


@functools.cache
def _scope(language: str) -> frozenset[str]:
    """Return the negations, quantifiers, modals and conditions: words that change what all others say."""
    vocabulary = lexicon(language)
    scope = (
        vocabulary.negations
        | vocabulary.soft_negations
        | vocabulary.exclusive
        | vocabulary.universal
        | vocabulary.partial
    )
    return frozenset(scope | vocabulary.strong | vocabulary.weak | vocabulary.conditional_words)


def _in_scope(change: Change) -> bool:
    """Return whether a difference touches a number, date, name, negation, quantifier, modal or condition."""
    scope, both = _scope(change.vocabulary.code), (*change.added, *change.removed)
    figures = any(unit.key[0] in "#@" for unit in both)
    return figures or any(unit.folded in scope for unit in both) or _names(change.added, change.claim)


def _keys(*readings: Reading) -> set[str]:
    return {unit.key for reading in readings for unit in units(reading)}


def _unanswered(answer: Reading, evidence: Reading, question: Reading, headings: Reading) -> Iterator[str]:
    """Yield words of the question that neither answer nor evidence has: it may be of another question."""
    if not question.words:
        return
    vocabulary = lexicon(question.language)
    question_units = units(question)
    spoken = "".join(_line(reading) for reading in (answer, evidence, headings))
    measured = {number.unit.dimension for number in evidence.numbers if number.unit}
    before = ""
    for unit in question_units:
        plain = unit.folded in vocabulary.question_words or before in vocabulary.degree_words
        plain = plain or bool(measured.intersection(vocabulary.measures.get(unit.folded, ())))
        if unit.content and not plain and not _speaks_of(spoken, unit.key):
            word = _written(unit, question)
            if not any(_has_identifier(reading.text, word) for reading in (evidence, answer, headings)):
                yield f'the question\'s "{word}" is not in the evidence'
        before = unit.folded
    scope = {unit.folded for unit in question_units} & (vocabulary.negations | vocabulary.exclusive)
    if scope - {unit.folded for reading in (evidence, answer, headings) for unit in units(reading)}:
        yield "question and evidence differ in a negation"


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
def _spoken(reading: Reading) -> frozenset[str]:
    """Return the keys of the units and the stems of all words of a text."""
    return frozenset(_keys(reading)) | {word.stem for word in reading.words}


@functools.lru_cache(maxsize=1024)
def _line(reading: Reading) -> str:
    """Return the units and words of a text in one string, a mark that no key holds around each key."""
    return _BETWEEN + "".join(key + _BETWEEN for key in sorted(_spoken(reading)))


def _speaks_of(line: str, key: str) -> bool:
    """Return whether a line has a word, alone or as the first or last part of a compound."""
    if len(key) < _SHORTEST_PART:
        return f"{_BETWEEN}{key}{_BETWEEN}" in line
    return f"{_BETWEEN}{key}" in line or f"{key}{_BETWEEN}" in line


def _unproved_fragment(
    claim: Reading, evidence: Reading, question: Reading, headings: Reading
) -> tuple[str, ...]:
    """Return what is unproved of a few words, which prove something only together with their question."""
    vocabulary = lexicon(claim.language)
    mine, theirs = units(claim), units(evidence)
    claim_keys = [unit.key for unit in mine]
    keys = [unit.key for unit in theirs]
    places = [
        at for at in range(len(keys) - len(claim_keys) + 1) if keys[at : at + len(claim_keys)] == claim_keys
    ]
    if not claim_keys or not places:
        return ("not in the evidence in these words",)
    context = _keys(question, headings)
    best: tuple[str, ...] | None = None
    for at in places:
        doubts = []
        for run in _runs(theirs, at, at + len(claim_keys), context, vocabulary):
            change = Change([], run, claim, evidence, vocabulary)
            if not is_allowed(change):
                doubts.append(change.described())
        if best is None or len(doubts) < len(best):
            best = tuple(doubts)
    return best or ()


def _runs(
    theirs: Sequence[Unit], start: int, end: int, context: set[str], vocabulary: Lexicon
) -> Iterator[Sequence[Unit]]:
    """Yield runs of the evidence that neither claim nor question states; plain function words are none."""
    scope = (
        vocabulary.negations
        | vocabulary.exclusive
        | vocabulary.conditional_words
        | vocabulary.contrasts
        | vocabulary.partial
    )
    scope |= vocabulary.universal | vocabulary.strong | vocabulary.weak | vocabulary.soft_negations
    run: list[Unit] = []
    plain = True
    for place, unit in enumerate([*theirs, None]):
        stated = unit is None or start <= place < end or unit.key in context
        if not stated and unit is not None:
            run.append(unit)
            plain = plain and not unit.content and unit.folded not in scope
        elif run:
            if not plain:
                yield run
            run, plain = [], True


def _denials(changes: Sequence[Change], elsewhere: Sequence[Reading]) -> tuple[Denial, ...]:
    """Return the slots in which a claim denies its evidence; none where anything else differs too.

    A slot is a place where each text has one number, date, name or word of a closed class, between units that
    both share. No cited passage may hold what the claim has there; words that have only changed places need
    no such look.
    """
    exchanged = _exchanged(changes)
    result = []
    for change in changes:
        reason = _denied(change) or ("role_mismatch" if exchanged else None)
        if reason is None:
            return ()
        keys = frozenset(unit.key for unit in (*change.added, *change.removed))
        result.append(Denial(reason, change.described(), keys))
    is_stated = not exchanged and any(_states(change, passage) for change in changes for passage in elsewhere)
    return () if is_stated else tuple(result)


def _exchanged(changes: Sequence[Change]) -> bool:
    """Return whether all slots together hold the same contents in another order, and no items of one list.

    A date and a place have no roles to exchange: "in 1974 … in Lund".
    """
    if len(changes) < 2 or not all(change.added and change.removed for change in changes):
        return False
    if any((change.added[0].key[0] in "#@") != (change.removed[0].key[0] in "#@") for change in changes):
        return False
    mine, theirs = (
        {tuple(unit.key for unit in side) for side in sides}
        for sides in zip(*((change.added, change.removed) for change in changes), strict=True)
    )
    start, end = changes[0].removed[-1].end, changes[1].removed[0].start
    words = {word.folded for word in changes[0].evidence.words if start <= word.start < end}
    return mine == theirs and not words <= changes[0].vocabulary.joiners


def _states(change: Change, passage: Reading) -> bool:
    """Return whether a passage has what the claim has in the slot, beside one of its neighbours there."""
    mine = [unit.key for unit in units(change.claim)]
    value = [unit.key for unit in change.added]
    if not any(unit.content for unit in change.added):
        return False
    at = units(change.claim).index(change.added[0])
    keys = [unit.key for unit in units(passage)]
    windows = [mine[max(at - 1, 0) : at + len(value)], mine[at : at + len(value) + 1]]
    return any(len(run) > len(value) and find_run(keys, run) is not None for run in windows)


def _denied(change: Change) -> str | None:
    """Return the reason code of a difference in which the claim denies what is there; None for any other."""
    vocabulary = change.vocabulary
    mine, theirs = set(change.added_words), set(change.removed_words)
    words = mine | theirs
    if skeleton("".join(change.added_words)) == skeleton("".join(change.removed_words)):
        return None  # letters of another script that look the same
    if (
        words & vocabulary.negations
        and words <= vocabulary.negations | vocabulary.auxiliaries | vocabulary.negation_tails
    ):
        return (
            "negation_mismatch"
            if bool(mine & vocabulary.negations) != bool(theirs & vocabulary.negations)
            else None
        )
    if _names(change.added, change.claim) and _names(change.removed, change.evidence):
        return "name_mismatch"
    if len(change.added) != 1 or len(change.removed) != 1:
        return None
    first, second = change.added[0], change.removed[0]
    if {first.key[0], second.key[0]} == {"#"}:
        return "number_mismatch"
    if {first.key[0], second.key[0]} == {"@"}:
        return "date_mismatch"
    return _opposed(first.folded, second.folded, vocabulary)


def _opposed(claimed: str, written: str, vocabulary: Lexicon) -> str | None:
    """Return the reason code of one word in another's place, where the two exclude each other."""
    pair = (claimed, written)
    turned = (pair, pair[::-1])
    prefixed = any(
        long == prefix + short for prefix in vocabulary.negative_prefixes for long, short in turned
    )
    if prefixed or any(_across(pair, sides) for sides in vocabulary.opposites):
        return "negation_mismatch"
    stronger = claimed in vocabulary.universal and written in vocabulary.partial
    scopes = (
        (vocabulary.weak, vocabulary.strong),
        (vocabulary.universal | vocabulary.partial, vocabulary.negations),
    )
    return "quantifier_mismatch" if stronger or any(_across(pair, sides) for sides in scopes) else None


def _across(pair: tuple[str, str], sides: tuple[Set[str], Set[str]]) -> bool:
    first, second = sides
    return (pair[0] in first and pair[1] in second) or (pair[0] in second and pair[1] in first)


def _names(of: Sequence[Unit], reading: Reading) -> bool:
    """Return whether all of some units are names: capitalised where that says something."""
    spans = [(name.start, name.end) for name in reading.names]
    return bool(of) and all(any(a <= unit.end - 1 and unit.end <= b for a, b in spans) for unit in of)
