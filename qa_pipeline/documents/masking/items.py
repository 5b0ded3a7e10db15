"""What is looked for, and what a find is."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle
from operator import mul


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of personal data in a text.

    `value` is its normal form: equal for every way to write the same item, so that all get the same token.
    """

    kind: str
    start: int
    end: int
    value: str


Find = Callable[[str], Iterable[Item]]
"""Finds items in a folded text, in any order; those of one kind do not overlap."""


@dataclass(frozen=True, slots=True)
class Family:
    """Items of one kind written in one way, and how many digits a text must have to hold one."""

    kind: str
    find: Find
    digits: int = 0


def pattern_family(
    kind: str,
    value: Callable[[str], str],
    *patterns: re.Pattern[str],
    is_right: Callable[[re.Match[str]], bool] = bool,
    digits: int = 0,
    search_inside: bool = False,
) -> Family:
    """Return a family of the matches of patterns that pass a check.

    With `search_inside` the search goes on inside a match that does not pass, else behind it.
    """

    def find(text: str) -> Iterator[Item]:
        for pattern in patterns:
            match = pattern.search(text)
            while match:
                if passes := is_right(match):
                    yield Item(kind, match.start(), match.end(), value(match[0]))
                next_place = match.end() if passes or not search_inside else match.start() + 1
                match = pattern.search(text, next_place)

    return Family(kind, find, digits)


def digits_of(text: str) -> str:
    """Return the digits of a folded text, without the characters between them."""
    return "".join(character for character in text if character.isdigit())


def characters_of(text: str) -> str:
    """Return the ASCII letters, in upper case, and digits of a folded text."""
    return "".join(character for character in text.upper() if character.isalnum())


def text_before(text: str, start: int, reach: int = 40) -> str:
    """Return the text just before a place, where a word may name what follows."""
    return text[max(0, start - reach) : start]


_LETTERS = {letter: number for number, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ", start=10)}


def luhn(digits: str) -> bool:
    """Return whether the check digit fits (ISO/IEC 7812-1, annex B): every second digit counts twice."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def mod_97(characters: str) -> bool:
    """Return whether ISO 7064 MOD 97-10 fits, as in IBANs: the first four count last, letters 10 to 35."""
    turned = characters[4:] + characters[:4]
    return int("".join(str(_LETTERS.get(character, character)) for character in turned)) % 97 == 1


def mod_11_10(digits: str) -> bool:
    """Return whether ISO 7064 MOD 11,10 fits: the last digit checks all before it."""
    product = 10
    for digit in digits[:-1]:
        sum_of_both = (int(digit) + product) % 10 or 10
        product = sum_of_both * 2 % 11
    return (11 - product) % 10 == int(digits[-1])


def pension_number(characters: str) -> bool:
    """Return whether a German pension insurance number fits (VKVV § 4): weighted sums of digits."""
    spelt = f"{characters[:8]}{ord(characters[8]) - 64:02d}{characters[9:11]}"
    pairs = zip(spelt, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=True)
    weighted = (int(digit) * weight for digit, weight in pairs)
    return sum(value // 10 + value % 10 for value in weighted) % 10 == int(characters[11])


def machine_readable(characters: str, check: str) -> bool:
    """Return whether weights 7, 3, 1 fit (ICAO Doc 9303), letters counting as 10 to 35."""
    values = (
        int(_LETTERS.get(character, character if character.isdigit() else 0)) for character in characters
    )
    return str(sum(map(mul, values, cycle((7, 3, 1)))) % 10) == check
