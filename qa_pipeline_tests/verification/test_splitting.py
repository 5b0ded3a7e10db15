import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.references import without_marks
from qa_pipeline.verification.splitting import is_claim, is_fragment, split_claims


def texts(answer: str, language: str = "en") -> list[str]:
    return [claim.text for claim in split_claims(answer, language)]


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        (
            "It is loud. It is red.\n\n- It is new.\n\n1. Open it.",
            "It is loud.;It is red.;It is new.;Open it.",
        ),
        ("# It weighs 50 kg\n\nIt weighs 40 kg.", "It weighs 50 kg;It weighs 40 kg."),
        ("| Name | Weight |\n|---|---|\n| Pump | 5 kg |", "| Name | Weight |;| Pump | 5 kg |"),
        ("5 %", "5 %"),
    ],
)
def test_each_sentence_item_heading_and_row_is_a_claim(answer: str, claims: str) -> None:
    assert texts(answer) == claims.split(";")


def test_marks_are_citations_of_their_sentence_and_no_text() -> None:
    first, second = split_claims("It is red [source:a.md#x]. It is old. [source:b.md] [2]", "en")
    assert (first.text, first.references) == ("It is red.", ("a.md#x",))
    assert (second.text, second.references) == ("It is old.", ("b.md", "[2]"))


def test_a_mark_in_front_belongs_to_the_sentence_before() -> None:
    first, second = split_claims("It is red.\n[source:a.md]\nIt is old.", "en")
    assert (first.references, second.references) == (("a.md",), ())


@pytest.mark.parametrize("answer", ["[source:a.md]", "...", "|---|:--:|", "- \n\n* ", "## "])
def test_marks_labels_and_punctuation_alone_are_no_claim(answer: str) -> None:
    assert texts(answer) == []


@pytest.mark.parametrize(
    ("language", "answer"),
    [
        ("en", "Sure!"),
        ("en", "Did you know that the boiler weighs 50 kg?"),
        ("en", "Human: Is it red?"),
        ("en", "I hope this helps!"),
        ("sv", "Visste du att pannan väger 50 kg?"),
        ("de", "Ich hoffe, das hilft Ihnen."),
        ("ar", "هل هذا صحيح؟"),
        ("en", "✅"),
    ],
)
def test_questions_turns_of_a_conversation_and_filler_are_claims(language: str, answer: str) -> None:
    assert texts(answer, language) == [answer]
    assert texts(f"{answer}\n\n1,5 bar.", language) == [answer, "1,5 bar."]


@given(
    st.lists(
        st.one_of(
            st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=40),
            st.sampled_from(
                ["# ", "\n", "\n\n", "- ", "| a | b |\n|---|---|\n", "Is it red? ", "Human: ", "Sure! "]
            ),
        ),
        max_size=12,
    ).map("".join),
    st.sampled_from(["en", "sv", "de"]),
)
def test_every_letter_digit_and_symbol_of_an_answer_belongs_to_a_claim(answer: str, language: str) -> None:
    words = without_marks(answer)
    covered = {place for claim in split_claims(answer, language) for place in range(claim.start, claim.end)}
    for place, character in enumerate(words):
        is_label = re.match(r"\d{1,3}[.)]\s", words[place:]) or re.match(r"[.)]\s", words[place + 1 :])
        if is_claim(character) and not is_label:
            assert place in covered


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
    assert is_fragment(text, terms) is fragment
