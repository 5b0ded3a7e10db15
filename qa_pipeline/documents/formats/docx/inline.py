"""What stands inside a paragraph of a Word document: its text, and what hangs on it.

What belongs here: runs, fields, symbols, equations, notes and text boxes. What does not: what kind of block a
paragraph is (`blocks`), and what was left out before (`pruning`). Elements nobody knows are looked into, so
that no text is lost with them.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.formats.ooxml.drawings import mark_power
from qa_pipeline.documents.formats.ooxml.math import equation_text
from qa_pipeline.documents.formats.ooxml.package import CHART, DIAGRAM, DRAWING, MATH, WORD

if TYPE_CHECKING:
    from lxml.etree import _Element

_VALUE = f"{WORD}val"
_RUN = f"{WORD}r"
_SIGNS = {
    f"{WORD}t": None,
    f"{WORD}tab": "\t",
    f"{WORD}ptab": "\t",
    f"{WORD}br": "\n",
    f"{WORD}cr": "\n",
    f"{WORD}noBreakHyphen": "-",
}
_CODES = frozenset({f"{WORD}instrText", f"{WORD}delInstrText"})
_PROPERTIES = frozenset({f"{WORD}pPr", f"{WORD}rPr", f"{WORD}sdtPr"})
_NOTES = {f"{WORD}footnoteReference": "footnote", f"{WORD}endnoteReference": "endnote"}
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
    """The text of a paragraph, its text boxes, charts and diagrams, and its notes by kind and id."""

    parts: list[str] = field(default_factory=list)
    boxes: "list[_Element]" = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
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
        inline = self._inline
        for child in element:
            tag = child.tag
            if tag == _RUN:
                self._run(child)
            elif tag in _SIGNS:
                self._text(_SIGNS[tag], child.text or "")
            elif tag == f"{WORD}fldChar":
                self._field(child.get(f"{WORD}fldCharType"))
            elif tag in _CODES:
                inline.codes.append(child.text or "")
            elif tag in _NOTES:
                inline.notes.append((_NOTES[tag], child.get(f"{WORD}id", "")))
            elif tag == f"{WORD}sym":
                self._symbol(child.get(f"{WORD}font", ""), child.get(f"{WORD}char", ""))
            elif tag == f"{WORD}txbxContent":
                inline.boxes.append(child)
            elif tag in (f"{CHART}chart", f"{DIAGRAM}relIds"):
                inline.drawn.append(child)
            elif tag == f"{MATH}oMath":
                inline.parts.append(equation_text(child))
            elif tag == f"{DRAWING}t":  # a drawing made elsewhere has none of Word's own elements
                inline.parts.append(f" {child.text or ''}")
            elif tag not in _PROPERTIES:
                if tag == f"{WORD}fldSimple":
                    inline.codes.append(child.get(f"{WORD}instr", ""))
                self._walk(child)

    def _run(self, run: "_Element") -> None:
        start = len(self._inline.parts)
        self._walk(run)
        place = run.find(f"{WORD}rPr/{WORD}vertAlign")
        if place is not None and place.get(_VALUE) == "superscript":
            mark_power(self._inline.parts, start)

    def _text(self, sign: str | None, text: str) -> None:
        if sign is not None:
            self._inline.parts.append(sign)
            return
        self.seen += visible(text)
        (self._inline.codes if self._instructions else self._inline.parts).append(text)

    def _field(self, kind: str | None) -> None:
        if kind == "begin":
            self._fields.append(True)
            self._instructions += 1
        elif self._fields and kind in ("separate", "end"):
            self._instructions -= self._fields.pop()
            if kind == "separate":
                self._fields.append(False)

    def _symbol(self, font: str, code: str) -> None:
        try:
            place = int(code, 16) & 0xFF  # Word also stores them in the private area from F000 on
        except ValueError:
            place = -1
        sign = _FONTS.get(font.strip().lower(), {}).get(place)
        if sign is None:
            self.omissions.add("symbol")
        else:
            self._inline.parts.append(sign)
