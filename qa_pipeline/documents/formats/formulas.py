"""Write formulas, powers and indices on a line, and remove marks of notes.

Readers put raised, lowered and struck-out text between the signs `RAISED`, `LOWERED` or `STRUCK` and `LEVEL`;
`settle` writes it once the text around it is known.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.text.doubt import SIGNS

if TYPE_CHECKING:
    from lxml.etree import _Element

RAISED, LOWERED, STRUCK, LEVEL = "\x0e", "\x0f", "\x11", "\x10"
"""Control characters, which canonical text never contains."""
SCRIPTS = {"superscript": RAISED, "subscript": LOWERED}
_SCRIPT = re.compile("\\s?([\x0e\x0f\x11])([^\x0e\x0f\x10\x11]*)\x10")
_BETWEEN_RUNS = re.compile("([\x0e\x0f\x11])([^\x0e\x0f\x10\x11]*)\x10\\1")
_DEEPEST_SCRIPT = 3
_REACH = 40  # characters before a raised text that tell what it is
_STARTS = ("", ":", "|", "(", "-", "–", "—")
"""Characters before the first word of a text, cell or bracket."""
_MARKS = re.compile(
    r"[\[(]?(?:\d{1,3}|[a-z]|[*∗†‡§¶#‖]{1,3})(?:\s?[,;]\s?(?:\d{1,3}|[a-z])|[–-]\d{1,3})*,?[\])]?|\[.*\]"
)
_EXPONENT = re.compile(r"[-−–+]\s?\d+(?:[.,/]\d+)?|\d{0,3}[-−–+]")
_ORDINAL = re.compile(r"st|nd|rd|th|er|re|ère|ème|e|o|:?[ae]|:e|ten?|[ºª]")
_NUMBER = re.compile(r"(?<![\w.,])\d[\d.,]*$")
_WORD = re.compile(r"[^\W\d_]{1,40}$")
_OPERATOR_BEFORE = re.compile(r"[=×·*+/^<>≈−-]\s?\w{1,10}$")
_OPERATOR_AFTER = re.compile(r"\s?[=×·*+/<>≈]")
_TERM = re.compile(r".*[+\-−*/·×=].*|\(\w\)")
_COMPOUND = re.compile(r"[(\[]*\d*(?:[A-Z][a-z]?[\d+−-]*|[()\[\]]){1,20}")
_ISOTOPE = re.compile(r"[A-Z][a-z]?\b")
_RAISABLE = frozenset({
    "sin", "cos", "tan", "cot", "log", "ln", "exp", "sinh", "cosh", "tanh",
    "m", "km", "dm", "cm", "mm", "nm", "µm", "μm", "in", "ft", "yd", "mi", "s", "h", "px", "kg", "eV", "keV",
    "MeV", "GeV", "TeV",
})  # fmt: skip


def settle(text: str, omissions: Omissions | None = None) -> str:
    """Return a text with powers as `10^6` and indices as `x_1`, without note marks and struck-out text."""
    if LEVEL not in text:
        return text
    for _ in range(_DEEPEST_SCRIPT):  # of raised text in raised text the inner one comes first
        text = _BETWEEN_RUNS.sub(r"\1\2", text)
        parts: list[str] = []
        before, position = "", 0
        for script in _SCRIPT.finditer(text):
            sign, inside = script[1], " ".join(script[2].split())
            gap = script[0][: script.start(1) - script.start()]
            after = text[script.end() : script.end() + _REACH]
            before = (before + text[position : script.start()])[-_REACH:]
            if gap and inside.isdigit() and _ISOTOPE.match(after):
                before = ""  # it belongs to what follows
            write = _write_lowered if sign == LOWERED else write_script
            written = "" if sign == STRUCK else write(inside, before, after)
            if not written and inside and omissions is not None:
                omissions.add("deleted_text" if sign == STRUCK else "footnote_mark", inside)
            stands_apart = sign == STRUCK or before.strip()[-1:] in _STARTS or written == inside
            written = gap + written if stands_apart else written
            parts += [text[position : script.start()], written]
            before, position = (before + written)[-_REACH:], script.end()
        text = "".join([*parts, text[position:]])
    return re.sub("[\x0e\x0f\x10\x11]", "", text)


def is_mark(text: str) -> bool:
    """Return True if a text can be the mark of a note: a number, letter or sign, or anything in brackets."""
    return _MARKS.fullmatch(text.strip()) is not None


def write_script(raised: str, before: str, after: str) -> str:
    """Return raised text as written between two texts, empty for the mark of a note."""
    base = before.split()[-1] if before.strip() else ""
    is_exponent = _EXPONENT.fullmatch(raised) is not None
    exponent = raised if is_exponent else _bracketed(raised)
    if base[-1:] in _STARTS:
        plain = "" if is_mark(raised) else raised
        return f"^{exponent}" if raised.isdigit() and _ISOTOPE.match(after) else plain
    if raised in ("®", "™", "©", "℠") or _is_ending(base, raised):
        return raised
    if is_mark(raised) and not _is_power(raised, base, before, after):
        return ""
    if not is_exponent and _WORD.search(base) and not _is_term(base, before, raised):
        return f" {raised}"
    return f"^{exponent}{_gap(after)}"


def _write_lowered(inside: str, before: str, after: str) -> str:
    base = before.split()[-1] if before.strip() else ""
    if base[-1:] in _STARTS or (_COMPOUND.fullmatch(base) and re.fullmatch(r"[\dxyn,.+−-]+", inside)):
        return inside
    return f" {inside}" if " " in inside else f"_{_bracketed(inside, alone=inside.isalnum())}{_gap(after)}"


def _gap(after: str) -> str:
    return " " if after[:1].isalnum() else ""


def _is_ending(base: str, inside: str) -> bool:
    """Return True if raised letters end a number, as in 1st; a lone letter may be the mark of a note."""
    if base[-1].isdigit():
        return _ORDINAL.fullmatch(inside) is not None and (len(inside) > 1 or len(base) < 3)
    return len(base) == 1 and inside in ("th", "st", "nd", "rd")


def _is_power(inside: str, base: str, before: str, after: str) -> bool:
    """Return True if a raised number or letter is an exponent rather than the mark of a note.

    Exponents follow 10 or 2, small numbers, variables, units, functions or bracketed terms, or meet an
    operator.
    """
    if inside == "1" or not inside.isalnum():
        return False
    if _OPERATOR_AFTER.match(after) or (base[-1].isalnum() and _OPERATOR_BEFORE.search(before)):
        return inside.isdigit() or _is_term(base, before)
    if number := _NUMBER.search(base):
        common = number[0] in ("2", "10")
        return common or (inside.isdigit() and number[0].isdigit() and len(number[0]) < 3)
    word = _WORD.search(base)
    if word and word[0] in _RAISABLE:
        return inside.isdigit()
    return _is_term(base, before)


def _is_term(base: str, before: str, inside: str = "") -> bool:
    """Return True if a power may stand behind this: a number, variable, product or bracket around a term."""
    if inside.isdigit():
        return True
    if base[-1] in ")]}":
        opening = max(before.rfind(sign) for sign in "([{")
        return _TERM.fullmatch(before[max(opening, 0) :].strip()) is not None
    word = _WORD.search(base)
    if word is None:
        return base[-1].isalnum() or base[-1] == "."
    return len(word[0]) == 1 or (len(word[0]) < 4 and _OPERATOR_BEFORE.search(base) is not None)


_DEEPEST = 60  # levels of a formula: nobody writes more, and each is a call of its own
_SIMPLE = re.compile(r"[-−+]?\d+(?:[.,]\d+)*|.")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|\s+|.", re.DOTALL)
_LEAVES = frozenset({"mi", "mn", "mo", "mtext", "ms", "t"})
_SKIPPED = re.compile(r"annotation(?:-xml)?|mphantom|phant|none|\w*Pr|argSz")
_UNWRITABLE = frozenset({"mmultiscripts", "mlongdiv", "mstack", "mover", "sPre", "acc", "bar"})
_ROW_ENDS = {"mtable": "; ", "m": "; ", "eqArr": "; ", "mtr": ", ", "mr": ", "}
_SHIFTED = {
    **dict.fromkeys(("msub", "munder", "sSub", "limLow"), "_"),
    **dict.fromkeys(("msup", "sSup", "limUpp"), "^"),
    **dict.fromkeys(("msubsup", "munderover", "sSubSup"), "_^"),
}
_FIXED = frozenset({*_SHIFTED, "mfrac", "f", "nary", "mroot", "rad"})
"""Elements with a fixed number of parts."""
_INVISIBLE_TIMES = re.compile("(?<=\\d)\u2062(?=\\d)")


class _Part(NamedTuple):
    text: str
    kind: Literal["number", "name", "sign", "fraction", "script", "row"] = "row"


_NONE = _Part("", "sign")


class _UnwritableError(Exception):
    """Report a formula without a form on a line."""


def write_formula(formula: "_Element", omissions: Omissions, signs: str = "") -> str:
    """Return a formula of MathML or Office (OMML) on a line: `(a+b)/(2c)`, `x^(n+1)`.

    A formula without such a form is counted by its `signs`, and replaced by the sign of a doubt.
    """
    try:
        text = _INVISIBLE_TIMES.sub("·", _write(formula, 0).text)
    except _UnwritableError:
        omissions.add("formula", signs or "".join(map(str, formula.itertext())))
        return SIGNS["formula"]
    return text.translate({0x2061: None, 0x2062: None, 0x2063: ",", 0x2064: None})


def _write(element: "_Element", depth: int) -> _Part:
    name = _name_of(element)
    if depth > _DEEPEST or name in _UNWRITABLE or "strike" in element.get("notation", ""):
        raise _UnwritableError
    if name in _LEAVES:
        return _join([_token(text) for text in _TOKEN.findall("".join(map(str, element.itertext())))])
    if any((text or "").strip() for text in (element.text, *(child.tail for child in element))):
        raise _UnwritableError
    children = [
        child for child in element if isinstance(child.tag, str) and not _SKIPPED.fullmatch(_name_of(child))
    ]
    if name in ("semantics", "maction"):
        children = children[:1]  # what follows is the same in another form
    return _compose(name, element, [_write(child, depth + 1) for child in children])


def _compose(name: str, element: "_Element", parts: list[_Part]) -> _Part:
    if name in _ROW_ENDS:
        return _Part(_ROW_ENDS[name].join(part.text for part in parts))
    if len(parts) == 1 + len(signs := _SHIFTED.get(name, "")) > 1:
        moved = dict(zip(signs, parts[1:], strict=True))
        return _scripts(parts[0], moved.get("_", _NONE), moved.get("^", _NONE))
    match name, parts:
        case "mfrac" | "f", [above, below] if above.text and below.text:
            if _property(element, "type", "") == "noBar" or element.get("linethickness", "1")[:1] == "0":
                raise _UnwritableError  # one above the other, which is no fraction
            return _Part(f"{_bracketed(above.text)}/{_bracketed(below.text)}", "fraction")
        case "nary", [below, above, inside]:
            return _join([_scripts(_Part(_property(element, "chr", "∫"), "sign"), below, above), inside])
        case ("mroot", [inside, degree]) | ("rad", [degree, inside]) if degree.text:
            return _Part(f"{_bracketed(inside.text)}^(1/{_bracketed(degree.text)})", "script")
        case ("msqrt", _) | ("rad", [_, _]):
            return _Part(f"sqrt({_join(parts).text})")
    if name in _FIXED:
        raise _UnwritableError  # a part is missing, or one too many
    if name in ("mfenced", "d"):
        start = _property(element, "begChr", element.get("open", "("))
        end = _property(element, "endChr", element.get("close", ")"))
        between = _property(element, "sepChr", element.get("separators", "," if name == "mfenced" else "|"))
        return _Part(f"{start}{between[:1].join(part.text for part in parts)}{end}")
    return _join(parts)


def _name_of(element: "_Element") -> str:
    return str(element.tag).rpartition("}")[2]


def _property(element: "_Element", name: str, otherwise: str) -> str:
    """Return a property of an element of OMML, which is an element in its first child."""
    signs = (child for child in (element[0] if len(element) else ()) if _name_of(child) == name)
    values = [str(value) for sign in signs for value in sign.values()]
    return values[0] if values else otherwise


def _token(text: str) -> _Part:
    if text.isspace():
        return _Part("")
    return _Part(text, "number" if text[0].isdigit() else "name" if text[0].isalpha() else "sign")


def _join(parts: Sequence[_Part]) -> _Part:
    """Return parts in a row, with brackets around a fraction that touches an operand."""
    parts = [part for part in parts if part.text]
    if len(parts) == 1:
        return parts[0]
    written: list[str] = []
    for before, part, after in zip([_NONE, *parts], parts, [*parts[1:], _NONE], strict=False):
        text, blank = part.text, False
        if part.kind == "fraction" or (part.kind == "row" and "/" in text and not _is_enclosed(text)):
            blank = before.text.isdigit() and text.replace("/", "").isdigit()  # a number such as 1 1/2
            apart = before.kind == "sign" and before.text not in (")", "]", "}", "!", "/", "÷", ":", "^")
            ends = after.kind == "sign" and after.text not in ("(", "[", "{", "!", "^", "\u2062")
            text = text if blank or (apart and ends) else f"({text})"
        elif before.text and before.text[-1].isalnum() and text[0].isalnum():
            long_names = any(near.kind == "name" and len(near.text) > 1 for near in (before, part))
            after_fraction = before.kind == "fraction" and written[-1][-1].isalnum()
            numbers = before.kind == part.kind == "number"
            blank = long_names or numbers or after_fraction or before.kind == "script"
        written += [" ", text] if blank else [text]
    return _Part("".join(written))


def _scripts(base: _Part, below: _Part, above: _Part) -> _Part:
    simple = base.kind != "script" and re.fullmatch(r"[\w.,]+", base.text) is not None
    keeps = simple or base.kind == "sign" or _is_enclosed(base.text)
    written = base.text if keeps else f"({base.text})"
    if below.text:
        written += f"_{_bracketed(below.text, alone=below.text.isalnum())}"
    if above.text:
        is_prime = not above.text.strip("′'″‴°∘")
        written += above.text if is_prime else f"^{_bracketed(above.text)}"
    return _Part(written, "script")


def _bracketed(text: str, *, alone: bool = False) -> str:
    """Return a text as an operand: in brackets, unless it is a number, a sign or has them already."""
    return text if alone or _SIMPLE.fullmatch(text) or _is_enclosed(text) else f"({text})"


def _is_enclosed(text: str) -> bool:
    """Return True if the bracket that begins a text ends with it."""
    if text[:1] not in ("(", "[", "{"):
        return False
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth <= 0:
            return place == len(text) - 1
    return False
