"""The lines and sentences of a passage, each with its place in the text."""

import re
from dataclasses import dataclass
from typing import Literal

from qa_pipeline.records import Passage
from qa_pipeline.text.blocks import NUMBERED_ITEM
from qa_pipeline.text.sentences import split_sentences

LineKind = Literal["heading", "code", "list_item", "table_row", "prose"]

_HEADING = re.compile(r"#{1,6} ")
_NUMBER = re.compile(r"\d{1,3}")
_LIST_ITEM = re.compile(r" {0,16}(?:[-*]|\d{1,3}[.)]) ")


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its list marker, `passage.text[start:end]`; `number` is 0 but in an ordered list."""

    kind: LineKind
    text: str
    start: int
    end: int
    number: int = 0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence; `text` is on one line, `passage.text[start:end]` verbatim; `first` opens a paragraph."""

    text: str
    start: int
    end: int
    in_list: bool
    first: bool


def lines(text: str) -> list[Line]:
    """Return the lines of a passage, each with its kind; blank lines and code fences are left out."""
    raw = text.split("\n")
    in_code = _starts_in_code(raw)
    result: list[Line] = []
    offset = 0
    for line in raw:
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif line.strip():
            result.append(_line(line, offset, in_code=in_code))
        offset += len(line) + 1
    return result


def sentences(passage: Passage) -> list[Sentence]:
    """Return the sentences of paragraphs and list items, in order."""
    result: list[Sentence] = []
    for start, end, in_list in _paragraphs(passage.text):
        spans = split_sentences(passage.text[start:end], passage.language)
        for position, (first, second) in enumerate(spans):
            verbatim = passage.text[start + first : start + second]
            text = " ".join(verbatim.split())
            result.append(Sentence(text, start + first, start + second, in_list, first=position == 0))
    return result


def _starts_in_code(raw: list[str]) -> bool:
    """Return whether a passage seems to begin in a fence: fences are odd, the first, bare one closes it."""
    fences = [line.strip() for line in raw if line.lstrip().startswith("```")]
    return len(fences) % 2 == 1 and fences[0] == "```" and not raw[0].startswith("#")


def _line(line: str, offset: int, *, in_code: bool) -> Line:
    start, end = offset, offset + len(line)
    if in_code:
        return Line("code", line, start, end)
    if _HEADING.match(line):
        return Line("heading", line, start, end)
    marker = NUMBERED_ITEM.match(line) or _LIST_ITEM.match(line)
    if marker:
        digits = _NUMBER.search(marker[0])
        number = int(digits[0]) if digits else 0
        return Line("list_item", line[marker.end() :], start + marker.end(), end, number)
    kind: LineKind = "table_row" if " | " in line else "prose"
    return Line(kind, line, start, end)


def _paragraphs(text: str) -> list[tuple[int, int, bool]]:
    """Join neighbouring prose lines to paragraphs: (start, end, is a list item)."""
    result: list[tuple[int, int, bool]] = []
    previous_end = -1
    for line in lines(text):
        if line.kind == "prose" and result and line.start == previous_end + 1 and not result[-1][2]:
            result[-1] = (result[-1][0], line.end, False)
        elif line.kind in ("prose", "list_item"):
            result.append((line.start, line.end, line.kind == "list_item"))
        previous_end = line.end if line.kind == "prose" else -1
    return result
