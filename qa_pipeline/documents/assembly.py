"""Blocks to canonical text, with the exact place of every section and page.

Canonical text looks like Markdown: `## Heading`, `- item` (two spaces a level; `- 6. item` in an ordered
list), fenced code, one line a table row, a blank line between blocks.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.records import Block, BlockKind, LeftOut, Mask, keep
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.rows import DoubtStruct
from qa_pipeline.text.characters import clean
from qa_pipeline.text.doubt import KINDS, SIGN, Doubt

_LONGEST_HEADING = 300  # characters: what is longer becomes a paragraph
_DEEPEST_ITEM = 8  # levels of a list that are written by blanks: deeper ones would be all blanks
_TIGHT = frozenset({"list_item", "table_row"})
_MOST_DOUBTS = 16  # of a block: one with more is in doubt as a whole, as the place of each takes time
_DELIMITER = re.compile(r"^[^\S\n]*(`{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text below it, up to the next heading; no headings above the first."""

    heading_path: tuple[str, ...]
    level: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """The text that begins on a page; empty span for a page without text."""

    number: int
    start: int
    end: int


@dataclass(slots=True)
class Assembled:
    """Canonical text of one document."""

    text: str = ""
    sections: list[Section] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    masked: Counter[str] = field(default_factory=Counter)
    doubts: list[DoubtStruct] = field(default_factory=list)


_ONE_LINE: frozenset[BlockKind] = frozenset({"heading", "list_item", "table_row"})


def lay_out(kind: BlockKind, text: str) -> str:
    """Lay out white space as the kind of block wants it; empty when nothing is left.

    Code keeps its lines as they are, paragraphs keep hard line breaks, all else is one line.
    """
    if kind == "code":
        lines = [line.rstrip() for line in text.expandtabs(4).split("\n")]
        return "\n".join(lines).strip("\n")
    if kind in _ONE_LINE or "\n" not in text:
        return " ".join(text.split())
    lines = [" ".join(line.split()) for line in text.split("\n")]
    return "\n".join(line for line in lines if line)


def assemble(blocks: Iterable[Block], mask: Mask = keep) -> Assembled:
    """Return the blocks cleaned, masked and joined, with where sections and pages begin and end.

    A heading too long to be one becomes a paragraph.
    """
    draft = _Draft()
    masked: Counter[str] = Counter()
    for block in blocks:
        text, masked_counts = mask(lay_out(block.kind, clean(block.text)))
        if masked_counts:
            masked.update(masked_counts)
            text = lay_out(block.kind, clean(text))
        if text or block.marker:
            too_long = block.kind == "heading" and len(text) > _LONGEST_HEADING
            draft.add(block, "paragraph" if too_long else block.kind, text)
            if text and SIGN.search(block.text):
                draft.note_doubts(text, list(_doubts_of(block, text, mask)))
    draft.end_section()
    return Assembled("".join(draft.parts), draft.sections, draft.pages(), masked, draft.doubts)


def _doubts_of(block: Block, text: str, mask: Mask) -> Iterator[tuple[Doubt, int, int]]:
    """Yield the kind of each doubt of a block and its span in the text of the block.

    A row or quoted mail is in doubt as a whole, of other text the characters beside the sign.
    """
    signs = list(SIGN.finditer(block.text))
    for sign in signs[:_MOST_DOUBTS]:
        kind, start, end = KINDS[sign[0]], 0, len(text)
        if kind != "quoted" and block.kind != "table_row" and len(signs) <= _MOST_DOUBTS:
            at = min(len(mask(lay_out(block.kind, clean(block.text[: sign.start()])))[0]), end)
            start, end = max(at - 1, 0), min(at + 2, end)
        yield kind, start, end


class _Draft:
    """The growing text; lengths are added up so that every offset is exact and cheap."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.end = 0
        self.previous: BlockKind | None = None
        self.path: list[tuple[int, str]] = []
        self.sections: list[Section] = []
        self.page_starts: list[tuple[int, int]] = []
        self.doubts: list[DoubtStruct] = []

    def add(self, block: Block, kind: BlockKind, text: str) -> None:
        """Append a block, whose kind and text may have changed since it was parsed."""
        self._append(self._separator(kind, continues=block.continues))
        if kind == "heading":
            level = min(max(block.level, 1), 6)
            self.path = [above for above in self.path if above[0] < level] + [(level, text)]
            self._open_section(level)
        elif not self.sections:
            self._open_section(0)
        if block.page is not None and (not self.page_starts or self.page_starts[-1][0] < block.page):
            self.page_starts.append((block.page, self.length))
        self._append(_write_block(block, kind, text))
        self.end = self.length
        self.previous = kind

    def note_doubts(self, text: str, doubts: Iterable[tuple[Doubt, int, int]]) -> None:
        """Note the doubts about the text of the last block; rows of one table are one place."""
        at = self.length - len(self.parts[-1]) + self.parts[-1].rfind(text)
        for kind, start, end in doubts:
            last = self.doubts[-1] if self.doubts else None
            if last and last["kind"] == kind and at + start <= last["end"] + 1:
                last["end"] = max(last["end"], at + end)
            else:
                self.doubts.append({"kind": kind, "start": at + start, "end": at + end})

    def _separator(self, kind: BlockKind, *, continues: bool) -> str:
        if self.previous is None:
            return ""
        if kind != self.previous:
            return "\n\n"
        if continues:
            return " "
        return "\n" if kind in _TIGHT else "\n\n"

    def _open_section(self, level: int) -> None:
        self.end_section()
        path = tuple(text for _, text in self.path)
        self.sections.append(Section(path, level, self.length, self.length))

    def end_section(self) -> None:
        """End the section at its last block; what parts it from the next belongs to neither."""
        if self.sections:
            self.sections[-1] = replace(self.sections[-1], end=self.end)

    def _append(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def pages(self) -> list[Page]:
        stops = [*self.page_starts, (0, self.length)]
        return [Page(number, start, end) for (number, start), (_, end) in pairwise(stops)]


def _write_block(block: Block, kind: BlockKind, text: str) -> str:
    if kind == "heading":
        return f"{'#' * min(max(block.level, 1), 6)} {text}"
    if kind == "list_item" and not block.continues:
        mark = f"- {block.marker} " if block.marker else "- "
        return f"{'  ' * min(max(block.level, 0), _DEEPEST_ITEM)}{mark}{text}".rstrip()
    if kind == "code":
        # It must be longer than any row of them inside, or the code would end there.
        delimiter = "`" * (max(map(len, _DELIMITER.findall(text)), default=2) + 1)
        return f"{delimiter}\n{text}\n{delimiter}"
    return text


def check_length(characters: float, settings: DocumentSettings, what: str = "the text") -> None:
    """Refuse a text that is longer than allowed.

    Raises:
        DocumentFailure: `too_long`.
    """
    if characters > settings.max_characters:
        limit = settings.max_characters
        raise DocumentFailure("too_long", f"{what} is longer than documents.max_characters = {limit}")


def visible(text: str) -> int:
    """Return the number of characters that are not blank."""
    return len("".join(text.split()))


class Omissions:
    """The text that does not reach the blocks, by kind."""

    def __init__(self) -> None:
        self.pieces: Counter[str] = Counter()
        self.characters: Counter[str] = Counter()

    def add(self, what: str, text: str = "", pieces: int = 1) -> None:
        """Count pieces of a kind, and the characters of `text` that are not blank."""
        self.pieces[what] += pieces
        self.characters[what] += visible(text)

    def count(self, what: str, pieces: int, characters: int) -> None:
        """Count pieces whose characters are known; nothing where there are none."""
        if pieces or characters:
            self.pieces[what] += pieces
            self.characters[what] += characters

    def update(self, others: tuple[LeftOut, ...]) -> None:
        """Take over what a parser of a part of the file counted."""
        for other in others:
            self.count(other.what, other.pieces, other.characters)

    def record(self) -> tuple[LeftOut, ...]:
        """Return all kinds that were met, in order of their names."""
        return tuple(LeftOut(what, self.pieces[what], self.characters[what]) for what in sorted(self.pieces))

    def notes(self) -> tuple[str, ...]:
        """Return sentences about what is missing from a document although it was read."""
        notes = []
        if includes := self.pieces["include"]:
            notes.append(f"{includes} {'include' if includes == 1 else 'includes'} could not be resolved")
        if self.pieces["unclosed_comment"]:
            notes.append("a comment is never closed, so what follows its start was left out")
        return tuple(notes)


Style = Literal["digits", "letters", "roman"]

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LARGEST = {"digits": 10**9, "letters": 26**3, "roman": 3999}


@dataclass(slots=True)
class OrderedList:
    """A list while it is read: the number of its next item, and the step to the one after it, down or up."""

    following: int = 1
    style: Style = "digits"
    upper: bool = False
    step: int = 1

    def number(self, own_value: int | None = None) -> str:
        """Return the number of the next item, as written; `own_value` is one that the item gives itself."""
        value = self.following if own_value is None else own_value
        self.following = value + self.step
        return written_number(value, self.style, upper=self.upper)


def written_number(value: int, style: Style = "digits", *, upper: bool = False) -> str:
    """Return a number as `6.`, `b)` or `iv)`, since `A. ` may begin a name; else in digits."""
    written = numeral(value, style, upper=upper)
    return f"{written}." if written[-1].isdigit() else f"{written})"


def numeral(value: int, style: Style, *, upper: bool = False) -> str:
    """Return a number in letters or Roman numerals; in digits where these have none for it."""
    if style == "digits" or not 0 < value <= _LARGEST[style]:
        return str(value)
    written = _write_letters(value) if style == "letters" else _write_roman(value)
    return written.upper() if upper else written


def _write_letters(value: int) -> str:
    """Return a letter code: a to z, then aa, ab and so on."""
    written = ""
    while value:
        value, letter = divmod(value - 1, 26)
        written = chr(ord("a") + letter) + written
    return written


def _write_roman(value: int) -> str:
    written = ""
    for worth, numeral in _ROMAN:
        count, value = divmod(value, worth)
        written += numeral * count
    return written
