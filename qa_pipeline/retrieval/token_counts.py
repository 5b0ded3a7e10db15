"""How many tokens lie between any two places of a text, counting each distinct word once.

For tokenizers that read every word alone the counts are exact between blanks; for others, and inside a
word, they are estimates, and whoever must be sure counts the text itself.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, normalizers, pre_tokenizers

from qa_pipeline.models.base import TokenCounter

_AT_ONCE = 256
"""Words encoded as one text: few texts cost less than many, and several keep all cores at work."""
_MARKS = ".,:;"
"""Each is a token of its own after any word, so that "server" and "server," are one word to count."""


class WordCounts:
    """A counter like a `TokenCounter` that counts each word once for all texts.

    A tokenizer of the BERT family reads every stretch between blanks alone, so a text has the tokens of its
    words and the special ones. Where a tokenizer may do otherwise, texts are counted whole, and the sizes of
    words are only an estimate.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self.sizes: dict[str, int] = {}
        """Tokens of each word met so far."""
        self._special = counter.count([""])[0]
        self.exact = reads_words_alone(counter.tokenizer)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens included and nothing cut off."""
        if not self.exact:
            return self._counter.count(texts) if texts else []
        split = [words(text) for text in texts]
        self.learn(chain.from_iterable(split))
        return [sum(map(self.sizes.__getitem__, words_of_text), self._special) for words_of_text in split]

    def learn(self, met: Iterable[str]) -> None:
        """Count the words not met before, many at once."""
        sizes = self.sizes
        new = [word for word in dict.fromkeys(met) if word not in sizes]
        bare = [word.rstrip(_MARKS) for word in new] if self.exact else new
        self._count([word for word in dict.fromkeys(bare) if word not in sizes])
        sizes.update(
            (word, sizes[stem] + len(word) - len(stem))
            for word, stem in zip(new, bare, strict=True)
            if word != stem
        )

    def _count(self, new: Sequence[str]) -> None:
        groups = [new[start : start + _AT_ONCE] for start in range(0, len(new), _AT_ONCE)]
        # With offsets, which `encode_batch_fast` leaves out: they tell which word a token is of.
        encodings = self._counter.tokenizer.encode_batch(
            [" ".join(group) for group in groups], add_special_tokens=False
        )
        for group, encoding in zip(groups, encodings, strict=True):
            starts = list(accumulate((len(word) + 1 for word in group[:-1]), initial=0))
            tokens = [start for start, _ in encoding.offsets]
            word_of_token = np.searchsorted(starts, tokens, side="right") - 1
            sizes = np.bincount(word_of_token, minlength=len(group)).tolist()
            self.sizes.update(zip(group, sizes, strict=True))

    def token_starts(self, word: str) -> list[int]:
        """Return the places inside a word at which a token begins, from 0."""
        (encoding,) = self._counter.tokenizer.encode_batch([word], add_special_tokens=False)
        return sorted({0, *(start for start, _ in encoding.offsets)})


def reads_words_alone(tokenizer: Tokenizer) -> bool:
    """Return whether the tokens of a text are those of its words, whatever is next to each.

    So it is for the normaliser and pre-tokeniser of BERT, unless an added token spans a blank, holds one of
    the marks that are counted apart or looks at what is around it, or a text is cut off or filled up.
    """
    added = tokenizer.get_added_tokens_decoder().values()
    return (
        isinstance(tokenizer.normalizer, normalizers.BertNormalizer)
        and isinstance(tokenizer.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
        and tokenizer.truncation is None
        and tokenizer.padding is None
        and not any(token.lstrip or token.rstrip or token.single_word for token in added)
        and all(len(words(token.content)) == 1 and not set(token.content) & set(_MARKS) for token in added)
    )


def words(text: str) -> list[str]:
    """Return stretches between blanks and line ends; other white space, which BERT may drop, stays."""
    return text.replace("\n", " ").split(" ")


Places = npt.NDArray[np.int64]

_LONGEST_WORD = 256
"""Characters; a longer stretch without a blank (encoded data, or a script without blanks) is measured in
pieces of this length, so that it can be cut and a megabyte of it is not taken for a single unknown word."""
_BLANK = frozenset(" \n")


class TextTokens:
    """Tokens up to each word of a text; a word that could not fit a chunk counts by its parts.

    Args:
        text: what is measured.
        starts: where its words begin, in order.
        sizes: tokens of each.
        is_whole: no word was measured in parts.
    """

    def __init__(self, text: str, starts: Places, sizes: Places, *, is_whole: bool) -> None:
        self.text = text
        self.starts = starts
        self.before = np.concatenate(([0], np.cumsum(sizes)))
        self.is_whole = is_whole

    def between(self, start: int, end: int) -> int:
        """Return the number of tokens of a stretch."""
        first, last = np.searchsorted(self.starts, (start, end))
        return int(self.before[last] - self.before[first])

    def is_exact(self, start: int, end: int) -> bool:
        """Return whether a stretch begins and ends at blanks, so that no word is measured in part."""
        text = self.text
        return (
            self.is_whole
            and (start == 0 or text[start - 1] in _BLANK)
            and (end == len(text) or text[end] in _BLANK)
        )

    def section(self, start: int, end: int) -> "SectionTokens":
        """Return the counts of a stretch of the text; places in it count from the stretch's start."""
        first, last = np.searchsorted(self.starts, (start, end)).tolist()
        return SectionTokens(
            (self.starts[first:last] - start).tolist(),
            (self.before[first : last + 1] - self.before[first]).tolist(),
        )


@dataclass(frozen=True, slots=True)
class SectionTokens:
    """Words of a section and the tokens before each; `before` has one entry more, the total."""

    starts: list[int]
    before: list[int]

    def at(self, place: int) -> int:
        """Return the number of tokens before a place."""
        return self.before[bisect_left(self.starts, place)]

    def words(self, low: float, high: float) -> range:
        """Return the numbers of the words with at least `low` and at most `high` tokens before them."""
        return range(bisect_left(self.before, low), min(bisect_right(self.before, high), len(self.starts)))


def count_texts(texts: Sequence[str], counts: WordCounts, *, longest: int) -> list[TextTokens]:
    """Return the token counts of texts.

    A word of more than `longest` tokens may have to be cut, so its tokens are words of their own.
    """
    split = [_placed_words(text) for text in texts]
    counts.learn(chain.from_iterable(words_of_text for words_of_text, _, _ in split))
    return [_text_tokens(text, *placed, counts, longest) for text, placed in zip(texts, split, strict=True)]


def _placed_words(text: str) -> tuple[list[str], Places, bool]:
    """Return the words with their places, and whether none had to be cut for its length."""
    text_words = words(text)
    lengths = np.array([len(word) for word in text_words], dtype=np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    if lengths.max() <= _LONGEST_WORD:
        return text_words, starts, True
    parts = [
        (word[at : at + _LONGEST_WORD], start + at)
        for word, start in zip(text_words, starts.tolist(), strict=True)
        for at in range(0, len(word), _LONGEST_WORD)
    ]
    return [part for part, _ in parts], np.array([start for _, start in parts], dtype=np.int64), False


def _text_tokens(
    text: str, text_words: list[str], starts: Places, is_whole: bool, counts: WordCounts, longest: int
) -> TextTokens:
    sizes = np.array([counts.sizes[word] for word in text_words], dtype=np.int64)
    large = np.flatnonzero(sizes > longest)
    if large.size:
        inner = [counts.token_starts(text_words[number]) for number in large.tolist()]
        extra = [len(tokens) - 1 for tokens in inner]
        sizes[large] -= extra
        added = [
            int(starts[number]) + at
            for number, tokens in zip(large.tolist(), inner, strict=True)
            for at in tokens[1:]
        ]
        places = np.repeat(large + 1, extra)
        starts, sizes = np.insert(starts, places, added), np.insert(sizes, places, 1)
    keep = sizes > 0  # two blanks in a row have an empty word between them
    return TextTokens(text, starts[keep], sizes[keep], is_whole=is_whole)
