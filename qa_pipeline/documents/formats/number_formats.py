"""Number formats of spreadsheets (ECMA-376, 18.8.31): a stored number as a person sees it.

Signs are those of English, as the format itself is written; colours, widths and fills are left out. openpyxl
does not do it, and the one library that does (ssf, last changed in 2020) has 4,000 lines.
"""

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache

_LITERAL = re.compile(
    r'"([^"]*)"|\\(.)|\[\$([^\]-]{0,20})[^\]]{0,20}\]|(?P<blank>[_*].)|\[[^\]]{0,40}\]', re.DOTALL
)
_PARTS = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]{0,200}\]|[^;])*)(?:;|$)')
_SHAPE = re.compile(
    r"(?P<before>[^0#?.]*)(?P<whole>[0#?](?:[^.eE]*[0#?])?)?(?P<scale>,*)(?:\.(?P<decimals>[0#?]*))?"
    r"(?P<more>,*)(?:[eE][+-](?P<exponent>0+))?(?P<after>.*)",
    re.DOTALL,
)
"""Signs around the places of digits before and behind the point; a comma beside it stands for a thousand."""
_CONDITION = re.compile(r"\[[<>=]")
_ANY = re.compile("General|@|/", re.IGNORECASE)
"""Formats that are ignored: text and fractions."""
_FIELDS = re.compile(r'"[^"]*"|\\.|\[\$[^\]]{0,200}\]|\[[A-Za-z]{4,200}\]|AM/PM|A/P', re.IGNORECASE)
_LONGEST = 200  # characters of a format: longer ones are no format, and each cell would pay for them
_LARGEST = 1e21
_APART = 0xE000
"""Added to the code of a quoted character while the format around it is taken apart."""


def fields_of(form: str) -> set[str]:
    """Return the letters of a format, which for days and times stand for their parts."""
    return set(_FIELDS.sub("", form).lower())


def show_moment(moment: date | time | timedelta, form: str) -> str:
    """Return a day, a time or both, in the order of ISO 8601, as far as a format shows them.

    A day that is not shown is left out, for it is only the first of its month; a duration may pass 24 hours.
    """
    fields = fields_of(form)
    day = clock = seconds = ""
    if isinstance(moment, timedelta):
        minutes, rest = divmod(int(moment.total_seconds()), 60)
        clock, seconds = f"{minutes // 60}:{minutes % 60:02}", f":{rest:02}"
    elif isinstance(moment, datetime | time):
        clock, seconds = f"{moment:%H:%M}", f":{moment:%S}"
    if isinstance(moment, date) and (not form or fields & set("yd") or not fields & set("hs")):
        no_day = "y" in fields and "d" not in fields
        day = moment.isoformat()[: 10 if not no_day else 7 if "m" in fields else 4]
    if day and not fields & set("hs") and (form or clock == "00:00"):
        clock = ""
    shows_seconds = clock and ("s" in fields or (not form and seconds != ":00"))
    return f"{day} {clock}{seconds if shows_seconds else ''}".strip()


def show_number(value: float, form: str) -> str | None:
    """Return a number as its format shows it, "" if it hides it; None for an unknown format.

    A minus that is shown by a colour alone is written.
    """
    if not form or len(form) > _LONGEST or not abs(value) < _LARGEST or _CONDITION.search(form):
        return None
    shapes = _shapes(form)
    own_negative = value < 0 and len(shapes) > 1
    shape = shapes[1 if own_negative else 2 if value == 0 and len(shapes) > 2 else 0]
    try:
        text = None if shape is None else _fill(value, shape)
        unsigned = _fill(value, shapes[0]) if own_negative and shapes[0] else None
    except InvalidOperation:  # more digits than any program shows
        return None
    if text and value < 0 and any(digit in text for digit in "123456789"):
        return f"-{text}" if not own_negative or text == unsigned else text
    return text


@lru_cache(maxsize=512)
def _shapes(form: str) -> tuple[tuple[str, ...] | None, ...]:
    """Return the forms for positive and negative numbers and for zero, taken apart; None for one of text."""
    parts = _PARTS.findall(form)[:-1][:3]
    matches = (None if _ANY.search(part) else _SHAPE.match(_LITERAL.sub(_set_apart, part)) for part in parts)
    return tuple(match and match.groups("") for match in matches)


def _fill(value: float, shape: tuple[str, ...]) -> str:
    """Return a number without its sign in the places of its format."""
    before, integer, scale, decimals, more, exponent, after = shape
    digits = ""
    if exponent:
        mantissa, _, tens = f"{abs(value):.{len(decimals)}E}".partition("E")
        digits = f"{mantissa}E{tens[0]}{tens[1:].lstrip('0').zfill(len(exponent))}"
    elif integer or decimals:
        power = 2 * (before + after).count("%") - 3 * len(scale + more)
        digits = _digits(abs(Decimal(repr(value))).scaleb(power), integer, decimals)
    text = "".join(
        chr(ord(sign) - _APART) if ord(sign) >= _APART else sign for sign in f"{before}{digits}{after}"
    )
    return re.sub(r"^- (?=\d)", "-", " ".join(text.split()))  # the sign stands at the edge of the cell


def _set_apart(literal: re.Match[str]) -> str:
    text = next(filter(None, literal.group(1, 2, 3)), " " if literal["blank"] else "")
    return "".join(chr(ord(sign) + _APART) for sign in text if ord(sign) < _APART)


def _digits(number: Decimal, integer: str, decimals: str) -> str:
    """Return the digits of a number in the places of its format."""
    rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    digits, _, behind = f"{rounded:f}".partition(".")
    least = len(decimals.rstrip("#?"))
    behind = behind[:least] + behind[least:].rstrip("0")
    digits = digits.lstrip("0").rjust(integer.count("0"), "0")
    written: list[str] = []
    if "," in integer:
        digits = f"{int(digits):,}".rjust(integer.count("0"), "0") if digits else ""
    else:  # with signs between the places, such as those of a postal code
        for sign in reversed(integer):
            if digits and sign in "0#?":
                digits, last = digits[:-1], digits[-1]
                written.append(last)
            elif digits:
                written.append(sign)
    digits += "".join(reversed(written))
    return f"{digits}.{behind}" if behind else digits
