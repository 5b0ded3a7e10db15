"""List definitions of a Word document: which of its numbered paragraphs are items, and their numbers.

What belongs here: the numbering part, and counting. What does not: which list a paragraph is in (`blocks`).
"""

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from qa_pipeline.documents.docx.styles import whole
from qa_pipeline.documents.list_numbers import Style, written_number
from qa_pipeline.documents.office.package import WORD

if TYPE_CHECKING:
    from lxml.etree import _Element

_VALUE = f"{WORD}val"
_LEVEL = f"{WORD}ilvl"
_NO_LIST = "0"
"""The number of the list that takes a paragraph out of the one its style puts it in."""
_STYLES: dict[str, tuple[Style, bool]] = {
    "lowerLetter": ("letters", False),
    "upperLetter": ("letters", True),
    "lowerRoman": ("roman", False),
    "upperRoman": ("roman", True),
}
_UNNUMBERED = frozenset({"bullet", "none"})
_PLACE = re.compile(r"%([1-9])")
_OUTLINE = re.compile(r"[(]?%[1-9](?:\.%[1-9])+[.)]?")
"""How a level is written that shows the numbers of those above it."""


class Numbering:
    """The lists of one document, by the numbers that paragraphs name."""

    def __init__(self, root: "_Element | None") -> None:
        self._abstract: dict[str, _Element] = {}
        self._lists: dict[str, _Element] = {}
        self._known: dict[tuple[str, int], bool] = {}
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        self._restarted: set[tuple[str, int]] = set()
        for element in () if root is None else root:
            if element.tag == f"{WORD}abstractNum":
                self._abstract[element.get(f"{WORD}abstractNumId", "")] = element
            elif element.tag == f"{WORD}num":
                self._lists[element.get(f"{WORD}numId", "")] = element

    def is_item(self, number: str, level: int) -> bool:
        """Whether a paragraph of that list and level is shown with a bullet or number.

        One of a list that the document does not define is taken for an item.
        """
        key = number, level
        if key not in self._known:
            self._known[key] = number != _NO_LIST and not self._is_bare(number, level)
        return self._known[key]

    def marker(self, number: str, level: int) -> str | None:
        """The number of the next paragraph of that list and level; None where it shows none."""
        definition = self._level(number, level)
        form = _said(definition, "numFmt") or "decimal"
        if definition is None or form in _UNNUMBERED:
            return None
        counts = self._counts[self._abstract_name(number)]
        start = self._restart(number, level)
        if start is not None:
            counts[level] = start
        else:
            counts[level] = counts[level] + 1 if level in counts else self._start(number, level)
        for deeper in [one for one in counts if one > level]:
            del counts[deeper]
        shown = _said(definition, "lvlText")
        if _OUTLINE.fullmatch(shown):
            outer = (int(place) - 1 for place in _PLACE.findall(shown))
            return ".".join(str(counts.get(one, self._start(number, one))) for one in outer) + "."
        style, upper = _STYLES.get(form, ("digits", False))
        return written_number(counts[level], style, upper=upper)

    def _start(self, number: str, level: int) -> int:
        return whole(_said(self._level(number, level), "start"), 1)

    def _restart(self, number: str, level: int) -> int | None:
        """Where a list begins anew that goes on counting in another's place, when it is met first."""
        named = self._lists.get(number)
        if named is None or (number, level) in self._restarted:
            return None
        self._restarted.add((number, level))
        for change in named.iterchildren(f"{WORD}lvlOverride"):
            if change.get(_LEVEL) == str(level) and (written := _said(change, "startOverride")):
                return whole(written, 1)
        return None

    def _abstract_name(self, number: str) -> str:
        """Lists that stand for the same abstract list count together."""
        return _said(self._lists.get(number), "abstractNumId") or number

    def _is_bare(self, number: str, level: int) -> bool:
        definition = self._level(number, level)
        if definition is None:
            return False
        return _said(definition, "numFmt") == "none" and not _said(definition, "lvlText").strip()

    def _level(self, number: str, level: int) -> "_Element | None":
        """The definition of a level: the list's own, else that of the abstract list it stands for."""
        named = self._lists.get(number)
        if named is None:
            return None
        abstract = self._abstract.get(_said(named, "abstractNumId"))
        own = [change for change in named if change.tag == f"{WORD}lvlOverride"]
        for holder in (*own, abstract):
            for found in () if holder is None else holder.iterchildren(f"{WORD}lvl"):
                if found.get(_LEVEL) == str(level):
                    return found
        return None


def _said(element: "_Element | None", name: str) -> str:
    """The value of a child; empty where there is none."""
    child = None if element is None else element.find(f"{WORD}{name}")
    return "" if child is None else child.get(_VALUE, "")
