"""What stands inside a paragraph of a Word document: its text, and what hangs on it.

What belongs here: runs, fields, tracked changes, hidden text, equations, notes, pictures. What does not: what
kind of block a paragraph is (`blocks`).

Of everything that is not taken into the text the amount is counted. Elements nobody knows are looked into, so
that no text is lost with them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.formats.docx.styles import Styles, is_on
from qa_pipeline.documents.formats.ooxml.drawings import DrawnKind, chosen_branch, mark_power
from qa_pipeline.documents.formats.ooxml.math import equation_text
from qa_pipeline.documents.formats.ooxml.package import (
    ALTERNATIVES,
    CHART,
    DIAGRAM,
    DRAWING,
    LINK,
    MATH,
    PICTURE,
    WORD,
)

if TYPE_CHECKING:
    from lxml.etree import _Element

_SYMBOL_FROM_SPACE = (
    " !∀#∃%&∍()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
)
_SYMBOL_FROM_A0 = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪"
_SYMBOL_FROM_F1 = "〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
_WINGDINGS = {
    0x4A: "☺",
    0x6C: "●",
    0x6E: "■",
    0x6F: "□",
    0x71: "□",
    0x76: "❖",
    0x9F: "•",
    0xA7: "▪",
    0xA8: "□",
    0xD8: "➢",
    0xDF: "←",
    0xE0: "→",
    0xE1: "↑",
    0xE2: "↓",
    0xE8: "→",
    0xF0: "⇨",
    0xFB: "✗",
    0xFC: "✓",
    0xFD: "☒",
    0xFE: "☑",
}
_SYMBOL = {
    start + place: sign
    for start, signs in ((0x20, _SYMBOL_FROM_SPACE), (0xA0, _SYMBOL_FROM_A0), (0xF1, _SYMBOL_FROM_F1))
    for place, sign in enumerate(signs)
}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}
_PRIVATE = range(0xF000, 0xF100)


def symbol(font: str, code: str) -> str | None:
    """The character at a place of a font; None where it is not known.

    Args:
        font: name of the font.
        code: the place as attributes hold it, in hexadecimal.
    """
    try:
        place = int(code, 16)
    except ValueError:
        return None
    if place in _PRIVATE:
        place -= _PRIVATE.start
    return _FONTS.get(font.strip().lower(), {}).get(place)


TEXT = f"{WORD}t"
_VALUE = f"{WORD}val"
_RUN = f"{WORD}r"
_RUN_PROPERTIES = f"{WORD}rPr"
_WORD_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_VML = "{urn:schemas-microsoft-com:vml}"
_SIGNS = {
    f"{WORD}tab": "\t",
    f"{WORD}ptab": "\t",
    f"{WORD}br": "\n",
    f"{WORD}cr": "\n",
    f"{WORD}noBreakHyphen": "-",
}


@dataclass(slots=True)
class Inline:
    """The text of a paragraph and what belongs to it without standing in it.

    `boxes` are text boxes, `notes` ids of foot- and endnotes by kind, `drawn` ids of links to charts and
    diagrams.
    """

    parts: list[str] = field(default_factory=list)
    boxes: "list[_Element]" = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    drawn: list[tuple[DrawnKind, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text as it stands, white space not evened out."""
        return "".join(self.parts)


class InlineReader:
    """Reads paragraphs one after another; of a field that goes on in the next only the result is left.

    `seen` counts the characters of all text that was met, kept or not.
    """

    def __init__(self, styles: Styles, omissions: Omissions) -> None:
        self.styles = styles
        self.omissions = omissions
        self.seen = 0
        self._fields: list[bool] = []
        self._instructions = 0
        self._inline = Inline()
        self._lost: dict[str, list[str]] = {}
        self._alternative_text = ""

    def read(self, paragraph: "_Element", lost: str | None = None) -> Inline:
        """Read a paragraph.

        Args:
            paragraph: the element.
            lost: count all text as left out under this name.
        """
        self._inline, self._lost = Inline(), {}
        self._walk(paragraph, lost)
        for what, texts in self._lost.items():
            self.omissions.add(what, "".join(texts))
        # An instruction ends with its paragraph: of a broken field not the rest of the document is lost.
        self._fields.clear()
        self._instructions = 0
        return self._inline

    def _walk(self, element: "_Element", lost: str | None) -> None:
        for child in element:
            if child.tag == _RUN:
                self._run(child, lost)
            elif (act := self._ACTIONS.get(child.tag)) is not None:
                act(self, child, lost)
            else:
                self._walk(child, lost)

    def _run(self, run: "_Element", lost: str | None) -> None:
        raised = False
        start = len(self._inline.parts)
        for child in run:
            if child.tag == TEXT:
                self._text(child, lost)
            elif child.tag == _RUN_PROPERTIES:
                hidden, raised = self._look(child)
                lost = lost or ("hidden_text" if hidden else None)
            elif (act := self._ACTIONS.get(child.tag)) is not None:
                act(self, child, lost)
            else:
                self._walk(child, lost)
        if raised:
            mark_power(self._inline.parts, start)

    def _look(self, properties: "_Element") -> tuple[bool, bool]:
        """Whether a run is hidden, and whether it is raised."""
        hidden, styled, raised = None, False, False
        for one in properties:
            if one.tag == f"{WORD}vanish":
                hidden = is_on(one)
            elif one.tag == f"{WORD}rStyle":
                styled = self.styles.hides(one.get(_VALUE, ""))
            elif one.tag == f"{WORD}vertAlign":
                raised = one.get(_VALUE) == "superscript"
        return styled if hidden is None else hidden, raised

    def _text(self, element: "_Element", lost: str | None) -> None:
        text = element.text or ""
        self.seen += visible(text)
        if lost is None and self._instructions:
            lost = "field_code"
        if lost is not None:
            self._lose(lost, text)
        else:
            self._inline.parts.append(text)

    def _lose(self, what: str, text: str) -> None:
        self._lost.setdefault(what, []).append(text)

    def _skip(self, _: "_Element", __: str | None) -> None:
        """What holds no text of the document."""

    def _deleted(self, element: "_Element", lost: str | None) -> None:
        self._walk(element, lost or "deleted_text")

    def _moved(self, element: "_Element", lost: str | None) -> None:
        self._walk(element, lost or "moved_text")

    def _deleted_text(self, element: "_Element", lost: str | None) -> None:
        self._lose(lost or "deleted_text", element.text or "")

    def _instruction(self, element: "_Element", lost: str | None) -> None:
        self._lose(lost or "field_code", element.text or "")

    def _field(self, element: "_Element", _: str | None) -> None:
        kind = element.get(f"{WORD}fldCharType")
        if kind == "begin":
            self._fields.append(True)
            self._instructions += 1
        elif self._fields and kind in ("separate", "end"):
            self._instructions -= self._fields.pop()
            if kind == "separate":
                self._fields.append(False)

    def _simple_field(self, element: "_Element", lost: str | None) -> None:
        self._lose(lost or "field_code", element.get(f"{WORD}instr", ""))
        self._walk(element, lost)

    def _control(self, element: "_Element", lost: str | None) -> None:
        """A content control: what it holds, not what it is."""
        self._walk(element, lost or left_out_as(element))

    def _blank(self, element: "_Element", lost: str | None) -> None:
        if lost is None:
            self._inline.parts.append(_SIGNS[element.tag])

    def _symbol(self, element: "_Element", lost: str | None) -> None:
        sign = symbol(element.get(f"{WORD}font", ""), element.get(f"{WORD}char", ""))
        if lost is not None or sign is None:
            self._lose(lost or "symbol", sign or "")
        else:
            self._inline.parts.append(sign)

    def _note(self, element: "_Element", lost: str | None) -> None:
        if lost is None:
            kind = "footnote" if element.tag == f"{WORD}footnoteReference" else "endnote"
            self._inline.notes.append((kind, element.get(f"{WORD}id", "")))

    def _equation(self, element: "_Element", lost: str | None) -> None:
        text = equation_text(element)
        if lost is not None:
            self._lose(lost, text)
        else:
            self._inline.parts.append(text)

    def _alternatives(self, element: "_Element", lost: str | None) -> None:
        """The same content in several forms: the first with text counts, the others repeat it."""
        chosen = chosen_branch(element)
        self._walk(chosen, lost)
        for branch in element:
            if branch is not chosen:
                for text in branch.iter(TEXT):
                    self._text(text, "alternative")

    def _box(self, element: "_Element", lost: str | None) -> None:
        if lost is None:
            self._inline.boxes.append(element)
        else:
            self._walk(element, lost)

    def _describe(self, element: "_Element", _: str | None) -> None:
        self._alternative_text = element.get("descr", "")

    def _picture(self, element: "_Element", _: str | None) -> None:
        self.omissions.add("image", self._alternative_text)
        self._alternative_text = ""

    def _drawn(self, element: "_Element", lost: str | None) -> None:
        """Text of a drawing made elsewhere, which has none of Word's own elements."""
        if lost is not None:
            self._lose(lost, element.text or "")
        else:
            self._inline.parts.append(f" {element.text or ''}")

    def _object(self, element: "_Element", lost: str | None) -> None:
        self.omissions.add("embedded_object")
        for box in element.iter(f"{WORD}txbxContent"):
            self._box(box, lost)

    def _word_art(self, element: "_Element", _: str | None) -> None:
        self.omissions.add("word_art", element.get("string", ""))

    def _part(self, element: "_Element", lost: str | None) -> None:
        if lost is None and element.tag == f"{CHART}chart":
            self._inline.drawn.append(("chart", element.get(f"{LINK}id", "")))
        elif lost is None:
            self._inline.drawn.append(("diagram", element.get(f"{LINK}dm", "")))

    _ACTIONS: ClassVar["dict[str, Callable[[InlineReader, _Element, str | None], None]]"] = {
        **dict.fromkeys(_SIGNS, _blank),
        TEXT: _text,
        f"{WORD}pPr": _skip,
        f"{WORD}rPr": _skip,
        f"{WORD}sdtPr": _skip,
        f"{WORD}del": _deleted,
        f"{WORD}delText": _deleted_text,
        f"{WORD}moveFrom": _moved,
        f"{WORD}instrText": _instruction,
        f"{WORD}delInstrText": _instruction,
        f"{WORD}fldChar": _field,
        f"{WORD}fldSimple": _simple_field,
        f"{WORD}sdt": _control,
        f"{WORD}sym": _symbol,
        f"{WORD}footnoteReference": _note,
        f"{WORD}endnoteReference": _note,
        f"{WORD}txbxContent": _box,
        f"{WORD}object": _object,
        f"{ALTERNATIVES}AlternateContent": _alternatives,
        f"{MATH}oMath": _equation,
        f"{DRAWING}t": _drawn,
        f"{PICTURE}pic": _picture,
        f"{CHART}chart": _part,
        f"{DIAGRAM}relIds": _part,
        f"{_WORD_DRAWING}docPr": _describe,
        f"{_VML}imagedata": _picture,
        f"{_VML}textpath": _word_art,
    }


def left_out_as(element: "_Element") -> str | None:
    """As what the content of an element is left out: a table of contents, or a prompt to fill in."""
    properties = element.find(f"{WORD}sdtPr")
    if properties is None:
        return None
    if is_on(properties.find(f"{WORD}showingPlcHdr")):
        return "placeholder"
    gallery = properties.find(f"{WORD}docPartObj/{WORD}docPartGallery")
    return "navigation" if gallery is not None and gallery.get(_VALUE) == "Table of Contents" else None
