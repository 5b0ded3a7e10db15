"""Numbers of a claim held against those of the evidence: value, unit, rounding, and what they stand with.

What belongs here: which numbers the evidence denies or does not hold, and numbers that changed places. What
does not: reading numbers (`numbers.py`), bounds such as "at least" (`quantifiers.py`).
"""

import math
from collections.abc import Sequence

from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.numbers import Number
from qa_pipeline.verification.words import Token

_SMALL_COUNT = 12


def number_findings(
    claim: Sequence[Number],
    evidence: Sequence[Number],
    elsewhere: Sequence[Number],
    *,
    approximate: Sequence[bool],
    claim_words: Sequence[Token],
    words: Sequence[Token],
) -> Findings:
    """Hold each number of the claim against the evidence; `elsewhere` is the rest of what is cited.

    A number the evidence lacks is a conflict when the evidence has another number of its kind in its place,
    or when nothing cited has it. It stays open when it stands elsewhere in what is cited, or when it is a
    small count in words ("three options") that a reader may have counted himself. A number without unit is
    in another's place when the same word stands before or after both ("Filter 2", "Filter 3").
    """
    conflicts: list[str] = []
    open_points: list[str] = []
    unclaimed = [other for other in evidence if not any(equal(own, other) for own in claim)]
    for number, rounded in zip(claim, approximate, strict=True):
        if any(equal(number, other) for other in evidence):
            continue
        if any(rounds_to(number, other, rounded) for other in evidence):
            if not (rounded or number.scaled):
                open_points.append(f"{number.text} is a rounded figure")
            continue
        rivals = [other for other in unclaimed if comparable(number, other)]
        beside = _beside(number, claim_words)
        placed = [other for other in rivals if number.unit or beside & _beside(other, words)]
        counted = number.kind == "cardinal" and number.unit is None and abs(number.value) <= _SMALL_COUNT
        if placed:
            conflicts.append(f"{number.text}: the evidence says {placed[0].text}")
        elif any(equal(number, other) for other in elsewhere):
            open_points.append(f"{number.text} stands elsewhere in the cited passages")
        elif counted and number.as_word:
            open_points.append(f"{number.text} is not written in the evidence")
        else:
            conflicts.append(f"{number.text}: not in the evidence")
    return Findings(tuple(conflicts), tuple(open_points))


def _beside(number: Number, words: Sequence[Token]) -> set[str]:
    """Stems of the content word directly before the number and the one directly after it."""
    before = [word.stem for word in words if word.content and word.end <= number.start]
    after = [word.stem for word in words if word.content and word.start >= number.end]
    return {*before[-1:], *after[:1]}


def comparable(left: Number, right: Number) -> bool:
    """Whether two numbers could stand in each other's place: same kind, and same or no dimension."""
    if left.kind != right.kind:
        return False
    if left.unit is None or right.unit is None:
        return left.unit is right.unit
    return left.unit.dimension == right.unit.dimension


def equal(left: Number, right: Number) -> bool:
    """Whether two numbers are the same amount, units converted; a missing unit is not held against it."""
    if left.kind == "version" or right.kind == "version":
        return left.kind == right.kind and left.version == right.version
    if left.kind != right.kind:
        return False
    if left.unit and right.unit and left.unit.dimension != right.unit.dimension:
        return False
    both = bool(left.unit and right.unit)
    return any(
        math.isclose(a * _factor(left, both), b * _factor(right, both), rel_tol=1e-9, abs_tol=1e-12)
        for a in left.values
        for b in right.values
    )


def rounds_to(number: Number, exact: Number, approximate: bool) -> bool:
    """Whether `exact` rounds to `number` at the digits it is written with, or is within 5 % of an "about"."""
    if number.kind != "cardinal" or not comparable(number, exact) or not exact.value or not number.value:
        return False
    if approximate:
        return abs(number.value - exact.value) <= 0.05 * abs(exact.value)
    if abs(number.value) < 10 and not number.scaled:
        return False
    return math.isclose(_rounded(exact.value, _digits(number)), number.value, rel_tol=1e-9)


def _factor(number: Number, both: bool) -> float:
    return number.unit.factor if both and number.unit else 1.0


def _digits(number: Number) -> int:
    """Significant digits of the value as written."""
    mantissa = f"{abs(number.values[0]):.12g}".replace(".", "").lstrip("0")
    return max(1, len(mantissa.rstrip("0")))


def _rounded(value: float, digits: int) -> float:
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def swapped_numbers(
    claim: Sequence[Number], claim_words: Sequence[Token], evidence: Sequence[Number], words: Sequence[Token]
) -> Findings:
    """Two numbers of the claim that both stand in the evidence, each with the other's words.

    A number's words are the content words nearest to it that claim and evidence share and have once each.
    """
    once = _once(claim_words) & _once(words)
    held = [(own, other) for own in claim for other in evidence if equal(own, other)]
    here = {own.start: _nearest(own, claim_words, once) for own, _ in held}
    there = {other.start: _nearest(other, words, once) for _, other in held}
    for at, (own, other) in enumerate(held):
        for second, second_other in held[at + 1 :]:
            mine, its = here[own.start], here[second.start]
            crossed = mine == there[second_other.start] and its == there[other.start]
            if mine and its and mine != its and crossed and not equal(own, second):
                return Findings((f"{own.text} and {second.text} have changed places",))
    return Findings()


def _once(words: Sequence[Token]) -> set[str]:
    stems = [word.stem for word in words if word.content and not word.folded[0].isdigit()]
    return {stem for stem in stems if stems.count(stem) == 1}


def _nearest(number: Number, words: Sequence[Token], allowed: set[str]) -> str | None:
    """Stem of the nearest allowed word, one before the number winning a tie."""
    near = [
        (
            (number.start - word.end, 0) if word.end <= number.start else (word.start - number.end, 1),
            word.stem,
        )
        for word in words
        if word.stem in allowed and (word.end <= number.start or word.start >= number.end)
    ]
    return min(near)[1] if near else None
