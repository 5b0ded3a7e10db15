"""Doubt: places of a text of which its reader is not sure that they say what the document says.

A reader puts the sign of a doubt into the text of a block where it is unsure: of the order of lines, of the
columns and names of a table, of a formula that no line can hold. Earlier mail that a reply quotes has one,
too. Canonical text holds no such sign; the places are kept beside it, and nothing that rests on them is
accepted without a person.
"""

import re
from collections.abc import Sequence
from typing import Literal, get_args

from qa_pipeline.storage.rows import DoubtStruct
from qa_pipeline.text.characters import blank
from qa_pipeline.text.sentences import sentence_spans

Doubt = Literal["order", "table", "formula", "quoted"]
SIGNS: dict[Doubt, str] = dict(zip(get_args(Doubt), "\ufdd0\ufdd1\ufdd2\ufdd3", strict=True))
"""Non-characters, which no file holds by chance and `clean` takes out of any text."""
SIGN = re.compile(f"[{''.join(SIGNS.values())}]")
KINDS: dict[str, Doubt] = {sign: kind for kind, sign in SIGNS.items()}


def doubts_within(doubts: Sequence[DoubtStruct] | None, start: int, end: int) -> list[DoubtStruct]:
    """Return the doubts about a part of a text, cut to it."""
    return [
        {"kind": doubt["kind"], "start": max(doubt["start"], start), "end": min(doubt["end"], end)}
        for doubt in doubts or ()
        if doubt["start"] < end and doubt["end"] > start
    ]


def kinds_within(doubts: Sequence[DoubtStruct] | None, start: int, end: int) -> str | None:
    """Return the kinds of doubt about a part of a text, parted by commas; None where there is none."""
    return ", ".join(sorted({doubt["kind"] for doubt in doubts_within(doubts, start, end)})) or None


def blank_doubts(text: str, language: str, doubts: Sequence[DoubtStruct] | None, start: int = 0) -> str:
    """Return the text with blanks in place of its sentences and rows in doubt, so that every offset stays.

    `start` is where the text begins among the characters that the doubts count.
    """
    for first, second in sentence_spans(text, language) if doubts else ():
        if doubts_within(doubts, start + first, start + second):
            text = blank(text, first, second)
    return text
