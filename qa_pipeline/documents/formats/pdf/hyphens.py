"""Words broken at line ends: joined, or the hyphen kept because the word is spelt with it.

What belongs here: the decision on one broken word, and the words of a document that it rests on. What does
not: where lines end (`joining`). PDF writes a hyphen that breaks a word like one that belongs to it,
so the document's own spelling decides first, then how English, German and Swedish form compounds.
"""

import re
from collections import Counter
from collections.abc import Iterable

BROKEN_WORD = "\ufffe"
"""PDFium's mark for a hyphen at a line end; the next line's text follows it."""
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
_LOOKED_AT = 300
"""How much of a line is looked at: time must not grow with the square of a line's length."""
_SHORTEST_REST = 3
"""Fewer letters than these are never carried over to a new line."""
_LETTERS = bytes(
    ord(chr(code).lower()) if chr(code).isalpha() or chr(code) == "-" else 0x20 for code in range(256)
)
"""Latin-1 in lower case, with a blank for all that is no part of a word."""


class Spelling:
    """How a document spells its words, and how many hyphens at line ends were none of theirs.

    Attributes:
        joined: hyphens left out so far because they only broke a word.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        """Count words, in lower case, compounds with their hyphens.

        Letters beyond Latin-1, which none of the languages handled here is written in, part words.
        """
        plain = "\n".join(texts).encode("latin-1", "replace").translate(_LETTERS)
        self._words = Counter(plain.decode("latin-1").split())
        self.joined = 0

    def mend(self, text: str, following: str, *, hard: bool) -> tuple[str, str]:
        """Join a word broken at a line end, keeping its hyphen where it is spelt with one.

        Args:
            text: the line with the first part, ending in a hyphen if `hard`.
            following: the next line; starts with the second part.
            hard: the hyphen is printed as such rather than marked as a break.

        Returns:
            The line with the whole word, and the rest of the next line.
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
