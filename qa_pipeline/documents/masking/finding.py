"""All families over one text: who looks first, and what becomes of finds that lie in each other.

What belongs here: the order of the families and the finds of a text. What does not: a kind's own form (one
module a family) and what is written in place of a find (`replacing`).

The order decides where two finds overlap: what is surer and longer comes first, and later families see a
place holder there.
"""

from collections.abc import Iterable, Iterator, Sequence

from qa_pipeline.documents.masking import (
    anglophone,
    banking,
    german,
    identity_documents,
    logins,
    mail,
    names,
    network,
    phone,
    secrets,
    swedish,
)
from qa_pipeline.documents.masking.folding import fold
from qa_pipeline.documents.masking.items import Family, Item
from qa_pipeline.settings.documents import MaskingSettings

PLACE_HOLDER = "\ufffc"
"""The character for an object in a text; no family takes it for a part of an item."""

_PATTERNS = (
    secrets.ISSUED,
    logins.FAMILY,
    mail.FAMILY,
    secrets.NAMED,
    identity_documents.LINES,
    banking.ACCOUNTS,
    banking.CARDS,
    german.PENSION_NUMBERS,
    german.TAX_IDS,
    swedish.FAMILY,
    anglophone.AMERICAN,
    anglophone.BRITISH,
    identity_documents.NAMED,
    german.TAX_NUMBERS,
    network.MAC,
    network.IP,
)
_DIGITS = "0123456789"


def families_of(settings: MaskingSettings) -> tuple[Family, ...]:
    """The families that the settings ask for, in the order in which they look."""
    known = (*_PATTERNS, phone.phone_family(settings.phone_regions))
    chosen = tuple(family for family in known if family.kind in settings.kinds)
    return (*chosen, names.names_family(settings.names_models)) if settings.names_models else chosen


def find_items(text: str, families: Sequence[Family]) -> list[Item]:
    """The items of a text in order; none overlaps another."""
    folded = fold(text)
    digits = sum(map(folded.count, _DIGITS))
    items: list[Item] = []
    for family in families:
        if family.digits <= digits and (found := [*_apart(family.find(folded), folded)]):
            items += found
            folded = _without(folded, found)
    return sorted(items, key=lambda item: item.start)


def _apart(items: Iterable[Item], text: str) -> Iterator[Item]:
    """Items that hold more than what other families found; of two that overlap the first and longer one."""
    end = 0
    for item in sorted(items, key=lambda item: (item.start, -item.end)):
        if item.start >= end and text[item.start : item.end].strip(PLACE_HOLDER):
            end = item.end
            yield item


def _without(text: str, items: Iterable[Item]) -> str:
    """The text with place holders where items stand, of the same length."""
    parts, place = [], 0
    for item in items:
        parts += [text[place : item.start], PLACE_HOLDER * (item.end - item.start)]
        place = item.end
    return "".join([*parts, text[place:]])
