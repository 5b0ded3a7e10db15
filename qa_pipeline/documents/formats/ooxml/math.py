"""Equations of Office files (ISO 29500-1, 22.1) as one line of text.

A fraction is written `(a+b)/c`, a power `x^2`, an index `x_i`, a root `√(x)`, with brackets only around what
is more than one name or number. What has no such form is written as its signs follow one another.
"""

from collections import Counter
from typing import TYPE_CHECKING

from qa_pipeline.documents.formats.ooxml.package import MATH

if TYPE_CHECKING:
    from lxml.etree import _Element


def equation_text(equation: "_Element") -> str:
    """The text of an equation; just its signs where its markup is not as it should be."""
    signs = "".join(element.text or "" for element in equation.iter(f"{MATH}t"))
    written = _written(equation)
    return written if Counter(signs) <= Counter(written) else signs


def _written(element: "_Element") -> str:
    name = element.tag.removeprefix(MATH)
    if name == "f":
        return f"{_grouped(_part(element, 'num'))}/{_grouped(_part(element, 'den'))}"
    if name in ("sSup", "sSub", "sSubSup"):
        return _part(element, "e") + _limits(element)
    if name == "rad":
        degree = _part(element, "deg")
        return f"√{f'[{degree}]' if degree else ''}({_part(element, 'e')})"
    if name == "nary":
        return f"{_sign(element, 'naryPr/{0}chr', '∫')}{_limits(element)} {_part(element, 'e')}"
    if name == "d":
        between = _sign(element, "dPr/{0}sepChr", "|").join(map(_inside, element.iterchildren(f"{MATH}e")))
        return f"{_sign(element, 'dPr/{0}begChr', '(')}{between}{_sign(element, 'dPr/{0}endChr', ')')}"
    if name == "m":
        return "; ".join(", ".join(map(_inside, row)) for row in element.iterchildren(f"{MATH}mr"))
    return (element.text or "") if name == "t" else _inside(element)


def _inside(element: "_Element") -> str:
    return "".join(map(_written, element))


def _part(element: "_Element", name: str) -> str:
    found = element.find(MATH + name)
    return "" if found is None else _inside(found)


def _sign(element: "_Element", path: str, otherwise: str) -> str:
    found = element.find(MATH + path.format(MATH))
    return otherwise if found is None else found.get(f"{MATH}val", otherwise)


def _limits(element: "_Element") -> str:
    below, above = _part(element, "sub"), _part(element, "sup")
    return (f"_{_grouped(below)}" if below else "") + (f"^{_grouped(above)}" if above else "")


def _grouped(text: str) -> str:
    return text if len(text.strip()) <= 1 or text.isalnum() else f"({text})"
