from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from qa_pipeline.chunking.token_counts import WordCounts, reads_words_alone
from qa_pipeline_tests.chunking.documents import SENTENCE, Counter

ODD = " \n\t\r\x0b\x1c\x85\u00a0\u2003\u0301ßΣİ日本[]-.,'\u200b\ufeff"
TEXTS = st.lists(
    st.one_of(
        st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(ODD)), max_size=60),
        st.lists(st.sampled_from(["[CLS]", "x[SEP]", "a", "\u0301", " ", "\n", "word" * 40])).map("".join),
    ),
    max_size=5,
)


class Recorder(Counter):
    """Notes which texts are counted whole."""

    def __init__(self, tokenizer: Tokenizer | None = None) -> None:
        super().__init__()
        self.tokenizer = tokenizer or self.tokenizer
        self.whole: list[str] = []

    def count(self, texts: Sequence[str]) -> list[int]:
        self.whole += texts
        return super().count(texts)


def bert(*added: AddedToken | str) -> Tokenizer:
    vocabulary = {"[UNK]": 0, "a": 1, "b": 2}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_tokens(list(added))
    return tokenizer


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, " ": 2}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    return tokenizer


def cut_off() -> Tokenizer:
    tokenizer = bert()
    tokenizer.enable_truncation(4)
    return tokenizer


def filled_up() -> Tokenizer:
    tokenizer = bert()
    tokenizer.enable_padding(length=9)
    return tokenizer


@given(TEXTS)
def test_counts_by_word_are_the_counts_of_the_tokenizer(texts: list[str]) -> None:
    counter = Counter()
    assert WordCounts(counter).count(texts) == counter.count(texts)


def test_what_was_counted_before_is_counted_alike_again() -> None:
    counter = Counter()
    counts = WordCounts(counter)
    first = counts.count([SENTENCE, "Server"])
    assert counts.count([SENTENCE * 3, "The Server", "new words"]) == counter.count(
        [SENTENCE * 3, "The Server", "new words"]
    )
    assert counts.count([SENTENCE, "Server"]) == first


def test_nothing_counts_as_the_special_tokens_do() -> None:
    counts = WordCounts(Counter())
    assert counts.count([]) == []
    assert counts.count(["", " ", "\n\n"]) == [2, 2, 2]


def test_a_tokenizer_of_the_bert_family_never_sees_a_text_whole() -> None:
    recorder = Recorder()
    WordCounts(recorder).count([SENTENCE, SENTENCE])
    assert recorder.whole == [""]


@pytest.mark.parametrize(
    "tokenizer",
    [byte_level(), cut_off(), filled_up(), bert("a b"), bert(AddedToken("b", lstrip=True))],
    ids=["byte_level", "cut_off", "filled_up", "token_across_a_blank", "token_with_its_blanks"],
)
def test_a_tokenizer_that_may_look_across_blanks_counts_texts_whole(tokenizer: Tokenizer) -> None:
    recorder = Recorder(tokenizer)
    texts = ["a b a", "b  a", "a b a b a b"]
    assert not reads_words_alone(tokenizer)
    assert WordCounts(recorder).count(texts) == [len(tokenizer.encode(text)) for text in texts]
    assert recorder.whole[1:] == texts


def test_an_added_token_inside_a_word_does_no_harm() -> None:
    tokenizer = bert("ab", "[b]")
    recorder = Recorder(tokenizer)
    texts = ["ab a b bab", "b\n[b]b a", " b[b] "]
    assert reads_words_alone(tokenizer)
    assert WordCounts(recorder).count(texts) == [len(tokenizer.encode(text)) for text in texts]
