"""Numbers of persons, identity documents, accounts and payment cards."""

import re
from calendar import monthrange
from collections.abc import Iterator

from qa_pipeline.documents.masking.items import (
    Family,
    Item,
    characters_of,
    digits_of,
    luhn,
    mod_97,
    pattern_family,
    text_before,
)
from qa_pipeline.text.lexicon.languages import any_of_all, of_all

_LABELLED = re.compile(
    r"(?:pass(?:es|port)?|identity card|id[ -](?:card|document)|driv(?:ing|er'?s) licen[cs]e"
    r"|id[ -]?kort(?:et)?|"
    r"identitets?kort(?:et)?|(?:kö|ko)rkort(?:et)?|ausweis(?:es|karte)?|(?:fü|fue)hrerschein)s?"
    rf"[ -]?(?:{any_of_all('labels.numbers')}(?:n|et|s)?|id|#)?\.?"
    rf"(?: {any_of_all('labels.copulas')}| :|:| =|=| \|)?[ \n\"'(]{{0,3}}"
    r"([A-Z]{0,2}[ -]?\d{6,9}|[A-Z0-9]{8,16})(?![^\W_])",
    re.IGNORECASE,
)
_WORDS = of_all("labels.id_hints")
_FEWEST_DIGITS = 4  # the label is followed by a word otherwise, written in capitals
_LONGEST = 9
"""A number may be written with its check digit, which is no part of it."""


def _find_named(text: str) -> Iterator[Item]:
    folded = text.lower()
    for match in _LABELLED.finditer(text) if any(word in folded for word in _WORDS) else ():
        value = characters_of(match[1])
        if sum(character.isdigit() for character in value) >= _FEWEST_DIGITS:
            value = value if len(value) > _LONGEST + 1 else value[:_LONGEST]
            yield Item("id_document", *match.span(1), value)


LABELLED = Family("id_document", _find_named, digits=_FEWEST_DIGITS)


_MONTH, _DAY = r"(0[1-9]|1[0-2])", r"(0[1-9]|[1-8]\d|9[01])"  # the day of a coordination number is 60 more
_SIGN = r"(?:[ \n]?[-+][ \n]?|([ \n])|)"
_NUMBER = re.compile(
    rf"(?:(?<![^\W_])|(?<=nr))(?<!\d\.)(?:(18|19|20)?(\d\d){_MONTH}{_DAY}|(18|19|20)(\d\d)-{_MONTH}-{_DAY})"
    rf"{_SIGN}"
    r"\d{4}(?![^\W_])(?!\.\d)"
)
_CONTEXT = re.compile(
    r"person\s?-?n|\bp\.?nr|samordnings|social security|identity n|född|\bborn\b|id-?n", re.IGNORECASE
)
_CLOCK = re.compile(
    rf"(?:(?:timestamp|epoch|unix)\W{{0,12}}\w{{0,8}}|{any_of_all('labels.timestamps')})\W{{0,3}}$",
    re.IGNORECASE,
)
_COORDINATION = 60  # added to the day of birth in a Swedish coordination number
_TIME_OF_DAY = re.compile(r"(?:[01]\d|2[0-3])[0-5]\d$")


def _is_personnummer(match: re.Match[str]) -> bool:
    century, year = match[1] or match[5], match[2] or match[6]
    month, day = match[3] or match[7], match[4] or match[8]
    if not _is_date(century, year, int(month), int(day)) or not luhn(digits_of(match[0])[-10:]):
        return False
    leads = text_before(match.string, match.start())
    blank_only = match[9] is not None and _TIME_OF_DAY.search(match[0])  # as dates are written with the time
    return not _CLOCK.search(leads) and not (blank_only and not _CONTEXT.search(leads))


def _is_date(century: str | None, year: str, month: int, day: int) -> bool:
    day -= _COORDINATION if day > _COORDINATION else 0
    years = [int(part + year) for part in ([century] if century else ["19", "20"])]
    return 1 <= day <= max(monthrange(full_year, month)[1] for full_year in years)


PERSONNUMMER = pattern_family(
    "personnummer",
    lambda text: digits_of(text)[-10:],
    _NUMBER,
    is_right=_is_personnummer,
    digits=10,
    search_inside=True,
)


# HMRC, NIM39110: letters that are never issued, prefixes that are never issued, suffix A to D.
_BRITISH = re.compile(
    r"(?<![^\W_])(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
    r"[ \n-]?\d\d[ \n-]?\d\d[ \n-]?\d\d[ \n-]?[A-D](?![^\W_])"
)
# SSA, RM 10201: no area 000, 666 or 900 to 999, no group 00, no serial number 0000.
_AMERICAN = re.compile(
    r"(?<![^\W_])(?<!\d[-.])(?!000|666|9)\d{3}([- \n]?)(?!00)\d\d\1(?!0000)\d{4}(?![^\W_])(?![-.]\d)"
)
_AMERICAN_NAMED = re.compile(r"\bssn\b|social\s+security", re.IGNORECASE)


def _is_american(match: re.Match[str]) -> bool:
    return match[1] == "-" or bool(_AMERICAN_NAMED.search(text_before(match.string, match.start())))


BRITISH = pattern_family("uk_nino", characters_of, _BRITISH, digits=6)
AMERICAN = pattern_family("us_ssn", digits_of, _AMERICAN, is_right=_is_american, digits=9)


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
        account = _end_of_account(text, match.start(), length)
        if account is not None and mod_97(value := characters_of(text[match.start() : account])):
            end = account
            yield Item("iban", match.start(), end, value)


def _end_of_account(text: str, start: int, length: int) -> int | None:
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
CARDS = pattern_family("card", digits_of, *_CARDS, is_right=_is_card, digits=13, search_inside=True)
