"""Styles of a Word document: what a paragraph is by the style it has.

What belongs here: the styles part, and the names that mean a heading, code or a table of contents. What does
not: what a paragraph says of itself (`inline`), and list definitions (`numbering`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from qa_pipeline.documents.formats.ooxml.package import WORD

if TYPE_CHECKING:
    from lxml.etree import _Element

Role = Literal["body", "title", "heading", "code", "quote", "item", "navigation"]

_VALUE = f"{WORD}val"
_HEADING = re.compile(
    r"(?:heading|rubrik|überschrift|overskrift|otsikko|titre|título|titolo|kop|nagłówek) ?(?P<level>[1-9])",
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
    r"(?: (?P<depth>[1-9]))?",
    re.IGNORECASE,
)
_NAMES_OF_ROLES: dict[Role, re.Pattern[str]] = {"code": _CODE, "quote": _QUOTE, "navigation": _CONTENTS}
_BODY: tuple[Role, int] = ("body", 0)
_OUTLINE_LEVELS = 9
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
        self._default = next((key for key, element in self._elements.items() if _is_default(element)), None)

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
            self._hiding[style] = any(_hidden(element) for element in self._chain(style))
        return self._hiding[style]

    def stands_out(self, style: str | None, part: Literal["firstRow", "firstCol"]) -> bool:
        """Whether a table style sets the first row or column off from the others."""
        return any(
            element.get(f"{WORD}type") == part
            for ancestor in self._chain(style)
            for element in ancestor.iterchildren(f"{WORD}tblStylePr")
        )

    def _resolve(self, style: str | None) -> ParagraphStyle:
        chain = list(self._chain(style))
        names = [_name(element) for element in chain] or [style or ""]
        role, level = next(filter(None, map(_named, names)), _BODY)
        outline = next((own for element in chain if (own := _outline(element)) is not None), _OUTLINE_LEVELS)
        if role == "body" and outline < _OUTLINE_LEVELS:
            role, level = "heading", outline + 1
        numbering, list_level = next(
            (found for element in chain if (found := _numbering(element))), (None, 0)
        )
        return ParagraphStyle(role, level, numbering, list_level, any(map(_hidden, chain)))

    def _chain(self, style: str | None) -> Iterator["_Element"]:
        """A style and those it is based on; they may form a ring."""
        for _ in range(_LONGEST_CHAIN):
            element = None if style is None else self._elements.get(style)
            if element is None:
                return
            yield element
            base = element.find(f"{WORD}basedOn")
            style = None if base is None else base.get(_VALUE)


def properties_of(element: "_Element", name: str) -> "dict[str, _Element]":
    """What an element says of itself: the children of its child of that name, by their names.

    One look at all is faster than a search for each, and tables have very many.
    """
    holder = element[0] if len(element) and element[0].tag == name else None
    return {} if holder is None else {child.tag: child for child in holder}


def is_on(element: "_Element | None") -> bool:
    """Whether a switch of a paragraph or run is there and not set off."""
    return element is not None and element.get(_VALUE, "1") not in _FALSE


def _named(name: str) -> tuple[Role, int] | None:
    """What the name of a style says; the names of built-in styles are translated by some programs."""
    if heading := _HEADING.fullmatch(name):
        return "heading", int(heading["level"])
    if item := _ITEM.fullmatch(name):
        return "item", int(item["depth"] or 1) - 1
    if _TITLE.fullmatch(name):
        return "title", 1
    for role, names in _NAMES_OF_ROLES.items():
        if names.fullmatch(name):
            return role, 0
    return None


def _name(element: "_Element") -> str:
    name = element.find(f"{WORD}name")
    return (element.get(f"{WORD}styleId", "") if name is None else name.get(_VALUE, "")).strip()


def _is_default(element: "_Element") -> bool:
    is_paragraph = element.get(f"{WORD}type") == "paragraph"
    return is_paragraph and element.get(f"{WORD}default", "0") not in _FALSE


def _hidden(element: "_Element") -> bool:
    return is_on(element.find(f"{WORD}rPr/{WORD}vanish"))


def _outline(element: "_Element") -> int | None:
    level = element.find(f"{WORD}pPr/{WORD}outlineLvl")
    return None if level is None else whole(level.get(_VALUE), _OUTLINE_LEVELS)


def _numbering(element: "_Element") -> tuple[str, int] | None:
    listed = element.find(f"{WORD}pPr/{WORD}numPr")
    number = None if listed is None else listed.find(f"{WORD}numId")
    if listed is None or number is None:
        return None
    level = listed.find(f"{WORD}ilvl")
    return number.get(_VALUE, ""), 0 if level is None else whole(level.get(_VALUE), 0)


def whole(written: str | None, otherwise: int) -> int:
    """A small number as attributes hold it, or another where it is none."""
    return (
        int(written)
        if written and written.isascii() and written.isdecimal() and len(written) <= 4
        else otherwise
    )
