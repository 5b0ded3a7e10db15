from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from qa_pipeline.retrieval.token_counts import WordCounts, count_texts, reads_words_alone
from qa_pipeline_tests.retrieval.documents import SENTENCE, Counter

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


WORDS = st.sampled_from(
    ["server", "mod_ssl.c", "å.ä.ö", "a/b" * 30, "日本語", "...", "", "\n", "x" * 90, "Port:"]
)


@given(st.lists(WORDS, max_size=30), st.integers(0, 30), st.integers(0, 30), st.integers(1, 40))
def test_tokens_between_blanks_are_those_the_tokenizer_counts(
    words: list[str], first: int, last: int, longest: int
) -> None:
    counter = Counter()
    (counted_text,) = count_texts([" ".join(words)], WordCounts(counter), longest=longest)
    first, last = sorted((min(first, len(words)), min(last, len(words))))
    start = len(" ".join(words[:first])) + bool(first)
    end = start + len(" ".join(words[first:last]))
    if last > first and counted_text.is_exact(start, end):
        (special, counted) = counter.count(["", counted_text.text[start:end]])
        assert counted_text.between(start, end) == counted - special


@given(st.lists(WORDS, max_size=20), st.integers(0, 500))
def test_a_section_has_the_tokens_of_its_part_of_the_text(words: list[str], at: int) -> None:
    text = " ".join(words)
    start = min(at, len(text))
    (counted_text,) = count_texts([text], WordCounts(Counter()), longest=5)
    tokens = counted_text.section(start, len(text))
    assert tokens.before[-1] == counted_text.between(start, len(text))
    assert tokens.at(len(text) - start) == tokens.before[-1]
    assert tokens.at(0) == 0


def test_a_word_that_cannot_fit_is_measured_by_its_tokens() -> None:
    text = "see a.b.c.d.e.f now"
    (counted_text,) = count_texts([text], WordCounts(Counter()), longest=4)
    tokens = counted_text.section(0, len(text))
    assert [text[start] for start in tokens.starts] == list("sa.b.c.d.e.fn")
    assert tokens.before[-1] == 13
    assert not counted_text.is_exact(0, 5)


@pytest.mark.parametrize("text", ["x" * 10_000, "ab " + "あ" * 700, "a," * 400])
def test_a_stretch_without_blanks_is_measured_in_parts_and_never_exact(text: str) -> None:
    (counted_text,) = count_texts([text], WordCounts(Counter()), longest=100)
    assert not counted_text.is_exact(0, len(text))
    assert len(counted_text.starts) > len(text) // 256
