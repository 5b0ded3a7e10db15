"""Write formulas, powers and indices on a line, and remove marks of notes.

Readers put raised, lowered and struck-out text between the signs `RAISED`, `LOWERED` or `STRUCK` and `LEVEL`;
`settle` writes it once the text around it is known.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.text.doubt import SIGNS

if TYPE_CHECKING:
    from lxml.etree import _Element

RAISED, LOWERED, STRUCK, LEVEL = "\x0e", "\x0f", "\x11", "\x10"  # never in canonical text
SCRIPTS = {"superscript": RAISED, "subscript": LOWERED}
_SCRIPT = re.compile("(?P<gap>\\s?)(?P<sign>[\x0e\x0f\x11])(?P<inside>[^\x0e\x0f\x10\x11]*)\x10")
_BETWEEN_RUNS = re.compile("([\x0e\x0f\x11])([^\x0e\x0f\x10\x11]*)\x10\\1")
_DEEPEST_SCRIPT = 3
_REACH = 40  # characters before a raised text that decide its meaning
_STARTS = (":", "|", "(", "-", "–", "—")  # before the first word of a cell, bracket or clause
_MARKS = re.compile(
    r"[\[(]?(?:\d{1,3}|[a-z]|[*∗†‡§¶#‖]{1,3})(?:\s?[,;]\s?(?:\d{1,3}|[a-z])|[–-]\d{1,3})*,?[\])]?|\[.*\]"
)  # `3`, `(a)`, `**`, `2, 4`, `1–3`, or anything in square brackets
_SIGNED = re.compile(r"[-−–+]\s?\d+(?:[.,/]\d+)?|\d{0,3}[-−–+]")  # `-1/2`, or a charge such as `2+`
_ORDINAL = re.compile(r"st|nd|rd|th|er|re|ère|ème|o|:?[ae]|ten?|[ºª]")  # of 1st, 1er, 2:a, 3ten or 1º
_NUMBER = re.compile(r"(?<![\w.,])\d[\d.,]*$")  # `10` or `1,000`, but not the 1 of `x1`
_USUAL_BASES = ("2", "10")  # numbers that are raised even to a letter
_SMALL_DIGITS = 2  # digits of other numbers that are raised without an operator beside them
_WORD = re.compile(r"[^\W\d_]{1,40}$")
_OPERATOR_BEFORE = re.compile(r"[=×·*+/^<>≈−-]\s?\w{1,10}$")  # `= x`
_OPERATOR_AFTER = re.compile(r"\s?[=×·*+/<>≈]")
_TERM = re.compile(r".*[+\-−*/·×=].*|\(\w\)")  # `(a+b)` or `(x)`
_COMPOUND = re.compile(r"[(\[]*\d*(?:[A-Z][a-z]?[\d+−-]*|[()\[\]]){1,20}")  # `C` or `Ca(OH)`
_ISOTOPE = re.compile(r"[A-Z][a-z]?\b")  # the element behind its number, as in `^14C`
_RAISABLE = frozenset({
    "sin", "cos", "tan", "cot", "log", "ln", "exp", "sinh", "cosh", "tanh", "m", "km", "dm", "cm", "mm", "nm",
    "µm", "μm", "in", "ft", "yd", "mi", "s", "h", "px", "kg", "eV", "keV", "MeV", "GeV", "TeV",
})  # fmt: skip


def settle(text: str, omissions: Omissions | None = None) -> str:
    """Return a text with powers as `10^6` and indices as `x_1`, without note marks and struck-out text."""
    if LEVEL not in text:
        return text
    for _ in range(_DEEPEST_SCRIPT):  # the innermost text comes first
        text = _settle_innermost(_BETWEEN_RUNS.sub(r"\1\2", text), omissions)
    return re.sub("[\x0e\x0f\x10\x11]", "", text)


def _settle_innermost(text: str, omissions: Omissions | None) -> str:
    """Return a text with its innermost scripts written on the line.

    The gap before a power, an index or a note mark goes: `10 ` and a raised 6 give `10^6`, and `word ` and a
    raised 3 `word`. Other gaps stay, as in `H 2O` with a lowered 2, and in `Carbon ^14C` with a raised 14.
    """
    parts: list[str] = []
    before = ""  # the end of the text that is written already
    position = 0
    for script in _SCRIPT.finditer(text):
        between = text[position : script.start()]
        gap, sign, inside = script["gap"], script["sign"], " ".join(script["inside"].split())
        after = text[script.end() : script.end() + _REACH]
        # the number of `Carbon ^14C` belongs to the C, so the word before it is no base
        is_isotope = gap and inside.isdigit() and _ISOTOPE.match(after)
        before = "" if is_isotope else (before + between)[-_REACH:]
        has_base = _base_of(before) != ""
        if sign == STRUCK:
            written = ""
        elif sign == LOWERED:
            written = _write_lowered(inside, before, after)
        else:
            written = write_script(inside, before, after)
        if inside and not written and omissions is not None:
            omissions.add("deleted_text" if sign == STRUCK else "footnote_mark", inside)
        is_written_plainly = written == inside  # such as the 2 of `H 2O`
        if sign == STRUCK or is_written_plainly or not has_base:
            written = gap + written
        parts += [between, written]
        before = (before + written)[-_REACH:]
        position = script.end()
    return "".join([*parts, text[position:]])


def shift_of(position: str) -> Literal["sub", "sup", ""]:
    """Return the shift by a position of ODF, such as `super 58%` or `-9% 58%`, or of DrawingML (`30000`)."""
    height = position.partition(" ")[0]
    if height.startswith(("sub", "-")):
        return "sub"
    return "sup" if height.strip("0%") else ""  # `0` and `0%` are on the line


def is_mark(text: str) -> bool:
    """Return True if a text can be the mark of a note: a number, letter or sign, or anything in brackets."""
    return _MARKS.fullmatch(text.strip()) is not None


def write_script(raised: str, before: str, after: str) -> str:
    """Return raised text as written between two texts, empty for the mark of a note.

    After `10` a 6 gives `^6`, after `1` an st stays `st`, and after `word` a 3 is a mark.
    """
    base = _base_of(before)
    if not base:  # there is nothing to raise to a power
        if raised.isdigit() and _ISOTOPE.match(after):  # `^14C`
            return f"^{raised}"
        return "" if is_mark(raised) else raised
    if _is_ordinal_ending(raised, base) or raised in ("®", "™", "©", "℠"):  # `1st`, `Name™`
        return raised
    if is_mark(raised) and not _is_power(raised, base, before, after):  # `word` and a 3
        return ""
    if _SIGNED.fullmatch(raised):  # never a mark: `x^-1/2`, or the charge of `Ca^2+`
        return f"^{raised}{_gap(after)}"
    follows_word = re.search(r"[^\W\d_]{2}$", base) is not None  # of two letters or more
    if follows_word and not raised.isdigit():  # small print, as in `Search beta`
        return f" {raised}"
    return f"^{_bracketed(raised)}{_gap(after)}"  # `10^6` or `x^(n+1)`


def _base_of(before: str) -> str:
    """Return the last word before a script, empty at the start of a text, cell, bracket or clause."""
    base = before.split()[-1] if before.strip() else ""
    return "" if base.endswith(_STARTS) else base


def _is_ordinal_ending(raised: str, base: str) -> bool:
    """Return True for the ending of an ordinal number, such as the st of 1st or the th of nth."""
    if not base[-1].isdigit():
        return len(base) == 1 and raised in ("th", "st", "nd", "rd")  # nth
    is_long_enough = len(raised) > 1 or len(base) < 3  # 12e is ordinal, but the a of 2023a marks a note
    return is_long_enough and _ORDINAL.fullmatch(raised) is not None


def _write_lowered(inside: str, before: str, after: str) -> str:
    """Return lowered text as written between two texts: `x_1`, but `H2O`."""
    base = _base_of(before)
    is_chemical = _COMPOUND.fullmatch(base) and re.fullmatch(r"[\dxyn,.+−-]+", inside)  # `H` and 2
    if not base or is_chemical:
        return inside
    if " " in inside:  # small words
        return f" {inside}"
    return f"_{_bracketed_index(inside)}{_gap(after)}"


def _gap(after: str) -> str:
    """Return the blank that parts a script from a letter or digit behind it, as in `x_1 y`."""
    return " " if after[:1].isalnum() else ""


def _is_power(raised: str, base: str, before: str, after: str) -> bool:
    """Return True if a raised number or letter is an exponent rather than the mark of a note.

    `base` is the last word of `before`. In the comments, `^` begins the raised text.
    """
    if raised == "1" or not raised.isalnum():  # marks: word^1, word^2,3 and word^*
        return False
    if base[-1] in ")]}":  # power: (a+b)^2; mark: (1994)^2
        last_opening = max(before.rfind(bracket) for bracket in "([{")
        return _TERM.fullmatch(before[max(last_opening, 0) :].strip()) is not None
    meets_operator = (_OPERATOR_AFTER.match(after) or _OPERATOR_BEFORE.search(before)) is not None
    if number := _NUMBER.search(base):
        if number[0] in _USUAL_BASES or meets_operator:  # powers: 10^n, and 150^2 before ` = 22500`
            return True
        is_small = number[0].isdigit() and len(number[0]) <= _SMALL_DIGITS
        return is_small and raised.isdigit()  # power: 3^2; marks: 150^2, and 3^a
    word = _WORD.search(base)
    if word is None:  # power: x1^2, as its base ends with a digit; mark: end.^2
        return base[-1].isalnum()
    if word[0] in _RAISABLE:  # power: km^2; mark: km^a
        return raised.isdigit()
    return len(word[0]) == 1 or (raised.isdigit() and meets_operator)  # powers: x^n, = rate^2; mark: word^2


_DEEPEST = 60  # levels of a formula: nobody writes more, and each is a call
_SIMPLE = re.compile(r"[-−+]?\d+(?:[.,]\d+)*|.")  # a number, or a single sign
_BASE = re.compile(r"[^\W_]+(?:[.,]\d+)*")  # `sin`, `x1` or `2.5`
_FACTOR = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]")  # a number, or a letter of a product
_LETTER = re.compile(r"[^\W\d_](?![^\W\d_])")  # a variable, but not the start of `sin`
_LEAVES = frozenset({"mi", "mn", "mo", "mtext", "ms", "t"})  # elements of text
_SKIPPED = re.compile(r"annotation(?:-xml)?|mphantom|phant|none|\w*Pr|argSz")  # hidden, or settings (`fPr`)
_ROWS = frozenset(
    {"math", "oMath", "oMathPara", "mrow", "mstyle", "mpadded", "semantics", "menclose", "box", "borderBox",
     "r", "e", "num", "den", "deg", "sub", "sup", "fName", "func", "d"}
)  # fmt: skip
"""Elements whose parts are written one after another; other elements with parts have no form on a line."""
_FRACTION = "\x0e"  # begins a fraction until the formula is done, as it gets brackets beside other parts
_TIMES = "\u2062"  # between the factors of a product, which gets brackets before an exponent
_UNSEEN = {ord(_FRACTION): None, 0x2061: None, 0x2062: None, 0x2063: ",", 0x2064: None}
"""Signs that are not shown: before fractions, and between factors, addends and indices of MathML."""


class _UnwritableError(Exception):
    """Report a formula without a form on a line."""


def write_formula(formula: "_Element", omissions: Omissions, plain_text: str = "") -> str:
    """Return a formula of MathML or Office (OMML) on a line: `(a+b)/(2c)`, `x^(n+1)`.

    A formula without such a form is counted by its `plain_text`, and replaced by the sign of a doubt.
    """
    try:
        return _write(formula, 0).translate(_UNSEEN)
    except _UnwritableError:
        omissions.add("formula", plain_text or "".join(map(str, formula.itertext())))
        return SIGNS["formula"]


def _write(element: "_Element", depth: int) -> str:
    """Return an element and its children on a line; raises an _UnwritableError."""
    name = _name_of(element)
    if depth > _DEEPEST or "strike" in element.get("notation", ""):  # a term struck out
        raise _UnwritableError
    if name in _LEAVES:
        return " ".join("".join(map(str, element.itertext())).translate(_UNSEEN).split())
    texts_between = (element.text, *(child.tail for child in element))
    if any(text and text.strip() for text in texts_between):  # it belongs to no part of the formula
        raise _UnwritableError
    children = (child for child in element if isinstance(child.tag, str))
    parts = [_write(child, depth + 1) for child in children if not _SKIPPED.fullmatch(_name_of(child))]
    return _compose(name, element, parts)


def _compose(name: str, element: "_Element", parts: list[str]) -> str:
    """Return an element of MathML (`mfrac`) or OMML (`f`) from its written parts."""
    # a fraction without a bar, by `linethickness="0"` of MathML or `noBar` of OMML, is a binomial
    has_bar = not element.get("linethickness", "1").startswith("0") and _property(element, "type") != "noBar"
    match name, parts:
        case "msub" | "munder" | "sSub", [base, below]:
            return _scripts(base, below=below)
        case "msup" | "sSup", [base, above]:
            return _scripts(base, above=above)
        case "msubsup" | "munderover" | "sSubSup", [base, below, above]:
            return _scripts(base, below, above)
        case "mfrac" | "f", [numerator, denominator] if numerator and denominator and has_bar:
            return f"{_FRACTION}{_bracketed(numerator)}/{_bracketed(denominator)}"
        case ("mroot", [inside, degree]) | ("rad", [degree, inside]) if degree:  # OMML has the degree first
            return f"{_bracketed(inside)}^(1/{_bracketed(degree)})"
        case ("msqrt", _) | ("rad", [_, _]):  # without a degree
            return f"sqrt({_join(parts)})"
        case "mspace", _:  # parts formulas, as in `a=b c=d`
            return " "
    if name not in _ROWS:  # also a fraction without a bar, or a script that lacks a part
        raise _UnwritableError
    if name == "d":  # the brackets of OMML
        start, end = _property(element, "begChr", "("), _property(element, "endChr", ")")
        return f"{start}{'|'.join(parts)}{end}"
    return _join(parts)


def _name_of(element: "_Element") -> str:
    return str(element.tag).rpartition("}")[2]


def _property(element: "_Element", name: str, otherwise: str = "") -> str:
    """Return a property of an OMML element, such as `noBar` in `<f><fPr><type val="noBar"/>`."""
    properties = element[0] if len(element) else ()
    values = [str(value) for sign in properties if _name_of(sign) == name for value in sign.values()]
    return values[0] if values else otherwise


def _join(parts: Sequence[str]) -> str:
    """Return parts in a row, with brackets around a fraction beside other parts.

    `b/c` and `x` give `(b/c)x`, `1` and `1/2` give `1 1/2`, and `1/2` and `m` give `1/2 m`.
    """
    parts = [part for part in parts if part]
    if len(parts) == 1:
        return parts[0]
    written = previous = ""  # the row so far, and its last part
    for part in parts:
        is_fraction = part.startswith(_FRACTION)
        if written[-1:].isalnum() and (is_fraction or part[0].isalnum()):  # both would read as a single word
            is_product = _FACTOR.fullmatch(previous) and _LETTER.match(part)
            written += _TIMES if is_product else " "  # `4ac`; `sin x`, `2 3`, `x^2 y` and `1 1/2`
        # at the start (`1/2 m`) or behind a whole number (`1 1/2`), a fraction of digits needs no brackets
        digits = f"{previous}{part}".translate(_UNSEEN).replace("/", "")
        written += f"({part})" if is_fraction and not digits.isdigit() else part
        previous = part
    return " ".join(written.split())  # blanks of `mspace` may meet others


def _scripts(base: str, below: str = "", above: str = "") -> str:
    """Return a base with its index and exponent, such as `x_1^2`; primes and degrees stay, as in `x′`."""
    written = base if _BASE.fullmatch(base) else _bracketed(base)
    if below:
        written += f"_{_bracketed_index(below)}"
    if above:
        is_raised_sign = not above.strip("′'″‴°∘")
        written += above if is_raised_sign else f"^{_bracketed(above)}"
    return written


def _bracketed(text: str) -> str:
    """Return a text as an operand: in brackets, unless it is a number, a sign or has them already."""
    return text if _SIMPLE.fullmatch(text) or _is_enclosed(text) else f"({text})"


def _bracketed_index(text: str) -> str:
    """Return an index in brackets, unless it is a word or number: `x_max`, but as an exponent `x^(max)`."""
    return text if text.translate(_UNSEEN).isalnum() else _bracketed(text)


def _is_enclosed(text: str) -> bool:
    """Return True if the bracket that begins a text ends with it, as in `(a+b)` but not `(a)(b)`."""
    depth = 0
    for position, sign in enumerate(text, start=1):
        depth += (sign in "([{") - (sign in ")]}")
        if depth <= 0:
            return position == len(text) > 1
    return False
