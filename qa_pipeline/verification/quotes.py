"""A quote's place in a text: exact, up to spelling of the same characters, or aligned over small edits.

What belongs here: finding a quote and saying whether it had to be repaired. What does not: which text to
look in.
"""

import difflib
import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from qa_pipeline.verification.lexicon.language import lexicon

_SAME = str.maketrans(
    {**dict.fromkeys("“”„«»‟″", '"'), **dict.fromkeys("‘’‚‛′`´", "'"), **dict.fromkeys("‐‑‒–—−", "-")}
)
_DROPPED = frozenset("*_`#|>\u00ad\u200b\u200c\u200d\u2060\ufeff")
_ELLIPSIS = re.compile(r"\[\s{0,9}(?:\.{3}|…)\s{0,9}\]|\(\s{0,9}(?:\.{3}|…)\s{0,9}\)|\.{3}|…")
_WORD = re.compile(r"\w+")
_NUMBER_BEFORE = re.compile(r"\d[.,]?$")
_NUMBER_AFTER = re.compile(r"[.,]?\d")
_SHORTEST_REPAIR = 4
_SAME_WORD = 0.7


@dataclass(frozen=True, slots=True)
class Located:
    """Where a quote stands and how it agrees with what stands there.

    `kind` is exact, spelling (the same words written otherwise), ellipsis (its parts, in order) or edited.
    """

    start: int
    end: int
    kind: str

    @property
    def repaired(self) -> bool:
        """Whether it differs from what stands there by more than its spelling."""
        return self.kind == "edited"


def locate_quote(quote: str, text: str, repair: float, language: str = "en") -> Located | None:
    """Find `quote` in `text`.

    Tried in order: the very characters; the same with case, spaces, quotation marks, dashes, markup and
    end-of-line hyphenation folded; its parts around an ellipsis, in order; an alignment in which at least
    `repair` of its words agree and the edits are small ones (`_small`).
    """
    wanted = quote.strip()
    at = _find(wanted, text, 0) if wanted else -1
    if at >= 0:
        return Located(at, at + len(wanted), "exact")
    folded, places = _fold(text)
    parts = [part for part in (_fold(piece)[0].strip() for piece in _ELLIPSIS.split(wanted)) if part]
    span = _in_order(parts, folded, places)
    return span or _aligned(wanted, text, repair, language)


def _find(wanted: str, text: str, position: int) -> int:
    """Place of the first occurrence that begins and ends no number in the middle; -1 without one."""
    at = text.find(wanted, position)
    while at >= 0 and _cuts_number(text, at, at + len(wanted)):
        at = text.find(wanted, at + 1)
    return at


def _cuts_number(text: str, start: int, end: int) -> bool:
    before = text[start].isdigit() and _NUMBER_BEFORE.search(text, max(0, start - 2), start)
    after = text[end - 1].isdigit() and _NUMBER_AFTER.match(text, end)
    return bool(before or after)


@functools.lru_cache(maxsize=512)
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
        at = _find(part, folded, position)
        if at < 0:
            return None
        start = at if start is None else start
        position = at + len(part)
    kind = "spelling" if len(parts) == 1 else "ellipsis"
    return Located(places[start or 0], places[position - 1] + 1, kind)


def _aligned(quote: str, text: str, repair: float, language: str) -> Located | None:
    """Best stretch of the text, as many words long as the quote, judged by Ratcliff/Obershelp matching."""
    wanted = [word.casefold() for word in _WORD.findall(quote)]
    tokens = list(_WORD.finditer(text))
    words = [token[0].casefold() for token in tokens]
    if len(wanted) < _SHORTEST_REPAIR or not words:
        return None
    at = _densest(wanted, words)
    stretch = words[at : at + len(wanted) + 2]
    matcher = difflib.SequenceMatcher(None, wanted, stretch, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    agreed = sum(block.size for block in blocks)
    if agreed < repair * len(wanted):
        return None
    ends = blocks[-1].b + blocks[-1].size
    edits = [
        (wanted[left:right], stretch[start:end])
        for code, left, right, start, end in matcher.get_opcodes()
        if code != "equal" and (left < right or blocks[0].b < end <= ends)
    ]
    if not all(_small(said, stands, language) for said, stands in edits):
        return None
    first, last = at + blocks[0].b, at + ends - 1
    return Located(tokens[first].start(), tokens[last].end(), "edited")


def _small(said: Sequence[str], stands: Sequence[str], language: str) -> bool:
    """Whether words were only misspelt, inflected, or dropped or added without changing what is said.

    No digit, number word, negation, quantifier or obligation may differ on either side, and where content
    words stand for other ones, each must look like one of those.
    """
    known = lexicon(language)
    closed = (known.negations, known.soft_negations, known.universal, known.partial, known.exclusive)
    telling = frozenset[str]().union(*closed, known.strong, known.weak, known.numbers, known.months)
    if any(word in telling or any(map(str.isdigit, word)) for word in (*said, *stands)):
        return False
    content = [word for word in said if word not in known.stop_words]
    others = [word for word in stands if word not in known.stop_words]
    if not content or not others:
        return len(content) + len(others) <= 1
    return all(any(_looks_like(word, other) for other in others) for word in content)


def _looks_like(word: str, other: str) -> bool:
    return difflib.SequenceMatcher(None, word, other, autojunk=False).ratio() >= _SAME_WORD


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
