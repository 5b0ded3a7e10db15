"""Doubts mark spans of a text that may differ from the document.

A reader inserts the sign of a doubt into a block if it is unsure. Examples are the order of lines, the
columns of a table, or a formula that does not fit a line. Earlier mail quoted by a reply gets a sign too.
Canonical text does not contain the signs. The spans are stored separately, and claims that depend on them are
not accepted without a person.
"""

import re
from collections.abc import Sequence
from typing import Literal, get_args

from qa_pipeline.storage.table_schema import DoubtStruct
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.text.words import blank

Doubt = Literal["order", "table", "formula", "quoted"]
SIGNS: dict[Doubt, str] = dict(zip(get_args(Doubt), "\ufdd0\ufdd1\ufdd2\ufdd3", strict=True))
"""Non-characters, which do not occur in files by chance. `clean` removes them from any text."""
SIGN = re.compile(f"[{''.join(SIGNS.values())}]")
KINDS: dict[str, Doubt] = {sign: kind for kind, sign in SIGNS.items()}


def doubts_within(doubts: Sequence[DoubtStruct] | None, start: int, end: int) -> list[DoubtStruct]:
    """Return the doubts about a span of a text, cut to the span."""
    return [
        {"kind": doubt["kind"], "start": max(doubt["start"], start), "end": min(doubt["end"], end)}
        for doubt in doubts or ()
        if doubt["start"] < end and doubt["end"] > start
    ]


def kinds_within(doubts: Sequence[DoubtStruct] | None, start: int, end: int) -> str | None:
    """Return the kinds of doubt about a span, separated by commas, if any."""
    return ", ".join(sorted({doubt["kind"] for doubt in doubts_within(doubts, start, end)})) or None


def blank_doubts(text: str, language: str, doubts: Sequence[DoubtStruct] | None, start: int = 0) -> str:
    """Replace doubtful sentences and rows by spaces. `start` is the offset of the text in the document."""
    for first, second in sentence_spans(text, language) if doubts else ():
        if doubts_within(doubts, start + first, start + second):
            text = blank(text, first, second)
    return text
