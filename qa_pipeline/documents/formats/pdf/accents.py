"""Accents that a PDF draws apart from their letters, as TeX does with fonts that have no accented letters.

What belongs here: finding the letter below an accent by its place on paper, and writing both as one letter.
What does not: characters that the file names in full (`glyphs`). In the text of such a file the accent
stands before its letter, behind it, or at the end of the line.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product

from qa_pipeline.documents.formats.pdf.hyphens import BROKEN_WORD

_MARKS = {
    "`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307",
    "¨": "\u0308", "˚": "\u030a", "°": "\u030a", "˝": "\u030b", "ˇ": "\u030c", "¸": "\u0327", "˛": "\u0328",
}  # fmt: skip
_PLAIN = {"ı": "i", "ȷ": "j"}
_ACCENT = re.compile(f"[{''.join(_MARKS)}]")
_ASIDE = 0.15
_HIGHER = 0.4
_GAP = 0.15
_FIELD = 12.0
_MOST_IN_FIELD = 64

Place = tuple[float, float, float, float]
"""Left, bottom, right and top of a character as tall as its font."""


def with_accents(text: str, places: Sequence[int], box: Callable[[int], Place]) -> tuple[str, Sequence[int]]:
    """The text with each accent that stands over or under a letter joined to it.

    Args:
        text: the characters of a page.
        places: what each is known by.
        box: where the character of a number stands.

    Returns:
        The text, and what each of its characters is known by.
    """
    accents = [found.start() for found in _ACCENT.finditer(text)]
    letters = _letters_below(text, accents, box) if accents else {}
    if not letters:
        return text, places
    characters = list(text)
    for accent, (letter, whole) in letters.items():
        characters[letter], characters[accent] = whole, ""
    for start, end in _stretches(text, letters):
        characters[start:end] = [""] * (end - start)
        characters[start] = _between(text, start, end, box)
        if text[start - 1 : start] == "-" and text[end : end + 1] in ("\r", "\n"):
            characters[start - 1] = BROKEN_WORD  # PDFium takes no hyphen before an accent for a break
    kept = [number for number, character in enumerate(characters) if character]
    return "".join(characters), [places[number] for number in kept]


def _letters_below(
    text: str, accents: Sequence[int], box: Callable[[int], Place]
) -> dict[int, tuple[int, str]]:
    """For each accent its letter and what they make up; a letter takes one accent."""
    fields: dict[tuple[int, int], list[tuple[int, Place]]] = defaultdict(list)
    for number, character in enumerate(text):
        if character.isalpha():
            place = box(number)
            field = fields[_field(place)]
            if len(field) < _MOST_IN_FIELD:
                field.append((number, place))
    found: dict[int, tuple[int, str]] = {}
    taken: set[int] = set()
    for accent in accents:
        above = box(accent)
        across, up = _field(above)
        near = [
            (_aside(place, above), number)
            for step, rise in product((-1, 0, 1), repeat=2)
            for number, place in fields.get((across + step, up + rise), ())
            if number not in taken and _is_below(place, above)
        ]
        if not near:
            continue
        _, letter = min(near)
        whole = unicodedata.normalize("NFC", _PLAIN.get(text[letter], text[letter]) + _MARKS[text[accent]])
        if len(whole) == 1:
            found[accent] = (letter, whole)
            taken.add(letter)
    return found


def _field(place: Place) -> tuple[int, int]:
    left, bottom, right, _ = place
    return int((left + right) / 2 // _FIELD), int(bottom // _FIELD)


def _aside(letter: Place, accent: Place) -> float:
    return abs(letter[0] + letter[2] - accent[0] - accent[2]) / 2


def _is_below(letter: Place, accent: Place) -> bool:
    """Whether an accent stands in the middle of a letter, at its height or somewhat raised."""
    height = max(letter[3] - letter[1], accent[3] - accent[1])
    return _aside(letter, accent) <= _ASIDE * height and abs(accent[1] - letter[1]) <= _HIGHER * height


def _stretches(text: str, letters: dict[int, tuple[int, str]]) -> list[tuple[int, int]]:
    """Where joined accents stood, with the blanks beside them, which PDFium makes up."""
    stretches: list[tuple[int, int]] = []
    for accent in sorted(letters):
        if stretches and accent < stretches[-1][1]:
            continue
        start, end = accent, accent + 1
        while start and text[start - 1] == " ":
            start -= 1
        while end < len(text) and (text[end] == " " or end in letters):
            end += 1
        stretches.append((start, end))
    return stretches


def _between(text: str, start: int, end: int, box: Callable[[int], Place]) -> str:
    """What stands between two characters once the accents between them are gone: a blank or nothing."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if not before.strip() or not after.strip() or BROKEN_WORD in before + after:
        return ""
    one, other = box(start - 1), box(end)
    height = one[3] - one[1]
    beside = abs(one[1] - other[1]) <= height / 2 and other[0] - one[2] <= _GAP * height
    return "" if beside else " "
