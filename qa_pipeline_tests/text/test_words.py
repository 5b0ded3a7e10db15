from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.words import Occupied, recall, tokenize

WORDS = st.lists(st.sampled_from("abcdef"), max_size=8)


@given(WORDS, WORDS)
def test_recall_is_a_share_of_what_is_required(wanted: list[str], held: list[str]) -> None:
    share = recall(wanted, held)
    assert (share is None) == (not wanted)
    assert share is None or 0.0 <= share <= 1.0
    assert recall(wanted, [*wanted, *held]) in (None, 1.0)


def test_function_words_and_negations_are_no_content() -> None:
    assert [word.stem for word in tokenize("The pumps do not stop", "en") if word.content] == ["pump", "stop"]
    assert [word.folded for word in tokenize("It isn’t cold", "en") if word.negative] == ["isn't"]


@given(st.text(st.sampled_from("abÄß’'1. -\n"), max_size=40), st.sampled_from(["en", "sv", "de"]))
def test_tokens_are_in_order_where_they_stand(text: str, language: str) -> None:
    end = 0
    for token in tokenize(text, language):
        assert end <= token.start < token.end
        assert token.folded == text[token.start : token.end].casefold().replace("’", "'")
        end = token.end


@given(st.integers(0, 9), st.integers(1, 9))
def test_a_span_is_free_until_a_part_of_it_is_taken(start: int, length: int) -> None:
    used = Occupied(20)
    assert used.free(0, 20)
    used.take(start, start + length)
    assert not used.free(start, start + 1)
    assert used.free(0, start)
    assert used.free(start + length, 20)
