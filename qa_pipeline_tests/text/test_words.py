from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.words import (
    content_places,
    content_stems,
    folded_words,
    recall,
    tokenize,
)
from qa_pipeline.verification.consistency.reading import Reading


def found(wanted: str, text: str, language: str = "en") -> tuple[int, int] | None:
    return Reading(text, language).find(Reading(wanted, language))


words = st.lists(st.sampled_from("abcdef"), max_size=8)


@given(words, words)
def test_recall_and_order_are_shares(wanted: list[str], held: list[str]) -> None:
    for share in (recall(wanted, held),):
        assert share is None or 0.0 <= share <= 1.0


def test_function_words_and_negations_are_no_content() -> None:
    assert content_stems("The pumps do not stop", "en") == ["pump", "stop"]
    assert [token.folded for token in tokenize("It isn’t cold", "en") if token.negative] == ["isn't"]


def test_words_are_found_across_case_and_punctuation() -> None:
    text = "First, the SAFETY valve: opens."

    assert text[slice(*(found("the safety valve opens", text) or (0, 0)))] == "the SAFETY valve: opens"
    assert found("valve safety", text) is None
    assert found("", text) is None


texts = st.text(st.sampled_from("abÄß’'1. -\n"), max_size=40)


@given(texts, st.sampled_from(["en", "sv", "de"]))
def test_what_is_read_without_tokens_is_what_the_tokens_say(text: str, language: str) -> None:
    tokens = tokenize(text, language)

    assert folded_words(text, language) == tuple(token.folded for token in tokens)
    assert content_places(text, language) == [(t.start, t.stem) for t in tokens if t.content]


@given(texts, texts, st.sampled_from(["en", "sv", "de"]))
def test_words_are_found_where_they_first_stand_in_one_run(wanted: str, text: str, language: str) -> None:
    needle = [token.folded for token in tokenize(wanted, language)]
    tokens = tokenize(text, language)
    runs = [
        (tokens[at].start, tokens[at + len(needle) - 1].end)
        for at in range(len(tokens) - len(needle) + 1)
        if needle and [token.folded for token in tokens[at : at + len(needle)]] == needle
    ]

    assert found(wanted, text, language) == (runs[0] if runs else None)
