"""How a refusal to answer reads, and how an answer that disputes its sources does."""

import functools
import re

from qa_pipeline.prompts.loading import refusal
from qa_pipeline.text.lexicon.languages import LANGUAGES, lexicon

_LONGEST = 240
_MARKS = re.compile(r"\[[^\[\]\n]{1,1000}\]")


def is_refusal(answer: str, language: str) -> bool:
    """Whether an answer only says that the sources do not answer the question.

    A longer text that says so in passing is an answer of partial coverage, not a refusal.
    """
    text = _plain(_MARKS.sub(" ", answer))
    if any(text == _plain(refusal(known)) for known in LANGUAGES):
        return True
    return len(text) <= _LONGEST and _pattern(language).search(text) is not None


def disputes(answer: str, language: str) -> bool:
    """Whether an answer says that a source errs, or that sources deny each other."""
    return re.search(lexicon(language).disputes, _plain(answer)) is not None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .")


@functools.cache
def _pattern(language: str) -> re.Pattern[str]:
    known = lexicon(language)
    return re.compile(known.refusal.replace("{sources}", known.refusal_sources))
