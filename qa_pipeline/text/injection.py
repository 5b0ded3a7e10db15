"""Find injections: text of a document that addresses a model or checker instead of its reader.

Finding them is the second line of defence, since the possible wordings are endless. The first is that
passages are enclosed in delimiters they cannot close. If a passage contains an injection, a person decides
about the model's reply. The patterns of `injections.toml` are tried on every text, in any language.
"""

import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files

from qa_pipeline.records import Passage
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import blank, clean, fold


def _load_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a pattern of forged replies and delimiters, and a pattern of orders in words."""
    table = tomllib.loads(files("qa_pipeline.text").joinpath("injections.toml").read_text("utf-8"))
    # an order is a list of alternatives that follow each other, such as "ignore|forget", "all|any", "rules"
    orders = [[f"(?<!\\w)(?:{words})(?!\\w)" for words in order] for order in table["orders"].values()]
    between = r"[^.!?\n]{0,80}?"  # other words of the sentence
    pattern = "|".join(between.join(order) for order in orders)
    for name, words in table["words"].items():
        pattern = pattern.replace(f"{{{name}}}", words)  # {claim} becomes "claims?|answers?"
    return re.compile("|".join(table["forged"])), re.compile(pattern)


_FORGED, _ORDERS = _load_patterns()
GAP = "[…]"
"""The text that replaces an injection in prompts."""
INJECTION_IN_SOURCE = "injection_in_source"
"""Reason code of decisions left to a person because a passage contains an injection."""
_TAGS = {code: code - 0xE0000 for code in range(0xE0020, 0xE007F)}  # ASCII by invisible character
_RIGHT_TO_LEFT = "\u202e"  # shows the text after it backwards
_HIDDEN = re.compile("[\U000e0020-\U000e007e]{3,}")  # at least three tag characters
_LONGEST_DELIMITED = 2000  # maximum characters between two delimiters of the same injection


def find_injections(text: str, language: str) -> list[tuple[int, int]]:
    """Return the spans of sentences that contain an injection, in order and disjoint.

    All text between two forged delimiters belongs to the injection.
    """
    if not is_injection(text):
        return []
    sentences = split_sentences(text, language)
    with_forgery = [span for span in sentences if _matches(text[slice(*span)], _FORGED)]
    with_order = [
        span for span in sentences if _matches(text[slice(*span)], _ORDERS) or _HIDDEN.search(text, *span)
    ]
    spans = _united([*with_order, *_united(with_forgery, gap=_LONGEST_DELIMITED)])
    return spans or [(0, len(text))]  # the whole text, if an injection is found only across sentences


def redact_injections(passage: Passage) -> Passage:
    """Return the passage with a gap for each injection, also in its title and headings."""
    return replace(
        passage,
        title=_withheld(passage.title, passage.language),
        section_path=tuple(_withheld(heading, passage.language) for heading in passage.section_path),
        text=_withheld(passage.text, passage.language),
    )


def hold_injections(passages: Iterable[Passage]) -> bool:
    """Return True if any of the passages contains an injection."""
    texts = (text for passage in passages for text in (passage.title, *passage.section_path, passage.text))
    return any(map(is_injection, texts))


def blank_injections(text: str, language: str) -> str:
    """Replace injections by spaces, so that all offsets are preserved."""
    for start, end in find_injections(text, language):
        text = blank(text, start, end)
    return text


def _withheld(text: str, language: str) -> str:
    for start, end in reversed(find_injections(text, language)):
        text = text[:start] + GAP + text[end:]
    return text


@functools.lru_cache(maxsize=16_384)
def is_injection(text: str) -> bool:
    """Return True if a text contains an injection."""
    return bool(_HIDDEN.search(text)) or _matches(text, _FORGED) or _matches(text, _ORDERS)


def _matches(text: str, pattern: re.Pattern[str]) -> bool:
    """Return True if a text matches, with its hidden letters and in either direction."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", clean(text.translate(_TAGS)))
    forms = [fold(plain).casefold()]
    if _RIGHT_TO_LEFT in text:
        forms.append(forms[0][::-1])  # as a reader sees it
    return any(map(pattern.search, forms))


def _united(spans: Iterable[tuple[int, int]], gap: int = 0) -> list[tuple[int, int]]:
    """Return spans in order, and join spans at most `gap` characters apart."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if united and start - united[-1][1] <= gap:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        else:
            united.append((start, end))
    return united
