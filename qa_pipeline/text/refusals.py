"""How a refusal to answer reads."""

import functools
import re

from qa_pipeline.prompts.loading import refusal
from qa_pipeline.text.lexicon.languages import LANGUAGES, lexicon

_LONGEST = 600
"""Characters; what is longer says more than that there is no answer, or is not worth the time of patterns."""
_MARKS = re.compile(r"\[[^\[\]\n]{1,1000}\]")
_SENTENCE_ENDS = re.compile(r"(?<![\d.!?…])[.!?…]++(?=\s|$)|[;:](?=\s|$)|\s[–—-]\s|\n")
_QUOTED = re.compile(r"[\"“”„«»]")


def is_refusal(answer: str, language: str) -> bool:
    """Return whether an answer only says that the sources do not answer the question.

    Every clause must say so, or be a courtesy: what goes on to say something else is an answer. All languages
    are tried, because that of a short text is often mistaken. An empty text refuses nothing.
    """
    text = _plain(_MARKS.sub(" ", answer))
    if any(text == _plain(refusal(code)) for code in LANGUAGES):
        return True
    if len(text) > _LONGEST or _QUOTED.search(text):
        return False
    return any(_refuses(text, code) for code in dict.fromkeys((language, *LANGUAGES)))


def coverage_of(answer: str, language: str, stated: str | None) -> str:
    """Return the coverage of an answer whose writer states one, or none is known.

    Only a text that is a refusal keeps the coverage none: an answer that says something is checked as one,
    whatever its writer calls it, and counts as partial.
    """
    if stated is not None and stated != "none":
        return stated
    if is_refusal(answer, language):
        return "none"
    return "full" if stated is None else "partial"


def _refuses(text: str, language: str) -> bool:
    breaks, refusing, filler = _patterns(language)
    clauses = [
        clause.strip(" ,.()")
        for sentence in _SENTENCE_ENDS.split(text)
        for clause in breaks.split(sentence)
        if clause.strip(" ,.()")
    ]
    refusals = [refusing.search(clause) is not None for clause in clauses]
    return any(refusals) and all(
        refuses or filler.fullmatch(clause) for refuses, clause in zip(refusals, clauses, strict=True)
    )


def _plain(text: str) -> str:
    # lower() and not casefold(), which would write ß as ss
    return "\n".join(" ".join(line.split()) for line in text.lower().replace("’", "'").splitlines()).strip(
        " .\n"
    )


@functools.cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return patterns that part clauses, match a clause that refuses, and one that may be beside it."""
    words = lexicon(language)
    refusing, filler = (
        re.compile(pattern.replace("{sources}", words.refusal_sources))
        for pattern in (words.refusal, words.refusal_fillers)
    )
    return re.compile(rf"[,\s]+(?:{words.clause_breaks})(?=[\s,])"), refusing, filler
