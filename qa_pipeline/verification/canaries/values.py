"""Canaries of values: numbers, dates, units and table cells, changed to deny the sentence or to repeat it.

The lists here are the generators' own, so that no blind spot of the checks hides in them. A bound moves only
the way that denies it: "at least 10" says nothing against "at least 9".
"""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Literal

from qa_pipeline.verification.canaries.material import (
    Generator,
    Material,
    Sentence,
    numerals,
    on_text,
    replaced,
)
from qa_pipeline.verification.canaries.statements import number_words

Direction = Literal["any", "up", "down", "none"]
"""How a number must move to be denied: `up` for a lower bound, `down` for an upper one, `none` not at all."""

_LOWER = re.compile(
    r"(?:at least|more than|greater than|no less than|minimum|minst|mer än|fler än|lägst|överstig\w+|"
    r"mindestens|wenigstens|mehr als|über|over|above|exceeds?|exceeding)\W+(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)
_UPPER = re.compile(
    r"(?:at most|up to|less than|fewer than|no more than|not more than|maximum(?: of)?|within|under|below|"
    r"högst|upp till|mindre än|färre än|inom|understig\w+|höchstens|maximal|bis zu|weniger als|unter|"
    r"unterhalb von|innerhalb von|smaller than|lower than)\W+(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)
_GUESS = re.compile(
    r"(?:about|around|approximately|roughly|nearly|almost|some|circa|cirka|ungefär|omkring|nästan|etwa|"
    r"ungefähr|rund|fast|knapp|ca\.?|~|only|bara|endast|nur|before|after|since|until|by|through|"
    r"senast|före|efter|sedan|till och med|intill|tidigast|bis|vor|nach|seit|spätestens|ab|från|from|"
    r"till|to|and|och|und|between|mellan|zwischen|prior to|than|än|als|fyllt)\W+(?:\w{1,3}\W+){0,1}$",
    re.IGNORECASE,
)
_TRAIL = re.compile(
    r"\W{0,2}(?:\w{1,40}\W)?(?:or more|or less|or later|or higher|or newer|or older|or above|or below|"
    r"or earlier|and later|and above|and earlier|eller mer|eller fler|eller senare|eller högre|eller lägre|"
    r"oder mehr|oder höher|oder neuer|oder später|und höher|und neuer|\+)",
    re.IGNORECASE,
)

_NEGATION = re.compile(
    r"\b(?:not|never|no|cannot|inte|ej|icke|aldrig|nicht|kein\w*|nie)\b|n['’]t\b", re.IGNORECASE
)


def direction(text: str, start: int, end: int) -> Direction:
    """Which way the number from start to end must move for the sentence to be denied."""
    before, after = text[max(0, start - 40) : start], text[end : end + 25]
    lower, upper = _LOWER.search(before), _UPPER.search(before)
    turned = (lower or upper) and _NEGATION.search(text[:start])
    if turned or _TRAIL.match(after) or (_GUESS.search(before) and not lower and not upper):
        return "none"
    if lower:
        return "up"
    return "down" if upper else "any"


def denies(old: float, new: float, way: Direction) -> bool:
    """Whether a number in place of another contradicts the sentence."""
    if old == new or way == "none":
        return False
    return way == "any" or (new > old if way == "up" else new < old)


_NUMBER = re.compile(r"(?<![\w.,:/#+@~^-])\d{1,6}(?:[.,]\d{1,4})?(?![\w:/@^+-]|[.,]\d|\.\s?[a-zåäöü]|['’]s)")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_MONTH = re.compile(
    r"[^\w]{1,2}(?:jan|feb|mar|apr|maj|may|mai|jun|jul|aug|sep|okt|oct|nov|dec|dez|mär)", re.IGNORECASE
)


def find(text: str) -> list[re.Match[str]]:
    """Numbers of a sentence that are no year and no day of a month."""
    return [
        found
        for found in _NUMBER.finditer(text)
        if not _YEAR.fullmatch(found[0]) and not _MONTH.match(text, found.end())
    ]


def _value(written: str) -> float:
    return float(written.replace(",", "."))


def _denying(sentence: Sentence, material: Material, found: re.Match[str], new: str) -> Iterator[str]:
    """The sentence with another number, unless its passage has that number too or it changes nothing."""
    way = direction(sentence.text, found.start(), found.end())
    bare = re.sub(r"[.,]", "", new)
    if denies(_value(found[0]), _value(new), way) and bare not in numerals(
        material.chunks[sentence.chunk_id]
    ):
        yield replaced(sentence.text, found, new)


def digit_changed(sentence: Sentence, material: Material) -> Iterator[str]:
    """One digit becomes another."""
    for found in find(sentence.text):
        places = [place for place, letter in enumerate(found[0]) if letter.isdigit()]
        key = (sentence.text, str(found.start()), "digit")
        place = places[int(material.pick([str(i) for i in range(len(places))], *key))]
        low = 1 if place == 0 else 0
        others = [str(digit) for digit in range(low, 10) if str(digit) != found[0][place]]
        new = found[0][:place] + material.pick(others, *key, "to") + found[0][place + 1 :]
        yield from _denying(sentence, material, found, new)


def digits_transposed(sentence: Sentence, material: Material) -> Iterator[str]:
    """Two neighbouring digits change places."""
    for found in find(sentence.text):
        old = found[0]
        for place in range(len(old) - 1):
            left, right = old[place], old[place + 1]
            if left.isdigit() and right.isdigit() and left != right and not (place == 0 and right == "0"):
                new = old[:place] + right + left + old[place + 2 :]
                yield from _denying(sentence, material, found, new)
                break


def magnitude_shifted(sentence: Sentence, material: Material) -> Iterator[str]:
    """A zero more, or one less where there is one."""
    for found in find(sentence.text):
        old = found[0]
        if old.isdigit() and int(old):
            longer = material.pick(["longer", "shorter"], sentence.text, str(found.start()), "zero")
            new = old[:-1] if len(old) > 1 and old.endswith("0") and longer == "shorter" else f"{old}0"
            yield from _denying(sentence, material, found, new)


def other_number(sentence: Sentence, material: Material) -> Iterator[str]:
    """Another number of the same document, of the same shape."""
    there = find(material.document(sentence.document_id))
    for found in find(sentence.text):
        shape = ("." in found[0], "," in found[0])
        alike = sorted(
            {one[0] for one in there if ("." in one[0], "," in one[0]) == shape and one[0] != found[0]}
        )
        if alike:
            new = material.pick(alike, sentence.text, str(found.start()), "other")
            yield from _denying(sentence, material, found, new)


_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
}
_YEAR_WRITTEN = re.compile(r"(?<![\w.,:/#§-])(1[5-9]\d\d|20\d\d)(?![\w:/-]|[.,]\d|\s?(?:§|kr|%))")
_DAYS = 28


def _months(language: str) -> list[str]:
    return _MONTHS[language].split()


def _month(language: str) -> re.Pattern[str]:
    names = "|".join(_months(language))
    return re.compile(rf"(?<!\w)(?:(\d{{1,2}})(?:st|nd|rd|th|\.)?\s)?({names})\b(?=\s(\d{{1,2}})?(?!\d))?")


def _free(text: str, start: int, end: int) -> bool:
    """Whether the date is no bound such as "until", which another date may not deny."""
    return direction(text, start, end) == "any"


def year_changed(sentence: Sentence, material: Material) -> Iterator[str]:
    """A year becomes one up to nine away from it."""
    held = numerals(material.chunks[sentence.chunk_id])
    for found in _YEAR_WRITTEN.finditer(sentence.text):
        if _free(sentence.text, *_whole(sentence, found)):
            years = [str(int(found[1]) + step) for step in range(-9, 10) if step]
            new = material.pick(years, sentence.text, str(found.start()), "year")
            if new not in held:
                yield replaced(sentence.text, found, new, 1)


def _whole(sentence: Sentence, year: re.Match[str]) -> tuple[int, int]:
    """The span of the whole date a year belongs to."""
    for found in _month(sentence.language).finditer(sentence.text):
        if 0 <= year.start() - found.end() <= 2:
            return found.start(), year.end()
    return year.span()


def other_year(sentence: Sentence, material: Material) -> Iterator[str]:
    """Another year of the same document that the passage does not name."""
    held = numerals(material.chunks[sentence.chunk_id])
    there = {found[1] for found in _YEAR_WRITTEN.finditer(material.document(sentence.document_id))}
    others = sorted(there - held)
    for found in _YEAR_WRITTEN.finditer(sentence.text):
        if others and _free(sentence.text, *_whole(sentence, found)):
            new = material.pick(others, sentence.text, str(found.start()), "other year")
            yield replaced(sentence.text, found, new, 1)


def month_changed(sentence: Sentence, material: Material) -> Iterator[str]:
    """A month becomes another that the sentence does not name."""
    for found in _month(sentence.language).finditer(sentence.text):
        dated = found[1] or re.match(r" (?:\d{1,2}|\d{4})\b", sentence.text[found.end() :])
        if dated and _free(sentence.text, found.start(), found.end()):
            others = [name for name in _months(sentence.language) if name not in sentence.text]
            new = material.pick(others, sentence.text, str(found.start()), "month")
            yield replaced(sentence.text, found, new, 2)


def day_changed(sentence: Sentence, material: Material) -> Iterator[str]:
    """The day of a month becomes another."""
    for found in _month(sentence.language).finditer(sentence.text):
        if found[1] and _free(sentence.text, found.start(), found.end()):
            others = [str(day) for day in range(1, _DAYS + 1) if str(day) not in numerals(sentence.text)]
            new = material.pick(others, sentence.text, str(found.start()), "day")
            yield replaced(sentence.text, found, new, 1)


# One dimension a line, smallest first: `singular/plural=size`; forms that do not change are written once.
_UNITS: Mapping[str, tuple[str, ...]] = {
    "en": (
        "millisecond/milliseconds=1 second/seconds=1e3 minute/minutes=6e4 hour/hours=3.6e6",
        "day/days=1 week/weeks=7",
        "month/months=1 year/years=12",
        "byte/bytes=1 kilobyte/kilobytes=1e3 megabyte/megabytes=1e6 gigabyte/gigabytes=1e9",
        "KB=1 MB=1e3 GB=1e6 TB=1e9",
        "millimetre/millimetres=1 metre/metres=1000 kilometre/kilometres=1e6",
        "percent=1",
        "dollar/dollars=1",
    ),
    "sv": (
        "sekund/sekunder=1 minut/minuter=60 timme/timmar=3600 dag/dagar=86400 vecka/veckor=604800",
        "månad/månader=1 år=12",
        "gram=1 kilogram=1e3 ton=1e6",
        "meter=1 kilometer=1e3",
        "procent=1",
        "krona/kronor=1",
        "byte=1 kilobyte=1e3 megabyte=1e6",
    ),
    "de": (
        "Sekunde/Sekunden=1 Minute/Minuten=60 Stunde/Stunden=3600 Tag/Tage=86400 Woche/Wochen=604800",
        "Monat/Monate=1 Jahr/Jahre=12",
        "Byte/Bytes=1 Kilobyte/Kilobytes=1e3 Megabyte/Megabytes=1e6 Gigabyte/Gigabytes=1e9",
        "KB=1 MB=1e3 GB=1e6 TB=1e9",
        "Meter=1 Kilometer=1e3",
        "Prozent=1",
        "Euro=1",
    ),
}
_TIMES = {"en": {0, 1, 2}, "sv": {0, 1}, "de": {0, 1}}
"""The lines that measure time, of which none is another dimension of the others."""
_SCALES = {
    "en": ("thousand", "million", "billion"),
    "sv": ("tusen", "miljoner", "miljarder"),
    "de": ("tausend", "Millionen", "Milliarden"),
}
_Form = tuple[int, int, int, float]


def _forms(language: str) -> dict[str, _Form]:
    """Every written unit: its dimension, place in it, number (0 singular, 1 plural), and size."""
    found: dict[str, _Form] = {}
    for dimension, line in enumerate(_UNITS[language]):
        for place, entry in enumerate(line.split()):
            names, size = entry.split("=")
            for plural, name in enumerate(names.split("/")):
                found[name] = (dimension, place, plural, float(size))
    return found


def _named(language: str, dimension: int, place: int, plural: int) -> str:
    names = _UNITS[language][dimension].split()[place].split("=")[0].split("/")
    return names[min(plural, len(names) - 1)]


def _quantities(sentence: Sentence) -> Iterator[tuple[re.Match[str], float, _Form]]:
    """Amounts with a unit: the match has the amount and the unit as groups."""
    words = number_words(sentence.language)
    forms = _forms(sentence.language)
    amounts = "|".join(sorted((word for word in words if words[word] > 1), key=len, reverse=True))
    units = "|".join(sorted(forms, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.,:/-])(\d{{1,4}}|{amounts})[ -]({units})(?![\w-])", re.IGNORECASE)
    for found in pattern.finditer(sentence.text):
        form = forms.get(found[2])
        if form:
            amount = words[found[1].casefold()] if not found[1].isdigit() else int(found[1])
            dimension, place, plural, size = form
            yield found, float(amount), (dimension, place, plural if sentence.language == "en" else 1, size)


def same_dimension(sentence: Sentence, material: Material) -> Iterator[str]:
    """Another unit of the same dimension, on the side that denies a bound."""
    for found, amount, (dimension, place, plural, size) in _quantities(sentence):
        way = direction(sentence.text, found.start(), found.end())
        entries = _UNITS[sentence.language][dimension].split()
        others = [
            other
            for other, entry in enumerate(entries)
            if other != place
            and amount
            and way != "none"
            and (way == "any" or (float(entry.split("=")[1]) > size) == (way == "up"))
        ]
        if others:
            other = material.pick([str(i) for i in others], sentence.text, str(found.start()), "unit")
            unit = _named(sentence.language, dimension, int(other), plural)
            yield replaced(sentence.text, found, unit, 2)


def other_dimension(sentence: Sentence, material: Material) -> Iterator[str]:
    """A unit that measures something else."""
    lines = _UNITS[sentence.language]
    for found, _, (dimension, _, plural, _) in _quantities(sentence):
        time = _TIMES[sentence.language]
        others = [i for i in range(len(lines)) if i != dimension and not {i, dimension} <= time]
        chosen = int(material.pick([str(i) for i in others], sentence.text, str(found.start()), "dimension"))
        place = len(lines[chosen].split()) // 2
        yield replaced(sentence.text, found, _named(sentence.language, chosen, place, plural), 2)


def scale_changed(sentence: Sentence, material: Material) -> Iterator[str]:
    """Million becomes billion, and the like."""
    scales = _SCALES[sentence.language]
    for found in re.finditer(rf"(?<!\w)({'|'.join(scales)})(?!\w)", sentence.text):
        if direction(sentence.text, *found.span()) == "any":
            others = [scale for scale in scales if scale != found[1]]
            new = material.pick(others, sentence.text, str(found.start()), "scale")
            yield replaced(sentence.text, found, new)


def to_smaller_unit(sentence: Sentence, material: Material) -> Iterator[str]:
    """The next smaller unit, with the amount multiplied."""
    for found, amount, (dimension, place, _, size) in _quantities(sentence):
        entries = _UNITS[sentence.language][dimension].split()
        if place and not _in_range(sentence.text, found):
            factor = size / float(entries[place - 1].split("=")[1])
            yield _quantity(sentence, found, amount * factor, dimension, place - 1)


def to_larger_unit(sentence: Sentence, material: Material) -> Iterator[str]:
    """The next larger unit, where the amount comes out even."""
    for found, amount, (dimension, place, _, size) in _quantities(sentence):
        entries = _UNITS[sentence.language][dimension].split()
        if place + 1 < len(entries) and not _in_range(sentence.text, found):
            factor = float(entries[place + 1].split("=")[1]) / size
            if amount >= factor and amount % factor == 0:
                yield _quantity(sentence, found, amount / factor, dimension, place + 1)


def _in_range(text: str, found: re.Match[str]) -> bool:
    """Whether the unit serves another amount too, as in "one to two weeks", or is part of a compound."""
    return "-" in found[0] or _RANGE.search(text[: found.start()]) is not None


def _quantity(sentence: Sentence, found: re.Match[str], amount: float, dimension: int, place: int) -> str:
    unit = _named(sentence.language, dimension, place, int(amount != 1))
    return replaced(sentence.text, found, f"{amount:.0f} {unit}")


_RANGE = re.compile(r"(?<!\w)(?:to|or|and|till|eller|och|bis|oder|und|\d+ ?[–-]) $")

_SIGNS = {"en": "percent", "sv": "procent", "de": "Prozent"}
_PARTS = {
    "en": {"50": "half", "25": "a quarter", "75": "three quarters"},
    "sv": {"50": "hälften", "25": "en fjärdedel", "75": "tre fjärdedelar"},
    "de": {"50": "die Hälfte", "25": "ein Viertel", "75": "drei Viertel"},
}
_PERCENT = re.compile(r"(?<![\w.,:/-])(\d{1,3}(?:[.,]\d+)?)( ?%| percent| procent| Prozent)(?!\w)")


def percent_spelt(sentence: Sentence, material: Material) -> Iterator[str]:
    """25 % becomes "25 percent", or "a quarter" where "of" follows."""
    parts = _PARTS[sentence.language]
    for found in _PERCENT.finditer(sentence.text):
        if found[1] in parts and re.match(r" (?:of|av|der|des|von)\b", sentence.text[found.end() :]):
            yield replaced(sentence.text, found, parts[found[1]])
        elif "%" in found[2]:
            yield replaced(sentence.text, found, f"{found[1]} {_SIGNS[sentence.language]}")


_LONGEST = 60
_SAID = {"en": "The {0} of {1} is {2}", "sv": "{0} för {1} är {2}", "de": "{0} für {1} ist {2}"}
_BOTH = {
    "en": "The {0} of {1} is {2} and the {3} is {4}",
    "sv": "{0} för {1} är {2} och {3} är {4}",
    "de": "{0} für {1} ist {2} und {3} ist {4}",
}
_Cell = tuple[str, str]


def _cells(row: Sentence) -> list[_Cell]:
    """Column and value of each cell, where every cell has both and they are short; the first is the key."""
    found = [part.partition(": ") for part in row.text.split(" | ")]
    cells = [(column, value) for column, colon, value in found if colon]
    fit = (
        len(cells) == len(found) >= 3
        and all(0 < len(text) <= _LONGEST for cell in cells for text in cell)
        and len({column.casefold() for column, _ in cells}) == len(cells)
        and any(letter.isalpha() for letter in cells[0][1])
    )
    return cells if fit else []


def _exchangeable(left: str, right: str) -> bool:
    """Whether two values are surely two of one sort: both with figures or both without, none in the other."""
    one, other = left.casefold().rstrip("."), right.casefold().rstrip(".")
    figures = [any(sign.isdigit() for sign in value) for value in (one, other)]
    return figures[0] == figures[1] and one not in other and other not in one


def _sentence(form: str, *parts: str) -> str:
    claim = form.format(*parts)
    return f"{claim[0].upper()}{claim[1:].rstrip('.')}."


def other_column(row: Sentence, material: Material) -> Iterator[str]:
    """One column has the value of the next that could stand there."""
    key, *cells = _cells(row) or [("", "")]
    document = material.document(row.document_id)
    for (column, value), (_, other) in combinations(cells, 2):
        if _exchangeable(value, other) and f"{column}: {other}" not in document:
            yield _sentence(_SAID[row.language], column, key[1], other)


def two_columns(row: Sentence, material: Material) -> Iterator[str]:
    """Two columns have changed values."""
    key, *cells = _cells(row) or [("", "")]
    for (column, value), (second, other) in combinations(cells, 2):
        if _exchangeable(value, other):
            yield _sentence(_BOTH[row.language], column, key[1], other, second, value)


GENERATORS = (
    Generator("number", "tuning", "digit_changed", on_text(digit_changed)),
    Generator("number", "held_out", "digits_transposed", on_text(digits_transposed)),
    Generator("number", "held_out", "magnitude_shifted", on_text(magnitude_shifted)),
    Generator("number", "held_out", "other_number_of_document", on_text(other_number)),
    Generator("date", "tuning", "year_changed", on_text(year_changed)),
    Generator("date", "held_out", "month_changed", on_text(month_changed)),
    Generator("date", "held_out", "day_changed", on_text(day_changed)),
    Generator("date", "held_out", "other_year_of_document", on_text(other_year)),
    Generator("unit", "tuning", "same_dimension", on_text(same_dimension)),
    Generator("unit", "held_out", "other_dimension", on_text(other_dimension)),
    Generator("unit", "held_out", "scale_changed", on_text(scale_changed)),
    Generator("units_converted", "tuning", "to_smaller_unit", on_text(to_smaller_unit)),
    Generator("units_converted", "held_out", "to_larger_unit", on_text(to_larger_unit)),
    Generator("units_converted", "held_out", "percent_spelt", on_text(percent_spelt)),
    Generator("cell", "tuning", "other_column", on_text(other_column), over="rows"),
    Generator("cell", "held_out", "two_columns", on_text(two_columns), over="rows"),
)
