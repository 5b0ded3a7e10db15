"""Styles of a Word document: what a paragraph is by the style it has.

What belongs here: the styles part, and the names that mean a heading, code or a table of contents. What does
not: what a paragraph says of itself (`inline`), and list definitions (`numbering`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from qa_pipeline.documents.formats.ooxml.package import WORD, whole

if TYPE_CHECKING:
    from lxml.etree import _Element

Role = Literal["body", "title", "heading", "code", "quote", "item", "navigation"]

VALUE = f"{WORD}val"
_HIDDEN = f"{WORD}rPr/{WORD}vanish"
_HEADING = re.compile(
    r"(?:heading|rubrik|überschrift|overskrift|otsikko|titre|título|titolo|kop|nagłówek) ?(?P<number>[1-9])",
    re.IGNORECASE,
)
_TITLE = re.compile(r"title|titel|rubrik|tittel|otsikko|document title|dokumenttitel", re.IGNORECASE)
_CODE = re.compile(
    r".{0,80}(?:source ?code|code ?block|quell(?:text|code)|källkod|programkod|program ?listing).{0,80}|"
    r"code|kod|"
    r"preformatted(?: text)?|html (?:preformatted|vorformatiert|förformaterad)|macro ?text|makrotext|"
    r"vorformatierter text|förformaterad text|code(?: text| snippet| example)?|listing",
    re.IGNORECASE,
)
_QUOTE = re.compile(
    r"(?:intense |starkt |intensives )?(?:quote|quotations?|citat|zitat)|block text|blocktext", re.IGNORECASE
)
_CONTENTS = re.compile(
    r"(?:toc|innehåll|verzeichnis|contents|index) ?[1-9]|(?:toc|contents|index) heading|table of figures|"
    r"table of authorities|figurförteckning|abbildungsverzeichnis|inhaltsverzeichnisüberschrift|"
    r"innehållsförteckningsrubrik",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"(?:list bullet|list number|aufzählungszeichen|listennummer|punktlista|numrerad lista)"
    r"(?: (?P<number>[1-9]))?",
    re.IGNORECASE,
)
_NAMES: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("heading", _HEADING),
    ("item", _ITEM),
    ("title", _TITLE),
    ("code", _CODE),
    ("quote", _QUOTE),
    ("navigation", _CONTENTS),
)
_NO_OUTLINE = 9
_LONGEST_CHAIN = 50
_FALSE = frozenset({"0", "false", "off", "none"})


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """What a style makes of its paragraphs.

    `level` counts from 1 for headings, from 0 for list items. `numbering` and `list_level` name the list a
    style puts its paragraphs in. `hidden` text is not shown.
    """

    role: Role = "body"
    level: int = 0
    numbering: str | None = None
    list_level: int = 0
    hidden: bool = False


class Styles:
    """The styles of one document, each resolved once."""

    def __init__(self, root: "_Element | None") -> None:
        found = [] if root is None else list(root.iterchildren(f"{WORD}style"))
        self._elements = {element.get(f"{WORD}styleId", ""): element for element in found}
        self._paragraphs: dict[str | None, ParagraphStyle] = {}
        self._hiding: dict[str, bool] = {}
        defaults = (key for key, element in self._elements.items() if _is_default(element))
        self._default = next(defaults, None)

    def paragraph(self, style: str | None) -> ParagraphStyle:
        """What a paragraph style means; the default style for none.

        A style that the document names but does not define still has a name.
        """
        if style not in self._paragraphs:
            self._paragraphs[style] = self._resolve(style or self._default)
        return self._paragraphs[style]

    def hides(self, style: str) -> bool:
        """Whether a character style hides its text."""
        if style not in self._hiding:
            self._hiding[style] = any(is_on(element.find(_HIDDEN)) for element in self._chain(style))
        return self._hiding[style]

    def stands_out(self, style: str | None, part: Literal["firstRow", "firstCol"]) -> bool:
        """Whether a table style sets the first row or column off from the others."""
        changes = (one for element in self._chain(style) for one in element.iterchildren(f"{WORD}tblStylePr"))
        return any(one.get(f"{WORD}type") == part for one in changes)

    def _resolve(self, style: str | None) -> ParagraphStyle:
        chain = list(self._chain(style))
        names = [value_of(one, "name", one.get(f"{WORD}styleId", "")) for one in chain] or [style or ""]
        role, level = next((known for name in names if (known := _named(name.strip()))), ("body", 0))
        outlines = (value_of(one, f"pPr/{WORD}outlineLvl") for one in chain)
        outline = whole(next(filter(None, outlines), None), _NO_OUTLINE)
        if role == "body" and outline < _NO_OUTLINE:
            role, level = "heading", outline + 1
        lists = (one.find(f"{WORD}pPr/{WORD}numPr") for one in chain)
        listed = next((one for one in lists if one is not None and value_of(one, "numId")), None)
        hidden = any(is_on(one.find(_HIDDEN)) for one in chain)
        if listed is None:
            return ParagraphStyle(role, level, hidden=hidden)
        depth = whole(value_of(listed, "ilvl"), 0)
        return ParagraphStyle(role, level, value_of(listed, "numId"), depth, hidden)

    def _chain(self, style: str | None) -> Iterator["_Element"]:
        """A style and those it is based on; they may form a ring."""
        for _ in range(_LONGEST_CHAIN):
            element = self._elements.get(style or "")
            if element is None:
                return
            yield element
            style = value_of(element, "basedOn")


def properties_of(element: "_Element", name: str) -> "dict[str, _Element]":
    """What an element says of itself: the children of its child of that name, by their names.

    One look at all is faster than a search for each, and tables have very many.
    """
    holder = element[0] if len(element) and element[0].tag == name else None
    return {} if holder is None else {child.tag: child for child in holder}


def is_on(element: "_Element | None") -> bool:
    """Whether a switch of a paragraph or run is there and not set off."""
    return element is not None and element.get(VALUE, "1") not in _FALSE


def value_of(element: "_Element | None", name: str, otherwise: str = "") -> str:
    """The value of a child; another where there is none."""
    child = None if element is None else element.find(WORD + name)
    return otherwise if child is None else child.get(VALUE, "")


def _named(name: str) -> tuple[Role, int] | None:
    """What the name of a style says; the names of built-in styles are translated by some programs."""
    for role, names in _NAMES:
        if found := names.fullmatch(name):
            number = int(found.groupdict().get("number") or 1)
            return role, {"heading": number, "item": number - 1, "title": 1}.get(role, 0)
    return None


def _is_default(element: "_Element") -> bool:
    is_paragraph = element.get(f"{WORD}type") == "paragraph"
    return is_paragraph and element.get(f"{WORD}default", "0") not in _FALSE
