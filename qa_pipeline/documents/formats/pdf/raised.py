"""Raised and lowered characters of a PDF page: powers get a caret, marks of notes go.

In the text of a page nothing parts 10 and its exponent, or a word and the mark of its note; only the place of
the characters on paper does.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from qa_pipeline.documents.formats.formulas import write_script

_RUN = re.compile(r"[^\s\ufffe][^\r\n\ufffe]*")
_PROBE = re.compile(r"([\d*∗†‡§¶]+)|[.,;:!?)\]\"”“' ]{0,4}(?:[\r\n\ufffe]+|\Z)")
"""Numbers, signs and the ends of runs: what is raised begins or ends there, or ends its run."""
_TOKEN = re.compile(r"(?<![^\s\ufffe])[^\s\d*∗†‡§¶\ufffe]{0,60}(?:[\d*∗†‡§¶][^\s\ufffe]{0,60}|(?<=\S)$)")
"""Stretches that may hold a raised mark: a word with a digit or sign, and the end of a run."""
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
    edits: list[tuple[int, int, str]] = []
    changes = _changes_of_size(text, size_of)
    for run in _RUN.finditer(text):
        if bisect_left(changes, run.start()) == bisect_left(changes, run.end()):
            continue
        for token in _TOKEN.finditer(text, *run.span()):
            start, end = token.span()
            before = _printed_before(text, start)
            if edits and edits[-1][0] <= before < edits[-1][1]:  # a mark of several parts, such as 1, 2
                before = _printed_before(text, edits[-1][0])
            edits += _edits_of(text, before, start, end, size_of, baseline)
    notes: list[str] = []
    parts: list[str] = []
    remaining: list[int] = []
    last = 0
    for start, end, written in edits:
        parts += (text[last:start], written)
        remaining += places[last:start]
        if written:
            remaining += [*[places[start]] * (len(written) + start - end), *places[start:end]]
        else:
            notes.append(text[start:end])
        last = end
    return "".join([*parts, text[last:]]), [*remaining, *places[last:]] if edits else places, notes


def _changes_of_size(text: str, size_of: Callable[[int], float]) -> list[int]:
    """Return the places of numbers, signs and ends of runs whose size is not that of what is before them."""
    probes, starts = [0], {0}
    for match in _PROBE.finditer(text):
        first, end = match.span()
        if match[1]:
            probes += (first, end - 1)
        else:
            probes += (max(first - 1, 0), end)
            starts.add(end)
    probes = [place for place in probes if place < len(text)]
    sizes = list(map(size_of, probes))
    pairs = zip(probes[1:], sizes[1:], sizes, strict=False)
    return [place for place, size, last in pairs if size != last and place not in starts]


def _printed_before(text: str, start: int) -> int:
    before = len(text[max(start - _LONGEST, 0) : start].rstrip(" ")) + max(start - _LONGEST, 0) - 1
    return start if before < 0 or text[before].isspace() else before


def _edits_of(
    text: str,
    before: int,
    start: int,
    end: int,
    size_of: Callable[[int], float],
    baseline: Callable[[int], float],
) -> Iterator[tuple[int, int, str]]:
    """Yield what stands in place of the raised stretches of a word: where each begins and ends.

    `before` is the place of the character before the word; the word's own where its run begins with it.
    """
    sizes = [size_of(place) for place in (before, *range(start, end))]
    size = max(sizes)
    if min(sizes) >= _SMALLER * size:
        return
    levels = [baseline(place) for place in (before, *range(start, end))]
    base = levels[sizes.index(size)]
    raised = [
        height - base > _SHIFT * size and own < _SMALLER * size
        for height, own in zip(levels, sizes, strict=True)
    ]
    place = start
    while place < end:
        first = place
        while place < end and raised[place - start + 1]:
            place += 1
        if place > first and not (first == start and before == start):
            mark, after = text[first:place], text[place : place + _REACH]
            written = write_script(mark, text[max(first - _LONGEST, 0) : first], after)
            if written != mark:
                yield first, place, written
        elif place > first and place < end:  # a label, such as that of a footnote
            yield first, place, f"{text[first:place]} "
        place += place == first
