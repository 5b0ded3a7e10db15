"""Which way a number may move and still be false: "at least 10" says nothing against "at least 9".

What belongs here: the words around a number that make it a bound or a guess, in three languages. What does
not: changing numbers. These lists are the generators' own, so that no blind spot of the checks hides in them.
"""

import re
from typing import Literal

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
