from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.verification.words import (
    content_stems,
    find_words,
    nearest_word,
    order_agreement,
    recall,
    tokenize,
)

words = st.lists(st.sampled_from("abcdef"), max_size=8)


@given(words, words)
def test_recall_and_order_are_shares(wanted: list[str], held: list[str]) -> None:
    for share in (recall(wanted, held), order_agreement(wanted, held)):
        assert share is None or 0.0 <= share <= 1.0


@given(words.filter(bool))
def test_a_text_holds_itself_in_its_own_order(entries: list[str]) -> None:
    assert recall(entries, entries) == 1.0
    assert order_agreement(entries, entries) == 1.0


def test_nothing_wanted_is_no_score() -> None:
    assert recall([], ["a"]) is None
    assert order_agreement(["x"], ["a"]) is None


def test_order_counts_the_longest_common_sequence() -> None:
    assert order_agreement(list("abcd"), list("bacd")) == 0.75


def test_function_words_and_negations_are_no_content() -> None:
    assert content_stems("The pumps do not stop", "en") == ["pump", "stop"]
    assert [token.folded for token in tokenize("It isn’t cold", "en") if token.negative] == ["isn't"]


def test_words_are_found_across_case_and_punctuation() -> None:
    text = "First, the SAFETY valve: opens."

    assert (
        text[slice(*(find_words("the safety valve opens", text, "en") or (0, 0)))]
        == "the SAFETY valve: opens"
    )
    assert find_words("valve safety", text, "en") is None
    assert find_words("", text, "en") is None


def test_the_word_before_wins_a_tie() -> None:
    tokens = tokenize("red 5 blue", "en")

    assert nearest_word(4, 5, tokens, {"red", "blue"}) == "red"
