from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.words import (
    content_places,
    content_stems,
    folded_words,
    recall,
    tokenize,
)

words = st.lists(st.sampled_from("abcdef"), max_size=8)


@given(words, words)
def test_recall_and_order_are_shares(wanted: list[str], held: list[str]) -> None:
    for share in (recall(wanted, held),):
        assert share is None or 0.0 <= share <= 1.0


def test_function_words_and_negations_are_no_content() -> None:
    assert content_stems("The pumps do not stop", "en") == ["pump", "stop"]
    assert [token.folded for token in tokenize("It isn’t cold", "en") if token.negative] == ["isn't"]


texts = st.text(st.sampled_from("abÄß’'1. -\n"), max_size=40)


@given(texts, st.sampled_from(["en", "sv", "de"]))
def test_what_is_read_without_tokens_is_what_the_tokens_say(text: str, language: str) -> None:
    tokens = tokenize(text, language)

    assert folded_words(text, language) == tuple(token.folded for token in tokens)
    assert content_places(text, language) == [(t.start, t.stem) for t in tokens if t.content]
