"""Lines of one block of a PDF joined into text: broken words, web addresses, and the indentation of code.

PDF writes a hyphen that breaks a word like one that belongs to it, so the document's own spelling decides
first, then how English, German and Swedish form compounds.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from qa_pipeline.documents.formats.pdf.lines import Line, words_of

_LAST_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]+$")
_FIRST_WORD = re.compile(r"^[^\W\d_]+")
_WEB_ADDRESS = re.compile(r"(?:https?://|www\.)\S{0,400}$")
_SUSPENDED = frozenset({"and", "or", "to", "und", "oder", "bis", "och", "eller", "samt", "till"})
_HEADS = frozenset({"self", "well", "near", "quasi"})
_PREFIXES = frozenset(
    {
        "anti", "auto", "co", "counter", "de", "dis", "down", "ex", "fore", "hyper", "im", "in", "infra",
        "inter", "intra", "macro", "meta", "micro", "mis", "multi", "non", "out", "over", "para", "post",
        "pre", "pseudo", "re", "semi", "sub", "super", "trans", "un", "under", "up",
    }
)  # fmt: skip
_TAILS = frozenset(
    {
        "aligned", "annotated", "aware", "based", "bound", "centered", "centred", "connected", "controlled",
        "defined", "delimited", "dependent", "dimensional", "directed", "driven", "efficient", "encoded",
        "facing", "focused", "formatted", "friendly", "generated", "grade", "independent", "intensive",
        "labeled", "labelled", "led", "level", "like", "limited", "linear", "oriented", "performance",
        "precision", "powered", "quality", "rated", "related", "relevant", "resolution", "scale",
        "sensitive", "separated", "shaped", "source", "specific", "structured", "style", "supervised",
        "supported", "throughput", "trained", "universally", "weighted", "wide", "written",
    }
)  # fmt: skip
"""Second parts of English compounds that are hardly ever written as one word with their first."""
"""How much of a line is looked at: time must not grow with the square of a line's length."""
_SHORTEST_REST = 3
"""Fewer letters than these are never carried over to a new line."""
_LETTERS = bytes(
    ord(chr(code).lower()) if chr(code).isalpha() or chr(code) == "-" else 0x20 for code in range(256)
)
"""Latin-1 in lower case, with a blank for all that is no part of a word."""


class Spelling:
    """How a document spells its words; `joined` counts hyphens left out since they only broke a word."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Count words, in lower case, compounds with their hyphens.

        Letters beyond Latin-1, which none of the languages handled here is written in, part words.
        """
        plain = "\n".join(texts).encode("latin-1", "replace").translate(_LETTERS)
        self._words = Counter(plain.decode("latin-1").split())
        self.joined = 0

    def rejoin(self, text: str, following: str, *, hard: bool) -> tuple[str, str]:
        """Join a word broken at a line end, keeping its hyphen where it is spelt with one.

        A `hard` hyphen is printed as such. Returns the line with the whole word, and the rest of the next.
        """
        stem = text.removesuffix("-") if hard else text
        tail = stem[-_LOOKED_AT:]
        first, second = _LAST_WORD.search(tail), _FIRST_WORD.match(following)
        if stem.endswith("/") and _WEB_ADDRESS.search(tail):
            self.joined += 1
            return stem, following
        if _WEB_ADDRESS.search(tail) or not first or not second:
            return f"{stem}-", following
        rest = following[second.end() :]
        if second.group().lower() in _SUSPENDED and rest[:1] in ("", " "):
            return f"{stem}- {second.group()}", rest
        chain = tail[: first.start()].endswith("-") and rest.startswith("-")
        if chain or self._is_compound(first.group(), second.group(), hard=hard):
            return f"{stem}-{second.group()}", rest
        self.joined += 1
        return stem + second.group(), rest

    def _is_compound(self, first: str, second: str, *, hard: bool) -> bool:
        before, after = first.lower(), second.lower()
        words = self._words
        if words[before + after]:
            return False
        if hard or words[f"{before}-{after}"] or second[0].isupper() or len(second) < _SHORTEST_REST:
            return True
        if before in _HEADS or before in _PREFIXES:
            return before in _HEADS
        both_are_words = len(second) > _SHORTEST_REST and min(words[before], words[after]) > 1
        return after in _TAILS or both_are_words


_HARD_HYPHEN = re.compile(r"(?:[^\W\d_]|/)-$")
_OPEN_ADDRESS = re.compile(r"(?:https?:/{0,2}|(?:https?://|www\.|doi\.org/)\S{0,400}[/.:_=&?#%~-])$")
_ADDRESS = re.compile(r"(?:https?:|www\.)\S{0,400}$")
_OPEN_BRACKET = re.compile(r"\((?:https?://|www\.)[^\s()]{0,400}$")
_PART_OF_ADDRESS = re.compile(r"^\S*?[\d/._-]\S")
_CLOSED = re.compile(r"^[^\s()]+\)")
_OPEN_NAME = re.compile(r"[^\W_]_$")
_MAY_GO_ON = frozenset("/.:_=&?#%~-")
_BLANK_LINE = 1.6
_LOOKED_AT = 300


def joined_text(lines: Sequence[Line], spelling: Spelling) -> str:
    """Lines of one page, such as those of a table cell, as one text; empty for none."""
    return " ".join(text for _, text in texts_by_page(lines, spelling)) if lines else ""


def texts_by_page(lines: Sequence[Line], spelling: Spelling) -> Iterator[tuple[int, str]]:
    """Joined text of a group's lines for each page; a word broken over two pages stays on the first."""
    parts, page = [lines[0].text], lines[0].page
    for before, line in pairwise(lines):
        here = line.text
        last = parts.pop()
        if before.broken or (last.endswith("-") and here[:1].islower() and _HARD_HYPHEN.search(last[-2:])):
            joined, here = spelling.rejoin(last, here, hard=not before.broken)
            parts.append(joined)
        else:
            glued = (last[-1:] in _MAY_GO_ON or here[:1] in "_/") and _is_glued(last, here)
            parts.append(last if glued or line.page != page else f"{last} ")
        if line.page != page:
            yield page, "".join(parts)
            parts, page = [], line.page
        parts.append(here)
    if lines[-1].broken:
        parts.append("-")
    if any(parts):
        yield page, "".join(parts)


def _is_glued(text: str, following: str) -> bool:
    last = text[-1:]
    if following.startswith("/"):
        return _ADDRESS.search(text[-_LOOKED_AT:]) is not None
    if last.isalnum():
        return following.startswith("_")
    if last not in _MAY_GO_ON:
        return False
    if last == "_" and _OPEN_NAME.search(text[-2:]):
        return True
    tail = text[-_LOOKED_AT:]
    goes_on = not following[:1].isupper() or _PART_OF_ADDRESS.match(following) is not None
    in_brackets = _CLOSED.match(following) is not None and _OPEN_BRACKET.search(tail) is not None
    return (goes_on or in_brackets) and _OPEN_ADDRESS.search(tail) is not None


def code_text(lines: Sequence[Line]) -> str:
    """Code lines with the indentation, and the blank lines, that their places on paper show."""
    left = min(line.left for line in lines)
    words = [word for line in lines for word in words_of(line) if len(word.text) > 1]
    widths = [(word.right - word.left) / len(word.text) for word in words]
    width = max(median(widths) if widths else lines[0].size * 0.6, 1.0)
    steps = [above.bottom - below.bottom for above, below in pairwise(lines)]
    usual = min((step for step in steps if step > 0), default=0.0)
    text = [_code_line(lines[0], left, width)]
    for step, line in zip(steps, lines[1:], strict=True):
        if step > _BLANK_LINE * usual > 0:
            text.append("")
        text.append(_code_line(line, left, width))
    return "\n".join(text)


def _code_line(line: Line, left: float, width: float) -> str:
    """A line whose words stand as far apart as on paper, in letters of one width."""
    text = ""
    for word in line.words:
        column = round((word.left - left) / width)
        text += " " * max(column - len(text), 1 if text else 0) + word.text
    text = text or " " * round((line.left - left) / width) + line.text
    return f"{text}-" if line.broken else text
