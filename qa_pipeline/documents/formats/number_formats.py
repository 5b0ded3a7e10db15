"""Number formats of spreadsheets (ECMA-376, 18.8.31): a stored number as a person sees it.

Signs are those of English, as the format itself is written; colours, widths and fills are left out. The one
library for it (ssf, last changed in 2020) has 4,000 lines and seven dependencies.
"""

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?",
    13: "# ??/??", 37: "#,##0;-#,##0", 38: "#,##0;-#,##0", 39: "#,##0.00;-#,##0.00",
    40: "#,##0.00;-#,##0.00", 48: "##0.0E+0",
}  # fmt: skip
"""Formats by the numbers that stand for them; the others are dates, or depend on the reader's country."""
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_(?P<width>.)|\*(?P<fill>.)|\[\$(?P<currency>[^\]-]{0,20})[^\]]{0,20}\]'
    r"|\[[^\]]{0,40}\]|(?P<exponent>[eE][+-]0+)|(?P<digits>[0#?][0#?,]*)|(?P<sign>[.%/,])|(?P<literal>.)",
    re.DOTALL,
)
_PARTS = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]*\]|[^;])*)(?:;|$)')
_CONDITION = re.compile(r"\[[<>=]")
_FIELDS = re.compile(r'"[^"]*"|\\.|\[\$[^\]]*\]|\[(?:[A-Za-z]{4,})\]|AM/PM|A/P', re.IGNORECASE)
_LONGEST = 200  # characters of a format: longer ones are no format, and each cell would pay for them
_LARGEST = 1e21


class _Section(NamedTuple):
    """One of the forms of a format: literals around the digits, and how many of those there are."""

    before: str
    whole: tuple[str, ...]
    decimals: str
    after: str
    grouped: bool
    power: int
    exponent: int
    fraction: bool
    plain: bool


def fields_of(form: str) -> set[str]:
    """Return the letters of a format, which for days and times stand for their parts."""
    return set(_FIELDS.sub("", form).lower())


def show_moment(moment: date | time | timedelta, form: str) -> str:
    """Return a day, a time or both, in the order of ISO 8601, as far as a format shows them.

    A day that is not shown is left out, for it is only the first of its month; a duration may pass 24 hours.
    """
    fields = fields_of(form)
    if isinstance(moment, timedelta):
        minutes, seconds = divmod(int(moment.total_seconds()), 60)
        clock = f"{minutes // 60}:{minutes % 60:02}", f":{seconds:02}"
    elif isinstance(moment, datetime | time):
        clock = f"{moment:%H:%M}", f"{moment:%S}".join((":", ""))
    else:
        clock = "", ""
    is_date = isinstance(moment, date) and (not form or bool(fields & set("yd")) or not fields & set("hs"))
    day = moment.strftime("%Y-%m-%d") if is_date and isinstance(moment, date) else ""
    if day and "y" in fields and "d" not in fields:
        day = day[:7] if "m" in fields else day[:4]
    shows_time = bool(fields & set("hs")) or not day or (not form and clock[0] != "00:00")
    with_seconds = "s" in fields or (not form and clock[1] != ":00")
    return " ".join(
        filter(None, [day, f"{clock[0]}{clock[1] if with_seconds else ''}" if shows_time else ""])
    )


def show_number(value: float, form: str) -> str | None:
    """Return a number as its format shows it; None where the format says nothing, or what nobody knows."""
    if not form or len(form) > _LONGEST or not abs(value) < _LARGEST or _CONDITION.search(form):
        return None
    sections = _sections(form)
    own_negative = value < 0 and len(sections) > 1
    section = sections[1 if own_negative else 2 if value == 0 and len(sections) > 2 else 0]
    if section is None:
        return None
    if section.plain:
        return section.before.strip() or None
    number = abs(Decimal(repr(value))).scaleb(section.power)
    try:
        digits = _fraction(number) if section.fraction else _digits(number, section)
    except InvalidOperation:  # more digits than any program shows
        return None
    is_negative = value < 0 and not own_negative and any(digit in digits for digit in "123456789")
    return " ".join(f"{'-' if is_negative else ''}{section.before}{digits}{section.after}".split()) or None


@lru_cache(maxsize=512)
def _sections(form: str) -> tuple[_Section | None, ...]:
    parts = _PARTS.findall(form)
    return tuple(map(_section, parts[:-1][:3]))


def _section(form: str) -> _Section | None:
    tokens = list(_TOKEN.finditer(form))
    if "general" in form.lower() or any(match["literal"] == "@" for match in tokens):
        return None
    whole: list[str] = []
    literals = ["", ""]
    decimals, between = "", ""
    dots = percents = exponent = power = 0
    fraction = False
    for match in tokens:
        if digits := match["digits"]:
            if dots:
                decimals += digits.replace(",", "")
            else:
                whole += [between, digits] if whole else [digits]
                between = ""
            power -= 3 * (len(digits) - len(digits.rstrip(",")))
        elif match["sign"] == ".":
            dots += 1
        elif match["exponent"]:
            exponent = len(match["exponent"]) - 2
        elif match["sign"] == "/" and whole:
            fraction = True
        else:
            percents += match["sign"] == "%"
            text = (
                " "
                if match["width"] or match["fill"]
                else next(
                    (
                        match[name]
                        for name in ("quoted", "escaped", "currency", "literal", "sign")
                        if match[name]
                    ),
                    "",
                )
            )
            if whole or dots:
                between += text
            else:
                literals[0] += text
    literals[1] = between
    grouped = any("," in part.rstrip(",") for part in whole)
    plain = not whole and not decimals
    return _Section(
        literals[0],
        tuple(whole),
        decimals,
        literals[1],
        grouped,
        power + 2 * percents,
        exponent,
        fraction,
        plain,
    )


def _digits(number: Decimal, section: _Section) -> str:
    """Return the digits of a number in the places of its format."""
    if section.exponent:
        mantissa, _, exponent = f"{number:.{len(section.decimals)}E}".partition("E")
        return f"{mantissa}E{exponent[0]}{exponent[1:].zfill(section.exponent)}"
    rounded = number.quantize(Decimal(1).scaleb(-len(section.decimals)), ROUND_HALF_UP)
    whole, _, decimals = f"{rounded:f}".partition(".")
    least = section.decimals.rstrip("#?")
    decimals = decimals.rstrip("0").ljust(len(least), "0") if len(least) < len(decimals) else decimals
    places = "".join(section.whole[::2]).replace(",", "")
    whole = whole.lstrip("0").rjust(places.count("0"), "0")
    if section.grouped:
        whole = f"{int(whole or 0):,}".rjust(places.count("0"), "0") if whole else ""
    elif len(section.whole) > 1:
        whole = _spread(whole, section.whole)
    return f"{whole}.{decimals}" if decimals else whole


def _spread(digits: str, parts: tuple[str, ...]) -> str:
    """Return digits with the literals between the places of a format, such as those of a postal code."""
    written: list[str] = []
    for place, part in reversed(list(enumerate(parts))):
        if place % 2:
            written.append(part if digits else "")
        else:
            width = len(digits) if place == 0 else min(len(part), len(digits))
            written.append(digits[len(digits) - width :])
            digits = digits[: len(digits) - width]
    return "".join(reversed(written))


def _fraction(number: Decimal) -> str:
    whole, rest = divmod(Fraction(number).limit_denominator(99), 1)
    return " ".join(filter(None, [str(whole) if whole or not rest else "", str(rest) if rest else ""]))
