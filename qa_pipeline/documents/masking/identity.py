"""Numbers of identity cards, passports and driving licences."""

import re
from calendar import monthrange
from collections import Counter
from collections.abc import Iterator

from qa_pipeline.documents.masking.items import (
    Family,
    Item,
    before,
    characters_of,
    digits_of,
    luhn,
    machine_readable,
    mod_11_10,
    numbers,
    pension_number,
)
from qa_pipeline.text.lexicon.languages import any_of_all, of_all

_LABELLED = re.compile(
    rf"{any_of_all('labels.id_documents')}s?"
    rf"[ -]?(?:{any_of_all('labels.numbers')}(?:n|et|s)?|id|#)?\.?"
    rf"(?: {any_of_all('labels.copulas')}| :|:| =|=| \|)?[ \n\"'(]{{0,3}}"
    r"([A-Z]{0,2}[ -]?\d{6,9}|[A-Z0-9]{8,16})(?![^\W_])",
    re.IGNORECASE,
)
_WORDS = of_all("labels.id_hints")
_FEWEST_DIGITS = 4
_LONGEST = 9
"""A number may be written with its check digit, which is no part of it."""

_LINE = re.compile(r"(?<![A-Z0-9<])[A-Z0-9<]{30,44}(?![A-Z0-9<])")
_FORMS = (  # ICAO Doc 9303, parts 4 and 5; each group is followed by its check digit
    re.compile(r"P[A-Z<][A-Z<]{3}[A-Z]{1,40}<[A-Z<]{0,40}<<"),
    re.compile(r"([A-Z0-9<]{9})(\d)[A-Z<]{3}(\d{6})(\d)[MFX<](\d{6})(\d)[A-Z0-9<]{16}"),
    re.compile(r"[ACI][A-Z0-9<][A-Z<]{3}([A-Z0-9<]{9})(\d)[A-Z0-9<]{15}"),
    re.compile(r"(\d{6})(\d)[MFX<](\d{6})(\d)[A-Z<]{3}[A-Z0-9<]{11}\d"),
    re.compile(r"[A-Z]{1,40}(?:<[A-Z]{1,40}){0,20}<<[A-Z<]{0,40}<<"),
)


def _find_lines(text: str) -> Iterator[Item]:
    for match in _LINE.finditer(text) if "<<" in text else ():
        lines = filter(None, (form.fullmatch(match[0]) for form in _FORMS))
        if any(all(map(machine_readable, form.groups()[::2], form.groups()[1::2])) for form in lines):
            yield Item("id_document", match.start(), match.end(), match[0])


def _find_named(text: str) -> Iterator[Item]:
    folded = text.lower()
    for match in _LABELLED.finditer(text) if any(word in folded for word in _WORDS) else ():
        value = characters_of(match[1])
        if sum(character.isdigit() for character in value) >= _FEWEST_DIGITS:
            value = value if len(value) > _LONGEST + 1 else value[:_LONGEST]
            yield Item("id_document", *match.span(1), value)


LINES = Family("id_document", _find_lines)
LABELLED = Family("id_document", _find_named, digits=_FEWEST_DIGITS)


_MONTH, _DAY = r"(0[1-9]|1[0-2])", r"(0[1-9]|[1-8]\d|9[01])"  # the day of a coordination number is 60 more
_SIGN = r"(?:[ \n]?[-+][ \n]?|([ \n])|)"
_NUMBER = re.compile(
    rf"(?:(?<![^\W_])|(?<=nr))(?<!\d\.)(?:(18|19|20)?(\d\d){_MONTH}{_DAY}|(18|19|20)(\d\d)-{_MONTH}-{_DAY}){_SIGN}"
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
    leads = before(match.string, match.start())
    blank_only = match[9] is not None and _TIME_OF_DAY.search(match[0])  # as dates are written with the time
    return not _CLOCK.search(leads) and not (blank_only and not _CONTEXT.search(leads))


def _is_date(century: str | None, year: str, month: int, day: int) -> bool:
    day -= _COORDINATION if day > _COORDINATION else 0
    years = [int(part + year) for part in ([century] if century else ["19", "20"])]
    return 1 <= day <= max(monthrange(full_year, month)[1] for full_year in years)


FAMILY = numbers("personnummer", 10, lambda text: digits_of(text)[-10:], _is_personnummer, _NUMBER)


_START, _END = r"(?<![^\W_])(?<!\d\.)", r"(?![^\W_])(?!\.\d)"
_GAP = r"[ \n./-]"
_TAX_ID = re.compile(
    rf"{_START}[1-9](?:\d{{10}}|\d{_GAP}\d{{3}}{_GAP}\d{{3}}{_GAP}\d{{3}}|\d\d{_GAP}\d{{3}}{_GAP}\d{{3}}{_GAP}\d\d|"
    rf"\d{{4}}{_GAP}\d{{3}}{_GAP}\d{{3}}|\d{{3}}{_GAP}\d{{4}}{_GAP}\d{{3}}){_END}"
)
_AMOUNT = re.compile(r"\s?(?:€|\$|EUR\b|Euro\b|kr\b|SEK\b|USD\b|CHF\b|Mio|Mrd|%)|,\d")
_AMOUNT_BEFORE = re.compile(r"(?:€|\$|EUR|SEK|USD|CHF)\s?$")
_TAX_NUMBER = re.compile(
    rf"{_START}(?:\d{{2,3}}[ \n]?/[ \n]?\d{{3}}[ \n]?/[ \n]?\d{{4,5}}|"
    rf"\d{{2,5}}[ /\n]\d{{3,5}}(?:[ /\n]\d{{3,5}})?|\d{{10,13}}){_END}"
)
_TAX_NUMBER_NAMED = re.compile(
    r"steuer-?\s?(?:n(?:umme)?r\b|no\b)|\bst\.?\s?-?nr|\btax n(?:umber|o\b|r\b)", re.IGNORECASE
)
_UNMISTAKABLE = re.compile(r"\d{2,3}/\d{3}/\d{5}")
_PENSION = re.compile(rf"{_START}\d\d[ \n]?\d{{6}}[ \n]?[A-Za-z][ \n]?\d\d[ \n]?\d(?![^\W_])")
_LATE_DAYS = 50
"""Persons who share birthday and first letter get days from 51 on when the serial numbers are spent."""


def _is_tax_id(match: re.Match[str]) -> bool:
    """Return whether one of ten digits occurs twice or thrice, not thrice in a row (AO § 139b)."""
    digits = digits_of(match[0])
    often = [count for count in Counter(digits[:10]).values() if count > 1]
    in_a_row = any(digits[place] * 3 == digits[place : place + 3] for place in range(8))
    return often in ([2], [3]) and not in_a_row and mod_11_10(digits) and not _is_amount(match)


def _is_amount(match: re.Match[str]) -> bool:
    text = match.string
    amount = _AMOUNT.match(text, match.end()) or _AMOUNT_BEFORE.search(before(text, match.start(), 5))
    return match[0].count(".") == 3 and bool(amount)


def _is_pension_number(match: re.Match[str]) -> bool:
    """Return whether area, birth date, initial, serial number and check digit fit."""
    value = characters_of(match[0])
    day, month, year = int(value[2:4]), int(value[4:6]), int(value[6:8])
    day -= _LATE_DAYS if day > _LATE_DAYS else 0
    if not (1 <= month <= 12 and "02" <= value[:2] <= "89"):
        return False
    last = max(monthrange(century + year, month)[1] for century in (1900, 2000))
    return 1 <= day <= last and pension_number(value)


def _find_tax_numbers(text: str) -> Iterator[Item]:
    """Yield tax numbers after a word for them: no check digit holds in all states."""
    for match in _TAX_NUMBER.finditer(text):
        label = _TAX_NUMBER_NAMED.search(before(text, match.start()))
        if label or _UNMISTAKABLE.fullmatch(match[0]):
            yield Item("steuernummer", match.start(), match.end(), digits_of(match[0]))


TAX_IDS = numbers("steuer_id", 11, digits_of, _is_tax_id, _TAX_ID)
PENSION_NUMBERS = numbers("sozialversicherungsnummer", 11, characters_of, _is_pension_number, _PENSION)
TAX_NUMBERS = Family("steuernummer", _find_tax_numbers, digits=9)


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


def _find_british(text: str) -> Iterator[Item]:
    for match in _BRITISH.finditer(text):
        yield Item("uk_nino", match.start(), match.end(), characters_of(match[0]))


def _find_american(text: str) -> Iterator[Item]:
    for match in _AMERICAN.finditer(text):
        if match[1] == "-" or _AMERICAN_NAMED.search(before(text, match.start())):
            yield Item("us_ssn", match.start(), match.end(), digits_of(match[0]))


BRITISH = Family("uk_nino", _find_british, digits=6)
AMERICAN = Family("us_ssn", _find_american, digits=9)
