"""Replace personal data in texts.

A token is the kind and 8 hexadecimal digits of HMAC-SHA256 (RFC 2104) over kind and normal form: equal for
the same item everywhere, and not reversible without the key.
"""

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import get_args

from qa_pipeline.documents.corpus.description import BatchDescription, read_description
from qa_pipeline.documents.corpus.places import BatchFiles
from qa_pipeline.documents.formats.registry import SUFFIXES
from qa_pipeline.documents.masking.table import Item, Rule, rules_of
from qa_pipeline.errors import CorpusError, SettingsError
from qa_pipeline.records import Mask, Masked, keep
from qa_pipeline.settings.documents import MASKED_KINDS, MASKING_KEY_NEEDED, MaskingAction, MaskingSettings
from qa_pipeline.text.words import clean, fold_signs

PLACE_HOLDER = "\ufffc"
"""The character for an object in a text; no rule takes it for a part of an item."""


def find_items(text: str, rules: Sequence[Rule]) -> list[Item]:
    """Return the items of a text in order, without overlaps."""
    folded = fold_signs(text)
    lowered, digits = folded.lower(), sum(map(folded.count, "0123456789"))
    items: list[Item] = []
    for rule in rules:
        if rule.digits > digits or (rule.hints and not any(hint in lowered for hint in rule.hints)):
            continue
        end = 0
        parts = []  # the text with a placeholder for each character of an item, which later rules skip
        # of two that overlap the first and longer counts
        for item in sorted(rule.find(folded), key=lambda item: (item.start, -item.end)):
            if item.start >= end and folded[item.start : item.end].strip(PLACE_HOLDER):
                items.append(item)
                parts += [folded[end : item.start], PLACE_HOLDER * (item.end - item.start)]
                end = item.end
        folded = "".join([*parts, folded[end:]])
    return sorted(items, key=lambda item: item.start)


REMOVED = "[removed]"
_TOKEN_DIGITS = 8  # hex digits of a token, as in `email-0123abcd`
_NAMES = "|".join(kind.upper() for kind in MASKED_KINDS)
_BRACKETED = re.compile(rf"\[(?:(?:{_NAMES})-[0-9a-f]{{{_TOKEN_DIGITS}}}|removed)\]|{PLACE_HOLDER}")
_BARE = re.compile(rf"(?:{_NAMES})-[0-9a-f]{{{_TOKEN_DIGITS}}}|removed|{PLACE_HOLDER}")
Write = Callable[[Item], str]


def bare_mask(settings: MaskingSettings) -> Mask:
    """Return a mask for paths and URLs, where brackets mean something: tokens go without them."""
    return text_mask(settings, bare=True)


@cache
def text_mask(settings: MaskingSettings, *, bare: bool = False) -> Mask:
    """Return a function that masks a text as the settings ask; `bare` tokens lack brackets."""
    if settings.action == "off":
        return keep
    rules = rules_of(settings.kinds)
    write = _token_writer(settings, bare=bare)
    tokens = _BARE if bare else _BRACKETED

    def mask(text: str) -> Masked:
        if not find_items(text, rules):
            return Masked(text, {})
        masked = _replace(text, rules, write, tokens)
        return Masked(text, masked.counts) if settings.action == "flag" else masked

    return mask


def _token_writer(settings: MaskingSettings, *, bare: bool) -> Write:
    """Return a function that writes an item as a token, such as `[EMAIL-0123abcd]`, or as `[removed]`."""
    if settings.action != "mask":
        return lambda item: REMOVED.strip("[]") if bare else REMOVED
    if settings.key is None:
        raise SettingsError("documents.masking.key is not set; set QA_PIPELINE_DOCUMENTS__MASKING__KEY")
    key = settings.key.get_secret_value().encode()

    def token(item: Item) -> str:
        content = f"{item.kind}\0{item.value}".encode("utf-8", "surrogatepass")
        digest = hmac.new(key, content, hashlib.sha256).hexdigest()
        name = f"{item.kind.upper()}-{digest[:_TOKEN_DIGITS]}"
        return name if bare else f"[{name}]"

    return token


def _replace(text: str, rules: Sequence[Rule], write: Write, tokens: re.Pattern[str]) -> Masked:
    """Replace items until all are found; tokens count as placeholders, so they stay as they are."""
    counts: Counter[str] = Counter()
    while items := find_items(tokens.sub(lambda token: PLACE_HOLDER * len(token[0]), text), rules):
        counts.update(item.kind for item in items)
        parts, last = [], 0
        for item in items:
            parts += [text[last : item.start], write(item)]
            last = item.end
        text = "".join([*parts, text[last:]])
    return Masked(text, counts)


_STRICTER = get_args(MaskingAction)
"""From the least to the most: a removed item shows neither its kind nor that it occurs elsewhere too."""


def description_and_masking(
    batch: str, files: BatchFiles, settings: MaskingSettings
) -> tuple[BatchDescription, MaskingSettings]:
    """Return the description of a batch, and its masking; raises a CorpusError."""
    description = read_description(files, bare_mask(settings))
    masking = masking_of(settings, description.masking, batch)
    mask = bare_mask(masking)
    name = mask(batch)
    if masking.action in ("mask", "drop") and name.counts:
        kinds = ", ".join(sorted(name.counts))
        raise CorpusError(f"the name of batch {name.text} holds personal data ({kinds}); rename the folder")
    return description.masked(mask), masking


def masking_of(settings: MaskingSettings, action: MaskingAction | None, batch: str) -> MaskingSettings:
    """Return the settings with the action of a batch; raises a CorpusError for a weaker action."""
    if action is None or action == settings.action:
        return settings
    if _STRICTER.index(action) < _STRICTER.index(settings.action):
        raise CorpusError(
            f"{batch}/batch.yaml asks for masking: {action}, which is less than documents.masking.action = "
            f"{settings.action}; remove the line"
        )
    if action == "mask" and settings.key is None:
        raise CorpusError(
            f"{batch}/batch.yaml asks for masking: mask, but there is no key; {MASKING_KEY_NEEDED}"
        )
    return settings.model_copy(update={"action": action})


_BORDER = re.compile(r"([/\\;|#\[\]])")
_SUFFIXES = frozenset({*SUFFIXES, ".parquet", ".zip"})


def mask_path(path: str, mask: Mask) -> Masked:
    """Mask each name in a path, or in a reference such as `[source:a/b.md#c]`.

    `mask` writes tokens without brackets (`bare_mask`).
    """
    counts: Counter[str] = Counter()
    names = []
    for name in _BORDER.split(path):
        stem, suffix = name, ""  # `a@b.se.md` is not an address in Moldova
        while "." in stem and f".{stem.rpartition('.')[2]}".lower() in _SUFFIXES:
            stem, _, ending = stem.rpartition(".")
            suffix = f".{ending}{suffix}"
        masked = mask(clean(stem))
        counts.update(masked.counts)
        names.append(masked.text + suffix if masked.counts else name)
    return Masked("".join(names), counts)


def texts_mask(settings: MaskingSettings) -> Callable[[Sequence[str]], list[str]]:
    """Return a function that masks texts; a text without items keeps its bytes."""
    mask = text_mask(settings)

    def mask_texts(texts: Sequence[str]) -> list[str]:
        masked = [mask(clean(text)) for text in texts]
        return [new.text if new.counts else text for text, new in zip(texts, masked, strict=True)]

    return mask_texts


def reference_mask(settings: MaskingSettings) -> Callable[[str], str]:
    """Return a function that masks names of documents like their paths."""
    mask = bare_mask(settings)
    return lambda reference: mask_path(reference, mask).text
