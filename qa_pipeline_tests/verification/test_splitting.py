import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.verification.splitting import is_fragment, split_claims


def texts(answer: str, language: str = "en") -> list[str]:
    return [claim.text for claim in split_claims(answer, language)]


def test_each_sentence_and_list_item_is_a_claim() -> None:
    answer = "The pump is loud. It is red.\n\n- It weighs 5 kg.\n- It is old.\n\n1. Open it."

    assert texts(answer) == ["The pump is loud.", "It is red.", "It weighs 5 kg.", "It is old.", "Open it."]


def test_marks_are_citations_of_their_sentence_and_no_text() -> None:
    first, second = split_claims("It is red [source:a.md#x]. It is old. [source:b.md] [2]", "en")

    assert (first.text, first.references) == ("It is red.", ("a.md#x",))
    assert (second.text, second.references) == ("It is old.", ("b.md",))


def test_a_mark_in_front_belongs_to_the_sentence_before() -> None:
    first, second = split_claims("It is red.\n[source:a.md]\nIt is old.", "en")

    assert (first.references, second.references) == (("a.md",), ())


@pytest.mark.parametrize(
    ("language", "answer"),
    [
        ("en", "Hello!"),
        ("en", "You are welcome."),
        ("en", "Is it red?"),
        ("en", "# The pump"),
        ("en", "[source:a.md]"),
        ("en", "..."),
        ("sv", "Hej och tack!"),
        ("sv", "Är den röd?"),
        ("de", "Hallo und willkommen!"),
    ],
)
def test_what_states_nothing_is_no_claim(language: str, answer: str) -> None:
    assert texts(answer, language) == []


def test_a_bare_figure_is_a_claim() -> None:
    assert texts("5 %") == ["5 %"]


@given(
    st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=200),
    st.sampled_from(["en", "sv", "de"]),
)
def test_spans_lie_in_the_answer_in_order_and_begin_and_end_with_its_text(answer: str, language: str) -> None:
    end = 0
    for claim in split_claims(answer, language):
        assert end <= claim.start < claim.end <= len(answer)
        assert not answer[claim.start].isspace()
        assert not answer[claim.end - 1].isspace()
        end = claim.end


@pytest.mark.parametrize(
    ("text", "terms", "fragment"),
    [
        ("The pump is loud and red.", 3, False),
        ("in the cellar", 1, True),
        ("at the bottom of the very old lake", 4, True),
        ("It works.", 1, True),
        ("The limit of the plan", 3, True),
    ],
)
def test_a_fragment_is_short_or_no_whole_sentence(text: str, terms: int, fragment: bool) -> None:
    assert is_fragment(text, terms, 2) is fragment
