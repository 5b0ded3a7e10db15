"""Account numbers (IBAN) and payment cards."""

import re
from collections.abc import Iterator

from qa_pipeline.documents.masking.items import Family, Item, characters_of, digits_of, luhn, mod_97, numbers

# Characters of an account number by country, from the IBAN registry (ISO 13616).
_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK",
        21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC",
        32: "LC", 33: "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip
_ACCOUNT_START = re.compile(r"(?<![^\W_])([A-Za-z]{2})[ \n-]?\d{2}(?=[ \n-]?[A-Za-z0-9])")
_BLANKS = " \n-"

_CARDS = tuple(
    re.compile(rf"(?<![^\W_])(?<!\d\.)(?:{form})(?![^\W_])(?!\.\d|[ ]?\*)")
    for form in (
        r"\d{13,16}",
        r"\d{4}(?:[ \n.-]\d{4}){3}[ \n.-]\d{3}",
        r"\d{4}(?:[ \n.-]\d{4}){3}",
        r"\d{4}[ \n.-]\d{6}[ \n.-]\d{4,5}",
    )
)
# First digits and lengths of the issuers (ISO/IEC 7812): Visa, Mastercard, American Express, Diners Club,
# Discover, JCB, UnionPay, and Maestro as far as it differs from other numbers.
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|"
    r"3[47]\d{13}|3(?:0[0-59]|[689]\d)\d{11}|6(?:011|4[4-9]\d|5\d\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|"
    r"62\d{14,17}|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{12}"
)


def _find_accounts(text: str) -> Iterator[Item]:
    end = 0
    for match in _ACCOUNT_START.finditer(text):
        length = _LENGTHS.get(match[1].upper())
        if length is None or match.start() < end:
            continue
        account = _take(text, match.start(), length)
        if account is not None and mod_97(value := characters_of(text[match.start() : account])):
            end = account
            yield Item("iban", match.start(), end, value)


def _take(text: str, start: int, length: int) -> int | None:
    """Return the end of `length` letters and digits, single blanks apart, if the number ends there."""
    place, taken, blank = start, 0, False
    while taken < length and place < len(text):
        character = text[place]
        if character.isascii() and character.isalnum():
            taken, blank = taken + 1, False
        elif character in _BLANKS and not blank:
            blank = True
        else:
            return None
        place += 1
    ends = place == len(text) or not text[place].isalnum()
    return place if taken == length and ends else None


def _is_card(match: re.Match[str]) -> bool:
    digits = digits_of(match[0])
    return bool(_ISSUED.fullmatch(digits)) and luhn(digits) and len(set(digits)) > 1


ACCOUNTS = Family("iban", _find_accounts, digits=6)
CARDS = numbers("card", 13, digits_of, _is_card, *_CARDS)
