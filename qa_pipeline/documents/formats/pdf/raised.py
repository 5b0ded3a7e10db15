"""Raised and lowered characters of a PDF page: powers get a caret, marks of notes go.

In the text of a page nothing parts 10 and its exponent, or a word and the mark of its note; only the place of
the characters on paper does.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence, Set

_RUN = re.compile(r"[^\s\ufffe][^\r\n\ufffe]*")
_PROBE = re.compile(r"([\d*∗†‡§¶]+)|[.,;:!?)\]\"”“' ]{0,4}(?:[\r\n\ufffe]+|\Z)")
"""Numbers, signs and the ends of runs: what is raised begins or ends there, or ends its run."""
_TOKEN = re.compile(r"(?<![^\s\ufffe])[^\s\d*∗†‡§¶\ufffe]{0,60}(?:[\d*∗†‡§¶][^\s\ufffe]{0,60}|(?<=\S)$)")
"""Stretches that may hold a raised mark: a word with a digit or sign, and the end of a run."""
_LONGEST = 60  # characters of a word: what is longer is an address or a row of signs
_MARK = re.compile(r"[*∗†‡§¶]+|\[?\d{1,3}(?:[,–-] ?\d{1,3})*[\])]?,?|[a-z]")
_SMALL = re.compile(r"\D*[1-9]?\d?\D*")
"""The mark of a note behind a number; a larger number there is the next label of an axis, say."""
_POWER = re.compile(r"[+−–-]\d{1,3}|\d{1,3}[+−–-]?")
_BASE = re.compile(r"(?:\d[\d.,]{0,30}|[^\W\d_]{1,30}|\S)$")
_FUNCTIONS = frozenset(("sin", "cos", "tan", "log", "min", "sec", "mol", "rad"))
_SHIFT = 0.12  # of the type size: scripts are shifted by a fifth or more, and scanned letters by a tenth
_SMALLER = 0.95  # of the type size: labels of an axis are as large as their neighbours
_LENGTHS = frozenset(("m", "km", "dm", "cm", "mm", "µm", "μm", "nm", "ft", "in", "yd", "mi", "s"))
"""Units that have squares and cubes."""
_LABEL = re.compile(r"^(\d{1,3})[.)]?\s?[^\W\d]", re.MULTILINE)
_YEAR = 4  # digits: the mark of a note stands after a longer number, as after a year, more often than a power
_ORDINAL = frozenset("eoª")  # single letters raised after a number


def mark_raised(
    text: str,
    places: Sequence[int],
    size_of: Callable[[int], float],
    baseline: Callable[[int], float],
) -> tuple[str, Sequence[int], list[str]]:
    """Return the text with powers marked and without marks of notes."""
    edits: list[tuple[int, int, str]] = []
    labels = frozenset(_LABEL.findall(text))
    changes = _changes_of_size(text, size_of)
    for run in _RUN.finditer(text):
        if bisect_left(changes, run.start()) == bisect_left(changes, run.end()):
            continue
        for token in _TOKEN.finditer(text, *run.span()):
            start, end = token.span()
            before = _printed_before(text, start)
            if edits and edits[-1][0] <= before < edits[-1][1]:  # a mark of several parts, such as 1, 2
                before = _printed_before(text, edits[-1][0])
            edits += _edits_of(text, before, start, end, size_of, baseline, labels)
    notes: list[str] = []
    parts: list[str] = []
    remaining: list[int] = []
    last = 0
    for start, end, written in edits:
        parts += (text[last:start], written)
        remaining += [*places[last:start], *[places[start]] * len(written)]
        if not written:
            notes.append(text[start:end])
        elif written.startswith("^"):
            remaining[-(end - start) :] = places[start:end]
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
    labels: Set[str],
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
            written = _write(text[max(first - _LONGEST, 0) : first], text[first:place], labels)
            if written != text[first:place]:
                yield first, place, written
        elif place > first and place < end:  # a label, such as that of a footnote
            yield first, place, f"{text[first:place]} "
        place += place == first


def _write(before: str, mark: str, labels: Set[str]) -> str:
    base = match[0] if (match := _BASE.search(before)) else ""
    if len(base) == 1 and base.isalpha() and mark.isalpha():
        return f"^{mark}"
    if _POWER.fullmatch(mark) and _is_power(base, mark, labels):
        return f"^{mark}"
    if mark in _ORDINAL and base[-1:].isdigit():
        return mark
    is_number = base[-1:].isdigit() and not _SMALL.fullmatch(mark)
    return "" if _MARK.fullmatch(mark) and not is_number else mark


def _is_power(base: str, mark: str, labels: Set[str]) -> bool:
    if not mark.isdigit() or base == "10":
        return True
    if base in _LENGTHS and mark in ("2", "3"):
        return True
    if mark == "1" or mark in labels:
        return False
    if base.isalpha():
        return len(base) < 3 or base in _FUNCTIONS
    return len(base) < _YEAR if base[-1:].isdigit() else base == ")"
