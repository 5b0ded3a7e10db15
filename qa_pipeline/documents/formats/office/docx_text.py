"""Styles and lists of a Word document, the text in its paragraphs, and what is taken out before it is read.

Elements that nobody knows are looked into, so that no text is lost with them. Codes of fields are left out
while a paragraph is read, since only the order of runs tells them from text.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from qa_pipeline.documents.assembly import Omissions, Style, visible, written_number
from qa_pipeline.documents.formats.formulas import LEVEL, SCRIPTS, write_formula
from qa_pipeline.documents.formats.office.drawings import chosen_branch
from qa_pipeline.documents.formats.office.package import (
    ALTERNATIVES,
    CHART,
    DIAGRAM,
    DRAWING,
    MATH,
    PICTURE,
    WORD,
    read_number,
)

if TYPE_CHECKING:
    from lxml.etree import _Element

Role = Literal["body", "title", "heading", "code", "quote", "item", "navigation"]

VALUE = f"{WORD}val"
_LOST = {"vanish": "hidden", "strike": "deleted_text", "dstrike": "deleted_text"}
"""Switches of a run or style whose text is no text of the document, and as what it is counted."""
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
_NO_OUTLINE = 9  # the outline level of body text
_LONGEST_CHAIN = 50  # longer than any Word writes, so that a ring of styles ends
_FALSE = frozenset({"0", "false", "off", "none"})


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """The properties that a style gives its paragraphs.

    `level` counts from 1 for headings, from 0 for list items. `numbering` and `list_level` name the list a
    style puts its paragraphs in. `lost` says as what text that is hidden or struck out is counted.
    """

    role: Role = "body"
    level: int = 0
    numbering: str | None = None
    list_level: int = 0
    lost: str | None = None


class Styles:
    """The styles of one document, each resolved once."""

    def __init__(self, root: "_Element | None") -> None:
        styles = [] if root is None else list(root.iterchildren(f"{WORD}style"))
        self._elements = {element.get(f"{WORD}styleId", ""): element for element in styles}
        self._paragraphs: dict[str | None, ParagraphStyle] = {}
        self._lost: dict[str, str | None] = {}
        paragraphs = (key for key in self._elements if self._elements[key].get(f"{WORD}type") == "paragraph")
        defaults = (key for key in paragraphs if self._elements[key].get(f"{WORD}default", "0") not in _FALSE)
        self._default = next(defaults, None)

    def paragraph(self, style: str | None) -> ParagraphStyle:
        """Return the meaning of a paragraph style, the default for none; undefined ones have a name."""
        if style not in self._paragraphs:
            self._paragraphs[style] = self._resolve(style or self._default)
        return self._paragraphs[style]

    def lost_as(self, style: str | None, run: "_Element | None" = None) -> str | None:
        """Return as what the text of a style, or of a run with these properties, is lost; None for text.

        The nearest switch counts: a run may be shown though its style hides it.
        """
        key = style or ""
        if key not in self._lost:
            chain = [element.find(f"{WORD}rPr") for element in self._chain(style)]
            self._lost[key] = _lost_by(chain)
        if run is None or not any(run.find(WORD + name) is not None for name in _LOST):
            return self._lost[key]
        return _lost_by([run, *(element.find(f"{WORD}rPr") for element in self._chain(style))])

    def stands_out(self, style: str | None, part: Literal["firstRow", "firstCol"]) -> bool:
        """Return whether a table style sets the first row or column off from the others."""
        parts = (
            child for element in self._chain(style) for child in element.iterchildren(f"{WORD}tblStylePr")
        )
        return any(child.get(f"{WORD}type") == part for child in parts)

    def _resolve(self, style: str | None) -> ParagraphStyle:
        chain = list(self._chain(style))
        names = [value_of(element, "name", element.get(f"{WORD}styleId", "")) for element in chain]
        roles = (_role_of_name(name.strip()) for name in names or [style or ""])
        role, level = next(filter(None, roles), ("body", 0))
        outlines = (value_of(element, f"pPr/{WORD}outlineLvl") for element in chain)
        outline = read_number(next(filter(None, outlines), None), _NO_OUTLINE)
        if role == "body" and outline < _NO_OUTLINE:
            role, level = "heading", outline + 1
        lists = (element.find(f"{WORD}pPr/{WORD}numPr") for element in chain)
        listed = next((number for number in lists if number is not None and value_of(number, "numId")), None)
        lost = self.lost_as(style)
        if listed is None:
            return ParagraphStyle(role, level, lost=lost)
        depth = read_number(value_of(listed, "ilvl"), 0)
        return ParagraphStyle(role, level, value_of(listed, "numId"), depth, lost)

    def _chain(self, style: str | None) -> Iterator["_Element"]:
        """Yield a style and those it is based on; they may form a ring."""
        for _ in range(_LONGEST_CHAIN):
            element = self._elements.get(style or "")
            if element is None:
                return
            yield element
            style = value_of(element, "basedOn")


def _lost_by(properties: "Sequence[_Element | None]") -> str | None:
    """Return as what text is lost, by the properties of its run and its styles, the nearest first."""
    for name, what in _LOST.items():
        switches = (None if holder is None else holder.find(WORD + name) for holder in properties)
        if is_on(next((switch for switch in switches if switch is not None), None)):
            return what
    return None


def properties_of(element: "_Element", name: str) -> "dict[str, _Element]":
    """Return the children of the child of that name, by name: cells are many, and one look is faster."""
    holder = element[0] if len(element) and element[0].tag == name else None
    return {} if holder is None else {child.tag: child for child in holder}


def is_on(element: "_Element | None") -> bool:
    """Return whether a switch of a paragraph or run is present and not off."""
    return element is not None and element.get(VALUE, "1") not in _FALSE


def value_of(element: "_Element | None", name: str, otherwise: str = "") -> str:
    """Return the value of a child; `otherwise` where there is none."""
    child = None if element is None else element.find(WORD + name)
    return otherwise if child is None else child.get(VALUE, "")


def _role_of_name(name: str) -> tuple[Role, int] | None:
    """Return the role in the name of a style; some programs translate the names of built-in styles."""
    for role, names in _NAMES:
        if match := names.fullmatch(name):
            number = int(match.groupdict().get("number") or 1)
            return role, {"heading": number, "item": number - 1, "title": 1}.get(role, 0)
    return None


_SIGNS = {
    f"{WORD}t": None,
    f"{WORD}tab": "\t",
    f"{WORD}ptab": "\t",
    f"{WORD}br": "\n",
    f"{WORD}cr": "\n",
    f"{WORD}noBreakHyphen": "-",
}
_PROPERTIES = frozenset({f"{WORD}pPr", f"{WORD}rPr", f"{WORD}sdtPr"})
_NOTES = frozenset({f"{WORD}footnoteReference", f"{WORD}endnoteReference"})
_ADJACENT = {
    **dict.fromkeys(_NOTES, "notes"),
    f"{WORD}txbxContent": "boxes",
    f"{CHART}chart": "drawn",
    f"{DIAGRAM}relIds": "drawn",
}
_FIELD_CODE = re.compile("(?:[Ff]0|00)?([0-9A-Fa-f]{2})")
"""A place in a font; Word also stores them in the private area from F000 on."""
_SYMBOL_FROM_SPACE = (
    " !∀#∃%&∍()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
)
_SYMBOL_FROM_A0 = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"
_MARKS = {0xA7: "▪", 0xA8: "□", 0xD8: "➢", 0xE0: "→", 0xE8: "→", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"}
_FONTS = {
    "symbol": dict(enumerate(_SYMBOL_FROM_SPACE, 0x20)) | dict(enumerate(_SYMBOL_FROM_A0, 0xA0)),
    "wingdings": _MARKS,
}
"""Characters of fonts that Word stores as places in the font, in the font's own encoding."""


@dataclass(slots=True)
class Inline:
    """The text of a paragraph, and what hangs on it: text boxes, drawings, references to notes."""

    parts: list[str] = field(default_factory=list)
    boxes: "list[_Element]" = field(default_factory=list)
    notes: "list[_Element]" = field(default_factory=list)
    drawn: "list[_Element]" = field(default_factory=list)
    codes: list[str] = field(default_factory=list)


class InlineReader:
    """A reader of paragraphs, one after another; `seen` counts the characters of all text met."""

    def __init__(self, omissions: Omissions) -> None:
        self.omissions = omissions
        self.seen = 0
        self._fields: list[bool] = []
        self._instructions = 0
        self._inline = Inline()

    def read(self, paragraph: "_Element") -> Inline:
        """Read a paragraph; of a field only the result is kept."""
        self._inline = Inline()
        self._walk(paragraph)
        if self._inline.codes:
            self.omissions.add("field_code", "".join(self._inline.codes))
        # An instruction ends with its paragraph: of a broken field not the rest of the document is lost.
        self._fields.clear()
        self._instructions = 0
        return self._inline

    def _walk(self, element: "_Element") -> None:
        for child in element:
            tag = child.tag
            if tag in _SIGNS:
                self._text(_SIGNS[tag], child.text or "")
            elif tag in _ADJACENT:
                getattr(self._inline, _ADJACENT[tag]).append(child)
            elif (act := self._ACTIONS.get(tag)) is not None:
                act(self, child)
            elif tag not in _PROPERTIES:
                self._walk(child)

    def _run(self, run: "_Element") -> None:
        properties = run[0] if len(run) and run[0].tag == f"{WORD}rPr" else None
        sign = SCRIPTS.get(value_of(properties, "vertAlign"))
        start = len(self._inline.parts)
        self._inline.parts += [sign] if sign else []
        self._walk(run)
        self._inline.parts += [LEVEL] if sign else []
        if any(child.tag in _NOTES for child in run) and (mark := "".join(self._inline.parts[start:])):
            self.omissions.add("footnote_mark", mark.strip(f"{sign}{LEVEL}"))  # one that the writer chose
            del self._inline.parts[start:]

    def _code(self, element: "_Element") -> None:
        self._inline.codes.append(element.text or element.get(f"{WORD}instr") or "")
        self._walk(element)

    def _written(self, element: "_Element") -> None:
        """Write an equation, or text of a drawing made elsewhere without any of Word's own elements."""
        drawn = element.tag == f"{DRAWING}t"
        text = f" {element.text or ''}" if drawn else write_formula(element, self.omissions)
        self._inline.parts.append(text)

    def _text(self, sign: str | None, text: str) -> None:
        if sign is not None:
            self._inline.parts.append(sign)
            return
        self.seen += visible(text)
        (self._inline.codes if self._instructions else self._inline.parts).append(text)

    def _field(self, element: "_Element") -> None:
        kind = element.get(f"{WORD}fldCharType")
        if kind == "begin":
            self._fields.append(True)
            self._instructions += 1
        elif self._fields and kind in ("separate", "end"):
            self._instructions -= self._fields.pop()
            if kind == "separate":
                self._fields.append(False)

    def _symbol(self, element: "_Element") -> None:
        code = _FIELD_CODE.fullmatch(element.get(f"{WORD}char", ""))
        place = int(code[1], 16) if code else -1
        sign = _FONTS.get(element.get(f"{WORD}font", "").strip().lower(), {}).get(place)
        if sign is None:
            self.omissions.add("symbol")
        else:
            self._inline.parts.append(sign)

    _ACTIONS: ClassVar["dict[str, Callable[[InlineReader, _Element], None]]"] = {
        f"{WORD}r": _run,
        f"{WORD}fldChar": _field,
        f"{WORD}fldSimple": _code,
        f"{WORD}instrText": _code,
        f"{WORD}delInstrText": _code,
        f"{WORD}sym": _symbol,
        f"{MATH}oMath": _written,
        f"{DRAWING}t": _written,
    }


TEXT = f"{WORD}t"
_VML = "{urn:schemas-microsoft-com:vml}"
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_CELL = f"{WORD}tc"
_ALWAYS = {
    f"{WORD}del": "deleted_text",
    f"{WORD}delText": "deleted_text",
    f"{WORD}moveFrom": "moved_text",
    f"{WORD}altChunk": "embedded_document",
    f"{WORD}object": "embedded_object",
    f"{PICTURE}pic": "image",
    f"{_VML}imagedata": "image",
    f"{_VML}textpath": "word_art",
}
_PRUNED = ("p", "r", "sdt", "tr", "tc")
_MARKUP = frozenset(f"{WORD}{name}" for name in ("rPr", "trPr", "tcPr", "pPr"))
"""Elements in which a deletion is a mark on what holds them, not a piece of text."""


def prune(root: "_Element", styles: Styles, omissions: Omissions) -> None:
    """Take out what is no text of the document, and count it by kind."""
    tags = (f"{WORD}{name}" for name in _PRUNED)
    names = (*_ALWAYS, *tags, f"{ALTERNATIVES}Choice", f"{ALTERNATIVES}Fallback")
    lost = [(element, what) for element in root.iter(*names) if (what := _lost_as(element, styles))]
    for element, what in lost:
        parent = element.getparent()
        if parent is None or root not in element.iterancestors():
            continue  # it went with what it is in
        texts = [text.text or "" for text in element.iter(TEXT, f"{WORD}delText")]
        if texts or what != "alternative":
            paragraphs = element.iter(f"{WORD}p")
            written = sum(next(paragraph.iter(TEXT), None) is not None for paragraph in paragraphs)
            omissions.add(what, "".join([*texts, _description(element)]), max(written, 1))
        if element.tag == _CELL:  # its place keeps the columns of the row
            element[:] = []
        else:
            parent.remove(element)


def _lost_as(element: "_Element", styles: Styles) -> str | None:
    tag = element.tag
    if (always := _ALWAYS.get(tag)) is not None:
        parent = element.getparent()
        return None if parent is not None and parent.tag in _MARKUP else always
    if tag == f"{WORD}r":
        first = element[0] if len(element) else None
        if first is None or first.tag != f"{WORD}rPr":
            return None
        return styles.lost_as(value_of(first, "rStyle"), first) or ("hidden" if _is_unseen(first) else None)
    if tag == f"{WORD}p":
        style = styles.paragraph(value_of(element, f"pPr/{WORD}pStyle") or None)
        return "navigation" if style.role == "navigation" else style.lost
    if tag == f"{WORD}sdt":
        return _control_lost_as(element)
    if tag in (f"{WORD}tr", _CELL):
        mark = "tcPr/{0}cellDel" if tag == _CELL else "trPr/{0}del"
        return None if element.find(WORD + mark.format(WORD)) is None else "deleted_text"
    parent = element.getparent()
    return None if parent is None or chosen_branch(parent) is element else "alternative"


_SMALLEST = 2  # half points
_OWN_GROUND = (f"{WORD}txbxContent", f"{WORD}tbl")
"""Shapes and tables, whose style may colour the ground."""


def _is_unseen(properties: "_Element") -> bool:
    """Return True if a run is tiny or has the colour of the ground that is set for it."""
    if read_number(value_of(properties, "sz"), _SMALLEST) < _SMALLEST:
        return True
    colour, marked = value_of(properties, "color").upper(), value_of(properties, "highlight", "none")
    if marked != "none":
        return {"black": "000000", "white": "FFFFFF"}.get(marked) == colour.replace("AUTO", "") or (
            marked == "black" and colour in ("", "AUTO")
        )
    cells = properties.iterancestors(f"{WORD}tc")
    around = next(properties.iterancestors(f"{WORD}p"), None)
    holders = [properties, None if around is None else around.find(f"{WORD}pPr")]
    holders += [part for cell in cells for part in cell.iterchildren(f"{WORD}tcPr")]
    shades = (holder.find(f"{WORD}shd") for holder in holders if holder is not None)
    fills = [shade.get(f"{WORD}fill", "auto").upper() for shade in shades if shade is not None]
    fill = next((fill for fill in fills if fill != "AUTO"), None)
    if fill is None and next(properties.iterancestors(*_OWN_GROUND), None) is None:
        fill = "FFFFFF"
    return colour == fill


def _control_lost_as(control: "_Element") -> str | None:
    if is_on(control.find(f"{WORD}sdtPr/{WORD}showingPlcHdr")):
        return "placeholder"
    gallery = value_of(control, f"sdtPr/{WORD}docPartObj/{WORD}docPartGallery")
    return "navigation" if gallery == "Table of Contents" else None


def _description(element: "_Element") -> str:
    """Return the description of a picture, or the letters of a word drawn as one."""
    if element.tag == f"{_VML}textpath":
        return element.get("string", "")
    names = (f"{_DRAWN}inline", f"{_DRAWN}anchor") if element.tag == f"{PICTURE}pic" else ()
    around = element.iterancestors(*names) if names else ()
    properties = (drawing.find(f"{_DRAWN}docPr") for drawing in around)
    about = next((description for description in properties if description is not None), None)
    return "" if about is None else about.get("descr", "")


_NO_LIST = "0"
"""The number of the list that takes a paragraph out of the one its style puts it in."""
_STYLES: dict[str, Style] = {"Letter": "letters", "Roman": "roman"}
_PLACE = re.compile(r"%([1-9])")
_OUTLINE = re.compile(r"[(]?%[1-9](?:\.%[1-9])+[.)]?")
"""The form of a level that shows the numbers of those above it."""


class Numbering:
    """The lists of one document, by the numbers that paragraphs name."""

    def __init__(self, root: "_Element | None") -> None:
        definitions = [] if root is None else list(root)
        self._abstract, self._lists = (
            {child.get(f"{name}Id", ""): child for child in definitions if child.tag == name}
            for name in (f"{WORD}abstractNum", f"{WORD}num")
        )
        self._levels: dict[tuple[str, int], _Element | None] = {}
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        self._restarted: set[tuple[str, int]] = set()

    def is_item(self, number: str, level: int) -> bool:
        """Return whether paragraphs of that list and level, or of an undefined list, have a mark."""
        definition = self._level(number, level)
        bare = value_of(definition, "numFmt") == "none" and not value_of(definition, "lvlText").strip()
        return number != _NO_LIST and (definition is None or not bare)

    def marker(self, number: str, level: int) -> str | None:
        """Return the number of the next paragraph of that list and level; None where it shows none."""
        definition = self._level(number, level)
        form = value_of(definition, "numFmt") or "decimal"
        if definition is None or form in ("bullet", "none"):
            return None
        # Lists that stand for the same abstract list count together.
        counts = self._counts[value_of(self._lists.get(number), "abstractNumId") or number]
        start = self._restart(number, level)
        if start is None:
            start = counts[level] + 1 if level in counts else self._start(number, level)
        counts[level] = start
        for deeper in [count for count in counts if count > level]:
            del counts[deeper]
        pattern = value_of(definition, "lvlText")
        if _OUTLINE.fullmatch(pattern):
            outer = (int(place) - 1 for place in _PLACE.findall(pattern))
            return ".".join(str(counts.get(depth, self._start(number, depth))) for depth in outer) + "."
        style = _STYLES.get(form.removeprefix("upper").removeprefix("lower"), "digits")
        return written_number(start, style, upper=form.startswith("upper"))

    def _start(self, number: str, level: int) -> int:
        return read_number(value_of(self._level(number, level), "start"), 1)

    def _restart(self, number: str, level: int) -> int | None:
        """Return the start of a list that continues another and begins anew, when it is met first."""
        if (number, level) in self._restarted:
            return None
        self._restarted.add((number, level))
        starts = (value_of(change, "startOverride") for change in self._changes(number, level))
        written = next(filter(None, starts), None)
        return None if written is None else read_number(written, 1)

    def _level(self, number: str, level: int) -> "_Element | None":
        """Return the definition of a level: the list's own, else that of the abstract list it stands for."""
        key = number, level
        if key not in self._levels:
            abstract = self._abstract.get(value_of(self._lists.get(number), "abstractNumId"))
            holders = [*self._changes(number, level), *([] if abstract is None else [abstract])]
            definitions = (child for holder in holders for child in holder.iterchildren(f"{WORD}lvl"))
            of_level = (child for child in definitions if child.get(f"{WORD}ilvl") == str(level))
            self._levels[key] = next(of_level, None)
        return self._levels[key]

    def _changes(self, number: str, level: int) -> "list[_Element]":
        numbering = self._lists.get(number)
        changes = [] if numbering is None else numbering.iterchildren(f"{WORD}lvlOverride")
        return [change for change in changes if change.get(f"{WORD}ilvl") == str(level)]
