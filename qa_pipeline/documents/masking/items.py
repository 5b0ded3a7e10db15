"""What is looked for, and what a find is."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass


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
