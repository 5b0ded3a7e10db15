"""What is looked for, and what a find is.

What belongs here: the shapes that the modules of this folder share. What does not: looking (one module a
family of kinds) and what becomes of a find (`replacing`).
"""

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


def checked(
    pattern: re.Pattern[str], text: str, is_right: Callable[[re.Match[str]], bool]
) -> Iterator[re.Match[str]]:
    """Matches that pass a check; behind one that fails, the search goes on inside it."""
    match = pattern.search(text)
    while match:
        right = is_right(match)
        if right:
            yield match
        match = pattern.search(text, match.end() if right else match.start() + 1)


def digits_of(text: str) -> str:
    """The digits of a folded text, without what stands between them."""
    return "".join(one for one in text if one.isdigit())


def characters_of(text: str) -> str:
    """The ASCII letters, in upper case, and digits of a folded text."""
    return "".join(one for one in text.upper() if one.isalnum())


CONTEXT = 40
"""How far before a number the word that says what it is may stand."""


def before(text: str, start: int, reach: int = CONTEXT) -> str:
    """What stands just before a place, on its own line or the end of the line before."""
    return text[max(0, start - reach) : start]
