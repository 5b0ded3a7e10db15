"""Numbers of identity cards, passports and driving licences.

What belongs here: numbers that a word before them makes known, and the machine-readable lines of such
documents. What does not: such a number alone, which nothing tells from a part number: its check digit is
right for one in ten of those.
"""

import re
from collections.abc import Iterator

from qa_pipeline.documents.masking.checksums import machine_readable
from qa_pipeline.documents.masking.items import Family, Item, characters_of

_NAMED = re.compile(
    r"(?:ausweis(?:es|karte)?|pass(?:es|port)?|id[ -]?kort(?:et)?|identitets?kort(?:et)?|identity card|"
    r"id[ -](?:card|document)|(?:fü|fue)hrerschein|(?:kö|ko)rkort(?:et)?|driv(?:ing|er'?s) licen[cs]e)s?"
    r"[ -]?(?:n(?:umme?r|umber|r|o)(?:n|et|s)?|seriennummer|id|#)?\.?"
    r"(?: is| lautet| är| :|:| =|=| \|)?[ \n\"'(]{0,3}"
    r"([A-Z]{0,2}[ -]?\d{6,9}|[A-Z0-9]{8,16})(?![^\W_])",
    re.IGNORECASE,
)
_WORDS = ("ausweis", "pass", "kort", "card", "document", "schein", "licen")
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
        if any(_has_form(match[0], form) for form in _FORMS):
            yield Item("id_document", match.start(), match.end(), match[0])


def _has_form(line: str, form: re.Pattern[str]) -> bool:
    found = form.fullmatch(line)
    return found is not None and all(map(machine_readable, found.groups()[::2], found.groups()[1::2]))


def _find_named(text: str) -> Iterator[Item]:
    folded = text.lower()
    for match in _NAMED.finditer(text) if any(word in folded for word in _WORDS) else ():
        value = characters_of(match[1])
        if sum(one.isdigit() for one in value) >= _FEWEST_DIGITS:
            yield Item(
                "id_document", *match.span(1), value if len(value) > _LONGEST + 1 else value[:_LONGEST]
            )


LINES = Family("id_document", _find_lines)
NAMED = Family("id_document", _find_named, digits=_FEWEST_DIGITS)
