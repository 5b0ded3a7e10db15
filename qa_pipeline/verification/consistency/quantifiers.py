"""Quantifiers, bounds and obligations of a claim held against the evidence.

What belongs here: all, some, only, at least, at most, must, may, and conditions a claim leaves out. What does
not: plain negations (`polarity.py`) and the numbers themselves.
"""

import functools
import re
from collections.abc import Sequence, Set

from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.numbers import Number
from qa_pipeline.verification.consistency.quantities import equal
from qa_pipeline.verification.lexicon.language import lexicon
from qa_pipeline.verification.words import Token


def bound_findings(
    claim_text: str, claim: Sequence[Number], text: str, evidence: Sequence[Number], language: str
) -> Findings:
    """Hold bounds against each other: "at least 5" denies "at most 5", a bound on one side stays open."""
    conflicts: list[str] = []
    open_points: list[str] = []
    for number in claim:
        held = [other for other in evidence if equal(number, other)]
        if not held:
            continue
        exact = not is_approximate(claim_text, number, language)
        if exact and all(is_approximate(text, other, language) for other in held):
            open_points.append(f"{number.text}: the evidence gives it as approximate")
        mine = bound_of(claim_text, number, language)
        theirs = {bound_of(text, other, language) for other in held}
        if mine in theirs:
            continue
        other = max(theirs)
        words = f"{number.text}: {_WORDS[mine]} in the claim, {_WORDS[other]} in the evidence"
        (conflicts if mine and other else open_points).append(words)
    return Findings(tuple(conflicts), tuple(open_points))


_WORDS = {"": "exact", "lower": "a lower bound", "upper": "an upper bound"}


def bound_of(text: str, number: Number, language: str) -> str:
    """`lower`, `upper` or nothing: what the words directly around a number make of it."""
    lower, upper, _ = _bound_patterns(language)
    before, after = text[max(0, number.start - 40) : number.start], text[number.end : number.end + 30]
    for name, (lead, trail) in (("upper", upper), ("lower", lower)):
        if lead.search(before) or trail.match(after):
            return name
    return ""


def is_approximate(text: str, number: Number, language: str) -> bool:
    """Whether a word such as "about" stands before the number."""
    _, _, approximate = _bound_patterns(language)
    return approximate.search(text[max(0, number.start - 25) : number.start]) is not None


_TRAILING = ("or", "and", "eller", "och", "oder", "und", "som")
_ALONE = ("minst", "högst", "maximum", "minimum")


@functools.cache
def _bound_patterns(
    language: str,
) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], tuple[re.Pattern[str], re.Pattern[str]], re.Pattern[str]]:
    known = lexicon(language)

    def lead(phrases: Sequence[str]) -> re.Pattern[str]:
        names = "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))
        return re.compile(
            rf"(?<!\w)(?:{names})\W{{0,3}}(?:(?:of|a|the|till|på|von|auf|zu)\s)?$", re.IGNORECASE
        )

    def trail(phrases: Sequence[str]) -> re.Pattern[str]:
        names = "|".join(
            re.escape(p) for p in phrases if p.split()[0] in _TRAILING or (" " not in p and p in _ALONE)
        )
        return re.compile(rf"\s*(?:\w+\s)?(?:{names})(?!\w)", re.IGNORECASE)

    return (
        (lead(known.lower_bounds), trail(known.lower_bounds)),
        (lead(known.upper_bounds), trail(known.upper_bounds)),
        lead(known.approximations),
    )


def quantifier_findings(claim: Sequence[Token], evidence: Sequence[Token], language: str) -> Findings:
    """All against some, must against may, an added "only", a condition left out.

    All for some and must for may is a conflict. What is only added or left out stays open, since a
    paraphrase may carry it in other words.
    """
    known = lexicon(language)
    mine, theirs = {t.folded for t in claim}, {t.folded for t in evidence}
    conflicts, open_points = [], []
    for strong, weak in ((known.universal, known.partial), (known.strong, known.weak)):
        conflicts += _flipped(mine, theirs, strong, weak) or _flipped(mine, theirs, weak, strong)
        if strong is not known.strong or not (_negated(claim) and _negated(evidence)):
            open_points += _added(mine, theirs, strong)
    open_points += _added(mine, theirs, known.exclusive)
    said, held = _line(claim), _line(evidence)
    left_out = [one for one in known.conditions if f" {one} " in held and f" {one} " not in said]
    open_points += [f'the evidence has "{one}", the claim does not' for one in left_out[:1]]
    open_points += [
        f'the evidence has "{word}", the claim does not'
        for word in sorted((theirs & known.partial) - mine)[:1]
    ]
    if claim and {t.folded for t in claim[:1]} & known.polarity_answers:
        open_points.append("a yes or no can only be read with its question")
    return Findings(tuple(conflicts), tuple(open_points))


def _negated(tokens: Sequence[Token]) -> bool:
    """Must not and do not oblige alike, so an obligation is nothing added beside a negation."""
    return any(token.negative for token in tokens)


def _line(tokens: Sequence[Token]) -> str:
    return f" {' '.join(token.folded for token in tokens)} "


def _flipped(mine: Set[str], theirs: Set[str], ours: Set[str], opposite: Set[str]) -> list[str]:
    said, denied = mine & ours, theirs & opposite
    if said and denied and not mine & opposite and not theirs & ours:
        return [f"{min(said)}: the evidence says {min(denied)}"]
    return []


def _added(mine: Set[str], theirs: Set[str], group: Set[str]) -> list[str]:
    return [f"{word}: not said in the evidence" for word in sorted(mine & group)[:1] if not theirs & group]
