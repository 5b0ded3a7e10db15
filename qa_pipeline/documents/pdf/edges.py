"""Heads, feet and numbers that return on the pages of a PDF.

What belongs here: which lines near the upper and lower edge belong to the pages rather than to the text.
What does not: notes beside and below the text, which are part of it (`columns`, `layout`).
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.documents.pdf.lines import Line, printed

_EDGE = 0.12
_REPEATED_ON = 0.4
_SAME_PLACE_ON = 3
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
    unless it is larger than the text, as the titles of slides are.

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
        for key in {key for key, _ in found.values()}:
            on_pages[key] += 1
        for place in set(found.values()):
            at_height[place] += 1
    least = max(2, _REPEATED_ON * sum(map(bool, pages)))
    kept: list[list[Line]] = []
    for lines, height, found in zip(pages, heights, edges, strict=True):
        running = {
            index
            for index, (key, at) in found.items()
            if on_pages[key] >= least
            or (at_height[key, at] >= _SAME_PLACE_ON and lines[index].size <= size)
            or _is_own_number(lines[index])
        }
        for index in running:
            left_out.add(_name(lines[index], height), printed(lines[index]))
        kept.append([line for index, line in enumerate(lines) if index not in running])
    return kept


def _near_edge(lines: Sequence[Line], height: Height) -> dict[int, _Key]:
    """Lines near the upper or lower edge by their place in the page: what they say, and how high."""
    low, high = _EDGE * height, (1 - _EDGE) * height
    return {
        index: (_DIGITS.sub("#", line.text.lower()), round(line.bottom / 2))
        for index, line in enumerate(lines)
        if line.bottom < low or line.top > high
    }


def _is_own_number(line: Line) -> bool:
    """Whether a line says nothing but the number its page has in the file."""
    return line.text.strip(" -–—") == str(line.page)


def _name(line: Line, height: Height) -> str:
    if _PAGE_NUMBER.match(line.text):
        return "page_number"
    return "running_head" if line.bottom > height / 2 else "running_foot"
