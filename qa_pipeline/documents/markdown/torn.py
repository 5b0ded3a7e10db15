"""Headings that swallowed a piece of the text below them, put right where it is certain how.

What belongs here: one known fault of converted statutes. What does not: headings as such (`markdown`).

A converter took `/1804 av den 13 september 2023 ... direktiv 2014/` out of `förordning (EU) 2023/1804 av den
... direktiv 2014/94/EU` and set it before the number of the section, so that the heading reads `/1804 ...
2014/ 1 §` and the text `förordning (EU) 202394/EU`. The number of the section is the heading. The piece goes
back into the text where exactly one place can have held it; otherwise it is counted as left out, and the row
says so.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.records import Block

_TORN = re.compile(r"(?P<piece>/\S.*/)\s+(?P<heading>\d+(?: [a-z])? §)")
_LATER_PIECE = re.compile(r"\s/")
_YEAR = re.compile(r"/(?:19|20)\d\d(?!\d)")
_AFTER_YEAR = re.compile(r"(?<![\d/:])((?:19|20)\d\d)(?=\d{1,4}/[A-Z])")
"""`202394/EU`: a year runs into the number that followed the piece."""
_AFTER_NUMBER = re.compile(r"(?<![\d/:])(\d{1,4})(?=(?:EG|EU|EEG)\b)")
"""`2008EG`: a number runs into the letters that followed the piece."""


def mend_headings(blocks: Iterable[Block], left: Omissions) -> tuple[list[Block], tuple[str, ...]]:
    """Put torn headings right.

    Returns:
        The blocks, and a note for the document's row where there was anything to mend.
    """
    mended: list[Block] = []
    torn = returned = 0
    for heading, *below in _sections(blocks):
        found = _TORN.fullmatch(heading.text) if heading.kind == "heading" else None
        if found is None:
            mended += [heading, *below]
            continue
        torn += 1
        whole = _put_back(found["piece"], below)
        returned += whole is not None
        if whole is None:
            left.add("torn_heading", found["piece"])
        mended += [replace(heading, text=found["heading"]), *(below if whole is None else whole)]
    return mended, _note(torn, returned)


def _note(torn: int, returned: int) -> tuple[str, ...]:
    if not torn:
        return ()
    said = "1 heading had" if torn == 1 else f"{torn} headings had"
    return (f"{said} swallowed text, of which {returned} could be put back in its place",)


def _sections(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Blocks from one heading to the next."""
    part: list[Block] = []
    for block in blocks:
        if block.kind == "heading" and part:
            yield part
            part = []
        part.append(block)
    if part:
        yield part


def _put_back(piece: str, below: list[Block]) -> list[Block] | None:
    """The blocks with the piece in the one place it can have come from; None if there is not just one."""
    if _LATER_PIECE.search(piece):
        return None  # several pieces were taken out of several places
    alone = " " not in piece  # `/114/`: no more than a number between two strokes
    place = _AFTER_NUMBER if alone else _AFTER_YEAR
    if not alone and _YEAR.match(piece):
        return None  # the year is in the piece, so what stood before it may have had any length
    places = [(number, found) for number, block in enumerate(below) for found in place.finditer(block.text)]
    if len(places) != 1:
        return None
    [(number, found)] = places
    text = below[number].text
    whole = f"{text[: found.end(1)]}{piece}{text[found.end(1) :]}"
    return [*below[:number], replace(below[number], text=whole), *below[number + 1 :]]
