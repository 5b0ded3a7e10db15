"""Resolve styles and lists of a Word document: looks of runs, kinds of paragraphs, and their numbers."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, NamedTuple

from qa_pipeline.documents.assembly import Style, numeral
from qa_pipeline.documents.formats.office.package import WORD, read_number

if TYPE_CHECKING:
    from lxml.etree import _Element

VALUE = f"{WORD}val"
FALSE = frozenset({"0", "false", "off", "none"})
_BODY_TEXT = 9  # the outline level, counted from 0, of body text (ISO 29500-1, 17.3.1.20)
_DEEPEST = 8  # levels of a list, from 0 (ISO 29500-1, 17.9.3)
_LONGEST_CHAIN = 50  # styles: a ring of them must end
_ROLES = {  # names of styles; Word writes built-in names in English, other programs translate them
    "heading": r"(?:heading|rubrik|überschrift) ?([1-9])|(?:document ?)?title|titel|rubrik|dokumenttitel",
    "item": r"(?:list bullet|list number|aufzählungszeichen|listennummer|punktlista) ?([2-9]?)",
    "code": r"(?:.{0,80}(?:source ?code|code ?block|quell(?:text|code)|källkod|programkod).{0,80}|kod|listing"
    r"|code(?: text| snippet| example)?|preformatted(?: text)?|html preformatted|macro ?text)",
    "quote": r"(?:intense |starkt |intensives )?(?:quote|quotations?|citat|zitat)|block text",
    "navigation": r"(?:toc|innehåll|verzeichnis|contents|index) ?(?:[1-9]|heading)"
    r"|table of (?:figures|authorities)",
}


class Role(NamedTuple):
    """Name the kind of a paragraph; `level` counts from 0 for list items, from 1 for headings."""

    name: str = "p"
    level: int = 0


def value_of(element: "_Element | None", name: str, otherwise: str = "") -> str:
    """Return the value of a child, or `otherwise`."""
    child = None if element is None else element.find(WORD + name)
    return otherwise if child is None else child.get(VALUE, "")


def is_on(element: "_Element | None") -> bool:
    """Return True if a switch is present and not off."""
    return element is not None and element.get(VALUE, "1") not in FALSE


class Styles:
    """The styles of a document, each resolved once."""

    def __init__(self, root: "_Element | None") -> None:
        styles = [] if root is None else list(root.iterchildren(f"{WORD}style"))
        self._styles = {style.get(f"{WORD}styleId", ""): style for style in styles}
        self._looks: defaultdict[str, dict[str, str]] = defaultdict(dict)  # by style: `{"sz": "24"}`
        for style_id in self._styles:
            for style in reversed(list(self.chain(style_id))):  # a style overrides its ancestors
                # the shading of a paragraph is the background of its runs
                properties = (*style.iterfind(f"{WORD}pPr/{WORD}shd"), *style.iterfind(f"{WORD}rPr/*"))
                self._looks[style_id] |= _values(properties)
        self._roles: dict[str, Role] = {}  # by style
        defaults = (style for style in self._styles.values() if style.get(f"{WORD}default", "0") not in FALSE)
        default = next((style for style in defaults if style.get(f"{WORD}type") == "paragraph"), None)
        self.default = "" if default is None else default.get(f"{WORD}styleId", "")

    def chain(self, style_id: str) -> Iterator["_Element"]:
        """Yield a style and its ancestors, the nearest first."""
        for _ in range(_LONGEST_CHAIN):
            style = self._styles.get(style_id)
            if style is None:
                return
            yield style
            style_id = value_of(style, "basedOn")

    def look(self, paragraph_style: str, properties: "_Element | None") -> Mapping[str, str]:
        """Return the values of a run's properties, such as `b`; its own (`rPr`) override its styles."""
        run_style = value_of(properties, "rStyle")
        own = {} if properties is None else _values(properties)
        return self._looks[paragraph_style] | self._looks[run_style] | own

    def role(self, style_id: str) -> Role:
        """Return the kind of a style's paragraphs, by its own or an ancestor's name, else its outline."""
        if style_id not in self._roles:
            chain = list(self.chain(style_id))
            names = [value_of(style, "name").strip() for style in chain] or [style_id]  # of a missing style
            outlines = (value_of(style, f"pPr/{WORD}outlineLvl") for style in chain)
            outline = read_number(next(filter(None, outlines), None), _BODY_TEXT)
            by_outline = Role("heading", outline + 1) if outline < _BODY_TEXT else Role()
            self._roles[style_id] = next(filter(None, map(_role_by_name, names)), by_outline)
        return self._roles[style_id]


def _values(properties: "Iterable[_Element]") -> dict[str, str]:
    return {str(element.tag).removeprefix(WORD): element.get(VALUE, "") for element in properties}


def _role_by_name(style_name: str) -> Role | None:
    """Return the kind that the name of a style states, such as `Heading 2`."""
    for role, pattern in _ROLES.items():
        if match := re.fullmatch(pattern, style_name, re.IGNORECASE):
            number = int(match[1] or 1) if match.groups() else 1
            return Role(role, number - 1 if role == "item" else number)
    return None


_LEVEL_SIGN = re.compile("%([1-9])")  # the number of a level in the text of a level, such as `%1.%2`
_FORMS: dict[str, Style] = {"Letter": "letters", "Roman": "roman"}


class _List(NamedTuple):
    """A numbered list; lists of the same abstract list continue each other's numbers."""

    abstract_id: str
    levels: "Mapping[int, _Element]"
    starts: Mapping[int, int]  # first numbers by level
    restarting_levels: Set[int]  # levels on which the list overrides the start, to begin again


class Numbering:
    """The lists of a document and their counters (ISO 29500-1, 17.9)."""

    def __init__(self, root: "_Element | None", styles: Styles) -> None:
        self._styles = styles
        elements = [] if root is None else list(root)
        # an `abstractNum` defines levels; each `num` refers to one and may change it
        abstract_lists = (child for child in elements if child.tag == f"{WORD}abstractNum")
        abstracts = {abstract.get(f"{WORD}abstractNumId", ""): abstract for abstract in abstract_lists}
        lists = {child.get(f"{WORD}numId", ""): child for child in elements if child.tag == f"{WORD}num"}
        # the ids of the abstract lists that define a list style, by the style
        id_by_style = {value_of(abstract, "styleLink"): key for key, abstract in abstracts.items()}
        self._lists = {key: _read_list(element, abstracts, id_by_style) for key, element in lists.items()}
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)  # by abstract list: last number by level
        self._begun: set[tuple[str, int]] = set()  # lists and levels that have had a paragraph

    def take_next(self, properties: "_Element | None", style_id: str) -> tuple[int, str] | None:
        """Return a paragraph's level and number, such as `2.1`, or "" for a bullet; None outside lists."""
        list_id, level = self._find_list(properties, style_id)
        if list_id in ("", "0"):  # 0 takes a paragraph out of the list of its style
            return None
        numbered_list = self._lists.get(list_id)
        definition = numbered_list.levels.get(level) if numbered_list else None
        if numbered_list is None or definition is None:
            return level, ""  # the file does not define the list or level
        form, text = value_of(definition, "numFmt"), value_of(definition, "lvlText")
        if form == "bullet":
            return level, ""
        if form == "none" and not text.strip():  # a level without numbers or bullets
            return None
        # After 1 and 2 in a list, another list of its abstract list goes on with 3 and 4. If the other list
        # overrides the start of the level by 1, its first paragraph is 1, and its second is 2.
        counts = self._counts[numbered_list.abstract_id]
        restarts = level in numbered_list.restarting_levels and (list_id, level) not in self._begun
        goes_on = level in counts and not restarts
        counts[level] = counts[level] + 1 if goes_on else numbered_list.starts[level]
        self._begun.add((list_id, level))
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        shows_digits = is_on(definition.find(f"{WORD}isLgl"))  # legal numbering: digits for all levels

        def write_level(sign: re.Match[str]) -> str:
            other = int(sign[1]) - 1
            number = counts.get(other, numbered_list.starts.get(other, 1))
            own_form = value_of(numbered_list.levels.get(other), "numFmt", "decimal")
            return _format_number(number, "decimal" if shows_digits else own_form)

        return level, " ".join(_LEVEL_SIGN.sub(write_level, text).split())

    def _find_list(self, properties: "_Element | None", style_id: str) -> tuple[str, int]:
        """Return the id of a paragraph's list, "" or "0" outside lists, and its level."""
        # `numPr` names a list (`numId`) and a level (`ilvl`); each may come from the style instead
        own = None if properties is None else properties.find(f"{WORD}numPr")
        by_style = (style.find(f"{WORD}pPr/{WORD}numPr") for style in self._styles.chain(style_id))
        inherited = next((part for part in by_style if value_of(part, "numId")), None)
        level = read_number(value_of(own, "ilvl") or value_of(inherited, "ilvl"), 0)
        return value_of(own, "numId") or value_of(inherited, "numId"), min(level, _DEEPEST)


def _read_list(num: "_Element", abstracts: "Mapping[str, _Element]", id_by_style: Mapping[str, str]) -> _List:
    """Return the list of a `num`, with the levels of its abstract list and its own changes."""
    abstract_id = value_of(num, "abstractNumId")
    # instead of levels an abstract list may have the name of a list style, whose levels it takes
    linked_style = value_of(abstracts.get(abstract_id), "numStyleLink")
    abstract_id = id_by_style.get(linked_style, abstract_id) if linked_style else abstract_id
    overrides = num.findall(f"{WORD}lvlOverride")
    levels = {  # those of an override replace those of the abstract list
        read_number(level.get(f"{WORD}ilvl"), 0): level
        for holder in (abstracts.get(abstract_id, ()), *overrides)
        for level in holder
        if level.tag == f"{WORD}lvl"
    }
    start_overrides = {
        read_number(override.get(f"{WORD}ilvl"), 0): read_number(value_of(override, "startOverride"), 1)
        for override in overrides
        if value_of(override, "startOverride")
    }
    starts = {number: read_number(value_of(level, "start"), 1) for number, level in levels.items()}
    return _List(abstract_id, levels, starts | start_overrides, start_overrides.keys())


def _format_number(value: int, form: str) -> str:
    """Return a number in a format of Word, in digits for an unknown format."""
    if form == "decimalZero":
        return f"{value:02}"
    if form in ("none", "bullet"):
        return ""
    style = _FORMS.get(form.removeprefix("upper").removeprefix("lower"), "digits")
    return numeral(value, style, upper=form.startswith("upper"))
