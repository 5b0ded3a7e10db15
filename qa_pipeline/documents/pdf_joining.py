"""Lines of one block of a PDF joined into text.

What belongs here: words and addresses broken at line ends, and the indentation of code. What does not:
which lines make up a block (`pdf_layout`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from qa_pipeline.documents.pdf_lines import Line

_LAST_WORD = re.compile(r"[^\W\d_]+$")
_HYPHENED_STARTS = frozenset({"self", "well"})
_HARD_HYPHEN = re.compile(r"[^\W\d_]-$")
_FIRST_WORD = re.compile(r"^[^\W\d_]+")
_OPEN_ADDRESS = re.compile(r"(?:https?:|(?:https?://|www\.|doi\.org/)\S*[/.:_=&?#%~-])$")
_WEB_ADDRESS = re.compile(r"(?:https?://|www\.)\S*$")


def texts_by_page(lines: Sequence[Line], words: Counter[str]) -> Iterator[tuple[int, str]]:
    """Joined text of a group's lines for each page; a word broken over two pages stays on the first.

    Args:
        lines: the lines of one block, in order.
        words: words of the document and how often each is used.
    """
    parts, page = [lines[0].text], lines[0].page
    for before, line in pairwise(lines):
        here = line.text
        last = parts.pop()
        if before.broken or (_HARD_HYPHEN.search(last) and here[:1].islower()):
            joined, here = _mended(last, here, words, hard=not before.broken)
            parts.append(joined)
        else:
            glued = _OPEN_ADDRESS.search(last) and not here[:1].isupper()
            parts.append(last if glued or line.page != page else f"{last} ")
        if line.page != page:
            yield page, "".join(parts)
            parts, page = [], line.page
        parts.append(here)
    if any(parts):
        yield page, "".join(parts)


def _mended(text: str, following: str, words: Counter[str], *, hard: bool) -> tuple[str, str]:
    """Join a word broken at a line end, keeping its hyphen where the document spells it so elsewhere.

    Args:
        text: the line with the first part, ending in a hyphen if `hard`.
        following: the next line; starts with the second part.
        words: words of the document and how often each is used.
        hard: the hyphen is printed as such rather than marked as a break.

    Returns:
        The line with the whole word, and the rest of the next line.
    """
    stem = text.removesuffix("-")
    first, second = _LAST_WORD.search(stem), _FIRST_WORD.match(following)
    if _WEB_ADDRESS.search(stem) or not first or not second:
        return f"{stem}-" if hard or first else stem, following
    rest = following[second.end() :]
    plain = (first.group() + second.group()).lower()
    hyphened = f"{first.group()}-{second.group()}".lower()
    both_words = len(second.group()) > 3 and min(words[part.group().lower()] for part in (first, second)) > 1
    chain = stem[: first.start()].endswith("-") and rest.startswith("-")
    usual = first.group().lower() in _HYPHENED_STARTS or second.group()[0].isupper()
    spelt_apart = words[hyphened] > 0 or usual or both_words or chain
    keep = not words[plain] and (hard or spelt_apart)
    return stem + ("-" if keep else "") + second.group(), rest


def code_text(lines: Sequence[Line]) -> str:
    """Code lines with the indentation their place on paper shows."""
    left = min(line.left for line in lines)
    widths = [(line.right - line.left) / len(line.text) for line in lines if len(line.text) > 3]
    width = sorted(widths)[len(widths) // 2] if widths else lines[0].size * 0.6
    return "\n".join(" " * round((line.left - left) / max(width, 1)) + line.text for line in lines)
