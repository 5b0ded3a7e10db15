"""Lines of one block of a PDF joined into text.

What belongs here: where a line goes on in the next, with or without a blank, and the indentation of code.
What does not: which lines make up a block (`layout`), and broken words (`hyphens`).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from qa_pipeline.documents.formats.pdf.hyphens import Spelling
from qa_pipeline.documents.formats.pdf.lines import Line, words_of

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
    """Joined text of a group's lines for each page; a word broken over two pages stays on the first.

    Args:
        lines: the lines of one block, in order.
        spelling: how the document spells words.
    """
    parts, page = [lines[0].text], lines[0].page
    for before, line in pairwise(lines):
        here = line.text
        last = parts.pop()
        if before.broken or (last.endswith("-") and here[:1].islower() and _HARD_HYPHEN.search(last[-2:])):
            joined, here = spelling.mend(last, here, hard=not before.broken)
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
    """Whether a web address or a program's name goes on in the next line."""
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
