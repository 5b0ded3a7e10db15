"""Text of drawings in Office files: paragraphs of shapes, tables, charts and diagrams.

What belongs here: what stands in a paragraph of DrawingML (ISO 29500-1, 21.1). What does not: which shapes
are read and in which order (`pptx/shapes`).
"""

from typing import TYPE_CHECKING

from qa_pipeline.documents.office.math import equation_text
from qa_pipeline.documents.office.package import ALTERNATIVES, DRAWING, MATH, WORD

if TYPE_CHECKING:
    from lxml.etree import _Element

TEXT = f"{DRAWING}t"
PARAGRAPH = f"{DRAWING}p"
_RUN, _FIELD, _BREAK = f"{DRAWING}r", f"{DRAWING}fld", f"{DRAWING}br"


def paragraph_text(paragraph: "_Element") -> str:
    """The text of a paragraph, its line breaks kept."""
    parts: list[str] = []
    _collect(paragraph, parts)
    return "".join(parts)


def all_text(element: "_Element") -> str:
    """Text of all paragraphs below an element, on one line."""
    return " ".join(filter(None, (" ".join(paragraph_text(one).split()) for one in element.iter(PARAGRAPH))))


def mark_power(parts: list[str], start: int) -> None:
    """Write raised digits after a letter or digit with a caret, lest 10 to the 6th become 106."""
    raised = "".join(parts[start:]).strip()
    before = "".join(parts[max(start - 3, 0) : start])[-1:]
    if before.isalnum() and raised.lstrip("+-−").isdigit():
        parts[start:] = [f"^{raised}"]


def _collect(element: "_Element", parts: list[str]) -> None:
    for child in element:
        if child.tag in (_RUN, _FIELD):
            _collect_run(child, parts)
        elif child.tag == _BREAK:
            parts.append("\n")
        elif child.tag == TEXT:
            parts.append(child.text or "")
        elif child.tag == f"{MATH}oMath":
            parts.append(equation_text(child))
        elif child.tag == f"{ALTERNATIVES}AlternateContent":
            _collect(chosen_branch(child), parts)
        else:
            _collect(child, parts)


def _collect_run(run: "_Element", parts: list[str]) -> None:
    start = len(parts)
    parts += [(text.text or "").replace("\v", "\n") for text in run.iterchildren(TEXT)]
    properties = run.find(f"{DRAWING}rPr")
    baseline = "" if properties is None else properties.get("baseline", "")
    if baseline not in ("", "0") and not baseline.startswith("-"):
        mark_power(parts, start)


def chosen_branch(alternatives: "_Element") -> "_Element":
    """Of content given in several forms the first that holds text or an equation, else the first."""
    for branch in alternatives:
        if next(branch.iter(TEXT, f"{WORD}t", f"{MATH}t"), None) is not None:
            return branch
    return alternatives[0] if len(alternatives) else alternatives
