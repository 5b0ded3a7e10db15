"""Lines of a PDF page, with their position and type."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import groupby, pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.formats.pdf.glyphs import BROKEN_WORD, Box, Glyphs
from qa_pipeline.text.doubt import SIGNS
from qa_pipeline.text.lexicon.languages import LEXICONS, of_all

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

_RUN = re.compile(f"[^\\s{BROKEN_WORD}][^\r\n{BROKEN_WORD}]*{BROKEN_WORD}?| ?{BROKEN_WORD}")
"""A line, or its part up to a raised mark; with the mark of a broken word at its end, which may be alone."""
_WORD = re.compile(f"[^\\s{BROKEN_WORD}]+")
LEADER = re.compile(r"[.·…](?: ?[.·…]){3,}")  # dots in a table of contents, form or list of prices
_BLANK = 0.15  # of the type size: narrower white is between letters of a word
_OVERLAP = 1.0  # point by which the boxes of neighbouring letters may overlap


class Word(NamedTuple):
    """Part of a line between blanks, and where it begins and ends from left to right."""

    text: str
    left: float
    right: float


class Line(NamedTuple):
    """A line on paper; distances in points from the lower left corner of the page."""

    text: str
    page: int
    left: float
    bottom: float
    right: float
    top: float
    size: float  # of the type
    bold: bool
    fixed: bool  # True for letters of one width, as in code
    broken: bool = False  # True if its last word, whose hyphen is left out, goes on in the next line
    turned: bool = False  # True if the line is not upright
    start: int = 0  # offsets in the text of the page, which is in the order of the file
    end: int = 0
    words: tuple[Word, ...] = ()  # of an upright line

    @property
    def box(self) -> Box:
        """The box of the line."""
        return Box(self.left, self.bottom, self.right, self.top)

    @property
    def middle(self) -> float:
        """The height of the middle of the line."""
        return (self.bottom + self.top) / 2


def read_lines(glyphs: Glyphs, number: int) -> list[Line]:
    """Return the lines of page `number` in the order of the file."""
    lines: list[Line] = []
    for run in _RUN.finditer(glyphs.text):
        line = _measure(glyphs, run, number)
        if lines and _is_same_line(lines[-1], line):
            lines[-1] = _join_runs(lines[-1], line)
        else:
            lines.append(line)
    return lines


def read_upright(
    page: "PdfPage", textpage: "PdfTextPage", number: int, hidden: Set[int] = frozenset()
) -> tuple[Glyphs, list[Line]]:
    """Return glyphs and lines of a page without hidden characters, turned so that most text is upright."""
    glyphs = Glyphs(page, textpage, 0, hidden)
    lines = read_lines(glyphs, number)
    letters_by_turn = [0, 0, 0, 0]  # quarter turns, clockwise, that would set these letters upright
    for line in lines:
        turn = glyphs.turns(line.start) if line.turned else 0
        if turn is not None:  # slanted lines do not count
            letters_by_turn[turn] += len(line.text)
    turn = letters_by_turn.index(max(letters_by_turn))
    if turn == 0:
        return glyphs, lines
    glyphs = Glyphs(page, textpage, turn, hidden)
    return glyphs, read_lines(glyphs, number)


def printed_text(line: Line) -> str:
    """Return the text of a line with the hyphen it breaks a word with."""
    return f"{line.text}-" if line.broken else line.text


def add_words(glyphs: Glyphs, line: Line) -> Line:
    """Return an upright line with its words; leader dots are left out and end a word."""
    words = []
    start = line.start
    leaders = [leader.span() for leader in LEADER.finditer(glyphs.text, line.start, line.end)]
    for end, next_start in [*leaders, (line.end, line.end)]:  # words are between `start` and `end`
        for word in _WORD.finditer(glyphs.text, start, end):
            left, right = glyphs.box(word.start()).left, glyphs.box(word.end() - 1).right
            words.append(Word(word[0], left, right))
        start = next_start
    return line._replace(words=tuple(words))


def _measure(glyphs: Glyphs, run: re.Match[str], page: int) -> Line:
    """Return a run as a line."""
    text = run[0].removesuffix(BROKEN_WORD).rstrip()  # a run with text begins with no blank
    is_broken = text != "" and run[0].endswith(BROKEN_WORD)
    text = text or "-"  # a hyphen alone on its line
    start, end = run.start(), run.start() + len(text)
    middle = (start + end) // 2
    if glyphs.text[middle] == " ":
        middle += 1  # PDFium inserts blanks, which have no font
    box, size, bold, fixed = glyphs.measure(first=start, middle=middle, last=end - 1)
    turned = glyphs.is_turned(start, end - 1, size)
    return Line(text, page, *box, size, bold, fixed, broken=is_broken, turned=turned, start=start, end=end)


def _is_same_line(before: Line, after: Line) -> bool:
    """Return True if a run goes on where another ended: PDFium ends a run at a raised mark."""
    if before.broken or before.turned or after.turned:
        return False
    is_near = -_OVERLAP < after.left - before.right < 4 * max(before.size, after.size)
    overlap = min(before.top, after.top) - max(before.bottom, after.bottom)
    return is_near and overlap > 0.5 * min(before.top - before.bottom, after.top - after.bottom)


def _join_runs(before: Line, after: Line) -> Line:
    """Return a run with the next run of its line, in the size of the longer; a gap becomes a blank."""
    is_close = -_OVERLAP < after.left - before.right < _BLANK * before.size
    is_same_word = is_close or after.text[:1] in ",.;:)"
    return before._replace(
        text=before.text + ("" if is_same_word else " ") + after.text,
        right=max(before.right, after.right),
        bottom=min(before.bottom, after.bottom),
        top=max(before.top, after.top),
        size=max(before, after, key=lambda run: len(run.text)).size,
        bold=before.bold and after.bold,
        fixed=before.fixed and after.fixed,
        broken=after.broken,
        end=after.end,
    )


def without_leaders(lines: Iterable[Line], left_out: Omissions) -> list[Line]:
    """Return the lines with white in place of leader dots, as in `Intro ..... 4`."""
    plain = []
    for line in lines:
        text = " ".join(word.text for word in line.words)  # words lack the leader dots (`add_words`)
        if text and LEADER.search(line.text):
            left_out.count("leader", 1, visible(line.text) - visible(text))
            line = line._replace(text=text)  # noqa: PLW2901
        plain.append(line)
    return plain


def part_of(line: Line, words: Sequence[Word]) -> Line:
    """Return some neighbouring words of a line as a line of their own."""
    if len(words) == len(words_of(line)):
        return line
    return line._replace(
        text=" ".join(word.text for word in words),
        left=words[0].left,
        right=words[-1].right,
        broken=line.broken and words[-1] is line.words[-1],
        words=tuple(words),
    )


def words_of(line: Line) -> tuple[Word, ...]:
    """Return the words of a line, or the line as a word if they are unknown."""
    return line.words or (Word(line.text, line.left, line.right),)


def rows_of(lines: Iterable[Line]) -> list[list[Line]]:
    """Return rows of lines side by side, from the top; each row from left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: -line.middle):
        if not rows or line.middle < rows[-1][0].bottom:
            rows.append([])
        rows[-1].append(line)
    return [sorted(row, key=lambda line: line.left) for row in rows]


_LAST_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]+$")
_FIRST_WORD = re.compile(r"^[^\W\d_]+")
_SUSPENDED = frozenset(of_all("layout.suspending"))
_HEADS, _PREFIXES, _TAILS = (
    frozenset(of_all(f"layout.{part}")) for part in ("compound_heads", "word_prefixes", "compound_tails")
)
_SHORT_WORDS = frozenset().union(*(lexicon.stop_words for lexicon in LEXICONS.values()))
_SHORTEST_REST = 3  # letters: words are seldom broken before fewer, so `plug-` above `in` is a compound
_SHORTEST_WORD = 4  # letters: a shorter part of a word may be a word by chance
_SPELT = re.compile(r"[^\W\d_]+(?:-+[^\W\d_]+)*")  # a word, or a compound with its hyphens


class Spelling:
    """Spelling of a document's words: it decides if a hyphen belongs to a word, then the language does."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Count the words of a document in lower case, compounds with their hyphens."""
        self._words = Counter(_SPELT.findall("\n".join(texts).lower()))
        self.removed_hyphens = 0  # by `rejoin`

    def rejoin(self, line: str, following: str, *, hard: bool) -> tuple[str, str]:
        """Join a word broken at a line end; returns the line with the whole word, and the rest of the next.

        `line` lacks its hyphen: `compu` and `ter is` give `computer` and ` is`. A `hard` hyphen is printed
        without PDFium's mark of a broken word, so it mostly belongs to the word, as in `well-known`.
        """
        end_of_line = line[-_END_LENGTH:]
        if line.endswith("/") and following[:1].isalnum():  # `a.org/-` above `news`: it only breaks the line
            self.removed_hyphens += 1
            return line, following
        first_match, second_match = _LAST_WORD.search(end_of_line), _FIRST_WORD.match(following)
        if not second_match:  # `COVID-` above `19 cases`
            return f"{line}-", following
        second, rest = second_match[0], following[second_match.end() :]
        if second.lower() in _SUSPENDED and rest[:1] in ("", " "):  # `satellite-` above `and model-based`
            return f"{line}- {second}", rest
        if not first_match or _ADDRESS.search(end_of_line):  # `24-` above `hour`, or an address
            return f"{line}-", following
        first, before = first_match[0], end_of_line[: first_match.start()]
        # A chain keeps its hyphens: `state-of-the-` above `art`, where `the` is a word, or `one-size-` above
        # `fits-all`. `E-Mail-Adres-` above `sen` is not such a chain, and becomes `E-Mail-Adressen`.
        is_word = first.islower() and (first in _SHORT_WORDS or self._words[first] > 1)
        is_chain = before.endswith("-") and (is_word or rest.startswith("-"))
        if is_chain or self._is_compound(first, second, hard=hard):
            return f"{line}-{second}", rest
        self.removed_hyphens += 1
        return line + second, rest

    def _is_compound(self, first: str, second: str, *, hard: bool) -> bool:
        """Return True if a hyphen belongs to a word; a `hard` hyphen lacks PDFium's mark of a broken word."""
        before, after = first.lower(), second.lower()
        if self._words[before + after]:  # elsewhere in the document it is a single word
            return False
        if hard or self._words[f"{before}-{after}"] or second[0].isupper() or len(second) < _SHORTEST_REST:
            return True
        if before in _HEADS:  # such as `self` and `well`
            return True
        if before in _PREFIXES:  # such as `inter`, which is written without a hyphen
            return False
        # Each part was counted once at this line break, and again if it is a word elsewhere.
        are_words = len(second) >= _SHORTEST_WORD and min(self._words[before], self._words[after]) > 1
        return after in _TAILS or are_words  # a tail is a word such as `based` or `oriented`


_HARD_HYPHEN = re.compile(r"[^\W_]-$|/-$")  # a printed hyphen amid a word, number or address
_RANGE = re.compile(r"\d–$")
_OPEN_ADDRESS = re.compile(r"(?:https?:/{0,2}|(?:https?://|www\.|doi\.org/)\S{0,400}[/.:_=&?#%~-])$")
_PART_OF_ADDRESS = re.compile(r"^\S*?[\d/._-]\S")
_ADDRESS = re.compile(r"(?:https?:|www\.)\S{0,400}$")
_LINE_END = 4  # characters between neighbouring lines in the file at most
_END_LENGTH = 300  # characters read at a line's end, as time grows with their square


def join_text(lines: Sequence[Line], spelling: Spelling) -> str:
    """Return lines of a page, such as the lines of a table cell, as a text."""
    return " ".join(text for _, text in texts_by_page(lines, spelling)) if lines else ""


def texts_by_page(lines: Sequence[Line], spelling: Spelling) -> Iterator[tuple[int, str]]:
    """Yield each page of a group with its joined lines; a word broken over two pages is on the first."""
    texts = [lines[0].text]
    for before, line in pairwise(lines):
        texts[-1], rest = _join_pair(texts[-1], before, line, spelling)
        sign = SIGNS["order"] if _is_unsure(before, line) else ""
        texts.append(sign + rest)
    if lines[-1].broken:
        texts[-1] += "-"
    for page, on_page in groupby(zip(lines, texts, strict=True), key=lambda pair: pair[0].page):
        if text := "".join(text for _, text in on_page):
            yield page, text


def _join_pair(above: str, before: Line, line: Line, spelling: Spelling) -> tuple[str, str]:
    """Return two neighbouring texts as joined: the first gets the rest of its broken word, or a blank.

    `above` is the text of `before`, without letters that went to a broken word in the line above it.
    """
    text, ending = line.text, above[-2:]  # a hyphen or dash, and the character before it
    is_new_page = line.page != before.page
    if before.broken:  # `compu` above `ter`, marked by PDFium, so that the hyphen is already removed
        return spelling.rejoin(above, text, hard=False)
    if text[:1].isalnum() and _HARD_HYPHEN.search(ending):  # `24-` above `hour`
        # At a page break the hyphen may break a word, as PDFium marks breaks within a page alone.
        return spelling.rejoin(above.removesuffix("-"), text, hard=not is_new_page)
    if is_new_page:  # the texts go to two blocks
        return above, text
    is_range = text[:1].isdigit() and _RANGE.search(ending)  # `2024–` above `2026`
    is_joined = is_range or _is_address(above[-_END_LENGTH:], text)
    return (above if is_joined else f"{above} "), text


def _is_unsure(before: Line, line: Line) -> bool:
    """Return True if a line may not follow the line before it, by page, position or order in the file."""
    if line.page != before.page or line.bottom > before.top:
        return not (line.text[:1].islower() or before.broken)
    is_below = line.middle < before.bottom
    return is_below and line.end < before.start - _LINE_END  # but earlier in the file


def _is_address(text: str, following: str) -> bool:
    """Return True if a web address goes on in the next line."""
    if following.startswith("/"):
        return _ADDRESS.search(text) is not None
    goes_on = not following[:1].isupper() or _PART_OF_ADDRESS.match(following) is not None
    return goes_on and _OPEN_ADDRESS.search(text) is not None


def code_text(lines: Sequence[Line]) -> str:
    """Return code lines with the indentation that they have on paper."""
    left = min(line.left for line in lines)
    words = [word for line in lines for word in words_of(line) if len(word.text) > 1]
    letter_widths = [(word.right - word.left) / len(word.text) for word in words]
    usual_width = median(letter_widths) if letter_widths else 0.6 * lines[0].size  # as of most fixed type
    width = max(usual_width, 1.0)  # of a letter in points, never 0
    written = []
    for line in lines:
        text = ""
        for word in words_of(line):
            before = f"{text} " if text else ""  # words are a blank apart at least
            text = before.ljust(round((word.left - left) / width)) + word.text
        written.append(f"{text}-" if line.broken else text)
    return "\n".join(written)
