"""Join blocks to canonical text, with the positions of sections and pages.

Canonical text looks like Markdown: `## Heading`, `- item` (two spaces a level), `- 6. item` in an ordered
list, fenced code, a line for each table row, a blank line between blocks.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import zip_longest
from string import ascii_lowercase
from typing import Literal

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.records import Block, BlockKind, LeftOut, Mask, keep
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.table_schema import DoubtStruct, PageStruct, SectionStruct
from qa_pipeline.text.doubt import KINDS, SIGN
from qa_pipeline.text.words import clean

_LONGEST_HEADING = 300  # characters: a longer heading becomes a paragraph
_DEEPEST_ITEM = 8  # levels of a list that are written by blanks: deeper items would be all blanks
_TIGHT = frozenset({"list_item", "table_row"})
_ONE_LINE = frozenset({"heading", *_TIGHT})
_MOST_DOUBTS = 16  # of a block: with more it is in doubt as a whole, as finding each takes time
_DELIMITER = re.compile(r"^[^\S\n]*(`{3,})", re.MULTILINE)  # of code: three or more backquotes


@dataclass(slots=True)
class Assembled:
    """Canonical text of a document; a page is the text that begins on it."""

    text: str = ""
    sections: list[SectionStruct] = field(default_factory=list)
    pages: list[PageStruct] = field(default_factory=list)
    masked: Counter[str] = field(default_factory=Counter)
    doubts: list[DoubtStruct] = field(default_factory=list)


def lay_out(kind: BlockKind, text: str) -> str:
    """Lay out white space: code keeps its lines, paragraphs their hard breaks, the rest is a single line."""
    if kind == "code":
        lines = [line.rstrip() for line in text.expandtabs(4).split("\n")]
        return "\n".join(lines).strip("\n")
    if kind in _ONE_LINE or "\n" not in text:
        return " ".join(text.split())
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


def assemble(blocks: Iterable[Block], mask: Mask = keep) -> Assembled:
    """Return the blocks cleaned, masked and joined; signs that parsers set at doubtful text become doubts."""
    document = Assembled()
    parts: list[str] = []
    length = 0
    previous_kind: BlockKind | None = None
    headings: list[tuple[int, str]] = []  # level and text of the last heading and those above it
    for block in blocks:
        kind = block.kind
        masked = mask(lay_out(kind, clean(block.text)))
        document.masked.update(masked.counts)
        text = masked.text
        if not text and not block.marker:
            continue
        if kind == "heading" and len(text) > _LONGEST_HEADING:
            kind = "paragraph"
        separator = _separator(previous_kind, kind, continues=block.continues)
        written = _write_block(block, kind, text)
        start = length + len(separator)
        if kind == "heading":
            level = min(max(block.level, 1), 6)
            headings = [*((above, title) for above, title in headings if above < level), (level, text)]
        if kind == "heading" or not document.sections:
            level = headings[-1][0] if headings else 0  # 0 for text above the first heading
            path = [title for _, title in headings]
            document.sections.append({"heading_path": path, "level": level, "start": start, "end": start})
        last_page = document.pages[-1]["number"] if document.pages else -1
        if block.page is not None and block.page > last_page:
            document.pages.append({"number": block.page, "start": start, "end": start})
        parts += [separator, written]
        length = start + len(written)
        document.sections[-1]["end"] = length
        if text:
            text_start = start + written.rfind(text)  # behind its mark, such as `## `
            _note_doubts(document.doubts, block, text, text_start, mask)
        previous_kind = kind
    for page, next_page in zip_longest(document.pages, document.pages[1:]):
        page["end"] = next_page["start"] if next_page else length
    document.text = "".join(parts)
    # the doubt about all of a quoted block starts before the doubts in it, and is noted after them
    document.doubts.sort(key=lambda doubt: doubt["start"])
    return document


def _note_doubts(doubts: list[DoubtStruct], block: Block, text: str, text_start: int, mask: Mask) -> None:
    """Note a doubt for each sign in a block: about the characters around it, or about all the `text`.

    The signs are in the text of `block` as parsed, and `text` is the same without them, cleaned and masked.
    """
    signs = list(SIGN.finditer(block.text))
    for sign in signs[:_MOST_DOUBTS]:
        kind = KINDS[sign[0]]
        # earlier mail ends with its sign but is in doubt as a whole, as is a row with a doubtful cell
        is_about_all = kind == "quoted" or block.kind == "table_row" or len(signs) > _MOST_DOUBTS
        start, end = (0, len(text)) if is_about_all else _span_around(sign, block.kind, text, mask)
        start, end = text_start + start, text_start + end
        last = doubts[-1] if doubts else None
        if last and last["kind"] == kind and start <= last["end"] + 1:  # they meet, as two about all do
            last["end"] = max(last["end"], end)
        else:
            doubts.append({"kind": kind, "start": start, "end": end})


def _span_around(sign: re.Match[str], kind: BlockKind, text: str, mask: Mask) -> tuple[int, int]:
    """Return the span of the characters next to a sign in `text`, the masked block without its signs.

    In `as E = ?, so`, where `?` is the sign, the span is that of `= ,`, from 5 to 8 in `as E = , so`.
    """
    # masked as well, since a token may be longer or shorter than what it replaces
    before = mask(lay_out(kind, clean(sign.string[: sign.start()]))).text  # `as E =`, without its last blank
    position = min(len(before), len(text))  # 6: of the lost blank, or else of the character behind the sign
    return max(position - 1, 0), min(position + 2, len(text))


def _separator(previous: BlockKind | None, kind: BlockKind, *, continues: bool) -> str:
    if previous is None:
        return ""
    if kind == previous and continues:
        return " "
    return "\n" if kind == previous and kind in _TIGHT else "\n\n"


def _write_block(block: Block, kind: BlockKind, text: str) -> str:
    """Return a block as Markdown, with its cleaned `text`; a heading that is too long has another `kind`."""
    if kind == "heading":
        return f"{'#' * min(max(block.level, 1), 6)} {text}"
    if kind == "list_item" and not block.continues:
        mark = f"- {block.marker} " if block.marker else "- "
        return f"{'  ' * min(max(block.level, 0), _DEEPEST_ITEM)}{mark}{text}".rstrip()
    if kind == "code":
        # longer than any row of backquotes inside, at which the code would end
        delimiter = "`" * (max(map(len, _DELIMITER.findall(text)), default=2) + 1)
        return f"{delimiter}\n{text}\n{delimiter}"
    return text


def check_length(characters: float, settings: DocumentSettings, what: str = "the text") -> None:
    """Raise a DocumentFailure (`too_long`) for a text that is longer than allowed."""
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
        self.count(what, pieces, visible(text))

    def count(self, what: str, pieces: int, characters: int) -> None:
        """Count pieces with known numbers of characters."""
        if pieces or characters:
            self.pieces[what] += pieces
            self.characters[what] += characters

    def update(self, others: tuple[LeftOut, ...]) -> None:
        """Add the counts of another parser."""
        for other in others:
            self.count(other.what, other.pieces, other.characters)

    def record(self) -> tuple[LeftOut, ...]:
        """Return all kinds that were met, in order of their names."""
        return tuple(LeftOut(what, self.pieces[what], self.characters[what]) for what in sorted(self.pieces))


Style = Literal["digits", "letters", "roman"]
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LARGEST = {"letters": 26**3, "roman": 3999}


@dataclass(slots=True)
class OrderedList:
    """A list while it is read: the number of the next item."""

    following: int = 1
    style: Style = "digits"
    upper: bool = False

    def take_number(self, own_value: int | None = None) -> str:
        """Return the number of the next item as `6.`, `b)` or `iv)`, since `A. ` may begin a name."""
        value = self.following if own_value is None else own_value
        self.following = value + 1
        written = numeral(value, self.style, upper=self.upper)
        return f"{written}." if written[-1].isdigit() else f"{written})"


def numeral(value: int, style: Style, *, upper: bool = False) -> str:
    """Return a number in letters or Roman numerals, or in digits if it is too large for them."""
    if style == "digits" or not 0 < value <= _LARGEST[style]:
        return str(value)
    written = ""
    if style == "letters":  # a to z, then aa, ab and so on
        while value:
            value, letter = divmod(value - 1, 26)
            written = ascii_lowercase[letter] + written
    else:
        for worth, sign in _ROMAN:
            written += sign * (value // worth)
            value %= worth
    return written.upper() if upper else written
