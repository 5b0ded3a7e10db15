"""Tables of contents and indexes of a PDF, whose entries dots lead to their page numbers.

What belongs here: telling such entries, and leaving them out. What does not: the file's own outline
(`extras`), which gives headings their level.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.columns import counted
from qa_pipeline.documents.formats.pdf.layout import PageContent
from qa_pipeline.documents.formats.pdf.lines import Line, printed

_DOTS = re.compile(r"[.·…](?: ?[.·…]){3,}")
_PAGES = re.compile(r"(\d{1,4}|[ivxlc]{1,8})(?:(?:, ?|[-–])(?:\d{1,4}|[ivxlc]{1,8}))*", re.ASCII)
_LAST = re.compile(r"\s(\d{1,4}|[ivxlc]{1,8})$", re.ASCII)
_TITLES = frozenset(
    {
        "contents", "table of contents", "list of figures", "list of tables", "index", "concept index",
        "inhalt", "inhaltsverzeichnis", "abbildungsverzeichnis", "tabellenverzeichnis", "sachregister",
        "stichwortverzeichnis", "innehåll", "innehållsförteckning", "figurförteckning", "tabellförteckning",
        "sakregister", "register", "table des matières", "liste des tableaux",
    }
)  # fmt: skip
_LEAST_ENTRIES = 3
_LEAST_OF_INDEX = 6
_MANY_ENTRIES = 8
_MOST_BETWEEN = 3
_LONGEST_ENTRY = 300
_IN_ORDER = 0.9
_FURTHER_PAGES = 20
_ROMAN_BELOW = 10_000


@dataclass(slots=True)
class _Entry:
    """A line that dots lead to a page number: its place on the page, its text before the dots, the number."""

    line: int
    name: str
    page: int


def without_contents(pages: Sequence[PageContent], left_out: Omissions) -> list[PageContent]:
    """Leave out entries of tables of contents and of indexes; forms and lists of prices have dots too.

    A table of contents counts up, an index goes through the alphabet; either has several entries in a row.

    Args:
        pages: what was read of each page.
        left_out: counts what does not reach the text.
    """
    kept: list[PageContent] = []
    going_on = ""
    for page in pages:
        found = _kinds(page.lines, len(pages), going_on)
        for place, kind in found.items():
            left_out.add(kind, printed(page.lines[place]))
        lines = [line for place, line in enumerate(page.lines) if place not in found]
        kept.append(replace(page, lines=lines) if found else page)
        going_on = next(reversed(found.values()), "")
    return kept


def _kinds(lines: Sequence[Line], pages: int, going_on: str) -> dict[int, str]:
    """What lines of a page are entries of, by their place; `going_on` is what the page before ended in."""
    runs: list[list[_Entry]] = []
    for place, line in enumerate(lines):
        entry = _entry(place, line.text)
        if entry and runs and place - runs[-1][-1].line <= _MOST_BETWEEN + 1:
            runs[-1].append(entry)
        elif entry:
            runs.append([entry])
    found: dict[int, str] = {}
    for run in runs:
        kind = _kind(run, pages, going_on)
        if kind:
            found |= dict.fromkeys(_reach(run, lines, kind), kind)
            going_on = kind
    return found


def _entry(place: int, text: str) -> _Entry | None:
    if len(text) > _LONGEST_ENTRY:
        return None
    dots = next(reversed(list(_DOTS.finditer(text))), None)
    number = _PAGES.fullmatch(text[dots.end() :].strip(" .")) if dots else None
    return _Entry(place, text[: dots.start()].strip(), _value(number[1])) if dots and number else None


def _value(number: str) -> int:
    """A number to compare; pages with Roman numbers come first."""
    return int(number) if number.isdecimal() else counted(number) - _ROMAN_BELOW


def _kind(run: Sequence[_Entry], pages: int, going_on: str) -> str:
    """What entries in a row belong to; nothing for other text with dots."""
    numbers = [entry.page for entry in run]
    letters = [entry.name[:1].casefold() for entry in run]
    likely = len(run) >= _MANY_ENTRIES or max(numbers) <= pages + _FURTHER_PAGES
    if _rising(numbers) and likely and (len(run) >= _LEAST_ENTRIES or going_on == "table_of_contents"):
        return "table_of_contents"
    if _rising(letters) and (len(run) >= _LEAST_OF_INDEX or going_on == "index"):
        return "index"
    return ""


def _rising(values: Sequence[Any]) -> bool:
    """Whether values, all numbers or all letters, hardly ever fall."""
    steps = [bool(one <= other) for one, other in pairwise(values)]
    return sum(steps) >= _IN_ORDER * len(steps)


def _reach(run: Sequence[_Entry], lines: Sequence[Line], kind: str) -> range:
    """The places of all entries from the first to the last, with such without dots, and the title above."""
    first, last = run[0].line, run[-1].line
    if kind == "table_of_contents":
        while first and run[0].page - _number(lines[first - 1]) in range(_FURTHER_PAGES):
            first -= 1
        while last + 1 < len(lines) and _number(lines[last + 1]) - run[-1].page in range(_FURTHER_PAGES):
            last += 1
    if first and lines[first - 1].text.strip(" .:").casefold() in _TITLES:
        first -= 1
    return range(first, last + 1)


def _number(line: Line) -> int:
    """The page number that an entry without dots ends in; far from all others if there is none."""
    number = _LAST.search(line.text[-10:])
    return _value(number[1]) if number and len(line.text) <= _LONGEST_ENTRY else -2 * _ROMAN_BELOW
