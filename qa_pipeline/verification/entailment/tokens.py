"""A passage and a claim as the tokens one model reads: windows of the passage, the claim always whole.

Each distinct text is tokenised once; inputs are put together from token ids, so that nothing a text says
can look like a border between the two.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tokenizers import Encoding, Tokenizer

from qa_pipeline.errors import SettingsError

CLAIM_SHARE = 0.5
"""A claim or answer that takes a larger share of an input leaves too little room for what should prove it."""
_OVERLAP = 64
"""Most tokens that neighbouring windows share, so that a statement at a border is whole in one."""
_PLACES = re.compile(r"\{(passage|claim|sep)\}")


@dataclass(frozen=True, slots=True)
class Input:
    """Token ids of one input, and the segment each belongs to.

    `tail` is how many of the last tokens a classifier of tokens is asked for; 0 asks for all.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    tail: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """A slice of a text, at the borders of words where there are any."""

    start: int
    end: int


class PairReader:
    """Puts inputs together.

    Args:
        tokenizer: without truncation and padding.
        most_tokens: of an input, special tokens included.
        template: how one text holds {passage} and {claim}, {sep} being the separator; None gives a pair.

    Raises:
        SettingsError: the template lacks a place, or the tokenizer gives pairs no shape.
    """

    def __init__(self, tokenizer: Tokenizer, most_tokens: int, template: str | None, setting: str) -> None:
        self.most_tokens = most_tokens
        self._tokenizer = tokenizer
        self._pieces = _pieces(template, setting)
        self._frame = _frame(tokenizer, setting)
        self._known: dict[str, Encoding] = {}

    @property
    def overhead(self) -> int:
        """Tokens of an input that are neither passage nor claim."""
        return len(self.join("", "").ids)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._encoding(text).ids)

    def learn(self, texts: Iterable[str]) -> None:
        """Tokenise many texts at once; without it each is tokenised when it is needed."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        found = self._tokenizer.encode_batch(missing, add_special_tokens=False)
        self._known.update(zip(missing, found, strict=True))

    def forget(self) -> None:
        """Drop what was tokenised; texts of the next call are others."""
        self._known.clear()

    def ids(self, text: str) -> list[int]:
        """Token ids of a text, without special tokens."""
        return list(self._encoding(text).ids)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Characters of each token."""
        return list(self._encoding(text).offsets)

    def windows(self, text: str, most: int, overlap: int | None = None) -> list[Window]:
        """Slices of at most `most` tokens, neighbours sharing about `overlap`; none of a blank text.

        Without a given overlap it is 64 tokens, or a quarter of a smaller window.
        A slice that begins inside a word can have more tokens than it had there: then all become shorter.
        """
        if not text.strip():
            return []
        encoding = self._encoding(text)
        if len(encoding.ids) <= most:
            return [Window(0, len(text))]
        overlap = min(_OVERLAP, most // 4) if overlap is None else overlap
        for size in range(most, 0, -max(1, most // 10)):
            found = _sliced(encoding, size, min(overlap, size - 1))
            self.learn(text[one.start : one.end] for one in found)
            if all(self.count(text[one.start : one.end]) <= most for one in found):
                return found
        return []

    def join_for_tokens(self, first: str, second: str) -> Input:
        """A pair of which the tokens of the second text, and the special ones behind it, are asked for."""
        one = self.join(first, second)
        return replace(one, tail=self.count(second) + self.behind)

    @property
    def behind(self) -> int:
        """Special tokens that end a pair."""
        return len(self._frame.after)

    def join(self, passage: str, claim: str) -> Input:
        """The tokens of an input; nothing is cut."""
        if self._pieces is None:
            return self._frame.pair(self._encoding(passage).ids, self._encoding(claim).ids)
        texts = {"passage": passage, "claim": claim}
        segments = [
            self._encoding("".join(texts.get(piece, piece) if is_place else piece for piece, is_place in one))
            for one in self._pieces
        ]
        return self._frame.single([encoding.ids for encoding in segments])

    def _encoding(self, text: str) -> Encoding:
        if text not in self._known:
            self._known[text] = self._tokenizer.encode(text, add_special_tokens=False)
        return self._known[text]


@dataclass(frozen=True, slots=True)
class _Frame:
    """The special tokens around and between texts, as a model's tokenizer sets them."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    types: tuple[int, int, int, int, int]
    alone_before: tuple[int, ...]
    alone_after: tuple[int, ...]

    def pair(self, first: Sequence[int], second: Sequence[int]) -> Input:
        parts = (self.before, first, self.between, second, self.after)
        types = [kind for kind, part in zip(self.types, parts, strict=True) for _ in part]
        return Input(tuple(one for part in parts for one in part), tuple(types))

    def single(self, segments: Sequence[Sequence[int]]) -> Input:
        """One text, or several with one separator between them, all of the first segment."""
        ids = [*self.alone_before]
        for place, segment in enumerate(segments):
            ids += [*self.between[:1], *segment] if place else segment
        ids += self.alone_after
        return Input(tuple(ids), (self.types[0],) * len(ids))


def _pieces(template: str | None, setting: str) -> list[list[tuple[str, bool]]] | None:
    """The template cut at its separators, each part as its literal texts and places."""
    if template is None:
        return None
    parts = _PLACES.split(template)  # literals at even places, names of places at odd ones
    names = parts[1::2]
    if names.count("passage") != 1 or names.count("claim") != 1:
        raise SettingsError(f"{setting}.template must hold {{passage}} and {{claim}} once each")
    segments: list[list[tuple[str, bool]]] = [[]]
    for place, part in enumerate(parts):
        if place % 2 and part == "sep":
            segments.append([])
        elif part:
            segments[-1].append((part, bool(place % 2)))
    return segments


def _frame(tokenizer: Tokenizer, setting: str) -> _Frame:
    """Learn the special tokens from a pair of two tokens."""
    first, second = (tokenizer.encode(text, add_special_tokens=False) for text in ("a", "b"))
    ids_of_first, ids_of_second = list(first.ids), list(second.ids)
    alone = tokenizer.post_process(first)
    both = tokenizer.post_process(first, second)
    start = _find(both.ids, ids_of_first, 0)
    middle = _find(both.ids, ids_of_second, start + len(ids_of_first))
    start_alone = _find(alone.ids, ids_of_first, 0)
    if not first.ids or min(start, middle, start_alone) < 0 or middle == start + len(ids_of_first):
        raise SettingsError(f"the tokenizer of {setting}.model sets no border between two texts")
    end, end_alone = middle + len(ids_of_second), start_alone + len(ids_of_first)
    types = both.type_ids
    return _Frame(
        before=tuple(both.ids[:start]),
        between=tuple(both.ids[start + len(ids_of_first) : middle]),
        after=tuple(both.ids[end:]),
        types=(
            types[0],
            types[start],
            types[start + len(ids_of_first)],
            types[middle],
            types[-1],
        ),
        alone_before=tuple(alone.ids[:start_alone]),
        alone_after=tuple(alone.ids[end_alone:]),
    )


def _find(ids: Sequence[int], part: Sequence[int], start: int) -> int:
    """Where a part begins; -1 where it does not."""
    places = range(start, len(ids) - len(part) + 1)
    return next((place for place in places if list(ids[place : place + len(part)]) == list(part)), -1)


def _sliced(encoding: Encoding, most: int, overlap: int) -> list[Window]:
    offsets, words = encoding.offsets, encoding.word_ids
    count = len(offsets)
    found, start = [], 0
    while True:
        end = min(start + most, count)
        if end < count:
            end = _word_border(words, start + max(most // 2, 1), end)
        found.append(Window(offsets[start][0], offsets[end - 1][1]))
        if end == count:
            return found
        start = max(_word_border(words, start + 1, end - overlap), start + 1)


def _word_border(words: Sequence[int | None], least: int, place: int) -> int:
    """The last place up to `place`, and from `least` on, before which a word ends; else `place` itself."""
    for border in range(place, max(least, 1) - 1, -1):
        if words[border] is None or words[border] != words[border - 1]:
            return border
    return place
