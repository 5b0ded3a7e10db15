"""Swedish personal identity numbers and coordination numbers.

What belongs here: numbers of ten and twelve digits with a date and a check digit, as the Swedish Tax Agency
issues them. What does not: numbers of organisations, whose third digit is 2 or more and which name nobody.
"""

import re
from calendar import monthrange
from collections.abc import Iterator

from qa_pipeline.documents.masking.checksums import luhn
from qa_pipeline.documents.masking.items import Family, Item, before, checked, digits_of

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
    r"(?:timestamp|epoch|unix)\W{0,12}\w{0,8}\W{0,3}$|tidsstämpel\W{0,3}$|zeitstempel\W{0,3}$", re.IGNORECASE
)
_COORDINATION = 60
_TIME_OF_DAY = re.compile(r"(?:[01]\d|2[0-3])[0-5]\d$")


def _find(text: str) -> Iterator[Item]:
    for match in checked(_NUMBER, text, _is_personnummer):
        yield Item("personnummer", match.start(), match.end(), digits_of(match[0])[-10:])


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
    return 1 <= day <= max(monthrange(one, month)[1] for one in years)


FAMILY = Family("personnummer", _find, digits=10)
