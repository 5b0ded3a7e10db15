"""Equations of Office files as one line of text.

What belongs here: the elements of Office's mathematical markup (ISO 29500-1, 22.1). What does not: finding an
equation in a text.

A fraction is written `(a+b)/c`, a power `x^2`, an index `x_i`, a root `√(x)`, with brackets only around what
is more than one name or number. What has no such form is written as its signs follow one another.
"""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from qa_pipeline.documents.formats.ooxml.package import MATH

if TYPE_CHECKING:
    from lxml.etree import _Element

_VALUE = f"{MATH}val"


def equation_text(equation: "_Element") -> str:
    """The text of an equation; just its signs where its markup is not as it should be."""
    signs = "".join(element.text or "" for element in equation.iter(f"{MATH}t"))
    written = _written(equation)
    return written if Counter(signs) <= Counter(written) else signs


def _written(element: "_Element") -> str:
    write = _WRITERS.get(element.tag)
    if write is not None:
        return write(element)
    if element.tag == f"{MATH}t":
        return element.text or ""
    return "".join(map(_written, element))


def _part(element: "_Element", name: str) -> str:
    found = element.find(f"{MATH}{name}")
    return "" if found is None else "".join(map(_written, found))


def _property(element: "_Element", path: str, otherwise: str) -> str:
    found = element.find("/".join(f"{MATH}{name}" for name in path.split("/")))
    return otherwise if found is None else found.get(_VALUE, otherwise)


def _grouped(text: str) -> str:
    return text if len(text.strip()) <= 1 or text.isalnum() else f"({text})"


def _fraction(element: "_Element") -> str:
    return f"{_grouped(_part(element, 'num'))}/{_grouped(_part(element, 'den'))}"


def _scripts(element: "_Element") -> str:
    return _part(element, "e") + _limits(element)


def _limits(element: "_Element") -> str:
    below, above = _part(element, "sub"), _part(element, "sup")
    return (f"_{_grouped(below)}" if below else "") + (f"^{_grouped(above)}" if above else "")


def _root(element: "_Element") -> str:
    degree = _part(element, "deg")
    return f"√[{degree}]({_part(element, 'e')})" if degree else f"√({_part(element, 'e')})"


def _sum(element: "_Element") -> str:
    return f"{_property(element, 'naryPr/chr', '∫')}{_limits(element)} {_part(element, 'e')}"


def _brackets(element: "_Element") -> str:
    begin, end = _property(element, "dPr/begChr", "("), _property(element, "dPr/endChr", ")")
    between = _property(element, "dPr/sepChr", "|")
    parts = ["".join(map(_written, part)) for part in element.iterchildren(f"{MATH}e")]
    return f"{begin}{between.join(parts)}{end}"


def _matrix(element: "_Element") -> str:
    rows = [
        ", ".join("".join(map(_written, cell)) for cell in row.iterchildren(f"{MATH}e"))
        for row in element.iterchildren(f"{MATH}mr")
    ]
    return "; ".join(rows)


def _function(element: "_Element") -> str:
    return f"{_part(element, 'fName')} {_part(element, 'e')}"


_WRITERS: "dict[str, Callable[[_Element], str]]" = {
    f"{MATH}f": _fraction,
    f"{MATH}sSup": _scripts,
    f"{MATH}sSub": _scripts,
    f"{MATH}sSubSup": _scripts,
    f"{MATH}rad": _root,
    f"{MATH}nary": _sum,
    f"{MATH}d": _brackets,
    f"{MATH}m": _matrix,
    f"{MATH}func": _function,
}
