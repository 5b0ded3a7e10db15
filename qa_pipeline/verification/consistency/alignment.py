"""A claim laid word for word beside evidence that says nearly the same: what stands in whose place.

Three differences of sequence: a name, number, date or negation in another's place; terms exchanged or
replaced; the subject of one sentence joined with the statement of another.
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from qa_pipeline.text.characters import skeleton
from qa_pipeline.text.lexicon.base import words
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.names import Name, fold, same_name
from qa_pipeline.verification.consistency.numbers import Number
from qa_pipeline.verification.consistency.polarity import same_clauses
from qa_pipeline.verification.consistency.quantities import bound_of, equal, is_approximate, rounds_to, within
from qa_pipeline.verification.consistency.reading import Reading, read

_FEWEST, _SHARE = 4, 0.7
_LONGEST = 120
_WIDE = 4
_NOTHING = Findings()
Kind = Literal["name", "number", "date", "word"]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A word, or a name, number or date as one."""

    kind: Kind
    key: str
    text: str
    start: int
    negative: bool = False
    content: bool = True
    what: Name | Number | None = None


@dataclass(frozen=True, slots=True)
class Aligned:
    """Findings of the alignment, by kind."""

    names: Findings = _NOTHING
    numbers: Findings = _NOTHING
    dates: Findings = _NOTHING
    polarity: Findings = _NOTHING
    quantifiers: Findings = _NOTHING


@dataclass(frozen=True, slots=True)
class Beside:
    """A claim laid beside a text: runs that differ, and of these the units in each other's place.

    `equal` counts the units they share in order, `rest` those that differ and have no partner.
    """

    changes: Sequence["_Change"]
    replaced: Sequence["_Place"]
    equal: int
    rest: int


def laid_beside(claim: Reading, evidence: Reading) -> Beside | None:
    """Lay a claim beside a text; None where the two are no near repetition.

    Near is a claim of which seven units in ten stand in the evidence in the same order (longest matching
    blocks, Ratcliff and Obershelp 1988, as in `difflib`).
    """
    mine, theirs = _units(claim), _units(evidence)
    if not _FEWEST <= len(mine) <= _LONGEST or len(theirs) > 2 * _LONGEST:
        return None
    matcher = difflib.SequenceMatcher(
        None, [unit.key for unit in mine], [unit.key for unit in theirs], autojunk=False
    )
    changes = [
        (mine[left:right], theirs[low:high])
        for kind, left, right, low, high in matcher.get_opcodes()
        if kind != "equal"
    ]
    equal_units = sum(block.size for block in matcher.get_matching_blocks())
    if equal_units < max(_FEWEST, _SHARE * len(mine)):
        return None
    replaced = list(_replaced(changes))
    differing = sum(max(len(left), len(right)) for left, right in changes)
    return Beside(changes, replaced, equal_units, differing - len(replaced))


def aligned_findings(claim: Reading, evidence: Reading) -> Aligned:
    """Compare what stands in the same place; nothing where the two are no near repetition."""
    found = laid_beside(claim, evidence)
    if found is None:
        return Aligned()
    return Aligned(
        names=_names(found.replaced, claim) + _moved_names(found, claim, evidence),
        numbers=_numbers(found.replaced, claim),
        dates=_in_place(found.replaced, "date"),
        polarity=_negations(found.changes, claim.language),
        quantifiers=_quantifiers(found.replaced, claim.language),
    )


def _units(reading: Reading) -> list[_Unit]:
    found: list[_Unit] = []
    taken: list[tuple[int, int]] = []
    for date in reading.dates:
        key = f"@{date.year}-{date.month}-{date.day}"
        found.append(_Unit("date", key, date.text, date.start))
        taken.append((date.start, date.end))
    for number in reading.numbers:
        key = f"#{number.version or f'{number.value:.9g}'}"
        found.append(_Unit("number", key, number.text, number.start, what=number))
        taken.append((number.start, number.end))
    for name in reading.names:
        found.append(_Unit("name", f"&{fold(skeleton(name.text))}", name.text, name.start, what=name))
        taken.append((name.start, name.end))
    found.extend(
        _Unit("word", word.stem, word.folded, word.start, word.negative, word.content)
        for word in reading.words
        if not any(start < word.end and word.start < end for start, end in taken)
    )
    return sorted(found, key=lambda unit: unit.start)


_Change = tuple[Sequence[_Unit], Sequence[_Unit]]
_Place = tuple[_Unit, _Unit]


def _replaced(changes: Sequence[_Change]) -> Iterator[_Place]:
    """Units of the claim and the evidence's unit of the same kind in their place, one for one."""
    for mine, theirs in changes:
        if len(mine) == len(theirs) <= _WIDE:
            yield from (pair for pair in zip(mine, theirs, strict=True) if pair[0].kind == pair[1].kind)


def _in_place(places: Sequence[_Place], kind: Kind) -> Findings:
    message = [f"{own.text} instead of {other.text}" for own, other in places if own.kind == kind]
    return Findings(tuple(message))


def _numbers(places: Sequence[_Place], claim: Reading) -> Findings:
    conflicts = []
    for own, other in places:
        left, right = own.what, other.what
        if isinstance(left, Number) and isinstance(right, Number):
            rounded = is_approximate(claim, left)
            same = equal(left, right) or rounds_to(left, right, rounded)
            if not same and not within(left, right, bound_of(claim, left)):
                conflicts.append(f"{own.text} instead of {other.text}")
    return Findings(tuple(conflicts))


def _quantifiers(places: Sequence[_Place], language: str) -> Findings:
    """All in the place of some, must in the place of may."""
    known = lexicon(language)
    pairs = ((known.universal, known.partial), (known.strong, known.weak))
    message = [
        f"{own.text} instead of {other.text}"
        for own, other in places
        for high, low in pairs
        if own.text in high and other.text in low
    ]
    return Findings(tuple(message))


def _names(places: Sequence[_Place], claim: Reading) -> Findings:
    """A name in another's place; two that changed places stay open where the object may come first."""
    changed = [
        (own, other)
        for own, other in places
        if isinstance(own.what, Name)
        and isinstance(other.what, Name)
        and not same_name(own.what, other.what, claim.language)
    ]
    message = tuple(f"{own.text} instead of {other.text}" for own, other in changed)
    if changed and _may_be_turned(places, claim):
        return Findings(open_points=message)
    return Findings(message)


def _may_be_turned(places: Sequence[_Place], claim: Reading) -> bool:
    """Whether object and subject may have changed sides: the first begins the clause, no preposition between.

    A phrase that is moved to the front takes its preposition, article and noun with it.
    """
    if not lexicon(claim.language).free_order or len(places) != 2:
        return False
    (first, there), (second, other) = places
    crossed = [one.text.casefold() for one in (first, there, second, other)]
    if crossed[0] != crossed[3] or crossed[1] != crossed[2]:
        return False
    units = _units(claim)
    start, end = units.index(first), units.index(second)
    between = units[start + 1 : end]
    begins = start == 0 or units[start - 1].text in lexicon(claim.language).clause_openers
    return begins and len(between) <= _VERBAL and not any(unit.text in _LINKS for unit in between)


def _moved_names(found: Beside, claim: Reading, evidence: Reading) -> Findings:
    """A name that stands in another place than in the evidence may have changed what is stated of whom."""
    paired = {unit.key for pair in found.replaced for unit in pair}
    here = [unit for mine, _ in found.changes for unit in mine if unit.kind == "name"]
    there = {unit.key for _, theirs in found.changes for unit in theirs}
    moved = [unit.text for unit in here if unit.key in there - paired]
    if not moved or same_clauses(claim, evidence):
        return Findings()
    return Findings(open_points=(f"{moved[0]} is in another place",))


_VERBAL = 2
"""Words that may stand between subject and object: a verb and its helper."""
_LINKS = words(
    """i på av för till från med om mot vid under över mellan genom per via efter hos den det de ett en
    in im an am auf aus bei beim von vom zu zum zur mit für gegen über unter zwischen durch nach vor der die
    das den dem des ein eine einen einem als som"""
)


def _negations(changes: Sequence[_Change], language: str) -> Findings:
    """A negation more or less where nothing else of weight differs."""
    balance, other = 0, False
    for mine, theirs in changes:
        if any(unit.negative for unit in (*mine, *theirs)) and _only_negates(mine, theirs):
            balance += _denials(mine, language) - _denials(theirs, language)
        else:
            other = other or any(unit.negative for unit in (*mine, *theirs))
    if not balance or other:
        return Findings()
    side = "without" if balance > 0 else "with"
    return Findings((f"the evidence has the statement {side} a negation",))


_LIGHT = words("longer längre mehr any do does did to")


def _only_negates(mine: Sequence[_Unit], theirs: Sequence[_Unit]) -> bool:
    return max(len(mine), len(theirs)) <= _WIDE and not any(
        unit.content and not unit.negative and unit.text not in _LIGHT for unit in (*mine, *theirs)
    )


def _denials(units: Sequence[_Unit], language: str) -> int:
    """Negations in so many words; those by meaning are left to the other checks."""
    return sum(unit.negative and unit.text not in lexicon(language).soft_negations for unit in units)


_LONGEST_REPLACED = 4


def exchanged_terms(claim: Reading, evidence: Reading) -> Findings:
    """The evidence reads like the claim with terms exchanged in pairs: "A replaced B", "B replaced A".

    Only the evidence's terms that the claim has are read. A passive on one side, or equals listed in another
    order, mean the same; where the object may stand before the verb the words alone cannot tell, so it stays
    open there.
    """
    moved = _exchanged(claim.terms, evidence.terms)
    known = lexicon(claim.language)
    mine, theirs = {word.folded for word in claim.words}, {word.folded for word in evidence.words}
    passive = bool(mine & known.passive_agents) != bool(theirs & known.passive_agents)
    if not moved or passive or _listed(claim, moved):
        return Findings()
    message = (f"{' and '.join(_written(claim, [term]) for term in moved[:2])} are exchanged",)
    return Findings(open_points=message) if known.free_order else Findings(message)


def _exchanged(claim: Sequence[str], evidence: Sequence[str]) -> list[str]:
    """Terms that stand where the evidence has their partner; empty unless all differences are such pairs."""
    shared = set(claim)
    held = [term for term in evidence if term in shared]
    if len(held) != len(claim):
        return []
    partner: dict[str, str] = {}
    for mine, theirs in zip(claim, held, strict=True):
        if partner.setdefault(mine, theirs) != theirs:
            return []
    moved = [mine for mine in dict.fromkeys(claim) if partner[mine] != mine]
    paired = all(partner.get(partner[mine]) == mine for mine in moved)
    few = len(moved) == 2 or len(moved) <= len(partner) // 2
    return moved if paired and few and not _neighbours(claim, moved) else []


def _neighbours(claim: Sequence[str], moved: Sequence[str]) -> bool:
    """Whether the moved terms stand side by side, as two attributes of one noun may in either order."""
    places = [place for place, term in enumerate(claim) if term in moved]
    return len(moved) == 2 and all(right - left == 1 for left, right in pairwise(places))


def _listed(claim: Reading, moved: Sequence[str]) -> bool:
    """Whether all content words between the first and the last moved one are moved, joined by "and"."""
    joiners = lexicon(claim.language).joiners
    places = [place for place, word in enumerate(claim.words) if word.stem in moved]
    between = claim.words[min(places, default=0) : max(places, default=0) + 1]
    rest = [word for word in between if word.stem not in moved]
    return any(word.folded in joiners for word in rest) and not any(word.content for word in rest)


def replaced_terms(claim: Reading, evidence: Reading) -> Findings:
    """An open point for a word the evidence lacks that stands where the evidence has another.

    A replaced word is how a small falsification reads, and also how a synonym reads; no local check tells
    them apart.
    """
    mine, theirs = claim.terms, evidence.terms
    matcher = difflib.SequenceMatcher(None, mine, theirs, autojunk=False)
    for kind, left, right, low, high in matcher.get_opcodes():
        new = [term for term in mine[left:right] if term not in theirs and not _of_number(term, claim)]
        if kind == "replace" and new and high - low <= _LONGEST_REPLACED:
            claimed, held = _written(claim, mine[left:right]), _written(evidence, theirs[low:high])
            return Findings(open_points=(f"{claimed} instead of {held}",))
    return Findings()


def _of_number(term: str, claim: Reading) -> bool:
    """Whether a term is a figure or says "about": the checks of numbers see what those differ in."""
    approximations = lexicon(claim.language).approximations
    return term.startswith("=") or _written(claim, [term]) in approximations


def _written(reading: Reading, terms: Sequence[str]) -> str:
    """Terms as a reader knows them: whole words for stems, figures without their mark."""
    words = {word.stem: word.folded for word in reading.words}
    return " ".join(words.get(term, term.removeprefix("=")) for term in terms)


_LIKEWISE = words(
    """also likewise both same either and all each every neither även också likaså båda samma alla varje
    samt auch ebenfalls ebenso gleichfalls beide beiden selbe gleiche alle jede jeder"""
)
_WORDS_ALIKE = 3


def pieced_together(claim: Reading, evidence: Reading) -> Findings:
    """One sentence says the claim of something else, and what the claim says it of stands in another.

    "A is broken. B is hot." does not say that A is hot. Where a sentence says that it holds likewise
    ("also", "both"), nothing is found: it may.
    """
    spans = split_sentences(evidence.text, evidence.language)
    if len(spans) < 2 or any(word.folded in _LIKEWISE for word in evidence.words):
        return Findings()
    sentences = [read(evidence.text[start:end], evidence.language) for start, end in spans]
    if any(claim.repeats(one) for one in sentences):
        return Findings()
    for place, one in enumerate(sentences):
        others = {term for other in (*sentences[:place], *sentences[place + 1 :]) for term in other.terms}
        changed = laid_beside(claim, one)
        if changed is None or len(changed.replaced) != 1 or changed.equal < _WORDS_ALIKE:
            continue
        own, other = changed.replaced[0]
        borrowed = set(read(own.text, claim.language).terms)
        if own.content and other.content and borrowed and borrowed <= others and changed.rest == 0:
            return Findings((f"{own.text} instead of {other.text}",))
    return Findings()
