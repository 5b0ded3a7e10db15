"""From the finds of a text to the text that goes on, in which nobody can read them.

What belongs here: tokens, and replacing without leaving anything that would be found again. What does not:
finding (`finding`), and paths (`paths`).

A token is the kind and 8 hexadecimal digits of HMAC-SHA256 (RFC 2104) over kind and normal form: equal for
the same item wherever it stands, and without the key neither to be reversed nor to be confirmed.
"""

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from qa_pipeline.documents.assembly import Mask, keep
from qa_pipeline.documents.masking.finding import PLACE_HOLDER, families_of, find_items
from qa_pipeline.documents.masking.items import Family, Item
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.documents import MASKED_KINDS, MaskingSettings

REMOVED = "[removed]"
_DIGITS = 8
_NAMES = "|".join(kind.upper() for kind in (*MASKED_KINDS, "name"))
_BRACKETED = re.compile(rf"\[(?:(?:{_NAMES})-[0-9a-f]{{{_DIGITS}}}|removed)\]|{PLACE_HOLDER}")
_BARE = re.compile(rf"(?:{_NAMES})-[0-9a-f]{{{_DIGITS}}}|removed|{PLACE_HOLDER}")
"""Wherever they begin and end: items that stood side by side leave tokens that do."""

Write = Callable[[Item], str]


@cache
def text_mask(settings: MaskingSettings) -> Mask:
    """What masks a text as the settings say."""
    return _mask(settings, bare=False)


@cache
def bare_mask(settings: MaskingSettings) -> Mask:
    """The same for paths and URLs, in which brackets mean something: tokens go without them."""
    return _mask(settings, bare=True)


def _mask(settings: MaskingSettings, *, bare: bool) -> Mask:
    if settings.action == "off":
        return keep
    families, write = families_of(settings), _writer(settings)
    tokens = _BARE if bare else _BRACKETED

    def mask(text: str) -> tuple[str, Mapping[str, int]]:
        if not find_items(text, families):
            return text, {}
        masked, counts = _replace(text, families, (lambda item: write(item)[1:-1]) if bare else write, tokens)
        return (text if settings.action == "flag" else masked), counts

    return mask


def _writer(settings: MaskingSettings) -> Write:
    if settings.action != "mask":
        return lambda item: REMOVED
    if settings.key is None:
        raise SettingsError("documents.masking.key is not set; set QA_PIPELINE_DOCUMENTS__MASKING__KEY")
    key = settings.key.get_secret_value().encode()

    def token(item: Item) -> str:
        content = f"{item.kind}\0{item.value}".encode("utf-8", "surrogatepass")
        return f"[{item.kind.upper()}-{hmac.new(key, content, hashlib.sha256).hexdigest()[:_DIGITS]}]"

    return token


def _replace(
    text: str, families: Sequence[Family], write: Write, tokens: re.Pattern[str]
) -> tuple[str, Counter[str]]:
    """Replace what is found until nothing is found any more.

    Meanwhile one character stands for each item found before, whatever will be written for it: so an action
    changes nothing about what is found, and what is masked already stays as it is.
    """
    counts: Counter[str] = Counter()
    written = tokens.findall(text)
    work = tokens.sub(PLACE_HOLDER, text)
    while items := find_items(work, families):
        counts.update(item.kind for item in items)
        work, written = _stand_in(work, written, items, write)
    pieces = work.split(PLACE_HOLDER)
    return "".join(piece + one for piece, one in zip(pieces, [*written, ""], strict=True)), counts


def _stand_in(work: str, written: list[str], items: Sequence[Item], write: Write) -> tuple[str, list[str]]:
    """Put a place holder for each item; `written` is what those of the text stand for, in order."""
    parts, now, place, seen = [], list[str](), 0, 0
    for item in items:
        gap = work[place : item.start]
        parts += [gap, PLACE_HOLDER]
        passed = seen + gap.count(PLACE_HOLDER)
        now += [*written[seen:passed], write(item)]
        seen = passed + work.count(PLACE_HOLDER, item.start, item.end)
        place = item.end
    return "".join([*parts, work[place:]]), now + written[seen:]
