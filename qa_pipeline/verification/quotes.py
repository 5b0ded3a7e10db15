"""A quote's place in a text: exact, up to spelling of the same characters, or aligned over small edits.

What belongs here: finding a quote and saying whether it had to be repaired. What does not: which text to
look in.
"""

import difflib
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

_SAME = str.maketrans(
    {**dict.fromkeys("“”„«»‟″", '"'), **dict.fromkeys("‘’‚‛′`´", "'"), **dict.fromkeys("‐‑‒–—−", "-")}
)
_DROPPED = frozenset("*_`#|>\u00ad\u200b\u200c\u200d\u2060\ufeff")
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:\.{3}|…)\s*\]|\(\s*(?:\.{3}|…)\s*\)|\.{3}|…)\s*")
_WORD = re.compile(r"\w+")
_SHORTEST_REPAIR = 4


@dataclass(frozen=True, slots=True)
class Located:
    """Where a quote stands, and whether it differs from what stands there by more than its spelling."""

    start: int
    end: int
    repaired: bool


def locate_quote(quote: str, text: str, repair: float) -> Located | None:
    """Find `quote` in `text`.

    Tried in order: the very characters; the same with case, spaces, quotation marks, dashes, markup and
    end-of-line hyphenation folded; its parts around an ellipsis, in order; an alignment in which at least
    `repair` of its words agree and the words that differ hold no digit.
    """
    wanted = quote.strip()
    at = text.find(wanted) if wanted else -1
    if at >= 0:
        return Located(at, at + len(wanted), repaired=False)
    folded, places = _fold(text)
    parts = [part for part in (_fold(piece)[0].strip() for piece in _ELLIPSIS.split(wanted)) if part]
    span = _in_order(parts, folded, places)
    return span or _aligned(wanted, text, repair)


def _fold(text: str) -> tuple[str, list[int]]:
    """Comparable form of a text, and for each of its characters the place it comes from."""
    text_form: list[str] = []
    places: list[int] = []
    at = 0
    while at < len(text):
        character = text[at]
        hyphenated = character in "-\u2010" and re.match(r"[-\u2010]\n\s*(?=[a-zåäöüß])", text[at:])
        if hyphenated and text_form and text_form[-1].isalpha():
            at += len(hyphenated[0])
            continue
        if character.isspace():
            if text_form and text_form[-1] != " ":
                text_form.append(" ")
                places.append(at)
        elif character not in _DROPPED:
            for form in unicodedata.normalize("NFKC", character.translate(_SAME)).casefold():
                text_form.append(form)
                places.append(at)
        at += 1
    return "".join(text_form), places


def _in_order(parts: list[str], folded: str, places: list[int]) -> Located | None:
    """Span from the first to the last part when all stand one after another."""
    if not parts:
        return None
    position, start = 0, None
    for part in parts:
        at = folded.find(part, position)
        if at < 0:
            return None
        start = at if start is None else start
        position = at + len(part)
    return Located(places[start or 0], places[position - 1] + 1, repaired=False)


def _aligned(quote: str, text: str, repair: float) -> Located | None:
    """Best stretch of the text, as many words long as the quote, judged by Ratcliff/Obershelp matching."""
    wanted = [word.casefold() for word in _WORD.findall(quote)]
    tokens = list(_WORD.finditer(text))
    words = [token[0].casefold() for token in tokens]
    if len(wanted) < _SHORTEST_REPAIR or not words:
        return None
    start = _densest(wanted, words)
    stretch = words[start : start + len(wanted) + 2]
    matcher = difflib.SequenceMatcher(None, wanted, stretch, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    agreed = sum(block.size for block in blocks)
    edits = [code for code in matcher.get_opcodes() if code[0] != "equal" and code[1] < code[2]]
    changed = [word for _, left, right, _, _ in edits for word in wanted[left:right]]
    if agreed < repair * len(wanted) or any(character.isdigit() for word in changed for character in word):
        return None
    first, last = start + blocks[0].b, start + blocks[-1].b + blocks[-1].size - 1
    return Located(tokens[first].start(), tokens[last].end(), repaired=True)


def _densest(wanted: list[str], words: list[str]) -> int:
    """Start of the stretch that shares most words with the quote, repeats counted; the first of equals."""
    need = Counter(wanted)
    have: Counter[str] = Counter()
    best, best_at, shared = -1, 0, 0
    for at, word in enumerate(words):
        have[word] += 1
        shared += have[word] <= need[word]
        if at >= len(wanted):
            old = words[at - len(wanted)]
            shared -= have[old] <= need[old]
            have[old] -= 1
        if shared > best:
            best, best_at = shared, max(0, at - len(wanted) + 1)
    return best_at
