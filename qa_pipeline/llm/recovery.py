"""An answer in plain text where JSON was asked for: its words, and what it says it rests on.

What belongs here: finding passage numbers and quotes in an answer's text. What does not: JSON (`replies.py`),
whether a quote is found in its passage (verification).

Nothing is made up: coverage is `none` for the refusal text and else `partial`, which claims least, and an
answer that names no passage is not recovered.
"""

import re
from typing import cast

from qa_pipeline.llm.base import ReplyT, Request
from qa_pipeline.records import AnswerReply, DraftCitation
from qa_pipeline.refusal_texts import is_refusal

LONGEST = 20_000
"""Characters of a reply that is read as plain text."""
_MARK = re.compile(
    r"""[\[(<] \s{0,9} (?:passages?|source|källa|avsnitt|quelle|abschnitt)? [\s-]{0,9}
        (\d{1,3} (?:\s{0,9},\s{0,9}\d{1,3}){0,99}) (?:-[0-9a-f]{8})? \s{0,9} [\])>]""",
    re.IGNORECASE | re.VERBOSE,
)
_QUOTED_MARK = re.compile(
    rf"""["“„”»«] ([^"“„”»«\n]{{3,}}) ["“”»«] \s* [,;:–-]? \s* {_MARK.pattern}""", re.IGNORECASE | re.VERBOSE
)
_SOURCES = re.compile(
    r"""\n[^\S\n]{0,99} (?:\#{1,6}\s{0,9})? (?:\*\*)? (?:citations?|sources?|källor|quellen|belege)
        (?:\*\*)? \s{0,9}:.*\Z""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_JSON_LIKE = re.compile(r"[{}]|\"\s*:")


def recover(text: str, request: Request[ReplyT]) -> ReplyT | None:
    """Return the answer a text holds; None if it is no answer or the request asks for something else."""
    if request.reply_model is not AnswerReply or len(text) > LONGEST or _JSON_LIKE.search(text):
        return None
    answer = _words_of(text)
    if is_refusal(answer, request.language):
        refused = AnswerReply(coverage="none", answer=answer, used_chunks=[], citations=[])
        return cast("ReplyT", refused)
    used = list(dict.fromkeys(number for mark in _MARK.finditer(text) for number in _numbers(mark[1])))
    if not answer or not used:
        return None
    recovered = AnswerReply(coverage="partial", answer=answer, used_chunks=used, citations=_citations(text))
    return cast("ReplyT", recovered)


def _citations(text: str) -> list[DraftCitation]:
    """Quotes that stand right before the number of their passage."""
    return [
        DraftCitation(passage=number, quote=quoted[1].strip())
        for quoted in _QUOTED_MARK.finditer(text)
        for number in _numbers(quoted[2])
    ]


def _numbers(listed: str) -> list[int]:
    return [int(number) for number in listed.split(",") if int(number) > 0]


def _words_of(text: str) -> str:
    """The answer without the marks of its sources and without a list of them at its end."""
    without = _MARK.sub("", _SOURCES.sub("", text))
    return re.sub(r"\s([.,;:!?])", r"\1", " ".join(without.split())).strip()
