"""Telephone and fax numbers.

What belongs here: which of the numbers that the library finds valid a reader would take for a telephone
number. What does not: the numbering plans, which `phonenumbers` keeps.

A number in national form is tried with the plans of `documents.masking.phone_regions`. Its token is made of
the digits without country and trunk prefix, so that both forms of a number get the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from phonenumbers import (
    SUPPORTED_REGIONS,
    Leniency,
    PhoneNumberMatch,
    PhoneNumberMatcher,
    PhoneNumberType,
    is_valid_number,
    length_of_national_destination_code,
    national_significant_number,
    number_type,
)

from qa_pipeline.documents.masking.items import Family, Item, before, digits_of
from qa_pipeline.errors import SettingsError

_WINDOW = re.compile(
    r"(?<![^\W_])(?<!\d[.,:])(?:\+ ?|\((?=[0+2-9])\+?)?\d(?:[ ()./\n-]{0,3}\d){6,18}(?![^\W_])(?![.,:]\d)"
)
_LABEL = (
    r"(?:tele(?:fon|phone|fax)?|\btel|phone|fon|mobile?|mobil|cell|fax|handy|call|\bring|rufnummer|durchwahl|"
    r"hotline|växel|\bsms|whatsapp|kontakt|contact|dial|\bnås|nummer)\w{0,8}"
)
_NAMED = re.compile(_LABEL + r"[^\w\n]{0,3}(?:\w{1,6}[^\w\n]{1,3}){0,3}$", re.IGNORECASE)
_LABELLED = re.compile(
    r"(?:\btel(?:efon|ephone|efax)?|phone|mobile?|mobil|\bfax|handy|rufnummer|telefonnummer|"
    r"telephone number|phone number)(?:nr|no|nummer)?(?: (?:is|är|ist|lautet))?[^\w\n+(]{0,3}$",
    re.IGNORECASE,
)
_OTHER_NAMED = re.compile(
    r"(?:isbn(?:-1[03])?|issn|orcid|rfc|sfs|§)\W{0,3}$|"
    r"(?:(?:doi|arxiv)\W{0,5}|\b10\.\d{4,9}/)[\w./-]{0,16}$",
    re.IGNORECASE,
)
_OTHER_NUMBER = re.compile(
    r"(?<![\d.])(?:0|[1-9]\d*)\.\d{5,}(?![\d.])|"  # decimal numbers
    r"(?<![\d.-])\d{4}\.\d{4,5}(?![\d.-])|"  # articles in an archive
    r"(?<![\d-])\d{5}-\d{4}(?![\d-])|"  # ZIP codes
    r"(?<!\d)(?:19|20)\d\d([./-]?)(?:0\d|1[0-2])\1[0-3]\d(?!\d)|"  # dates
    r"(?<!\d)[0-3]?\d([./-])[0-3]?\d\2(?:19|20)\d\d(?!\d)"
)
_AMERICAN = re.compile(r"(?:\+?1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])[2-9]\d\d[.-]\d{4}")
_BEGINS = re.compile(r"\+|(?<![\d.])0\d|[2-9]\d\d\)? ?[.-]?[2-9]\d\d[.-]\d{4}")
_TRUNK = re.compile(r"(?<![\d.])\(?(?:\+|0)\d")
_GROUP_END = re.compile(r"\d\)?(?!\d)")
_FEWEST_DIGITS, _MOST_DIGITS = 8, 13
_MOST_GROUPS, _MOST_BEGINNINGS, _MOST_TRIES = 7, 2, 8
_REMEMBERED = 4096
_FIRST_GROUP = re.compile(r"\(?(\d+)\)?")
_TATTERED = re.compile(r"(?:\D\d(?!\d)){3}|^[^(]*\)")
_LONGEST_NATIONAL = 11
_MOBILE_CODE = 4
"""Digits of a mobile code as people part it from the rest, where the plan's own code is longer."""


def phone_family(regions: tuple[str, ...]) -> Family:
    """Telephone numbers, those in national form by the numbering plans of some regions (ISO 3166-1).

    Raises:
        SettingsError: no plan is known for a region.
    """
    for region in regions:
        if region not in SUPPORTED_REGIONS:
            raise SettingsError(f"documents.masking.phone_regions names {region}, which is no country's code")

    def find(text: str) -> Iterator[Item]:
        text = _OTHER_NUMBER.sub(lambda match: "_" * len(match[0]), text)
        for window in _WINDOW.finditer(text):
            yield from _in_window(text, window, regions)

    return Family("phone", find, digits=7)


def _in_window(text: str, window: re.Match[str], regions: tuple[str, ...]) -> Iterator[Item]:
    """The numbers in a place where digits stand close together."""
    start, written = window.start(), window[0].replace("\n", " ")
    leads = before(text, start)
    named = _NAMED.search(leads) is not None
    if not (named or _BEGINS.search(written)) or _OTHER_NAMED.search(before(text, start, 24)):
        return
    # a plan may be younger than the library's: where a label leaves no doubt, the length must do
    sure = written.startswith("+") or _LABELLED.search(leads)
    reading = _Reading(regions, named, Leniency.POSSIBLE if sure else Leniency.VALID)
    for first, match in reading.all_numbers(written):
        value = national_significant_number(match.number)
        yield Item("phone", start + first, start + first + len(match.raw_string), value)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a place is read: by which plans, and whether it was named as a telephone number."""

    regions: tuple[str, ...]
    named: bool
    leniency: int

    @lru_cache(maxsize=_REMEMBERED)  # noqa: B019 - there are few readings, and tables say the same again
    def all_numbers(self, written: str) -> list[tuple[int, PhoneNumberMatch]]:
        """The numbers in a place, with where they begin."""
        return self.numbers(written) or self.numbers_among_others(written)

    def numbers(self, written: str, tries: int = _MOST_TRIES) -> list[tuple[int, PhoneNumberMatch]]:
        """The numbers the library sees, with where they begin; the longest where two plans disagree."""
        found = [
            match
            for region in self.regions
            for match in PhoneNumberMatcher(written, region, self.leniency, max_tries=tries)
            if _is_phone(match, region, self.named)
        ]
        taken: list[PhoneNumberMatch] = []
        for match in sorted(found, key=lambda one: (one.start - one.end, not is_valid_number(one.number))):
            if all(match.end <= other.start or other.end <= match.start for other in taken):
                taken.append(match)
        return [(match.start, match) for match in taken]

    def numbers_among_others(self, written: str) -> list[tuple[int, PhoneNumberMatch]]:
        """The first number in a row of digits that other numbers stand in, as the cells of a line do."""
        for begin in islice(_TRUNK.finditer(written), _MOST_BEGINNINGS):
            ends = [begin.start() + end.end() for end in _GROUP_END.finditer(written[begin.start() :])]
            for end in reversed(ends[:_MOST_GROUPS]):
                piece = written[begin.start() : end]
                if not _FEWEST_DIGITS <= len(digits_of(piece)) <= _MOST_DIGITS:
                    continue
                for first, match in self.numbers(piece, tries=1):
                    if first == 0 and len(match.raw_string) == len(piece):
                        return [(begin.start(), match)]
        return []


def _is_phone(match: PhoneNumberMatch, region: str, named: bool) -> bool:
    """With its country's code or a word before it it is one; else it must be written as one."""
    written = match.raw_string
    if named or written.startswith(("+", "00")):
        return not written.startswith("+ ") or named
    if region == "US":
        return _AMERICAN.fullmatch(written) is not None
    mobile = number_type(match.number) == PhoneNumberType.MOBILE
    if digits_of(written) == written:
        return mobile
    length = length_of_national_destination_code(match.number)
    area = "0" + national_significant_number(match.number)[:length]
    first = _FIRST_GROUP.match(written)
    codes = (area, area[:_MOBILE_CODE]) if mobile else (area,)
    return first is not None and first[1] in codes and _is_whole(written)


def _is_whole(written: str) -> bool:
    return len(digits_of(written)) <= _LONGEST_NATIONAL + 1 and not _TATTERED.search(
        " ".join(written.split())
    )
