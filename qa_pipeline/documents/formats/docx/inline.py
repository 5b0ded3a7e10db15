"""What stands inside a paragraph of a Word document: its text, and what hangs on it.

What belongs here: runs, fields, symbols, equations, notes and text boxes. What does not: what kind of block a
paragraph is (`blocks`), and what was left out before (`pruning`). Elements nobody knows are looked into, so
that no text is lost with them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.formats.docx.styles import value_of
from qa_pipeline.documents.formats.ooxml.drawings import mark_power
from qa_pipeline.documents.formats.ooxml.math import equation_text
from qa_pipeline.documents.formats.ooxml.package import CHART, DIAGRAM, DRAWING, MATH, WORD

if TYPE_CHECKING:
    from lxml.etree import _Element

_SIGNS = {
    f"{WORD}t": None,
    f"{WORD}tab": "\t",
    f"{WORD}ptab": "\t",
    f"{WORD}br": "\n",
    f"{WORD}cr": "\n",
    f"{WORD}noBreakHyphen": "-",
}
_PROPERTIES = frozenset({f"{WORD}pPr", f"{WORD}rPr", f"{WORD}sdtPr"})
_BESIDE = {
    f"{WORD}footnoteReference": "notes",
    f"{WORD}endnoteReference": "notes",
    f"{WORD}txbxContent": "boxes",
    f"{CHART}chart": "drawn",
    f"{DIAGRAM}relIds": "drawn",
}
_CODE = re.compile("(?:[Ff]0|00)?([0-9A-Fa-f]{2})")
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
    """Reads paragraphs one after another; `seen` counts the characters of all text that was met."""

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
            elif tag in _BESIDE:
                getattr(self._inline, _BESIDE[tag]).append(child)
            elif (act := self._ACTIONS.get(tag)) is not None:
                act(self, child)
            elif tag not in _PROPERTIES:
                self._walk(child)

    def _run(self, run: "_Element") -> None:
        start = len(self._inline.parts)
        self._walk(run)
        properties = run[0] if len(run) and run[0].tag == f"{WORD}rPr" else None
        if value_of(properties, "vertAlign") == "superscript":
            mark_power(self._inline.parts, start)

    def _code(self, element: "_Element") -> None:
        self._inline.codes.append(element.text or element.get(f"{WORD}instr") or "")
        self._walk(element)

    def _written(self, element: "_Element") -> None:
        """An equation, or text of a drawing made elsewhere, which has none of Word's own elements."""
        drawn = element.tag == f"{DRAWING}t"
        self._inline.parts.append(f" {element.text or ''}" if drawn else equation_text(element))

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
        code = _CODE.fullmatch(element.get(f"{WORD}char", ""))
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
