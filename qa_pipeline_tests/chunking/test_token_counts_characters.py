import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.chunking.token_counts import WordCounts, count_texts
from qa_pipeline_tests.chunking.documents import Counter

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
        assert counted_text.between([start], [end]) == [counted - special]


@given(st.lists(WORDS, max_size=20), st.integers(0, 500))
def test_a_section_has_the_tokens_of_its_part_of_the_text(words: list[str], at: int) -> None:
    text = " ".join(words)
    start = min(at, len(text))
    (counted_text,) = count_texts([text], WordCounts(Counter()), longest=5)
    tokens = counted_text.section(start, len(text))
    assert [tokens.total] == counted_text.between([start], [len(text)])
    assert tokens.at(len(text) - start) == tokens.total
    assert tokens.at(0) == 0


def test_a_word_that_cannot_fit_is_measured_by_its_tokens() -> None:
    text = "see a.b.c.d.e.f now"
    (counted_text,) = count_texts([text], WordCounts(Counter()), longest=4)
    tokens = counted_text.section(0, len(text))
    assert [text[start] for start in tokens.starts] == list("sa.b.c.d.e.fn")
    assert tokens.total == 13
    assert not counted_text.is_exact(0, 5)


@pytest.mark.parametrize("text", ["x" * 10_000, "ab " + "あ" * 700, "a," * 400])
def test_a_stretch_without_blanks_is_measured_in_parts_and_never_exact(text: str) -> None:
    (counted_text,) = count_texts([text], WordCounts(Counter()), longest=100)
    assert not counted_text.is_exact(0, len(text))
    assert len(counted_text.starts) > len(text) // 256
