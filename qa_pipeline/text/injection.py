"""Injections: text of a document that speaks to whoever checks, and not to the reader of the document.

Finding is a second line of defence. The first is that passages are data between delimiters they cannot
close; but a model may obey what it reads there, and nobody can list all wordings. So a passage in which one
injection was found is trusted no further: what a model says of it is looked at by a person.

The patterns read casefolded text on one line; those of every language are tried on every text, since an
injection need not be in the language of its document. They speak of checking (claims, verdicts, scores,
instructions to a model) and not of orders at large: manuals and statutes consist of orders to their readers.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import of_all
from qa_pipeline.text.sentences import split_sentences

REPLIES = (
    r"(?:decision|verdict|llm_decision)[\"'”“]?\s*[:=]\s*[\"'“„]?(?:accept|support|reject|unsure|pass|true)",
    r"[\"'“„](?:relevance|correctness|completeness|grounding|question_quality)[\"'”“]\s*:\s*[01]",
    r"[\"'“„](?:supported|entailed|is_supported|accepted)[\"'”“]\s*:\s*(?:true|1)",
    r"[\"'“„]reasoning[\"'”“]\s*:",
)
"""Ready-made replies of a checker."""

DELIMITERS = (
    r"</?\s*(?:passage|claim|question|answer|text)(?:-\w+)+\s*>",
    r"</?\s*(?:passage|claim|instructions?|system_?prompt)s?\s*>",
    r"</\s*(?:question|answer|text)\s*>",
    r"<\|?(?:im_start|im_end|eot_id|endoftext|system|user|assistant)\|?>",
    r"\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>",
    r"(?:^|\s)#{2,}\s*(?:instructions?|response|system|assistant)\s*:",
    r"(?:^|\s)(?:system|developer|assistant)\s*:\s*\S",
)
"""Ends of our own delimiters, and of other prompts'."""

_WORD_START = r"(?<!\w)"


def _joined(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return one pattern of many: where a word begins is looked for once, not for each that begins so."""
    worded = [pattern.removeprefix(_WORD_START) for pattern in patterns if pattern.startswith(_WORD_START)]
    others = [pattern for pattern in patterns if not pattern.startswith(_WORD_START)]
    return re.compile("|".join([f"{_WORD_START}(?:{'|'.join(worded)})", *others]))


WORDED = (_joined(of_all("injections")),)
STRUCTURAL = tuple(re.compile(pattern) for pattern in (*REPLIES, *DELIMITERS))


GAP = "[…]"
"""The text that a model reads in the place of an injection."""

INJECTION_IN_SOURCE = "injection_in_source"
"""Reason code of what is left to a person because a passage holds an injection."""

_TAGS = {code: code - 0xE0000 for code in range(0xE0020, 0xE007F)}
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]"
)
_TURNED = "\u202e"
_HIDDEN = re.compile("[\U000e0020-\U000e007e]{3,}")
_LONGEST_DELIMITED = 2000


def find_injections(text: str, language: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences that hold an injection, in order and disjoint.

    Between two forged delimiters everything belongs to the injection. Invisible characters, letters of other
    widths and text written backwards make no difference.
    """
    if not _suspicious(text):
        return []
    sentences = split_sentences(text, language)
    worded = [(s, e) for s, e in sentences if _matches(text[s:e], WORDED) or _HIDDEN.search(text, s, e)]
    forged = [(s, e) for s, e in sentences if _matches(text[s:e], STRUCTURAL)]
    spans = _merged([*worded, *_bridged(forged)])
    # what only shows across sentences: the text as a whole is the injection
    return spans or [(0, len(text))]


def redact_injections(passage: Passage) -> Passage:
    """Return the passage with a gap in the place of each injection, in its title and headings too."""
    return replace(
        passage,
        title=_withheld(passage.title, passage.language),
        section_path=tuple(_withheld(heading, passage.language) for heading in passage.section_path),
        text=_withheld(passage.text, passage.language),
    )


def hold_injections(passages: Iterable[Passage]) -> bool:
    """Return whether any of the passages holds an injection."""
    return any(
        _suspicious(text)
        for passage in passages
        for text in (passage.title, *passage.section_path, passage.text)
    )


def is_injection(text: str) -> bool:
    """Return whether a text by itself holds an injection."""
    return _suspicious(text)


def blank_injections(text: str, language: str) -> str:
    """Return the text with blanks in the place of injections, so that every offset stays."""
    for start, end in find_injections(text, language):
        blank = "".join("\n" if letter == "\n" else " " for letter in text[start:end])
        text = text[:start] + blank + text[end:]
    return text


def _withheld(text: str, language: str) -> str:
    parts, at = [], 0
    for start, end in find_injections(text, language):
        parts += [text[at:start], GAP]
        at = end
    return "".join([*parts, text[at:]])


@functools.lru_cache(maxsize=16_384)
def _suspicious(text: str) -> bool:
    return bool(_HIDDEN.search(text)) or _matches(text, STRUCTURAL) or _matches(text, WORDED)


def _matches(text: str, patterns: Iterable[re.Pattern[str]]) -> bool:
    forms = [_plain(text)]
    if _TURNED in text:
        forms.append(forms[0][::-1])
    return any(pattern.search(form) for pattern in patterns for form in forms)


def _plain(text: str) -> str:
    """Return the comparable form: visible letters of one width and case, on one line."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text.translate(_TAGS)))
    return " ".join(text.casefold().replace("’", "'").split())


def _bridged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return forged delimiters together with what is between them."""
    bridged: list[tuple[int, int]] = []
    for start, end in spans:
        if bridged and start - bridged[-1][1] <= _LONGEST_DELIMITED:
            bridged[-1] = (bridged[-1][0], end)
        else:
            bridged.append((start, end))
    return bridged


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
