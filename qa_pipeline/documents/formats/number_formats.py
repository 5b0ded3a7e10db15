"""Write numbers and dates as the format of their cell shows them (ECMA-376, 18.8.31)."""

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\[\]-]*)[^\[\]]*\]|[_*].|\[[^\[\]]*\]', re.DOTALL)
"""Quoted text, an escaped character, a currency such as `[$€-407]`, and widths and colours, never shown."""
_SECTION = re.compile(r'((?:"[^"]*"|\\.|\[[^\[\]]*\]|[^;])*)(?:;|$)')
_SHAPE = re.compile(r"[^0#?.,eE@/]*(?P<whole>[0#?][0#?,]*(?<!,))?(?:\.(?P<decimals>[0#?]+))?[^0#?.,eE@/]*")
"""The digits of a section without literals, such as `#,##0.00`; fractions and exponents do not match."""
_LONGEST = 200  # characters of a format: longer texts are no format, and slow for each cell
_LARGEST = 1e21


def show_number(value: float, form: str) -> str:
    """Return a number as its format shows it, or plain for an unknown format.

    An empty text is hidden by the format. Signs are those of English; colours and widths are ignored.
    Examples: 0.05 in `0.0%` is `5.0%`, 99.5 in `[$€-407] #,##0.00` is `€ 99.50`.
    """
    plain = str(int(value)) if abs(value) < 1e15 and value == int(value) else f"{value:.15g}"
    has_condition = re.search(r"\[[<>=]", form) is not None
    if form in ("", "General") or len(form) > _LONGEST or abs(value) > _LARGEST or has_condition:
        return plain
    positive, *others = _SECTION.findall(form)[:-1]  # the last match is the empty end
    section = positive
    if value < 0 and others:
        section = others[0]
    elif value == 0 and len(others) > 1:
        section = others[1]
    text = _fill(value, section)
    if text is None:
        return plain
    has_own_sign = section is not positive and text != _fill(value, positive)
    is_negative = value < 0 and any(digit in text for digit in "123456789")
    return f"-{text}" if is_negative and not has_own_sign else text


def _fill(value: float, section: str) -> str | None:
    """Return the digits of a number between the texts of a section; None for an unknown section."""
    # blanks keep the offsets of the digits
    without_literals = _LITERAL.sub(lambda literal: " " * len(literal[0]), section)
    shape = _SHAPE.fullmatch(without_literals)
    if shape is None:
        return None
    whole, decimals = shape["whole"] or "", shape["decimals"] or ""
    if not whole and not decimals:
        return _unquote(section)
    try:
        number = abs(Decimal(repr(value))).scaleb(2 * without_literals.count("%"))
        rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    except InvalidOperation:  # more digits than any program shows
        return None
    digits, _, fraction = f"{rounded:{',' if ',' in whole else ''}f}".partition(".")
    least = len(decimals.rstrip("#?"))  # digits that are shown even if they are 0
    fraction = fraction[:least] + fraction[least:].rstrip("0")
    digits = ("" if digits == "0" else digits).rjust(whole.count("0"), "0")
    start = shape.start("whole") if whole else shape.start("decimals") - 1  # at the point
    end = shape.end("decimals") if decimals else shape.end("whole")
    before, after = _unquote(section[:start]), _unquote(section[end:].removeprefix("."))
    return " ".join(f"{before}{digits}{'.' if fraction else ''}{fraction}{after}".split())


def _unquote(text: str) -> str:
    return _LITERAL.sub(lambda literal: literal[1] or literal[2] or literal[3] or "", text)


def show_moment(moment: date | time | timedelta, form: str) -> str:
    """Return a date, time or duration in the order of ISO 8601, as far as its format shows it."""
    if isinstance(moment, timedelta):
        minutes, seconds = divmod(int(moment.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    letters = set(_LITERAL.sub("", form).lower())
    clock = f"{moment:%H:%M:%S}" if isinstance(moment, datetime | time) else ""
    if isinstance(moment, time) or (isinstance(moment, datetime) and letters and letters.isdisjoint("yd")):
        return clock
    day = moment.isoformat()[:10]
    if "y" in letters and "d" not in letters:  # `mmm yyyy` shows no day
        day = day[:7] if "m" in letters else day[:4]
    shows_clock = "h" in letters or (not letters and clock != "00:00:00")
    return f"{day} {clock}" if clock and shows_clock else day
