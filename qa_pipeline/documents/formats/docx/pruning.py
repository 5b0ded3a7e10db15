"""What of a Word document is not text of it: taken out of its XML, and counted, before anything is read.

What belongs here: deletions, hidden text, prompts, tables of contents, pictures, second forms of the same
content. What does not: codes of fields, which only the order of runs tells from text (`inline`).
"""

from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.docx.styles import Styles, is_on, value_of
from qa_pipeline.documents.formats.ooxml.drawings import chosen_branch
from qa_pipeline.documents.formats.ooxml.package import ALTERNATIVES, PICTURE, WORD

if TYPE_CHECKING:
    from lxml.etree import _Element

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
_ASKED = ("p", "r", "sdt", "tr", "tc")
_MARKS = frozenset(f"{WORD}{name}" for name in ("rPr", "trPr", "tcPr", "pPr"))
"""Elements in which a deletion is a mark on what holds them, not a piece of text."""


def prune(root: "_Element", styles: Styles, omissions: Omissions) -> None:
    """Take out what is no text of the document, and count it by kind."""
    asked = (f"{WORD}{name}" for name in _ASKED)
    names = (*_ALWAYS, *asked, f"{ALTERNATIVES}Choice", f"{ALTERNATIVES}Fallback")
    lost = [(element, what) for element in root.iter(*names) if (what := _lost_as(element, styles))]
    for element, what in lost:
        parent = element.getparent()
        if parent is None or root not in element.iterancestors():
            continue  # it went with what it stands in
        texts = [text.text or "" for text in element.iter(TEXT, f"{WORD}delText")]
        if texts or what != "alternative":
            written = sum(next(one.iter(TEXT), None) is not None for one in element.iter(f"{WORD}p"))
            omissions.add(what, "".join([*texts, _description(element)]), max(written, 1))
        if element.tag == _CELL:  # its place keeps the columns of the row
            element[:] = []
        else:
            parent.remove(element)


def _lost_as(element: "_Element", styles: Styles) -> str | None:
    """As what an element is left out; None for one that is kept."""
    tag = element.tag
    if (always := _ALWAYS.get(tag)) is not None:
        parent = element.getparent()
        return None if parent is not None and parent.tag in _MARKS else always
    if tag == f"{WORD}r":
        first = element[0] if len(element) else None
        hidden = first is not None and first.tag == f"{WORD}rPr" and _is_hidden(first, styles)
        return "hidden_text" if hidden else None
    if tag == f"{WORD}p":
        style = styles.paragraph(value_of(element, f"pPr/{WORD}pStyle") or None)
        return "navigation" if style.role == "navigation" else "hidden_text" if style.hidden else None
    if tag == f"{WORD}sdt":
        return _control_lost_as(element)
    if tag in (f"{WORD}tr", _CELL):
        mark = "tcPr/{0}cellDel" if tag == _CELL else "trPr/{0}del"
        return None if element.find(WORD + mark.format(WORD)) is None else "deleted_text"
    parent = element.getparent()
    return None if parent is None or chosen_branch(parent) is element else "alternative"


def _control_lost_as(control: "_Element") -> str | None:
    if is_on(control.find(f"{WORD}sdtPr/{WORD}showingPlcHdr")):
        return "placeholder"
    gallery = value_of(control, f"sdtPr/{WORD}docPartObj/{WORD}docPartGallery")
    return "navigation" if gallery == "Table of Contents" else None


def _is_hidden(properties: "_Element", styles: Styles) -> bool:
    own = properties.find(f"{WORD}vanish")
    return styles.hides(value_of(properties, "rStyle")) if own is None else is_on(own)


def _description(element: "_Element") -> str:
    """What a picture is said to show, or the letters of a word drawn as one."""
    if element.tag == f"{_VML}textpath":
        return element.get("string", "")
    around = (
        element.iterancestors(f"{_DRAWN}inline", f"{_DRAWN}anchor") if element.tag == f"{PICTURE}pic" else ()
    )
    about = next((found for one in around if (found := one.find(f"{_DRAWN}docPr")) is not None), None)
    return "" if about is None else about.get("descr", "")
