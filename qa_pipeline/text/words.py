"""Tokenize and stem the words of a text, and measure recall of words between texts."""

import functools
import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import NamedTuple

from qa_pipeline.text.lexicon.languages import lexicon, stemmer

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")  # "don't"


class Token(NamedTuple):
    """A word. `folded` is its casefolded form, and `content` is False for a function word."""

    folded: str
    stem: str
    start: int
    end: int
    content: bool
    negative: bool


def tokenize(text: str, language: str) -> tuple[Token, ...]:
    """Return the words and digit groups of `text` in order. Identifiers and compounds are split."""
    tokens = []
    for match in _WORD.finditer(text):
        folded, stem, content, negative = _analyse(match[0], language)
        tokens.append(Token(folded, stem, *match.span(), content, negative))
    return tuple(tokens)


@functools.lru_cache(maxsize=400_000)
def _analyse(word: str, language: str) -> tuple[str, str, bool, bool]:
    """Return the folded form, stem, content flag and negative flag of a word, as in `Token`."""
    vocabulary = lexicon(language)
    folded = unicodedata.normalize("NFC", word).casefold().replace("’", "'")
    negative = folded in vocabulary.negations or folded.endswith("n't")
    base = folded.removesuffix("'s")
    content = not negative and base not in vocabulary.stop_words
    return folded, stemmer(language)(base), content, negative


def recall(required: Collection[str], available: Collection[str]) -> float | None:
    """Return the share of distinct `required` entries in `available`, or None if `required` is empty."""
    distinct = set(required)
    return len(distinct.intersection(available)) / len(distinct) if distinct else None


class Occupied:
    """A mask of the characters of a text that are already taken."""

    def __init__(self, length: int, spans: Iterable[tuple[int, int]] = ()) -> None:
        self._taken = bytearray(length)
        for start, end in spans:
            self.take(start, end)

    def take(self, start: int, end: int) -> None:
        """Mark a span as occupied."""
        self._taken[start:end] = b"\x01" * (end - start)

    def free(self, start: int, end: int) -> bool:
        """Return True if all characters of a span are free."""
        return self._taken.find(1, start, end) < 0


_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Control, invisible and direction-changing characters hide text from a reader or let a file show
# another word order than a program reads. Joiners and variation selectors are included, since the languages
# handled here do not need them. Surrogates and non-characters cannot be stored as UTF-8 text.
_INVISIBLE_CHARACTERS = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\ufdd0-\ufdef\ud800-\udfff\U000e0000-\U000e0fff"
)
_ODD_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_INVISIBLE = re.compile(f"[{_INVISIBLE_CHARACTERS}]")
_ODD_SPACE = re.compile(f"[{_ODD_SPACES}]")
_ANY_OF_THESE = re.compile(f"[\r\x0b\x0c\x85\u2028\u2029{_ODD_SPACES}{_INVISIBLE_CHARACTERS}]")


def clean(text: str) -> str:
    """Normalise to NFC with plain line ends and spaces, and drop invisible characters."""
    if text.isascii():
        # Most text is ASCII. It is in NFC, and can only contain line ends and control characters.
        return text if text.isprintable() else _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))
    if _ANY_OF_THESE.search(text):
        text = _ODD_SPACE.sub(" ", _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text)))
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63"
_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_DOTS = "\uff61\u3002"
_QUOTATION_MARKS = str.maketrans(
    {**dict.fromkeys("“”„«»‟″", '"'), **dict.fromkeys("‘’‚‛′`´", "'"), "…": "...", "\u00ad": None}
)
_MAYBE = re.compile("[\u00a0\u0660-\u1fff\u2000-\u2015\u202f\u205f\u2212\u3000-\U0001ffff]")
"""Ranges that include all characters with another form, for a quick test."""


def fold(text: str) -> str:
    """Return the comparable form of a text: on one line, with one form of each sign.

    Unicode form, digits, widths, dashes, spaces and quotation marks are folded. Case is kept.
    """
    return " ".join(fold_marks(fold_signs(unicodedata.normalize("NFC", text))).split())


def fold_marks(text: str) -> str:
    """Return the text with straight quotation marks, dots for an ellipsis and without soft hyphens."""
    return text.translate(_QUOTATION_MARKS)


def fold_signs(text: str) -> str:
    """Return the text with plain digits, widths, dashes and spaces. All offsets are preserved."""
    return text if text.isascii() or not _MAYBE.search(text) else text.translate(_plain_signs())


@functools.cache
def _plain_signs() -> dict[int, str]:
    """Return the plain form of each sign by its code point, for `str.translate`."""
    digits = {  # of all scripts, such as "٣" for 3
        code: str(unicodedata.decimal(chr(code)))
        for code in range(0x80, 0x20000)  # all digits but those of ASCII
        if unicodedata.category(chr(code)) == "Nd"
    }
    # ASCII in double width, such as "Ａ", has the codes of ASCII plus 0xFEE0
    wide = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    others = {_DASHES: "-", _SPACES: " ", _DOTS: ".", "\ufe6b": "@"}
    return digits | wide | {ord(sign): plain for signs, plain in others.items() for sign in signs}


def blank(text: str, start: int, end: int) -> str:
    """Replace a span by spaces. Line ends and all offsets are preserved."""
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")


def reads_otherwise(text: str) -> bool:
    """Return True if a text contains hidden signs or signs that change its direction."""
    return _UNSEEN.search(text) is not None
