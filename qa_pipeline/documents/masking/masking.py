"""Replace personal data in texts.

A token is the kind and 8 hexadecimal digits of HMAC-SHA256 (RFC 2104) over kind and normal form: equal for
the same item everywhere, and not reversible without the key.
"""

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import get_args

from qa_pipeline.documents.corpus.description import BatchDescription, read_description
from qa_pipeline.documents.corpus.places import BatchFiles
from qa_pipeline.documents.formats.registry import SUFFIXES
from qa_pipeline.documents.masking.table import Item, Rule, rules_of
from qa_pipeline.errors import CorpusError, SettingsError
from qa_pipeline.records import Mask, keep
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
        end, parts = 0, []
        # of two that overlap the first and longer; none is made of parts of other rules alone
        for item in sorted(rule.find(folded), key=lambda item: (item.start, -item.end)):
            if item.start >= end and folded[item.start : item.end].strip(PLACE_HOLDER):
                items.append(item)
                parts += [folded[end : item.start], PLACE_HOLDER * (item.end - item.start)]
                end = item.end
        folded = "".join([*parts, folded[end:]])
    return sorted(items, key=lambda item: item.start)


REMOVED = "[removed]"
_REPLACING_DIGITS = 8  # hex digits of a token, as in `email-0123abcd`
_NAMES = "|".join(kind.upper() for kind in MASKED_KINDS)
_BRACKETED = re.compile(rf"\[(?:(?:{_NAMES})-[0-9a-f]{{{_REPLACING_DIGITS}}}|removed)\]|{PLACE_HOLDER}")
_BARE = re.compile(rf"(?:{_NAMES})-[0-9a-f]{{{_REPLACING_DIGITS}}}|removed|{PLACE_HOLDER}")


Write = Callable[[Item], str]


def bare_mask(settings: MaskingSettings) -> Mask:
    """Return a mask for paths and URLs, where brackets mean something: tokens go without them."""
    return text_mask(settings, bare=True)


@cache
def text_mask(settings: MaskingSettings, *, bare: bool = False) -> Mask:
    """Return a function that masks a text as the settings ask; `bare` tokens lack brackets."""
    if settings.action == "off":
        return keep
    rules = rules_of(settings.kinds, settings.phone_regions)
    write = _token_writer(settings)
    tokens = _BARE if bare else _BRACKETED

    def mask(text: str) -> tuple[str, Mapping[str, int]]:
        if not find_items(text, rules):
            return text, {}
        masked, counts = _replace(text, rules, (lambda item: write(item)[1:-1]) if bare else write, tokens)
        return (text if settings.action == "flag" else masked), counts

    return mask


def _token_writer(settings: MaskingSettings) -> Write:
    if settings.action != "mask":
        return lambda item: REMOVED
    if settings.key is None:
        raise SettingsError("documents.masking.key is not set; set QA_PIPELINE_DOCUMENTS__MASKING__KEY")
    key = settings.key.get_secret_value().encode()

    def token(item: Item) -> str:
        content = f"{item.kind}\0{item.value}".encode("utf-8", "surrogatepass")
        digest = hmac.new(key, content, hashlib.sha256).hexdigest()
        return f"[{item.kind.upper()}-{digest[:_REPLACING_DIGITS]}]"

    return token


def _replace(
    text: str, rules: Sequence[Rule], write: Write, tokens: re.Pattern[str]
) -> tuple[str, Counter[str]]:
    """Replace items until all are found; tokens count as placeholders, so they stay as they are."""
    counts: Counter[str] = Counter()
    while items := find_items(tokens.sub(lambda token: PLACE_HOLDER * len(token[0]), text), rules):
        counts.update(item.kind for item in items)
        parts, last = [], 0
        for item in items:
            parts += [text[last : item.start], write(item)]
            last = item.end
        text = "".join([*parts, text[last:]])
    return text, counts


_STRICTER = get_args(MaskingAction)
"""From the least to the most: a removed item shows neither its kind nor that it occurs elsewhere too."""


def description_and_masking(
    batch: str, files: BatchFiles, settings: MaskingSettings
) -> tuple[BatchDescription, MaskingSettings]:
    """Return the description of a batch, and its masking; raises a CorpusError."""
    description = read_description(files, bare_mask(settings))
    masking = masking_of(settings, description.masking, batch)
    mask = bare_mask(masking)
    if masking.action in ("mask", "drop") and (counts := mask(batch)[1]):
        kinds = ", ".join(sorted(counts))
        raise CorpusError(
            f"the name of batch {mask(batch)[0]} holds personal data ({kinds}); rename the folder"
        )
    return description.masked(mask), masking


def masking_of(settings: MaskingSettings, action: MaskingAction | None, batch: str) -> MaskingSettings:
    """Return the settings with the action of a batch; raises a CorpusError for a weaker action."""
    if action is None or action == settings.action:
        return settings
    if _STRICTER.index(action) < _STRICTER.index(settings.action) and not settings.batches_may_loosen:
        raise CorpusError(
            f"{batch}/batch.yaml asks for masking: {action}, which is less than documents.masking.action = "
            f"{settings.action}; take the line out, or set documents.masking.batches_may_loosen"
        )
    if action == "mask" and settings.key is None:
        raise CorpusError(
            f"{batch}/batch.yaml asks for masking: mask, but there is no key; {MASKING_KEY_NEEDED}"
        )
    return settings.model_copy(update={"action": action})


_BORDER = re.compile(r"([/\\;|#\[\]])")
_SUFFIXES = frozenset({*SUFFIXES, ".parquet", ".zip"})


def mask_path(path: str, mask: Mask) -> tuple[str, Mapping[str, int]]:
    """Mask each name in a path, or in a reference such as `[source:a/b.md#c]`; also returns the counts.

    `mask` writes tokens without brackets (`bare_mask`).
    """
    counts: Counter[str] = Counter()
    names = []
    for name in _BORDER.split(path):
        end = len(name)  # without suffixes: `a@b.se.md` is not an address in Moldova
        while (dot := name.rfind(".", 0, end)) > 0 and name[dot:end].lower() in _SUFFIXES:
            end = dot
        masked, stem_counts = mask(clean(name[:end]))
        counts.update(stem_counts)
        names.append(masked + name[end:] if stem_counts else name)
    return "".join(names), counts


_BETWEEN = "\x1e\x1e"
"""A sign that `clean` removes from every text."""


def texts_mask(settings: MaskingSettings) -> Callable[[Sequence[str]], list[str]]:
    """Return a function that masks texts together; a text without items keeps its bytes."""
    mask = text_mask(settings)

    def masked(texts: Sequence[str]) -> list[str]:
        cleaned = [clean(text) for text in texts]
        joined, counts = mask(_BETWEEN.join(cleaned))
        if not counts:
            return list(texts)
        parts = joined.split(_BETWEEN)
        if len(parts) != len(texts):  # what was found reaches over the end of a text, so each is read alone
            parts = [mask(text)[0] for text in cleaned]
        changed = zip(texts, cleaned, parts, strict=True)
        return [text if part == before else part for text, before, part in changed]

    return masked


def reference_mask(settings: MaskingSettings) -> Callable[[str], str]:
    """Return a function that masks names of documents like their paths."""
    mask = bare_mask(settings)
    return lambda reference: mask_path(reference, mask)[0]
