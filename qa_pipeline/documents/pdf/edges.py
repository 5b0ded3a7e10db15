"""Heads, feet and numbers that return on the pages of a PDF.

What belongs here: which lines near the upper and lower edge belong to the pages rather than to the text.
What does not: notes beside and below the text, which are part of it (`columns`, `layout`).
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.documents.pdf.lines import Line, printed
from qa_pipeline.documents.pdf.naming import pieces_of

_EDGE = 0.12
_REPEATED_ON = 0.4
_SAME_PLACE_ON = 3
_WIDE_GAP = 1.2
_APART = 0.8
_MOST_HEADS = 20
_SHORTEST_PART = 8
_NUMBER = re.compile(r"[0-9]{1,4}|[ivxlc]{1,8}", re.ASCII | re.IGNORECASE)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"^\W*(?:(?:page|seite|sida|sidan|s\.|p\.)\s*)?(?:\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:of|von|av|/|\()\s*\d{1,4})?\W*$",
    re.IGNORECASE,
)

Height = float
_Key = tuple[str, int]


def without_running_lines(
    pages: Sequence[Sequence[Line]], heights: Sequence[Height], size: float, left_out: Omissions
) -> list[list[Line]]:
    """Leave out heads and feet: lines near an edge whose text, numbers aside, returns on many pages.

    A line that returns at the same height on a few pages only, as the name of a chapter does, is one too,
    as a whole or in part, unless it is larger than the text, as the titles of slides are. So is one beside a
    number that counts the pages, whatever it says.

    Args:
        pages: lines of each page.
        heights: how high each page is.
        size: type size of the text.
        left_out: counts what does not reach the text.
    """
    edges = [_near_edge(lines, height) for lines, height in zip(pages, heights, strict=True)]
    on_pages: dict[str, int] = defaultdict(int)
    at_height: dict[_Key, int] = defaultdict(int)
    for found in edges:
        for key in {keys[0][0] for keys in found.values()}:
            on_pages[key] += 1
        for place in {key for keys in found.values() for key in keys}:
            at_height[place] += 1
    least = max(2, _REPEATED_ON * sum(map(bool, pages)))
    kept: list[list[Line]] = []
    for lines, height, found in zip(pages, heights, edges, strict=True):
        running = {
            index
            for index, keys in found.items()
            if on_pages[keys[0][0]] >= least
            or (any(at_height[key] >= _SAME_PLACE_ON for key in keys) and lines[index].size <= size)
            or _is_own_number(lines[index])
        }
        for index in running:
            left_out.add(_name(lines[index], height), printed(lines[index]))
        kept.append([line for index, line in enumerate(lines) if index not in running])
    return kept


def _near_edge(lines: Sequence[Line], height: Height) -> dict[int, list[_Key]]:
    """Lines near the upper or lower edge by their place in the page: what they say, and how high.

    A head may say two things, of which one changes more often: what its parts say follows then.
    """
    low, high = _EDGE * height, (1 - _EDGE) * height
    found: dict[int, list[_Key]] = {}
    for index, line in enumerate(lines):
        if line.bottom < low or line.top > high:
            at = round(line.bottom / 2)
            found[index] = [(_said(text, line.page), at) for text in (line.text, *_parts(line, lines))]
    return found


def _parts(line: Line, lines: Sequence[Line]) -> list[str]:
    """What stands left and right in a line that is set apart from all others, as few rows of tables are."""
    parts = pieces_of(line, _WIDE_GAP * line.size)
    room = _APART * line.size
    if len(parts) < 2 or any(
        other.bottom < line.top + room and line.bottom - room < other.top
        for other in lines
        if other is not line
    ):
        return []
    return [part.text for part in parts if len(part.text) >= _SHORTEST_PART or _NUMBER.fullmatch(part.text)]


def _said(text: str, page: int) -> str:
    """What a line says, numbers aside; of a bare number, how far it is from the number of its page.

    A number that does not count the pages belongs to the text, such as the end of an address.
    """
    if _NUMBER.fullmatch(text):
        return f"page {counted(text.lower()) - page:+}"
    return text if text.isdecimal() else _DIGITS.sub("#", text.lower())


def counted(number: str) -> int:
    """The value of a number in decimal or Roman digits; of these a smaller before a larger is taken off."""
    if number.isdecimal():
        return int(number)
    values = [_ROMAN[digit] for digit in number]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))


def _is_own_number(line: Line) -> bool:
    """Whether a line says nothing but the number its page has in the file."""
    return line.text.strip(" -–—") == str(line.page)


def _name(line: Line, height: Height) -> str:
    if _PAGE_NUMBER.match(line.text):
        return "page_number"
    return "running_head" if line.bottom > height / 2 else "running_foot"
