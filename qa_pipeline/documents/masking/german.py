"""German numbers of taxpayers and insured persons.

What belongs here: tax identification number, tax number and pension insurance number. What does not: identity
cards and passports (`identity_documents`), and numbers of companies (VAT, commercial register).
"""

import re
from calendar import monthrange
from collections import Counter
from collections.abc import Iterator

from qa_pipeline.documents.masking.checksums import mod_11_10, pension_number
from qa_pipeline.documents.masking.items import Family, Item, before, characters_of, checked, digits_of

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


def _find_tax_ids(text: str) -> Iterator[Item]:
    for match in checked(
        _TAX_ID, text, lambda match: _is_tax_id(digits_of(match[0])) and not _is_amount(match)
    ):
        yield Item("steuer_id", match.start(), match.end(), digits_of(match[0]))


def _is_tax_id(digits: str) -> bool:
    """AO § 139b: of the first ten digits one stands there twice or three times, but not three in a row."""
    often = [count for count in Counter(digits[:10]).values() if count > 1]
    in_a_row = any(digits[place] * 3 == digits[place : place + 3] for place in range(8))
    return often in ([2], [3]) and not in_a_row and mod_11_10(digits)


def _is_amount(match: re.Match[str]) -> bool:
    """Whether it is a sum of money, whose thousands dots part in the same way."""
    text = match.string
    written = match[0].count(".") == 3
    return written and bool(
        _AMOUNT.match(text, match.end())
        or _AMOUNT_BEFORE.search(text[max(0, match.start() - 5) : match.start()])
    )


def _find_pension_numbers(text: str) -> Iterator[Item]:
    for match in checked(_PENSION, text, lambda match: _is_pension_number(characters_of(match[0]))):
        value = characters_of(match[0])
        yield Item("sozialversicherungsnummer", match.start(), match.end(), value)


def _is_pension_number(value: str) -> bool:
    """Area, date of birth, first letter of the name at birth, serial number, check digit."""
    day, month, year = int(value[2:4]), int(value[4:6]), int(value[6:8])
    day -= _LATE_DAYS if day > _LATE_DAYS else 0
    if not (1 <= month <= 12 and "02" <= value[:2] <= "89"):
        return False
    last = max(monthrange(century + year, month)[1] for century in (1900, 2000))
    return 1 <= day <= last and pension_number(value)


def _find_tax_numbers(text: str) -> Iterator[Item]:
    """These have no check digit that holds in all states: a word before them must say what they are."""
    for match in _TAX_NUMBER.finditer(text):
        named = _TAX_NUMBER_NAMED.search(before(text, match.start()))
        if named or _UNMISTAKABLE.fullmatch(match[0]):
            yield Item("steuernummer", match.start(), match.end(), digits_of(match[0]))


TAX_IDS = Family("steuer_id", _find_tax_ids, digits=11)
PENSION_NUMBERS = Family("sozialversicherungsnummer", _find_pension_numbers, digits=11)
TAX_NUMBERS = Family("steuernummer", _find_tax_numbers, digits=9)
