"""Locate quotes in a text."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from qa_pipeline.text.characters import fold_marks, fold_signs

_DROPPED = frozenset("*_`#|>\u00ad\u200b\u200c\u200d\u2060\ufeff")
_ELLIPSIS = re.compile(r"\[\s{0,9}(?:\.{3}|…)\s{0,9}\]|\(\s{0,9}(?:\.{3}|…)\s{0,9}\)|\.{3}|…")
_HYPHENATED = re.compile(r"[-\u2010]\n\s*(?=[^\W\d_A-ZÅÄÖÜ])")
_NUMBER_BEFORE = re.compile(r"\d[.,]?$")
_NUMBER_AFTER = re.compile(r"[.,]?\d")
_MOST_STARTS = 20
"""Maximum number of tried occurrences of the first part of a quote with an ellipsis."""


@dataclass(frozen=True, slots=True)
class Located:
    """The span of a quote, and the kind of match.

    `kind` is "exact" (except for runs of white space), "spelling" (same words, differently written) or
    "ellipsis" (parts in order).
    """

    start: int
    end: int
    kind: str


def locate_quote(quote: str, text: str) -> Located | None:
    """Find a quote in a text, without cutting a number in two.

    Three matches are tried in order. The first is verbatim, with runs of white space as one space. The second
    also folds case, quotation marks, dashes, markup and hyphens at line ends. The third looks for the parts
    around an ellipsis, in order and as close together as possible.
    """
    for kind, deep in (("exact", False), ("spelling", True), ("ellipsis", True)):
        folded, places = _folded(text, deep)
        pieces = _ELLIPSIS.split(quote) if kind == "ellipsis" else [quote]
        parts = [part for part in (_folded(piece, deep)[0].strip() for piece in pieces) if part]
        spans = list(_spans(parts, folded)) if parts else []
        if spans:
            start, end = min(spans, key=lambda span: span[1] - span[0])
            return Located(places[start], places[end - 1] + 1, kind)
    return None


@functools.lru_cache(maxsize=1024)
def _folded(text: str, deep: bool) -> tuple[str, list[int]]:
    """Return the comparable form of a text, and the original offset of each of its characters."""
    form: list[str] = []
    places: list[int] = []
    hyphens = {match.start(): match.end() for match in _HYPHENATED.finditer(text)} if deep else {}
    skipped_to = 0
    for at, character in enumerate(text):
        if at < skipped_to:
            continue
        if at in hyphens and form and form[-1].isalpha():
            skipped_to = hyphens[at]
        elif character.isspace():
            if form and form[-1] != " ":
                form.append(" ")
                places.append(at)
        elif not deep or character not in _DROPPED:
            letters = character
            if deep:
                letters = fold_signs(fold_marks(character)).casefold()
            form += letters
            places += [at] * len(letters)
    return "".join(form), places


def _spans(parts: list[str], folded: str) -> Iterator[tuple[int, int]]:
    """Yield the spans from the first part to the last, with all parts in order."""
    start = _find(parts[0], folded, 0)
    for _ in range(1 if len(parts) == 1 else _MOST_STARTS):
        if start < 0:
            return
        end = start + len(parts[0])
        for part in parts[1:]:
            at = _find(part, folded, end)
            if at < 0:
                return
            end = at + len(part)
        yield start, end
        start = _find(parts[0], folded, start + 1)


def _find(quote: str, text: str, position: int) -> int:
    """Return the offset of the first occurrence that does not cut a number in two, or -1."""
    at = text.find(quote, position)
    while at >= 0:
        before = quote[0].isdigit() and _NUMBER_BEFORE.search(text, max(0, at - 2), at)
        if not before and not (quote[-1].isdigit() and _NUMBER_AFTER.match(text, at + len(quote))):
            break
        at = text.find(quote, at + 1)
    return at
