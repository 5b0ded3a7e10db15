"""Resolve styles and lists of a Word document: looks of runs, kinds of paragraphs, and their numbers."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from qa_pipeline.documents.assembly import Style, numeral
from qa_pipeline.documents.formats.office.package import WORD, read_number

if TYPE_CHECKING:
    from lxml.etree import _Element

VALUE = f"{WORD}val"
_FALSE = frozenset({"0", "false", "off", "none"})
_BODY_TEXT = 9  # the outline level, counted from 0, of what is no heading (ISO 29500-1, 17.3.1.20)
_LONGEST_CHAIN = 50  # styles: a ring of them must end
_ROLES = {
    "heading": r"(?:heading|rubrik|überschrift|overskrift|titre|título|kop) ?([1-9])",
    "item": r"(?:list bullet|list number|aufzählungszeichen|listennummer|punktlista) ?([2-9]?)",
    "title": r"(?:document ?)?title|titel|rubrik|dokumenttitel",
    "code": r"(?:.{0,80}(?:source ?code|code ?block|quell(?:text|code)|källkod|programkod).{0,80}|kod|listing"
    r"|code(?: text| snippet| example)?|preformatted(?: text)?|html preformatted|macro ?text)",
    "quote": r"(?:intense |starkt |intensives )?(?:quote|quotations?|citat|zitat)|block text",
    "navigation": r"(?:toc|innehåll|verzeichnis|contents|index) ?(?:[1-9]|heading)"
    r"|table of (?:figures|authorities)",
}
"""Names of styles; Word writes built-in names in English, other programs translate them."""


class Role(NamedTuple):
    """Name the kind of a paragraph; `level` counts from 0 for titles and list items, from 1 for headings."""

    name: str = "p"
    level: int = 0


def value_of(element: "_Element | None", name: str, otherwise: str = "") -> str:
    """Return the value of a child, or `otherwise`."""
    child = None if element is None else element.find(WORD + name)
    return otherwise if child is None else child.get(VALUE, "")


def is_on(element: "_Element | None") -> bool:
    """Return True if a switch is present and not off."""
    return element is not None and element.get(VALUE, "1") not in _FALSE


class Styles:
    """The styles of a document, each resolved once."""

    def __init__(self, root: "_Element | None") -> None:
        styles = [] if root is None else list(root.iterchildren(f"{WORD}style"))
        self._styles = {style.get(f"{WORD}styleId", ""): style for style in styles}
        self._looks: dict[tuple[str, str], dict[str, _Element]] = {}
        self._roles: dict[str, Role] = {}

    @cached_property
    def default(self) -> str:
        """Return the id of the default paragraph style."""
        return next(
            (
                key
                for key, style in self._styles.items()
                if style.get(f"{WORD}type") == "paragraph" and style.get(f"{WORD}default", "0") not in _FALSE
            ),
            "",
        )

    def chain(self, style: str) -> Iterator["_Element"]:
        """Yield a style and its ancestors."""
        for _ in range(_LONGEST_CHAIN):
            if (element := self._styles.get(style)) is None:
                return
            yield element
            style = value_of(element, "basedOn")

    def look(self, paragraph: str, run: "_Element | None") -> "Mapping[str, _Element]":
        """Return the properties of a run with these `rPr` in a paragraph of that style, by their tags."""
        key = paragraph, value_of(run, "rStyle")
        if key not in self._looks:
            self._looks[key] = {}
            for style in key:
                for element in reversed(list(self.chain(style))):
                    self._looks[key] |= {str(child.tag): child for child in element.iterfind(f"{WORD}rPr/*")}
        properties = {} if run is None else {str(child.tag): child for child in run}
        return self._looks[key] | properties if properties else self._looks[key]

    def role(self, paragraph: str) -> Role:
        """Return the kind of a style's paragraphs, by its name, its outline level or its ancestors."""
        if paragraph not in self._roles:
            chain = list(self.chain(paragraph))
            names = [value_of(style, "name").strip() for style in chain] or [paragraph]
            by_name = (
                Role(role, int((match.groups() or ("0",))[0] or 1) - (role == "item"))
                for name in names
                for role, pattern in _ROLES.items()
                if (match := re.fullmatch(pattern, name, re.IGNORECASE))
            )
            outlines = (value_of(style, f"pPr/{WORD}outlineLvl") for style in chain)
            outline = read_number(next(filter(None, outlines), None), _BODY_TEXT)
            outlined = Role("heading", outline + 1) if outline < _BODY_TEXT else Role()
            self._roles[paragraph] = next(by_name, outlined)
        return self._roles[paragraph]

    def shade(self, properties: "_Element | None", style: str) -> "_Element | None":
        """Return the shading of a paragraph: its own, or that of its style."""
        holders = [properties, *(element.find(f"{WORD}pPr") for element in self.chain(style))]
        shades = (holder.find(f"{WORD}shd") for holder in holders if holder is not None)
        return next((shade for shade in shades if shade is not None), None)


_PLACE = re.compile("%([1-9])")
_FORMS: dict[str, Style] = {"Letter": "letters", "Roman": "roman"}


class _List(NamedTuple):
    """Hold the levels of a list, its restart numbers, and the list that it shares counters with."""

    counted_with: str
    levels: "Mapping[str, _Element]"
    starts: Mapping[str, int]
    of_styles: Mapping[str, str]


class Numbering:
    """The lists of a document and their counters (ISO 29500-1, 17.9)."""

    def __init__(self, root: "_Element | None", styles: Styles) -> None:
        self._styles = styles
        elements = [] if root is None else list(root)
        abstracts, lists = (
            {child.get(f"{name}Id", ""): child for child in elements if child.tag == name}
            for name in (f"{WORD}abstractNum", f"{WORD}num")
        )
        of_styles = {value_of(abstract, "styleLink"): key for key, abstract in abstracts.items()}
        self._lists = {key: self._read(element, abstracts, of_styles) for key, element in lists.items()}
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        self._begun: set[tuple[str, int]] = set()

    def _read(
        self, element: "_Element", abstracts: "Mapping[str, _Element]", of_styles: Mapping[str, str]
    ) -> _List:
        """Return a list; its abstract list may name a style, whose list another abstract list defines."""
        abstract_id = value_of(element, "abstractNumId")
        style = value_of(abstracts.get(abstract_id), "numStyleLink")
        abstract_id = of_styles.get(style, abstract_id) if style else abstract_id
        abstract, changes = abstracts.get(abstract_id), element.findall(f"{WORD}lvlOverride")
        holders = [*([] if abstract is None else [abstract]), *changes]
        levels = {
            child.get(f"{WORD}ilvl", "0"): child
            for holder in holders
            for child in holder.iterchildren(f"{WORD}lvl")
        }
        starts = {
            change.get(f"{WORD}ilvl", ""): read_number(written, 1)
            for change in changes
            if (written := value_of(change, "startOverride"))
        }
        of_styles = {value_of(definition, "pStyle"): level for level, definition in levels.items()}
        return _List(abstract_id, levels, starts, of_styles)

    def place(self, properties: "_Element | None", style: str) -> tuple[str, int] | None:
        """Return the list and level of a paragraph; None outside lists, and on a level without a mark."""
        numbering = None if properties is None else properties.find(f"{WORD}numPr")
        listed = (element.find(f"{WORD}pPr/{WORD}numPr") for element in self._styles.chain(style))
        of_style = next((part for part in listed if value_of(part, "numId")), None)
        number = value_of(numbering, "numId") or value_of(of_style, "numId")
        if number in ("", "0"):
            return None
        numbered_list = self._lists.get(number)
        of_style_level = numbered_list.of_styles.get(style, "") if numbered_list and style else ""
        level = read_number(value_of(numbering, "ilvl") or of_style_level or value_of(of_style, "ilvl"), 0)
        definition = numbered_list.levels.get(str(level)) if numbered_list else None
        bare = value_of(definition, "numFmt") == "none" and not value_of(definition, "lvlText").strip()
        return None if definition is not None and bare else (number, level)

    def count(self, number: str, level: int) -> str:
        """Return the number of the next paragraph of a list and level as Word shows it; "" for a bullet."""
        numbered_list = self._lists.get(number)
        definition = numbered_list.levels.get(str(level)) if numbered_list else None
        if numbered_list is None or definition is None or value_of(definition, "numFmt") == "bullet":
            return ""

        def start(depth: int) -> int:
            written = value_of(numbered_list.levels.get(str(depth)), "start")
            return numbered_list.starts.get(str(depth), read_number(written, 1))

        counts = self._counts[numbered_list.counted_with]
        if str(level) in numbered_list.starts and (number, level) not in self._begun:
            counts[level] = start(level)
        else:
            counts[level] = counts[level] + 1 if level in counts else start(level)
        self._begun.add((number, level))
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        plain = is_on(definition.find(f"{WORD}isLgl"))

        def format_place(match: re.Match[str]) -> str:
            depth = int(match[1]) - 1
            number_format = value_of(numbered_list.levels.get(str(depth)), "numFmt", "decimal")
            return format_number(counts.get(depth, start(depth)), "decimal" if plain else number_format)

        return " ".join(_PLACE.sub(format_place, value_of(definition, "lvlText")).split())


def format_number(value: int, form: str) -> str:
    """Return a number in a format of Word, in digits for an unknown format."""
    if form == "decimalZero":
        return f"{value:02}"
    if form in ("none", "bullet"):
        return ""
    style = _FORMS.get(form.removeprefix("upper").removeprefix("lower"), "digits")
    return numeral(value, style, upper=form.startswith("upper"))
