"""Raised and lowered characters of a PDF page: powers get a caret, marks of notes go.

In the text of a page nothing parts 10 and its exponent, or a word and the mark of its note; only the place of
the characters on paper does.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from qa_pipeline.documents.formats.formulas import write_script

_RUN = re.compile(r"[^\s\ufffe][^\r\n\ufffe]*")
_MARK = re.compile(r"[\d*∗†‡§¶]")
_REST = re.compile(r"[^\s\ufffe]*[\ufffe ]*$")
_LONGEST = 60  # characters of a word: what is longer is an address or a row of signs
_REACH = 4  # characters behind a raised text that tell what it is
_SHIFT = 0.12  # of the type size: scripts are shifted by a fifth or more, and scanned letters by a tenth
_SMALLER = 0.95  # of the type size: labels of an axis are as large as their neighbours


def mark_raised(
    text: str,
    places: Sequence[int],
    size_of: Callable[[int], float],
    baseline: Callable[[int], float],
) -> tuple[str, Sequence[int], list[str]]:
    """Return the text with powers marked and without marks of notes."""
    notes: list[str] = []
    parts: list[str] = []
    remaining: list[int] = []
    last = 0
    for start, end, written in _edits_of(text, size_of, baseline):
        parts += (text[last:start], written)
        remaining += places[last:start]
        if written:
            remaining += [*[places[start]] * (len(written) + start - end), *places[start:end]]
        else:
            notes.append(text[start:end])
        last = end
    return "".join([*parts, text[last:]]), [*remaining, *places[last:]] if last else places, notes


def _edits_of(
    text: str, size_of: Callable[[int], float], baseline: Callable[[int], float]
) -> Iterator[tuple[int, int, str]]:
    """Yield what stands in place of raised numbers and signs, and of raised letters at the end of a run."""
    for run in _RUN.finditer(text):
        start, end = run.span()
        # To ask for the size of every character takes too long; most runs have one size.
        probes = (start, end - 1, *(mark.start() for mark in _MARK.finditer(text, start, end)))
        if len(set(map(size_of, probes))) == 1:
            continue
        for first, stop in _find_raised(text, start, end, size_of, baseline):
            mark, after = text[first:stop], text[stop : stop + _REACH]
            if first == start:  # a label, such as that of a footnote
                if _MARK.search(mark):
                    yield first, stop, f"{mark} "
            elif _MARK.search(mark) or _REST.match(text, stop, end):
                written = write_script(mark, text[max(first - _LONGEST, 0) : first], after)
                if written != mark:
                    yield first, stop, written


def _find_raised(
    text: str, start: int, end: int, size_of: Callable[[int], float], baseline: Callable[[int], float]
) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a run that are smaller than the text around them and stand higher."""
    letters = [
        (place, size_of(place), baseline(place)) for place in range(start, end) if not text[place].isspace()
    ]
    word = len(text[start:end].split(" ", 1)[0])
    larger = (letter for letter in letters[:word] if letters[0][1] < _SMALLER * letter[1])
    _, size, base = next(larger, letters[0])
    raised: list[int] = []
    for place, own, level in letters:
        if own < _SMALLER * size and level - base > _SHIFT * size:
            raised.append(place)
        elif own >= _SMALLER * size or abs(level - base) <= _SHIFT * size:  # not lowered
            size, base = own, level
    for _, group in groupby(enumerate(raised), key=lambda numbered: numbered[1] - numbered[0]):
        stretch = [place for _, place in group]
        if stretch[-1] + 1 < end or stretch[0] > start:
            yield stretch[0], stretch[-1] + 1
