"""Divide canonical text into blocks, rows, items and paragraphs, which sentences do not cross.

Time is linear in the length of the text.
"""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}[ \t]")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,4}[.)])[ \t]")
NUMBERED_ITEM = re.compile(
    r"^[ \t]*[-*] (?:\(?(?:\d{1,9}(?:\.\d{1,4}){0,8}|[a-zåäö]{1,2}|[ivxlcdm]{2,12})[.)]|[A-Z]{1,12}\))"
    r"(?:[ \t]+|$)",
    re.MULTILINE,
)
"""The beginning of an item of an ordered list in canonical text, such as `- 6. `."""
_QUOTE = re.compile(r"[ \t]*>")
_KEY_VALUE = re.compile(r"[^\s:.!?|][^:\n.!?|]{0,59}:[ \t]+\S")


def units(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield spans that sentences do not cross. The flag is True for a span that is a single sentence."""
    for start, end, is_code in blocks(text):
        if is_code:
            yield start, end, True
        else:
            yield from joined_lines(text, start, end)


def blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield code blocks, and runs of lines between blank lines. The flag is True for code."""
    lines = line_spans(text)
    may_have_fences = "```" in text or "~~~" in text
    unclosed: dict[str, int] = {}  # length of the shortest fence that stays open, by its sign
    begin, index = 0, 0  # start of the current run, and number of the current line
    while index < len(lines):
        start, end = lines[index]
        fence = _FENCE.match(text, start, end) if may_have_fences else None
        closing = _closing_fence(text, lines, index, fence[1], unclosed) if fence else None
        if fence or not text[start:end].strip():
            if begin < start:
                yield begin, start, False
            begin = end if closing is None else lines[closing][1]  # an open fence is only this line
            if fence:
                yield start, begin, True
        index = index + 1 if closing is None else closing + 1
    if begin < len(text):
        yield begin, len(text), False


def line_spans(text: str) -> list[tuple[int, int]]:
    """Return the span of every line, including its line end."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def _closing_fence(
    text: str, lines: list[tuple[int, int]], index: int, mark: str, unclosed: dict[str, int]
) -> int | None:
    """Return the index of the line that closes the fence opened at `index`, or None.

    `unclosed` has the shortest fence that is known to stay open, by its sign. Without it a text of open
    fences would be read to its end for each of them.
    """
    if len(mark) >= unclosed.get(mark[0], len(text) + 1):
        return None
    for later in range(index + 1, len(lines)):
        line = text[slice(*lines[later])].strip()
        if len(line) >= len(mark) and line == mark[0] * len(line):
            return later
    unclosed[mark[0]] = len(mark)
    return None


def joined_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Yield a block's paragraphs, items and rows. The flag is True for a span that is a single sentence."""
    if text.find("\n", start, end) in (-1, end - 1):  # a single line
        yield start, end, _is_whole(text, start, end)
        return
    lines = [(start + low, start + high) for low, high in line_spans(text[start:end])]
    filled = [span for span in lines if text[slice(*span)].strip()]
    are_fields = len(filled) > 1 and all(_KEY_VALUE.match(text, *span) for span in filled)
    begin = start  # of the lines that were not yielded yet
    for low, high in filled:
        is_whole = _is_whole(text, low, high)
        if is_whole or are_fields or _ITEM.match(text, low, high) or _QUOTE.match(text, low, high):
            if begin < low:
                yield begin, low, False
            begin = low
        if is_whole:
            yield low, high, True
            begin = high
    if begin < end:
        yield begin, end, False


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return True if a line is a heading or a table row, which has no sentences."""
    return _HEADING.match(text, start, end) is not None or text.find(" | ", start, end) >= 0
