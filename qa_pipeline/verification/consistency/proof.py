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
    said_by_question,
    same_in_other_order,
    same_in_other_voice,
    units,
)
from qa_pipeline.verification.consistency.cells import find_run, row_cells
from qa_pipeline.verification.consistency.question import spoken_keys, unanswered
from qa_pipeline.verification.consistency.reading import Reading, read

LONGEST_READ = 2000
"""Characters; longer claims and evidence are left to a model, since the checks read sentences."""


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
    of a model may accept the claim then. `restricted` says that only what stands around the evidence speaks
    against it.
    """

    unproved: tuple[str, ...] = ()
    denied: tuple[Denial, ...] = ()
    scope_differs: bool = False
    restricted: bool = False


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
    introduction: str = "",
    antecedent: str | None = None,
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
        antecedent: the subject of the sentence before it that its first word, a pronoun, stands for; empty
            where that is in doubt, None where no sentence is before it.
        introduction: the term of its line and the lead-ins of its lists, which say of what it speaks.
    """
    if max(len(claim.text), len(evidence.text)) > LONGEST_READ:
        return Proof(("longer than the local checks can read",), (), True)
    doubts: list[str] = []
    if reads_otherwise(claim.written):
        doubts.append("contains control characters or marks that reverse its reading order")
    row = row_cells(evidence.text, evidence.language) if is_row else None
    cells = None if row is None or row.is_sentence else row
    if evidence.text.rstrip().endswith(":") and not _goes_on(answer, elsewhere):
        doubts.append("what the evidence announces is not in it")
    same = claim == evidence and not cells
    if same or same_in_other_voice(claim, evidence) or same_in_other_order(claim, evidence):
        doubts += () if answer is None else unanswered(answer, evidence, question, headings, introduction)
        return Proof(tuple(doubts))
    if cells is not None:
        doubts += (
            ()
            if answer is None
            else unanswered(answer, evidence, question, headings, introduction, is_row=True)
        )
        lacking, refuted = cells.proof(claim, question, headings)
        denied = tuple(Denial("cell_mismatch", words, frozenset()) for words in refuted)
        return Proof((*lacking, *doubts), denied, bool(lacking))
    passages = "\n".join(passage.text for passage in elsewhere)
    every_change = differences(
        claim, evidence, frozenset(_keys(question)), _subjects(headings, antecedent), passages
    )
    unexplained = [change for change in every_change if not is_allowed(change)]
    denied = _denials(unexplained, elsewhere)
    if answer is not None:
        matched = _sentence_of(claim, evidence) if fragment else _matched(evidence, every_change)
        doubts += unanswered(answer, matched, question, headings, introduction)
    if fragment:
        apart = _unproved_fragment(claim, evidence, question, headings)
        return Proof((*apart, *doubts), denied, bool(apart))
    unproved = (change.described() for change in unexplained)
    return Proof((*unproved, *doubts), denied, any(_in_scope(change) for change in unexplained))


def _goes_on(answer: Reading | None, passages: Sequence[Reading]) -> bool:
    """Return whether an answer quotes what a sentence announces with it, word for word."""
    written = answer.written.strip() if answer else ""
    return not written.endswith(":") and any(written in passage.written for passage in passages if written)


def _matched(evidence: Reading, changes: Sequence[Change]) -> Reading:
    """Return the evidence with blanks in place of what the claim leaves out, unless the question says it."""
    text = evidence.text
    for change in changes:
        if change.removed and not change.added and not said_by_question(change):
            start, end = change.removed[0].start, change.removed[-1].end
            text = text[:start] + " " * (end - start) + text[end:]
    return evidence if text == evidence.text else read(text, evidence.language)


def _sentence_of(fragment: Reading, evidence: Reading) -> Reading:
    """Return the sentence that holds a fragment; all of the evidence where none or several do."""
    sentences = [read(evidence.text[slice(*span)], evidence.language) for span in evidence.sentences]
    holding = [sentence for sentence in sentences if sentence.holds(fragment)]
    return holding[0] if len(holding) == 1 else evidence


def _subjects(headings: Reading, antecedent: str | None) -> frozenset[frozenset[str]]:
    """Return the keys of what a pronoun may stand for: an antecedent, or the one thing a heading names.

    A heading that begins with a name that has a number, "Fjell 8 guide", names that too.
    """
    vocabulary = lexicon(headings.language)
    subjects = set()
    lines = headings.text.split("\n") if antecedent is None else [antecedent]
    for line in filter(None, lines):
        heading = read(line, headings.language)
        if vocabulary.joiners & {word.folded for word in heading.words}:
            continue
        keys = [unit.key for unit in units(heading) if unit.content]
        subjects.add(frozenset(keys))
        number = next((at for at, key in enumerate(keys) if key[0] == "#"), 0)
        if number:
            subjects.add(frozenset(keys[: number + 1]))
    return frozenset(subjects)


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
    spoken, scope = spoken_keys(quote), lexicon(claim.language).scope_words
    spoken_or_headed = spoken | spoken_keys(headings)
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


def conditions_left_out(claim: Reading, sentence: Reading, question: Reading) -> Iterator[str]:
    """Yield what restricts a sentence and is neither in the claim nor in its question, however they put it.

    These are conditions none of whose words they have, and single words of degree, possibility or denial that
    the claim leaves out.
    """
    vocabulary = lexicon(claim.language)
    pattern = _condition_clause(vocabulary.code)
    spoken = spoken_keys(claim) | spoken_keys(question)
    conditional = any(pattern.search(reading.text) for reading in (claim, question))
    for clause in [] if conditional else pattern.findall(sentence.text):
        if not any(unit.key in spoken for unit in units(read(clause, claim.language)) if unit.content):
            yield f'the quote says "{clause}"'
    limiting = vocabulary.denying | vocabulary.partial | vocabulary.weak
    if max(len(claim.text), len(sentence.text)) > LONGEST_READ:
        return
    if limiting & {word.folded for reading in (claim, question) for word in reading.words}:
        return
    for change in differences(claim, sentence):
        words = {*change.removed_words} & limiting
        others = [unit for unit in change.removed if unit.content and unit.folded not in limiting]
        is_alone = not change.added and not others
        if words and is_alone and not is_allowed(change):
            yield f'the quote says "{min(words)}"'


@functools.cache
def _condition_clause(language: str) -> re.Pattern[str]:
    """Return a pattern of clauses that begin with a condition, each up to the next comma."""
    vocabulary = lexicon(language)
    openers = "|".join(phrase for phrase in vocabulary.conditions if phrase not in vocabulary.exclusive)
    return re.compile(rf"\b(?:{openers})\b[^,;.\n]*", re.IGNORECASE)


def _in_scope(change: Change) -> bool:
    """Return whether a difference touches a number, date, name, negation, quantifier, modal or condition."""
    scope, both = change.vocabulary.scope_words, (*change.added, *change.removed)
    figures = any(unit.key[0] in "#@" for unit in both)
    return figures or any(unit.folded in scope for unit in both) or _names(change.added, change.claim)


def _keys(*readings: Reading) -> set[str]:
    return {unit.key for reading in readings for unit in units(reading)}


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
    scope = vocabulary.scope_words | vocabulary.contrasts
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
        return None if _abbreviates(change.added, change.removed) else "name_mismatch"
    if len(change.added) != 1 or len(change.removed) != 1:
        return None
    first, second = change.added[0], change.removed[0]
    if {first.key[0], second.key[0]} == {"#"}:
        degrees = {unit.key.replace("degrees", "temperature") for unit in (first, second)}
        times = {unit.folded.replace(":", ".") for unit in (first, second)}  # 6.45 may be a time
        return "number_mismatch" if len(degrees) == len(times) == 2 else None
    if {first.key[0], second.key[0]} == {"@"}:
        return "date_mismatch"
    return _opposed(first.folded, second.folded, vocabulary)


def _abbreviates(added: Sequence[Unit], removed: Sequence[Unit]) -> bool:
    """Return whether one name is the initials of the other: "EU" for "European Union"."""
    return any(
        len(short) == 1 < len(long) and short[0].folded == "".join(unit.folded[0] for unit in long)
        for short, long in ((added, removed), (removed, added))
    )


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
