"""The numbers of ordered lists, as canonical text writes them in front of their items.

Digits are written as `6.`, letters and Roman numerals as `b)` and `iv)`: a line that begins with `A. ` may be
a name.
"""

from dataclasses import dataclass
from typing import Literal

Style = Literal["digits", "letters", "roman"]

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LARGEST = {"digits": 10**9, "letters": 26**3, "roman": 3999}


@dataclass(slots=True)
class OrderedList:
    """A list while it is read: the number of its next item, and the step to the one after it, down or up."""

    following: int = 1
    style: Style = "digits"
    upper: bool = False
    step: int = 1

    def number(self, own: int | None = None) -> str:
        """The number of the next item, as it is written; `own` is one that the item gives itself."""
        value = self.following if own is None else own
        self.following = value + self.step
        return written_number(value, self.style, upper=self.upper)


def written_number(value: int, style: Style = "digits", *, upper: bool = False) -> str:
    """A number with the sign behind it; digits where letters or Roman numerals have no such number."""
    if style == "digits" or not 0 < value <= _LARGEST[style]:
        return f"{value}."
    written = _letters(value) if style == "letters" else _roman(value)
    return f"{written.upper() if upper else written})"


def _letters(value: int) -> str:
    """A to z, then aa, ab and so on."""
    written = ""
    while value:
        value, letter = divmod(value - 1, 26)
        written = chr(ord("a") + letter) + written
    return written


def _roman(value: int) -> str:
    written = ""
    for worth, numeral in _ROMAN:
        count, value = divmod(value, worth)
        written += numeral * count
    return written
