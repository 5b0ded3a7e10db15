"""Numbers of a text: digits, number words, scales, units, ordinals, versions, and numbers spelled out.

Holding a claim's numbers against the evidence is `quantities.py`; dates are `dates.py`.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import any_of_all, lexicon
from qa_pipeline.text.words import Occupied, first_runs, written_words
from qa_pipeline.verification.consistency.units import Unit, unit_after, unit_before

Spelled = tuple[int, int, float]
"""Start, end and value."""


def find_spelled(text: str, language: str) -> list[Spelled]:
    """Return the spelled numbers above 99 and fractions of `text`, in order of place."""
    lowered = text.casefold()  # few texts hold such a word, and patterns of many words are slow to try
    spelled: list[Spelled] = []
    large = lexicon(language).large_numbers
    if any(part in lowered for part in large.parts):
        spelled += _fractions(text, language)
    if any(scale in lowered for scale in (*large.hundreds, *large.thousands)):
        spelled += _large(text, language)
    return sorted(spelled)


def _large(text: str, language: str) -> Iterator[Spelled]:
    """Yield numbers built with words for hundred and thousand; a lone scale word is left to `numbers.py`."""
    vocabulary = lexicon(language)
    for match in _large_pattern(vocabulary.code).finditer(text):
        parts = re.split(r"[\s-]+", match[0].casefold())
        words = [
            word
            for part in parts
            if part != vocabulary.large_numbers.link
            for word in _split(part, vocabulary)
        ]
        if len(words) > 1:
            value = _value(words, vocabulary)
            if value is not None:
                yield match.start(), match.end(), value


@functools.cache
def _large_pattern(code: str) -> re.Pattern[str]:
    vocabulary = lexicon(code)
    large = vocabulary.large_numbers
    words = [
        word
        for word, value in vocabulary.numbers.items()
        if value % 1 == 0 and value < 100 and word.isalpha() and word not in large.apart
    ]
    scales = (*large.hundreds, *large.thousands, *large.respelt)
    names = "|".join(sorted((*words, *scales), key=len, reverse=True))
    link = large.link
    if not large.joined:
        return re.compile(rf"(?<!\w)(?:{names})(?:(?:[ -]| {link} )(?:{names}))+(?!\w)", re.IGNORECASE)
    first = "|".join((*large.respelt, rf"(?:{names})(?:{link})?(?:{names})"))
    joined = rf"(?:{first})(?:(?:{link})?(?:{names}))*"
    return re.compile(rf"(?<!\w){joined}(?:[ ](?:{joined}|{names}))*(?!\w)", re.IGNORECASE)


def _split(part: str, vocabulary: Lexicon) -> list[str]:
    """Return the number words a compound is made of; `und` between unit and ten falls away."""
    large = vocabulary.large_numbers
    if not large.joined:
        return [part]
    names = sorted((*vocabulary.numbers, *large.hundreds, *large.thousands), key=len, reverse=True)
    parts: list[str] = []
    rest = part
    for short, full in large.respelt.items():
        rest = rest.replace(short, full)
    while rest:
        name = next((name for name in names if rest.startswith(name)), None)
        if name is None:
            rest = rest.removeprefix(large.link) if rest.startswith(large.link) else ""
            continue
        parts.append(name)
        rest = rest[len(name) :]
    return parts


def _value(words: list[str], vocabulary: Lexicon) -> float | None:
    """Return the sum of thousands, hundreds and the rest; None where no scale word is among them."""
    hundreds, thousands = vocabulary.large_numbers.hundreds, vocabulary.large_numbers.thousands
    if not any(word in hundreds or word in thousands for word in words):
        return None
    total = current = 0.0
    for word in words:
        if word in hundreds:
            current = max(current, 1.0) * 100
        elif word in thousands:
            total, current = total + max(current, 1.0) * 1000, 0.0
        else:
            current += vocabulary.numbers.get(word, 0)
    return total + current


def _fractions(text: str, language: str) -> Iterator[Spelled]:
    vocabulary = lexicon(language)
    large = vocabulary.large_numbers
    for match in _fraction_pattern(vocabulary.code).finditer(text):
        count = match[1].casefold()
        of = 1.0 if count in large.ones else float(vocabulary.numbers.get(count, 1))
        part = match[2].casefold().removesuffix(large.plural or "\0")
        yield match.start(), match.end(), of / large.parts[part]


@functools.cache
def _fraction_pattern(code: str) -> re.Pattern[str]:
    vocabulary = lexicon(code)
    large = vocabulary.large_numbers
    counts = "|".join(
        (*large.ones, *(w for w, n in vocabulary.numbers.items() if 2 <= n <= 9 and n % 1 == 0))
    )
    part = rf"(?:{'|'.join(large.parts)})(?:{large.plural})?"
    return re.compile(rf"(?<!\w)({counts})[ -]({part})(?!\w){large.part_ends}", re.IGNORECASE)


Kind = Literal["cardinal", "ordinal", "version", "time"]

_VERSION = re.compile(
    r"(?<![\w.])v?(\d+(?:\.\d+){2,}(?:[-.]?(?:rc|a|b|alpha|beta)\d*)?)(?![\w]|\.\d)|(?<!\w)v(\d+(?:\.\d+)?)(?!\w)"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")
_TIME = re.compile(
    r"(?<![\w:])(\d{1,2})"
    r"(?::|\.(?=\d\d\s?(?:[ap]\.?m|uhr)\b)"  # 17:30, 5.30 pm, 17.30 Uhr
    r"|\.(?=\d\d\b)(?:(?<=klockan \d\.)|(?<=klockan \d\d\.)|(?<=kl\. \d\.)|(?<=kl\. \d\d\.)))"  # kl. 17.30
    r"(\d{2})(?::\d{2})?(?:\s?([ap])\.?m\b\.?)?(?![\w:])"
    r"|(?<![\w.,:])(\d{1,2})\s?([ap])\.?m\b\.?",  # 5 p.m.
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?<![\w.,])(\d+)" + any_of_all("ordinal_endings") + r"(?!\w)", re.IGNORECASE)
_DIGITS = re.compile(r"(?<![\w.,])[-−]?\d+")
_GROUPED = re.compile(r"\d{1,3}(?:[\u00a0\u2009\u202f’']\d{3})+(?:[.,]\d+)?")
_SPACED = re.compile(r"\d{1,3}(?: \d{3})+(?:,\d+)?(?! ?\d)")
_PLAIN = re.compile(r"\d+(?:[.,]\d+)*")
_LETTERED = re.compile(r"[^\W\d_]{1,3}(?![\w])|[ ][a-z](?=[ ](?:§|kap\b))")
"""Letters that belong to a number: bus 12b, 4 a §."""
_TRAILING_ZERO = re.compile(r"\d+\.\d*0")
_SCALE = re.compile(r"[ \u00a0-]?([^\W\d_]+)(\.?)")
_DIGIT = re.compile(r"\d")
_WORD_BEFORE = re.compile(r"(\w{1,20})[ -]$")
_HYPHENS = "-\u2010\u2011"


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: all values it can be read as (3.100 is two), and its unit if one is known."""

    kind: Kind
    values: tuple[float, ...]
    unit: Unit | None
    start: int
    end: int
    text: str
    as_word: bool = False
    version: str = ""

    @property
    def value(self) -> float:
        """Return the most likely reading, in the base unit of its dimension."""
        return self.unit.base(self.values[0]) if self.unit else self.values[0]


Finder = Callable[[str, str], list[Number]]


def find_numbers(text: str, language: str, taken: Sequence[tuple[int, int]] = ()) -> list[Number]:
    """Return the numbers of `text` outside the `taken` spans (dates), in order."""
    numbers: list[Number] = []
    used = Occupied(len(text), taken)
    for finder in _finders(text, language):
        for number in finder(text, language):
            if used.free(number.start, number.end):
                numbers.append(number)
                used.take(number.start, number.end)
    return sorted(numbers, key=lambda number: number.start)


def _finders(text: str, language: str) -> list[Finder]:
    """Return the finders that may match: most texts have no digit or no number word."""
    written = written_words(text)
    ordinal, cardinal = _number_words(language)
    digits = _DIGIT.search(text) is not None
    chances = (
        (_versions, digits),
        (_times, digits),
        (_spelled, True),
        (_ordinals, digits),
        (_named_ordinals, not written.isdisjoint(ordinal)),
        (_cardinals, digits),
        (_worded, not written.isdisjoint(cardinal)),
    )
    return [finder for finder, chance in chances if chance]


@functools.cache
def _number_words(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ordinals and cardinals as `written_words` has them."""
    vocabulary = lexicon(language)
    return first_runs(vocabulary.ordinals), first_runs((*vocabulary.numbers, *vocabulary.scales))


def _versions(text: str, language: str) -> list[Number]:
    return [
        Number("version", (0.0,), None, m.start(), m.end(), m[0], version=(m[1] or m[2]).casefold())
        for m in _VERSION.finditer(text)
        if not (lexicon(language).decimal_comma and _THOUSANDS.fullmatch(m[0]))
    ]


def _times(text: str, language: str) -> list[Number]:
    spans = []
    for match in _TIME.finditer(text):
        hour = int(match[1] or match[4])
        half = (match[3] or match[5] or "").casefold()
        if hour > 24 or int(match[2] or 0) > 59:
            continue
        hour = hour % 12 + (12 if half == "p" else 0) if half else hour
        minutes = float(hour * 60 + int(match[2] or 0))
        spans.append(Number("time", (minutes,), None, match.start(), match.end(), match[0]))
    return spans


def _spelled(text: str, language: str) -> list[Number]:
    return [
        _with_unit(text, language, start, end, (value,), as_word=True)
        for start, end, value in find_spelled(text, language)
    ]


def _ordinals(text: str, language: str) -> list[Number]:
    return [
        Number("ordinal", (float(m[1]),), None, m.start(), m.end(), m[0]) for m in _ORDINAL.finditer(text)
    ]


def _named_ordinals(text: str, language: str) -> list[Number]:
    vocabulary = lexicon(language)
    words = vocabulary.ordinals
    pattern = _word_pattern(frozenset(words))
    return [
        Number("ordinal", (float(words[m[0].casefold()]),), None, m.start(), m.end(), m[0], as_word=True)
        for m in pattern.finditer(text)
        if not _counted(text, m.start(), vocabulary)
    ]


def _counted(text: str, start: int, vocabulary: Lexicon) -> bool:
    """Return whether a number is before a word: "two seconds" is a unit then, "tre andra" no ordinal."""
    before = _WORD_BEFORE.search(text, max(0, start - 20), start)
    return before is not None and (before[1][-1].isdecimal() or before[1].casefold() in vocabulary.numbers)


def _cardinals(text: str, language: str) -> list[Number]:
    comma = lexicon(language).decimal_comma
    cardinals, position = [], 0
    while match := _DIGITS.search(text, position):
        start = match.start()
        negative = text[start] in "-−"
        at = start + negative
        body = (
            _GROUPED.match(text, at) or (_SPACED.match(text, at) if comma else None) or _PLAIN.match(text, at)
        )
        if body is None:
            position = match.end()
            continue
        sign = (
            -1.0
            if negative and not text[max(0, start - 4) : start].rstrip().endswith(tuple("0123456789"))
            else 1.0
        )
        values = tuple(sign * value for value in _readings(body[0], comma))
        cardinals.append(_labelled(_with_unit(text, language, start, body.end(), values), text, body[0]))
        position = cardinals[-1].end
    return cardinals


def _labelled(number: Number, text: str, digits: str) -> Number:
    """Return a number that is rather a name, as it is written: 12b, and 3.10, which is not 3.1."""
    if number.unit is not None or number.text != digits:
        return number
    letters = _LETTERED.match(text, number.end)
    if letters:
        name = text[number.start : letters.end()]
        return replace(number, end=letters.end(), text=name, version="".join(name.split()).casefold())
    return replace(number, version=digits) if _TRAILING_ZERO.fullmatch(digits) else number


def _readings(digits: str, comma: bool) -> list[float]:
    """Return the values of a digit string: the language's convention first, then the other if it fits."""
    bare = re.sub(r"[\u00a0\u2009\u202f’' ]", "", digits)
    marks = re.findall(r"[.,]", bare)
    if not marks:
        return [float(bare)]
    if len(set(marks)) == 2:
        point = max(bare.rfind("."), bare.rfind(","))
        return [float(re.sub(r"[.,]", "", bare[:point]) + "." + re.sub(r"[.,]", "", bare[point + 1 :]))]
    grouped = re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", bare) is not None
    value = float(re.sub(r"[.,]", "", bare))
    if len(marks) > 1:
        return [value]
    decimal = float(bare.replace(",", "."))
    if not grouped:
        return [decimal]
    return [value, decimal] if marks[0] == ("." if comma else ",") else [decimal, value]


def _with_unit(
    text: str, language: str, start: int, end: int, values: tuple[float, ...], *, as_word: bool = False
) -> Number:
    """Attach a scale word and a unit to a number that ends at `end`."""
    scale = _scale_after(text, end, language)
    if scale:
        values = tuple(value * scale[0] for value in values)
        end = scale[1]
    unit = unit_after(text, end)
    before = unit_before(text, start)
    stop = unit[1] if unit else end
    kind_unit = unit[0] if unit else before
    return Number("cardinal", values, kind_unit, start, stop, text[start:stop], as_word)


def _scale_after(text: str, end: int, language: str) -> tuple[float, int] | None:
    vocabulary = lexicon(language)
    match = _SCALE.match(text, end)
    if match and match[1].casefold() in vocabulary.scales:
        return vocabulary.scales[match[1].casefold()], match.end(1)
    return None


def _worded(text: str, language: str) -> list[Number]:
    """Return the number words; 1 is left out, because it is the article in all three languages."""
    vocabulary = lexicon(language)
    pattern = _word_pattern(frozenset(vocabulary.numbers) | frozenset(vocabulary.scales))
    numbers: list[Number] = []
    end = 0
    for match in pattern.finditer(text):
        if match.start() < end:
            continue
        value, stop = _compound(text, match, vocabulary.numbers, pattern)
        number = _with_unit(text, language, match.start(), stop, (value,), as_word=True)
        if abs(number.values[0]) != 1 or number.unit is not None:
            numbers.append(number)
            end = number.end
    return numbers


def _compound(
    text: str, match: re.Match[str], values: Mapping[str, float], pattern: re.Pattern[str]
) -> tuple[float, int]:
    """Return the value of a number word; the digit of "twenty-three" and lone scale words included."""
    value = float(values.get(match[0].casefold(), 1.0))
    stop = match.end() if match[0].casefold() in values else match.start()
    following = pattern.match(text, match.end() + 1)
    joined = text[match.end() : match.end() + 1] in (*_HYPHENS, " ")
    if (
        value >= 20
        and value % 10 == 0
        and following
        and joined
        and 0 < values.get(following[0].casefold(), 0) < 10
    ):
        return value + float(values[following[0].casefold()]), following.end()
    return value, stop


@functools.cache
def _word_pattern(words: frozenset[str]) -> re.Pattern[str]:
    names = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<![\w])(?:{names})(?!\w)", re.IGNORECASE)
