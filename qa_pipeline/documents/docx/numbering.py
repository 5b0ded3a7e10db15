"""List definitions of a Word document: which of its numbered paragraphs are items of a list.

What belongs here: the numbering part. What does not: counting; canonical text marks every item alike.
"""

from typing import TYPE_CHECKING

from qa_pipeline.documents.office.package import WORD

if TYPE_CHECKING:
    from lxml.etree import _Element

_VALUE = f"{WORD}val"
_LEVEL = f"{WORD}ilvl"
_NO_LIST = "0"
"""The number of the list that takes a paragraph out of the one its style puts it in."""


class Numbering:
    """The lists of one document, by the numbers that paragraphs name."""

    def __init__(self, root: "_Element | None") -> None:
        self._abstract: dict[str, _Element] = {}
        self._lists: dict[str, _Element] = {}
        self._known: dict[tuple[str, int], bool] = {}
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

    def _is_bare(self, number: str, level: int) -> bool:
        definition = self._level(number, level)
        if definition is None:
            return False
        form, mark = definition.find(f"{WORD}numFmt"), definition.find(f"{WORD}lvlText")
        shows_nothing = mark is None or not mark.get(_VALUE, "").strip()
        return form is not None and form.get(_VALUE) == "none" and shows_nothing

    def _level(self, number: str, level: int) -> "_Element | None":
        """The definition of a level: the list's own, else that of the abstract list it stands for."""
        named = self._lists.get(number)
        if named is None:
            return None
        reference = named.find(f"{WORD}abstractNumId")
        abstract = self._abstract.get(reference.get(_VALUE, "")) if reference is not None else None
        own = [change for change in named if change.tag == f"{WORD}lvlOverride"]
        for holder in (*own, abstract):
            for found in () if holder is None else holder.iterchildren(f"{WORD}lvl"):
                if found.get(_LEVEL) == str(level):
                    return found
        return None
