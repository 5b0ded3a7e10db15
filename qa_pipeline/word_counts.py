"""Token counts of many texts that share their words.

What belongs here: counting each distinct word once, and telling which tokenizers that is right for. What
does not: what a count is used for (chunking), and the tokenizer of a model (`embedding/files`).
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain

import numpy as np
from tokenizers import Tokenizer, normalizers, pre_tokenizers

from qa_pipeline.embedding.embeddings import TokenCounter

_AT_ONCE = 256
"""Words encoded as one text: few texts cost less than many, and several keep all cores at work."""
_MARKS = ".,:;"
"""Each is a token of its own after any word, so that "server" and "server," are one word to count."""


class WordCounts:
    """Counts as a `TokenCounter` does, each word once for all the texts ever counted.

    A tokenizer of the BERT family reads every stretch between blanks alone, so a text has the tokens of its
    words and the special ones. Where a tokenizer may do otherwise, texts are counted whole, and the sizes of
    words are only an estimate.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._sizes: dict[str, int] = {}
        self._special = counter.count([""])[0]
        self.exact = reads_words_alone(counter.tokenizer)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included and nothing cut off."""
        if not self.exact:
            return self._counter.count(texts) if texts else []
        split = [words(text) for text in texts]
        self.learn(chain.from_iterable(split))
        return [sum(self.sizes(one), self._special) for one in split]

    def learn(self, met: Iterable[str]) -> None:
        """Count the words not met before, many at once."""
        sizes = self._sizes
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
            self._sizes.update(zip(group, sizes, strict=True))

    def sizes(self, learnt: Sequence[str]) -> Iterable[int]:
        """Tokens of each word; all must have been learnt."""
        return map(self._sizes.__getitem__, learnt)

    def token_starts(self, word: str) -> list[int]:
        """Places inside a word at which a token begins, from 0."""
        (encoding,) = self._counter.tokenizer.encode_batch([word], add_special_tokens=False)
        return sorted({0, *(start for start, _ in encoding.offsets)})


def reads_words_alone(tokenizer: Tokenizer) -> bool:
    """Whether the tokens of a text are those of its words, whatever stands next to each.

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
    """Stretches between blanks and line ends; other white space, which BERT may drop, stays in them."""
    return text.replace("\n", " ").split(" ")
