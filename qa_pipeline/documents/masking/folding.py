"""One way to write for characters that look the same, so that one pattern finds all ways to write an item.

What belongs here: single characters for single characters, so that every place in the folded text is the
same place in the text. What does not: which characters may stand in canonical text (`characters`).
"""

import re
import unicodedata
from functools import cache

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63"
_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_DOTS = "\uff61\u3002"
_FULL_WIDTH = range(0xFF01, 0xFF5F)
_WITH_DIGITS = range(0x80, 0x20000)


_MAYBE = re.compile("[\u00a0\u0660-\u1fff\u2000-\u2015\u202f\u205f\u2212\u3000-\U0001ffff]")
"""A few ranges that hold all characters with another form; a text without any is not gone through again."""


def fold(text: str) -> str:
    """The text with digits of any script, full-width letters, dashes and blanks in their ASCII form."""
    return text if text.isascii() or not _MAYBE.search(text) else text.translate(_forms())


@cache
def _forms() -> dict[int, str]:
    digits = {
        code: str(unicodedata.decimal(chr(code)))
        for code in _WITH_DIGITS
        if unicodedata.category(chr(code)) == "Nd"
    }
    wide = {code: chr(code - 0xFEE0) for code in _FULL_WIDTH}
    others = {_DASHES: "-", _SPACES: " ", _DOTS: ".", "\ufe6b": "@"}
    return digits | wide | {ord(one): form for written, form in others.items() for one in written}
