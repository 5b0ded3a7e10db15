"""Numbers of a claim held against those of the evidence: value, unit, rounding, bounds, what they stand with.

Reading numbers is `numbers.py`.
"""

import functools
import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.words import Token, nearest_word
from qa_pipeline.verification.consistency.dates import Date
from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.numbers import Number
from qa_pipeline.verification.consistency.reading import Reading

_SMALL_COUNT = 12
_HALF_DEGREE = 0.56
"""Half a degree Fahrenheit and a little in the base unit, so that scales converted to whole degrees agree."""


def number_findings(
    claim: Reading, evidence: Reading, headings: Reading, elsewhere: Sequence[Reading]
) -> Findings:
    """Hold each number of the claim against the evidence and its headings; `elsewhere` is the rest cited.

    A number the evidence lacks is a conflict when the evidence has another number of its kind in its place,
    or when nothing cited has it. It stays open when it stands elsewhere in what is cited, or when it is a
    small count in words ("three options") that a reader may have counted himself. A number without unit is
    in another's place when the same word stands before or after both ("Filter 2", "Filter 3").
    """
    conflicts: list[str] = []
    open_points: list[str] = []
    near = [*evidence.numbers, *_as_numbers(evidence.dates), *headings.numbers]
    shared = _stems(claim.words) & _stems(evidence.words)
    unclaimed = [other for other in near if not any(equal(own, other) for own in claim.numbers)]
    between = [] if ranges(claim) else ranges(evidence)
    for number in claim.numbers:
        renamed = _other_unit(number, near)
        if renamed:
            conflicts.append(f"{number.text} instead of {renamed.text}")
        if renamed or any(equal(number, other) for other in near):
            continue
        nearly = _nearly(claim, number, near, between)
        if nearly is not None:
            open_points += [nearly] if nearly else []
            continue
        beside = nearest_word(number.start, number.end, claim.words, shared)
        placed = [
            other
            for other in unclaimed
            if comparable(number, other)
            and (
                number.unit
                or (beside and beside == nearest_word(other.start, other.end, evidence.words, shared))
            )
        ]
        counted = number.kind == "cardinal" and number.unit is None and abs(number.value) <= _SMALL_COUNT
        if placed:
            conflicts.append(f"{number.text} instead of {placed[0].text}")
        elif any(equal(number, other) for one in elsewhere for other in one.numbers):
            open_points.append(f"{number.text} is elsewhere in the cited passages")
        elif (counted and number.as_word) or number.kind == "ordinal":
            open_points.append(f"{number.text} is not written in the evidence")
        else:
            conflicts.append(f"{number.text} is not in the evidence")
    return Findings(tuple(conflicts), tuple(open_points)) + _swapped(claim, evidence)


def _as_numbers(dates: Sequence[Date]) -> list[Number]:
    """Years: the claim may have them as plain numbers."""
    return [
        Number("cardinal", (float(date.year),), None, date.start, date.end, date.text)
        for date in dates
        if date.year is not None and date.month is None
    ]


def _nearly(
    claim: Reading, number: Number, evidence: Sequence[Number], between: Sequence[tuple[float, float]]
) -> str | None:
    """What a number of the claim is of the evidence's: rounded, a bound, or within a range.

    Empty where it is one of these and nothing stays open, None where it is none.
    """
    rounded, bound = is_approximate(claim, number), bound_of(claim, number)
    if any(rounds_to(number, other, rounded) for other in evidence):
        return "" if rounded or number.scaled else f"{number.text} is a rounded figure"
    if any(within(number, other, bound) for other in evidence):
        return f"{number.text} is a bound of a figure in the evidence"
    if any(low <= number.value <= high for low, high in between):
        return f"{number.text} lies in a range of the evidence"
    return None


def _other_unit(number: Number, evidence: Sequence[Number]) -> Number | None:
    """The evidence's same figure with another unit, where it nowhere has the claim's amount with a unit.

    A bare figure of the evidence ("both", "3 §") must not stand in for the amount.
    """
    measured = [other for other in evidence if other.unit]
    if not number.unit or any(equal(number, other) for other in measured):
        return None
    same = (other for other in measured if set(other.values) & set(number.values))
    return next((other for other in same if other.unit != number.unit), None)


def _stems(words: Sequence[Token]) -> set[str]:
    """Stems of content words; digit groups are numbers and no context of one."""
    return {word.stem for word in words if word.content and not word.folded[0].isdigit()}


def ranges(reading: Reading) -> list[tuple[float, float]]:
    """Ranges such as 10–20 days, "between 10 and 20", "10 bis 20", in base units."""
    text = reading.text
    return [
        _bounds_of(low, high)
        for low, high in pairwise(reading.numbers)
        if _RANGE.fullmatch(text[low.end : high.start])
        and (low.unit is None or low.unit == high.unit)
        and low.values[0] < high.values[0]
        and (text[low.end : high.start].strip() not in _AND or _BETWEEN.search(text[: low.start]))
    ]


_RANGE = re.compile(r"\s?(?:[-–—]|to|till|bis|and|och|und)\s?", re.IGNORECASE)
_AND = ("and", "och", "und")
_BETWEEN = re.compile(r"\b(?:between|mellan|zwischen)\s$", re.IGNORECASE)


def _bounds_of(low: Number, high: Number) -> tuple[float, float]:
    """Both ends; the lower one has the unit that is written after the upper one."""
    unit = high.unit
    return (unit.base(low.values[0]) if unit else low.values[0]), high.value


def comparable(left: Number, right: Number) -> bool:
    """Whether two numbers could stand in each other's place: same kind, and same or no dimension."""
    if left.kind != right.kind:
        return False
    if left.unit is None or right.unit is None:
        return left.unit is right.unit
    return left.unit.dimension == right.unit.dimension


def equal(left: Number, right: Number) -> bool:
    """Whether two numbers are the same amount, units converted; a missing unit is not held against it.

    25 % is 0.25 and a quarter. Degrees of no named scale are those of any.
    """
    if left.kind == "version" or right.kind == "version":
        return left.kind == right.kind and left.version == right.version
    if left.kind != right.kind:
        return False
    if left.unit and right.unit and left.unit.dimension != right.unit.dimension:
        return {left.unit.dimension, right.unit.dimension} == _DEGREES and left.values == right.values
    if left.unit and right.unit:
        mine, theirs = [left.unit.base(a) for a in left.values], [right.unit.base(b) for b in right.values]
    else:
        mine, theirs = _in_hundred(left, right), _in_hundred(right, left)
    return any(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a in mine for b in theirs)


_DEGREES = {"degrees", "temperature"}


def _in_hundred(number: Number, other: Number) -> list[float]:
    """Values of a number; of a part below 1 beside a percentage, in hundredths too."""
    parts = [100 * value for value in number.values if 0 < value < 1]
    percent = other.unit is not None and other.unit.dimension == "percent" and number.unit is None
    return [*number.values, *(parts if percent else [])]


def rounds_to(number: Number, exact: Number, approximate: bool) -> bool:
    """Whether `exact` rounds to `number` at the digits it is written with, or is within 5 % of an "about"."""
    if number.kind != "cardinal" or not comparable(number, exact) or not exact.value or not number.value:
        return False
    if number.unit and exact.unit and number.unit.dimension == "temperature" and number.unit != exact.unit:
        return abs(number.value - exact.value) <= _HALF_DEGREE
    if approximate:
        return abs(number.value - exact.value) <= 0.05 * abs(exact.value)
    if abs(number.value) < 10 and not number.scaled:
        return False
    return math.isclose(_rounded(exact.value, _digits(number)), number.value, rel_tol=1e-9)


def within(number: Number, exact: Number, bound: str) -> bool:
    """Whether a figure of the evidence lies within the bound the claim makes of a number."""
    if not bound or not comparable(number, exact):
        return False
    return exact.value >= number.value if bound == "lower" else exact.value <= number.value


def _digits(number: Number) -> int:
    """Significant digits of the value as written."""
    mantissa = f"{abs(number.values[0]):.12g}".replace(".", "").lstrip("0")
    return max(1, len(mantissa.rstrip("0")))


def _rounded(value: float, digits: int) -> float:
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def _swapped(claim: Reading, evidence: Reading) -> Findings:
    """Two numbers of the claim that both stand in the evidence, each with the other's words.

    A number's words are the content words nearest to it that claim and evidence share and have once each.
    """
    once = _once(claim.words) & _once(evidence.words)
    held = [(own, other) for own in claim.numbers for other in evidence.numbers if equal(own, other)]
    here = {own.start: nearest_word(own.start, own.end, claim.words, once) for own, _ in held}
    there = {other.start: nearest_word(other.start, other.end, evidence.words, once) for _, other in held}
    held = [(own, other) for own, other in held if here[own.start] and there[other.start]]
    for at, (own, other) in enumerate(held):
        for second, second_other in held[at + 1 :]:
            mine, its = here[own.start], here[second.start]
            crossed = mine == there[second_other.start] and its == there[other.start]
            if mine and its and mine != its and crossed and not equal(own, second):
                return Findings((f"{own.text} and {second.text} are exchanged",))
    return Findings()


def _once(words: Sequence[Token]) -> set[str]:
    stems = Counter(word.stem for word in words if word.content and not word.folded[0].isdigit())
    return {stem for stem, count in stems.items() if count == 1}


def bound_findings(claim: Reading, evidence: Reading) -> Findings:
    """Hold bounds against each other: "at least 5" denies "at most 5", a bound on one side stays open."""
    conflicts: list[str] = []
    open_points: list[str] = []
    for number in claim.numbers:
        held = [other for other in evidence.numbers if equal(number, other)]
        if not held:
            continue
        exact = not is_approximate(claim, number)
        if exact and all(is_approximate(evidence, other) for other in held):
            open_points.append(f"{number.text}: the evidence gives it as approximate")
        mine = bound_of(claim, number)
        theirs = {bound_of(evidence, other) for other in held}
        if mine in theirs:
            continue
        other = max(theirs)
        words = f"{number.text}: {_WORDS[mine]} in the claim, {_WORDS[other]} in the evidence"
        (conflicts if mine and other else open_points).append(words)
    return Findings(tuple(conflicts), tuple(open_points))


_WORDS = {"": "exact", "lower": "a lower bound", "upper": "an upper bound"}


def bound_of(reading: Reading, number: Number) -> str:
    """`lower`, `upper` or nothing: what the words directly around a number make of it."""
    lower, upper, _ = _bound_patterns(reading.language)
    text = reading.text
    before, after = text[max(0, number.start - 40) : number.start], text[number.end : number.end + 30]
    for name, (lead, trail) in (("upper", upper), ("lower", lower)):
        if lead.search(before) or trail.match(after):
            return name
    return ""


def is_approximate(reading: Reading, number: Number) -> bool:
    """Whether a word such as "about" stands before the number."""
    _, _, approximate = _bound_patterns(reading.language)
    return approximate.search(reading.text[max(0, number.start - 25) : number.start]) is not None


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
