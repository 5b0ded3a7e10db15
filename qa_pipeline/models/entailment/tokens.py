"""A passage and a claim as the tokens one model reads: windows of the passage, the claim always whole.

Each distinct text is tokenised once; inputs are put together from token ids, so that nothing in a text can
look like a border between the two.
"""

from collections.abc import Iterable, Sequence

from tokenizers import Encoding, Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.classifier import Input

_CLAIM_SHARE = 0.5
"""A claim that takes a larger share of an input leaves too little room for what should prove it."""
LEAST_ROOM = 8
"""Tokens of a passage below which it is not worth reading."""
_OVERLAP = 64
"""Most tokens that neighbouring windows share, so that a statement at a border is whole in one."""

Span = tuple[int, int]


class PairReader:
    """A reader that composes the inputs of a pair model.

    Args:
        tokenizer: without truncation and padding.
        most_tokens: of an input, special tokens included.
        setting: the group of settings that names the model.

    Raises:
        SettingsError: the tokenizer gives pairs no shape.
    """

    def __init__(self, tokenizer: Tokenizer, most_tokens: int, setting: str) -> None:
        self.most_tokens = most_tokens
        self._tokenizer = tokenizer
        self._encodings: dict[str, Encoding] = {}
        marks = self._pair("a", "b").special_tokens_mask
        border = marks.index(0) + self.count("a")
        if marks[border : border + 1] != [1] or 0 not in marks[border:]:
            raise SettingsError(f"the tokenizer of {setting}.model sets no border between two texts")
        self.overhead = len(self.join("", "").ids)
        """Tokens of an input that are neither passage nor claim."""

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self._encoding(text).ids)

    def learn(self, texts: Iterable[str]) -> None:
        """Tokenise many texts at once; without it each is tokenised when it is needed."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._encodings]
        encodings = self._tokenizer.encode_batch(missing, add_special_tokens=False)
        self._encodings.update(zip(missing, encodings, strict=True))

    def clear(self) -> None:
        """Drop what was tokenised; texts of the next call are others."""
        self._encodings.clear()

    def room_beside(self, text: str) -> int | None:
        """Return the tokens of a passage that fit beside a claim; None where none do."""
        tokens = self.count(text)
        room = self.most_tokens - self.overhead - tokens
        return None if tokens > _CLAIM_SHARE * self.most_tokens or room < LEAST_ROOM else room

    def windows(self, text: str, most: int, overlap: int | None = None) -> list[Span]:
        """Return slices of at most `most` tokens, neighbours sharing about `overlap`; none if blank.

        They begin and end at the borders of words where there are any. Without a given overlap it is 64
        tokens, or a quarter of a smaller window. A slice that begins inside a word can have more tokens than
        it had there: then all become shorter. Of slices that begin in one character the longest is kept.
        """
        if not text.strip():
            return []
        encoding = self._encoding(text)
        if len(encoding.ids) <= most:
            return [(0, len(text))]
        overlap = min(_OVERLAP, most // 4) if overlap is None else overlap
        for size in range(most, 0, -max(1, most // 10)):
            token_slices = list(dict(_sliced(encoding, size, min(overlap, size - 1))).items())
            slices = [text[start:end] for start, end in token_slices]
            self.learn(slices)
            if all(self.count(part) <= most for part in slices):
                return token_slices
        return []

    def join(self, passage: str, claim: str) -> Input:
        """Return the tokens of an input; nothing is cut."""
        both = self._pair(passage, claim)
        return Input(tuple(both.ids), tuple(both.type_ids))

    def _pair(self, first: str, second: str) -> Encoding:
        return self._tokenizer.post_process(self._encoding(first), self._encoding(second))

    def _encoding(self, text: str) -> Encoding:
        if text not in self._encodings:
            self._encodings[text] = self._tokenizer.encode(text, add_special_tokens=False)
        return self._encodings[text]


def _sliced(encoding: Encoding, most: int, overlap: int) -> list[Span]:
    offsets, words = encoding.offsets, encoding.word_ids
    count = len(offsets)
    pieces, start = [], 0
    while True:
        end = min(start + most, count)
        if end < count:
            end = _word_border(words, start + max(most // 2, 1), end)
        pieces.append((offsets[start][0], offsets[end - 1][1]))
        if end == count:
            return pieces
        start = max(_word_border(words, start + 1, end - overlap), start + 1)


def _word_border(words: Sequence[int | None], least: int, place: int) -> int:
    """Return the last place from `least` to `place` before which a word ends; else `place`."""
    for border in range(place, max(least, 1) - 1, -1):
        if words[border] is None or words[border] != words[border - 1]:
            return border
    return place
